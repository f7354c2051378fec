// Package lattice holds what conditional random fields (learn/crf) and maximum
// entropy Markov models (learn/memm) have in common: a chain of hidden states
// with its allowed arcs, labelled sequences of observations, a weight for each
// feature, and the fit of weights to sequences.
//
// A caller makes a Shape (Hops is that of hop distances), labels sequences, and
// passes both to crf.Train or memm.Train, which return Weights. While it follows
// a path it asks the weights for the log potentials of each observation, and
// passes them to the Step of the model.
//
// In equations positions are counted from 1, as in the papers; in slices from 0.
package lattice

import (
	"errors"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Shape is the set of states of a chain, the arcs between them, and the number
// of observations.
type Shape struct {
	States       int    // S ≥ 2
	Allowed      []bool // [S*S], prev*S+cur: whether cur may follow prev
	Observations int    // observations are numbered 0 … Observations−1; 0 is the bias
}

// Check returns an error if s is no shape: too few states, flags of the wrong
// number, no observation, or a state that no state may follow.
func (s Shape) Check() error {
	switch {
	case s.States < 2:
		return fmt.Errorf("lattice: %d states: at least 2 are needed", s.States)
	case len(s.Allowed) != s.States*s.States:
		return fmt.Errorf("lattice: flags of %d arcs for %d states: %d are needed", len(s.Allowed), s.States, s.States*s.States)
	case s.Observations < 1:
		return errors.New("lattice: no observation: number 0, the bias, is needed")
	}
	for prev := range s.States {
		some := false
		for cur := range s.States {
			some = some || s.Allowed[prev*s.States+cur]
		}
		if !some {
			return fmt.Errorf("lattice: no state may follow state %d: allow an arc from it", prev)
		}
	}
	return nil
}

// Arcs returns the number of allowed arcs, A.
func (s Shape) Arcs() int {
	n := 0
	for _, ok := range s.Allowed {
		if ok {
			n++
		}
	}
	return n
}

// Hops returns the shape over hop distances T_0 … T_{states−1}: T_i is a page
// i links from the nearest target, and the last state means "that many or
// more". A link leads at most one hop nearer, so the arc from T_i to T_j is
// allowed if j ≥ i−1.
//
// Source: Liu & Milios 2010, section 3.2, "Edge Features".
func Hops(states, observations int) Shape {
	s := Shape{States: states, Allowed: make([]bool, states*states), Observations: observations}
	for i := range states {
		for j := range states {
			s.Allowed[i*states+j] = j >= i-1
		}
	}
	return s
}

// Sequence is a path of pages with a label each.
type Sequence struct {
	Obs    []sparse.Vector // [T]; the caller puts the bias, ID 0 with value 1, into each
	Labels []int           // [T], each in [0,S)
}

// Weights are the trained weights of all features. An observation o with value
// v at position t has the features
//
//	L1^(i,j)·o = v if s_{t−1} = i and s_t = j, for each allowed arc, t ≥ 2
//	L2^(j)·o   = v if s_t = j,                 for each state,       t ≥ 1
//
// whose weights lie side by side in a block; A arcs in the order of
// Shape.Allowed without the forbidden ones:
//
//	W  ├ block of observation 0 ┼ block of observation 1 ┼ … ┤
//	block   ├ arc 0 ┼ … ┼ arc A−1 ┼ state 0 ┼ … ┼ state S−1 ┤     A+S numbers
//
// Source: Liu & Milios 2010, section 3.2, equation 5 and "Edge Features".
type Weights struct {
	Shape
	W []float64 // [Observations*(A+S)]
}

// NewWeights returns weights of 0 for all features of a shape.
func NewWeights(s Shape) *Weights {
	return &Weights{s, make([]float64, s.Observations*(s.Arcs()+s.States))}
}

// Check returns an error if w cannot be used, for example after reading it from
// a file: a wrong shape, a wrong number of weights, or one that is not finite.
func (w *Weights) Check() error {
	if err := w.Shape.Check(); err != nil {
		return err
	}
	if want := w.Observations * (w.Arcs() + w.States); len(w.W) != want {
		return fmt.Errorf("lattice: %d weights: %d observations with %d arcs and %d states have %d", len(w.W), w.Observations, w.Arcs(), w.States, want)
	}
	for i, x := range w.W {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("lattice: weight %d is %v: it must be a finite number", i, x)
		}
	}
	return nil
}

// Arc returns the weight of L1^(prev,cur)·o, −Inf if the arc is forbidden.
func (w *Weights) Arc(o uint32, prev, cur int) float64 {
	at := prev*w.States + cur
	if !w.Allowed[at] {
		return math.Inf(-1)
	}
	rank := 0
	for _, ok := range w.Allowed[:at] {
		if ok {
			rank++
		}
	}
	return w.W[int(o)*(w.Arcs()+w.States)+rank]
}

// State returns the weight of L2^(state)·o.
func (w *Weights) State(o uint32, state int) float64 {
	arcs := w.Arcs()
	return w.W[int(o)*(arcs+w.States)+arcs+state]
}

// Potentials adds to dst, [S*S] at prev*S+cur, the log potentials of an
// observation vector at a position t ≥ 2:
//
//	dst(i,j) += Σ_o obs_o · (W(L1^(i,j)·o) + W(L2^(j)·o))
//
// and sets it to −Inf where an arc is forbidden. Starting from a dst of zeros,
// parts of an observation can be added one after another. Observations from
// Shape.Observations on weigh nothing.
func (w *Weights) Potentials(dst []float64, obs sparse.Vector) {
	arcs := w.Arcs()
	size := arcs + w.States
	dst = dst[:len(w.Allowed)]
	for at, ok := range w.Allowed {
		if !ok {
			dst[at] = math.Inf(-1)
		}
	}
	for _, e := range obs {
		if int(e.ID) >= w.Observations {
			break
		}
		block := w.W[int(e.ID)*size:][:size]
		states := block[arcs:]
		at, arc := 0, 0
		for range w.States {
			for _, state := range states {
				if w.Allowed[at] {
					dst[at] += e.Value * (block[arc] + state)
					arc++
				}
				at++
			}
		}
	}
}

// Start adds to dst, [S], the log potentials of an observation vector at the
// first position: those of L2 only, as no arc leads there.
func (w *Weights) Start(dst []float64, obs sparse.Vector) {
	arcs := w.Arcs()
	size := arcs + w.States
	dst = dst[:w.States]
	for _, e := range obs {
		if int(e.ID) >= w.Observations {
			break
		}
		for j, x := range w.W[int(e.ID)*size+arcs:][:w.States] {
			dst[j] += e.Value * x
		}
	}
}

// Mode says how the beliefs over the previous state are combined.
type Mode int

const (
	Marginal Mode = iota // Σ over the previous state
	Viterbi              // max over the previous state: the best path only
)

func (m Mode) String() string {
	if m == Viterbi {
		return "viterbi"
	}
	return "marginal"
}
