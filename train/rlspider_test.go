package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/model"
)

// shape makes a graph of bare nodes from the numbers of its targets and pairs
// of edges, which are sorted.
func shape(nodes int, targets []int32, edges ...[2]int32) *Graph {
	g := &Graph{Nodes: make([]Node, nodes)}
	for _, t := range targets {
		g.Nodes[t].Target = true
	}
	slices.SortFunc(edges, func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
	for _, e := range edges {
		g.Edges = append(g.Edges, Edge{From: e[0], To: e[1]})
	}
	return g
}

// Rennie & McCallum: values by hand with γ = ½.
//
//	5 ─► 3 ─► 1*          6 ─► 5
//	     │    │           7 ─► 8    (nothing of worth)
//	     ▼    ▼
//	     2 ─► 0*          1 ─► 3
func TestLinkValues(t *testing.T) {
	g := shape(9, []int32{0, 1}, [2]int32{5, 3}, [2]int32{3, 1}, [2]int32{3, 2}, [2]int32{2, 0}, [2]int32{1, 0},
		[2]int32{1, 3}, [2]int32{6, 5}, [2]int32{7, 8})
	want := map[[2]int32]float64{
		{1, 0}: 1,            // 0 at once
		{2, 0}: 1,            //
		{3, 1}: 1 + 1./2,     // 1 at once, then 0
		{3, 2}: 1. / 2,       // 2, then 0
		{5, 3}: 1./2 + 1./4,  // 3, 1, 0
		{6, 5}: 1./4 + 1./8,  // 5, 3, 1, 0
		{1, 3}: 0 + 0 + 1./4, // 3, 2, 0: page 1 itself has been fetched
		{7, 8}: 0,
	}
	for i, q := range linkValues(g, 0.5) {
		e := [2]int32{g.Edges[i].From, g.Edges[i].To}
		if math.Abs(q-want[e]) > 1e-12 {
			t.Errorf("Q(%d→%d) = %v, want %v", e[0], e[1], q, want[e])
		}
	}
}

// With γ = 0 a link is worth what it leads to at once.
func TestLinkValuesAtOnce(t *testing.T) {
	g := shape(4, []int32{0, 2}, [2]int32{1, 0}, [2]int32{2, 1}, [2]int32{3, 2}, [2]int32{0, 3})
	for i, q := range linkValues(g, 0) {
		if want := g.Nodes[g.Edges[i].To].Target; (q == 1) != want || q != 0 && q != 1 {
			t.Errorf("Q(%d→%d) = %v", g.Edges[i].From, g.Edges[i].To, q)
		}
	}
}

// A graph of the usual size: 3,000 pages in five layers with 20 links each.
func BenchmarkLinkValues(b *testing.B) {
	draw := rand.New(rand.NewPCG(1, 2))
	g := &Graph{Nodes: make([]Node, 3000)}
	for from := range g.Nodes {
		g.Nodes[from].Target = from < 600
		seen := map[int]bool{from: true}
		for range 20 {
			to := draw.IntN(min(3000, from+600))
			if !seen[to] {
				seen[to] = true
				g.Edges = append(g.Edges, Edge{From: int32(from), To: int32(to)})
			}
		}
	}
	b.ReportMetric(float64(len(g.Edges)), "links")
	for b.Loop() {
		linkValues(g, 0.5)
	}
}

// The greedy order against the best of all orders, on graphs small enough to
// try them all: never above, and with γ = ½ seldom far below.
func TestLinkValuesAgainstAllOrders(t *testing.T) {
	var sum, best float64
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "nodes")
		seen := map[[2]int32]bool{}
		var edges [][2]int32
		for range rapid.IntRange(1, 12).Draw(t, "edges") {
			e := [2]int32{int32(rapid.IntRange(0, n-1).Draw(t, "from")), int32(rapid.IntRange(0, n-1).Draw(t, "to"))}
			if e[0] != e[1] && !seen[e] {
				seen[e] = true
				edges = append(edges, e)
			}
		}
		var targets []int32
		for i := range n {
			if rapid.Bool().Draw(t, "target") {
				targets = append(targets, int32(i))
			}
		}
		g := shape(n, targets, edges...)
		for i, q := range linkValues(g, 0.5) {
			e := g.Edges[i]
			top := bestOrder(g, e.From, []int32{e.To}, 0.5)
			if q > top+1e-12 {
				t.Fatalf("Q(%d→%d) = %v, but the best order gives %v", e.From, e.To, q, top)
			}
			sum, best = sum+q, best+top
		}
	})
	if sum < 0.95*best {
		t.Errorf("greedy orders reach %.1f %% of the best", 100*sum/best)
	}
}

