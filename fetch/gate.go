package fetch

import (
	"context"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// Gate is the guarantee of politeness: whoever asks, and for whatever, there is
// at most one request to a host at a time, and a delay between the end of one
// and the start of the next. A frontier that spaces its hosts never waits here.
//
// The life of a host: unknown → busy → resting until its delay is over →
// forgotten.
type Gate struct {
	delay time.Duration
	clock clock.Clock

	mu    sync.Mutex
	hosts map[web.Host]*turnstile
	sweep int // number of hosts at which the idle ones are next forgotten
}

// turnstile is the state of one host, under Gate.mu but for its token.
type turnstile struct {
	token chan struct{} // holds one value while nobody is through
	users int           // requests waiting or through
	pace  time.Duration // the host's own wish
	ended time.Time     // of the last request; zero before the first
	named time.Time     // last use of this state; ≥ ended
}

// minSweep is the number of hosts below which none is forgotten.
const minSweep = 1024

// NewGate returns a gate that keeps requests to a host delay apart.
func NewGate(delay time.Duration, c clock.Clock) *Gate {
	return &Gate{delay: delay, clock: c, hosts: map[web.Host]*turnstile{}, sweep: minSweep}
}

// Pace sets the delay a host wishes for itself; the longer of it and the
// gate's own applies to the requests that start from now on.
func (g *Gate) Pace(h web.Host, delay time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.hosts[h]
	if t == nil {
		if delay <= g.delay {
			return
		}
		t = g.host(h)
	}
	t.pace, t.named = delay, g.clock.Now()
}

// Before returns f behind the gate. All fetchers behind one gate share it.
func (g *Gate) Before(f Fetcher) Fetcher { return gated{g, f} }

type gated struct {
	gate  *Gate
	inner Fetcher
}

func (d gated) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	h := u.Host()
	t, err := d.gate.enter(ctx, h)
	if err != nil {
		return nil, err
	}
	defer d.gate.leave(t, true)
	return d.inner.Fetch(ctx, u)
}

// enter waits for the turn of a request to h, which leave ends.
func (g *Gate) enter(ctx context.Context, h web.Host) (*turnstile, error) {
	g.mu.Lock()
	t := g.host(h)
	t.users++
	g.mu.Unlock()
	select {
	case <-t.token:
	case <-ctx.Done():
		g.mu.Lock()
		t.users--
		g.mu.Unlock()
		return nil, ctx.Err()
	}
	for {
		wait := g.rest(t)
		if wait <= 0 {
			return t, nil
		}
		fire, stop := g.clock.NewTimer(wait)
		select {
		case <-fire:
		case <-ctx.Done():
			stop()
			g.leave(t, false)
			return nil, ctx.Err()
		}
	}
}

// rest is how long t still needs until its next request may start.
func (g *Gate) rest(t *turnstile) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	delay := max(g.delay, t.pace)
	if delay == 0 || t.ended.IsZero() {
		return 0
	}
	return t.ended.Add(delay).Sub(g.clock.Now())
}

// leave ends a turn; requested tells whether there was a request in it.
func (g *Gate) leave(t *turnstile, requested bool) {
	g.mu.Lock()
	t.users--
	if requested {
		t.ended = g.clock.Now()
		t.named = t.ended
	}
	g.mu.Unlock()
	t.token <- struct{}{}
}

// host returns the state of h, new if need be, and now and then forgets the
// hosts that have rested: a new state would let their next request start at
// once, too. Their number doubles before the next look, so that a look costs
// a request O(1).
func (g *Gate) host(h web.Host) *turnstile {
	if t := g.hosts[h]; t != nil {
		return t
	}
	if len(g.hosts) >= g.sweep {
		now := g.clock.Now()
		for h, t := range g.hosts {
			if t.users == 0 && !t.named.Add(max(g.delay, t.pace)).After(now) {
				delete(g.hosts, h)
			}
		}
		g.sweep = max(minSweep, 2*len(g.hosts))
	}
	t := &turnstile{token: make(chan struct{}, 1)}
	t.token <- struct{}{}
	g.hosts[h] = t
	return t
}
