package fetch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// Gate is the guarantee of politeness: whoever asks, and for whatever, there is
// at most one request at a time, and a delay between the end of one and the
// start of the next,
//
//   - to a name, whatever the port and the scheme, and
//   - to the address of a server, whatever the name, where addresses are known.
//     The addresses of an IPv6 network of 64 bits count as one.
//
// A request that is sent again as the server closed its connection without an answer counts as one; see client.send.
//
// A server that answers with Retry-After is left alone for that time, by host: the
// other ports of its name go on.
// A frontier that spaces its hosts never waits here.
//
// A request passes two turnstiles, and never waits for a name while it holds an
// address, so no two requests wait for each other:
//
//	name ─► address ─► request ─► rest of the address, rest of the name
//
// Where the connection to an address fails, the next address of the name is
// tried, through its own turnstile.
//
// The life of a turnstile: unknown → busy → resting until its delay is over →
// forgotten.
type Gate struct {
	o     GateOptions
	mu    sync.Mutex
	of    map[string]*turnstile // "a.example", "@192.0.2.1" and, for a lane, "@192.0.2.1 3"
	sweep int                   // number of turnstiles at which the idle ones are next forgotten
}

// GateOptions say how a Gate spaces requests. The zero value lets one request at
// a time through to a name, without a delay.
type GateOptions struct {
	// Delay is the time between the end of a request and the start of the next
	// where Route is nil; 0 = none. Where a Route asks for more, the response
	// says so by its CrawlDelay.
	Delay time.Duration
	// Patience is how long a request waits for its turn at most. One that would
	// wait longer fails at once with web.ReasonBusy, and RetryAfter tells when it
	// may come again. 0 = as long as others are before it, and two minutes where
	// the server asked for more by Retry-After. A request whose context ends
	// before its turn can come fails in the same way.
	Patience time.Duration
	// Lanes is the number of requests at a time to one address. The names of one
	// registrable domain share a lane, so each site is asked for one thing at a
	// time, a delay apart, all the same; 0 = 1.
	Lanes int
	// Clock tells the time; nil = the machine's.
	Clock Clock
	// Route tells where a request will go, before it is sent. Its error is that
	// of the request. nil = to addresses not known.
	Route func(ctx context.Context, u web.URL) (Route, error)
	// Sharers tells, before each request to an address, how many crawlers elsewhere ask
	// there, too, as far as is known: each of them leaves the address alone for as many more
	// delays, so that together they ask once in a delay. It is safe for concurrent use. nil = none.
	Sharers func(addr netip.Addr) int
}

// Route is where a request may go, and what its server is owed.
type Route struct {
	Addrs []netip.Addr  // in the order in which they are tried; none = not known
	Delay time.Duration // ≥ 0
}

// turnstile is the state of a name or an address, under Gate.mu but for its
// token.
type turnstile struct {
	token chan struct{} // holds one value while nobody is through
	users int           // requests waiting or through
	rest  time.Duration // the longest delay that a request had here, for which this is remembered
	pause time.Duration // the delay of the last request that came
	began time.Time     // the request that is through, or the last one
	ended time.Time     // the last request; zero before the first
	took  time.Duration // by the last request
	named time.Time     // last use of this state

	// Of a name.
	pace  time.Duration          // its own wish
	last  netip.Addr             // the address that is tried first
	until map[web.Host]time.Time // its hosts that are not asked before, by their Retry-After

	// Of an address: the names that were told to come again. They are a queue, in
	// which one that comes too early keeps its place, and one that does not come
	// loses it.
	told   map[string]ticket
	number int // of the last ticket
}

// ticket is the place of a name among those who were told to come again.
type ticket struct {
	number int
	at     time.Time // for which it was told
}

const (
	// minSweep is the number of turnstiles below which none is forgotten.
	minSweep = 1024
	// longWait is the longest wait for a Retry-After without a Patience.
	longWait = 2 * time.Minute
)

// NewGate returns a gate.
func NewGate(o GateOptions) *Gate {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	o.Lanes = max(o.Lanes, 1)
	return &Gate{o: o, of: map[string]*turnstile{}, sweep: minSweep}
}

// setDelay replaces GateOptions.Delay and Patience.
func (g *Gate) setDelay(delay, patience time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.o.Delay, g.o.Patience = delay, patience
}

