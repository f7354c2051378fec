package crawl

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Which links the driver gives to workers, what it does with what they bring, and what it waits for.

// lease takes out what idle workers may fetch within the budget.
func (d *driver) lease(ctx context.Context, now time.Time) (out []web.Lease, err error) {
	d.waits = false
	defer d.tellPeers(now, false)
	n := min(d.Workers-d.inFlight, d.step.Room()-d.inFlight-d.others.InFlight)
	if n <= 0 || d.gainLow() {
		return nil, nil
	}
	held := d.held
	d.held = true
	if d.Control.Paused() {
		return nil, nil
	}
	what, probe := d.step.net.ask(now)
	switch what {
	case giveNothing:
		return nil, nil
	case giveProbe:
		out = []web.Lease{probe}
		d.step.net.given(&probe)
	case giveLink:
		if out, err = d.leaseLinks(ctx, now, 1); err != nil {
			return nil, err
		}
		if len(out) > 0 {
			d.step.net.sent(out[0])
			break
		}
		again, ok, said := d.step.net.noLink(now)
		if ok {
			out = []web.Lease{again}
			d.step.net.given(&again)
		}
		if err := d.say(said...); err != nil {
			return nil, err
		}
	default:
		if d.held = false; held {
			d.betterUntil = now.Add(d.step.policy.WaitForBetter) // no link could bring a page meanwhile
		}
		if out, err = d.leaseLinks(ctx, now, n); err != nil {
			return nil, err
		}
	}
	for i := range out {
		out[i].Renders = d.step.count.Renders
	}
	d.inFlight += len(out)
	return out, nil
}

// leaseLinks takes at most n links out of the frontier. Those of a trap are dropped.
func (d *driver) leaseLinks(ctx context.Context, now time.Time, n int) (out []web.Lease, err error) {
	for n > 0 {
		var rescore func(*web.Candidate) float64
		switch {
		case d.Scorer.Rescores():
			rescore = d.step.Rescore
		case d.step.traps.wary > 0 || d.step.steering.lifts() || d.step.dates.behind > 0 || len(d.step.lists.behind) > 0:
			rescore = d.step.Rerank
		}
		leased, err := d.leaseBest(ctx, now, n, rescore)
		if err != nil {
			return nil, err
		}
		others := d.step.firstVisits.slow() && d.Frontier.Stats(now).Ready > 0
		good, drop := d.step.prepareLeases(now, leased, others)
		out = append(out, good...)
		if drop == nil {
			return out, nil
		}
		for _, u := range drop.Turn.Done {
			delete(d.better, u)
		}
		if err := d.settle(ctx, now, nil, *drop); err != nil {
			return nil, err
		}
		n -= len(good)
	}
	return out, nil
}

// leaseBest leases links that are among the best, by Step.among. Where those have brought too few
// pages, see noteBetter, or none will be due, it leases any. So it does for a probe, which
// asks whether anybody answers.
func (d *driver) leaseBest(ctx context.Context, now time.Time, n int, rescore func(*web.Candidate) float64) ([]web.Lease, error) {
	among := 0
	if d.step.net.state == networkUp {
		among = d.step.among(d.inFlight + d.others.InFlight)
	}
	out, err := d.Frontier.Lease(ctx, now, n, among, rescore)
	if err != nil || among == 0 {
		return out, err
	}
	for _, l := range out {
		d.better[l.URL] = true
	}
	if len(out) == n || d.Frontier.Stats(now).Ready == 0 {
		return out, nil
	}
	_, due := d.Frontier.NextDue()
	if now.Before(d.betterUntil) && (due || d.inFlight+len(out)+len(d.others.Waiting) > 0) {
		d.waits = true
		return out, nil
	}
	more, err := d.Frontier.Lease(ctx, now, n-len(out), 0, rescore)
	return append(out, more...), err
}

// noteBetter notes that better links brought pages. Each is a reason to wait for more: for as long as
// the crawl takes for worthOfBetter pages in the mean, and for all of them
// Policy.WaitForBetter from now at most. So a few good links of slow hosts do not hold up a crawl that is fast without them.
func (d *driver) noteBetter(now time.Time, pages int) {
	most := now.Add(d.step.policy.WaitForBetter)
	all := pace{d.step.count.Spent, d.step.count.Pages + d.others.Pages}
	d.betterUntil = later(d.betterUntil, now).Add(time.Duration(pages) * worthOfBetter * all.meanSince(d.heard))
	if d.betterUntil.After(most) {
		d.betterUntil = most
	}
}

// pace is how many pages of all workers came in the time that this worker spent.
type pace struct {
	spent time.Duration
	pages int
}

// meanSince is the time that a page takes in the mean. Pages that others had before this worker heard of them came in a
// time of which it knows nothing: it spent none, or was not there.
func (p pace) meanSince(heard pace) time.Duration {
	return (p.spent - heard.spent) / time.Duration(max(1, p.pages-heard.pages))
}

// worthOfBetter is for how many pages' time one of a better link is waited for.
const worthOfBetter = 32

// prepareLeases makes leases ready to be given out, but for links of a trap: it returns the
// turn that drops those, nil if there are none. others is as for prepareLease.
func (s *Step) prepareLeases(now time.Time, leased []web.Lease, others bool) (good []web.Lease, drop *Outcome) {
	var trapped []web.URL
	for i := range leased {
		l := &leased[i]
		if l.Priority < SeedPriority && l.Kind != web.LinkAgain && s.traps.fate(l.URL) == shapeTrap {
			trapped = append(trapped, l.URL)
			delete(s.leads.tried, l.URL)
			continue
		}
		s.prepareLease(now, l, others)
		good = append(good, *l)
	}
	if len(trapped) == 0 {
		return good, nil
	}
	drop = &Outcome{
		Turn:  web.Turn{Done: trapped},
		Event: event.Dropped{At: event.At{At: now}, Reason: web.ReasonTrap, Count: len(trapped), URLs: trapped},
	}
	s.store(&drop.Turn)
	return good, drop
}

