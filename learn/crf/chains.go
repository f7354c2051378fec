package crf

import (
	"math"

	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/logsum"
	"github.com/waggle-crawler/waggle/learn/parallel"
)

// arc is one of the allowed arcs, from state i to state j.
type arc struct{ i, j int }

func arcsOf(shape lattice.Shape) (arcs []arc) {
	for at, ok := range shape.Allowed {
		if ok {
			arcs = append(arcs, arc{at / shape.States, at % shape.States})
		}
	}
	return arcs
}

// chains are the training sequences with their positions one after another, T
// in all. The potentials of a position are a row of the design: of the S states
// if it is the first of its sequence, else of the A arcs.
type chains struct {
	design  *lattice.Design
	states  int
	arcs    []arc
	workers int
	start   []int   // [sequences+1]: sequence n is positions start[n] … start[n+1]−1
	rows    []int32 // [T]
	labels  []int32 // [T]: which potential of its row the labels choose

	// Work space of logLikelihood.
	factors  []float64 // exp(potential − highest of its row), of all rows
	highest  []float64 // [rows]: the highest potential of each
	value    []float64 // [sequences]: log-likelihoods
	residual []float64 // derivatives by the potentials of each position: those of
	at       []int     // [T+1]: position k are residual[at[k]:at[k+1]]
	where    []int32   // positions by their rows, in ascending order: those of row r
	begin    []int     // [rows+1]: are where[begin[r]:begin[r+1]]
}

func newChains(d *lattice.Design, sequences []lattice.Sequence, shape lattice.Shape, workers int) *chains {
	c := &chains{design: d, states: shape.States, arcs: arcsOf(shape), workers: workers, start: []int{0}, at: []int{0}}
	number := make([]int32, len(shape.Allowed)) // of arcs
	for a, x := range c.arcs {
		number[x.i*shape.States+x.j] = int32(a)
	}
	for _, q := range sequences {
		for t, label := range q.Labels {
			row, chosen := int32(0), int32(label)
			if t == 0 {
				row = d.Start(q.Obs[0])
			} else {
				row, chosen = d.Arcs(q.Obs[t]), number[q.Labels[t-1]*shape.States+label]
			}
			low, high := d.Row(row)
			c.rows, c.labels = append(c.rows, row), append(c.labels, chosen)
			c.at = append(c.at, c.at[len(c.at)-1]+high-low)
		}
		c.start = append(c.start, len(c.rows))
	}
	c.factors = make([]float64, d.Potentials())
	c.highest = make([]float64, d.Rows())
	c.value = make([]float64, len(sequences))
	c.residual = make([]float64, c.at[len(c.rows)])
	c.begin = make([]int, d.Rows()+1)
	for _, r := range c.rows {
		c.begin[r+1]++
	}
	for r := range d.Rows() {
		c.begin[r+1] += c.begin[r]
	}
	c.where = make([]int32, len(c.rows))
	next := append([]int(nil), c.begin...)
	for k, r := range c.rows {
		c.where[next[r]] = int32(k)
		next[r]++
	}
	return c
}

// logLikelihood returns Σ log p(labels|observations) over all sequences, in
// nats, given the potentials of all rows, and writes its derivatives by them to
// residual. Sums are in the order of sequences and positions, so the result
// does not depend on the number of workers.
func (c *chains) logLikelihood(potentials, residual []float64) float64 {
	c.blocks(c.design.Rows(), func(low, high int) {
		for r := low; r < high; r++ {
			low, high := c.design.Row(int32(r))
			c.highest[r] = logsum.Shift(c.factors[low:high], potentials[low:high])
		}
	})
	c.blocks(len(c.value), func(low, high int) {
		var s space
		for n := low; n < high; n++ {
			var ok bool
			if c.value[n], ok = c.scaled(n, potentials, &s); !ok {
				c.value[n] = c.logarithmic(n, potentials, &s)
			}
		}
	})
	c.blocks(c.design.Rows(), func(low, high int) {
		for r := low; r < high; r++ {
			low, high := c.design.Row(int32(r))
			sum, where := residual[low:high], c.where[c.begin[r]:c.begin[r+1]]
			copy(sum, c.residual[c.at[where[0]]:])
			for _, k := range where[1:] {
				for a, x := range c.residual[c.at[k]:c.at[k+1]] {
					sum[a] += x
				}
			}
		}
	})
	sum := 0.
	for _, v := range c.value {
		sum += v
	}
	return sum
}

// blocks shares 0 … n−1 among the workers.
func (c *chains) blocks(n int, do func(low, high int)) {
	parallel.Blocks(c.workers, n, 256, do)
}

// space is the work space for one sequence: alpha, beta [T][S], scale [T].
type space struct{ alpha, beta, scale []float64 }

func (s *space) resize(T, states int) {
	if len(s.scale) < T {
		*s = space{make([]float64, T*states), make([]float64, T*states), make([]float64, T)}
	}
}

