package crawl

import (
	"context"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Rescore is the priority of a waiting candidate under the present model.
func (s *Step) Rescore(c *web.Candidate) float64 {
	if c.Kind == web.LinkAgain {
		return s.rankKnown(c)
	}
	if c.Priority >= SeedPriority {
		return c.Priority
	}
	if c.Kind == web.LinkRedirect && s.lists.isEntry(c) {
		return s.Rerank(c) // just before the other entries
	}
	return s.rank(c, s.score(c))
}

// rank is the priority of a link, given that of its scorer.
func (s *Step) rank(c *web.Candidate, priority float64) float64 {
	p := s.traps.rank(c.URL, s.leads.rank(c.URL, priority))
	if boosted := s.steering.rank(c, p); boosted != p {
		return boosted
	}
	return s.lists.rank(c, p)
}

// Rerank is Rescore where the scorer's own priority of a candidate stays as it is.
func (s *Step) Rerank(c *web.Candidate) float64 {
	if c.Kind == web.LinkAgain {
		return s.rankKnown(c)
	}
	if c.Priority >= SeedPriority {
		return c.Priority
	}
	p := c.Priority
	if p < -lastPlace/2 {
		p += lastPlace
	}
	if p < -listPlace/2 {
		p += listPlace
	}
	if p > firstPlace/2 {
		p -= firstPlace
	}
	return s.rank(c, p)
}

// Sweep tells whether waiting candidates are to be scored anew now, and from
// which place in the frontier on. Where the scorer asks for it while that goes
// on, it goes on to the end before it begins again: candidates at the end of a large
// frontier have their turn too.
//
// A batch of pages changes the less of a model the more it has learnt, and the frontier
// grows with the crawl. So a long crawl begins anew once every hundredth of the pages so
// far, and what that costs a page does not grow. Where more than manyWaiting candidates wait, it
// begins anew at the soonest after a page for each 64 of them: else a page of a crawl in
// which ten links wait for each page fetched would pay for a thousand, which is more than all
// else that it takes. docs/results/soak.md has what they cost. waiting tells how many candidates wait.
func (s *Step) Sweep(waiting func() int) (from []byte, due bool) {
	n := &s.count
	if s.scorer.Stale() {
		n.SweepDue = true
	}
	if n.SweepDue && !n.Sweeping {
		gap := n.Pages / 100
		if w := waiting(); w > manyWaiting {
			gap = max(gap, w/64)
		}
		if gap < 25 || n.Pages >= n.SweepBegan+gap {
			n.Sweeping, n.SweepDue, n.SweepBegan = true, false, n.Pages
		}
	}
	return n.Sweep, n.Sweeping
}

// manyWaiting is more than wait in any lab of docs/results: it changes none of their crawls.
const manyWaiting = 100_000

// Swept tells how far that has come, nil for through.
func (s *Step) Swept(next []byte) {
	n := &s.count
	n.Sweeping, n.Sweep = next != nil, next
	if next == nil && n.SweepAgain {
		n.Sweeping, n.SweepAgain, n.SweepDue = true, false, false
	}
}

// sweepSlice is how many waiting candidates are scored anew after an arrival
// while that is due. Nothing is leased meanwhile.
const sweepSlice = 2048

// SteadyScorer is implemented by scorers whose Score changes nothing: several goroutines may call
// it at a time, while nothing else of the scorer is called.
type SteadyScorer interface{ Steady() }

// prescorer is implemented by frontiers that score on all cores what the next Rescore will ask for,
// from Prescore on until join returns.
type prescorer interface {
	Prescore(n int, score func(*web.Candidate) float64) (join func())
}

// prescore begins to score what the next slice of a sweep asks for.
func (d *driver) prescore() (join func()) {
	f, ok := d.Frontier.(prescorer)
	if _, steady := d.Scorer.(SteadyScorer); !ok || !steady {
		return func() {}
	}
	return f.Prescore(sweepSlice, d.sweepScore())
}

// sweepScore is how a sweep scores anew.
func (d *driver) sweepScore() func(*web.Candidate) float64 {
	if len(d.step.lists.of) > 0 && !d.Scorer.Rescores() {
		return d.step.Rerank
	}
	return d.step.Rescore
}

// sweep scores a slice of what waits anew, if that is due. It follows every
// arrival and, as a crawl may have died right between the two, every beginning:
// what is leased next is then the same. What is leased counts as waiting: it waits again
// after a restart. prescored tells that the slice was scored by now.
func (d *driver) sweep(ctx context.Context, now time.Time, prescored bool) error {
	from, due := d.step.Sweep(func() int {
		s := d.Frontier.Stats(now)
		return s.Queued + s.Leased
	})
	if !due {
		return nil
	}
	if !prescored {
		d.prescore()()
	}
	next, err := d.Frontier.Rescore(ctx, from, sweepSlice, d.sweepScore())
	if err != nil {
		return ofFrontier(err)
	}
	d.step.Swept(next)
	return nil
}
