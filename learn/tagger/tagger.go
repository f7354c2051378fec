// Package tagger names the positions of sequences: a conditional random field
// over a linear chain whose observations weigh on states or on arcs, as the
// caller says of each,
//
//	p(y|x) = exp Σ_t [ U·u_t(y_t) + V·v_t(y_{t−1}, y_t) ] / Z(x)
//
// with u_t the state features of position t and v_t the arc features of the
// step to it. Without arc features the positions are independent, and the field
// is a maximum-entropy classifier of each. Positions may be of several kinds,
// such as pages and links, each with states of its own.
//
// Source: Lafferty, McCallum & Pereira 2001; Vydiswaran & Sarawagi 2005,
// sections 2.1 to 2.4.
package tagger

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/learn/optim"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Shape is the frame of a field. States are numbered kind by kind:
//
//	kind     0            1
//	states   0 … K₀−1     K₀ … K₀+K₁−1
type Shape struct {
	Kinds       []int  // states of each kind, ≥ 1
	Allowed     []bool // [S*S], prev*S+cur: whether cur may follow prev
	Features    int    // state features are numbered 0 … Features−1
	ArcFeatures int    // arc features likewise; 0 = maximum entropy, where arcs weigh nothing
}

// States is their number, S.
func (s Shape) States() (n int) {
	for _, k := range s.Kinds {
		n += k
	}
	return n
}

// Of is the range [low, high) of the states of a kind.
func (s Shape) Of(kind int) (low, high int) {
	for _, k := range s.Kinds[:kind] {
		low += k
	}
	return low, low + s.Kinds[kind]
}

// maxFeatures bounds features times states times states: 1 GiB of weights.
const maxFeatures = 1 << 27

// Check says what is wrong with a shape.
func (s Shape) Check() error {
	for _, k := range s.Kinds {
		if k < 1 || k > 1<<10 {
			return fmt.Errorf("a kind of %d states", k)
		}
	}
	n := s.States()
	switch {
	case len(s.Kinds) == 0 || len(s.Kinds) > 8 || n > 1<<10:
		return fmt.Errorf("%d kinds with %d states", len(s.Kinds), n)
	case len(s.Allowed) != n*n:
		return fmt.Errorf("%d arcs of %d are told to be allowed or not", len(s.Allowed), n*n)
	case s.Features < 0 || s.ArcFeatures < 0 || s.Features > maxFeatures/n || s.ArcFeatures > maxFeatures/(n*n):
		return fmt.Errorf("%d features of states and %d of arcs are too many for %d states", s.Features, s.ArcFeatures, n)
	}
	return nil
}

// Position is one of a sequence. Features that the shape does not know weigh
// nothing.
type Position struct {
	Kind  int
	State sparse.Vector // features of the state at this position
	Arc   sparse.Vector // of the arc to it; unused at the first
}

// Sequence is a sequence with its states.
type Sequence struct {
	Positions []Position
	States    []int // [T]
}

// Weights are those of all features:
//
//	State [Features*S]       at feature*S + state
//	Arc   [ArcFeatures*S*S]  at (feature*S + prev)*S + cur; 0 where forbidden
type Weights struct {
	Shape
	State, Arc []float64
}

// NewWeights returns weights that are all 0.
func NewWeights(s Shape) *Weights {
	n := s.States()
	return &Weights{Shape: s, State: make([]float64, s.Features*n), Arc: make([]float64, s.ArcFeatures*n*n)}
}

// Check says what is wrong with weights, such as those read from a file.
func (w *Weights) Check() error {
	if err := w.Shape.Check(); err != nil {
		return err
	}
	n := w.States()
	if len(w.State) != w.Features*n || len(w.Arc) != w.ArcFeatures*n*n {
		return fmt.Errorf("%d and %d weights of %d and %d features", len(w.State), len(w.Arc), w.Features, w.ArcFeatures)
	}
	for _, list := range [][]float64{w.State, w.Arc} {
		for _, x := range list {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("a weight that is %v", x)
			}
		}
	}
	return nil
}

// Emit adds to dst, of the states of a kind, the log potentials of state
// features: dst(y) += U·u(y).
func (w *Weights) Emit(dst []float64, kind int, features sparse.Vector) {
	n := w.States()
	low, high := w.Of(kind)
	for _, e := range features {
		if int(e.ID) >= w.Features {
			continue
		}
		for y, x := range w.State[int(e.ID)*n+low : int(e.ID)*n+high] {
			dst[y] += e.Value * x
		}
	}
}

