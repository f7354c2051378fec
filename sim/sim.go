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
	"slices"
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

// Run simulates a crawl until its budget is spent, its frontier is empty or
// ctx ends (Stopped, and no error). c is as for a crawl and is not changed, but
// for its stages, which must be new: Fetcher, Clock and Workers are replaced,
// Archive is left out. Where record gives parsed pages, it is the Parser too.
// The error is that of reading the record, of the judge or of the frontier.
func Run(ctx context.Context, c *crawl.Crawl, record Record, o Options) (Result, error) {
	o, err := o.complete()
	if err != nil {
		return Result{}, err
	}
	w := newWorld(record, o)
	r := w.add(c)
	if err := w.run(ctx); err != nil {
		return Result{}, err
	}
	return r.result, nil
}

// complete checks options, and sets their defaults.
func (o Options) complete() (Options, error) {
	if o.Outside > Bounds {
		return o, fmt.Errorf("sim: no mode %d for links outside the record", o.Outside)
	}
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Workers < 0 {
		return o, fmt.Errorf("sim: %d workers: give 1 or more, or 0 for 1", o.Workers)
	}
	if err := o.Latency.validate(); err != nil {
		return o, err
	}
	if o.Start.IsZero() {
		o.Start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return o, nil
}

// run is a worker of a running simulation, which has one or several.
type run struct {
	*world
	crawl    *crawl.Crawl
	course   *crawl.Course
	network  *network
	peer     *peer // what it sees of the others; nil without any
	inFlight int
	due      time.Time // when it may lease something; if waits
	waits    bool
	woken    bool // something happened since act was called last
	over     bool
	result   Result
}

// add adds a worker.
func (w *world) add(c *crawl.Crawl) *run {
	r := &run{world: w, woken: true}
	r.network = newNetwork(w.record, w.opt, c.Policy.Delay, w.clock)
	own := *c
	own.Clock, own.Workers, own.Fetcher, own.Archive = w.clock, w.opt.Workers, nil, nil
	own.Listen = r.listen(c.Listen)
	ranking, _ := c.Frontier.(crawl.Ranking)
	own.Frontier = &boundedFrontier{c.Frontier, ranking, r}
	r.crawl = &own
	w.runs = append(w.runs, r)
	return r
}

// world is what the workers share: the clock, and what is to happen.
type world struct {
	opt       Options
	record    Record
	clock     *virtualClock
	runs      []*run
	queue     actionQueue
	scheduled int // actions, ever
}

func newWorld(record Record, o Options) *world {
	return &world{opt: o, record: record, clock: &virtualClock{now: o.Start}}
}

// at schedules an action.
func (w *world) at(t time.Time, do func(context.Context) error) {
	heap.Push(&w.queue, scheduledAction{t, w.scheduled, do})
	w.scheduled++
}

// run runs all workers to their end.
func (w *world) run(ctx context.Context) error {
	for _, r := range w.runs {
		var err error
		if r.course, err = r.crawl.Begin(ctx); err != nil {
			return err
		}
	}
	for {
		all := true
		for _, r := range w.runs {
			if err := r.act(ctx); err != nil {
				return stopped(ctx, err)
			}
			all = all && r.over
		}
		if all {
			return nil
		}
		var next *run // that is due first
		for _, r := range w.runs {
			if r.waits && !r.over && (next == nil || r.due.Before(next.due)) {
				next = r
			}
		}
		switch {
		case len(w.queue) > 0 && (next == nil || !next.due.Before(w.queue[0].at)):
			h := heap.Pop(&w.queue).(scheduledAction)
			w.clock.advance(h.at)
			if err := h.do(ctx); err != nil {
				return stopped(ctx, err)
			}
		case next != nil:
			w.clock.advance(next.due)
			next.woken = true
		default:
			again, err := w.last(ctx)
			if err != nil {
				return stopped(ctx, err)
			}
			if !again {
				return errors.New("sim: the frontier holds links and gives none out")
			}
		}
	}
}

// last lets all workers act once more when nothing will happen any more: those that
// waited for others may find that they are done. again tells that one did.
func (w *world) last(ctx context.Context) (again bool, err error) {
	for _, r := range w.runs {
		was := r.over
		r.woken = true
		if err := r.act(ctx); err != nil {
			return false, err
		}
		again = again || r.over && !was || r.waits || len(w.queue) > 0
	}
	return again, nil
}

// act has a worker do what there is to do now.
func (r *run) act(ctx context.Context) error {
	if r.over || !r.woken && ctx.Err() == nil {
		return nil
	}
	r.woken = false
	how, over, err := r.course.Ended()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		how, over = event.Stopped, true
	}
	if over {
		r.over = true
		r.result.How = how
		r.result.Elapsed = r.clock.now.Sub(r.opt.Start)
		r.result.Requests = r.network.requests
		if r.peer != nil {
			r.peer.sendStanding()
		}
		return r.course.End(how)
	}
	leases, err := r.course.Lease(ctx)
	if err != nil {
		return err
	}
	for _, l := range leases {
		response, took, err := r.network.fetch(ctx, l.URL)
		var why *web.Failure
		if err != nil && !errors.As(err, &why) {
			return err
		}
		if l.Patience > 0 && took >= l.Patience && err == nil {
			response, err, took = nil, crawl.Late(&l), l.Patience
		}
		r.inFlight++
		r.at(r.clock.now.Add(took), func(ctx context.Context) error { return r.deliver(ctx, l, response, err) })
	}
	r.due, r.waits = r.course.NextDue()
	if r.peer != nil {
		r.peer.sendStanding()
	}
	return nil
}

