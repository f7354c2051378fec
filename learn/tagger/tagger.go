// Package tagger labels the positions of sequences by a conditional random field
// over a linear chain, whose features belong to states or to arcs, as the caller
// says of each:
//
//	p(y|x) = exp Σ_t [ U·u_t(y_t) + V·v_t(y_{t−1}, y_t) ] / Z(x)
//
// with u_t the state features of position t and v_t the features of the arc to
// it. Without arc features the positions are independent, and the field is a
// maximum-entropy classifier of each. Positions may be of several kinds, such as
// pages and links, each with states of its own.
//
// Train learns Weights from labelled sequences. Label then finds the likeliest
// states of a whole sequence; Forward and Best follow a path one position at a
// time.
//
// Source: Lafferty, McCallum & Pereira 2001; Vydiswaran & Sarawagi 2005,
// sections 2.1 to 2.4.
package tagger

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/learn/logsum"
	"github.com/waggle-crawler/waggle/learn/optim"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Shape is the states of a field, the arcs between them, and the numbers of
// features. States are numbered kind by kind:
//
//	kind     0            1
//	states   0 … K₀−1     K₀ … K₀+K₁−1
type Shape struct {
	Kinds       []int  // states of each kind, ≥ 1
	Allowed     []bool // [S*S], prev*S+cur: whether cur may follow prev
	Features    int    // state features are numbered 0 … Features−1
	ArcFeatures int    // arc features likewise; 0 = none: maximum entropy
}

// States returns the number of states of all kinds, S.
func (s Shape) States() (n int) {
	for _, k := range s.Kinds {
		n += k
	}
	return n
}

// Of returns the range [low, high) of the states of a kind.
func (s Shape) Of(kind int) (low, high int) {
	for _, k := range s.Kinds[:kind] {
		low += k
	}
	return low, low + s.Kinds[kind]
}

// maxFeatures bounds features times states times states: 1 GiB of weights.
const maxFeatures = 1 << 27

// Check returns an error if s is no shape: no kind, more than 8 kinds or 1024
// states, flags of the wrong number, or features for more than 1 GiB of weights.
func (s Shape) Check() error {
	for _, k := range s.Kinds {
		if k < 1 || k > 1<<10 {
			return fmt.Errorf("a kind has %d states: there must be 1 to %d", k, 1<<10)
		}
	}
	n := s.States()
	switch {
	case len(s.Kinds) == 0 || len(s.Kinds) > 8 || n > 1<<10:
		return fmt.Errorf("%d kinds with %d states: there must be 1 to 8 kinds with %d states at most", len(s.Kinds), n, 1<<10)
	case len(s.Allowed) != n*n:
		return fmt.Errorf("flags of %d arcs for %d states: %d are needed", len(s.Allowed), n, n*n)
	case s.Features < 0 || s.ArcFeatures < 0 || s.Features > maxFeatures/n || s.ArcFeatures > maxFeatures/(n*n):
		return fmt.Errorf("%d features of states and %d of arcs are too many for %d states", s.Features, s.ArcFeatures, n)
	}
	return nil
}

// Position is a position of a sequence. Features that the shape does not have
// weigh nothing.
type Position struct {
	Kind  int
	State sparse.Vector // features of the state at this position
	Arc   sparse.Vector // of the arc to it; unused at the first
}

// Sequence is a sequence of positions with their states.
type Sequence struct {
	Positions []Position
	States    []int // [T]
}

// Weights are the weights of all features:
//
//	State [Features*S]       at feature*S + state
//	Arc   [ArcFeatures*S*S]  at (feature*S + prev)*S + cur; 0 where forbidden
type Weights struct {
	Shape
	State, Arc []float64
}

// NewWeights returns weights of 0 for all features of a shape.
func NewWeights(s Shape) *Weights {
	n := s.States()
	return &Weights{Shape: s, State: make([]float64, s.Features*n), Arc: make([]float64, s.ArcFeatures*n*n)}
}

