// Package knn finds the k nearest of many sparse vectors by cosine, and
// classifies by their labels. New builds an inverted index, so that Nearest and
// Classify look only at vectors that share a component with the query.
package knn

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Index holds labelled vectors. It does not change and is safe for concurrent
// use.
type Index struct {
	labels   []int                // [points]
	postings map[uint32][]posting // by ID, ascending point
	scratch  sync.Pool            // *scratch
}

// posting is one component of a point, divided by the point's length.
type posting struct {
	point int32
	value float64
}

// scratch is the work space of a query: cosines and seen [points], which are zero
// between queries.
type scratch struct {
	cosines []float64
	seen    []bool
	touched []int32
}

// Neighbour is a point near a query.
type Neighbour struct {
	Point  int     // index of the point
	Label  int     // label of the point
	Cosine float64 // in [−1,1]
}

// New indexes points with a label ≥ 0 each. A point of length zero is the
// neighbour of no query.
func New(points []sparse.Vector, labels []int) (*Index, error) {
	if len(points) == 0 {
		return nil, errors.New("knn: no points to index")
	}
	if len(points) != len(labels) {
		return nil, fmt.Errorf("knn: %d points with %d labels", len(points), len(labels))
	}
	if len(points) > math.MaxInt32 {
		return nil, fmt.Errorf("knn: %d points; at most %d", len(points), math.MaxInt32)
	}
	x := &Index{labels: slices.Clone(labels), postings: map[uint32][]posting{}}
	for n, p := range points {
		if labels[n] < 0 {
			return nil, fmt.Errorf("knn: point %d has label %d; labels are ≥ 0", n, labels[n])
		}
		if err := p.Check(); err != nil {
			return nil, fmt.Errorf("knn: point %d: %w", n, err)
		}
		length := p.Norm()
		if math.IsInf(length, 1) {
			return nil, fmt.Errorf("knn: the length of point %d is too large for a float64", n)
		}
		if length == 0 {
			continue
		}
		for _, e := range p {
			if e.Value != 0 {
				x.postings[e.ID] = append(x.postings[e.ID], posting{int32(n), e.Value / length})
			}
		}
	}
	x.scratch.New = func() any {
		return &scratch{cosines: make([]float64, len(labels)), seen: make([]bool, len(labels))}
	}
	return x, nil
}

// Len returns the number of points.
func (x *Index) Len() int { return len(x.labels) }

// Nearest returns at most k points, the nearest first, and among equally near
// ones the earlier first. Points that share no component with the query are not
// among them. The query must satisfy sparse.Vector.Check.
func (x *Index) Nearest(query sparse.Vector, k int) []Neighbour {
	length := query.Norm()
	if k <= 0 || !(length > 0) || math.IsInf(length, 1) {
		return nil
	}
	s := x.scratch.Get().(*scratch)
	for _, e := range query {
		share := e.Value / length
		if share == 0 {
			continue
		}
		for _, p := range x.postings[e.ID] {
			if !s.seen[p.point] {
				s.seen[p.point] = true
				s.touched = append(s.touched, p.point)
			}
			s.cosines[p.point] += share * p.value
		}
	}
	// The k best so far are a heap with the worst on top.
	best := make([]Neighbour, 0, min(k, len(s.touched)))
	for _, p := range s.touched {
		n := Neighbour{int(p), x.labels[p], max(-1, min(1, s.cosines[p]))}
		s.cosines[p], s.seen[p] = 0, false
		switch {
		case len(best) < k:
			best = append(best, n)
			for at := len(best) - 1; at > 0 && order(best[(at-1)/2], best[at]) < 0; at = (at - 1) / 2 {
				best[at], best[(at-1)/2] = best[(at-1)/2], best[at]
			}
		case order(n, best[0]) < 0:
			best[0] = n
			sink(best)
		}
	}
	s.touched = s.touched[:0]
	x.scratch.Put(s)
	slices.SortFunc(best, order)
	return best
}

// order compares by distance, then by index.
func order(a, b Neighbour) int {
	return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Point, b.Point))
}

// sink restores the heap after its top has changed.
func sink(h []Neighbour) {
	for at := 0; ; {
		worst := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(h); child++ {
			if order(h[child], h[worst]) > 0 {
				worst = child
			}
		}
		if worst == at {
			return
		}
		h[at], h[worst] = h[worst], h[at]
		at = worst
	}
}

// Classify returns the label that most of the k nearest points have, and its
// share of them. Ties go to the label whose neighbours have the larger sum of
// cosines, then to the lower label. ok is false if there is no neighbour.
//
// Source: Batsakis et al. 2009, section 3.3, where it finds the cluster of a page.
func (x *Index) Classify(query sparse.Vector, k int) (label int, share float64, ok bool) {
	nearest := x.Nearest(query, k)
	if len(nearest) == 0 {
		return 0, 0, false
	}
	type vote struct {
		label, count int
		sum          float64
	}
	var votes []vote
	for _, n := range nearest {
		at := slices.IndexFunc(votes, func(v vote) bool { return v.label == n.Label })
		if at < 0 {
			at = len(votes)
			votes = append(votes, vote{label: n.Label})
		}
		votes[at].count++
		votes[at].sum += n.Cosine
	}
	won := slices.MinFunc(votes, func(a, b vote) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.sum, a.sum), cmp.Compare(a.label, b.label))
	})
	return won.label, float64(won.count) / float64(len(nearest)), true
}
