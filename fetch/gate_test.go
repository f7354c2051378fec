package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
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

// A delay that is set anew holds from the next request on, for robots.txt and page.
func TestDelayIsSetAnew(t *testing.T) {
	s := badWeb(t)
	c := newManual()
	f := through(t, s, func(o *fetch.Options) { o.Delay, o.Clock = time.Second, c })
	for i, delay := range []time.Duration{time.Second, 5 * time.Second, 2 * time.Second} {
		if i > 0 {
			f.SetDelay(delay, 0)
		}
		done := make(chan error)
		go func() {
			_, err := f.Fetch(context.Background(), address(t, "http://fine.bad.test/"))
			done <- err
		}()
		select {
		case wait := <-c.Waiting:
			if wait != delay {
				t.Errorf("request %d waits %v, want %v", i+1, wait, delay)
			}
		case err := <-done:
			t.Fatalf("request %d did not wait: %v", i+1, err)
		}
		c.Advance(delay)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func TestGateLetsGoOfThoseWhoLeave(t *testing.T) {
	c := newManual()
	g := fetch.NewGate(fetch.GateOptions{Delay: time.Second, Clock: c})
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

// watch is a fetcher that notes how requests follow one another, by keys such as
// a name or an address.
type watch struct {
	clock interface {
		Now() time.Time
		advance(time.Duration)
	}
	keys  func(u web.URL) []string
	delay time.Duration

	mu     sync.Mutex
	busy   map[string]int
	ended  map[string]time.Time
	most   map[string]int
	faults []string
}

func newWatch(c *fastClock, delay time.Duration, keys func(web.URL) []string) *watch {
	return &watch{clock: c, keys: keys, delay: delay, busy: map[string]int{}, ended: map[string]time.Time{}, most: map[string]int{}}
}

func (w *watch) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	w.mu.Lock()
	for _, k := range w.keys(u) {
		w.busy[k]++
		w.most[k] = max(w.most[k], w.busy[k])
		if w.busy[k] > 1 {
			w.faults = append(w.faults, k+": two at a time")
		}
		if last, ok := w.ended[k]; ok && w.clock.Now().Sub(last) < w.delay {
			w.faults = append(w.faults, fmt.Sprintf("%s: only %v apart", k, w.clock.Now().Sub(last)))
		}
	}
	w.mu.Unlock()
	w.clock.advance(100 * time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.keys(u) {
		w.busy[k]--
		w.ended[k] = w.clock.Now()
	}
	return nil, &web.Failure{Reason: web.ReasonReset}
}

// For any traffic, requests to a name never overlap and keep their distance,
// whatever their ports and schemes.
func TestGateProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		delay := time.Duration(rapid.IntRange(0, 3).Draw(rt, "delay")) * time.Second
		hosts := rapid.IntRange(1, 4).Draw(rt, "hosts")
		requests := rapid.IntRange(1, 40).Draw(rt, "requests")
		c := newFastClock()
		w := newWatch(c, delay, func(u web.URL) []string { return []string{u.Host().Name()} })
		f := fetch.NewGate(fetch.GateOptions{Delay: delay, Clock: c}).Before(w)
		var wg sync.WaitGroup
		for i := range requests {
			form := rapid.SampledFrom([]string{"http://h%d.test/%d", "https://h%d.test/%d", "http://h%d.test:8080/%d", "https://h%d.test:8443/%d"}).Draw(rt, "form")
			u := address(t, fmt.Sprintf(form, i%hosts, i))
			wg.Go(func() { f.Fetch(context.Background(), u) })
		}
		wg.Wait()
		if len(w.faults) > 0 {
			rt.Fatal(w.faults)
		}
		if len(w.ended) != min(hosts, requests) {
			rt.Fatalf("%d names asked, want %d", len(w.ended), min(hosts, requests))
		}
	})
}

