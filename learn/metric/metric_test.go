package metric

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func of(pairs ...float64) (all []Prediction) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, Prediction{pairs[i], pairs[i+1] == 1, 1})
	}
	return all
}

func TestByHand(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		all        []Prediction
		auroc, ece float64
	}{
		"perfect":      {of(.9, 1, .8, 1, .1, 0), 1, (.1 + .2 + .1) / 3},
		"reversed":     {of(0, 1, 1, 0), 0, 1},
		"a tie":        {of(.5, 1, .5, 0, .1, 0), .75, (0 + .1) / 3},
		"calibrated":   {of(.75, 1, .75, 1, .75, 1, .75, 0), .5, 0},
		"one class":    {of(.5, 1), nan, .5},
		"nothing":      {nil, nan, nan},
		"both ends":    {of(1, 1, 0, 0), 1, 0},
		"with weights": {[]Prediction{{.8, true, 1}, {.4, false, 3}, {.9, false, 1}}, .75, (.2 + 1.2 + .9) / 5},
	} {
		bins := make(Bins, 10)
		for _, p := range c.all {
			bins.Add(p)
		}
		for what, x := range map[string][2]float64{"AUROC": {AUROC(c.all), c.auroc}, "ECE": {bins.ECE(), c.ece}} {
			if got, want := x[0], x[1]; math.Abs(got-want) > 1e-12 || math.IsNaN(got) != math.IsNaN(want) {
				t.Errorf("%s: %s %v, want %v", name, what, got, want)
			}
		}
	}
}

// Scores that are no probabilities have a bin too.
func TestBinsOfOddScores(t *testing.T) {
	for score, want := range map[float64]int{math.NaN(): 0, math.Inf(-1): 0, -.5: 0, 0: 0, .1: 1, .95: 9, 1: 9, 1.5: 9, math.Inf(1): 9} {
		bins := make(Bins, 10)
		bins.Add(Prediction{Score: score, Weight: 1})
		if bins[want].Count != 1 {
			t.Errorf("%v is not in bin %d: %+v", score, want, bins)
		}
	}
}

// A prediction of weight n is n predictions; AUROC is what all pairs give.
func TestWeightsAndPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var weighted, each []Prediction
		for range rapid.IntRange(2, 30).Draw(t, "predictions") {
			p := Prediction{float64(rapid.IntRange(0, 9).Draw(t, "score")) / 9, rapid.Bool().Draw(t, "positive"), float64(rapid.IntRange(1, 4).Draw(t, "weight"))}
			weighted = append(weighted, p)
			for range int(p.Weight) {
				each = append(each, Prediction{p.Score, p.Positive, 1})
			}
		}
		pairs, won := 0., 0.
		for _, p := range each {
			for _, n := range each {
				if p.Positive && !n.Positive {
					pairs++
					switch {
					case p.Score > n.Score:
						won++
					case p.Score == n.Score:
						won += .5
					}
				}
			}
		}
		if pairs == 0 {
			won = math.NaN()
		}
		a, b := make(Bins, 7), make(Bins, 7)
		for i, p := range weighted { // in two parts
			half := make(Bins, 7)
			half.Add(p)
			if a = a.Plus(half); i == 0 && len(Bins(nil).Plus(half)) != 7 {
				t.Fatal("bins are lost")
			}
		}
		for _, p := range each {
			b.Add(p)
		}
		for _, x := range [][2]float64{{AUROC(weighted), won / pairs}, {AUROC(each), won / pairs}, {a.ECE(), b.ECE()}} {
			if math.Abs(x[0]-x[1]) > 1e-9 || math.IsNaN(x[0]) != math.IsNaN(x[1]) {
				t.Fatalf("%v, want %v", x[0], x[1])
			}
		}
	})
}
