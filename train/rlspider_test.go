package train

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
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
