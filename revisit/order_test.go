package revisit

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
)

// What is relevant and changes comes sooner: on a made collection of 600 pages in six sections,
// of which some change weekly and others hardly ever, rounds a day apart with a budget for 75
// known pages find more relevant pages changed than round-robin does, once they have learnt
// which those are. docs/guide/again.md tells the figures.
func TestOrderFindsChanges(t *testing.T) {
	const rounds, learning, budget = 120, 30, 94 // a fifth of which is for new pages
	byChoice := func(known []collection.Known, now time.Time) []int {
		Choose(known, now, budget)
		var due []int
		for i := range known {
			if known[i].Due > 0 {
				due = append(due, i)
			}
		}
		return due
	}
	inTurn := func(known []collection.Known, _ time.Time) []int {
		order := make([]int, len(known))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(known[a].Last.Compare(known[b].Last), cmp.Compare(a, b)) })
		return order[:budget-(budget+newShare-1)/newShare]
	}
	relevantInTurn := func(known []collection.Known, _ time.Time) []int {
		order := make([]int, len(known))
		for i := range order {
			order[i] = i
		}
		relevant := func(i int) int {
			if known[i].Relevant {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(relevant(a), relevant(b)), known[a].Last.Compare(known[b].Last), cmp.Compare(a, b))
		})
		return order[:budget-(budget+newShare-1)/newShare]
	}
	var chosen, turned, relevant int
	for seed := range uint64(5) {
		a, fetched := changesFound(seed, rounds, learning, byChoice)
		b, fetchedInTurn := changesFound(seed, rounds, learning, inTurn)
		if fetched != fetchedInTurn {
			t.Fatalf("%d fetches, %d in turn", fetched, fetchedInTurn)
		}
		c, _ := changesFound(seed, rounds, learning, relevantInTurn)
		t.Logf("seed %d: of %d fetches %d found a relevant page changed, in turn %d, relevant ones in turn %d", seed, fetched, a, b, c)
		chosen, turned, relevant = chosen+a, turned+b, relevant+c
	}
	if chosen < relevant {
		t.Errorf("%d changes found, of relevant pages in turn %d", chosen, relevant)
	}
	if ratio := float64(chosen) / float64(turned); ratio < 1.5 {
		t.Errorf("%d changes found, in turn %d: %.2f times as many", chosen, turned, ratio)
	}
}

// changesFound is how many fetches after the first learning rounds found a relevant page changed,
// of how many.
func changesFound(seed uint64, rounds, learning int, choose func([]collection.Known, time.Time) []int) (found, fetched int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	begun := now
	known, rates := sections(rng, begun)
	changed := make([]bool, len(known)) // since it was seen last
	for day := 1; day <= rounds; day++ {
		for i, rate := range rates {
			if rng.Float64() < -math.Expm1(-rate) {
				changed[i] = true
			}
		}
		today := begun.AddDate(0, 0, day)
		for _, i := range choose(known, today) {
			k := &known[i]
			k.Visits++
			if changed[i] {
				k.Changes++
			}
			if day > learning {
				fetched++
				if changed[i] && k.Relevant {
					found++
				}
			}
			k.Last, changed[i] = today, false
		}
	}
	return found, fetched
}

// sections are 600 pages of six sections, and how often each page changes in a day.
func sections(rng *rand.Rand, begun time.Time) (known []collection.Known, rates []float64) {
	for i := range 600 {
		section := i % 6
		relevance := rng.Float64() * .4
		if rng.IntN(4) == 0 {
			relevance = .6 + rng.Float64()*.4
		}
		known = append(known, collection.Known{
			URL: at(fmt.Sprintf("https://a.example/s%d/%d", section, i)), Relevance: relevance, Relevant: relevance >= .5, First: begun, Last: begun,
		})
		// Sections differ by up to thirty times, pages within one by up to ten times.
		rates = append(rates, 1./150*math.Pow(30, float64(section)/5)*math.Pow(10, rng.Float64()-.5))
	}
	return known, rates
}
