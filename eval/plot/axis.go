package plot

import (
	"math"
	"strconv"
	"strings"
)

// axis maps values to places.
type axis struct {
	low, high float64 // values
	from, to  float64 // places of these
	ticks     []float64
	percent   bool
}

// newAxis spans low…high, widened to whole ticks, of which there are about
// count. A span of nothing becomes one of one.
func newAxis(low, high float64, count int, percent bool) axis {
	if !(high > low) {
		high = low + 1
	}
	step := niceStep(.7 * (high - low) / float64(max(count, 1)))
	a := axis{low: math.Floor(low/step+1e-9) * step, high: math.Ceil(high/step-1e-9) * step, percent: percent}
	for i := 0; ; i++ {
		t := a.low + float64(i)*step
		if t > a.high+step/2 || i > 100 {
			break
		}
		if math.Abs(t) < step/1e6 {
			t = 0
		}
		a.ticks = append(a.ticks, t)
	}
	return a
}

// fit is an axis that ends where the data ends instead of at a tick.
func (a axis) fit(high float64) axis {
	if high > a.low {
		a.high = high
		for len(a.ticks) > 0 && a.ticks[len(a.ticks)-1] > high*(1+1e-9) {
			a.ticks = a.ticks[:len(a.ticks)-1]
		}
	}
	return a
}

// niceStep is the next of 1, 2, 5 × 10^k at or above x.
func niceStep(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if x <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// at is the place of a value.
func (a axis) at(v float64) float64 {
	return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from)
}

// name writes a tick.
func (a axis) name(v float64) string {
	step := a.high - a.low
	if len(a.ticks) > 1 {
		step = a.ticks[1] - a.ticks[0]
	}
	if a.percent {
		return fixedPoint(v*100, step*100) + "%"
	}
	return fixedPoint(v, step)
}

// fixedPoint writes v with as many decimals as tell steps apart, and commas
// between thousands.
func fixedPoint(v, step float64) string {
	decimals := 0
	for s := math.Abs(step); decimals < 6 && s > 0 && math.Abs(s-math.Round(s)) > 1e-6*s; decimals++ {
		s *= 10
	}
	return Number(v, decimals)
}

// Number writes v with a fixed number of decimals, commas between thousands
// and a true minus sign; NaN is a dash.
func Number(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, fraction, has := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		whole += "." + fraction
	}
	if v < 0 && strings.Trim(s, "0.") != "" {
		whole = "−" + whole
	}
	return whole
}
