package logsum

import (
	"math"
	"testing"
)

var inf = math.Inf(1)

// near tells whether numbers agree within rounding, or are the same infinity.
func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-12*max(1, math.Abs(b)) }

func TestSumsOfLogarithms(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float64
		want float64
	}{
		{"nothing", nil, -inf},
		{"one number", []float64{3}, 3},
		{"log(1+2+5)", []float64{0, math.Log(2), math.Log(5)}, math.Log(8)},
		{"zeros do not count", []float64{-inf, 1, -inf}, 1},
		{"zeros alone", []float64{-inf, -inf}, -inf},
		{"too large for exp", []float64{1000, 1000}, 1000 + math.Ln2},
		{"too small for exp", []float64{-2000, -2000, -2000}, -2000 + math.Log(3)},
		{"very unequal", []float64{0, -800}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Of(c.x); !near(got, c.want) {
				t.Errorf("Of: %v, not %v", got, c.want)
			}
			sum := math.Inf(-1)
			for _, x := range c.x {
				sum = Add(x, sum)
			}
			if !near(sum, c.want) {
				t.Errorf("Add: %v, not %v", sum, c.want)
			}
			shares := append([]float64(nil), c.x...)
			if got := Softmax(shares); !near(got, c.want) {
				t.Errorf("Softmax: %v, not %v", got, c.want)
			}
			total := 0.
			for j, p := range shares {
				total += p
				if !math.IsInf(c.want, -1) && !near(p, math.Exp(c.x[j]-c.want)) {
					t.Errorf("share %d is %v", j, p)
				}
			}
			if want := 1.; math.IsInf(c.want, -1) && total != 0 || !math.IsInf(c.want, -1) && !near(total, want) {
				t.Errorf("shares sum to %v", total)
			}
		})
	}
}

func TestSoftmaxOfWhatIsNotFinite(t *testing.T) {
	for _, x := range [][]float64{{1, inf}, {math.NaN(), 2}} {
		if got := Softmax(x); !math.IsInf(got, -1) || x[0] != 0 || x[1] != 0 {
			t.Errorf("%v with %v", got, x)
		}
	}
}
