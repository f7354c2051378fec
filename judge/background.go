package judge

import "math"

// background tells how high pages score that are not wanted: a table of
//
//	ln T(x),  x = ln(score/reference + floor)
//
// on even steps of x, with T falling in x. T is blended of what it is on other
// webs and topics, which counts as backgroundPrior pages, and the pages of a
// crawl, each of which counts by how little it looked wanted beforehand:
//
//	T(x) = (N₀·T₀(x) + Σ_i w_i·[x_i ≥ x]) / (N₀ + Σ_i w_i),   w_i = 1 − relevance₀(x_i)
//
// where the step [x_i ≥ x] is rounded to a logistic one of steepness
// backgroundEdge, and relevance₀ is the relevance by T₀ before any page, of a topic of which
// something was written: where examples are all there is, what little they tell
// must not make wanted pages into background.
type background [backgroundSteps + 1]float64

const (
	backgroundSteps = 64
	backgroundLow   = -4. // x of the first step
	backgroundHigh  = 4.  // of the last
	backgroundPrior = 32  // N₀
	backgroundEdge  = 8
	backgroundFloor = 1e-3 // added to T
)

// usualShare is T₀: what it was, in the mean of its logarithm, after the first 256
// pages of crawls of other topics.
func usualShare(x float64) float64 {
	at := [...]float64{-4, -2, -1, 0, 0.5, 1, 1.5, 2}
	ln := [...]float64{-0.2, -0.5, -0.8, -1.5, -2.3, -3.8, -6, -6.9}
	if !(x > at[0]) {
		return math.Exp(ln[0])
	}
	for i := 1; i < len(at); i++ {
		if x < at[i] {
			return math.Exp(ln[i-1] + (x-at[i-1])/(at[i]-at[i-1])*(ln[i]-ln[i-1]))
		}
	}
	return math.Exp(ln[len(ln)-1])
}

func newBackground(r *constants, v *view, scores []float64) background {
	var b background
	xs, weights := make([]float64, len(scores)), make([]float64, len(scores))
	all := float64(backgroundPrior)
	for i, s := range scores {
		x := math.Log(s/v.reference + r.floor)
		xs[i] = x
		weights[i] = 1 - logistic(r.slope*x+r.commonness*math.Log(usualShare(x)+backgroundFloor)+r.offset)
		all += weights[i]
	}
	for k := range b {
		x := backgroundLow + float64(k)*(backgroundHigh-backgroundLow)/backgroundSteps
		sum := backgroundPrior * usualShare(x)
		for i, at := range xs {
			sum += weights[i] * logistic(backgroundEdge*(at-x))
		}
		b[k] = math.Log(sum/all + backgroundFloor)
	}
	return b
}

// logShare is ln T(x), by linear interpolation.
func (b *background) logShare(x float64) float64 {
	at := (x - backgroundLow) * backgroundSteps / (backgroundHigh - backgroundLow)
	if !(at > 0) {
		return b[0]
	}
	k := int(at)
	if k >= backgroundSteps {
		return b[backgroundSteps]
	}
	return b[k] + (at-float64(k))*(b[k+1]-b[k])
}
