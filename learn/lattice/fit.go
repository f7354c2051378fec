package lattice

import (
	"context"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/learn/optim"
	"github.com/waggle-crawler/waggle/learn/parallel"
)

// Options of a fit. The zero value of each field is its default.
type Options struct {
	Variance   float64 // σ² of the Gaussian prior of each weight, > 0; 0 = 10
	Iterations int     // at most; 0 = 100
	Tolerance  float64 // the fit ends when an iteration changes the objective by less than this share; 0 = 1e-5; negative = go on while the objective can still fall
	Workers    int     // goroutines; 0 = as many as there are processors. The weights do not depend on it

	// Cuts are observations, in ascending order, before which observation
	// vectors may be cut into parts that recur; see Design. They change only
	// the time that the fit takes.
	Cuts []uint32

	// Progress is called after every iteration, and once before the first.
	// nil = none. To end a fit early, cancel its context.
	Progress func(optim.Iteration)
}

// Trace records the course of a fit, for display.
type Trace struct {
	// Iterations begins with number 0, the start. Their Value is the objective
	// −(Σ log p − Σ λ²/2σ²) in nats, which falls.
	Iterations []optim.Iteration
	Status     optim.Status
	Sequences  int
	Positions  int // of all sequences
	Rows       int // of the Design
	Weights    int // number of weights
}

// Likelihood returns the log-likelihood of the training set in nats, given the
// log potentials of all rows, and writes its derivatives by them to residual.
// Both slices have length [Design.Potentials].
type Likelihood func(potentials, residual []float64) float64

// Train fits weights to labelled sequences. of returns the likelihood of a
// model: it asks the design for the rows of the sequences, and may use as many
// goroutines as workers says.
//
// The errors are those of Check and, when ctx is cancelled, that of ctx.
func Train(ctx context.Context, sequences []Sequence, shape Shape, o Options, of func(d *Design, workers int) Likelihood) (*Weights, Trace, error) {
	if err := Check(sequences, shape); err != nil {
		return nil, Trace{}, err
	}
	d := NewDesign(shape, o.Cuts)
	w, trace, err := d.Fit(ctx, o, of(d, parallel.Workers(o.Workers)))
	trace.Sequences = len(sequences)
	for _, q := range sequences {
		trace.Positions += len(q.Labels)
	}
	return w, trace, err
}

// Fit returns the weights that maximise
//
//	logLikelihood(potentials) − Σ λ²/2σ²
//
// found by L-BFGS from weights of 0. The derivative by a weight λ is
// Ẽ − E − λ/σ²: its count in the labels, less its expected count, less the
// prior's part.
//
// When ctx is cancelled, Fit returns its error after the current iteration.
//
// Source: Liu & Milios 2010, equations 16 and 17, 35 and 36. Equations 17 and 36
// print a sum over all λ in the last term; the derivative has its own λ only.
func (d *Design) Fit(ctx context.Context, o Options, logLikelihood Likelihood) (*Weights, Trace, error) {
	if o.Variance == 0 {
		o.Variance = 10
	}
	if !(o.Variance > 0) {
		return nil, Trace{}, fmt.Errorf("lattice: a variance of %v: it must be above 0", o.Variance)
	}
	w := NewWeights(d.shape)
	trace := Trace{Rows: d.Rows(), Weights: len(w.W)}
	result := optim.LBFGS(w.W, d.Objective(o.Variance, o.Workers, logLikelihood), optim.Options{Iterations: o.Iterations, Tolerance: o.Tolerance, Progress: func(i optim.Iteration) bool {
		trace.Iterations = append(trace.Iterations, i)
		if o.Progress != nil {
			o.Progress(i)
		}
		return ctx.Err() == nil
	}})
	trace.Status = result.Status
	if err := context.Cause(ctx); err != nil {
		return nil, trace, err
	}
	if result.Status == optim.Undefined {
		return nil, trace, fmt.Errorf("lattice: before the first iteration the objective is %v and the length of its gradient %v: the observations are too large; scale them to about 1", result.Last.Value, result.Last.Gradient)
	}
	if math.IsNaN(result.Last.Value) {
		return nil, trace, fmt.Errorf("lattice: the objective is %v", result.Last.Value)
	}
	return w, trace, nil
}

// Objective returns the function that Fit minimises, of the weights w:
// −logLikelihood(potentials) + Σ λ²/2σ², σ² the variance. The function writes
// its gradient to grad; both slices have the length of Weights.W.
func (d *Design) Objective(variance float64, workers int, logLikelihood Likelihood) func(w, grad []float64) float64 {
	e := newEngine(d, parallel.Workers(workers))
	potentials, residual := make([]float64, d.Potentials()), make([]float64, d.Potentials())
	return func(w, grad []float64) float64 {
		e.potentials(potentials, w)
		value := -logLikelihood(potentials, residual)
		e.gradient(grad, residual)
		squares := 0.
		for i, x := range w {
			squares += x * x
			grad[i] = x/variance - grad[i]
		}
		return value + squares/(2*variance)
	}
}

// engine computes potentials from weights, and derivatives by weights from
// derivatives by potentials. The chunks into which it splits the work depend on
// the design only, and their results are added in order, so the result has the
// same bits for any number of workers.
type engine struct {
	*Design
	workers  int
	combined []float64   // V, in the layout of Weights
	part     []float64   // potentials of the parts, or derivatives by them
	chunks   []int       // of parts: chunk i is [chunks[i], chunks[i+1])
	partial  [][]float64 // [chunks][Observations*(A+S)]: derivatives by V of each chunk
	inverse  []int32     // for each part the rows that it is a part of, in ascending order:
	begin    []int       // those of part p are inverse[begin[p]:begin[p+1]]
}

