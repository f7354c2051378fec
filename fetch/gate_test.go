package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

type fetcherFunc func(ctx context.Context, u web.URL) (*web.Response, error)

func (f fetcherFunc) Fetch(ctx context.Context, u web.URL) (*web.Response, error) { return f(ctx, u) }

// manual is a clock that stands until it is moved. Waiting tells when someone
// has begun to wait on it.
type manual struct {
	mu      sync.Mutex
	now     time.Time
	timers  map[chan time.Time]time.Time
	Waiting chan time.Duration
}

func newManual() *manual {
	return &manual{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		timers: map[chan time.Time]time.Time{}, Waiting: make(chan time.Duration, 100)}
}

func (c *manual) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manual) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fire := make(chan time.Time, 1)
	c.timers[fire] = c.now.Add(d)
	c.Waiting <- d
	return fire, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, fire)
	}
}

func (c *manual) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for fire, at := range c.timers {
		if !at.After(c.now) {
			fire <- c.now
			delete(c.timers, fire)
		}
	}
}

// The first contact with a host is two requests: robots.txt, then the page a
// delay after its end.
func TestGateSpacesRobotsAndPage(t *testing.T) {
	s := badWeb(t)
	c := newManual()
	f := through(t, s, func(o *fetch.Options) { o.Delay, o.Clock = 3*time.Second, c })
	done := make(chan error)
	go func() {
		_, err := f.Fetch(context.Background(), address(t, "http://fine.bad.test/"))
		done <- err
	}()
	if wait := <-c.Waiting; wait != 3*time.Second {
		t.Errorf("the page waits %v after robots.txt, want 3s", wait)
	}
	if n, m := s.Hits("fine.bad.test/robots.txt"), s.Hits("fine.bad.test/"); n != 1 || m != 0 {
		t.Errorf("%d requests for robots.txt and %d for the page before the wait, want 1 and 0", n, m)
	}
	c.Advance(3 * time.Second)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A Crawl-delay applies from the first page on.
func TestGateObeysCrawlDelay(t *testing.T) {
	s := badWeb(t)
	c := newManual()
	f := through(t, s, func(o *fetch.Options) { o.Delay, o.CrawlDelayCap, o.Clock = time.Second, 7*time.Second, c })
	for range 2 {
		done := make(chan error)
		go func() {
			_, err := f.Fetch(context.Background(), address(t, "http://robots-delay.bad.test/yes"))
			done <- err
		}()
		if wait := <-c.Waiting; wait != 7*time.Second {
			t.Errorf("waits %v, want the capped Crawl-delay of 7s", wait)
		}
		c.Advance(7 * time.Second)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func TestGateLetsGoOfThoseWhoLeave(t *testing.T) {
	c := newManual()
	g := fetch.NewGate(time.Second, c)
	f := g.Before(fetcherFunc(func(context.Context, web.URL) (*web.Response, error) { return &web.Response{}, nil }))
	u := address(t, "http://a.test/")
	if _, err := f.Fetch(context.Background(), u); err != nil {
		t.Fatal(err)
	}
	// One that leaves while the host rests …
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error)
	go func() {
		_, err := f.Fetch(ctx, u)
		left <- err
	}()
	<-c.Waiting
	// … and one that leaves while another is at the turnstile.
	gone, cancelled := context.WithCancel(context.Background())
	cancelled()
	if _, err := f.Fetch(gone, u); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	cancel()
	if err := <-left; err != context.Canceled {
		t.Errorf("got %v", err)
	}
	c.Advance(time.Second)
	if _, err := f.Fetch(context.Background(), u); err != nil {
		t.Errorf("the turnstile stays blocked: %v", err)
	}
}

// For any traffic, requests to a host never overlap and keep their distance.
func TestGateProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		delay := time.Duration(rapid.IntRange(0, 3).Draw(rt, "delay")) * time.Second
		hosts := rapid.IntRange(1, 4).Draw(rt, "hosts")
		requests := rapid.IntRange(1, 40).Draw(rt, "requests")
		c := newFastClock()
		g := fetch.NewGate(delay, c)

		var mu sync.Mutex
		busy := map[web.Host]bool{}
		ended := map[web.Host]time.Time{}
		var faults []string
		f := g.Before(fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) {
			mu.Lock()
			h := u.Host()
			if busy[h] {
				faults = append(faults, "two at a time")
			}
			if last, ok := ended[h]; ok && c.Now().Sub(last) < delay {
				faults = append(faults, fmt.Sprintf("only %v apart", c.Now().Sub(last)))
			}
			busy[h] = true
			mu.Unlock()
			c.advance(100 * time.Millisecond)
			mu.Lock()
			busy[h] = false
			ended[h] = c.Now()
			mu.Unlock()
			return nil, &web.Failure{Reason: web.ReasonReset}
		}))
		var wg sync.WaitGroup
		for i := range requests {
			u := address(t, fmt.Sprintf("http://h%d.test/%d", i%hosts, i))
			wg.Go(func() { f.Fetch(context.Background(), u) })
		}
		wg.Wait()
		if len(faults) > 0 {
			rt.Fatal(faults)
		}
		if len(ended) != min(hosts, requests) {
			rt.Fatalf("%d hosts asked, want %d", len(ended), min(hosts, requests))
		}
	})
}
