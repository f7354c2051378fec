// Package memm implements maximum entropy Markov models over a linear chain:
//
//	p(s_t|s_{t−1}, o_t) = exp(Σ_i λ_i f_i(s_{t−1}, s_t, o_t)) / z(s_{t−1}, o_t)
//
// with the features of lattice.Weights; z sums over the states that may follow
// s_{t−1}. At the first position, which has no previous state, p(s_1|o_1) has
// the features of the state only. Train learns the weights from labelled
// sequences; Start, Transitions and Step carry the belief over the state of a
// page along a path, one page at a time.
//
// Source: McCallum, Freitag & Pereira 2000; Liu & Milios 2010, section 4.1,
// equations 12 to 14, which print z(o_t) although z depends on s_{t−1} too.
package memm

import (
	"context"

	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/logsum"
	"github.com/waggle-crawler/waggle/learn/parallel"
)

// Options of Train.
type Options = lattice.Options

// Trace records the course of training.
type Trace = lattice.Trace

// Train returns the weights that maximise Σ log p(s_t|s_{t−1}, o_t) − Σ λ²/2σ²
// over all positions of all sequences.
//
// The errors are those of lattice.Check and, when ctx is cancelled, that of ctx.
func Train(ctx context.Context, sequences []lattice.Sequence, shape lattice.Shape, o Options) (*lattice.Weights, Trace, error) {
	return lattice.Train(ctx, sequences, shape, o, func(d *lattice.Design, workers int) lattice.Likelihood {
		return count(d, sequences, shape, workers).logLikelihood
	})
}

// counts is what the likelihood needs of the sequences: how often each state
// occurred at each row. A row is an observation vector after a given state.
type counts struct {
	design  *lattice.Design
	workers int
	times   []float64 // in the shape of the potentials of all rows
	value   []float64 // [blocks]: log-likelihoods
}

const block = 512 // rows

func count(d *lattice.Design, sequences []lattice.Sequence, shape lattice.Shape, workers int) *counts {
	c := &counts{design: d, workers: workers}
	for _, q := range sequences {
		for t, label := range q.Labels {
			var row int32
			rank := label // among the states of the row
			if t == 0 {
				row = d.Start(q.Obs[0])
			} else {
				prev := q.Labels[t-1]
				row = d.From(prev, q.Obs[t])
				for _, ok := range shape.Allowed[prev*shape.States:][:label] {
					if !ok {
						rank--
					}
				}
			}
			low, high := d.Row(row)
			if high > len(c.times) {
				c.times = append(c.times, make([]float64, high-len(c.times))...)
			}
			c.times[low+rank]++
		}
	}
	c.value = make([]float64, (d.Rows()+block-1)/block)
	return c
}

// logLikelihood returns, with n_j the number of times that state j occurred at
// a row, x_j the row's potentials and n = Σ n_j,
//
//	Σ_rows ( Σ_j n_j·x_j − n·log Σ_j exp x_j )
//
// whose derivative by x_j is n_j − n·p(j).
func (c *counts) logLikelihood(potentials, residual []float64) float64 {
	parallel.Blocks(c.workers, c.design.Rows(), block, func(first, end int) {
		b := first / block
		c.value[b] = 0
		for r := first; r < end; r++ {
			low, high := c.design.Row(int32(r))
			x, times, p := potentials[low:high], c.times[low:high], residual[low:high]
			copy(p, x)
			logZ := logsum.Softmax(p)
			n := 0.
			for j, k := range times {
				if k > 0 {
					c.value[b] += k * (x[j] - logZ)
					n += k
				}
			}
			for j, k := range times {
				p[j] = k - n*p[j]
			}
		}
	})
	sum := 0.
	for _, v := range c.value {
		sum += v
	}
	return sum
}

// Transitions replaces the log potentials of an observation, [S*S] at
// prev*S+cur, by p(cur|prev, observation), so that each row sums to 1.
func Transitions(potentials []float64, states int) {
	for i := range states {
		logsum.Softmax(potentials[i*states:][:states])
	}
}

// Start writes to dst, [S], p(s_1|o_1), given the log potentials of the first
// position (Weights.Start).
func Start(dst, potentials []float64) {
	copy(dst, potentials)
	logsum.Softmax(dst)
}

// Step writes to dst, [S], the belief over the state of a page, given alpha,
// [S], the belief over the state of the previous page, and p(cur|prev,
// observation), [S*S], from Transitions:
//
//	dst(j) = Σ_i alpha(i)·p(j|i)                            Marginal
//	dst(j) ∝ max_i alpha(i)·p(j|i), normalised to sum to 1  Viterbi
//
// dst must not be alpha.
//
// Source: Liu & Milios 2010, section 4.3, equations 18 and 23.
func Step(dst, alpha, transitions []float64, mode lattice.Mode) {
	states := len(alpha)
	clear(dst)
	for i, a := range alpha {
		for j, p := range transitions[i*states:][:states] {
			if mode == lattice.Viterbi {
				dst[j] = max(dst[j], a*p)
			} else {
				dst[j] += a * p
			}
		}
	}
	sum := 0.
	for _, x := range dst {
		sum += x
	}
	if sum > 0 {
		for j := range dst {
			dst[j] /= sum
		}
	}
}
