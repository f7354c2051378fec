package sparse

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const dim = 8

func genEntries(t *rapid.T, name string) []Entry {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Entry {
		return Entry{rapid.Uint32Range(0, dim-1).Draw(t, "id"), rapid.Float64Range(-5, 5).Draw(t, "value")}
	}), 0, 12).Draw(t, name)
}

func dense(entries []Entry) (d [dim]float64) {
	for _, e := range entries {
		d[e.ID] += e.Value
	}
	return d
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(a), math.Abs(b)) }

// All operations equal those on dense vectors.
func TestAsWrittenInFull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genEntries(t, "a"), genEntries(t, "b")
		x, y := dense(a), dense(b)
		v, u := New(a), New(b)
		sum := v.Add(u)
		for _, w := range []Vector{v, u, sum} {
			if err := w.Check(); err != nil {
				t.Fatal(err)
			}
		}
		dot, xx, yy := 0., 0., 0.
		for i := range x {
			dot, xx, yy = dot+x[i]*y[i], xx+x[i]*x[i], yy+y[i]*y[i]
			if !near(v.At(uint32(i)), x[i]) || !near(sum.At(uint32(i)), x[i]+y[i]) {
				t.Fatalf("component %d: %v and %v, want %v and %v", i, v.At(uint32(i)), sum.At(uint32(i)), x[i], x[i]+y[i])
			}
		}
		if !near(v.Dot(u), dot) || v.Dot(u) != u.Dot(v) || !near(v.Norm(), math.Sqrt(xx)) {
			t.Fatalf("dot %v, want %v; norm %v, want %v", v.Dot(u), dot, v.Norm(), math.Sqrt(xx))
		}
		cosine := 0.
		if v.Norm() > 0 && u.Norm() > 0 {
			cosine = dot / math.Sqrt(xx) / math.Sqrt(yy)
		}
		if c := v.Cosine(u); math.Abs(c-cosine) > 1e-9 || c < -1 || c > 1 {
			t.Fatalf("cosine %v, want %v", c, cosine)
		}
	})
}

func TestCheck(t *testing.T) {
	for want, v := range map[string]Vector{
		"":                    {{0, 1}, {3, 0}, {7, -2}},
		"ID 3 after ID 3":     {{3, 1}, {3, 1}},
		"ID 1 after ID 3":     {{3, 1}, {1, 1}},
		"component 2 is NaN":  {{2, math.NaN()}},
		"component 2 is -Inf": {{2, math.Inf(-1)}},
	} {
		if err := v.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", v, err, want)
		}
	}
}
