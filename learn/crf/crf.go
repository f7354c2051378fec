// Package crf implements conditional random fields over a linear chain:
//
//	p(s|o) = exp(Σ_t Σ_i λ_i f_i(s_{t−1}, s_t, o, t)) / Z(o)
//
// with the features of lattice.Weights. Train learns the weights from labelled
// sequences. Start and Step then carry the belief over the state of a page along
// a path, one page at a time; Expect gives the marginals of a whole sequence.
//
// Source: Lafferty, McCallum & Pereira 2001; Liu & Milios 2010, sections 5.1 and
// 5.2, with these misprints corrected: Z sums over all paths of the sequence's
// length, each with its own s_{t−1} (equations 4, 27, 29 and 31); a matrix M_t
// is [S][S]; the expected count of an arc at t is α_{t−1}·M_t·β_t/Z (equation
// 35).
package crf

import (
	"context"
	"math"

	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/logsum"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Options of Train.
type Options = lattice.Options

// Trace records the course of training.
type Trace = lattice.Trace

// Train returns the weights that maximise Σ log p(labels|observations) −
// Σ λ²/2σ². The first position has the features of its state only.
//
// The errors are those of lattice.Check and, when ctx is cancelled, that of ctx.
func Train(ctx context.Context, sequences []lattice.Sequence, shape lattice.Shape, o Options) (*lattice.Weights, Trace, error) {
	return lattice.Train(ctx, sequences, shape, o, func(d *lattice.Design, workers int) lattice.Likelihood {
		return newChains(d, sequences, shape, workers).logLikelihood
	})
}

// LogLikelihood returns log p(labels|observations) of one sequence, in nats. It
// is −Inf if the labels take a forbidden arc.
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

// Expectation holds the marginals of a whole sequence.
type Expectation struct {
	LogZ  float64     // log of the sum over all paths, nats
	Start []float64   // [S]: p(s_1|o)
	Arcs  [][]float64 // [T−1][S*S]: p(s_{t−1}, s_t|o) at prev*S+cur, from the second position on
}

// Expect computes the marginals of a sequence by the equations as they are
// written in the papers, in logarithms, so potentials of any size do:
//
//	α_1(j) = start(j)      α_t(j) = log Σ_i exp(α_{t−1}(i) + M_t(i,j))
//	β_T(j) = 0             β_{t−1}(i) = log Σ_j exp(M_t(i,j) + β_t(j))
//	p(s_{t−1}=i, s_t=j|o) = exp(α_{t−1}(i) + M_t(i,j) + β_t(j) − log Z)
//
// obs must not be empty.
//
// Source: Liu & Milios 2010, equations 31 to 35, corrected as the package's
// description says.
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
				alpha[t][j] = logsum.Add(alpha[t][j], alpha[t-1][i]+m[t][i*S+j])
			}
		}
	}
	e := Expectation{LogZ: math.Inf(-1), Start: make([]float64, S), Arcs: make([][]float64, T-1)}
	for _, a := range alpha[T-1] {
		e.LogZ = logsum.Add(e.LogZ, a)
	}
	beta[T-1] = make([]float64, S)
	for t := T - 1; t >= 1; t-- {
		beta[t-1], e.Arcs[t-1] = make([]float64, S), make([]float64, S*S)
		for i := range S {
			beta[t-1][i] = math.Inf(-1)
			for j := range S {
				beta[t-1][i] = logsum.Add(beta[t-1][i], m[t][i*S+j]+beta[t][j])
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
// path: prior·exp(potentials), normalised to sum to 1. prior and potentials have
// shape [S]; a nil prior is uniform, nil potentials are zeros. Start returns the
// logarithm of the sum before normalisation. If no state is possible, it returns
// −Inf and dst is zeros.
func Start(dst, prior, potentials []float64) float64 {
	for j := range dst {
		x := 0.
		if prior != nil {
			x = math.Log(prior[j])
		}
		if potentials != nil {
			x += potentials[j]
		}
		dst[j] = x
	}
	return logsum.Softmax(dst)
}

// Step writes to dst, [S], the belief over the state of a page, given alpha,
// [S], the belief over the state of the previous page, and the log potentials,
// [S*S], of the observations at the page (Weights.Potentials):
//
//	dst(j) ∝ Σ_i alpha(i)·exp(potentials(i,j))        Marginal
//	dst(j) ∝ max_i alpha(i)·exp(potentials(i,j))      Viterbi
//
// normalised to sum to 1 at each step, so that long paths do not underflow. Step
// returns the logarithm of the divisor. If no state is possible, it returns −Inf
// and dst is zeros. A belief below 1e-308 becomes 0. dst must not be alpha.
//
// After Marginal steps the belief is the marginal of the last state in the field
// over the path so far, as if the path ended there. The field over a longer path
// would give the same page another marginal.
//
// Source: Liu & Milios 2010, section 5.3, equations 37 to 39.
func Step(dst, alpha, potentials []float64, mode lattice.Mode) float64 {
	states := len(alpha)
	// Terms are divided by the largest before exp: potentials may be thousands.
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
		return logsum.Softmax(dst)
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