// arrive takes in what a worker brought.
func (d *driver) arrive(ctx context.Context, a Arrival) error {
	now := d.Clock.Now()
	d.stuck = time.Time{}
	if err := d.judgeByNewKeywords(ctx, &a); err != nil {
		return err
	}
	if d.better[a.Lease.URL] {
		delete(d.better, a.Lease.URL)
		if a.Page != nil {
			d.noteBetter(now, 1)
			d.betterPages++
		}
	}
	ready, said := d.step.Resolve(now, a)
	if err := d.arriveAll(ctx, now, ready, said); err != nil {
		return err
	}
	if d.taking {
		return nil // the next tick takes in more
	}
	return d.takeActs(ctx, now)
}

// arriveAll takes in arrivals of which it is known what they mean.
func (d *driver) arriveAll(ctx context.Context, now time.Time, ready []Arrival, said []event.Event) error {
	if err := d.say(said...); err != nil {
		return err
	}
	for _, a := range ready {
		out, err := d.step.Arrive(now, a, d.preview(ctx))
		if err != nil {
			return err
		}
		// What is scored anew after this page is scored on other cores while it is written: nothing
		// of that changes a score.
		join, early := func() {}, d.step.count.Sweeping && !d.movesBehind()
		if early {
			join = sync.OnceFunc(d.prescore())
		}
		err = d.settleBeside(ctx, now, a.Record, out, join)
		join() // also after an error
		if err != nil {
			return err
		}
		if err := d.muteAgain(ctx, now, out.Turn.Retry); err != nil {
			return err
		}
		if err := d.moveBehind(ctx); err != nil {
			return err
		}
		if err := d.sweep(ctx, now, early); err != nil {
			return err
		}
	}
	return nil
}

// idle resolves what was set aside when nothing else is to be done, and finds a crawl
// that hangs. again tells that something has changed.
func (d *driver) idle(ctx context.Context, now time.Time) (again bool, err error) {
	if d.inFlight > 0 || d.Control.Paused() {
		d.stuck = time.Time{}
		return false, nil
	}
	at, ok := d.nextDue()
	if ok && at.Sub(now) <= idleFor {
		return false, d.checkHang(now, at)
	}
	was := d.step.net.state
	ready, said := d.step.net.idle(now)
	if len(ready)+len(said) > 0 || d.step.net.state != was {
		d.stuck = time.Time{}
		return true, d.arriveAll(ctx, now, ready, said)
	}
	return false, d.checkHang(now, at)
}

// For how long nothing may be given out although it is due, until the crawl fails. The rounds
// are for a clock that stands still.
const (
	hangTime   = 10 * time.Second
	hangRounds = 100_000
)

// checkHang fails when nothing is under way and nothing will ever be: links wait, and the
// frontier names no moment at which it gives one out, or gives none at that moment. What other
// workers fetch may take what is left of the budget, and bring links.
func (d *driver) checkHang(now, at time.Time) error {
	s := d.Frontier.Stats(now)
	switch {
	case s.Queued+s.Leased == 0 || s.Queued == s.Held && s.Leased == 0 || at.After(now), d.others.InFlight > 0, d.gainLow():
		d.stuck = time.Time{}
	case d.stuck.IsZero():
		d.stuck, d.rounds = now, 0
	case now.Sub(d.stuck) < hangTime && d.rounds < hangRounds:
		d.rounds++
	default:
		var hosts []string
		if l, ok := d.Frontier.(lister); ok {
			for _, h := range l.Hosts(3) {
				hosts = append(hosts, fmt.Sprintf("%s (%d links, busy: %t, due %s)", h.Host, h.Queued, h.Busy, h.Due.UTC().Format(time.DateTime)))
			}
		}
		return fmt.Errorf("the crawl hangs: %d links of %d hosts wait, %d are leased and none of these is being fetched; "+
			"this is a fault of the frontier, or of what is stored of it: %s", s.Queued, s.Hosts, s.Leased, strings.Join(hosts, ", "))
	}
	return nil
}

// nextDue is the earliest moment at which something may be given out without an
// arrival before it; ok is false when there is none.
func (d *driver) nextDue() (at time.Time, ok bool) {
	if d.gainLow() {
		return time.Time{}, false
	}
	if at, ok := d.step.net.due(); ok {
		return at, true
	}
	if d.step.net.state != networkUp {
		return time.Time{}, false
	}
	at, ok = d.Frontier.NextDue()
	if d.waits && (!ok || d.betterUntil.Before(at)) {
		return d.betterUntil, true
	}
	return at, ok
}

// maxWait is how long to wait at most for an arrival: until something may be given
// out, or the next tick.
func (d *driver) maxWait(now time.Time) time.Duration {
	wait := tickEvery
	if d.renewing != nil {
		return time.Millisecond
	}
	if at, ok := d.nextDue(); ok && d.inFlight < d.Workers && !d.Control.Paused() {
		wait = min(wait, max(at.Sub(now), time.Millisecond))
	}
	return wait
}

// downUntil says when the first link that waits is due, and when the last host
// that is down will be given up.
func (d *driver) downUntil() (next, until time.Time, err error) {
	next, _ = d.Frontier.NextDue()
	err = d.Frontier.Revise(context.Background(), func(h *web.HostState) {
		if h.Down && !h.Since.IsZero() {
			until = later(until, h.Since.Add(d.step.policy.GiveUp))
		}
	})
	return next, until, err
}
