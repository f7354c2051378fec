package score_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// A priority says which belief it was made of.
func TestReadHops(t *testing.T) {
	m := chainOf(t, model.CRF, 5, feature.All, 4)
	path, err := score.NewPath(m, score.PathOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, epsilon := range []float64{0.001, 0.01} {
			set := map[string]float64{"epsilon": epsilon}
			s, err := score.New("crf", score.Options{Model: m, Analyzer: analyzer, Set: set})
			if err != nil {
				t.Fatal(err)
			}
			c := follow(s, genPath(t))
			want := make([]float64, 5)
			path.Predict(want, c.Features, c.Memory)
			got := score.ReadHops("crf", set, s.Score(&c))
			for i := range want {
				if d := want[i] - got[i]; d < -1e-8 || d > epsilon+1e-8 {
					t.Fatalf("ε %v: %v reads as %v", epsilon, want, got)
				}
			}
		}
	})
	if got := score.ReadHops("memm", nil, 1); !slices.Equal(got, []float64{1, 0, 0, 0, 0}) {
		t.Errorf("a target for sure reads as %v", got)
	}
	for _, c := range []struct {
		scorer   string
		priority float64
	}{{"best-first-both", 0.5}, {"crf", math.NaN()}, {"crf", math.MaxFloat32}, {"crf", -1}} {
		if got := score.ReadHops(c.scorer, nil, c.priority); got != nil {
			t.Errorf("%s %v reads as %v", c.scorer, c.priority, got)
		}
	}
}

// What a link shows, and how much that says for a target: by hand, the weight
// for T0 less the mean of those for T1 and T2.
func TestLinkReasons(t *testing.T) {
	m := chainOf(t, model.MEMM, 3, feature.All, 1)
	w := m.Payload.(*model.Chain).Weights
	clear(w.W)
	l := &web.Link{URL: parse("http://x.test/bee"), Anchor: "hive queen steel"}
	for _, o := range m.Space.Inlink(m.Space.Link(l)) {
		switch m.Space.Name(o.ID) {
		case "its address holds a keyword":
			weigh(w, o.ID, 0, 1)
		case "“queen” in the anchor that led here":
			weigh(w, o.ID, 1, 4)
		}
	}
	got := score.LinkReasons(m, l, 2)
	want := []score.Observed{{Seen: "“queen” in the anchor that led here", Weight: -2}, {Seen: "its address holds a keyword", Weight: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := score.LinkReasons(trained(t, "hmm"), l, 2); got != nil {
		t.Errorf("a model of another kind says %v", got)
	}
}