// Check returns an error if w cannot be used, for example after reading it from
// a file: a wrong shape, a wrong number of weights, or one that is not finite.
func (w *Weights) Check() error {
	if err := w.Shape.Check(); err != nil {
		return err
	}
	n := w.States()
	if len(w.State) != w.Features*n || len(w.Arc) != w.ArcFeatures*n*n {
		return fmt.Errorf("%d weights of %d state features and %d of %d arc features", len(w.State), w.Features, len(w.Arc), w.ArcFeatures)
	}
	for _, list := range [][]float64{w.State, w.Arc} {
		for _, x := range list {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("a weight is %v: it must be a finite number", x)
			}
		}
	}
	return nil
}

// Emit adds to dst, [K] over the states of a kind, the log potentials of state
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

// Cross adds to dst, [K*K'] over the states of kinds from and to, the log
// potentials of arc features, and sets it to −Inf where an arc is forbidden.
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

// Forward writes to alpha, [K] over the states of a position, the forward
// probabilities, given those of the previous position (nil at the first) and the
// log potentials of the arcs [K'*K] and of the states [K]:
//
//	α_t(y) ∝ Σ_y' α_{t−1}(y')·e^{arcs(y',y) + states(y)},  normalised to sum to 1
//
// It returns the logarithm of the divisor. If no state is possible, it returns
// −Inf and alpha is uniform.
//
// Source: Vydiswaran & Sarawagi 2005, equation 6, with α_0 = 1, normalised at
// each position so that long paths do not underflow; ratios do not change.
func Forward(alpha, before, arcs, states []float64) float64 {
	k := len(alpha)
	for j := range alpha {
		x := states[j]
		if before != nil {
			// Terms are divided by the largest before exp: potentials may be hundreds.
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
	}
	logZ := logsum.Softmax(alpha)
	if math.IsInf(logZ, -1) {
		for j := range alpha {
			alpha[j] = 1 / float64(k)
		}
	}
	return logZ
}

// Best writes to delta, [K] over the states of a position, the log scores of the
// best paths to them, given those of the previous position (nil at the first)
// and log potentials as in Forward:
//
//	δ_t(y) = max_y' δ_{t−1}(y') + arcs(y',y) + states(y)
//
// less its largest value, which is then 0; the order does not change. from is
// nil, or has the shape of delta and receives the y' of each maximum.
//
// Source: Vydiswaran & Sarawagi 2005, equation 2, with δ = 0 before the first
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
			delta[j] = floor // also if no state is possible, so that delta stays finite
		}
	}
}

// floor is the least log score, in nats, given to states that no path reaches:
// far below any other, and a finite float32.
const floor = -1e30

// Label returns the likeliest states of a whole sequence, [T], by the Viterbi
// algorithm.
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

// LogLikelihood returns log p(states|positions) of a sequence, in nats.
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

// Options of Train. The zero value of each field is its default.
type Options struct {
	Variance   float64 // σ² of the Gaussian prior of each weight, > 0; 0 = 10
	Iterations int     // at most; 0 = 100
	Tolerance  float64 // see optim.Options
	// Progress is called after every iteration, and once before the first;
	// nil = none.
	Progress func(optim.Iteration)
}

// Trace records the course of training.
type Trace struct {
	Curve  []float64 // log-likelihood less prior after each iteration, the start first; nats
	Status optim.Status
}

// ErrNone is the error of Train for a training set without a sequence.
var ErrNone = errors.New("no sequence to learn from")

// Train returns the weights that maximise Σ log p(states|positions) − Σ w²/2σ²,
// found by L-BFGS from 0. The errors are ErrNone, one that names a sequence which
// the shape does not allow, and, when ctx is cancelled, that of ctx.
//
// Vectors that share their memory are multiplied once.
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
		return nil, trace, errors.New("the likelihood is not a number: the values of the features are too large; scale them to about 1")
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
			return fmt.Errorf("sequence %d has %d states for %d positions", i, len(q.States), len(q.Positions))
		}
		for t, p := range q.Positions {
			if p.Kind < 0 || p.Kind >= len(s.Kinds) {
				return fmt.Errorf("sequence %d, position %d: there is no kind %d", i, t, p.Kind)
			}
			if low, high := s.Of(p.Kind); q.States[t] < low || q.States[t] >= high {
				return fmt.Errorf("sequence %d, position %d: kind %d has no state %d", i, t, p.Kind, q.States[t])
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
