// Package knn finds the nearest of many vectors by the cosine, and classifies
// by their votes. It keeps an inverted index, so a query looks only at vectors
// that share something with it.
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

// Index holds labelled vectors. It does not change and is for concurrent use.
type Index struct {
	labels   []int                // [points]
	postings map[uint32][]posting // by ID, ascending point
	scratch  sync.Pool            // *scratch
}

// posting is one component of one point, as a share of the point's length.
type posting struct {
	point int32
	value float64
}

// scratch is what one query needs: cosines [points], all zero between queries
// but of those touched.
type scratch struct {
	cosines []float64
	seen    []bool
	touched []int32
}

// Neighbour is one point near a query.
type Neighbour struct {
	Point  int     // its place among the points
	Label  int     // what it was labelled
	Cosine float64 // −1…1
}

// New indexes points with a label ≥ 0 each. A point of length zero is kept and
// never near to anything.
func New(points []sparse.Vector, labels []int) (*Index, error) {
	if len(points) == 0 {
		return nil, errors.New("knn: no point to be near to")
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
			return nil, fmt.Errorf("knn: point %d is longer than a number can say", n)
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

// Len is the number of points.
func (x *Index) Len() int { return len(x.labels) }

// Nearest are at most k points, nearest first, of equals the earlier first.
// Points that share nothing with the query are not among them, so a query of
// unknown words has none. Values must be numbers (see sparse.Vector.Check).
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

// order puts the nearer first, of equals the earlier.
func order(a, b Neighbour) int {
	return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Point, b.Point))
}

// sink restores the heap whose top is new.
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

// Classify is the label that most of the k nearest have, and its share of
// them; of equals the one whose neighbours are nearer in sum, then the lower.
// Without any neighbour ok is false.
//
// Source: Batsakis et al. 2009, where it gives a page its cluster.
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