// For any traffic, requests to an address never overlap and keep their distance,
// whatever their names; and so do those to each name. Addresses of one IPv6
// network of 64 bits are one.
func TestGateByAddressProperty(t *testing.T) {
	networks := map[string]string{
		"192.0.2.1": "a", "::ffff:192.0.2.1": "a", "192.0.2.2": "b",
		"2001:db8:0:1::1": "c", "2001:db8:0:1:ffff::2": "c", "2001:db8:0:2::1": "d",
	}
	all := slices.Sorted(maps.Keys(networks))
	rapid.Check(t, func(rt *rapid.T) {
		delay := time.Duration(rapid.IntRange(0, 3).Draw(rt, "delay")) * time.Second
		at := rapid.SliceOfN(rapid.SampledFrom(all), 1, 6).Draw(rt, "addresses of the names")
		requests := rapid.IntRange(1, 40).Draw(rt, "requests")
		of := func(u web.URL) string {
			var n int
			fmt.Sscanf(u.Host().Name(), "h%d.", &n)
			return at[n]
		}
		c := newFastClock()
		w := newWatch(c, delay, func(u web.URL) []string { return []string{u.Host().Name(), networks[of(u)]} })
		f := fetch.NewGate(fetch.GateOptions{Clock: c, Route: func(_ context.Context, u web.URL) (fetch.Route, error) {
			return fetch.Route{Addrs: []netip.Addr{netip.MustParseAddr(of(u))}, Delay: delay}, nil
		}}).Before(w)
		var wg sync.WaitGroup
		for i := range requests {
			u := address(t, fmt.Sprintf("http://h%d.site%d.test/", i%len(at), i%len(at)))
			wg.Go(func() { f.Fetch(context.Background(), u) })
		}
		wg.Wait()
		if len(w.faults) > 0 {
			rt.Fatal(w.faults)
		}
	})
}

// crowdAt routes all names to one address.
func crowdAt(delay time.Duration) func(context.Context, web.URL) (fetch.Route, error) {
	return func(context.Context, web.URL) (fetch.Route, error) {
		return fetch.Route{Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, Delay: delay}, nil
	}
}

// With lanes, sites of different owners at one address are asked at a time, but
// no site for two things.
func TestGateLanes(t *testing.T) {
	for _, lanes := range []int{1, 3} {
		began, end := make(chan string, 100), make(chan bool)
		g := fetch.NewGate(fetch.GateOptions{Lanes: lanes, Route: crowdAt(0)})
		f := g.Before(fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) {
			began <- u.Host().Domain()
			<-end
			return &web.Response{}, nil
		}))
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() { f.Fetch(context.Background(), address(t, fmt.Sprintf("http://w%d.site%d.example/", i%2, i/2))) })
		}
		var through []string
		for range lanes {
			through = append(through, <-began)
		}
		slices.Sort(through)
		if len(slices.Compact(through)) != lanes {
			t.Errorf("%d lanes: %v are through at a time", lanes, through)
		}
		select {
		case more := <-began:
			t.Errorf("%d lanes: %s came through, too", lanes, more)
		default:
		}
		close(end)
		wg.Wait()
	}
}

// Without the patience to wait, one is told when to come again, each a turn after
// the one before, and one who comes early keeps the place.
func TestGatePatience(t *testing.T) {
	c := newManual()
	g := fetch.NewGate(fetch.GateOptions{Clock: c, Patience: 500 * time.Millisecond, Route: crowdAt(time.Second)})
	f := g.Before(fetcherFunc(func(context.Context, web.URL) (*web.Response, error) { return &web.Response{Status: 200}, nil }))
	ask := func(name string) (wait time.Duration) {
		t.Helper()
		_, err := f.Fetch(context.Background(), address(t, "http://"+name+"/"))
		var why *web.Failure
		switch {
		case err == nil:
			return 0
		case !errors.As(err, &why) || why.Reason != web.ReasonBusy || !why.Temporary:
			t.Fatalf("%s: %v, want it put off", name, err)
		case name != "a.test" && name != "h.test" && why.Address != netip.MustParseAddr("192.0.2.1"):
			t.Errorf("%s: the address is %v", name, why.Address)
		}
		return why.RetryAfter
	}
	for i, step := range []struct {
		after time.Duration
		name  string
		want  time.Duration // 0 = it came through
	}{
		{0, "a.test", 0},
		{0, "a.test", time.Second}, // by its name
		{0, "b.test", time.Second},
		{0, "c.test", 2 * time.Second},
		{0, "d.test", 3 * time.Second},
		{400 * time.Millisecond, "d.test", 2600 * time.Millisecond}, // early
		{600 * time.Millisecond, "b.test", 0},
		{time.Second, "e.test", 0},      // nobody is there: it need not wait
		{0, "c.test", time.Second},      // whose turn was taken
		{0, "f.test", 3 * time.Second},  // behind c and d
		{time.Second, "c.test", 0},      //
		{10 * time.Second, "g.test", 0}, //
		{time.Second / 2, "h.test", 0},  // half a second is within its patience …
		{0, "h.test", time.Second},      // … and a second is not
	} {
		c.Advance(step.after)
		done := make(chan time.Duration, 1)
		go func() { done <- ask(step.name) }()
		var got time.Duration
		select {
		case got = <-done:
		case wait := <-c.Waiting:
			c.Advance(wait)
			got = <-done
		}
		if got != step.want {
			t.Errorf("step %d, %s: told to come again in %v, want %v", i, step.name, got, step.want)
		}
	}
	if addr, names := g.Sharing("d.test"); addr != netip.MustParseAddr("192.0.2.1") || names == 0 {
		t.Errorf("d.test shares %v with %d others that wait", addr, names)
	}
}

