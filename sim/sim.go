// Package sim runs the crawler on a recorded web in virtual time. Nothing
// about the crawl is imitated: links are admitted, leased, examined and judged
// by package crawl, as on the network. What is replaced is the network, by a
// Record, and the clock, by one that jumps from event to event.
//
// # Time
//
// A run is driven by events on one goroutine, so it is a function of its
// inputs for any number of workers:
//
//	        ┌── lease: as many as there are idle workers ──┐
//	        ▼                                              │
//	request: robots.txt if the origin is new, delay, page  │ now
//	        │  arrival = now + latency of each             │
//	        ▼                                              │
//	earliest arrival, or the moment a host is due ─────────┘
//
// The latency of an address is drawn from the seed and the address alone: two
// strategies that fetch the same page wait equally long for it.
//
// # What a strategy can know
//
// The record is in the hands of the run. Judge and scorer are given pages
// that a lease has paid for, whole and with every link that was on them,
// whether or not its target is recorded. So neither can see an unfetched page,
// and membership shows only in what the mode says: see Outside.
package sim

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Record is a web that can be fetched from at no cost. It is safe for
// concurrent use, as several runs may share it.
type Record interface {
	// Fetch returns the recorded response, with the status 404 for an address
	// that is not in the record.
	Fetch(ctx context.Context, u web.URL) (*web.Response, error)
	// Has tells whether an address is in the record.
	Has(u web.URL) bool
}

// Outside says what becomes of links that lead outside the record.
type Outside uint8

const (
	// Drop leaves them out of the frontier, at no cost. Results are about
	// the record as a closed world.
	Drop Outside = iota
	// Fail has them fetched: each costs a page of the budget and fails as a
	// dead link does, with event.Failed of status 404.
	Fail
	// Bounds runs as Fail does. Each fetch outside the record, for all that
	// is known, might have been a hit: without them the hits are the lower
	// bound of what a longer recording could show, and with them the upper.
	Bounds
)

// String is the mode's name.
func (o Outside) String() string {
	return [...]string{"drop", "fail", "bounds"}[o]
}

// ParseOutside reads the name of a mode.
func ParseOutside(s string) (Outside, error) {
	for o := Drop; o <= Bounds; o++ {
		if s == o.String() {
			return o, nil
		}
	}
	return 0, fmt.Errorf("links outside the record: there is no mode %q; the modes are drop, fail, bounds", s)
}

// Options says how a crawl is simulated. The zero Options are one worker on a
// network without delay, with links outside the record dropped.
type Options struct {
	Workers int // leases at a time; 0 = 1
	Latency Latency
	Seed    uint64 // of latencies
	Outside Outside
	// IgnoreRobots leaves robots.txt unread.
	IgnoreRobots bool
	// Asked is told of each request for robots.txt when it is made, before the
	// event of the page that made it needful; nil tells nobody.
	Asked func()
	// Types are the media types a document may have, lower case; others are
	// refused unread, as on the network. nil = HTML and XHTML; "*/*" = any.
	Types []string
	// Start is the moment the clock begins at; zero = 2000-01-01 UTC.
	Start time.Time
}

// Result is what became of a run, beside its events.
type Result struct {
	How      event.Ending
	Elapsed  time.Duration // of virtual time
	Requests int           // all: pages, redirects, errors, robots.txt
	Pages    int           // fetched, copies included
	Missed   int           // fetches outside the record; with Pages, the budget spent
	// Links counts the addresses that were queued, or would have been if they
	// were in the record; Outside those of them that are not.
	Links, Outside int
}

