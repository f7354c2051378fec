// Package lattice holds what linear chains over hidden states have in common,
// whatever normalises them: the states and the arcs between them, labelled
// sequences, the weights of features, and the fit of weights to sequences.
//
// Positions are counted from 1 in equations, as in the papers, and from 0 in
// slices.
package lattice

import (
	"errors"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Shape is the frame of a chain.
type Shape struct {
	States       int    // S ≥ 2
	Allowed      []bool // [S*S], prev*S+cur: whether cur may follow prev
	Observations int    // observations are numbered 0 … Observations−1; 0 is the bias
}

// Check says what is wrong with a shape.
func (s Shape) Check() error {
	switch {
	case s.States < 2:
		return fmt.Errorf("lattice: %d states: at least 2 are needed", s.States)
	case len(s.Allowed) != s.States*s.States:
		return fmt.Errorf("lattice: %d flags of arcs for %d states: %d are needed", len(s.Allowed), s.States, s.States*s.States)
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

// Arcs is the number of allowed arcs, A.
func (s Shape) Arcs() int {
	n := 0
	for _, ok := range s.Allowed {
		if ok {
			n++
		}
	}
	return n
}

// Hops is the shape over hop distances T_0 … T_{states−1}, the last of which
// means "that many or more": a link leads at most one hop nearer, so an arc
// from T_i to T_j is allowed if j ≥ i−1. Source: Liu & Milios 2010, section
// 2.3.2.
func Hops(states, observations int) Shape {
	s := Shape{States: states, Allowed: make([]bool, states*states), Observations: observations}
	for i := range states {
		for j := range states {
			s.Allowed[i*states+j] = j >= i-1
		}
	}
	return s
}

// Sequence is a labelled path.
type Sequence struct {
	Obs    []sparse.Vector // [T]; the caller puts the bias, ID 0 with value 1, into each
	Labels []int           // [T], each in [0,S)
}

// Weights are the trained weights of all features. An observation o at
// position t with value v gives rise to the features
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
// Source: Liu & Milios 2010, section 2.3.2.
type Weights struct {
	Shape
	W []float64 // [Observations*(A+S)]
}

// NewWeights returns weights that are all 0.
func NewWeights(s Shape) *Weights {
	return &Weights{s, make([]float64, s.Observations*(s.Arcs()+s.States))}
}

// Check says what is wrong with weights, such as those read from a file.
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

// Arc is the weight of L1^(prev,cur)·o, −Inf if the arc is forbidden.
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

// State is the weight of L2^(state)·o.
func (w *Weights) State(o uint32, state int) float64 {
	arcs := w.Arcs()
	return w.W[int(o)*(arcs+w.States)+arcs+state]
}

// Potentials adds to dst, [S*S] at prev*S+cur, the log potentials of an
// observation vector at a position t ≥ 2:
//
//	dst(i,j) += Σ_o obs_o · (W(L1^(i,j)·o) + W(L2^(j)·o))
//
// and puts −Inf where an arc is forbidden. So parts of an observation can be
// added one after another, from a dst of zeros on. Observations that the
// shape does not know weigh nothing.
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
// first position, which no arc leads to: the L2 part alone.
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

// Mode is how beliefs of the states before are joined.
type Mode int

const (
	Marginal Mode = iota // Σ over the states before
	Viterbi              // max over the states before: the best path alone
)

func (m Mode) String() string {
	if m == Viterbi {
		return "viterbi"
	}
	return "marginal"
}
