// Package optim minimises smooth functions of many variables by L-BFGS. A caller
// passes LBFGS a start and a function that returns a value and writes its
// gradient. The start is replaced by the best point, and the Result says how the
// search ended.
package optim

import (
	"fmt"
	"math"
)

// Options of LBFGS. The zero value of each field is its default.
type Options struct {
	Memory     int     // pairs of steps and gradient changes that are kept; 0 = 10
	Iterations int     // at most; 0 = 100
	Tolerance  float64 // of Converged; 0 = 1e-5; negative = go on while the value can still fall

	// Progress is called after every iteration, and once before the first
	// (Iteration 0). If it returns false, the search stops. nil = none.
	Progress func(Iteration) bool
}

// Iteration is the state of a search after an iteration.
type Iteration struct {
	Iteration   int     // 0 = the start
	Evaluations int     // of the function, so far
	Value       float64 // f(x)
	Gradient    float64 // ‖∇f(x)‖₂
	Step        float64 // length of the step along the search direction; 1 is the quasi-Newton step
}

// Status says how a search ended.
type Status int

const (
	Converged      Status = iota // |f' − f| ≤ Tolerance · max(|f'|, |f|, 1), or the gradient vanished
	IterationLimit               // Options.Iterations were spent
	Exhausted                    // no step improves f by more than rounding errors: x is as good as float64 allows
	Stopped                      // Progress returned false
	Undefined                    // the function is not finite at the start
)

func (s Status) String() string {
	switch s {
	case Converged:
		return "converged"
	case IterationLimit:
		return "iteration limit"
	case Exhausted:
		return "exhausted"
	case Stopped:
		return "stopped"
	case Undefined:
		return "undefined at the start"
	}
	return fmt.Sprintf("Status(%d)", int(s))
}

// Result of a search. The best point is in the x that was passed in.
type Result struct {
	Last   Iteration
	Status Status
}

// LBFGS minimises f by the limited-memory quasi-Newton method, starting from x,
// and leaves in x the best point found. f returns the value at x and writes the
// gradient to grad, both of shape [n]; it must not keep or change x. Where f is
// NaN or infinite, the search takes a shorter step.
//
// The search uses no random numbers: the same f and x give the same bits.
//
// Source: Nocedal & Wright, Numerical Optimization, 2nd edition, algorithms
// 7.4 (two loops) and 7.5, 3.5 and 3.6 (line search), with the strong Wolfe
// conditions c₁ = 1e-4, c₂ = 0.9.
func LBFGS(x []float64, f func(x, grad []float64) float64, o Options) Result {
	if o.Memory == 0 {
		o.Memory = 10
	}
	if o.Iterations == 0 {
		o.Iterations = 100
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-5
	}
	n := len(x)
	s := search{f: f, x: x, grad: make([]float64, n), dir: make([]float64, n), trial: make([]float64, n), tgrad: make([]float64, n)}
	h := history{memory: o.Memory}

	s.value = f(x, s.grad)
	now := Iteration{Evaluations: 1, Value: s.value, Gradient: norm(s.grad)}
	s.evaluations = 1
	if !finite(now.Value) || !finite(now.Gradient) {
		return Result{now, Undefined}
	}
	if o.Progress != nil && !o.Progress(now) {
		return Result{now, Stopped}
	}
	for now.Iteration < o.Iterations {
		if now.Gradient == 0 {
			return Result{now, Converged}
		}
		h.direction(s.dir, s.grad)
		first := 1.
		if len(h.pairs) == 0 {
			first = min(1, 1/now.Gradient) // the scale is unknown before the first step
		}
		step, ok := s.line(first)
		if !ok && len(h.pairs) > 0 {
			// The history misleads: try again along the gradient.
			h.pairs = h.pairs[:0]
			h.direction(s.dir, s.grad)
			step, ok = s.line(min(1, 1/now.Gradient))
		}
		if !ok {
			now.Evaluations = s.evaluations
			return Result{now, Exhausted}
		}
		h.remember(s.trial, x, s.tgrad, s.grad)
		before := s.value
		copy(x, s.trial)
		s.grad, s.tgrad = s.tgrad, s.grad
		s.value = s.tvalue
		now = Iteration{now.Iteration + 1, s.evaluations, s.value, norm(s.grad), step}
		if o.Progress != nil && !o.Progress(now) {
			return Result{now, Stopped}
		}
		if math.Abs(before-s.value) <= o.Tolerance*max(math.Abs(before), math.Abs(s.value), 1) {
			return Result{now, Converged}
		}
	}
	return Result{now, IterationLimit}
}

// history holds the pairs of the last iterations, the oldest first.
type history struct {
	memory int
	pairs  []pair
}

// pair: s = x' − x, y = ∇' − ∇, both [n], and rho = 1/y·s > 0.
type pair struct {
	s, y []float64
	rho  float64
}

