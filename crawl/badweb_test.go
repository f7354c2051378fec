package crawl_test

import (
	"context"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/badweb"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// A crawl of a web in which everything goes wrong goes on, until it is stopped; every
// misbehaviour ends in a page or a reason, the sites among them on which nothing is wrong are
// fetched whole, and memory stays below 500 MB.
func TestBadWeb(t *testing.T) {
	bad, err := badweb.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	const timeout = 5 * time.Second
	fetcher, err := fetch.New(fetch.Options{
		Contact: "test@bad.test", Delay: -1, OwnHosts: []string{"bad.test"}, CrawlDelayCap: 10 * time.Millisecond, Timeout: timeout,
		Memory: 256 << 20, // as of a job, which MaxBody is, too
		CAs:    bad.CAs(), Resolver: bad, Connect: bad.Connect,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer fetcher.Close()
	dir := t.TempDir()
	archive, err := store.Create(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seed, err := web.Parse(bad.Index())
	if err != nil {
		t.Fatal(err)
	}
	awaited := map[string]bool{} // addresses of which nothing was heard yet
	later := map[string]bool{}   // of these, those of which it is enough to hear that they are tried again
	for _, s := range bad.Scenarios() {
		u, err := web.Canon{StripSessions: true}.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		awaited[u.String()] = true
		switch web.Reason(s.Crawl) {
		case web.ReasonRobotsMissing, web.ReasonDNS, web.ReasonConnect, web.ReasonTimeout, web.ReasonReset, web.ReasonStatus:
			later[u.String()] = true
		}
	}
	for _, first := range bad.Good() {
		for i := range badweb.GoodPages {
			awaited[strings.TrimSuffix(first, "0")+strconv.Itoa(i)] = true
		}
	}
	// What redirects lead to.
	led := map[string]string{
		"http://redirect-loop.bad.test/there":       "redirect-loop",
		"http://redirect-on-and-on.bad.test/10":     "redirects",
		"http://169.254.169.254/latest/meta-data/":  "address",
		"http://cookies.bad.test/again":             "page",
		"http://sessions.bad.test/shop":             "page",
		"http://redirect-on-and-on.bad.test/12":     "",
		"http://redirect-private.bad.test/whatever": "",
	}
	for u, outcome := range led {
		if outcome != "" {
			awaited[u] = true
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	heard := func(u web.URL) {
		if delete(awaited, u.String()); len(awaited) == 0 {
			stop()
		}
	}
	got := map[string][]string{}     // what became of an address, in order
	waits := map[string]web.Reason{} // why an address is to be tried again
	details := map[string]string{}   // of the same
	pages := 0
	peak := peakMemory(t)
	c := &crawl.Crawl{
		Seeds: []web.URL{seed}, Frontier: frontier.NewMemory(frontier.Options{MaxPerHost: 400}), Fetcher: fetcher,
		Parser: parse.New(parse.Options{Canon: web.Canon{StripSessions: true}}), Judge: evenJudge{}, Scorer: scorer,
		Archive: archive, Workers: 24,
		Policy: crawl.Policy{MaxTries: 2, Backoff: 10 * time.Millisecond, MaxFailures: 100},
		Listen: func(e event.Event) {
			switch e := e.(type) {
			case event.Fetched:
				pages++
				outcome := "page"
				if e.Reason != "" && e.Reason != web.ReasonDuplicate {
					outcome += " " + string(e.Reason)
				}
				got[e.URL.String()] = append(got[e.URL.String()], outcome)
				heard(e.URL)
			case event.Failed:
				details[e.URL.String()] = e.Detail
				if waits[e.URL.String()] = e.Reason; !e.Retry {
					got[e.URL.String()] = append(got[e.URL.String()], string(e.Reason))
				}
				if !e.Retry || later[e.URL.String()] {
					heard(e.URL)
				}
			}
		},
	}
	// What is to be tried again in a minute or two is not waited for.
	how, err := c.Run(ctx)
	most := peak()
	if err != nil || how != event.Stopped || len(awaited) > 0 {
		for u := range awaited {
			page := u[:strings.LastIndex(u, "/")+1] // which leads to it
			t.Logf("%s: %v, waits for %q", page, got[page], waits[page])
		}
		t.Fatalf("ended %q after %d pages: %v; nothing was heard of %v", how, pages, err, awaited)
	}
	for _, s := range bad.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			u, err := web.Canon{StripSessions: true}.Parse(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			outcomes := got[u.String()]
			switch web.Reason(s.Crawl) {
			case web.ReasonRobotsMissing, web.ReasonDNS, web.ReasonConnect, web.ReasonTimeout, web.ReasonReset:
				// Its host does not answer, or its robots.txt is asked for again in
				// a minute: it waits.
				if s.Name == "dns-unknown" {
					break
				}
				why := waits[u.String()]
				if s.Crawl == string(web.ReasonTimeout) && why == web.ReasonReset {
					why = web.ReasonTimeout // the server hung up on the second request, when the first was given up
				}
				if len(outcomes) != 0 || why != web.Reason(s.Crawl) {
					t.Errorf("%s: %v, waits for %q (%s)", u, outcomes, waits[u.String()], details[u.String()])
				}
				return
			}
			want := "page"
			if s.Crawl != "" {
				want = s.Crawl
			}
			if s.Name == "redirect-private" { // the index names its target too
				want = string(web.ReasonRedirectKnown)
			}
			if s.Name == "retry-after" {
				if len(outcomes) != 0 || bad.Hits("retry-after.bad.test/") != 1 {
					t.Errorf("told to wait two minutes: %v after %d requests", outcomes, bad.Hits("retry-after.bad.test/"))
				}
				return
			}
			if !slices.Equal(outcomes, []string{want}) {
				t.Errorf("%s: %v, want %s once; it waits for %q", u, outcomes, want, waits[u.String()])
			}
		})
	}
	for u, want := range led {
		if have := strings.Join(got[u], ", "); have != want {
			t.Errorf("%s: %q, want %q", u, have, want)
		}
	}
	if s := bad.Strays(); len(s) > 0 {
		t.Errorf("connections to other addresses: %v", s)
	}
	const bound = 500e6
	if most > bound {
		t.Errorf("%d MB of memory, more than %d", most/1e6, int(bound)/1e6)
	}
	for _, first := range bad.Good() {
		for i := range badweb.GoodPages {
			if u := strings.TrimSuffix(first, "0") + strconv.Itoa(i); !slices.Equal(got[u], []string{"page"}) {
				t.Errorf("%s: %v, on a site on which nothing is wrong", u, got[u])
			}
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	paths, err := store.Paths(dir)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for r, err := range store.Records(paths...) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[r.Type()]++
	}
	if kinds["response"] < pages || kinds["metadata"] < pages {
		t.Errorf("the archive of %d pages holds %v", pages, kinds)
	}
	t.Logf("%d pages; %d MB of memory; archive: %v", pages, most/1e6, kinds)
}

// peakMemory begins to look at the memory of the process every 20 ms; peak ends that, and is
// the most that the system had given, less what it had back.
func peakMemory(t testing.TB) (peak func() uint64) {
	var most uint64
	done := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		m := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(m)
			most = max(most, m[0].Value.Uint64()-m[1].Value.Uint64())
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	end := sync.OnceFunc(func() { close(done); looking.Wait() })
	t.Cleanup(end)
	return func() uint64 { end(); return most }
}
