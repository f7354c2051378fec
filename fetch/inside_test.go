package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// still is a clock that moves by hand.
type still struct {
	mu  sync.Mutex
	now time.Time
}

func (c *still) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *still) NewTimer(time.Duration) (<-chan time.Time, func()) { panic("nobody waits here") }

func (c *still) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newStill() *still { return &still{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Both forms of Retry-After, the date against the clock of the server where that
// is told.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const ahead = "Sun, 01 Mar 2026 15:00:00 GMT" // of a server whose clock is 3 h fast
	for _, c := range []struct {
		header, date string
		want         time.Duration
	}{
		{"", "", 0},
		{"0", "", 0},
		{"120", "", 2 * time.Minute},
		{" 120 ", "", 2 * time.Minute},
		{"120", ahead, 2 * time.Minute},
		{"7200", "", 2 * time.Hour},
		{"86400", "", 24 * time.Hour},
		{"86401", "", 24 * time.Hour},
		{"18446744073709551615", "", 24 * time.Hour},
		{"99999999999999999999999", "", 24 * time.Hour},
		{"-1", "", 0},
		{"1.5", "", 0},
		{"soon", "", 0},
		{"Sun, 01 Mar 2026 12:00:30 GMT", "", 30 * time.Second},
		{"Sunday, 01-Mar-26 12:00:30 GMT", "", 30 * time.Second},
		{"Sun Mar  1 12:00:30 2026", "", 30 * time.Second},
		{"Sun, 01 Mar 2026 11:00:00 GMT", "", 0},
		{"Sun, 01 Mar 2026 23:00:00 GMT", "", 11 * time.Hour},
		{"Sun, 01 Mar 2126 12:00:00 GMT", "", 24 * time.Hour},
		{"Sun, 01 Mar 2026 15:10:00 GMT", ahead, 10 * time.Minute},
		{"Sun, 01 Mar 2026 12:00:30 GMT", ahead, 0},
		{"Sun, 01 Mar 2026 15:10:00 GMT", "some day", 3*time.Hour + 10*time.Minute},
	} {
		h := web.Header{"Retry-After": {c.header}, "Date": {c.date}}
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("Retry-After %q at %q: %v, want %v", c.header, c.date, got, c.want)
		}
	}
	date := web.Header{"Retry-After": {ahead}}
	if got := RetryAfter(date, time.Time{}); got != 0 {
		t.Errorf("a date, and no time to hold it against: %v", got)
	}
}

// What is asked for is the canonical path to the letter, in the form that
// the way there needs; credentials are never sent.
func TestRequestURL(t *testing.T) {
	for _, c := range []struct {
		url      string
		proxied  bool
		absolute bool
	}{
		{"http://a.test/", false, false},
		{"http://a.test", true, false},
		{"http://a.test/a%20b?q=%zz&r=1", false, false},
		{"http://a.test/a%2fb?", false, false},
		{"http://a.test/100%", false, false},
		{"http://a.test/a|b[c]?d|e", false, false},
		{"http://a.test/a:b@c/~'();x", false, false},
		{"http://a.test//x", false, true},
		{"http://a.test//x?y", true, true},
		{"http://user:secret@a.test/x", false, false},
	} {
		u, err := web.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := requestURL(u, c.proxied)
		if err != nil {
			t.Fatal(err)
		}
		want := u.RequestPath()
		if c.absolute {
			want = "http://a.test" + want
		}
		if got.RequestURI() != want || got.Host != "a.test" || got.User != nil {
			t.Errorf("%s: target %q host %q user %v, want %q", c.url, got.RequestURI(), got.Host, got.User, want)
		}
	}
}

