package train

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/learn/hmm"
	"github.com/waggle-crawler/waggle/learn/kmeans"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
)

// works is a web whose hop distances, clusters and values are seen at a glance.
// Of its words only bee, honey, hive and steel are on two pages or more, so
// that e has none; fair is not in the graph. The pages are called aa for a, and
// so on: names are the words of links, and one letter is no word.
//
//	e ─► d ─► c ─► b ─► t*
//	          │    ▼    ▲│
//	          └──► a ───┘│
//	               ▲─────┘
func works(t testing.TB) *Graph {
	return collect(t, draft(`
		tt -> aa        words: bee bee honey
		aa -> tt        words: hive hive honey
		bb -> tt aa     words: hive hive bee
		cc -> aa bb     words: steel steel
		dd -> cc        words: steel steel steel honey
		ee -> dd fair   words: alone`), CollectOptions{}, "tt")
}

func fitted(t testing.TB, g *Graph, kind model.Kind, sequences []Sequence, o FitOptions) *model.File {
	t.Helper()
	f, err := Fit(t.Context(), kind, g, sequences, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func equal(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func compare(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if !slices.EqualFunc(got, want, equal) {
		t.Errorf("%s = %v\nwant %v", what, got, want)
	}
}

// walk is the sequence of pages of these names.
func walk(t testing.TB, g *Graph, names ...string) (s Sequence) {
	t.Helper()
	for i, n := range names {
		at := slices.IndexFunc(g.Nodes, func(x Node) bool { return name(x.URL) == n })
		s.Nodes = append(s.Nodes, int32(at))
		if i > 0 {
			e, ok := g.edge(s.Nodes[i-1], int32(at))
			if !ok {
				t.Fatalf("no link %s→%s", names[i-1], n)
			}
			s.Edges = append(s.Edges, e)
		}
	}
	return s
}

// cluster is the cluster of the page of that name in a model of kind hmm.
func clusterOf(g *Graph, m *model.Markov, page string) int {
	for _, n := range g.Nodes {
		if name(n.URL) == page {
			v := m.Words.Page(n.Page)
			for i, p := range m.Pages {
				if slices.Equal(p, v) {
					return m.Clusters[i]
				}
			}
		}
	}
	return m.Blank()
}

// Counts by hand (Batsakis, Petrakis & Milios 2009, section 3.3), with three
// states: t is at 0, a and b at 1, c, d and e at 2 or more. The links are 0→1,
// twice 1→0, 1→1, twice 2→1, twice 2→2.
func TestHMMCounts(t *testing.T) {
	g := works(t)
	for _, c := range []struct {
		smoothing float64
		a         []float64
		b         []float64 // t's cluster, that of a and b, that of c and d, blank
	}{
		{0,
			[]float64{0, 1, 0, 2. / 3, 1. / 3, 0, 0, 0.5, 0.5},
			[]float64{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2. / 3, 1. / 3}},
		// Added to each that may happen: from 2 no link leads to 0.
		{0.1,
			[]float64{0.1 / 1.3, 1.1 / 1.3, 0.1 / 1.3, 2.1 / 3.3, 1.1 / 3.3, 0.1 / 3.3, 0, 2.1 / 4.2, 2.1 / 4.2},
			[]float64{1.1 / 1.4, 0.1 / 1.4, 0.1 / 1.4, 0.1 / 1.4, 0.1 / 2.4, 2.1 / 2.4, 0.1 / 2.4, 0.1 / 2.4, 0.1 / 3.4, 0.1 / 3.4, 2.1 / 3.4, 1.1 / 3.4}},
	} {
		f := fitted(t, g, model.HMM, nil, FitOptions{States: 3, Set: map[string]float64{"words": 2, "clusters": 2, "smoothing": c.smoothing}})
		m := f.Payload.(*model.Markov)
		compare(t, "A", m.First.A, c.a)
		hive, steel := clusterOf(g, m, "aa"), clusterOf(g, m, "dd")
		if clusterOf(g, m, "tt") != 0 || clusterOf(g, m, "bb") != hive || clusterOf(g, m, "cc") != steel || clusterOf(g, m, "ee") != 3 {
			t.Fatalf("clusters %v", m.Clusters)
		}
		for state := range 3 {
			row := m.First.B[4*state : 4*state+4]
			compare(t, "B", []float64{row[0], row[hive], row[steel], row[3]}, c.b[4*state:4*state+4])
		}
		if c.smoothing == 0 {
			compare(t, "π", m.First.Pi, []float64{1. / 6, 2. / 6, 3. / 6})
		}
		compare(t, "C0", []float64{m.Centroids[0].Norm(), m.Centroids[0].Dot(m.Words.Page(g.Nodes[0].Page))}, []float64{1, 1})
	}
}

// The user gives the number of clusters, or X-means chooses it; there are never
// more clusters than pages.
func TestHMMClusters(t *testing.T) {
	g := works(t)
	for _, c := range []struct {
		set  map[string]float64
		most int // beside the targets'
	}{
		{map[string]float64{"words": 2, "clusters": 1}, 1},
		{map[string]float64{"words": 2, "clusters": 3}, 3},
		{map[string]float64{"words": 2, "clusters": 1000}, 4},
		{map[string]float64{"words": 2, "clusters": 0, "most-clusters": 3}, 3},
	} {
		m := fitted(t, g, model.HMM, nil, FitOptions{Set: c.set}).Payload.(*model.Markov)
		n := len(m.Centroids) - 1
		if n > c.most || n < 1 || c.set["clusters"] > 0 && n != c.most {
			t.Errorf("%v: %d clusters", c.set, n)
		}
	}
}

// Baum–Welch begins with the counts of labelled sequences, each with one added. With the walks d c b t, c b a t and c a t, labels 2 2 1 0, 2 1 1 0 and
// 2 1 0, two of three go from 2, 1 to 0, and the third to 1.
func TestHMM2Counts(t *testing.T) {
	g := works(t)
	walks := []Sequence{walk(t, g, "dd", "cc", "bb", "tt"), walk(t, g, "cc", "bb", "aa", "tt"), walk(t, g, "cc", "aa", "tt")}
	f := fitted(t, g, model.HMM2, walks, FitOptions{States: 3, Set: map[string]float64{"words": 2, "clusters": 3, "baum-welch": 0}})
	m := f.Payload.(*model.Markov)
	row := func(i, j int) []float64 { return m.Second.A[(i*3+j)*3 : (i*3+j)*3+3] }
	compare(t, "a_21·", row(2, 1), []float64{3. / 6, 2. / 6, 1. / 6})
	compare(t, "a_11·", row(1, 1), []float64{2. / 4, 1. / 4, 1. / 4})
	compare(t, "a_22·", row(2, 2), []float64{0, 2. / 3, 1. / 3}) // 0 is a structural zero
	compare(t, "a_00·", row(0, 0), []float64{1. / 3, 1. / 3, 1. / 3})
	// b, b and a were at (2,1), of one cluster.
	b := slices.Sorted(slices.Values(m.Second.B[(2*3+1)*4 : (2*3+1)*4+4]))
	compare(t, "b_21, sorted", b, []float64{1. / 7, 1. / 7, 1. / 7, 4. / 7})
	if got := f.Provenance; len(got.Curve) != 1 || got.Status == "" {
		t.Errorf("without Baum–Welch the curve is %v, status %q", got.Curve, got.Status)
	}
}

// Iterations of Baum–Welch never make the sequences less likely, probabilities of
// zero stay zero, and the states keep their meaning.
func TestHMM2BaumWelch(t *testing.T) {
	g := works(t)
	f := fitted(t, g, model.HMM2, sample(t, g, SequenceOptions{Count: 30}), FitOptions{States: 4, Set: map[string]float64{"words": 2, "clusters": 3}})
	m := f.Payload.(*model.Markov)
	if c := f.Provenance.Curve; len(c) < 2 || !slices.IsSorted(c) {
		t.Errorf("log-likelihoods %v", c)
	}
	for i := range 4 {
		for j := range 4 {
			for k := range 4 {
				if p := m.Second.A[(i*4+j)*4+k]; k < j-1 && p != 0 {
					t.Errorf("a_%d%d%d = %v, and no page at %d links to one at %d", i, j, k, p, j, k)
				}
			}
		}
	}
	// One link from a target the next page is likelier one than two links away.
	if near, far := m.Second.A[(2*4+1)*4], m.Second.A[(3*4+2)*4]; near <= far {
		t.Errorf("a_210 = %v, a_320 = %v", near, far)
	}
}

// The setting start: Baum–Welch begins with π even and the rest as counted (Hu,
// Tu & Tong 2014, section 2.1), or with everything even but for a tenth. Either
// way probabilities that hop distances forbid are zero. The model file tells which.
func TestHMM2Start(t *testing.T) {
	g := works(t)
	walks := sample(t, g, SequenceOptions{Count: 30})
	of := func(start, iterations float64, seed uint64) (*model.Markov, model.Provenance) {
		f := fitted(t, g, model.HMM2, walks, FitOptions{States: 4, Seed: seed, Set: map[string]float64{"words": 2, "clusters": 3, "start": start, "baum-welch": iterations}})
		return f.Payload.(*model.Markov), f.Provenance
	}
	counted, _ := of(0, 0, 0)
	even, p := of(1, 0, 0)
	compare(t, "π", even.Second.First.Pi, []float64{.25, .25, .25, .25})
	compare(t, "a of second order", even.Second.A, counted.Second.A)
	compare(t, "b", even.Second.First.B, counted.Second.First.B)
	if p.Settings["start"] != 1 {
		t.Errorf("the file says %v", p.Settings)
	}
	chance, p := of(2, 0, 7)
	compare(t, "π", chance.Second.First.Pi, []float64{.25, .25, .25, .25})
	for at, x := range chance.Second.A {
		ways := []float64{4, 4, 3, 2}[at/4%4]
		if forbidden := at%4 < at/4%4-1; forbidden && x != 0 || !forbidden && math.Abs(x*ways-1) > .1 {
			t.Errorf("a_%d%d%d = %v of %v ways", at/16, at/4%4, at%4, x, ways)
		}
	}
	if a := p.Settings["agreement"]; p.Settings["start"] != 2 || !(a > 0 && a < 1) {
		t.Errorf("the file says %v", p.Settings)
	}
	for _, start := range []float64{1, 2} {
		if _, p := of(start, 20, 7); len(p.Curve) < 2 || !slices.IsSorted(p.Curve) || p.Status == hmm.OrderLost.String() && start == 2 {
			t.Errorf("start %v: log-likelihoods %v, %s", start, p.Curve, p.Status)
		}
	}
}

// With order = 1 the model is the one that Baum–Welch of first order makes of the same
// walks: what was two pages ago does not count.
func TestHMMFirstOrderByBaumWelch(t *testing.T) {
	g := works(t)
	walks := sample(t, g, SequenceOptions{Count: 30})
	f := fitted(t, g, model.HMM2, walks, FitOptions{States: 4, Set: map[string]float64{"words": 2, "clusters": 3, "order": 1, "start": 1, "smoothing": 0, "baum-welch": 7, "keep-order": 0}})
	m := f.Payload.(*model.Markov).Second
	for at, x := range m.A {
		if x != m.First.A[at%16] {
			t.Errorf("a at %d is %v, of first order %v", at, x, m.First.A[at%16])
		}
	}
	if c := f.Provenance.Curve; len(c) < 2 || !slices.IsSorted(c) || f.Provenance.Settings["order"] != 1 {
		t.Errorf("log-likelihoods %v, settings %v", c, f.Provenance.Settings)
	}
	second := fitted(t, g, model.HMM2, walks, FitOptions{States: 4, Set: map[string]float64{"words": 2, "clusters": 3, "start": 1, "smoothing": 0, "baum-welch": 7, "keep-order": 0}})
	last := func(p model.Provenance) float64 { return p.Curve[len(p.Curve)-1] }
	if last(second.Provenance) <= last(f.Provenance) {
		t.Errorf("second order gives the walks %v, and first order %v: it has more to fit with", last(second.Provenance), last(f.Provenance))
	}
}

// The number of clusters is told where the data chose it.
func TestClustersAreTold(t *testing.T) {
	g := works(t)
	walks := sample(t, g, SequenceOptions{Count: 30})
	for _, kind := range []model.Kind{model.HMM, model.HMM2} {
		f := fitted(t, g, kind, walks, FitOptions{Set: map[string]float64{"words": 2, "clusters": 0, "most-clusters": 4}})
		m := f.Payload.(*model.Markov)
		want := len(m.Centroids)
		if kind == model.HMM {
			want-- // the targets were not clustered
		}
		if got := f.Provenance.Settings; got["clusters"] != 0 || got["clusters-found"] != float64(want) || want < 1 {
			t.Errorf("%s: %v, and there are %d", kind, got, want)
		}
	}
}

// Baum–Welch is interrupted between two sequences: after the first iteration,
// nothing more is done. Before it, clustering is.
func TestHMM2IsInterrupted(t *testing.T) {
	g := works(t)
	sequences := sample(t, g, SequenceOptions{Count: 30})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	last := -1
	_, err := Fit(ctx, model.HMM2, g, sequences, FitOptions{
		States: 4, Set: map[string]float64{"words": 2, "clusters": 3},
		Progress: func(iteration int, _ float64) { last = iteration; cancel() },
	})
	if !errors.Is(err, context.Canceled) || last != 0 {
		t.Errorf("interrupted after the start was measured: %v, at iteration %d", err, last)
	}
	points := []sparse.Vector{{{ID: 1, Value: 1}}, {{ID: 2, Value: 1}}}
	if _, _, err := kmeans.Train(points, kmeans.Options{K: 2, Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("clustering: %v", err)
	}
}

// One training set and seed give one file, on any number of cores, and it is
// read back the same.
func TestFitIsAFunction(t *testing.T) {
	g := works(t)
	sequences := sample(t, g, SequenceOptions{Count: 30})
	for _, kind := range []model.Kind{model.HMM, model.HMM2, model.ContextGraph, model.RLSpider} {
		var first []byte
		for _, workers := range []int{1, 4} {
			f := fitted(t, g, kind, sequences, FitOptions{Workers: workers, Seed: 7, Set: map[string]float64{"words": 1}})
			b, err := f.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b
			} else if !bytes.Equal(b, first) {
				t.Errorf("%s: another file on %d cores", kind, workers)
			}
		}
		read, err := model.Unmarshal(first, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := read.Marshal(); err != nil || !bytes.Equal(again, first) {
			t.Errorf("%s: read and written, another file (%v)", kind, err)
		}
	}
}

// Training sets that teach nothing are errors that say what to do.
func TestFitPagesErrors(t *testing.T) {
	g := works(t)
	sequences := sample(t, g, SequenceOptions{Count: 30})
	wordless := works(t)
	for i := range wordless.Nodes {
		if wordless.Nodes[i].Target {
			p := *wordless.Nodes[i].Page
			p.Terms = nil
			wordless.Nodes[i].Page = &p
		}
	}
	for _, c := range []struct {
		name string
		kind model.Kind
		g    *Graph
		set  map[string]float64
		want error
	}{
		{"no common word", model.HMM, g, map[string]float64{"words": 100}, ErrNoWords},
		{"no common word", model.HMM2, g, map[string]float64{"words": 100}, ErrNoWords},
		{"no common word", model.ContextGraph, g, map[string]float64{"words": 100}, ErrNoWords},
		{"no common word", model.RLSpider, g, map[string]float64{"words": 100}, ErrNoWords},
		{"targets without words", model.HMM, wordless, map[string]float64{"words": 1}, ErrNoWords},
		{"targets without words", model.ContextGraph, wordless, map[string]float64{"words": 1}, ErrNoWords},
		{"all links worth the same", model.RLSpider, collect(t, draft("tt ->\naa -> tt"), CollectOptions{}, "tt"), map[string]float64{"words": 1}, ErrOneClass},
	} {
		if _, err := Fit(t.Context(), c.kind, c.g, sequences, FitOptions{Set: c.set}); !errors.Is(err, c.want) {
			t.Errorf("%s, %s: %v", c.kind, c.name, err)
		}
	}
}