// stopped is no error when a run was ended from outside.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// deliver gives the crawl what a request brought.
func (r *run) deliver(ctx context.Context, l web.Lease, response *web.Response, failure error) error {
	if r.over {
		return nil
	}
	r.inFlight--
	r.woken = true
	a, err := r.crawl.Examine(ctx, l, response, failure)
	if err != nil {
		return err
	}
	if r.opt.Outside != Drop && l.Kind != web.LinkProbe && (a.Reason == web.ReasonStatus || a.Reason == web.ReasonRecord) && !r.record.Has(l.URL) {
		r.result.Missed++
		r.course.Charge(1)
	}
	return r.course.Arrive(ctx, a)
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

// scheduledAction is something that is to happen at a moment, such as the arrival of a page.
type scheduledAction struct {
	at   time.Time
	turn int // of equal moments the first to be known happens first
	do   func(context.Context) error
}

// actionQueue is a heap, the next action first.
type actionQueue []scheduledAction

func (h actionQueue) Len() int { return len(h) }
func (h actionQueue) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].turn < h[j].turn
}
func (h actionQueue) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *actionQueue) Push(x any)   { *h = append(*h, x.(scheduledAction)) }
func (h *actionQueue) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = scheduledAction{}
	*h = (*h)[:last]
	return x
}

// virtualClock is a clock that stands until it is advanced. Nobody waits by it.
type virtualClock struct{ now time.Time }

func (v *virtualClock) Now() time.Time { return v.now }

// NewTimer returns a timer that never fires: in a simulation, time passes
// between events and not while somebody waits.
func (v *virtualClock) NewTimer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

func (v *virtualClock) advance(to time.Time) {
	if to.After(v.now) {
		v.now = to
	}
}

// boundedFrontier is a frontier that counts the links which lead outside the
// record. In the mode Drop it lets no such link in: the link is marked done
// instead, so that it is met once.
type boundedFrontier struct {
	crawl.Frontier
	crawl.Ranking // nil where the frontier is none
	run           *run
}

// Commit applies a turn without what the mode keeps out.
func (b *boundedFrontier) Commit(ctx context.Context, t web.Turn) (web.Receipt, error) {
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
	done := slices.Clip(t.Done)
	outside := make([]bool, len(t.Add))
	for i := range t.Add {
		u := t.Add[i].URL
		outside[i] = !b.run.record.Has(u)
		switch {
		case !drop:
		case outside[i]:
			res.Links++
			res.Outside++
			done = append(done, u)
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
