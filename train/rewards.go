package train

import (
	"math"

	"github.com/waggle-crawler/waggle/learn/tagger"
)

// printedRewards is the reward of each state of a field, [S], as the paper prints
// it: for each position of a training sequence, backwards,
//
//	R_n(y) = [y = Goal]
//	R_i(y) = Σ_y' e^{W·f(y',y,x,i+1)} R_{i+1}(y') / Σ_y' e^{W·f(y',y,x,i+1)}
//
// then over the positions of a sequence, the last weighing most, and over
// sequences
//
//	R^x(y) = Σ_k γ^k R_{n−k}(y) / Σ_k γ^k        R(y) = mean of R^x(y)
//
// It normalises locally over a field trained globally, does not use how a
// sequence ended, and gives more weight to late positions, not to short paths.
// discountedRewards does what the text of the paper describes.
//
// With states of pages and of links, a state counts at the positions where it
// can be; the paper does not say so. Both sums over k leave out the other
// positions, and the mean leaves out sequences without such a position.
//
// Source: Vydiswaran & Sarawagi 2005, section 3.1, equations 3 to 5.
func printedRewards(w *tagger.Weights, sequences []tagger.Sequence, goal int, gamma float64) []float64 {
	total, count := make([]float64, w.States()), make([]float64, w.States())
	for _, q := range sequences {
		sum, weights := make([]float64, w.States()), make([]float64, w.States())
		var reward []float64 // R_{i+1}, of the states of its position
		share := 1.          // γ^k
		for i := len(q.Positions) - 1; i >= 0; i-- {
			kind := q.Positions[i].Kind
			low, high := w.Of(kind)
			now := make([]float64, high-low)
			if reward == nil {
				// The Goal of pages, or a link that is taken for one.
				now[goal] = 1
			} else {
				next := &q.Positions[i+1]
				k := w.Kinds[next.Kind]
				potentials, emit := make([]float64, len(now)*k), make([]float64, k)
				w.Cross(potentials, kind, next.Kind, next.Arc)
				w.Emit(emit, next.Kind, next.State)
				for y := range now {
					most, above, below := math.Inf(-1), 0., 0.
					for j := range k {
						most = max(most, potentials[y*k+j]+emit[j])
					}
					for j, r := range reward {
						e := math.Exp(potentials[y*k+j] + emit[j] - most)
						above += e * r
						below += e
					}
					now[y] = above / below
				}
			}
			for y, r := range now {
				sum[low+y] += share * r
				weights[low+y] += share
			}
			share *= gamma
			reward = now
		}
		for y := range sum {
			if weights[y] > 0 {
				total[y] += sum[y] / weights[y]
				count[y]++
			}
		}
	}
	for y := range total {
		if count[y] > 0 {
			total[y] = min(1, total[y]/count[y]) // a mean of shares, but for rounding
		}
	}
	return total
}

// discountedRewards is the value of each state of pages by its distance from the
// goal, [P], the default of scorers:
//
//	V(Goal) = 1      V(y) = γ Σ_y' P(y'|y) V(y')
//
// with P(y'|y) the share of training pages in state y that were followed by a page
// in y'; a path that ends elsewhere than in Goal adds nothing. A link has the value
// of the state that it is taken for.
func discountedRewards(labels [][]int, states, goal int, gamma float64) []float64 {
	follows, times := make([]float64, states*states), make([]float64, states)
	for _, path := range labels {
		for i, y := range path {
			times[y]++
			if i+1 < len(path) {
				follows[y*states+path[i+1]]++
			}
		}
	}
	worth := make([]float64, states)
	worth[goal] = 1
	// Value iteration. Each round shrinks the error by γ, or by the share of paths
	// that end. States that lead round in a circle for ever keep the value 0.
	for range 10_000 {
		change := 0.
		for y := range states {
			if y == goal || times[y] == 0 {
				continue
			}
			v := 0.
			for j, n := range follows[y*states : (y+1)*states] {
				v += n / times[y] * worth[j]
			}
			v *= gamma
			change = max(change, math.Abs(v-worth[y]))
			worth[y] = v
		}
		if change < 1e-12 {
			break
		}
	}
	for y := range worth {
		worth[y] = min(1, worth[y])
	}
	return worth
}

// onward is the probability that a path goes on from a page of each state, [P], by
// Laplace's rule:
//
//	(times it was followed + 1) / (times + 2)
//
// A field over whole paths does not model their end: it has seen no arc from a goal
// or a wrong turn, so all of those are equally likely to it.
func onward(labels [][]int, states int) []float64 {
	went, times := make([]float64, states), make([]float64, states)
	for _, path := range labels {
		for i, y := range path {
			times[y]++
			if i+1 < len(path) {
				went[y]++
			}
		}
	}
	for y := range went {
		went[y] = (went[y] + 1) / (times[y] + 2)
	}
	return went
}
