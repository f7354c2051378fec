package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// orchard is a graph in which everything tells how far the targets are: five
// layers of n pages, each page of layer i with the heading word hop<i> and two
// links, one to a page of layer i−1 with the anchor climb and one to a page of its
// own layer with the anchor stroll. The addresses of targets hold the keyword
// apple.
func orchard(n int) *Graph {
	g := &Graph{Topic: &topic.Topic{Name: "orchard", Keywords: []string{"apples"}, Description: "ripe apples"}, Layers: 5}
	address := func(layer, i int) web.URL {
		if layer == 0 {
			return at(fmt.Sprintf("apple%d", i))
		}
		return at(fmt.Sprintf("layer%d-%d", layer, i))
	}
	for layer := range 5 {
		for i := range n {
			word := fmt.Sprintf("hop%d", layer)
			p := &web.Page{
				URL: address(layer, i), Digest: [16]byte{byte(layer), byte(i), byte(i >> 8)},
				Terms: []web.Term{{Text: word, Head: 1, Body: 2}, {Text: "tree", Body: int32(1 + i%3)}},
			}
			for k, to := range []int{max(layer-1, 0), layer} {
				p.Links = append(p.Links, web.Link{
					URL: address(to, (i+1+k*layer)%n), Kind: web.LinkA, Anchor: []string{"climb", "stroll"}[k], Position: k,
				})
			}
			if layer == 0 {
				g.Topic.Examples = append(g.Topic.Examples, p)
			}
			g.Nodes = append(g.Nodes, Node{URL: p.URL, Layer: layer, State: layer, Target: layer == 0, Page: p})
		}
	}
	number := map[web.URL]int32{}
	for i, node := range g.Nodes {
		number[node.URL] = int32(i)
	}
	for from := range g.Nodes {
		for i := range g.Nodes[from].Page.Links {
			l := &g.Nodes[from].Page.Links[i]
			g.Edges = append(g.Edges, Edge{From: int32(from), To: number[l.URL], Link: l})
		}
	}
	return g
}

func chainKinds() []model.Kind { return []model.Kind{model.CRF, model.MEMM} }

