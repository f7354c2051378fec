package crawl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Changes are what a crawl that goes on is told otherwise than before. Its Seeds
// and its Policy are the new ones; Changes say what of them is to act on what
// the frontier holds already, before anything is fetched:
//
//	Links   waiting links outside the scope, or too deep, leave; what the scope
//	        left out before enters where it is found again
//	Seeds   seeds that were not fetched enter; those taken out leave
//	Shares  hosts that have had their share of pages are closed, others reopened:
//	        what was left out of these enters where it is found again
//
// The Settings are logged last, each with a turn. So a run that dies before its
// changes have taken effect leaves no word of them: the next one makes them again,
// with the same result.
type Changes struct {
	Settings             []event.Changed // when is filled in; none = no setting changed
	Links, Seeds, Shares bool
	// Lost are addresses that were fetched though the History does not tell so: those
	// that are seeds do not enter again.
	Lost []web.URL
}

// Spent is what a crawl has fetched and how long it took, over all its runs up to
// its last turn. state returns what was stored under a name.
func Spent(state func(name string) ([]byte, error)) (pages int, took time.Duration, f event.Forecast, err error) {
	b, err := state(stateCrawl)
	if err != nil || b == nil {
		return 0, 0, f, err
	}
	var p progress
	if err := json.Unmarshal(b, &p); err != nil {
		return 0, 0, f, fmt.Errorf("stored state %q cannot be read: %w", stateCrawl, err)
	}
	return p.Pages, p.Spent, p.Forecast, nil
}

// change makes the changes.
func (d *driver) change(ctx context.Context, now time.Time, p *past) error {
	c := &d.Changes
	if len(c.Settings) == 0 && !c.Links && !c.Seeds && !c.Shares {
		return nil
	}
	if c.Shares {
		if err := d.applyHostShare(ctx, now, p); err != nil {
			return err
		}
	}
	if c.Links || c.Shares {
		if err := d.forget(ctx, p.left); err != nil {
			return err
		}
	}
	if c.Links || c.Seeds {
		if err := d.recheck(ctx, now); err != nil {
			return err
		}
	}
	if c.Seeds {
		if err := d.reseed(ctx, now, p); err != nil {
			return err
		}
	}
	for _, e := range c.Settings {
		e.At = event.At{At: now}
		if err := d.settle(ctx, now, nil, d.step.note(e)); err != nil {
			return err
		}
	}
	return nil
}

// forget makes the addresses unknown that were left out before and may enter now.
// They are marked done, as links outside are refused once for all.
func (d *driver) forget(ctx context.Context, left map[web.URL]bool) error {
	within := slices.DeleteFunc(slices.Collect(maps.Keys(left)), func(u web.URL) bool {
		return d.step.policy.Scope.check(u) != "" || d.step.closed[u.Host()] != ""
	})
	slices.SortFunc(within, func(a, b web.URL) int { return strings.Compare(a.String(), b.String()) })
	for part := range slices.Chunk(within, sweepSlice) {
		if _, err := d.Frontier.Commit(ctx, web.Turn{Forget: part}); err != nil {
			return ofFrontier(err)
		}
	}
	return nil
}