// Cross adds to dst, [K·K'] of the states of kinds from and to, the log
// potentials of arc features, and puts −Inf where an arc is forbidden.
func (w *Weights) Cross(dst []float64, from, to int, features sparse.Vector) {
	n := w.States()
	fromLow, fromHigh := w.Of(from)
	toLow, toHigh := w.Of(to)
	k := toHigh - toLow
	for i := fromLow; i < fromHigh; i++ {
		row := dst[(i-fromLow)*k : (i-fromLow+1)*k]
		for _, e := range features {
			if int(e.ID) >= w.ArcFeatures {
				continue
			}
			at := (int(e.ID)*n + i) * n
			for j, x := range w.Arc[at+toLow : at+toHigh] {
				row[j] += e.Value * x
			}
		}
		for j := range row {
			if !w.Allowed[i*n+toLow+j] {
				row[j] = math.Inf(-1)
			}
		}
	}
}

// Forward writes to alpha, of the states of the position, from that before
// (nil at the first position) and the log potentials:
//
//	α_t(y) ∝ Σ_y' α_{t−1}(y')·e^{arcs(y',y) + states(y)},  made to sum to 1
//
// all ones before the first position. It returns the logarithm of the divisor;
// where nothing is possible that is −Inf and alpha is uniform.
//
// Source: Vydiswaran & Sarawagi 2005, equation 6 (P7), renormalised so that no
// path is too long for the numbers; no ratio of its values changes.
func Forward(alpha, before, arcs, states []float64) float64 {
	k, highest := len(alpha), math.Inf(-1)
	for j := range alpha {
		x := states[j]
		if before != nil {
			// In logarithms up to the greatest term, as potentials may be hundreds.
			most := math.Inf(-1)
			for i, a := range before {
				if a > 0 {
					most = max(most, arcs[i*k+j])
				}
			}
			sum := 0.
			if !math.IsInf(most, -1) {
				for i, a := range before {
					if a > 0 {
						sum += a * math.Exp(arcs[i*k+j]-most)
					}
				}
			}
			x += most + math.Log(sum)
			if sum == 0 {
				x = math.Inf(-1)
			}
		}
		alpha[j] = x
		highest = max(highest, x)
	}
	if math.IsInf(highest, -1) || math.IsNaN(highest) {
		for j := range alpha {
			alpha[j] = 1 / float64(k)
		}
		return math.Inf(-1)
	}
	sum := 0.
	for j, x := range alpha {
		alpha[j] = math.Exp(x - highest)
		sum += alpha[j]
	}
	for j := range alpha {
		alpha[j] /= sum
	}
	return highest + math.Log(sum)
}

// Best writes to delta, of the states of the position, from that before (nil
// at the first):
//
//	δ_t(y) = max_y' δ_{t−1}(y') + arcs(y',y) + states(y)
//
// less its greatest value, which is then 0; no order changes. from, nil or
// shaped as delta, is given the y' of each maximum.
//
// Source: Vydiswaran & Sarawagi 2005, equation 2 (P3): δ is 0 before the first
// position.
func Best(delta, before, arcs, states []float64, from []int) {
	k, highest := len(delta), math.Inf(-1)
	for j := range delta {
		delta[j] = states[j]
		if before != nil {
			most, at := math.Inf(-1), 0
			for i, d := range before {
				if x := d + arcs[i*k+j]; x > most {
					most, at = x, i
				}
			}
			delta[j] += most
			if from != nil {
				from[j] = at
			}
		}
		highest = max(highest, delta[j])
	}
	for j := range delta {
		if delta[j] -= highest; !(delta[j] >= floor) {
			delta[j] = floor // also where nothing is possible: it stays a number
		}
	}
}

// floor is what no path is worth, in nats: small enough for any choice, and a
// finite float32.
const floor = -1e30

// Label is the likeliest states of a whole sequence, by Viterbi.
func (w *Weights) Label(positions []Position) []int {
	T := len(positions)
	states, back := make([]int, T), make([][]int, T)
	var before, delta []float64
	for t, p := range positions {
		k := w.Kinds[p.Kind]
		emit := make([]float64, k)
		w.Emit(emit, p.Kind, p.State)
		delta, back[t] = make([]float64, k), make([]int, k)
		var arcs []float64
		if t > 0 {
			arcs = make([]float64, len(before)*k)
			w.Cross(arcs, positions[t-1].Kind, p.Kind, p.Arc)
		}
		Best(delta, before, arcs, emit, back[t])
		before = delta
	}
	best := 0
	for j, d := range delta {
		if d > delta[best] {
			best = j
		}
	}
	for t := T - 1; t >= 0; t-- {
		low, _ := w.Of(positions[t].Kind)
		states[t] = low + best
		best = back[t][best]
	}
	return states
}