func (g *Gate) delay() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.o.Delay
}

// Pace sets the delay that the host of an address wishes for itself; the longer
// of it and the delay of the route applies to the requests that start from now
// on.
func (g *Gate) Pace(h web.Host, delay time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.of[h.Name()]
	if t == nil {
		if delay <= 0 {
			return
		}
		t = g.turnstile(h.Name())
	}
	t.pace, t.named = delay, g.o.Clock.Now()
}

// Sharing tells how many other names are waiting for the address at which a
// host was last asked, or were told to come again, and what that address is.
func (g *Gate) Sharing(h web.Host) (addr netip.Addr, names int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.of[h.Name()]
	if t == nil || !t.last.IsValid() {
		return addr, 0
	}
	at := g.of[g.lane(t.last, h)]
	if at == nil {
		return t.last, 0
	}
	at.forget(g.o.Clock.Now())
	names = len(at.told)
	if _, too := at.told[h.Name()]; too {
		names--
	}
	return t.last, names
}

// Before returns f behind the gate. All fetchers behind one gate share it.
func (g *Gate) Before(f Fetcher) Fetcher { return gateFetcher{g, f} }

type gateFetcher struct {
	gate  *Gate
	inner Fetcher
}

func (d gateFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	g := d.gate
	delay := g.delay()
	route := Route{Delay: delay}
	if g.o.Route != nil {
		var err error
		if route, err = g.o.Route(ctx, u); err != nil {
			return nil, err
		}
	}
	web.AtStage(ctx, web.StageTurn)
	name, err := g.enter(ctx, u, u.Host().Name(), netip.Addr{}, route.Delay)
	if err != nil {
		return nil, err
	}
	r, requested, err := d.ask(ctx, u, route, name)
	var retryAfter time.Duration
	var f *web.Failure
	switch {
	case r != nil:
		retryAfter = r.RetryAfter
	case errors.As(err, &f) && f.Reason != web.ReasonBusy:
		retryAfter = f.RetryAfter
	}
	if retryAfter > 0 {
		g.leaveAlone(name, u.Host(), retryAfter)
	}
	g.leave(name, requested)
	if r != nil && route.Delay > delay {
		r.CrawlDelay = max(r.CrawlDelay, route.Delay)
	}
	return r, err
}

// ask sends a request whose name has its turn to the first of its addresses at
// which there is a server. requested tells whether anything was sent.
func (d gateFetcher) ask(ctx context.Context, u web.URL, route Route, name *turnstile) (r *web.Response, requested bool, err error) {
	if len(route.Addrs) == 0 {
		web.AtStage(ctx, web.StageRequest)
		r, err = d.inner.Fetch(ctx, u)
		return r, true, err
	}
	g := d.gate
	addrs := g.order(name, route.Addrs)
	for i, addr := range addrs {
		web.AtStage(ctx, web.StageTurn)
		delay := route.Delay
		if g.o.Sharers != nil {
			delay *= time.Duration(1 + g.o.Sharers(network(addr)))
		}
		at, busy := g.enter(ctx, u, g.lane(addr, u.Host()), addr, delay)
		if busy != nil {
			return nil, requested, busy
		}
		web.AtStage(ctx, web.StageRequest)
		r, err = d.inner.Fetch(withTarget(ctx, target{addr, len(addrs) - i}), u)
		requested = true
		g.leave(at, true)
		var f *web.Failure
		if !errors.As(err, &f) || f.Reason != web.ReasonConnect || i == len(addrs)-1 {
			return r, true, err
		}
		g.prefer(name, addrs[i+1])
	}
	return r, requested, err
}

// order puts the address first at which the name was last asked, and keeps it
// there.
func (g *Gate) order(name *turnstile, addrs []netip.Addr) []netip.Addr {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(addrs, name.last); i > 0 {
		addrs = slices.Concat(addrs[i:], addrs[:i])
	}
	name.last = addrs[0]
	return addrs
}

func (g *Gate) prefer(name *turnstile, addr netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name.last = addr
}

// lane is the key of the turnstile of an address that a host passes.
func (g *Gate) lane(addr netip.Addr, h web.Host) string {
	key := "@" + network(addr).String()
	if g.o.Lanes == 1 {
		return key
	}
	return key + " " + strconv.FormatUint(xxh3.HashString(h.Domain())%uint64(g.o.Lanes), 10)
}