func fitChainModel(t testing.TB, kind model.Kind, g *Graph, o FitOptions) *model.File {
	t.Helper()
	f, err := Fit(context.Background(), kind, g, sample(t, g, SequenceOptions{Count: 200, Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A page of a sequence shows itself, then the link that led to it, which the first
// page lacks, then the link that leads on, which the last page lacks (section 3.2).
func TestChainObservations(t *testing.T) {
	for any, want := range map[bool][]string{
		false: {
			"“hop2” on the page, “climb” in the anchor that leads on",
			"“hop1” on the page, “climb” in the anchor that led here, the next address holds a keyword, “climb” in the anchor that leads on",
			"“hop0” on the page, its address holds a keyword, “climb” in the anchor that led here",
		},
		true: { // as printed: of the page, whichever link is taken, and of the last one too
			"“hop2” on the page, “climb” in the anchor that leads on",
			"“hop1” on the page, an address on the page holds a keyword, “climb” in the anchor that led here, “climb” in the anchor that leads on",
			"“hop0” on the page, an address on the page holds a keyword, its address holds a keyword, “climb” in the anchor that led here",
		},
	} {
		g := orchard(4)
		space, err := feature.Build(g.Topic, []feature.Example{{Page: g.Nodes[8].Page, Links: []*web.Link{&g.Nodes[8].Page.Links[0]}}, {Page: g.Nodes[4].Page}, {Page: g.Nodes[0].Page}},
			feature.Options{MinPages: 1, AnyAddress: any})
		if err != nil {
			t.Fatal(err)
		}
		// layer 2, by "climb" to layer 1, by "climb" to a target.
		edge := func(from, k int32) int32 { return 2*from + k }
		one := g.Edges[edge(8, 0)].To
		s := Sequence{Nodes: []int32{8, one, g.Edges[edge(one, 0)].To}, Edges: []int32{edge(8, 0), edge(one, 0)}}
		labelled, start := g.observe(space, space.Page, []Sequence{s}, 5)
		var got []string
		for _, v := range labelled[0].Obs {
			if err := v.Check(); err != nil {
				t.Error(err)
			}
			var names []string
			for _, e := range v {
				if e.ID != feature.Bias && e.ID != feature.TargetCosine {
					names = append(names, space.Name(e.ID))
				}
			}
			got = append(got, strings.Join(names, ", "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !slices.Equal(labelled[0].Labels, []int{2, 1, 0}) || !slices.Equal(start, []float64{0, 0, 1, 0, 0}) {
			t.Errorf("labels %v, start %v", labelled[0].Labels, start)
		}
	}
}

// The model file tells which form of O3 was learnt from; crawls use the same.
func TestChainAnyAddress(t *testing.T) {
	g := orchard(4)
	for any, want := range map[float64]string{0: "the next address holds a keyword", 1: "an address on the page holds a keyword"} {
		for _, kind := range chainKinds() {
			f := fitChainModel(t, kind, g, FitOptions{Iterations: 2, Set: map[string]float64{"any-address": any}})
			b, err := f.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			read, err := model.Unmarshal(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := read.Provenance.Settings["any-address"]; got != any {
				t.Errorf("%s: the file says any-address %v, trained with %v", kind, got, any)
			}
			named := false
			for id := range read.Space.Len() {
				named = named || read.Space.Name(uint32(id)) == want
			}
			if !named {
				t.Errorf("%s, any-address %v: nothing is called %q", kind, any, want)
			}
		}
	}
}

// The start is the share of sequences that begin in each state (section 4.3).
func TestChainStart(t *testing.T) {
	g := orchard(6)
	sequences := sample(t, g, SequenceOptions{Count: 60, Seed: 1})
	f, err := Fit(context.Background(), model.CRF, g, sequences, FitOptions{Iterations: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, 5)
	for _, s := range sequences {
		want[g.Nodes[s.Nodes[0]].State]++
	}
	for i, p := range f.Payload.(*model.Chain).Start {
		if d := p - want[i]/float64(len(sequences)); d > 1e-9 || d < -1e-9 {
			t.Errorf("state %d: %v of %d sequences, a share of %v", i, want[i], len(sequences), p)
		}
	}
}

// Four states (section 2.1.2) or five (3.1); the last stands for all distances from
// it on.
func TestChainStates(t *testing.T) {
	g := orchard(6)
	for _, kind := range chainKinds() {
		for _, k := range []int{0, 2, 4, 5} { // 0 is the default
			f := fitChainModel(t, kind, g, FitOptions{States: k, Iterations: 3})
			want := k
			if k == 0 {
				want = 5
			}
			if c := f.Payload.(*model.Chain); c.Weights.States != want || len(f.Provenance.States) != want {
				t.Errorf("%s with %d states: %d, labels %v", kind, k, c.Weights.States, f.Provenance.States)
			}
		}
	}
}

// The objective grows, training says how it ended, and the weight of a word agrees
// with where the graph has it (sections 4.2 and 5.2).
func TestChainLearns(t *testing.T) {
	g := orchard(12)
	for _, kind := range chainKinds() {
		var told []float64
		f := fitChainModel(t, kind, g, FitOptions{Version: "v1", Progress: func(_ int, objective float64) { told = append(told, objective) }})
		p := f.Provenance
		if f.Kind != kind || p.Waggle != "v1" || p.Topic != "orchard" || p.Settings["variance"] != 10 || p.Texts["features"] != "all" || p.Status == "" {
			t.Errorf("%s: %+v", kind, p)
		}
		if len(p.Curve) < 3 || !slices.IsSorted(p.Curve) || !slices.Equal(p.Curve, told) {
			t.Errorf("%s: curve %v, told %v", kind, p.Curve, told)
		}
		w := f.Payload.(*model.Chain).Weights
		for id := range f.Space.Len() {
			var hop int
			if n, _ := fmt.Sscanf(f.Space.Name(uint32(id)), "“hop%d” on the page", &hop); n != 1 {
				continue
			}
			for s := range w.States {
				if s != hop && w.State(uint32(id), s) >= w.State(uint32(id), hop) {
					t.Errorf("%s: “hop%d” weighs %v for T%d and %v for T%d", kind, hop, w.State(uint32(id), s), s, w.State(uint32(id), hop), hop)
				}
			}
		}
	}
}

// The same training set gives the same bytes, on one core or several, and the
// model read from them is the one trained.
func TestChainSameBytes(t *testing.T) {
	g := orchard(12)
	for _, kind := range chainKinds() {
		var first []byte
		for _, workers := range []int{1, 2, 3} {
			f := fitChainModel(t, kind, g, FitOptions{Workers: workers})
			b, err := f.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b
				name := filepath.Join(t.TempDir(), "m")
				if err := f.Write(name); err != nil {
					t.Fatal(err)
				}
				read, err := model.Read(name, nil)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(read.Payload.(*model.Chain).Weights.W, f.Payload.(*model.Chain).Weights.W) {
					t.Errorf("%s: other weights from the file", kind)
				}
			}
			if !bytes.Equal(b, first) {
				t.Errorf("%s: other bytes with %d workers", kind, workers)
			}
		}
	}
}

// The three subsets of the paper, each with what it looks at.
func TestChainSubsets(t *testing.T) {
	g := orchard(6)
	for subset, want := range map[feature.Subset][2]int{ // words of pages, of anchors
		feature.All: {5, 2}, feature.Words: {5, 0}, feature.Similarity: {0, 2},
	} {
		f := fitChainModel(t, model.MEMM, g, FitOptions{Iterations: 2, Features: feature.Options{Subset: subset}})
		words, anchors := f.Space.Vocabulary()
		if f.Space.Subset() != subset || [2]int{words, anchors} != want || f.Provenance.Texts["features"] != string(subset) {
			t.Errorf("%s: %d words of pages, %d of anchors, %v", subset, words, anchors, f.Provenance.Texts)
		}
	}
}

func TestChainFitErrors(t *testing.T) {
	bare := orchard(6)
	for i := range bare.Nodes {
		bare.Nodes[i].Page.Terms = []web.Term{{Text: "tree", Body: 1}}
	}
	same := orchard(6)
	for i := range same.Nodes {
		same.Nodes[i].State = 0
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for _, c := range []struct {
		name string
		ctx  context.Context
		g    *Graph
		o    FitOptions
		is   error
		says string
	}{
		{"a vocabulary that matches nothing", context.Background(), bare, FitOptions{}, nil, "collect more pages"},
		{"words in more pages than there are", context.Background(), orchard(6), FitOptions{Features: feature.Options{MinPages: 1000}}, nil, "lower the number of pages a word needs"},
		{"no such subset", context.Background(), orchard(6), FitOptions{Features: feature.Options{Subset: "some"}}, nil, "give all, words or similarity"},
		{"one class", context.Background(), same, FitOptions{}, ErrOneClass, ""},
		{"stopped", stopped, orchard(6), FitOptions{}, context.Canceled, ""},
	} {
		for _, kind := range chainKinds() {
			f, err := Fit(c.ctx, kind, c.g, sample(t, c.g, SequenceOptions{Count: 40}), c.o)
			if f != nil || err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %s: %v, %v", kind, c.name, f, err)
			}
		}
	}
}

// A target is compared with the other targets, and with itself only where the
// setting asks for it, as the paper has it.
func TestChainComparesTargetsWithOthers(t *testing.T) {
	g := orchard(4)
	space, err := feature.Build(g.Topic, []feature.Example{{Page: g.Nodes[0].Page}}, feature.Options{MinPages: 1})
	if err != nil {
		t.Fatal(err)
	}
	if c := space.Page(g.Nodes[0].Page).At(feature.TargetCosine); math.Abs(c-1) > 1e-9 {
		t.Errorf("the cosine of a target to itself is %v", c)
	}
	if c := space.Others(g.Nodes[0].Page).At(feature.TargetCosine); !(c < 1-1e-9) {
		t.Errorf("the cosine of a target to the others is %v", c)
	}
}

// The shares of moves are those of links by the states of both ends; those out
// of the graph count for the last state.
func TestChainMoves(t *testing.T) {
	page := func(n int) *web.Page {
		p := &web.Page{}
		for i := range n {
			u, err := web.Parse(fmt.Sprintf("http://x.test/%d", i))
			if err != nil {
				t.Fatal(err)
			}
			p.Links = append(p.Links, web.Link{URL: u}, web.Link{URL: u}) // twice the same counts once
		}
		return p
	}
	g := &Graph{
		Nodes: []Node{{State: 0, Page: page(1)}, {State: 1, Page: page(4)}, {State: 7, Page: page(2)}},
		Edges: []Edge{{From: 1, To: 0}, {From: 1, To: 2}, {From: 2, To: 1}, {From: 2, To: 2}},
	}
	// From T0: one link out. From T1: to T0, to T2, two out. From T2 or more: to
	// T1, to T2; half a link on each move allowed.
	want := []float64{
		.5 / 2.5, .5 / 2.5, 1.5 / 2.5,
		1.5 / 5.5, .5 / 5.5, 3.5 / 5.5,
		0, 1.5 / 3, 1.5 / 3,
	}
	for i, got := range g.moves(3) {
		if math.Abs(got-want[i]) > 1e-12 {
			t.Errorf("from T%d to T%d: %v, want %v", i/3, i%3, got, want[i])
		}
	}
}
