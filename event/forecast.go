package event

import "math"

// Forecast tells how many relevant pages the next fetches of a crawl bring, by what its
// last ones brought. It looks at nothing else: neither at the links that wait, nor at
// how many pages of the topic there are.
//
// A page counts half as much as one that was fetched 50 pages later. The
// number of relevant pages among the next n is taken to be beta-binomial,
//
//	a = s·(½ + relevant)    b = s·(2 + pages − relevant)
//
// where s, forecastShare, is the share of what was seen that still holds: harvest
// comes in runs, as sites are good or bad. The half-life and s were chosen on the webs
// campus and departments (docs/results/forecast.md); ½ and 2 are the prior, a fifth of
// the pages relevant.
type Forecast struct {
	Pages    float64 `json:"pages"`    // fetched, each by its weight; less than 73
	Relevant float64 `json:"relevant"` // of these
}

const (
	forecastHalfLife = 50
	forecastShare    = 0.2
	forecastLeast    = 100 // pages from which on there is a forecast
	forecastBound    = 1.3 // see Least
)

// GainPages is the number of next pages that people are told of.
const GainPages = 100

// Add takes in the next page that was fetched.
func (f *Forecast) Add(relevant bool) {
	fade := math.Exp2(-1. / forecastHalfLife)
	f.Pages, f.Relevant = f.Pages*fade+1, f.Relevant*fade
	if relevant {
		f.Relevant++
	}
}

// rejudged takes in that a page is relevant after all (1), or is not (-1), after which age others
// were fetched.
func (f *Forecast) rejudged(age, change int) {
	f.Relevant = max(0, f.Relevant+float64(change)*math.Exp2(-float64(age)/forecastHalfLife))
}

// Ready tells whether at least 100 pages were taken in: before, there is no forecast.
func (f Forecast) Ready() bool {
	fade := math.Exp2(-1. / forecastHalfLife)
	return f.Pages >= (1-math.Pow(fade, forecastLeast))/(1-fade)-1e-9
}

// Enough tells whether fewer than gain relevant pages are expected among the next
// GainPages: never for 0, nor before there is a forecast.
func (f Forecast) Enough(gain float64) bool {
	return gain > 0 && f.Ready() && f.Mean(GainPages) < gain
}

// Mean is the number of relevant pages expected among the next n.
func (f Forecast) Mean(n int) float64 {
	a, b := f.shape()
	return float64(n) * a / (a + b)
}

// Interval holds the number of relevant pages among the next n with a probability of
// nine in ten, if the crawl goes on as crawls do: in one of twenty cases there are
// fewer than low, in one of twenty more than high.
func (f Forecast) Interval(n int) (low, high int) {
	a, b := f.shape()
	low = -1
	// P(k+1)/P(k) = (n−k)/(k+1) · (a+k)/(b+n−k−1)
	p, sum := math.Exp(logBeta(a, b+float64(n))-logBeta(a, b)), 0.
	for k := range n + 1 {
		sum += p
		if low < 0 && sum >= 0.05 {
			low = k
		}
		if sum >= 0.95 {
			return max(low, 0), k
		}
		p *= float64(n-k) / float64(k+1) * (a + float64(k)) / (b + float64(n-k-1))
	}
	return max(low, 0), n
}

// Least is a number of relevant pages that can still be reached, at the least: in
// nineteen crawls of twenty there are as many or more, if the crawl goes on to the end
// of what its links lead to. By the mean m of the next GainPages it is
//
//	⌊1.3·m − 1⌋, at least 0
//
// The factor is the smallest of three: each was chosen on two recorded webs so that it
// holds in nineteen moments of twenty. There is no such bound from above that is of
// use; docs/results/forecast.md has what was tried, and where this one fails.
func (f Forecast) Least() int {
	return max(0, int(forecastBound*f.Mean(GainPages)-1))
}

func (f Forecast) shape() (a, b float64) {
	return forecastShare * (0.5 + f.Relevant), forecastShare * (2 + f.Pages - f.Relevant)
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}