// network is the address of the network that counts as one server: an IPv4
// address itself, and the first 64 bits of an IPv6 address.
func network(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if a.Is4() {
		return a
	}
	p, err := a.Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}

// enter waits for the turn of a request at a turnstile, which leave ends. addr
// is zero for that of a name.
func (g *Gate) enter(ctx context.Context, u web.URL, key string, addr netip.Addr, delay time.Duration) (*turnstile, error) {
	for {
		t, left, err := g.turn(ctx, u, key, addr, delay)
		if err != nil || left <= 0 {
			return t, err
		}
		if err := g.sleep(ctx, left); err != nil {
			return nil, err
		}
	}
}

// turn is enter for a host that asked for no time by Retry-After. left is how much
// is left of that time where it did: then there is no turn, and other ports of the
// name go on meanwhile.
func (g *Gate) turn(ctx context.Context, u web.URL, key string, addr netip.Addr, delay time.Duration) (t *turnstile, left time.Duration, err error) {
	h := u.Host()
	g.mu.Lock()
	t = g.turnstile(key)
	t.pause = max(delay, t.pace)
	t.rest = max(t.rest, t.pause)
	wait, why := g.wait(t, h, delay)
	left = g.alone(t, h)
	switch {
	case g.tooLong(ctx, wait, left):
		err = g.busy(t, u, addr, wait, why)
	case left <= 0:
		t.users++
	}
	g.mu.Unlock()
	if err != nil || left > 0 {
		return nil, left, err
	}
	if err := g.take(ctx, t); err != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		t.users--
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		wait, why := g.wait(t, h, delay)
		return nil, 0, g.busy(t, u, addr, wait, why)
	}
	for {
		g.mu.Lock()
		rest := g.resting(t, delay)
		left = g.alone(t, h) // by what those before it were answered
		switch {
		case g.tooLong(ctx, max(rest, left), left):
			err = g.busy(t, u, addr, max(rest, left), "was asked just now")
		case rest <= 0 && left <= 0:
			t.began = g.o.Clock.Now()
			delete(t.told, h.Name())
		}
		g.mu.Unlock()
		switch {
		case err != nil || left > 0:
			g.leave(t, false)
			return nil, left, err
		case rest <= 0:
			return t, 0, nil
		}
		if err := g.sleep(ctx, rest); err != nil {
			g.leave(t, false)
			return nil, 0, err
		}
	}
}

