package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Weights are found again by which relevances were drawn; evidence that
// foretells nothing loses its weight; and without trials they stay as they are.
func TestFitWeights(t *testing.T) {
	begin := weights{1, 1}
	if w := fit(nil, begin); w != begin {
		t.Errorf("of no trials: %+v", w)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int, evidence, page float64) (out []trial) {
		for range n {
			x := trial{evidence: 2 * rng.NormFloat64(), page: 2 * rng.NormFloat64()}
			x.relevance = 1 / (1 + math.Exp(-(evidence*x.evidence + page*x.page - 1)))
			out = append(out, x)
		}
		return out
	}
	for _, c := range []struct{ evidence, page float64 }{{0, 1}, {1, 0}, {.5, 2}, {2, .3}} {
		w := fit(draw(1000, c.evidence, c.page), begin)
		if math.Abs(w.evidence-c.evidence) > .15 || math.Abs(w.page-c.page) > .15 {
			t.Errorf("drawn by %+v: %+v", c, w)
		}
	}
	if w := fit(draw(1000, -1, 1), begin); w.evidence != 0 {
		t.Errorf("evidence of the contrary counts %v", w.evidence)
	}
	few, many := fit(draw(5, 0, 1), begin), fit(draw(200, 0, 1), begin)
	if few.evidence < .4 || many.evidence > .3 {
		t.Errorf("five trials leave the evidence a weight of %.2f, and 200 one of %.2f", few.evidence, many.evidence)
	}
}

// Whatever the trials, weights are numbers and not negative.
func TestFitWeightsRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := rapid.SliceOf(rapid.Custom(func(t *rapid.T) trial {
			return trial{rapid.Float64Range(-200, 200).Draw(t, "evidence"), rapid.Float64Range(-7, 7).Draw(t, "page"), rapid.Float64Range(0, 1).Draw(t, "relevance")}
		})).Draw(t, "trials")
		w := fit(trials, weights{rapid.Float64Range(0, 1).Draw(t, "w1"), rapid.Float64Range(0, 100).Draw(t, "w2")})
		for _, x := range []float64{w.evidence, w.page} {
			if !(x >= 0) || math.IsInf(x, 0) {
				t.Fatalf("%+v", w)
			}
		}
	})
}