// bestOrder is the value of the best order that goes on from what was fetched,
// the last page's own worth included.
func bestOrder(g *Graph, u int32, fetched []int32, gamma float64) float64 {
	worth := 0.
	if g.Nodes[fetched[len(fetched)-1]].Target {
		worth = 1
	}
	after := 0.
	for _, e := range g.Edges {
		if slices.Contains(fetched, e.From) && !slices.Contains(fetched, e.To) && e.To != u {
			after = max(after, bestOrder(g, u, append(slices.Clone(fetched), e.To), gamma))
		}
	}
	return worth + gamma*after
}

// A page that links to a target of the order is found whichever link leads to
// it: values do not depend on which link was asked first.
func TestLinkValuesOfOneLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "nodes")
		seen := map[[2]int32]bool{}
		var edges [][2]int32
		for range rapid.IntRange(1, 40).Draw(t, "edges") {
			e := [2]int32{int32(rapid.IntRange(0, n-1).Draw(t, "from")), int32(rapid.IntRange(0, n-1).Draw(t, "to"))}
			if e[0] != e[1] && !seen[e] {
				seen[e] = true
				edges = append(edges, e)
			}
		}
		g := shape(n, []int32{0, int32(n - 1)}, edges...)
		for i, q := range linkValues(g, 0.5) {
			alone := newWalker(g, 0.5)
			if want := alone.value(g.Edges[i].From, g.Edges[i].To); q != want {
				t.Fatalf("Q(%d→%d) = %v, alone %v", g.Edges[i].From, g.Edges[i].To, q, want)
			}
		}
	})
}

// Bins by hand: about as many links each, equal values together, and what one
// value takes more is shared by the rest.
func TestBins(t *testing.T) {
	for _, c := range []struct {
		values []float64
		n      int
		class  []int
		worth  []float64
	}{
		{[]float64{3, 1, 2}, 3, []int{2, 0, 1}, []float64{1, 2, 3}},
		{[]float64{1, 1, 1, 1, 1, 1, 1, 2, 3, 4}, 3, []int{0, 0, 0, 0, 0, 0, 0, 1, 2, 2}, []float64{1, 2, 3.5}},
		{[]float64{1, 1, 1}, 3, []int{0, 0, 0}, []float64{1}},
		{[]float64{2, 1}, 3, []int{1, 0}, []float64{1, 2}},
		{[]float64{1, 2, 3, 4}, 2, []int{0, 0, 1, 1}, []float64{1.5, 3.5}},
		{nil, 3, []int{}, nil},
	} {
		class, worth := bins(c.values, c.n)
		if !slices.Equal(class, c.class) || !slices.EqualFunc(worth, c.worth, equal) {
			t.Errorf("%v in %d: %v worth %v, want %v worth %v", c.values, c.n, class, worth, c.class, c.worth)
		}
	}
}

// Rennie & McCallum on the web of works, γ = ½: t→a is worth 0, as t has been
// fetched, e→d ⅛, d→c ¼, b→a, c→a and c→b ½, a→t and b→t 1, and e→fair, out of the
// graph, 0.
func TestRLSpiderValues(t *testing.T) {
	g := works(t)
	for _, c := range []struct {
		outside float64
		worth   []float64
		links   []uint64
	}{
		{0, []float64{0.125 / 2, 1.75 / 4, 1}, []uint64{2, 4, 2}},
		{1, []float64{0.125 / 3, 1.75 / 4, 1}, []uint64{3, 4, 2}},
	} {
		m := fitted(t, g, model.RLSpider, nil, FitOptions{Set: map[string]float64{"words": 1, "outside": c.outside}}).Payload.(*model.Classes)
		compare(t, "worth", m.Values, c.worth)
		if got := documents(m.Bayes); !slices.Equal(got, c.links) {
			t.Errorf("%d links a bin, want %d", got, c.links)
		}
	}
}

// A link that leads to a page of the graph by another address is none out of
// it.
func TestRLSpiderMovedPages(t *testing.T) {
	s := draft(`
		t ->        words: bee
		a -> old    words: hive
		b -> a      words: steel`)
	s.moved[at("old")] = at("t")
	links, values := collect(t, s, CollectOptions{}, "t").valuedLinks(0.5, true)
	if len(links) != 2 || !slices.Equal(values, []float64{1, 0.5}) {
		t.Errorf("%d links worth %v", len(links), values)
	}
}