// Bounds of the scaled recursions. Factors and beliefs below 1e-308 become 0;
// within these bounds that changes no result by more than 1e-100.
const (
	leastScale   = 1e-100
	greatestBeta = 1e100
)

// scaled returns the log-likelihood of sequence n and writes its derivatives,
// [label] − p(arc|observations), to c.residual. With the factors M_t of the
// rows,
//
//	α_1 = M_1/c_1      α_t(j) = Σ_i α_{t−1}(i)·M_t(i,j) / c_t      Σ_j α_t(j) = 1
//	β_T = 1            β_{t−1}(i) = Σ_j M_t(i,j)·β_t(j) / c_t
//	p(s_{t−1}=i, s_t=j|o) = α_{t−1}(i)·M_t(i,j)·β_t(j) / c_t
//	log Z = Σ_t (log c_t + highest_t)
//
// ok is false if a number leaves the bounds above.
//
// Source: Rabiner 1989, section V.A (scaling); Liu & Milios 2010, equation 35,
// which prints α_t where α_{t−1} is meant.
func (c *chains) scaled(n int, potentials []float64, s *space) (value float64, ok bool) {
	S := c.states
	first, T := c.start[n], c.start[n+1]-c.start[n]
	s.resize(T, S)
	factors := func(t int) []float64 {
		low, high := c.design.Row(c.rows[first+t])
		return c.factors[low:high]
	}
	for t := range T {
		row := c.rows[first+t]
		low, _ := c.design.Row(row)
		value += potentials[low+int(c.labels[first+t])] - c.highest[row]
		now := s.alpha[t*S:][:S]
		if t == 0 {
			copy(now, factors(0))
		} else {
			clear(now)
			before := s.alpha[(t-1)*S:][:S]
			for a, m := range factors(t)[:len(c.arcs)] {
				x := c.arcs[a]
				now[x.j] += before[x.i] * m
			}
		}
		scale := 0.
		for _, x := range now {
			scale += x
		}
		if !(scale >= leastScale) {
			return 0, false
		}
		value -= math.Log(scale)
		s.scale[t] = 1 / scale
		for j := range now {
			now[j] *= s.scale[t]
		}
	}
	after := s.beta[(T-1)*S:][:S]
	for j := range after {
		after[j] = 1
	}
	for t := T - 1; t >= 1; t-- {
		p := c.residual[c.at[first+t]:c.at[first+t+1]][:len(c.arcs)]
		before, alpha := s.beta[(t-1)*S:][:S], s.alpha[(t-1)*S:][:S]
		clear(before)
		for a, m := range factors(t)[:len(c.arcs)] {
			x := c.arcs[a]
			m *= after[x.j] * s.scale[t]
			before[x.i] += m
			p[a] = -alpha[x.i] * m
		}
		for _, b := range before {
			if !(b <= greatestBeta) {
				return 0, false
			}
		}
		p[c.labels[first+t]]++
		after = before
	}
	p := c.residual[c.at[first]:c.at[first+1]]
	for j := range p {
		p[j] = -s.alpha[j] * after[j]
	}
	p[c.labels[first]]++
	return value, true
}

// logarithmic does the same as scaled for any finite potentials, more slowly: α
// and β are the logarithms, unscaled, of the sums over paths up to t and from t
// on.
func (c *chains) logarithmic(n int, potentials []float64, s *space) (value float64) {
	S := c.states
	first, T := c.start[n], c.start[n+1]-c.start[n]
	s.resize(T, S)
	row := func(t int) []float64 {
		low, high := c.design.Row(c.rows[first+t])
		return potentials[low:high]
	}
	copy(s.alpha, row(0))
	for t := 1; t < T; t++ {
		before, now := s.alpha[(t-1)*S:][:S], s.alpha[t*S:][:S]
		fill(now, math.Inf(-1))
		for a, x := range row(t) {
			now[c.arcs[a].j] = logsum.Add(now[c.arcs[a].j], before[c.arcs[a].i]+x)
		}
	}
	logZ := math.Inf(-1)
	for _, x := range s.alpha[(T-1)*S : T*S] {
		logZ = logsum.Add(logZ, x)
	}
	value = -logZ
	fill(s.beta[(T-1)*S:T*S], 0)
	for t := T - 1; t >= 0; t-- {
		after, p, x := s.beta[t*S:][:S], c.residual[c.at[first+t]:c.at[first+t+1]], row(t)
		label := c.labels[first+t]
		value += x[label]
		if t == 0 {
			for j := range p {
				p[j] = -math.Exp(x[j] + after[j] - logZ)
			}
		} else {
			before, alpha := s.beta[(t-1)*S:][:S], s.alpha[(t-1)*S:][:S]
			fill(before, math.Inf(-1))
			for a, x := range x {
				i := c.arcs[a].i
				x += after[c.arcs[a].j]
				before[i] = logsum.Add(before[i], x)
				p[a] = -math.Exp(alpha[i] + x - logZ)
			}
		}
		p[label]++
	}
	return value
}

func fill(dst []float64, x float64) {
	for i := range dst {
		dst[i] = x
	}
}
