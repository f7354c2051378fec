package eval

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
)

// The unit of all statistics is the topic: pages of one crawl depend on each
// other. Differences are paired, first minus second, one for each topic.

// ErrNoPairs is the error of tests that have nothing to go by: no topic, or
// none on which the two differ.
var ErrNoPairs = errors.New("no topic on which the two differ")

// exactWilcoxon is the largest number of differences for which Wilcoxon counts
// all sign patterns.
const exactWilcoxon = 25

// Tie is the largest difference that still counts as none: far below what one
// page more or less makes, and far above what arithmetic and the nine digits of
// a Cell leave behind. Tests and Compare agree on it: what is a tie in one is no
// rank in the other.
const Tie = 1e-9

// Test is the outcome of a two-sided paired test.
type Test struct {
	N         int     // differences that were no ties
	Statistic float64 // Wilcoxon: sum of the ranks of positive ones; permutation: their mean
	P         float64 // two-sided
	Exact     bool    // counted, neither approximated nor drawn
}

// Wilcoxon is the signed-rank test. Differences within Tie of zero are left out
// and those within Tie of one another share their mean rank. For up to 25 differences the distribution is counted,
// given the ties; beyond that it is taken as normal, with the correction of
// the variance for ties and of one half for continuity.
//
// Sources: Wilcoxon (1945); Hollander, Wolfe, Chicken (2014), section 3.1.
func Wilcoxon(differences []float64) (Test, error) {
	var d []float64
	for _, x := range differences {
		if math.Abs(x) > Tie {
			d = append(d, x)
		}
	}
	n := len(d)
	if n == 0 {
		return Test{P: 1, Exact: true}, ErrNoPairs
	}
	slices.SortFunc(d, func(a, b float64) int {
		switch x, y := math.Abs(a), math.Abs(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	// Ranks are doubled so that mean ranks stay whole.
	ranks := make([]int, n) // [n] 2 × rank
	positive, ties := 0, 0.0
	for i := 0; i < n; {
		j := i
		for j < n && math.Abs(d[j])-math.Abs(d[i]) <= Tie {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j
			if d[k] > 0 {
				positive += ranks[k]
			}
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	out := Test{N: n, Statistic: float64(positive) / 2}
	total := n * (n + 1) // of the doubled ranks
	if n <= exactWilcoxon {
		// ways[s]: sign patterns whose positive doubled ranks sum to s
		ways := make([]float64, total+1)
		ways[0] = 1
		for _, r := range ranks {
			for s := total; s >= r; s-- {
				ways[s] += ways[s-r]
			}
		}
		low := 0.0
		for s := 0; s <= min(positive, total-positive); s++ {
			low += ways[s]
		}
		out.P, out.Exact = min(1, 2*low/math.Ldexp(1, n)), true
		return out, nil
	}
	f := float64(n)
	variance := f*(f+1)*(2*f+1)/24 - ties/48
	z := max(math.Abs(out.Statistic-f*(f+1)/4)-.5, 0) / math.Sqrt(variance)
	out.P = min(1, math.Erfc(z/math.Sqrt2))
	return out, nil
}

// exactPermutation is the largest number of differences for which Permutation
// visits all 2^n sign patterns.
const exactPermutation = 20

// Permutation is the paired randomisation test of the mean: how often does a
// random choice of signs bring a mean at least as far from zero. For up to 20
// differences all patterns are visited; beyond that draws are made from rng,
// and P is (1+extreme)/(1+draws), which is never zero.
//
// Sources: Fisher (1935), The Design of Experiments, section 21; Phipson &
// Smyth (2010) for the ones.
func Permutation(differences []float64, draws int, rng *rand.Rand) (Test, error) {
	var d []float64
	sum, size := 0.0, 0.0
	for _, x := range differences {
		if math.Abs(x) > Tie {
			d = append(d, math.Abs(x))
			sum += x
			size += math.Abs(x)
		}
	}
	n := len(d)
	if n == 0 {
		return Test{P: 1, Exact: true}, ErrNoPairs
	}
	out := Test{N: n, Statistic: sum / float64(len(differences))}
	bar := math.Abs(sum) - Tie // as far from zero, or further
	extreme := 0
	if n <= exactPermutation {
		// A Gray code flips one sign at a time.
		s := size
		negative := make([]bool, n)
		for i := uint32(0); ; {
			if math.Abs(s) >= bar {
				extreme++
			}
			if i++; i == 1<<n {
				break
			}
			k := 0
			for i>>k&1 == 0 {
				k++
			}
			if negative[k] = !negative[k]; negative[k] {
				s -= 2 * d[k]
			} else {
				s += 2 * d[k]
			}
		}
		out.P, out.Exact = math.Ldexp(float64(extreme), -n), true
		return out, nil
	}
	for range draws {
		s := 0.0
		for _, x := range d {
			if rng.Uint64()&1 == 0 {
				s += x
			} else {
				s -= x
			}
		}
		if math.Abs(s) >= bar {
			extreme++
		}
	}
	out.P = float64(1+extreme) / float64(1+draws)
	return out, nil
}

// Holm returns the p values adjusted for their number by the step-down rule:
// each is compared at level α as it stands. Order is kept; NaN stays NaN and
// does not count.
//
// Source: Holm (1979).
func Holm(p []float64) []float64 {
	var order []int
	out := make([]float64, len(p))
	for i, x := range p {
		if out[i] = x; !math.IsNaN(x) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	top := 0.0
	for k, i := range order {
		top = max(top, min(1, float64(len(order)-k)*p[i]))
		out[i] = top
	}
	return out
}

// Interval is a confidence interval of a mean.
type Interval struct{ Mean, Low, High float64 }

// Bootstrap is the percentile interval of the mean over topics: the values are
// drawn with replacement, draws times, and the middle share level of the means
// is what lies between Low and High. They are NaN for fewer than two values,
// which tell of no spread, and Mean for none.
//
// Source: Efron & Tibshirani (1993), section 13.3.
func Bootstrap(values []float64, level float64, draws int, rng *rand.Rand) Interval {
	n := len(values)
	if n == 0 || draws < 1 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	if n == 1 {
		return Interval{values[0], math.NaN(), math.NaN()}
	}
	means := make([]float64, draws)
	for i := range means {
		s := 0.0
		for range n {
			s += values[rng.IntN(n)]
		}
		means[i] = s / float64(n)
	}
	slices.Sort(means)
	tail := (1 - level) / 2
	return Interval{mean(values), quantile(means, tail), quantile(means, 1-tail)}
}

// Wilson is the 95 % interval of a share, in [0,1], of n ≥ 1 cases.
//
// Source: Wilson, Probable Inference, the Law of Succession, and Statistical
// Inference (1927).
func Wilson(share float64, n int) Interval {
	const z = 1.96
	cases := float64(n)
	middle := (share + z*z/(2*cases)) / (1 + z*z/cases)
	half := z / (1 + z*z/cases) * math.Sqrt(share*(1-share)/cases+z*z/(4*cases*cases))
	return Interval{Mean: share, Low: max(0, middle-half), High: min(1, middle+half)}
}

// quantile of sorted values, interpolated between order statistics (type 7 of
// Hyndman & Fan 1996).
func quantile(sorted []float64, q float64) float64 {
	h := q * float64(len(sorted)-1)
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

// TopicsNeeded is the number of topics with which a paired two-sided test at
// level alpha finds a mean difference of delta with the given power, where
// differences have the standard deviation sd:
//
//	n = ((z(1−α/2) + z(power)) sd/δ)² + z(1−α/2)²/2
//
// It is 0 where either is 0 or not known, and math.MaxInt32 at most.
//
// Source: Guenther (1981), for the paired t test; within one of the exact
// answer for n ≥ 5.
func TopicsNeeded(delta, sd, alpha, power float64) int {
	if !(delta > 0) || !(sd > 0) {
		return 0
	}
	a := normalQuantile(1 - alpha/2)
	x := (a + normalQuantile(power)) * sd / delta
	return int(min(math.Ceil(x*x+a*a/2), math.MaxInt32))
}

// Detectable is the smallest mean difference that n topics find; the inverse
// of TopicsNeeded. +Inf when n is too small for any.
func Detectable(n int, sd, alpha, power float64) float64 {
	a := normalQuantile(1 - alpha/2)
	left := float64(n) - a*a/2
	if left <= 0 {
		return math.Inf(1)
	}
	return (a + normalQuantile(power)) * sd / math.Sqrt(left)
}

func normalQuantile(q float64) float64 { return math.Sqrt2 * math.Erfinv(2*q-1) }

// Comparison is how a first strategy fares against a second over topics.
type Comparison struct {
	Topics            int
	Wins, Ties, Loses int
	Difference        Interval // mean of first − second, 95 %
	SD                float64  // of the differences
	Wilcoxon          Test
	Permutation       Test
	Worst             TopicID // where the first fares worst against the second
	WorstBy           float64 // its difference, in the measure's own sign
	Needed            int     // topics that would find a difference of this size; 0 where it is none, within Tie
	// Detectable is the smallest mean difference that so many topics, as far
	// apart as these, find at 5 %, two-sided, with a power of 80 %: of less,
	// silence proves nothing. +Inf for one topic.
	Detectable float64
}

// Draws is the number of samples of the bootstrap and of permutations that are
// not counted in full.
const Draws = 10_000

// Compare compares two strategies, topic by topic. better is the sign of the
// measure: a win is a difference of that sign and of more than Tie. Shapes:
// topics, a, b [T].
func Compare(topics []TopicID, a, b []float64, better int, seed uint64) Comparison {
	c := Comparison{Topics: len(topics)}
	if better == 0 {
		better = 1
	}
	d := make([]float64, len(topics))
	for i := range d {
		d[i] = a[i] - b[i]
		gain := d[i] * float64(better)
		switch {
		case gain > Tie:
			c.Wins++
		case gain < -Tie:
			c.Loses++
		default:
			c.Ties++
		}
		if i == 0 || gain < c.WorstBy*float64(better) {
			c.Worst, c.WorstBy = topics[i], d[i]
		}
	}
	c.Difference = Bootstrap(d, .95, Draws, rand.New(rand.NewPCG(seed, 1)))
	c.SD = deviation(d)
	c.Wilcoxon, _ = Wilcoxon(d) // without pairs P is 1
	c.Permutation, _ = Permutation(d, Draws, rand.New(rand.NewPCG(seed, 2)))
	if size := math.Abs(c.Difference.Mean); size > Tie {
		c.Needed = TopicsNeeded(size, c.SD, .05, .8)
	}
	c.Detectable = Detectable(len(d), c.SD, .05, .8)
	return c
}

// deviation is the standard deviation of a sample, NaN for fewer than two.
func deviation(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	m, s := mean(x), 0.0
	for _, v := range x {
		s += (v - m) * (v - m)
	}
	return math.Sqrt(s / float64(len(x)-1))
}
