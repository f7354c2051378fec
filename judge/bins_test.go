package judge

import (
	"math"
	"slices"
	"testing"
)

// Merged bins hold enough pages to say something, and lose none.
func TestMergeBins(t *testing.T) {
	for name, c := range map[string]struct{ in, want []Bin }{
		"none":           {},
		"few in all":     {[]Bin{{Pages: 3, Mean: 0.2, Accuracy: 1}, {Pages: 1, Mean: 0.6}}, []Bin{{Pages: 4, Mean: 0.3, Accuracy: 0.75}}},
		"few at first":   {[]Bin{{6, 0.25, 0}, {6, 0.75, 1}, {10, 1, 1}}, []Bin{{12, 0.5, 0.5}, {10, 1, 1}}},
		"enough in each": {[]Bin{{Pages: 10, Mean: 0.2}, {Pages: 11, Mean: 0.6}}, []Bin{{Pages: 10, Mean: 0.2}, {Pages: 11, Mean: 0.6}}},
		"few at the end": {[]Bin{{Pages: 15, Mean: 0.2}, {Pages: 5, Mean: 0.6}}, []Bin{{Pages: 20, Mean: 0.3}}},
	} {
		if got := MergeBins(c.in, 10); !slices.EqualFunc(got, c.want, func(a, b Bin) bool {
			return a.Pages == b.Pages && math.Abs(a.Mean-b.Mean) < 1e-12 && math.Abs(a.Accuracy-b.Accuracy) < 1e-12
		}) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
