package tagger

import (
	"math"

	"github.com/waggle-crawler/waggle/learn/logsum"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// fit is the objective of a training. Rows are the distinct vectors: positions
// of one page share a row, whose potentials and derivatives are computed once.
type fit struct {
	w        *Weights
	variance float64
	chains   []chain
	states   []stateRow
	arcs     []arcRow
}

// chain is a training sequence, position by position.
type chain struct {
	kinds  []int
	labels []int // within their kind
	states []int // rows
	arcs   []int // rows; −1 at the first
}

type stateRow struct {
	kind     int
	features sparse.Vector
	// [K]: log potentials, and derivatives of the log-likelihood by them
	potentials, residual []float64
}

type arcRow struct {
	from, to int // kinds
	features sparse.Vector
	// [K*K']: e^potential (0 where forbidden), and derivatives of the
	// log-likelihood by the potentials
	weight, residual []float64
}

// identity is equal for vectors that share their memory, at positions of the
// same kinds.
type identity struct {
	kind, other int
	first       *sparse.Entry
	n           int
}

func identityOf(v sparse.Vector, kind, other int) identity {
	id := identity{kind: kind, other: other, n: len(v)}
	if len(v) > 0 {
		id.first = &v[0]
	}
	return id
}

func newFit(sequences []Sequence, shape Shape, variance float64) *fit {
	f := &fit{w: NewWeights(shape), variance: variance}
	states, arcs := map[identity]int{}, map[identity]int{}
	for _, q := range sequences {
		T := len(q.Positions)
		s := chain{kinds: make([]int, T), labels: make([]int, T), states: make([]int, T), arcs: make([]int, T)}
		for t, p := range q.Positions {
			low, _ := shape.Of(p.Kind)
			s.kinds[t], s.labels[t] = p.Kind, q.States[t]-low
			id := identityOf(p.State, p.Kind, 0)
			row, ok := states[id]
			if !ok {
				row = len(f.states)
				states[id] = row
				k := shape.Kinds[p.Kind]
				f.states = append(f.states, stateRow{p.Kind, p.State, make([]float64, k), make([]float64, k)})
			}
			s.states[t], s.arcs[t] = row, -1
			if t == 0 {
				continue
			}
			before := q.Positions[t-1].Kind
			id = identityOf(p.Arc, before, p.Kind)
			if row, ok = arcs[id]; !ok {
				row = len(f.arcs)
				arcs[id] = row
				k := shape.Kinds[before] * shape.Kinds[p.Kind]
				f.arcs = append(f.arcs, arcRow{before, p.Kind, p.Arc, make([]float64, k), make([]float64, k)})
			}
			s.arcs[t] = row
		}
		f.chains = append(f.chains, s)
	}
	return f
}

// objective returns Σ w²/2σ² − Σ log p(states|positions) of the weights x, and
// writes its gradient.
func (f *fit) objective(x, grad []float64) float64 {
	copy(f.w.State, x)
	copy(f.w.Arc, x[len(f.w.State):])
	for i := range f.states {
		r := &f.states[i]
		clear(r.potentials)
		clear(r.residual)
		f.w.Emit(r.potentials, r.kind, r.features)
	}
	for i := range f.arcs {
		r := &f.arcs[i]
		clear(r.weight)
		clear(r.residual)
		f.w.Cross(r.weight, r.from, r.to, r.features)
		for k, p := range r.weight {
			r.weight[k] = math.Exp(p)
		}
	}
	value := 0.
	var s scratch
	for i := range f.chains {
		value -= f.sequence(&f.chains[i], &s)
	}
	for i, w := range x {
		value += w * w / (2 * f.variance)
		grad[i] = w / f.variance
	}
	f.gradient(grad)
	return value
}

// gradient subtracts from grad the derivatives of the log-likelihood by the
// weights, given those by the potentials of all rows.
func (f *fit) gradient(grad []float64) {
	n := f.w.States()
	for i := range f.states {
		r := &f.states[i]
		low, _ := f.w.Of(r.kind)
		for _, e := range r.features {
			if int(e.ID) < f.w.Features {
				at := int(e.ID)*n + low
				for y, d := range r.residual {
					grad[at+y] -= e.Value * d
				}
			}
		}
	}
	grad = grad[len(f.w.State):]
	for i := range f.arcs {
		r := &f.arcs[i]
		fromLow, _ := f.w.Of(r.from)
		toLow, _ := f.w.Of(r.to)
		k := f.w.Kinds[r.to]
		for _, e := range r.features {
			if int(e.ID) >= f.w.ArcFeatures {
				continue
			}
			for at, d := range r.residual {
				if d != 0 {
					grad[(int(e.ID)*n+fromLow+at/k)*n+toLow+at%k] -= e.Value * d
				}
			}
		}
	}
}

// scratch is work space for one sequence, used again for the next.
type scratch struct{ alpha, emit, beta, next []float64 }

func grow(b *[]float64, n int) []float64 {
	if cap(*b) < n {
		*b = make([]float64, 2*n)
	}
	return (*b)[:n]
}

// sequence returns log p of one sequence and adds its derivatives to the
// residuals of its rows. α is normalised to sum to 1 at each position:
//
//	α_t(j) = e_t(j)·Σ_i α_{t−1}(i)·m_t(i,j) / c_t
//	β_{t−1}(i) = Σ_j m_t(i,j)·e_t(j)·β_t(j) / c_t,   β_T = 1
//	p(y_{t−1}=i, y_t=j|x) = α_{t−1}(i)·m_t(i,j)·e_t(j)·β_t(j) / c_t
//
// with e and m the exponentials of potentials, e divided by its largest. If a sum
// is zero, as happens with too large weights, the result is −Inf, and the
// optimiser takes a shorter step.
func (f *fit) sequence(q *chain, s *scratch) float64 {
	T, most := len(q.kinds), 0
	for _, k := range q.kinds {
		most = max(most, f.w.Kinds[k])
	}
	alphas, emits := grow(&s.alpha, T*most), grow(&s.emit, T*most)
	scale := make([]float64, T)
	value := 0.
	for t := range T {
		k := f.w.Kinds[q.kinds[t]]
		potentials := f.states[q.states[t]].potentials
		alpha, emit := alphas[t*most:t*most+k], emits[t*most:t*most+k]
		value += potentials[q.labels[t]] - logsum.Shift(emit, potentials)
		if t == 0 {
			copy(alpha, emit)
		} else {
			m := f.arcs[q.arcs[t]].weight
			clear(alpha)
			before := alphas[(t-1)*most:]
			for i := range f.w.Kinds[q.kinds[t-1]] {
				a := before[i]
				for j, x := range m[i*k : (i+1)*k] {
					alpha[j] += a * x
				}
			}
			for j := range alpha {
				alpha[j] *= emit[j]
			}
			value += math.Log(m[q.labels[t-1]*k+q.labels[t]])
		}
		for _, a := range alpha {
			scale[t] += a
		}
		if !(scale[t] > 0) || math.IsInf(scale[t], 1) {
			return math.Inf(-1)
		}
		for j := range alpha {
			alpha[j] /= scale[t]
		}
		value -= math.Log(scale[t])
	}
	beta, next := grow(&s.beta, most), grow(&s.next, most)
	for j := range beta {
		beta[j] = 1
	}
	for t := T - 1; t >= 0; t-- {
		k := f.w.Kinds[q.kinds[t]]
		alpha, emit := alphas[t*most:t*most+k], emits[t*most:t*most+k]
		residual := f.states[q.states[t]].residual
		residual[q.labels[t]]++
		for j := range alpha {
			residual[j] -= alpha[j] * beta[j]
		}
		if t == 0 {
			break
		}
		row := &f.arcs[q.arcs[t]]
		row.residual[q.labels[t-1]*k+q.labels[t]]++
		for j := range k {
			beta[j] *= emit[j] / scale[t]
		}
		before := alphas[(t-1)*most:]
		for i := range f.w.Kinds[q.kinds[t-1]] {
			sum, a := 0., before[i]
			m, r := row.weight[i*k:(i+1)*k], row.residual[i*k:(i+1)*k]
			for j, x := range m {
				x *= beta[j]
				sum += x
				r[j] -= a * x
			}
			next[i] = sum
		}
		beta, next = next, beta
	}
	return value
}
