package fetch_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/badweb"
	"github.com/waggle-crawler/waggle/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// badWeb starts the web of misbehaviours.
func badWeb(t testing.TB) *badweb.Server {
	t.Helper()
	s, err := badweb.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// through returns a stack that sees nothing but s, with the guard on.
func through(t testing.TB, s *badweb.Server, change func(*fetch.Options)) *fetch.Stack {
	t.Helper()
	o := fetch.Options{
		Contact: "mailto:test@example.org", Version: "1.2",
		Delay: -1, OwnHosts: []string{"bad.test"}, Timeout: 30 * time.Second,
		Resolver: s, Connect: s.Connect, CAs: s.CAs(),
	}
	if change != nil {
		change(&o)
	}
	f, err := fetch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func address(t testing.TB, s string) web.URL {
	t.Helper()
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Every misbehaviour comes to the outcome its scenario states, within bounds.
func TestBadWeb(t *testing.T) {
	const limit = 1 << 20
	const bound = 30 * time.Second // for one misbehaviour, all being asked at the same time
	s := badWeb(t)
	temporary := map[web.Reason]bool{
		web.ReasonTimeout: true, web.ReasonReset: true, web.ReasonConnect: true, web.ReasonRobotsMissing: true,
	}
	if n := len(s.Scenarios()) + len(s.Documents()); n < 150 {
		t.Errorf("%d misbehaviours", n)
	}
	fetched := func(sc badweb.Scenario) func() (*web.Response, error) {
		f := through(t, s, func(o *fetch.Options) {
			o.Clock = newFastClock() // or Crawl-delay would be waited for
			o.MaxBody = limit
			if sc.Hangs {
				o.Timeout = 5 * time.Second
			}
		})
		u := address(t, sc.URL)
		return func() (*web.Response, error) { return f.Fetch(context.Background(), u) }
	}
	// What hangs is waited for side by side, by as many goroutines.
	type answer struct {
		r    *web.Response
		err  error
		took time.Duration
	}
	timed := func(ask func() (*web.Response, error)) answer {
		began := time.Now()
		r, err := ask()
		return answer{r, err, time.Since(began)}
	}
	waited := map[string]chan answer{}
	var waiting sync.WaitGroup
	for _, sc := range s.Scenarios() {
		if sc.Hangs {
			ask, c := fetched(sc), make(chan answer, 1)
			waiting.Go(func() { c <- timed(ask) })
			waited[sc.Name] = c
		}
	}
	t.Cleanup(waiting.Wait) // before their stacks are closed, also where their subtests are filtered out
	t.Run("scenarios", func(t *testing.T) {
		for _, sc := range s.Scenarios() {
			t.Run(sc.Name, func(t *testing.T) {
				t.Parallel()
				var a answer
				if sc.Hangs {
					a = <-waited[sc.Name]
				} else {
					a = timed(fetched(sc))
				}
				r, err := a.r, a.err
				if a.took > bound {
					t.Errorf("took %v, more than %v", a.took, bound)
				}
				_, page, _ := strings.Cut(sc.URL, "://")
				if n, want := s.Hits(page), requests(sc); n != want {
					t.Errorf("%d requests for the page arrived, want %d", n, want)
				}
				if (sc.Failure != "" || sc.Truncated != "") && sc.Name != "h2-no-streams" { // which leaves one that is idle
					// A server that floods is not listened to any longer.
					host, _, _ := strings.Cut(page, "/")
					for left := 300; s.Open(host) > 0; left-- {
						if left == 0 {
							t.Errorf("%d requests and connections are open after three seconds", s.Open(host))
							break
						}
						time.Sleep(10 * time.Millisecond)
					}
				}
				if sc.Failure != "" {
					var why *web.Failure
					if !errors.As(err, &why) {
						t.Fatalf("got %v, %v, want failure %q", r, err, sc.Failure)
					}
					if string(why.Reason) != sc.Failure {
						t.Errorf("reason %q (%s), want %q", why.Reason, why.Detail, sc.Failure)
					}
					want := temporary[why.Reason] || sc.Name == "dns-failure" || sc.Name == "dns-silent"
					if why.Temporary != want {
						t.Errorf("temporary %v, want %v: %v", why.Temporary, want, why)
					}
					if why.Detail == "" {
						t.Error("no detail")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if r.Status != sc.Status || r.Truncated != sc.Truncated || r.Location.String() != sc.Location {
					t.Errorf("status %d truncated %q location %q, want %d %q %q",
						r.Status, r.Truncated, r.Location, sc.Status, sc.Truncated, sc.Location)
				}
				if body := string(r.Body); sc.Truncated != "" && !strings.HasPrefix(body, sc.Body) || sc.Truncated == "" && (sc.Body != "" || sc.Crawl == "empty") && body != sc.Body {
					t.Errorf("body %.200q of %d bytes, want %.200q of %d", body, len(body), sc.Body, len(sc.Body))
				}
				if len(r.Raw) > limit || len(r.Body) > limit {
					t.Errorf("%d raw and %d decoded bytes: beyond the cap", len(r.Raw), len(r.Body))
				}
				between := sc.Name == "chain-members" // it is cut between two codings, of which neither end is seen
				if r.Truncated == "length" && !between && len(r.Body) != limit && len(r.Raw) != limit && (r.Status == 200 || len(r.Body) != 64<<10) {
					t.Errorf("%d bytes: not cut at a cap", len(r.Body))
				}
				if strings.Contains(sc.Name, "bomb") && len(r.Raw) > limit/4 {
					t.Errorf("%d bytes of a bomb received: did not end early", len(r.Raw))
				}
				checkHeads(t, r)
			})
		}
	})
	if strays := s.Strays(); len(strays) > 0 {
		t.Errorf("connections to %v: outside of the web", strays)
	}
}

// requests is how many requests for its page a scenario is to see.
func requests(sc badweb.Scenario) int {
	switch sc.Failure {
	case "address", "dns", "connect", "tls", "robots", "robots-unknown":
		return 0 // it ends before
	}
	switch sc.Name {
	case "reset", "hang-up":
		return 2 // net/http asks once more where a connection that brought robots.txt ends without a byte
	}
	return 1
}

// checkHeads holds both heads to what an archive needs of them.
func checkHeads(t *testing.T, r *web.Response) {
	t.Helper()
	for _, head := range [][]byte{r.RequestHead, r.Head} {
		text := string(head)
		if !strings.HasSuffix(text, "\r\n") || strings.Contains(text, "\r\n\r\n") {
			t.Errorf("head is not lines ended by CRLF: %.200q", text)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				t.Errorf("control character in %q", line)
			}
		}
	}
	if got := string(r.RequestHead); !strings.HasPrefix(got, "GET "+r.URL.RequestPath()+" HTTP/1.1\r\nHost: "+string(r.URL.Host())+"\r\n") {
		t.Errorf("request head %q", got)
	}
	if !strings.HasPrefix(string(r.Head), "HTTP/1.1 ") {
		t.Errorf("head %.100q", r.Head)
	}
	if r.Header["Transfer-Encoding"] != nil || strings.Contains(strings.ToLower(string(r.Head)), "\r\ntransfer-encoding:") {
		t.Error("transfer coding is undone but still in the head")
	}
}

func TestDefaultCap(t *testing.T) {
	s := badWeb(t)
	r, err := through(t, s, nil).Fetch(context.Background(), address(t, "http://endless-body.bad.test/"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Body) != 10<<20 || r.Truncated != "length" {
		t.Errorf("%d bytes, truncated %q, want 10 MiB", len(r.Body), r.Truncated)
	}
}

func TestNoCookieIsSentBack(t *testing.T) {
	s := badWeb(t)
	f := through(t, s, nil)
	for _, path := range []string{"", "", "again"} {
		r, err := f.Fetch(context.Background(), address(t, "http://cookies.bad.test/"+path))
		if err != nil || r.Status != http.StatusOK {
			t.Fatalf("%v, %v: a cookie came back", r, err)
		}
	}
}

func TestCrawlDelayIsCapped(t *testing.T) {
	s := badWeb(t)
	for _, c := range []struct{ limit, want time.Duration }{
		{0, time.Minute}, {5 * time.Second, 5 * time.Second}, {-1, 0},
	} {
		f := through(t, s, func(o *fetch.Options) {
			o.CrawlDelayCap = c.limit
			o.Clock = newFastClock()
		})
		r, err := f.Fetch(context.Background(), address(t, "http://robots-delay.bad.test/yes"))
		if err != nil || r.CrawlDelay != c.want {
			t.Errorf("cap %v: %+v, %v, want %v", c.limit, r, err, c.want)
		}
	}
}

// The exchange with robots.txt travels with the first answer of an origin
// only, be it a response or a failure.
func TestRobotsExchangeIsReportedOnce(t *testing.T) {
	s := badWeb(t)
	f := through(t, s, nil)
	ctx := context.Background()

	r, err := f.Fetch(ctx, address(t, "http://robots-redirect.bad.test/yes"))
	if err != nil || r.Robots == nil || r.Robots.URL.String() != "http://robots-away.bad.test/rules" {
		t.Fatalf("%+v, %v: want the exchange that brought the rules", r, err)
	}
	if r, err = f.Fetch(ctx, address(t, "http://robots-redirect.bad.test/yes")); err != nil || r.Robots != nil {
		t.Fatalf("%+v, %v: the rules were known", r, err)
	}
	for _, want := range []bool{true, false} {
		var why *web.Failure
		if _, err := f.Fetch(ctx, address(t, "http://robots-503.bad.test/yes")); !errors.As(err, &why) || (why.Robots != nil) != want {
			t.Fatalf("%+v: exchange reported: want %v", why, want)
		}
	}
	for _, asked := range []string{"robots-redirect.bad.test/robots.txt", "robots-away.bad.test/rules", "robots-503.bad.test/robots.txt"} {
		if n := s.Hits(asked); n != 1 {
			t.Errorf("%s asked %d times", asked, n)
		}
	}
	if n := s.Hits("robots-503.bad.test/yes"); n != 0 {
		t.Errorf("a page of unknown rules asked %d times", n)
	}
}

// Rules hold for a day, not knowing them for a minute.
func TestRobotsLife(t *testing.T) {
	s := badWeb(t)
	c := newFastClock()
	f := through(t, s, func(o *fetch.Options) { o.Clock = c })
	for _, step := range []struct {
		after     time.Duration
		known     int // requests for the rules of a host that has some
		forbidden int // and of one that answers 503
	}{
		{0, 1, 1},
		{time.Minute - 1, 1, 1},
		{1, 1, 2},
		{24*time.Hour - time.Minute - 1, 1, 3},
		{1, 2, 3},
	} {
		c.advance(step.after)
		f.Fetch(context.Background(), address(t, "http://robots-huge.bad.test/yes"))
		f.Fetch(context.Background(), address(t, "http://robots-503.bad.test/yes"))
		if n, m := s.Hits("robots-huge.bad.test/robots.txt"), s.Hits("robots-503.bad.test/robots.txt"); n != step.known || m != step.forbidden {
			t.Errorf("%v later: asked %d and %d times, want %d and %d", step.after, n, m, step.known, step.forbidden)
		}
	}
}

// A robots.txt that is to be asked for later is unknown: never what allows, nor
// what disallows. It is asked for again when its time has come, and not before.
func TestRobotsLater(t *testing.T) {
	s := badWeb(t)
	for _, c := range []struct {
		host string
		life time.Duration
	}{
		{"robots-429", time.Minute}, {"robots-429-later", 2 * time.Hour}, {"robots-503", time.Minute}, {"robots-503-later", 2 * time.Hour},
	} {
		clock := newFastClock()
		f := through(t, s, func(o *fetch.Options) { o.Clock = clock })
		for _, step := range []struct {
			after time.Duration
			asked int
			wait  time.Duration
		}{
			{0, 1, c.life}, {time.Minute - 1, 1, c.life - time.Minute + 1}, {c.life - time.Minute, 1, 1}, {1, 2, c.life},
		} {
			clock.advance(step.after)
			_, err := f.Fetch(context.Background(), address(t, "http://"+c.host+".bad.test/yes"))
			var why *web.Failure
			if !errors.As(err, &why) || why.Reason != web.ReasonRobotsMissing || !why.Temporary || why.RetryAfter != step.wait {
				t.Errorf("%s, %v later: %+v, want it unknown for %v", c.host, step.after, err, step.wait)
			}
			if n := s.Hits(c.host + ".bad.test/robots.txt"); n != step.asked {
				t.Errorf("%s, %v later: robots.txt asked for %d times, want %d", c.host, step.after, n, step.asked)
			}
		}
		if n := s.Hits(c.host + ".bad.test/yes"); n != 0 {
			t.Errorf("%s: a page of unknown rules asked for %d times", c.host, n)
		}
	}
}

// A robots.txt with rules and a Retry-After: the rules hold, and the page waits.
func TestRobotsWithRetryAfter(t *testing.T) {
	var asked []string
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.Header().Set("Retry-After", "3600")
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "User-agent: *\nDisallow: /no\n")
	})
	clock := newFastClock()
	f := direct(t, func(o *fetch.Options) { o.IgnoreRobots, o.Clock = false, clock })
	for i, step := range []struct {
		after  time.Duration
		path   string
		reason web.Reason
	}{
		{0, "yes", web.ReasonBusy},
		{0, "no", web.ReasonRobots},
		{time.Hour - time.Millisecond*10, "no", web.ReasonRobots},
		{time.Minute, "yes", ""},
		{0, "yes", web.ReasonBusy},
	} {
		clock.advance(step.after)
		_, err := f.Fetch(context.Background(), address(t, base+step.path))
		var why *web.Failure
		if errors.As(err, &why); (why != nil) != (step.reason != "") || why != nil && why.Reason != step.reason {
			t.Errorf("step %d: %v, want %q", i, err, step.reason)
		}
		if (i == 0) != (why != nil && why.Robots != nil) {
			t.Errorf("step %d: the exchange that brought the rules is told, or not told: %+v", i, why)
		}
	}
	if !slices.Equal(asked, []string{"/robots.txt", "/yes"}) {
		t.Errorf("asked %v", asked)
	}
}

// What is wrong with a header is said by its name, and nothing of it reaches a
// terminal.
func TestBadHeaderIsNamed(t *testing.T) {
	s := badWeb(t)
	f := through(t, s, nil)
	for host, name := range map[string]string{
		"header-nul": `"X-Odd"`, "header-escape": `"X-Odd"`, "header-cr": `"X-Odd"`, "header-delete": `"X-Odd"`,
		"header-name": `"X-O\x01dd"`, "header-name-high": `"X-Od\xe9"`, "header-no-colon": `"X-Odd"`,
	} {
		_, err := f.Fetch(context.Background(), address(t, "http://"+host+".bad.test/"))
		var why *web.Failure
		if !errors.As(err, &why) || !strings.Contains(why.Detail, name) || strings.ContainsFunc(why.Detail, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%s: %v, want the name %s", host, err, name)
		}
	}
	r, err := f.Fetch(context.Background(), address(t, "http://header-high.bad.test/"))
	if err != nil || !strings.Contains(string(r.Head), "X-Odd: caf\xe9 \xff\r\n") {
		t.Errorf("%v, %v: bytes above ASCII are part of headers", r, err)
	}
}

// A link to a port of another service is not followed, whoever listens there.
func TestUnsafePorts(t *testing.T) {
	s := badWeb(t)
	f := through(t, s, nil)
	for _, u := range []string{"http://fine.bad.test:22/", "https://fine.bad.test:25/", "http://fine.bad.test:0/", "http://[2fff:bad::1]:6667/"} {
		var why *web.Failure
		if _, err := f.Fetch(context.Background(), address(t, u)); !errors.As(err, &why) || why.Reason != web.ReasonPort {
			t.Errorf("%s: %v, want it refused", u, err)
		}
	}
}

func TestFollow(t *testing.T) {
	s := badWeb(t)
	f := through(t, s, nil)
	for _, c := range []struct {
		url    string
		max    int
		reason web.Reason
	}{
		{"http://fine.bad.test/", 0, ""},
		{"http://redirect-self.bad.test/", 5, web.ReasonRedirectLoop},
		{"http://redirect-loop.bad.test/", 5, web.ReasonRedirectLoop},
		{"http://redirect-on-and-on.bad.test/0", 5, web.ReasonRedirects},
		{"http://redirect-private.bad.test/", 5, web.ReasonAddress},
		{"http://redirect-no-web.bad.test/", 5, web.ReasonRedirectBad},
		{"http://redirect-nowhere.bad.test/", 5, web.ReasonRedirectBad},
	} {
		r, err := fetch.Follow(context.Background(), f, address(t, c.url), c.max)
		var why *web.Failure
		if c.reason == "" {
			if err != nil || r.Status != 200 {
				t.Errorf("%s: %v, %v", c.url, r, err)
			}
		} else if !errors.As(err, &why) || why.Reason != c.reason {
			t.Errorf("%s: %v, %v, want %s", c.url, r, err, c.reason)
		}
	}
	if n := s.Hits("redirect-on-and-on.bad.test/5"); n != 1 {
		t.Errorf("fifth redirect followed %d times, want once", n)
	}
	if n := s.Hits("redirect-on-and-on.bad.test/6"); n != 0 {
		t.Errorf("sixth redirect followed %d times, want never", n)
	}
}

// A crawl that is stopped gets its own error back, wherever a request is.
func TestStopping(t *testing.T) {
	s := badWeb(t)
	for _, host := range []string{"dns-silent", "connect-silent", "head-slow", "stalled-before-body", "stalled-body", "robots-hangs"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer stop()
			r, err := through(t, s, nil).Fetch(ctx, address(t, "http://"+host+".bad.test/yes"))
			if r != nil || err != context.DeadlineExceeded {
				t.Errorf("%v, %v", r, err)
			}
		})
	}
}