// Others are told to come again by the delay that holds, not by a longer one from before.
func TestGateReckonsWithTheDelayThatHolds(t *testing.T) {
	c, delay := newManual(), time.Minute
	entered, leave := make(chan struct{}), make(chan struct{})
	g := fetch.NewGate(fetch.GateOptions{Clock: c, Patience: time.Second / 2, Route: func(ctx context.Context, u web.URL) (fetch.Route, error) {
		return crowdAt(delay)(ctx, u)
	}})
	f := g.Before(fetcherFunc(func(context.Context, web.URL) (*web.Response, error) {
		entered <- struct{}{}
		<-leave
		return &web.Response{Status: 200}, nil
	}))
	for range 2 { // the second time with a delay of a second
		done := make(chan error, 1)
		go func() {
			_, err := f.Fetch(t.Context(), address(t, "http://a.test/"))
			done <- err
		}()
		<-entered
		_, err := f.Fetch(t.Context(), address(t, "http://b.test/"))
		var why *web.Failure
		if !errors.As(err, &why) || why.Reason != web.ReasonBusy || why.RetryAfter != delay {
			t.Errorf("with a delay of %v: %v", delay, err)
		}
		leave <- struct{}{}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c.Advance(delay)
		delay = time.Second
	}
}

// A request that cannot have its turn before its context ends does not wait for
// that.
func TestGateHeedsDeadlines(t *testing.T) {
	c := newManual()
	g := fetch.NewGate(fetch.GateOptions{Delay: time.Hour, Clock: c})
	f := g.Before(fetcherFunc(func(context.Context, web.URL) (*web.Response, error) { return &web.Response{Status: 200}, nil }))
	u := address(t, "http://a.test/")
	if _, err := f.Fetch(context.Background(), u); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var why *web.Failure
	if _, err := f.Fetch(ctx, u); !errors.As(err, &why) || why.Reason != web.ReasonBusy || why.RetryAfter != time.Hour {
		t.Errorf("%v, want it put off for an hour", err)
	}
}

// Retry-After holds for the host on whatever status it came, over both schemes, and
// not for the other ports of its name.
func TestGateHoldsRetryAfter(t *testing.T) {
	for _, status := range []int{200, 204, 301, 304, 404, 429, 500, 503} {
		c := newManual()
		f := fetch.NewGate(fetch.GateOptions{Clock: c}).Before(fetcherFunc(func(context.Context, web.URL) (*web.Response, error) {
			return &web.Response{Status: status, RetryAfter: time.Hour}, nil
		}))
		for _, step := range []struct {
			after time.Duration
			url   string
			wait  time.Duration
		}{
			{0, "http://a.test/", 0},
			{0, "https://a.test/", time.Hour},
			{0, "http://a.test:8080/robots.txt", 0},
			{0, "http://a.test:8080/", time.Hour},
			{0, "http://a.test:8081/", 0},
			{0, "http://b.test/", 0},
			{59 * time.Minute, "http://a.test/", time.Minute},
			{time.Minute, "http://a.test/", 0},
		} {
			c.Advance(step.after)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err := f.Fetch(ctx, address(t, step.url))
			cancel()
			var why *web.Failure
			if errors.As(err, &why); (why != nil) != (step.wait > 0) || why != nil && (why.Reason != web.ReasonBusy || why.RetryAfter != step.wait) {
				t.Errorf("status %d, %s: %v, want a wait of %v", status, step.url, err, step.wait)
			}
		}
	}
}

