package pool

import (
	"math"
	"math/rand/v2"
	"testing"
)

// subsets calls f with every choice of n of 0…size−1.
func subsets(size, n int, f func([]int)) {
	var chosen []int
	var next func(from int)
	next = func(from int) {
		if len(chosen) == n {
			f(chosen)
			return
		}
		for i := from; i <= size-(n-len(chosen)); i++ {
			chosen = append(chosen, i)
			next(i + 1)
			chosen = chosen[:len(chosen)-1]
		}
	}
	next(0)
}

// Over all samples that could be drawn, the mean of the estimated total is the
// total, and its variance the textbook's.
func TestTotalIsUnbiased(t *testing.T) {
	one := []int{1, 0, 0, 1, 0, 1, 0} // relevance by document
	two := []int{0, 0, 1, 0, 0, 0, 0, 0}
	const n1, n2 = 3, 4
	sum, squares, count := 0., 0., 0.
	subsets(len(one), n1, func(a []int) {
		subsets(len(two), n2, func(b []int) {
			s := []Sample{{Size: len(one), Read: n1}, {Size: len(two), Read: n2}}
			for _, i := range a {
				s[0].Relevant += one[i]
			}
			for _, i := range b {
				s[1].Relevant += two[i]
			}
			e := Total(s)
			if e.Low > e.Value || e.High < e.Value || e.Low < float64(s[0].Relevant+s[1].Relevant) || e.High > 15 {
				t.Fatalf("%+v: %+v", s, e)
			}
			sum += e.Value
			squares += e.Value * e.Value
			count++
		})
	})
	mean := sum / count
	if math.Abs(mean-4) > 1e-9 {
		t.Errorf("the mean of the estimates is %v, and 4 documents are relevant", mean)
	}
	// Cochran (1977), theorem 5.3: Σ N²(1−f)S²/n, with the population's S².
	want := 0.
	for _, x := range []struct{ size, read, relevant float64 }{{7, n1, 3}, {8, n2, 1}} {
		p := x.relevant / x.size
		want += x.size * x.size * (1 - x.read/x.size) * p * (1 - p) * x.size / (x.size - 1) / x.read
	}
	if got := squares/count - mean*mean; math.Abs(got-want) > 1e-9 {
		t.Errorf("variance %v, want %v", got, want)
	}
}

// A sample of all is no estimate.
func TestTotalOfAll(t *testing.T) {
	if e := Total([]Sample{{10, 10, 3}, {0, 0, 0}, {5, 5, 0}}); e != (Estimate{3, 0, 3, 3}) {
		t.Errorf("%+v", e)
	}
	// Nothing read: anything between none and all.
	if e := Total([]Sample{{100, 0, 0}}); e.Value != 50 || e.Low != 0 || e.High != 100 || math.Abs(e.SE-math.Sqrt(10000./12+25)) > 1e-9 {
		t.Errorf("%+v", e)
	}
	// Cochran's formula, where it is not far from the smoothed one.
	e := Total([]Sample{{5000, 1000, 400}})
	if want := 5000 * math.Sqrt((1-.2)*.4*.6/1000); math.Abs(e.SE/want-1) > .01 || e.Value != 2000 {
		t.Errorf("%+v, want a standard error of %v", e, want)
	}
}

// The intervals hold the truth as often as they say, or more often, for strata
// as pools have them.
func TestIntervalsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	sizes, reads := []int{200, 500, 1700, 2700, 4000}, []int{200, 45, 41, 30, 17}
	for _, share := range [][]float64{{.6, .3, .1, .03, .01}, {.4, .2, .15, .1, .1}, {.3, .05, .01, .002, 0}} {
		truth := 0
		relevant := make([]int, len(sizes))
		for h, n := range sizes {
			relevant[h] = int(float64(n) * share[h])
			truth += relevant[h]
		}
		const draws = 4000
		held, mean := 0, 0.
		for range draws {
			var s []Sample
			for h, n := range sizes {
				x := Sample{Size: n, Read: reads[h]}
				for i := range reads[h] { // without replacement
					if rng.IntN(n-i) < relevant[h]-x.Relevant {
						x.Relevant++
					}
				}
				s = append(s, x)
			}
			e := Total(s)
			mean += e.Value / draws
			if e.Low <= float64(truth) && float64(truth) <= e.High {
				held++
			}
		}
		if c := float64(held) / draws; c < .93 {
			t.Errorf("shares %v: %.3f of the 95 %% intervals hold the truth", share, c)
		}
		if math.Abs(mean-float64(truth)) > .05*float64(truth)+3 {
			t.Errorf("shares %v: mean estimate %.1f of %d", share, mean, truth)
		}
	}
}

// A ratio's standard error is how far estimates are from the truth: errors that
// part and whole share do not count twice, and a part with a share of its own is
// told apart.
func TestRatio(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const size, read, part = 2000, 200, 700 // documents; of them in the part
	const draws = 4000
	for _, c := range []struct {
		in, out float64 // shares of relevant documents in the part and beside it
		apart   bool
	}{{.2, .2, false}, {.2, .2, true}, {.4, .1, true}, {.05, .3, true}} {
		squares, se, bias := 0., 0., 0.
		for range draws {
			relevant := make([]bool, size)
			inPart, all := 0., 0.
			for i := range relevant {
				p := c.out
				if i < part {
					p = c.in
				}
				if relevant[i] = rng.Float64() < p; relevant[i] {
					all++
					if i < part {
						inPart++
					}
				}
			}
			x := Share{Whole: Sample{Size: size, Read: read}, Part: Sample{Size: part}}
			for _, i := range rng.Perm(size)[:read] {
				one := 0
				if relevant[i] {
					one = 1
				}
				x.Whole.Relevant += one
				if i < part {
					x.Part.Read++
					x.Part.Relevant += one
				}
			}
			x.Unread = float64(x.Part.Unread())
			of := x.Part
			if !c.apart {
				of = x.Whole
			}
			h := Predict(float64(x.Part.Relevant), []float64{x.Unread}, []Sample{of}).Value
			whole := Total([]Sample{x.Whole}).Value
			off := h/whole - inPart/all
			if !c.apart {
				x.Part = Sample{}
			}
			squares += off * off / draws
			bias += off / draws
			se += RatioSE(h/whole, whole, []Share{x}) / draws
		}
		if off := math.Sqrt(squares); math.Abs(se/off-1) > .08 {
			t.Errorf("%+v: standard error %.4f, root of the mean square error %.4f", c, se, off)
		}
		if math.Abs(bias) > .004 {
			t.Errorf("%+v: bias %.4f", c, bias)
		}
	}
	if se := RatioSE(.25, 12, []Share{{Whole: Sample{40, 40, 12}, Part: Sample{10, 10, 3}}}); se != 0 {
		t.Errorf("all read: %v", se)
	}
}
