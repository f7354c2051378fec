// Package logsum adds numbers that are given by their logarithms, without
// overflow: log Σ exp x is computed from the largest x.
//
// Probabilities of long sequences and weights of log-linear models are too
// small or too large for a float64; their logarithms are not. Logarithms are
// natural (nats); that of zero is −Inf.
package logsum

import "math"

// Add returns log(exp a + exp b).
func Add(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// Shift writes exp(x_j − m) to dst_j, where m is the largest x, and returns m.
// dst has the length of x and may be x. Without any x it returns −Inf.
func Shift(dst, x []float64) (largest float64) {
	largest = math.Inf(-1)
	for _, v := range x {
		largest = max(largest, v)
	}
	for j, v := range x {
		dst[j] = math.Exp(v - largest)
	}
	return largest
}

// Softmax replaces each x_j by exp x_j / Σ_i exp x_i, so that they sum to 1,
// and returns log Σ_i exp x_i. Where that is not finite (all x are −Inf, or one
// is +Inf or NaN) x becomes all zeros and Softmax returns −Inf.
func Softmax(x []float64) float64 {
	largest := Shift(x, x)
	if math.IsInf(largest, 0) || math.IsNaN(largest) {
		clear(x)
		return math.Inf(-1)
	}
	sum := 0.
	for _, v := range x {
		sum += v
	}
	for j := range x {
		x[j] /= sum
	}
	return largest + math.Log(sum)
}

// Of returns log Σ exp x, −Inf if there is no x or all are −Inf.
func Of(x []float64) float64 {
	largest := math.Inf(-1)
	for _, v := range x {
		largest = max(largest, v)
	}
	if math.IsInf(largest, 0) {
		return largest
	}
	sum := 0.
	for _, v := range x {
		sum += math.Exp(v - largest)
	}
	return largest + math.Log(sum)
}