// LogLikelihood is log p(states|positions) of a sequence, in nats.
func (w *Weights) LogLikelihood(q Sequence) float64 {
	var before []float64
	value := 0.
	for t, p := range q.Positions {
		k := w.Kinds[p.Kind]
		low, _ := w.Of(p.Kind)
		emit, alpha := make([]float64, k), make([]float64, k)
		w.Emit(emit, p.Kind, p.State)
		value += emit[q.States[t]-low]
		var arcs []float64
		if t > 0 {
			was, _ := w.Of(q.Positions[t-1].Kind)
			arcs = make([]float64, len(before)*k)
			w.Cross(arcs, q.Positions[t-1].Kind, p.Kind, p.Arc)
			value += arcs[(q.States[t-1]-was)*k+q.States[t]-low]
		}
		value -= Forward(alpha, before, arcs, emit)
		before = alpha
	}
	return value
}

// Options of Train. The zero value of a field is its default.
type Options struct {
	Variance   float64 // σ² of the Gaussian prior of each weight, > 0; 0 = 10
	Iterations int     // at most; 0 = 100
	Tolerance  float64 // see optim.Options
	// Progress is told of each iteration; nil = nobody.
	Progress func(optim.Iteration)
}

// Trace is how training went.
type Trace struct {
	Curve  []float64 // log-likelihood less prior after each iteration, the start first; nats
	Status optim.Status
}

// ErrNone is the error of Train for a training set without a sequence.
var ErrNone = errors.New("no sequence to learn from")

// Train finds the weights that maximise Σ log p(states|positions) − Σ w²/2σ²
// by L-BFGS from 0. It fails on sequences that the shape does not allow, and
// with ctx's error when that is cancelled.
//
// Vectors that share their memory are computed once.
func Train(ctx context.Context, sequences []Sequence, shape Shape, o Options) (*Weights, Trace, error) {
	if err := check(sequences, shape); err != nil {
		return nil, Trace{}, err
	}
	if o.Variance == 0 {
		o.Variance = 10
	}
	f := newFit(sequences, shape, o.Variance)
	x := make([]float64, len(f.w.State)+len(f.w.Arc))
	var trace Trace
	result := optim.LBFGS(x, f.objective, optim.Options{
		Iterations: o.Iterations, Tolerance: o.Tolerance,
		Progress: func(i optim.Iteration) bool {
			trace.Curve = append(trace.Curve, -i.Value)
			if o.Progress != nil {
				o.Progress(i)
			}
			return ctx.Err() == nil
		},
	})
	if ctx.Err() != nil {
		return nil, trace, ctx.Err()
	}
	trace.Status = result.Status
	if result.Status == optim.Undefined {
		return nil, trace, errors.New("the likelihood is no number: the values of features are too great")
	}
	w := NewWeights(shape)
	copy(w.State, x)
	copy(w.Arc, x[len(w.State):])
	return w, trace, nil
}

func check(sequences []Sequence, s Shape) error {
	if err := s.Check(); err != nil {
		return err
	}
	if len(sequences) == 0 {
		return ErrNone
	}
	n := s.States()
	for i, q := range sequences {
		if len(q.Positions) == 0 || len(q.States) != len(q.Positions) {
			return fmt.Errorf("sequence %d: %d states of %d positions", i, len(q.States), len(q.Positions))
		}
		for t, p := range q.Positions {
			if p.Kind < 0 || p.Kind >= len(s.Kinds) {
				return fmt.Errorf("sequence %d, position %d: there is no kind %d", i, t, p.Kind)
			}
			if low, high := s.Of(p.Kind); q.States[t] < low || q.States[t] >= high {
				return fmt.Errorf("sequence %d, position %d: state %d is none of kind %d", i, t, q.States[t], p.Kind)
			}
			if t > 0 && !s.Allowed[q.States[t-1]*n+q.States[t]] {
				return fmt.Errorf("sequence %d, position %d: state %d may not follow state %d", i, t, q.States[t], q.States[t-1])
			}
			for _, v := range []sparse.Vector{p.State, p.Arc} {
				if err := v.Check(); err != nil {
					return fmt.Errorf("sequence %d, position %d: %w", i, t, err)
				}
			}
		}
	}
	return nil
}
