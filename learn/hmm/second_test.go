package hmm_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waggle-crawler/waggle/learn/hmm"
)

// A model of first order as one of second order gives every walk the same probability,
// by the sum and by the maximum over walks.
func TestFirstOrderAsSecond(t *testing.T) {
	first, err := hmm.Random(3, 4, hmm.HopArcs(3), 5)
	if err != nil {
		t.Fatal(err)
	}
	second := first.Second()
	if err := second.Check(); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var one, pair []float64
		for range 1 + r.IntN(7) {
			symbol := r.IntN(4)
			next, both := make([]float64, 3), make([]float64, second.Belief())
			a, b := first.Step(next, one, symbol), second.Step(both, pair, symbol)
			if math.Abs(a-b) > 1e-12 {
				t.Fatalf("P(o) is %v of first order and %v of second", a, b)
			}
			one, pair = next, both
		}
		want, got := make([]float64, 3), make([]float64, 3)
		first.Predict(want, one)
		second.Predict(got, pair)
		for j := range want {
			if math.Abs(want[j]-got[j]) > 1e-12 {
				t.Fatalf("the next state is %v of first order and %v of second", want, got)
			}
		}
	}
}
