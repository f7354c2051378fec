package score

import "math"

// weights says how much a link's evidence and the relevance of its page count:
//
//	ln odds = evidence·E + page·ln R(u)/(1−R(u)) + const
//
// where E is the tempered evidence of what stands around the link.
type weights struct{ evidence, page float64 }

// trial is a followed link as it was foretold before it was learned from, and
// what came of it.
type trial struct {
	evidence, page float64 // E, and the log odds of R(u)
	relevance      float64 // R(v)
}

const (
	trialsKept = 1000 // the last ones
	trialsHold = 5.   // λ, how firmly the weights hold to those they began with
)

// fit finds the weights that would have foretold the trials best,
//
//	maximise Σ y ln p + (1−y) ln (1−p) − λ/2·|w − w₀|²
//	p = 1/(1 + exp(−(a + w₁·E + w₂·ln R(u)/(1−R(u)))))
//
// with y = R(v), by Newton steps; no weight is negative. The trials are of
// links that were learned from only afterwards, so evidence that is only
// remembered proves nothing.
func fit(trials []trial, from weights) weights {
	w := [3]float64{0, from.evidence, from.page}
	begin := w
	for range 20 {
		// Gradient g [3] and Hessian h [3][3] of the negative of the above.
		var g [3]float64
		var h [3][3]float64
		for i := 1; i < 3; i++ {
			g[i] = trialsHold * (w[i] - begin[i])
			h[i][i] = trialsHold
		}
		h[0][0] = 1e-6
		for _, t := range trials {
			x := [3]float64{1, t.evidence, t.page}
			p := 1 / (1 + math.Exp(-(w[0] + w[1]*x[1] + w[2]*x[2])))
			for i := range x {
				g[i] += (p - t.relevance) * x[i]
				for j := range x {
					h[i][j] += p * (1 - p) * x[i] * x[j]
				}
			}
		}
		step, ok := solve(h, g)
		if !ok {
			break
		}
		largest := 0.
		for i := range w {
			largest = max(largest, math.Abs(step[i]))
		}
		for i := range w { // no step of more than 1: far off, the Hessian tells little
			w[i] -= step[i] / max(1, largest)
		}
		if largest < 1e-6 {
			break
		}
	}
	return weights{max(0, w[1]), max(0, w[2])}
}

// solve is the x of h·x = g, for a symmetric positive definite h; ok is false if
// it is none.
func solve(h [3][3]float64, g [3]float64) (x [3]float64, ok bool) {
	for i := range h { // Gauss, without pivots
		if !(h[i][i] > 1e-12) {
			return x, false
		}
		for k := i + 1; k < 3; k++ {
			f := h[k][i] / h[i][i]
			for j := i; j < 3; j++ {
				h[k][j] -= f * h[i][j]
			}
			g[k] -= f * g[i]
		}
	}
	for i := 2; i >= 0; i-- {
		x[i] = g[i]
		for j := i + 1; j < 3; j++ {
			x[i] -= h[i][j] * x[j]
		}
		x[i] /= h[i][i]
	}
	return x, true
}