// recheck has the waiting links leave that the crawl would not take in now.
func (d *driver) recheck(ctx context.Context, now time.Time) error {
	for from, again := []byte(nil), true; again; again = from != nil {
		left := map[web.Reason][]web.Candidate{}
		var err error
		from, err = d.Frontier.Rescore(ctx, from, sweepSlice, func(c *web.Candidate) float64 {
			if why := d.step.outside(c); why != "" {
				link := web.Candidate{URL: c.URL, Priority: c.Priority}
				if why == web.ReasonMuted { // it is kept, and what c carries is the frontier's
					link = *c
					link.Features, link.Memory = bytes.Clone(c.Features), bytes.Clone(c.Memory)
				}
				left[why] = append(left[why], link)
			}
			return c.Priority
		})
		if err != nil {
			return ofFrontier(err)
		}
		for _, why := range []web.Reason{web.ReasonScope, web.ReasonDepth, web.ReasonMuted} {
			if len(left[why]) == 0 {
				continue
			}
			out, err := d.step.leave(now, left[why], why)
			if err != nil {
				return err
			}
			if err := d.settle(ctx, now, nil, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// muteAgain sets those of links aside that were under way when they were muted and wait again.
func (d *driver) muteAgain(ctx context.Context, now time.Time, links []web.Candidate) error {
	muted := slices.DeleteFunc(slices.Clone(links), func(c web.Candidate) bool {
		return c.Kind == web.LinkSeed || !d.step.steering.mutes(c.URL)
	})
	if len(muted) == 0 {
		return nil
	}
	out, err := d.step.leave(now, muted, web.ReasonMuted)
	if err != nil {
		return err
	}
	return d.settle(ctx, now, nil, out)
}

// outside says why a link that waits may not stay, "" if it may.
func (s *Step) outside(c *web.Candidate) web.Reason {
	switch {
	case c.Kind == web.LinkSeed && !s.seeds[c.URL]:
		return web.ReasonScope
	case c.Depth > s.policy.MaxDepth:
		return web.ReasonDepth
	case s.steering.mutes(c.URL) && c.Kind != web.LinkSeed:
		return web.ReasonMuted
	}
	return s.policy.Scope.check(c.URL)
}

// leave makes the turn in which waiting links leave.
func (s *Step) leave(now time.Time, links []web.Candidate, why web.Reason) (Outcome, error) {
	var turn web.Turn
	for _, c := range links {
		if why == web.ReasonMuted {
			if err := s.keepMuted(&c, false); err != nil {
				return Outcome{}, err
			}
		}
		turn.Leave = append(turn.Leave, c.URL)
		delete(s.leads.tried, c.URL)
		if c.Priority >= SeedPriority {
			s.count.Seeds--
		}
	}
	s.store(&turn)
	return Outcome{Turn: turn, Event: event.Dropped{At: event.At{At: now}, Reason: why, Count: len(links), URLs: turn.Leave}}, nil
}

// note makes the turn that carries the mark of an event.
func (s *Step) note(e event.Event) Outcome {
	var turn web.Turn
	s.store(&turn)
	return Outcome{Turn: turn, Event: e}
}

// reseed has the seeds enter that were not fetched: new ones, those that were
// left out under the settings before, and those that failed.
func (d *driver) reseed(ctx context.Context, now time.Time, p *past) error {
	missing := slices.DeleteFunc(slices.Clone(d.Seeds), func(u web.URL) bool { return p.seeds[u] })
	if len(missing) == 0 {
		return nil
	}
	out, err := d.step.seed(now, missing, d.preview(ctx, missing...))
	if err != nil {
		return err
	}
	// One that failed is forgotten by the turn with which it enters, so that a run
	// that dies leaves it done or waiting.
	for _, c := range out.Turn.Add {
		out.Turn.Forget = append(out.Turn.Forget, c.URL)
	}
	if e := out.Event.(event.Seeded); len(e.Queued)+len(e.Skipped) == 0 { // they wait
		if _, err := d.Frontier.Commit(ctx, out.Turn); err != nil {
			return ofFrontier(err)
		}
		return nil
	}
	return d.settle(ctx, now, nil, out)
}

// past is what the changes need to know of earlier runs.
type past struct {
	// seeds tells which of the seeds brought a page, or a redirect that was
	// followed.
	seeds map[web.URL]bool
	pages map[web.Host]int // that a host gave
	left  map[web.URL]bool // left out by the scope or for their host's share; nil if nobody asks
}

func newPast(seeds []web.URL, c *Changes) *past {
	p := &past{seeds: make(map[web.URL]bool, len(seeds)), pages: make(map[web.Host]int)}
	for _, u := range seeds {
		p.seeds[u] = false
	}
	for _, u := range c.Lost {
		if _, is := p.seeds[u]; is {
			p.seeds[u] = true // it was fetched, though no event tells so
		}
	}
	if c.Links || c.Shares {
		p.left = make(map[web.URL]bool)
	}
	return p
}

// add takes the next event of the earlier runs.
func (p *past) add(e event.Event) {
	var u web.URL
	switch e := e.(type) {
	case event.Seeded:
		p.skipped(e.Skipped)
	case event.Fetched:
		u = e.URL
		p.pages[u.Host()]++
		p.skipped(e.Skipped)
		delete(p.left, u)
	case event.Failed:
		if e.Reason == web.ReasonRedirect || e.Reason == web.ReasonRedirectKnown {
			u = e.URL
		}
		if !e.To.IsZero() {
			p.skipped([]event.Skipped{{URL: e.To, Reason: e.Reason}})
		}
		delete(p.left, e.URL)
	}
	if _, is := p.seeds[u]; is {
		p.seeds[u] = true
	}
}

func (p *past) skipped(list []event.Skipped) {
	for _, s := range list {
		if p.left != nil && (s.Reason == web.ReasonScope || s.Reason == web.ReasonHostPages) {
			p.left[s.URL] = true
		}
	}
}

// share closes the hosts that have had their share of pages, and reopens those
// that have more to give.
func (d *driver) applyHostShare(ctx context.Context, now time.Time, p *past) error {
	drop := d.step.applyHostShare(p.pages)
	if len(drop) == 0 {
		return nil
	}
	var turn web.Turn
	turn.Drop = drop
	d.step.store(&turn)
	receipt, err := d.Frontier.Commit(ctx, turn)
	if err != nil {
		return ofFrontier(err)
	}
	return d.say(d.step.Dropped(now, turn, receipt)...)
}

// share closes and reopens hosts by the pages they gave, and returns those that
// it closed.
func (s *Step) applyHostShare(pages map[web.Host]int) (closed []web.Host) {
	most := s.policy.MaxHostPages
	for h, why := range s.closed {
		if why == web.ReasonHostPages && (most == 0 || pages[h] < most) {
			delete(s.closed, h)
		}
	}
	for h, n := range pages {
		if _, is := s.closed[h]; !is && most > 0 && n >= most {
			closed = append(closed, h)
		}
	}
	slices.Sort(closed)
	// All are numbered anew, those that stay closed first.
	stay := s.closed
	s.closed, s.count.Closed = make(map[web.Host]web.Reason, len(stay)), 0
	for _, h := range slices.Sorted(maps.Keys(stay)) {
		s.close(h, stay[h])
	}
	for _, h := range closed {
		s.close(h, web.ReasonHostPages)
	}
	return closed
}
