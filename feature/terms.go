package feature

import (
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/web"
)

// pageTerms are the terms of a page by frequency, scaled to length 1; empty for
// a page without text.
func pageTerms(page []web.Term) terms {
	v := make(terms, 0, len(page))
	for _, t := range page {
		if t.Body > 0 {
			v = append(v, term{t.Text, float64(t.Body)})
		}
	}
	slices.SortFunc(v, func(a, b term) int {
		switch {
		case a.stem < b.stem:
			return -1
		case a.stem > b.stem:
			return 1
		}
		return 0
	})
	return v.unit()
}

// textTerms does the same for the stems of a text, which it sorts.
func textTerms(stems []string) terms {
	slices.Sort(stems)
	v := make(terms, 0, len(stems))
	for _, s := range stems {
		if n := len(v); n > 0 && v[n-1].stem == s {
			v[n-1].weight++
			continue
		}
		v = append(v, term{s, 1})
	}
	return v.unit()
}

// unit scales v to length 1, in place.
func (v terms) unit() terms {
	square := 0.
	for _, t := range v {
		square += t.weight * t.weight
	}
	for i := range v {
		v[i].weight /= math.Sqrt(square)
	}
	return v
}

// cosine divides a product with a vector of length 1 by the length of the
// other one, in [0,1].
func cosine(dot, square float64) float64 {
	if !(square > 0) {
		return 0
	}
	c := dot / math.Sqrt(square)
	if !(c >= 0) {
		return 0
	}
	return min(1, c)
}
