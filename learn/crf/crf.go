// Package crf is a conditional random field over a linear chain:
//
//	p(s|o) = exp(Σ_t Σ_i λ_i f_i(s_{t−1}, s_t, o, t)) / Z(o)
//
// with the features of lattice.Weights.
//
// Source: Lafferty, McCallum & Pereira 2001; Liu & Milios 2010, section 2.3.3,
// with its misprints put right: Z sums over all paths of the sequence's length,
// with that path's own s_{t−1}; a matrix M_t is [S][S]; the expected number of
// an arc at t is α_{t−1}·M_t·β_t/Z.
package crf

import (
	"context"
	"math"

	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Options of Train.
type Options = lattice.Options

// Trace is how training went.
type Trace = lattice.Trace

// Train finds the weights that maximise Σ log p(labels|observations) −
// Σ λ²/2σ². The first position has the features of its state alone.
//
// It fails on sequences that lattice.Check finds fault with, and with ctx's
// error when that is cancelled.
func Train(ctx context.Context, sequences []lattice.Sequence, shape lattice.Shape, o Options) (*lattice.Weights, Trace, error) {
	return lattice.Train(ctx, sequences, shape, o, func(d *lattice.Design, workers int) lattice.Likelihood {
		return newChains(d, sequences, shape, workers).logLikelihood
	})
}

// LogLikelihood is log p(labels|observations) of one sequence, in nats, and
// −Inf if the labels take a forbidden arc.
func LogLikelihood(w *lattice.Weights, q lattice.Sequence) float64 {
	S := w.States
	e := Expect(w, q.Obs)
	score := make([]float64, S)
	w.Start(score, q.Obs[0])
	value := score[q.Labels[0]] - e.LogZ
	for t := 1; t < len(q.Obs); t++ {
		potentials := make([]float64, S*S)
		w.Potentials(potentials, q.Obs[t])
		value += potentials[q.Labels[t-1]*S+q.Labels[t]]
	}
	return value
}

// Expectation is what a field believes of a whole sequence.
type Expectation struct {
	LogZ  float64     // log of the sum over all paths, nats
	Start []float64   // [S]: p(s_1|o)
	Arcs  [][]float64 // [T−1][S*S]: p(s_{t−1}, s_t|o) at prev*S+cur, from the second position on
}

// Expect computes it as written in the papers, in logarithms, which any
// potentials allow for:
//
//	α_1(j) = start(j)      α_t(j) = log Σ_i exp(α_{t−1}(i) + M_t(i,j))
//	β_T(j) = 0             β_{t−1}(i) = log Σ_j exp(M_t(i,j) + β_t(j))
//	p(s_{t−1}=i, s_t=j|o) = exp(α_{t−1}(i) + M_t(i,j) + β_t(j) − log Z)
//
// obs is not empty. Source: Liu & Milios 2010, equations 31 to 35, put right.
func Expect(w *lattice.Weights, obs []sparse.Vector) Expectation {
	S, T := w.States, len(obs)
	alpha, beta, m := make([][]float64, T), make([][]float64, T), make([][]float64, T)
	alpha[0] = make([]float64, S)
	w.Start(alpha[0], obs[0])
	for t := 1; t < T; t++ {
		m[t], alpha[t] = make([]float64, S*S), make([]float64, S)
		w.Potentials(m[t], obs[t])
		for j := range S {
			alpha[t][j] = math.Inf(-1)
			for i := range S {
				alpha[t][j] = logAdd(alpha[t][j], alpha[t-1][i]+m[t][i*S+j])
			}
		}
	}
	e := Expectation{LogZ: math.Inf(-1), Start: make([]float64, S), Arcs: make([][]float64, T-1)}
	for _, a := range alpha[T-1] {
		e.LogZ = logAdd(e.LogZ, a)
	}
	beta[T-1] = make([]float64, S)
	for t := T - 1; t >= 1; t-- {
		beta[t-1], e.Arcs[t-1] = make([]float64, S), make([]float64, S*S)
		for i := range S {
			beta[t-1][i] = math.Inf(-1)
			for j := range S {
				beta[t-1][i] = logAdd(beta[t-1][i], m[t][i*S+j]+beta[t][j])
				e.Arcs[t-1][i*S+j] = math.Exp(alpha[t-1][i] + m[t][i*S+j] + beta[t][j] - e.LogZ)
			}
		}
	}
	for j := range S {
		e.Start[j] = math.Exp(alpha[0][j] + beta[0][j] - e.LogZ)
	}
	return e
}

// Start writes to dst, [S], the belief over the state of the first page of a
// path: prior·exp(potentials), made to sum to 1. prior nil is a uniform one;
// potentials nil are zeros: the prior alone. Both have shape [S]. It returns
// the logarithm of the sum, −Inf, with a dst of zeros, if nothing is possible.
func Start(dst, prior, potentials []float64) float64 {
	highest := math.Inf(-1)
	for j := range dst {
		x := 0.
		if prior != nil {
			x = math.Log(prior[j])
		}
		if potentials != nil {
			x += potentials[j]
		}
		dst[j] = x
		highest = max(highest, x)
	}
	return normalise(dst, highest)
}

// Step writes to dst, [S], the belief over the state of a page from alpha,
// [S], the belief over that of the page before, and the log potentials,
// [S*S], of the observations at the page (Weights.Potentials):
//
//	dst(j) ∝ Σ_i alpha(i)·exp(potentials(i,j))        Marginal
//	dst(j) ∝ max_i alpha(i)·exp(potentials(i,j))      Viterbi
//
// made to sum to 1 at each hop, so that no path is too long for the numbers.
// It returns the logarithm of the divisor, −Inf, with a dst of zeros, if
// nothing is possible; a belief below 1e-308 is none. dst must not be alpha.
//
// What a path of Marginal steps believes is the marginal of its last state in
// the field over the path so far, taken as a whole chain: not what the field
// over the path and what follows would say of it.
//
// Source: Liu & Milios 2010, equations 20 and 21.
func Step(dst, alpha, potentials []float64, mode lattice.Mode) float64 {
	states := len(alpha)
	// In logarithms up to the greatest term, which is then 1: potentials may
	// be thousands.
	for j := range dst {
		dst[j] = math.Inf(-1)
	}
	for i, a := range alpha {
		if !(a > 0) {
			continue
		}
		a = math.Log(a)
		for j, x := range potentials[i*states:][:states] {
			dst[j] = max(dst[j], a+x)
		}
	}
	highest := math.Inf(-1)
	for _, x := range dst {
		highest = max(highest, x)
	}
	if mode == lattice.Viterbi || math.IsInf(highest, 0) {
		return normalise(dst, highest)
	}
	clear(dst)
	for i, a := range alpha {
		if !(a > 0) {
			continue
		}
		a = math.Log(a) - highest
		for j, x := range potentials[i*states:][:states] {
			dst[j] += math.Exp(a + x)
		}
	}
	sum := 0.
	for _, x := range dst {
		sum += x
	}
	for j := range dst {
		dst[j] /= sum
	}
	return highest + math.Log(sum)
}

// normalise turns logarithms, the highest of which is known, into numbers that
// sum to 1, and returns the logarithm of what they summed to.
func normalise(dst []float64, highest float64) float64 {
	if math.IsInf(highest, 0) || math.IsNaN(highest) {
		clear(dst)
		return math.Inf(-1)
	}
	sum := 0.
	for j, x := range dst {
		dst[j] = math.Exp(x - highest)
		sum += dst[j]
	}
	for j := range dst {
		dst[j] /= sum
	}
	return highest + math.Log(sum)
}
