package train

import (
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/model"
)

func documents(m *bayes.Model) (out []uint64) {
	for c := range m.Classes() {
		out = append(out, m.Documents(c))
	}
	return out
}

// Layers are those in which pages were found, 0…4, or the hops to a target; of
// each the first so many pages are learnt.
func TestContextGraphLayers(t *testing.T) {
	g := collect(t, paper(), CollectOptions{Layers: 5}, "0") // 0 | 1 2 | 3 4 5 6 | 7 8 | 9
	for _, c := range []struct {
		set  map[string]float64
		want []uint64
	}{
		{nil, []uint64{1, 2, 4, 2, 1}},
		{map[string]float64{"layers": 2}, []uint64{1, 2, 4}},
		{map[string]float64{"nodes": 2}, []uint64{1, 2, 2, 2, 1}},
		{map[string]float64{"layers": 9}, []uint64{1, 2, 4, 2, 1}}, // as many as there are
		{map[string]float64{"states": 1}, []uint64{3, 5, 2}},       // 0 5 7 | 1 2 4 8 9 | 3 6
		{map[string]float64{"states": 1, "layers": 1}, []uint64{3, 7}},
	} {
		set := map[string]float64{"words": 1}
		for k, v := range c.set {
			set[k] = v
		}
		m := fitted(t, g, model.ContextGraph, nil, FitOptions{Set: set}).Payload.(*model.Classes)
		if got := documents(m.Bayes); !slices.Equal(got, c.want) {
			t.Errorf("%v: %d pages a layer, want %d", c.set, got, c.want)
		}
	}
}

// Of a page count the words of highest tf·idf alone. With idf of English the
// words of the topic are not held to be common because they are so here.
func TestContextGraphWords(t *testing.T) {
	g := collect(t, draft(`
		t ->      words: waggle waggle time
		a -> t    words: waggle time time time
		b -> t    words: waggle time time time`), CollectOptions{Similar: 2}, "t")
	for _, c := range []struct {
		background, top float64
		want            []uint64 // words learnt a layer
	}{
		{1, 40, []uint64{3, 8}},
		{1, 1, []uint64{2, 2}}, // waggle on each
		{0, 1, []uint64{2, 6}}, // time, on a and b
	} {
		m := fitted(t, g, model.ContextGraph, nil, FitOptions{Set: map[string]float64{"words": 1, "top": c.top, "background": c.background}}).Payload.(*model.Classes)
		if got := []uint64{m.Bayes.Tokens(0), m.Bayes.Tokens(1)}; !slices.Equal(got, c.want) {
			t.Errorf("background %v, top %v: %d words a layer, want %d", c.background, c.top, got, c.want)
		}
	}
}