func TestCacheForgets(t *testing.T) {
	ctx := context.Background()
	clock := newStill()
	c := newCache[string](clock, 10, func(n int) int { return n })
	get := func(key string, value int, life time.Duration) (int, bool) {
		v, fresh, err := c.get(ctx, key, func() (int, time.Duration, error) { return value, life, nil })
		if err != nil {
			t.Fatal(err)
		}
		return v, fresh
	}
	expect := func(key string, value int, fresh bool) {
		t.Helper()
		if v, f := get(key, value, time.Minute); v != value || f != fresh {
			t.Errorf("%s: %d loaded %v, want %d %v", key, v, f, value, fresh)
		}
	}
	expect("a", 4, true)
	expect("b", 4, true)
	expect("a", 4, false)
	expect("c", 4, true) // 12 > 10: b is the least recently used
	expect("a", 4, false)
	expect("b", 4, true)
	clock.advance(time.Minute)
	expect("b", 4, true)
	if v, fresh := get("d", 1, 0); v != 1 || !fresh {
		t.Error(v, fresh)
	}
	expect("d", 1, true) // had no life
	if c.sum > 10 || c.order.Len() != len(c.entries) {
		t.Errorf("weight %d of 10, %d kept of %d", c.sum, c.order.Len(), len(c.entries))
	}

	// One that is heavier than all of the cache stays until the next comes.
	expect("huge", 100, true)
	expect("huge", 100, false)
	expect("a", 4, true)
	expect("huge", 100, true)
}

// Callers share one load; when the loader gives up, another takes over.
func TestCacheLoadsOnce(t *testing.T) {
	c := newCache[string](newStill(), 10, func(int) int { return 1 })
	began, release := make(chan bool), make(chan bool)
	gaveUp := errors.New("gave up")
	first := make(chan error)
	go func() {
		_, _, err := c.get(context.Background(), "k", func() (int, time.Duration, error) {
			began <- true
			<-release
			return 0, time.Minute, gaveUp
		})
		first <- err
	}()
	<-began
	var loads atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			v, _, err := c.get(context.Background(), "k", func() (int, time.Duration, error) {
				loads.Add(1)
				return 7, time.Minute, nil
			})
			if v != 7 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
		})
	}
	impatient, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := c.get(impatient, "k", nil); err != context.Canceled {
		t.Errorf("one who left got %v", err)
	}
	close(release)
	if err := <-first; err != gaveUp {
		t.Errorf("loader got %v", err)
	}
	wg.Wait()
	if n := loads.Load(); n != 1 {
		t.Errorf("%d loads, want 1", n)
	}
}

// answers resolves a name to one answer after the other, the last for ever.
type answers struct {
	mu    sync.Mutex
	list  [][]netip.Addr
	asked int
}

func (a *answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.list[min(a.asked, len(a.list)-1)]
	a.asked++
	if answer == nil {
		return nil, errors.New("server misbehaving")
	}
	return answer, nil
}

// A name that resolves outwards first and inwards later is refused at the
// moment it turns; so is the inward one among several addresses.
func TestDNSRebinding(t *testing.T) {
	outward, inward := netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("127.0.0.1")
	names := &answers{list: [][]netip.Addr{{outward}, {inward, outward}, {inward}}}
	clock := newStill()
	var dialled []string
	refuse := errors.New("not here")
	w := newWire(Options{
		Timeout: time.Minute, Clock: clock, Resolver: names,
		Connect: func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return nil, refuse
		},
	})
	for i, want := range []error{refuse, refuse, nil} {
		_, err := w.dial(context.Background(), "tcp", "rebind.test:80")
		var refused *refusedError
		if want != nil && !errors.Is(err, want) || want == nil && !errors.As(err, &refused) {
			t.Errorf("dial %d: %v", i, err)
		}
		clock.advance(dnsLife)
	}
	if !slices.Equal(dialled, []string{"93.184.215.14:80", "93.184.215.14:80"}) {
		t.Errorf("dialled %v", dialled)
	}
}

// An address that does not answer costs its share of the time, and the next
// one is tried.
func TestDialTriesEveryAddress(t *testing.T) {
	dead, good := netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("2606:2800:21f::1")
	var dialled []string
	w := newWire(Options{
		Timeout: time.Minute, Clock: newStill(),
		Resolver: &answers{list: [][]netip.Addr{{dead, good}}},
		Connect: func(ctx context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			if strings.HasPrefix(address, dead.String()) {
				if end, ok := ctx.Deadline(); !ok || time.Until(end) > 30*time.Second {
					t.Errorf("the first of two addresses may take until %v", end)
				}
				return nil, &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
			}
			a, b := net.Pipe()
			b.Close()
			return a, nil
		},
	})
	c, err := w.dial(context.Background(), "tcp", "two.test:443")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if !slices.Equal(dialled, []string{"93.184.215.14:443", "[2606:2800:21f::1]:443"}) {
		t.Errorf("dialled %v", dialled)
	}
}