// A port that asks to be left alone for a time which its request can wait for does
// not keep the turn of its name meanwhile.
func TestGateWaitsForRetryAfterWithoutTheTurn(t *testing.T) {
	c := newManual()
	f := fetch.NewGate(fetch.GateOptions{Delay: time.Second, Patience: time.Minute, Clock: c}).Before(
		fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) {
			r := &web.Response{Status: 200}
			if u.Host() == "a.test:81" {
				r.Status, r.RetryAfter = 429, 30*time.Second
			}
			return r, nil
		}))
	begin := c.Now()
	if _, err := f.Fetch(context.Background(), address(t, "http://a.test:81/")); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	fetch := func(at string) {
		_, err := f.Fetch(context.Background(), address(t, at))
		done <- err
	}
	wait := func(want time.Duration) {
		t.Helper()
		for d := range c.Waiting {
			if d == want {
				return
			}
		}
	}
	go fetch("http://a.test:81/")
	wait(30 * time.Second)
	go fetch("http://a.test:82/")
	wait(time.Second)
	c.Advance(time.Second)
	if err := <-done; err != nil || c.Now().Sub(begin) != time.Second {
		t.Errorf("the other port: %v after %v, want its page after 1s", err, c.Now().Sub(begin))
	}
	c.Advance(29 * time.Second)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Names that share an address share its gate, over HTTP/1.1 and HTTP/2, with
// connections that are open already, and for robots.txt as well.
func TestNamesOfOneAddress(t *testing.T) {
	s := badWeb(t)
	for _, scheme := range []string{"http", "https"} {
		c := newManual()
		f := through(t, s, func(o *fetch.Options) { o.Delay, o.Clock = 3*time.Second, c })
		// The first time there is robots.txt as well, and the first request waits
		// for nobody.
		for round, want := range []int{3, 2} {
			got := 0
			for _, name := range []string{"a", "b"} {
				u := address(t, fmt.Sprintf("%s://crowd-%s.bad.test/%d", scheme, name, round))
				done := make(chan error, 1)
				go func() {
					r, err := f.Fetch(context.Background(), u)
					if err == nil && r.Address != netip.MustParseAddr("2fff:bad::1") {
						err = fmt.Errorf("asked at %v", r.Address)
					}
					done <- err
				}()
				for pending := true; pending; {
					select {
					case wait := <-c.Waiting:
						if wait != 3*time.Second {
							t.Errorf("%s: waits %v, want 3s", u, wait)
						}
						got++
						c.Advance(wait)
					case err := <-done:
						if err != nil {
							t.Error(err)
						}
						pending = false
					}
				}
			}
			if got != want {
				t.Errorf("%s, round %d: %d waits, want %d", scheme, round, got, want)
			}
		}
	}
}

// An address where crawlers elsewhere ask, too, is left alone for as many more delays, and they
// are told of it as the network that counts as one server.
func TestGateSharesAddressesWithOthers(t *testing.T) {
	c := newManual()
	elsewhere := 0
	var told []netip.Addr
	g := fetch.NewGate(fetch.GateOptions{
		Clock: c,
		Route: func(context.Context, web.URL) (fetch.Route, error) {
			return fetch.Route{Addrs: []netip.Addr{netip.MustParseAddr("2001:db8::7")}, Delay: 3 * time.Second}, nil
		},
		Sharers: func(a netip.Addr) int {
			told = append(told, a)
			return elsewhere
		},
	})
	f := g.Before(fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) { return &web.Response{URL: u}, nil }))
	for i, others := range []int{0, 0, 2, 0} {
		elsewhere = others
		done := make(chan error)
		go func() {
			_, err := f.Fetch(t.Context(), address(t, fmt.Sprintf("http://s%d.example/", i)))
			done <- err
		}()
		if i > 0 {
			if wait, want := <-c.Waiting, time.Duration(1+others)*3*time.Second; wait != want {
				t.Errorf("request %d waits %v, want %v", i, wait, want)
			} else {
				c.Advance(wait)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if want := netip.MustParseAddr("2001:db8::"); len(told) != 4 || told[0] != want {
		t.Errorf("told of %v, want %v four times", told, want)
	}
}
