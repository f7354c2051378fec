package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// Latency is how long a request takes: log-normal, with the given median, and
// ln(latency) having the standard deviation Spread. Latencies of real servers
// are close to that. The zero Latency is none.
type Latency struct {
	Median time.Duration // ≥ 0
	Spread float64       // 0 = always the median; 1 means that one request in six takes e times as long
}

func (l Latency) validate() error {
	if l.Median < 0 || !(l.Spread >= 0 && l.Spread <= 5) {
		return fmt.Errorf("sim: latency with median %v and spread %v: want a median of at least 0 and a spread in [0,5]", l.Median, l.Spread)
	}
	return nil
}

// of is the latency of an address: a function of seed and address, in whole
// microseconds.
func (l Latency) of(seed uint64, u web.URL) time.Duration {
	if l.Median == 0 {
		return 0
	}
	if l.Spread == 0 {
		return l.Median
	}
	// uniform lies in (0,1), so that the normal quantile of it is finite.
	uniform := (float64(xxh3.HashStringSeed(u.String(), seed)>>12) + 0.5) / (1 << 52)
	normal := math.Sqrt2 * math.Erfinv(2*uniform-1)
	d := float64(l.Median) * math.Exp(l.Spread*normal)
	return time.Duration(min(d, float64(time.Hour))).Round(time.Microsecond)
}

// network answers from a record as the network would: through the robots.txt and
// the gate of a live fetcher, which go by a clock that runs ahead of the
// simulation's for the length of one request.
//
//	Robots ─► Gate ─► transport: latency, media types ─► record
//	   └────────┴─────────┴── clock of the request
type network struct {
	fetcher  fetch.Fetcher
	clock    *requestClock
	requests int
}

func newNetwork(record Record, o Options, delay time.Duration, clock *virtualClock) *network {
	n := &network{clock: &requestClock{virtualClock: clock}}
	types := fetch.Types(o.Types)
	if types == nil {
		types = fetch.DefaultTypes()
	}
	gate := fetch.NewGate(fetch.GateOptions{Delay: delay, Clock: n.clock})
	n.fetcher = gate.Before(&transport{n, record, o, types, nil})
	if o.IgnoreRobots {
		return n
	}
	n.fetcher = fetch.NewRobots(fetch.RobotsOptions{
		Pages: n.fetcher, Files: gate.Before(&transport{n, record, o, fetch.Types{"*/*"}, o.Asked}),
		Gate: gate, CrawlDelayCap: crawlDelayCap, Clock: n.clock,
	})
	return n
}

// crawlDelayCap bounds a Crawl-delay, as it does on the network by default.
const crawlDelayCap = time.Minute

// fetch is what a request for u brings that begins now, and how long it takes,
// with all that comes before it: robots.txt, the delay behind that, and what else
// politeness asks to wait for. The error is a *web.Failure, or that of reading
// the record.
func (n *network) fetch(ctx context.Context, u web.URL) (r *web.Response, took time.Duration, err error) {
	n.clock.by = 0
	r, err = n.fetcher.Fetch(ctx, u)
	return r, n.clock.by, err
}

// requestClock is the clock of one request. Its timers fire at once, and move it ahead.
type requestClock struct {
	*virtualClock
	by time.Duration // that the request has taken
}

func (a *requestClock) Now() time.Time { return a.virtualClock.now.Add(a.by) }

func (a *requestClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	a.by += max(d, 0)
	fire := make(chan time.Time, 1)
	fire <- a.Now()
	return fire, func() {}
}

// transport reads from the record, which takes as long as a request would.
type transport struct {
	network *network
	record  Record
	opt     Options
	types   fetch.Types
	asked   func() // is told of each request; nil tells nobody
}

func (t *transport) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	t.network.requests++
	if t.asked != nil {
		t.asked()
	}
	began := t.network.clock.Now()
	took := t.opt.Latency.of(t.opt.Seed, u)
	t.network.clock.by += took
	recorded, err := t.record.Fetch(ctx, u)
	var f *web.Failure
	switch {
	case errors.As(err, &f):
		own := *f
		return nil, &own
	case err != nil:
		return nil, fmt.Errorf("fetching %s: %w", u, err)
	}
	if f := t.types.Refuse(recorded, recorded.Body, int64(len(recorded.Raw))); f != nil {
		return nil, f
	}
	r := *recorded
	r.Started, r.Took = began, took
	// A moment without the Date of the recording says nothing.
	r.RetryAfter = fetch.RetryAfter(r.Header, time.Time{})
	return &r, nil
}

// Sitemaps tells which sitemaps the robots.txt of the origin of a page names in a record, as
// written there: none of an origin that the page may not be fetched from. It is not for
// concurrent use.
func Sitemaps(record Record) func(ctx context.Context, page web.URL) ([]string, error) {
	n := newNetwork(record, Options{Types: []string{"*/*"}}, 0, &virtualClock{})
	return func(ctx context.Context, page web.URL) ([]string, error) {
		r, _, err := n.fetch(ctx, page)
		return fetch.Sitemaps(r, err)
	}
}