// The last look is at the socket: it is not fooled by what a name was before.
func TestGuardStandsAtTheSocket(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, allow := range []bool{false, true} {
		w := newWire(Options{Timeout: time.Minute, Clock: newStill(), AllowPrivate: allow})
		c, err := w.connect(context.Background(), "tcp", listener.Addr().String())
		if allow != (err == nil) {
			t.Errorf("allowed %v: %v", allow, err)
		}
		if c != nil {
			c.Close()
		}
	}
}

func TestNameCache(t *testing.T) {
	one := []netip.Addr{netip.MustParseAddr("93.184.215.14")}
	names := &answers{list: [][]netip.Addr{nil, one}}
	clock := newStill()
	w := newWire(Options{Timeout: time.Minute, Clock: clock, Resolver: names})
	for i, c := range []struct {
		after time.Duration
		asked int
		ok    bool
	}{
		{0, 1, false},
		{dnsFailureLife - 1, 1, false},
		{1, 2, true},
		{dnsLife - 1, 2, true},
		{1, 3, true},
	} {
		clock.advance(c.after)
		addrs, err := w.resolve(context.Background(), "a.test")
		if (err == nil) != c.ok || names.asked != c.asked {
			t.Errorf("step %d: %v, %v, asked %d, want ok %v, asked %d", i, addrs, err, names.asked, c.ok, c.asked)
		}
		var dns *net.DNSError
		if err != nil && !errors.As(err, &dns) {
			t.Errorf("%v: not an error of the name system", err)
		}
	}
}

// A gate forgets the hosts that have rested and no others.
func TestGateForgets(t *testing.T) {
	clock := newStill()
	g := NewGate(GateOptions{Delay: time.Second, Clock: clock})
	f := g.Before(emptyFetcher{})
	visit := func(i int) {
		u, err := web.Parse(fmt.Sprintf("http://h%d.test/", i))
		if err != nil {
			t.Fatal(err)
		}
		f.Fetch(context.Background(), u)
	}
	for i := range 20 * minSweep {
		visit(i)
		clock.advance(time.Millisecond)
	}
	// 1,000 hosts are asked in a second; twice that may be remembered.
	if n := len(g.of); n > 3*minSweep {
		t.Errorf("%d hosts remembered", n)
	}
	last := fmt.Sprintf("h%d.test", 20*minSweep-1)
	if g.of[last] == nil {
		t.Error("a host that rests is forgotten")
	}
}

type emptyFetcher struct{}

func (emptyFetcher) Fetch(context.Context, web.URL) (*web.Response, error) {
	return &web.Response{}, nil
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string // User-Agent, or a part of the error
	}{
		{Options{}, "no contact"},
		{Options{AllowPrivate: true}, "waggle/dev"},
		{Options{Contact: "mailto:me@example.org"}, "waggle/dev (+mailto:me@example.org)"},
		{Options{Contact: "https://example.org/bot", Version: "0.1"}, "waggle/0.1 (+https://example.org/bot)"},
		{Options{UserAgent: "Mine/1 (+https://example.org)"}, "Mine/1 (+https://example.org)"},
		{Options{Proxy: &url.URL{Scheme: "http", Host: "127.0.0.1:8080"}}, "no contact"},
		{Options{Proxy: &url.URL{Scheme: "http", Host: "127.0.0.1:8080"}, Recorded: true}, "waggle/dev"},
		{Options{Recorded: true}, "there is none"},
		{Options{Contact: "me@example.org", Proxy: &url.URL{Scheme: "socks4", Host: "127.0.0.1:1080"}}, "only http, https, socks5 and socks5h"},
		{Options{Contact: "me\r\nX-Evil: yes"}, "only printable ASCII"},
	} {
		err := c.o.setDefaults()
		got := c.o.UserAgent
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || strings.HasPrefix(c.want, "waggle") && got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A page waits for tdmrep.json as long as the longest Crawl-delay that is heeded takes.
func TestReservationsWaitForCrawlDelays(t *testing.T) {
	for longest, want := range map[time.Duration]time.Duration{time.Second: reservationsWait, 5 * time.Minute: 10 * time.Minute} {
		s, err := New(Options{AllowPrivate: true, Reservations: true, CrawlDelayCap: longest})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.sites.o.Wait != want {
			t.Errorf("a Crawl-delay of %v: waits for %v, want %v", longest, s.sites.o.Wait, want)
		}
	}
}

// Half a line of a robots.txt that was cut is none, whatever its lines end in.
func TestRobotsAreCut(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		body := strings.Join([]string{"User-agent: *", "Disallow: /no", "Disallow: /ha"}, end)
		v, _ := judgeRobots(&web.Response{Status: 200, Truncated: "length", Body: []byte(body)}, nil, true)
		if v.rules.Allowed(Agent, "/no") || !v.rules.Allowed(Agent, "/hat") {
			t.Errorf("%q allows /no: %t, /hat: %t", body, v.rules.Allowed(Agent, "/no"), v.rules.Allowed(Agent, "/hat"))
		}
	}
}