// A failure after a new connection tells so: the network works. A connection that was
// there before says nothing: head-slow gave its robots.txt over the same one.
func TestConnected(t *testing.T) {
	s := badWeb(t)
	for host, want := range map[string]bool{"head-slow": false, "robots-hangs": true, "connect-silent": false, "dns-silent": false} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			stack := through(t, s, func(o *fetch.Options) { o.Timeout = 3 * time.Second })
			_, err := stack.Fetch(context.Background(), address(t, "http://"+host+".bad.test/yes"))
			var f *web.Failure
			if !errors.As(err, &f) || f.Connected != want {
				t.Errorf("%+v, want Connected: %t", err, want)
			}
		})
	}
}

func TestHTTP2(t *testing.T) {
	s := badWeb(t)
	var made atomic.Int32
	f := through(t, s, func(o *fetch.Options) {
		o.Connect = func(ctx context.Context, network, address string) (net.Conn, error) {
			made.Add(1)
			return s.Connect(ctx, network, address)
		}
	})
	for range 2 {
		r, err := f.Fetch(context.Background(), address(t, "https://tls-fine.bad.test/"))
		if err != nil || r.Proto != "HTTP/2.0" || r.Remote == "" {
			t.Fatalf("%+v, %v", r, err)
		}
		checkHeads(t, r)
	}
	if n := made.Load(); n != 1 {
		t.Errorf("%d connections for three requests", n)
	}
}