// sleep waits for some time, or until ctx ends.
func (g *Gate) sleep(ctx context.Context, d time.Duration) error {
	fire, stop := g.o.Clock.NewTimer(d)
	select {
	case <-fire:
		return nil
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
}

// errPatience says that those before a request took longer than it can wait.
var errPatience = errors.New("its patience is over")

// take waits until nobody is through.
func (g *Gate) take(ctx context.Context, t *turnstile) error {
	select {
	case <-t.token:
		return nil
	default:
	}
	var over <-chan time.Time
	g.mu.Lock()
	patience := g.o.Patience
	g.mu.Unlock()
	if patience > 0 {
		fire, stop := g.o.Clock.NewTimer(patience)
		defer stop()
		over = fire
	}
	select {
	case <-t.token:
		return nil
	case <-over:
		return errPatience
	case <-ctx.Done():
		return ctx.Err()
	}
}

// resting is how long t still needs until its next request may start, if nobody
// is through.
func (g *Gate) resting(t *turnstile, delay time.Duration) time.Duration {
	if delay = max(delay, t.pace); delay > 0 && !t.ended.IsZero() {
		return t.ended.Add(delay).Sub(g.o.Clock.Now())
	}
	return 0
}

// alone is how long a host is still to be left alone by its Retry-After, ≤ 0 for
// not at all.
func (g *Gate) alone(t *turnstile, h web.Host) time.Duration {
	if until, ok := t.until[h]; ok {
		return until.Sub(g.o.Clock.Now())
	}
	return 0
}

// wait estimates how long a request that comes now would wait, and says for
// what: those before it take as long as the last did, and a delay each.
func (g *Gate) wait(t *turnstile, h web.Host, delay time.Duration) (wait time.Duration, why string) {
	wait = g.resting(t, delay)
	if left := g.alone(t, h); left > 0 && left >= wait {
		return left, "asks by Retry-After to be left alone"
	}
	if t.users == 0 {
		return wait, "was asked just now"
	}
	return max(wait, 0) + time.Duration(t.users)*t.turn(), "has other requests before this one"
}

// tooLong tells whether a request cannot wait for its turn; left is what is left
// of a Retry-After.
func (g *Gate) tooLong(ctx context.Context, wait, left time.Duration) bool {
	if wait <= 0 {
		return false
	}
	limit := g.o.Patience
	if limit <= 0 && left > 0 {
		limit = longWait
	}
	if end, ok := ctx.Deadline(); ok && wait > time.Until(end) {
		return true
	}
	return limit > 0 && wait > limit
}

// busy is the failure of a request that cannot wait. Those who cannot wait for
// an address are told to come again one after the other.
func (g *Gate) busy(t *turnstile, u web.URL, addr netip.Addr, wait time.Duration, why string) error {
	now := g.o.Clock.Now()
	name := u.Host().Name()
	who := name
	if addr.IsValid() {
		who = fmt.Sprintf("the server at %s", addr)
		wait = t.queue(name, max(wait, 0), now)
	}
	wait = max(wait, time.Millisecond)
	return &web.Failure{Reason: web.ReasonBusy, Temporary: true, RetryAfter: wait, Address: addr,
		Detail: fmt.Sprintf("%s: %s %s: its turn comes in about %v", u, who, why, wait.Round(time.Millisecond))}
}

// queue gives a name a place among those who were told to come again, unless it
// has one, and returns when its turn comes if that of the first is after wait.
func (t *turnstile) queue(name string, wait time.Duration, now time.Time) time.Duration {
	t.forget(now)
	place, has := t.told[name]
	if !has {
		t.number++
		place.number = t.number
	}
	for _, other := range t.told {
		if other.number < place.number {
			wait += t.turn()
		}
	}
	place.at = now.Add(wait)
	if t.told == nil {
		t.told = map[string]ticket{}
	}
	t.told[name], t.named = place, now
	return wait
}

// turn is how long one request takes, with the rest behind it, if all have the delay of the last one.
func (t *turnstile) turn() time.Duration { return t.pause + t.took }

// forget lets those go who were told to come again and did not.
func (t *turnstile) forget(now time.Time) {
	late := now.Add(-10*t.turn() - time.Second)
	for name, place := range t.told {
		if place.at.Before(late) {
			delete(t.told, name)
		}
	}
}

// leaveAlone notes that a host of a name asked for some time by Retry-After.
func (g *Gate) leaveAlone(t *turnstile, h web.Host, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.o.Clock.Now()
	maps.DeleteFunc(t.until, func(_ web.Host, until time.Time) bool { return !until.After(now) })
	if t.until == nil {
		t.until = map[web.Host]time.Time{}
	}
	t.until[h] = now.Add(d)
}

// leave ends a turn; requested tells whether there was a request in it.
func (g *Gate) leave(t *turnstile, requested bool) {
	g.mu.Lock()
	t.users--
	now := g.o.Clock.Now()
	if requested {
		t.ended, t.named, t.took = now, now, now.Sub(t.began)
	}
	g.mu.Unlock()
	t.token <- struct{}{}
}

// turnstile returns the state of a name or an address, new if need be, and now
// and then forgets those that have rested: a new state would let their next
// request start at once, too. Their number doubles before the next look, so that
// a look costs a request O(1).
func (g *Gate) turnstile(key string) *turnstile {
	if t := g.of[key]; t != nil {
		return t
	}
	if len(g.of) >= g.sweep {
		now := g.o.Clock.Now()
		for key, t := range g.of {
			t.forget(now)
			maps.DeleteFunc(t.until, func(_ web.Host, until time.Time) bool { return !until.After(now) })
			if t.users == 0 && !t.named.Add(max(t.rest, t.pace)).After(now) && len(t.until)+len(t.told) == 0 {
				delete(g.of, key)
			}
		}
		g.sweep = max(minSweep, 2*len(g.of))
	}
	t := &turnstile{token: make(chan struct{}, 1)}
	t.token <- struct{}{}
	g.of[key] = t
	return t
}
