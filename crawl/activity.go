package crawl

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// fetches are those that are under way, with what each does. Workers and the driver use it.
type fetches struct {
	clock Clock
	mu    sync.Mutex
	all   map[*ongoingFetch]struct{}
}

// ongoingFetch is one of them: from the moment a worker has a lease until the driver has what
// came of it.
type ongoingFetch struct {
	of *fetches
	web.Fetching
}

// begin has a fetch begin; nil watches none.
func (f *fetches) begin(h web.Host) *ongoingFetch {
	if f == nil {
		return nil
	}
	x := &ongoingFetch{f, web.Fetching{Host: h, Stage: web.StageTurn, Since: f.clock.Now()}}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[x] = struct{}{}
	return x
}

// enter tells what it does from now on.
func (x *ongoingFetch) enter(s web.Stage) {
	if x == nil {
		return
	}
	now := x.of.clock.Now()
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	if x.Stage != s {
		x.Stage, x.Since = s, now
	}
}

func (x *ongoingFetch) end() {
	if x == nil {
		return
	}
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	delete(x.of.all, x)
}

// fill sets Stages and Longest: how many fetches are at each stage, and those that are there
// the longest.
func (f *fetches) fill(now time.Time, a *web.Activity) {
	a.Stages = map[web.Stage]int{}
	f.mu.Lock()
	defer f.mu.Unlock()
	a.Longest = make([]web.Fetching, 0, len(f.all))
	for x := range f.all {
		one := x.Fetching
		if one.Stage == web.StageRequest && now.Sub(one.Since) >= slowAfter {
			one.Stage = web.StageSlow
		}
		a.Stages[one.Stage]++
		a.Longest = append(a.Longest, one)
	}
	slices.SortFunc(a.Longest, func(x, y web.Fetching) int {
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Host, y.Host))
	})
	a.Longest = a.Longest[:min(len(a.Longest), web.MaxLongest)]
}

// tellActivity tells those who watch what the crawl does.
func (d *driver) tellActivity(now time.Time) {
	if d.fetches == nil {
		return
	}
	a := d.activity(now)
	if d.Active != nil {
		d.Active(a)
	}
	if d.Control != nil {
		d.Control.activity.Store(&a)
	}
}

// activity is what the crawl does now.
func (d *driver) activity(now time.Time) web.Activity {
	a := web.Activity{At: now, Fetches: d.Workers}
	d.fetches.fill(now, &a)
	if past := now.Sub(d.reported); past > 0 {
		a.Writing = min(1, float64(d.wrote)/float64(past))
	}
	d.reported, d.wrote = now, 0
	if at, ok := d.nextDue(); ok && at.After(now) {
		a.Due = at
	}
	if d.inFlight >= d.Workers {
		return a
	}
	s := d.Frontier.Stats(now)
	_, outage := d.step.Outage()
	switch {
	case d.Control.Paused():
		a.Idle, a.Due = web.IdlePaused, time.Time{}
	case outage:
		a.Idle = web.IdleNetwork
	case d.taking:
		a.Idle = web.IdleActs
	case d.step.Room()-d.inFlight-d.others.InFlight <= 0:
		a.Idle = web.IdleBudget
	case s.Queued == 0:
		a.Idle = web.IdleEmpty
	case d.waits:
		a.Idle = web.IdleBetter
	case s.Ready == 0 && s.Waiting > 0:
		a.Idle = web.IdleDue
	default:
		a.Idle = web.IdleBusy
	}
	return a
}

// timed runs what writes to the disk, or waits for that, and counts the time.
func (d *driver) timed(write func() error) error {
	if d.fetches == nil {
		return write()
	}
	began := d.Clock.Now()
	defer func() { d.wrote += d.Clock.Now().Sub(began) }()
	return write()
}

// Activity is what the crawl does, as it told last: twice a second. nil before the first
// time.
func (c *Control) Activity() *web.Activity { return c.activity.Load() }