// The rules of a robots.txt take no more memory than they count for, whatever its lines are.
func TestRulesAreWeighed(t *testing.T) {
	for name, line := range map[string]func(i int) string{
		"rules":    func(int) string { return "allow:/\n" },
		"groups":   func(int) string { return "user-agent:abc\nallow:/\n" },
		"agents":   func(i int) string { return "user-agent:" + strconv.FormatInt(int64(i), 36) + "\n" },
		"sitemaps": func(int) string { return "sitemap:/\n" },
		"usual":    func(i int) string { return fmt.Sprintf("Disallow: /folder/%d/*.html\n", i) },
	} {
		body := []byte("user-agent:*\n")
		for i := 0; len(body) < maxRobots-100; i++ {
			body = append(body, line(i)...)
		}
		var before, after runtime.MemStats
		// What pools gave up in one collection is freed in the next.
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&before)
		v := rulesOf(200, body)
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		const others = 128 << 10 // bytes that what other tests left running may take or give back meanwhile
		if took := int(after.HeapAlloc) - int(before.HeapAlloc); took > v.weight+others || v.weight > 2*took+others {
			t.Errorf("%s: %d bytes for %d, counted as %d", name, took, len(body), v.weight)
		}
	}
}

// FuzzBody holds decoding to its bounds whatever a server sends: no panic, no
// body beyond the cap, nothing kept that was not received, and either some of
// the document, or all of it, or a failure.
func FuzzBody(f *testing.F) {
	codings := []string{"", "gzip", "br", "zstd", "deflate", "deflate, gzip", "zstd, br", "x-gzip, identity", "gzip, gzip, gzip, gzip"}
	types := []string{"text/html", "", "text/html; charset=utf-8", "image/png"}
	f.Add(byte(1), byte(0), []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"), 100)
	f.Add(byte(2), byte(0), []byte("\x0b\x02\x80hello\x03"), -1)
	f.Add(byte(3), byte(1), []byte("\x28\xb5\x2f\xfd\x04\x58"), 0)
	f.Add(byte(5), byte(1), []byte("x\x9c"), 3)
	f.Add(byte(0), byte(1), []byte("<!doctype html>"), 15)
	const limit = 1 << 16
	w := newWire(Options{Clock: newStill()})
	c := w.client(Types{"text/html"}, limit, nil)
	f.Fuzz(func(t *testing.T, coding, kind byte, sent []byte, announced int) {
		contentType := types[int(kind)%len(types)]
		in := &http.Response{
			StatusCode: 200, Body: io.NopCloser(bytes.NewReader(sent)), ContentLength: int64(max(announced, -1)),
			Header: http.Header{"Content-Encoding": {codings[int(coding)%len(codings)]}},
		}
		if contentType != "" {
			in.Header.Set("Content-Type", contentType)
		}
		budget := newMemory(1 << 30)
		s := budget.share()
		out := web.Response{Status: 200, Header: in.Header}
		watch := newTimer(context.Background(), time.Hour)
		defer watch.stop()
		err := c.readBody(context.Background(), watch, in, &out, s, 0)
		if len(out.Raw) > limit || len(out.Body) > limit {
			t.Fatalf("%d raw, %d decoded: beyond the cap of %d", len(out.Raw), len(out.Body), limit)
		}
		if !bytes.HasPrefix(sent, out.Raw) {
			t.Fatal("kept what was not sent")
		}
		if err == nil && out.Truncated == "" && len(out.Raw) != len(sent) {
			t.Fatalf("whole, but %d of %d bytes received", len(out.Raw), len(sent))
		}
		if err == nil && out.Truncated != "" && len(out.Body) == 0 {
			t.Fatalf("truncated by %s to nothing, but no failure", out.Truncated)
		}
		want := cap(out.Body) + treeFactor*len(out.Body)
		if list := web.Codings(in.Header["Content-Encoding"]); len(list) > 0 && len(out.Raw) > 0 {
			window, times := windows(list, &intake{data: out.Raw, err: io.EOF})
			want += cap(out.Raw) + window + times*len(out.Body)
		}
		if err == nil && s.size != int64(want) {
			t.Fatalf("%d bytes counted, want %d", s.size, want)
		}
	})
}

// One site whose names have no answer does not end the guard before a proxy; three do, until
// a name that is looked up now and then has one. Names of no public web are refused always.
func TestProxyGuardRecovers(t *testing.T) {
	clock, down := newStill(), true
	looked := 0
	var notes []string
	w := newWire(Options{
		Clock: clock, Timeout: time.Second, Proxy: &url.URL{Scheme: "http", Host: "proxy.test:3128"},
		Note: func(s string) { notes = append(notes, s) },
		Resolver: resolver(func(name string) ([]netip.Addr, error) {
			looked++
			if down {
				return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
			}
			return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
		}),
	})
	defer w.close()
	ask := func(host string, refused bool, looks int) {
		t.Helper()
		u, err := web.Parse("http://" + host + "/")
		if err != nil {
			t.Fatal(err)
		}
		before := looked
		err = w.guardName(t.Context(), u, u.Host().Name())
		var f *web.Failure
		if got := errors.As(err, &f) && f.Reason == web.ReasonAddress; got != refused || (err != nil) != refused || looked-before != looks {
			t.Errorf("%s: %v after %d look-ups, want refused %t after %d", host, err, looked-before, refused, looks)
		}
	}
	for i := range 5 {
		ask(fmt.Sprintf("h%d.evil.test", i), false, 1)
	}
	ask("a.test", false, 1)
	ask("b.test", false, 1)
	ask("c.test", false, 0)
	if len(notes) != 1 {
		t.Errorf("notes: %q", notes)
	}
	for _, name := range []string{"localhost", "a.localhost", "printer.local", "metadata.google.internal", "intranet", "localhost.", "router.home.arpa", "home.arpa", "metadata.tencentyun.com", "localhost.localdomain", "nas.LAN", "wiki.corp", "x.home", "x.private", "wiki.intranet."} {
		ask(name, true, 0)
	}
	clock.advance(lookAgain)
	ask("d.test", false, 1)
	ask("e.test", false, 0)
	down = false
	clock.advance(lookAgain)
	ask("f.test", true, 1)
	ask("g.test", true, 1)
	if len(notes) != 1 {
		t.Errorf("notes: %q", notes)
	}
}

// With leave for private addresses a proxy is asked for names of a network, and still not for
// those of metadata services.
func TestProxyIsNotAskedForMetadata(t *testing.T) {
	for _, scheme := range []string{"http", schemeSOCKSNames} {
		w := newWire(Options{
			Clock: newStill(), AllowPrivate: true, Proxy: &url.URL{Scheme: scheme, Host: "proxy.test:8080"}, Note: func(string) {},
			Resolver: resolver(func(name string) ([]netip.Addr, error) {
				return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
			}),
		})
		defer w.close()
		for host, refused := range map[string]bool{
			"intranet": false, "printer.local": false, "a.internal": false, "metadata.test": false,
			"metadata": true, "metadata.google.internal": true, "METADATA.google.internal.": true, "metadata.goog": true, "instance-data": true,
			"instance-data.ec2.internal": true, "metadata.tencentyun.com": true, "api.metadata.cloud.ibm.com": true,
		} {
			u, err := web.Parse("http://" + host + "/latest")
			if err != nil {
				t.Fatal(err)
			}
			err = w.guardName(t.Context(), u, u.Host().Name())
			var f *web.Failure
			if got := errors.As(err, &f) && f.Reason == web.ReasonAddress; got != refused || (err != nil) != refused {
				t.Errorf("%s, %s: %v, want refused %t", scheme, host, err, refused)
			}
		}
	}
}

type resolver func(name string) ([]netip.Addr, error)

func (r resolver) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	return r(name)
}
