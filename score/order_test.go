package score

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/internal/wire"
)

// Beliefs compare by the first bucket in which they differ (section 3.3.2).
func TestOrder(t *testing.T) {
	o := newBeliefOrder(0.001)
	ascending := [][]float64{ // each line below the next
		{0, 0, 1},
		{0, 0.5, 0.5},
		{0.4999, 0.5, 0.0001},
		{0.5, 0, 0.5},
		{0.5008, 0.05, 0.4492}, // the same bucket as .5000: the second decides
		{0.5, 0.1, 0.4},
		{0.5016, 0, 0.4984},
		{1, 0, 0},
	}
	for i := range ascending[1:] {
		if a, b := o.priority(ascending[i]), o.priority(ascending[i+1]); a >= b {
			t.Errorf("%v has %v, not below %v with %v", ascending[i], a, ascending[i+1], b)
		}
	}
	for _, c := range []struct {
		epsilon float64
		belief  []float64
		want    float64
	}{
		{0.5, []float64{1}, 1},
		{0.25, []float64{0.5, 0.25}, 0.25 * (2 + 1./8)},
		{0.25, []float64{0.5, 0.25, 0, 1}, 0.25 * (2 + 1./8 + 4./512)},
		{0.25, []float64{math.NaN(), math.Inf(1)}, 0.25 * (4. / 8)},
		{0.001, []float64{0.3}, 0.3}, // .3/.001 is 299.99999999999994
		{0.0005, nil, 0},
	} {
		if got := newBeliefOrder(c.epsilon).priority(c.belief); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("ε = %v: %v has %v, want %v", c.epsilon, c.belief, got, c.want)
		}
	}
}

// The order of priorities is the lexicographic order of buckets, as far as they
// fit, for any ε: so it is transitive.
func TestOrderIsLexicographic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newBeliefOrder(rapid.SampledFrom([]float64{1e-6, 0.0005, 0.001, 0.01, 0.3, 0.5}).Draw(t, "ε"))
		// Near each other, so that buckets are often equal.
		belief := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 12), func(n int) float64 {
			return min(1, 0.9991+float64(n)*0.00025)
		}), 6, 6)
		a, b := belief.Draw(t, "a"), belief.Draw(t, "b")
		digits := func(p []float64) (d []uint64) {
			for _, x := range p[:min(len(p), o.digits)] {
				d = append(d, epsilonBucket(x, o.epsilon))
			}
			return d
		}
		if got, want := cmp.Compare(o.priority(a), o.priority(b)), slices.Compare(digits(a), digits(b)); got != want {
			t.Fatalf("%v and %v compare as %d, their buckets %v and %v as %d", a, b, got, digits(a), digits(b), want)
		}
	})
}

func TestBeliefOnALink(t *testing.T) {
	want := []float64{0.5, 0.1, 0, 0.4}
	b := wire.AppendFloat32s(nil, want)
	got := make([]float64, 4)
	if !readBelief(got, b) {
		t.Fatal("a belief is none")
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-7 {
			t.Errorf("%v came back as %v", want, got)
		}
	}
	for name, bad := range map[string][]byte{
		"nothing":   nil,
		"cut short": b[:12],
		"not 1":     wire.AppendFloat32s(nil, []float64{0, 0, 0, 0}),
		"negative":  wire.AppendFloat32s(nil, []float64{-1, 1, 1, 0}),
		"NaN":       wire.AppendFloat32s(nil, []float64{math.NaN(), 1, 0, 0}),
	} {
		if readBelief(got, bad) {
			t.Errorf("%s was read as a belief %v", name, got)
		}
	}
}