func newEngine(d *Design, workers int) *engine {
	size := d.shape.Observations * (d.arcs + d.shape.States)
	e := &engine{Design: d, workers: workers, combined: make([]float64, size), part: make([]float64, d.parts.at[d.parts.len()])}

	const chunks, least = 16, 1 << 14
	share := max(least, len(d.ids)/chunks)
	e.chunks = []int{0}
	for p := range d.parts.len() {
		if d.parts.start[p+1]-d.parts.start[e.chunks[len(e.chunks)-1]] >= share || p == d.parts.len()-1 {
			e.chunks = append(e.chunks, p+1)
		}
	}
	e.partial = make([][]float64, len(e.chunks)-1)
	for i := range e.partial {
		e.partial[i] = make([]float64, size)
	}

	e.begin = make([]int, d.parts.len()+1)
	for _, p := range d.sums {
		e.begin[p+1]++
	}
	for p := range d.parts.len() {
		e.begin[p+1] += e.begin[p]
	}
	e.inverse = make([]int32, len(d.sums))
	fill := append([]int(nil), e.begin...)
	for r := range d.rows.len() {
		for _, p := range d.sums[d.rows.start[r]:d.rows.start[r+1]] {
			e.inverse[fill[p]] = int32(r)
			fill[p]++
		}
	}
	return e
}

// potentials writes the potentials of all rows to dst.
func (e *engine) potentials(dst, w []float64) {
	size := e.arcs + e.shape.States
	copy(e.combined, w)
	for b := 0; b < len(w); b += size {
		arcs, states := e.combined[b:b+e.arcs], w[b+e.arcs:b+size]
		for a, j := range e.to {
			arcs[a] += states[j]
		}
	}
	parallel.For(e.workers, len(e.chunks)-1, func(chunk int) {
		for p := e.chunks[chunk]; p < e.chunks[chunk+1]; p++ {
			sum := e.part[e.parts.at[p]:e.parts.at[p+1]]
			clear(sum)
			v := e.combined[e.parts.low[p]:]
			ids, k := e.ids[e.parts.start[p]:e.parts.start[p+1]], e.values[e.parts.start[p]:]
			for len(ids) >= 4 && len(k) >= 4 {
				add4(sum, k[0], k[1], k[2], k[3], v[int(ids[0])*size:], v[int(ids[1])*size:], v[int(ids[2])*size:], v[int(ids[3])*size:])
				ids, k = ids[4:], k[4:]
			}
			for n, id := range ids {
				add(sum, k[n], v[int(id)*size:])
			}
		}
	})
	parallel.Blocks(e.workers, e.rows.len(), 1024, func(first, end int) {
		for r := first; r < end; r++ {
			sum := dst[e.rows.at[r]:e.rows.at[r+1]]
			clear(sum)
			for _, p := range e.sums[e.rows.start[r]:e.rows.start[r+1]] {
				add(sum, 1, e.part[e.parts.at[p]:])
			}
		}
	})
}

// gradient writes the derivatives by the weights to grad, given those by the
// potentials of all rows.
func (e *engine) gradient(grad, residual []float64) {
	size := e.arcs + e.shape.States
	parallel.For(e.workers, len(e.chunks)-1, func(chunk int) {
		partial := e.partial[chunk]
		clear(partial)
		for p := e.chunks[chunk]; p < e.chunks[chunk+1]; p++ {
			sum := e.part[e.parts.at[p]:e.parts.at[p+1]]
			clear(sum)
			for _, r := range e.inverse[e.begin[p]:e.begin[p+1]] {
				add(sum, 1, residual[e.rows.at[r]:])
			}
			v := partial[e.parts.low[p]:]
			ids, k := e.ids[e.parts.start[p]:e.parts.start[p+1]], e.values[e.parts.start[p]:]
			for len(ids) >= 4 && len(k) >= 4 {
				addTo4(v[int(ids[0])*size:], v[int(ids[1])*size:], v[int(ids[2])*size:], v[int(ids[3])*size:], k[0], k[1], k[2], k[3], sum)
				ids, k = ids[4:], k[4:]
			}
			for n, id := range ids {
				add(v[int(id)*size:][:len(sum)], k[n], sum)
			}
		}
	})
	parallel.Blocks(e.workers, e.shape.Observations, 64, func(first, end int) {
		low := first * size
		sum := grad[low : end*size]
		clear(sum)
		for _, partial := range e.partial {
			add(sum, 1, partial[low:])
		}
		// ∂V/∂W: an arc's derivative is also one by the state it leads to.
		for b := 0; b < len(sum); b += size {
			for a, j := range e.to {
				sum[b+e.arcs+j] += sum[b+a]
			}
		}
	})
}

// add4 computes dst += k1·a + k2·b + k3·c + k4·d, over the length of dst. A fit
// spends nearly all its time here and in addTo4. Adding four vectors at once
// loads and stores dst once instead of four times.
func add4(dst []float64, k1, k2, k3, k4 float64, a, b, c, d []float64) {
	n := len(dst)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	for i, x := range dst {
		dst[i] = x + k1*a[i] + k2*b[i] + k3*c[i] + k4*d[i]
	}
}

// addTo4 computes a += k1·x, b += k2·x, c += k3·x and d += k4·x, over the length
// of x. a to d must not overlap.
func addTo4(a, b, c, d []float64, k1, k2, k3, k4 float64, x []float64) {
	n := len(x)
	a, b, c, d = a[:n], b[:n], c[:n], d[:n]
	for i, x := range x {
		a[i] += k1 * x
		b[i] += k2 * x
		c[i] += k3 * x
		d[i] += k4 * x
	}
}

// add computes dst += k·a, over the length of dst.
func add(dst []float64, k float64, a []float64) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] += k * a[i]
	}
}
