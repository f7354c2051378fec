package crawl

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Control is for those who watch a running crawl: they can pause it, and look at
// its hosts. The zero Control is ready for use, and a nil one pauses nothing. Its
// methods are safe for concurrent use.
//
// A crawl that is paused gives out no link. What is being fetched comes in, and the
// time does not count against the budget.
type Control struct {
	paused atomic.Bool
	watch  atomic.Int64 // hosts to tell of
	hosts  atomic.Pointer[[]web.HostQueue]

	activity atomic.Pointer[web.Activity]
}

// Pause pauses the crawl, or lets it go on.
func (c *Control) Pause(on bool) { c.paused.Store(on) }

// Paused tells whether the crawl is paused.
func (c *Control) Paused() bool { return c != nil && c.paused.Load() }

// Watch asks for the n hosts for which most links wait, to be told twice a second
// from then on; 0 ends that.
func (c *Control) Watch(n int) {
	if c.watch.Store(int64(n)); n == 0 {
		c.hosts.Store(nil)
	}
}

// Hosts are those asked for, as they were told last; nil before the first time,
// and where a frontier does not tell of its hosts.
func (c *Control) Hosts() []web.HostQueue {
	if p := c.hosts.Load(); p != nil {
		return *p
	}
	return nil
}

// lister is a Frontier that tells of its hosts.
type lister interface {
	// Hosts are the n hosts for which most links wait.
	Hosts(n int) []web.HostQueue
}

// sharer is a Fetcher that knows which hosts share an address.
type sharer interface {
	// Sharing is the address at which a host was asked last, zero if it is not
	// known, and the number of other names that wait for it.
	Sharing(web.Host) (netip.Addr, int)
}

// update sets what Hosts returns, if somebody watches.
func (c *Control) update(f Frontier, by Fetcher) {
	if c == nil {
		return
	}
	l, ok := f.(lister)
	if n := int(c.watch.Load()); ok && n > 0 {
		hosts := l.Hosts(n)
		if s, ok := by.(sharer); ok {
			for i := range hosts {
				hosts[i].Address, hosts[i].Sharing = s.Sharing(hosts[i].Host)
			}
		}
		c.hosts.Store(&hosts)
	}
}

// stoppedAfter is how long after the end of a wait the driver goes on where the process was stopped, and is
// not only slow: it waits for tickEvery at most.
const stoppedAfter = 5 * time.Minute

// noteStop takes in that the driver goes on after it waited, until due at the latest. A process that was stopped
// meanwhile (by a shell, or with its container) stood still as one that is paused does. A stop
// while the driver works is not told from work.
func (d *driver) noteStop(due time.Time) {
	now := d.Clock.Now()
	if late := now.Sub(due); late > stoppedAfter {
		d.last = d.last.Add(late)
		d.still += late
		d.step.net.since = earlier(d.step.net.since.Add(late), now)
	}
}

// countTime counts the time since it was last called against the budget, unless the crawl stood
// still: it was paused or stopped, or the network down. Once it goes on, that time no longer counts against
// hosts that fail either: none of them was tried. All hosts are looked at for that, so less than a
// hundredth of what they are given is left to add up.
func (d *driver) countTime(ctx context.Context, now time.Time) error {
	passed, paused := max(0, now.Sub(d.last)), d.Control.Paused()
	since, outage := d.step.Outage()
	switch {
	case outage && !d.outage:
		counted := max(0, d.last.Sub(since)) // of the outage, before it was known
		d.step.Spend(-counted)
		d.still += counted + passed
	case outage, paused:
		d.still += passed
	default:
		d.step.Spend(passed)
	}
	if d.outage = outage; paused {
		d.step.net.since = earlier(d.step.net.since.Add(passed), now)
	}
	d.last = now
	if outage || paused || d.still < d.step.policy.GiveUp/100 || d.still == 0 {
		return nil
	}
	uncount := func(h *web.HostState) { postpone(h, d.still, now) }
	if err := d.Frontier.Revise(ctx, uncount); err != nil {
		return ofFrontier(err)
	}
	for i := range d.step.net.aside {
		uncount(&d.step.net.aside[i].Lease.Host)
	}
	d.still = 0
	return nil
}