// remember adds the step from x to x1. It omits a step along which the function
// does not curve upwards: with it the approximation would be indefinite.
func (h *history) remember(x1, x, grad1, grad []float64) {
	var p pair
	if len(h.pairs) == h.memory {
		p = h.pairs[0]
		copy(h.pairs, h.pairs[1:])
		h.pairs = h.pairs[:h.memory-1]
	} else {
		p = pair{s: make([]float64, len(x)), y: make([]float64, len(x))}
	}
	sy, yy := 0., 0.
	for i := range x {
		s, y := x1[i]-x[i], grad1[i]-grad[i]
		p.s[i], p.y[i] = s, y
		sy += s * y
		yy += y * y
	}
	if sy > 1e-16*yy {
		p.rho = 1 / sy
		h.pairs = append(h.pairs, p)
	}
}

// direction writes −H·∇ to dir, H the approximation of the inverse Hessian
// (algorithm 7.4).
func (h *history) direction(dir, grad []float64) {
	for i, g := range grad {
		dir[i] = -g
	}
	if len(h.pairs) == 0 {
		return
	}
	alpha := make([]float64, len(h.pairs))
	for i := len(h.pairs) - 1; i >= 0; i-- {
		p := &h.pairs[i]
		alpha[i] = p.rho * dot(p.s, dir)
		axpy(dir, -alpha[i], p.y)
	}
	last := &h.pairs[len(h.pairs)-1]
	scale := 1 / (last.rho * dot(last.y, last.y)) // s·y / y·y, equation 7.20
	for i := range dir {
		dir[i] *= scale
	}
	for i := range h.pairs {
		p := &h.pairs[i]
		axpy(dir, alpha[i]-p.rho*dot(p.y, dir), p.s)
	}
}

// search holds the current point x with its value and gradient, the search
// direction, and the trial point x + step·dir with its own.
type search struct {
	f              func(x, grad []float64) float64
	x, grad        []float64
	value          float64
	dir            []float64
	trial, tgrad   []float64
	tvalue, tslope float64
	evaluations    int
}

// sample is φ(a) = f(x + a·dir) with its slope φ'(a).
type sample struct{ a, value, slope float64 }

func (s *search) at(a float64) sample {
	for i, x := range s.x {
		s.trial[i] = x + a*s.dir[i]
	}
	s.tvalue = s.f(s.trial, s.tgrad)
	s.tslope = dot(s.tgrad, s.dir)
	s.evaluations++
	if !finite(s.tvalue) || !finite(s.tslope) {
		return sample{a, math.Inf(1), 0}
	}
	return sample{a, s.tvalue, s.tslope}
}

const (
	sufficient = 1e-4 // c₁: φ(a) ≤ φ(0) + c₁·a·φ'(0)
	curvature  = 0.9  // c₂: |φ'(a)| ≤ c₂·|φ'(0)|
	trials     = 20   // of one line search
	rounding   = 1e-15
)

// line searches along dir, starting with the step first, for a point that meets
// the strong Wolfe conditions (algorithms 3.5 and 3.6). If ok, the trial point
// meets them or, after the last trial, is at least a point of sufficient
// decrease. ok is false if dir leads up, or if the expected gain is below
// rounding errors.
func (s *search) line(first float64) (step float64, ok bool) {
	zero := sample{0, s.value, dot(s.grad, s.dir)}
	if !(-first*zero.slope > rounding*math.Abs(s.value)) {
		return 0, false
	}
	low, high := zero, sample{a: math.Inf(1)}
	a := first
	for range trials {
		now := s.at(a)
		switch {
		case !(now.value <= zero.value+sufficient*a*zero.slope) || (low.a > 0 && now.value >= low.value):
			high = now // too far
		case math.Abs(now.slope) <= -curvature*zero.slope:
			return a, true
		case now.slope > 0 && high.a > low.a, now.slope < 0 && high.a < low.a:
			// The minimum lies between here and low.
			high, low = low, now
		default:
			low = now
		}
		if math.IsInf(high.a, 1) {
			a *= 4 // the function still falls here
			continue
		}
		if width := math.Abs(high.a - low.a); width <= 1e-15*max(low.a, high.a) {
			break
		}
		a = between(low, high)
	}
	if low.a > 0 {
		s.at(low.a)
		return low.a, true
	}
	return 0, false
}

// between returns the minimum of the cubic through both samples (equation 3.59),
// kept away from both ends by a tenth of the interval; the middle if there is no
// minimum.
func between(p, q sample) float64 {
	a := (p.a + q.a) / 2
	if !math.IsInf(q.value, 0) {
		d1 := p.slope + q.slope - 3*(p.value-q.value)/(p.a-q.a)
		if square := d1*d1 - p.slope*q.slope; square >= 0 {
			d2 := math.Copysign(math.Sqrt(square), q.a-p.a)
			if c := q.a - (q.a-p.a)*(q.slope+d2-d1)/(q.slope-p.slope+2*d2); finite(c) {
				a = c
			}
		}
	}
	left, right := min(p.a, q.a), max(p.a, q.a)
	margin := (right - left) / 10
	return min(max(a, left+margin), right-margin)
}

// dot keeps four sums, which a processor computes in parallel.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

func axpy(dst []float64, k float64, a []float64) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] += k * a[i]
	}
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }
func finite(x float64) bool    { return !math.IsNaN(x) && !math.IsInf(x, 0) }
