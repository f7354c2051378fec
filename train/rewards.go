package train

import (
	"math"

	"github.com/waggle-crawler/waggle/learn/tagger"
)

// printedRewards says what each state of a field is worth, [S], as printed: for
// each position of a training sequence, backwards,
//
//	R_n(y) = [y = Goal]
//	R_i(y) = Σ_y' e^{W·f(y',y,x,i+1)} R_{i+1}(y') / Σ_y' e^{W·f(y',y,x,i+1)}
//
// then over the positions of a sequence, the last weighing most, and over
// sequences
//
//	R^x(y) = Σ_k γ^k R_{n−k}(y) / Σ_k γ^k        R(y) = mean of R^x(y)
//
// It normalises locally over a field trained globally, knows nothing of how a
// sequence ended, and weighs late positions rather than short ways:
// discountedRewards is what was meant.
//
// With states of pages and of links, a state counts at the positions where it
// can be, of which the print says nothing: both sums over k leave the others
// out, and sequences without such a position are left out of the mean.
//
// Source: Vydiswaran & Sarawagi 2005, equations 3 to 5 (P5, P6).
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

// discountedRewards is vstd: what a state of pages is worth by how far it is
// from the goal, [P],
//
//	V(Goal) = 1      V(y) = γ Σ_y' P(y'|y) V(y')
//
// with P the shares in which states followed one another along the training
// paths, where a path that ends elsewhere than in Goal leads to nothing. A link
// is worth as much as the page it is taken for.
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
	// Every round is nearer by γ, or by the share of paths that end; without
	// either a state leads round in a circle and is worth what it was, nothing.
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

// onward is how often paths went on from a page of each state, [P]:
//
//	(times it was followed + 1) / (times + 2)
//
// A field over whole paths does not know that they end: of the arcs from a goal
// or a wrong turn it has seen none, and so holds them all for equally likely.
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
