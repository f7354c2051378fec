package lattice

import (
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Check returns an error if sequences cannot train a model of this shape, with
// the sequence and the position (both from 0) where that shows: there is no
// sequence, or none of two positions or more; all labels are the same state; a
// label or an arc between labels is not in the shape; observations are not
// finite, not in ascending order, or not below shape.Observations.
func Check(sequences []Sequence, shape Shape) error {
	if err := shape.Check(); err != nil {
		return err
	}
	if len(sequences) == 0 {
		return fmt.Errorf("lattice: no sequences to learn from")
	}
	longest, several := 0, false
	for n, q := range sequences {
		if len(q.Obs) != len(q.Labels) || len(q.Labels) == 0 {
			return fmt.Errorf("lattice: sequence %d has %d observations and %d labels: one of each is needed for each of its positions", n, len(q.Obs), len(q.Labels))
		}
		longest = max(longest, len(q.Labels))
		for t, label := range q.Labels {
			if label < 0 || label >= shape.States {
				return fmt.Errorf("lattice: sequence %d, position %d is labelled %d: states are 0 to %d", n, t, label, shape.States-1)
			}
			if t > 0 && !shape.Allowed[q.Labels[t-1]*shape.States+label] {
				return fmt.Errorf("lattice: sequence %d goes from state %d to state %d at position %d, an arc that the shape forbids: allow it, or label the sequence anew", n, q.Labels[t-1], label, t)
			}
			several = several || label != sequences[0].Labels[0]
			if err := q.Obs[t].Check(); err != nil {
				return fmt.Errorf("lattice: sequence %d, position %d: %w", n, t, err)
			}
			if o := q.Obs[t]; len(o) > 0 && int64(o[len(o)-1].ID) >= int64(shape.Observations) {
				return fmt.Errorf("lattice: sequence %d, position %d has observation %d: the shape has %d", n, t, o[len(o)-1].ID, shape.Observations)
			}
		}
	}
	if longest < 2 {
		return fmt.Errorf("lattice: none of %d sequences is longer than 1: paths of two pages at least are needed", len(sequences))
	}
	if !several {
		return fmt.Errorf("lattice: all positions are in state %d: sequences that pass through other states too are needed", sequences[0].Labels[0])
	}
	return nil
}

// Design holds the observations of a training set in the form that a fit
// computes with: each observation vector once, however many positions have it.
//
// A row is a vector together with a span of potentials: those of all arcs, or
// of the arcs from one state, or of the first position. A fit does not multiply
// by W itself but by
//
//	V(arc (i,j), o) = W(L1^(i,j)·o) + W(L2^(j)·o)     for arcs
//	V(state j, o)   = W(L2^(j)·o)                      at the first position
//
// in blocks laid out as those of Weights, so that the spans are intervals of a
// block and a row's potentials are Σ_o obs_o · V(span, o).
//
// A row is the sum of parts. The caller says where vectors are cut into parts.
// The words of a page, for example, are in every row of that page, whichever
// link led to it; as a part of their own they are multiplied once.
type Design struct {
	shape  Shape
	arcs   int      // A
	from   []int    // [S+1]: arcs from state i are from[i] … from[i+1]−1
	to     []int    // [A]: the state that an arc leads to
	cuts   []uint32 // ascending
	parts  table    // of entries
	rows   table    // of parts
	values []float64
	ids    []uint32 // of the parts: observations; values: their components
	sums   []int32  // of the rows: numbers of parts
}

// table holds lists, each once, with their spans. List i is the elements
// [start[i], start[i+1]) of the slice that the table is about, and its
// potentials are [at[i], at[i+1]) of the vector of all potentials.
type table struct {
	start, at []int
	low       []int // of the span, in a block
	heads     map[uint64]int32
	next      []int32 // the previous list with the same hash, −1 if none
}

func newTable() table {
	return table{start: []int{0}, at: []int{0}, heads: map[uint64]int32{}}
}

func (t *table) len() int { return len(t.low) }

// find returns the list with this hash and span for which equal is true; ok is
// false if there is none.
func (t *table) find(hash uint64, low, high int, equal func(i int32) bool) (int32, bool) {
	i, ok := t.heads[hash]
	if !ok {
		return 0, false
	}
	for ; i >= 0; i = t.next[i] {
		if t.low[i] == low && t.at[i+1]-t.at[i] == high-low && equal(i) {
			return i, true
		}
	}
	return 0, false
}

// add appends a list that ends at end.
func (t *table) add(hash uint64, low, high, end int) int32 {
	i := int32(t.len())
	before, ok := t.heads[hash]
	if !ok {
		before = -1
	}
	t.heads[hash] = i
	t.next = append(t.next, before)
	t.low = append(t.low, low)
	t.start = append(t.start, end)
	t.at = append(t.at, t.at[i]+high-low)
	return i
}

// NewDesign returns a design without rows. Vectors are cut into parts before
// each observation in cuts, which ascend; cuts change only the time that a fit
// takes.
func NewDesign(shape Shape, cuts []uint32) *Design {
	d := &Design{shape: shape, arcs: shape.Arcs(), from: []int{0}, cuts: cuts, parts: newTable(), rows: newTable()}
	for i := range shape.States {
		for j := range shape.States {
			if shape.Allowed[i*shape.States+j] {
				d.to = append(d.to, j)
			}
		}
		d.from = append(d.from, len(d.to))
	}
	return d
}

// Start returns the row of a vector at the first position: S potentials.
func (d *Design) Start(o sparse.Vector) int32 { return d.row(d.arcs, d.arcs+d.shape.States, o) }

// Arcs returns the row of a vector at a later position: A potentials, in the
// order of Shape.Allowed without the forbidden arcs.
func (d *Design) Arcs(o sparse.Vector) int32 { return d.row(0, d.arcs, o) }

// From returns the row of a vector at a later position for the arcs from prev
// only, in the order of the states that they lead to.
func (d *Design) From(prev int, o sparse.Vector) int32 {
	return d.row(d.from[prev], d.from[prev+1], o)
}

// Rows returns the number of distinct rows.
func (d *Design) Rows() int { return d.rows.len() }

// Row returns the interval [low, high) of a row's potentials among those of all
// rows.
func (d *Design) Row(row int32) (low, high int) { return d.rows.at[row], d.rows.at[row+1] }

// Potentials returns the number of potentials of all rows.
func (d *Design) Potentials() int { return d.rows.at[d.rows.len()] }

func mix(hash, x uint64) uint64 {
	hash = (hash ^ x) * 0x9e3779b97f4a7c15
	return hash ^ hash>>29
}

func (d *Design) row(low, high int, o sparse.Vector) int32 {
	first := len(d.sums)
	hash := mix(uint64(low), uint64(high))
	for cut := 0; len(o) > 0; cut++ {
		n := len(o)
		if cut < len(d.cuts) {
			n, _ = slices.BinarySearchFunc(o, d.cuts[cut], func(e sparse.Entry, id uint32) int { return int(int64(e.ID) - int64(id)) })
		}
		if n > 0 {
			p := d.part(low, high, o[:n])
			d.sums = append(d.sums, p)
			hash = mix(hash, uint64(p))
			o = o[n:]
		}
	}
	sums := d.sums[first:]
	r, ok := d.rows.find(hash, low, high, func(i int32) bool {
		return slices.Equal(sums, d.sums[d.rows.start[i]:d.rows.start[i+1]])
	})
	if ok {
		d.sums = d.sums[:first]
		return r
	}
	return d.rows.add(hash, low, high, len(d.sums))
}

func (d *Design) part(low, high int, o sparse.Vector) int32 {
	hash := mix(uint64(low), uint64(high))
	for _, e := range o {
		hash = mix(mix(hash, uint64(e.ID)), math.Float64bits(e.Value))
	}
	p, ok := d.parts.find(hash, low, high, func(i int32) bool {
		start, end := d.parts.start[i], d.parts.start[i+1]
		if end-start != len(o) {
			return false
		}
		for k, e := range o {
			if d.ids[start+k] != e.ID || d.values[start+k] != e.Value {
				return false
			}
		}
		return true
	})
	if ok {
		return p
	}
	for _, e := range o {
		d.ids = append(d.ids, e.ID)
		d.values = append(d.values, e.Value)
	}
	return d.parts.add(hash, low, high, len(d.ids))
}