// OutsideRate is the share of what the strategy wanted that the record does
// not hold, in [0,1]: of the fetches where they were paid for, of the links
// where they were dropped.
func (r *Result) OutsideRate() float64 {
	part, whole := r.Missed, r.Pages+r.Missed
	if part == 0 {
		part, whole = r.Outside, r.Links
	}
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Run simulates a crawl until its budget is spent, its frontier is empty or
// ctx ends (Stopped, and no error). c is as for a crawl and is not changed, but
// for its stages, which must be new: Fetcher, Clock and Workers are replaced,
// Archive is left out. Where record gives parsed pages, it is the Parser too.
// The error is that of reading the record, of the judge or of the frontier.
func Run(ctx context.Context, c *crawl.Crawl, record Record, o Options) (Result, error) {
	if o.Outside > Bounds {
		return Result{}, fmt.Errorf("sim: no mode %d for links outside the record", o.Outside)
	}
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Workers < 0 {
		return Result{}, fmt.Errorf("sim: %d workers: give 1 or more, or 0 for 1", o.Workers)
	}
	if err := o.Latency.validate(); err != nil {
		return Result{}, err
	}
	if o.Start.IsZero() {
		o.Start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	r := &run{opt: o, record: record, clock: &virtual{now: o.Start}}
	r.network = newNetwork(record, o, c.Policy.Delay, r.clock)
	own := *c
	own.Clock, own.Workers, own.Fetcher, own.Archive = r.clock, o.Workers, nil, nil
	own.Listen = r.listen(c.Listen)
	own.Frontier = &border{Frontier: c.Frontier, run: r}
	r.crawl = &own
	if err := r.run(ctx); err != nil {
		return Result{}, err
	}
	return r.result, nil
}

// run is a running simulation.
type run struct {
	opt     Options
	crawl   *crawl.Crawl
	record  Record
	network *network
	clock   *virtual
	flights flights
	begun   int // flights, ever
	result  Result
}

func (r *run) run(ctx context.Context) error {
	course, err := r.crawl.Begin(ctx)
	if err != nil {
		return err
	}
	for {
		how, over, err := course.Ended()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			how, over = event.Stopped, true
		}
		if over {
			r.result.How = how
			r.result.Elapsed = r.clock.now.Sub(r.opt.Start)
			r.result.Requests = r.network.requests
			return course.End(how)
		}
		leases, err := course.Lease(ctx)
		if err != nil {
			return stopped(ctx, err)
		}
		for _, l := range leases {
			response, took, err := r.network.fetch(ctx, l.URL)
			var why *web.Failure
			if err != nil && !errors.As(err, &why) {
				return stopped(ctx, err)
			}
			if l.Patience > 0 && took >= l.Patience && err == nil {
				response, err, took = nil, crawl.Late(&l), l.Patience
			}
			heap.Push(&r.flights, flight{l, response, err, r.clock.now.Add(took), r.begun})
			r.begun++
		}
		due, waits := course.NextDue()
		switch {
		case len(r.flights) > 0 && (!waits || !due.Before(r.flights[0].lands)):
			f := heap.Pop(&r.flights).(flight)
			r.clock.advance(f.lands)
			if err := r.land(ctx, course, f); err != nil {
				return stopped(ctx, err)
			}
		case waits:
			r.clock.advance(due)
		case len(leases) == 0:
			if _, over, err := course.Ended(); err != nil || over {
				continue // with what Lease took in
			}
			return errors.New("sim: the frontier holds links and gives none out")
		}
	}
}

// stopped is no error when a run was ended from outside: the loop sees that.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// land takes in what a request brought.
func (r *run) land(ctx context.Context, course *crawl.Course, f flight) error {
	a, err := r.crawl.Examine(ctx, f.Lease, f.response, f.err)
	if err != nil {
		return err
	}
	if r.opt.Outside != Drop && f.Kind != web.LinkProbe && (a.Reason == web.ReasonStatus || a.Reason == web.ReasonRecord) && !r.record.Has(f.URL) {
		r.result.Missed++
		course.Charge(1)
	}
	return course.Arrive(ctx, a)
}

// listen counts pages, and passes events on.
func (r *run) listen(next func(event.Event)) func(event.Event) {
	return func(e event.Event) {
		if _, ok := e.(event.Fetched); ok {
			r.result.Pages++
		}
		if next != nil {
			next(e)
		}
	}
}

// flight is a lease on its way, with what the request will have brought.
type flight struct {
	web.Lease
	response *web.Response
	err      error
	lands    time.Time
	turn     int // in which it began: of equal moments the first lands first
}

// flights is a heap, the next to land first.
type flights []flight

func (f flights) Len() int { return len(f) }
func (f flights) Less(i, j int) bool {
	if !f[i].lands.Equal(f[j].lands) {
		return f[i].lands.Before(f[j].lands)
	}
	return f[i].turn < f[j].turn
}
func (f flights) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *flights) Push(x any)   { *f = append(*f, x.(flight)) }
func (f *flights) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	(*f)[last] = flight{}
	*f = (*f)[:last]
	return x
}

// virtual is a clock that stands until it is advanced. Nobody waits by it.
type virtual struct{ now time.Time }

func (v *virtual) Now() time.Time { return v.now }

// NewTimer returns a timer that never fires: in a simulation, time passes
// between events and not while somebody waits.
func (v *virtual) NewTimer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

func (v *virtual) advance(to time.Time) {
	if to.After(v.now) {
		v.now = to
	}
}

// border stands before the frontier and keeps count of what lies outside the
// record. In the mode Drop it lets no such link in: the link is marked done
// instead, so that it is met once.
type border struct {
	crawl.Frontier
	run *run
}

// Commit applies a turn without what the mode keeps out.
func (b *border) Commit(ctx context.Context, t web.Turn) (web.Receipt, error) {
	if len(t.Add) == 0 {
		return b.Frontier.Commit(ctx, t)
	}
	res, drop := &b.run.result, b.run.opt.Outside == Drop
	inside := t.Add
	var at []int // in t.Add, of inside; nil while nothing is left out
	if drop {
		inside = make([]web.Candidate, 0, len(t.Add))
		at = make([]int, 0, len(t.Add))
	}
	done := t.Done
	outside := make([]bool, len(t.Add))
	for i := range t.Add {
		u := t.Add[i].URL
		outside[i] = !b.run.record.Has(u)
		switch {
		case !drop:
		case outside[i]:
			res.Links++
			res.Outside++
			done = append(done[:len(done):len(done)], u)
		default:
			inside = append(inside, t.Add[i])
			at = append(at, i)
		}
	}
	all := t.Add
	t.Add, t.Done = inside, done
	receipt, err := b.Frontier.Commit(ctx, t)
	if err != nil {
		return receipt, err
	}
	if drop {
		added := make([]web.Admission, len(all)) // Known for those left out
		for j, i := range at {
			added[i] = receipt.Added[j]
		}
		receipt.Added = added
	}
	for i, a := range receipt.Added {
		if a == web.Queued {
			res.Links++
			if outside[i] {
				res.Outside++
			}
		}
	}
	return receipt, nil
}
