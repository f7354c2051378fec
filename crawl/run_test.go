package crawl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

func TestMain(m *testing.M) {
	long.InMemory()
	goleak.VerifyTestMain(m)
}

// mapWeb is a web in memory: address without "http://" → body.
type mapWeb map[string]string

func (w mapWeb) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	body, ok := w[strings.TrimPrefix(u.String(), "http://")]
	if !ok {
		return &web.Response{URL: u, Status: 404}, nil
	}
	return &web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Raw: []byte(body), Body: []byte(body),
	}, nil
}

// tree is a web of binary trees, one on each host: page n links to 2n and
// 2n+1; the first page of each host links to the next host.
func tree(hosts, pages int) mapWeb {
	w := mapWeb{}
	for h := range hosts {
		for n := 1; n <= pages; n++ {
			w[fmt.Sprintf("h%d.example/%d", h, n)] = fmt.Sprintf(
				`<title>%d on %d</title><a href="/%d">left %d</a> <a href="/%d">right</a> <a href="http://h%d.example/1">next</a>`,
				n, h, 2*n, n, 2*n+1, (h+1)%hosts)
		}
	}
	return w
}

// evenJudge finds every page relevant whose title begins with an even number.
type evenJudge struct{}

func (evenJudge) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	var n int
	fmt.Sscan(p.Title, &n)
	return web.Verdict{Relevance: float64(1 - n%2), Relevant: n%2 == 0}, nil
}

func newCrawl(t *testing.T, w mapWeb, workers int) *crawl.Crawl {
	t.Helper()
	scorer, err := score.New("best-first-page", score.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seed, err := web.Parse("http://h0.example/1")
	if err != nil {
		t.Fatal(err)
	}
	return &crawl.Crawl{
		Seeds: []web.URL{seed}, Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: w,
		Parser: parse.New(parse.Options{}), Judge: evenJudge{}, Scorer: scorer, Workers: workers,
	}
}

// stillClock is a clock that stands still: what a crawl does then depends on
// nothing but what it finds.
type stillClock struct{}

func (stillClock) Now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func (stillClock) NewTimer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

// With one worker a crawl is a function of its web: every event is the same
// again, to the byte.
func TestOneWorkerIsDeterministic(t *testing.T) {
	log := func() string {
		c := newCrawl(t, tree(3, 40), 1)
		c.Clock = stillClock{}
		c.Policy.Pages = 50
		var b strings.Builder
		c.Listen = func(e event.Event) {
			j, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %s\n", e.Kind(), j)
		}
		how, err := c.Run(t.Context())
		if err != nil || how != event.BudgetSpent {
			t.Fatal(how, err)
		}
		return b.String()
	}
	first := log()
	if strings.Count(first, "\nfetched ") != 50 {
		t.Fatalf("not 50 pages:\n%s", first)
	}
	if again := log(); again != first {
		t.Error("the second crawl differs from the first")
	}
}

// changingScorer gives every link the same priority, and a higher one each time that
// it has changed its mind.
type changingScorer struct {
	pages int
	turns []int // the pages after which it changes its mind
	model int   // how often it has
	asked map[web.URL]int
	calls int
}

func (s *changingScorer) Extract(p *web.Page, _ web.Verdict) [][]byte {
	return make([][]byte, len(p.Links))
}
func (s *changingScorer) Visit(*web.Candidate, *web.Page, web.Verdict) []byte {
	s.pages++
	return nil
}

func (s *changingScorer) Score(c *web.Candidate) float64 {
	s.calls++
	s.asked[c.URL] = s.model
	return float64(s.model)
}

func (s *changingScorer) Stale() bool {
	if s.model == len(s.turns) || s.pages < s.turns[s.model] {
		return false
	}
	s.model++
	return true
}

func (*changingScorer) Rescores() bool        { return false }
func (*changingScorer) State() ([]byte, bool) { return nil, false }
func (*changingScorer) Restore([]byte) error  { return nil }

// When a scorer has changed its mind all that waits is scored anew, a slice
// after each page: none is long, and none is left out, also where it changes its mind
// again meanwhile.
func TestSweep(t *testing.T) {
	const links = 6000
	var page strings.Builder
	page.WriteString("<title>1</title>")
	for i := range links {
		fmt.Fprintf(&page, `<a href="/%d">x</a>`, i)
	}
	w := mapWeb{"h0.example/start": page.String()}
	for i := range links {
		w[fmt.Sprintf("h0.example/%d", i)] = fmt.Sprintf("<p>page %d", i)
	}
	c := newCrawl(t, w, 1)
	seed, err := web.Parse("http://h0.example/start")
	if err != nil {
		t.Fatal(err)
	}
	scorer := &changingScorer{turns: []int{3, 5}, asked: map[web.URL]int{}}
	c.Seeds, c.Scorer, c.Clock, c.Policy.Pages = []web.URL{seed}, scorer, stillClock{}, 12
	var calls []int
	c.Listen = func(e event.Event) {
		if _, ok := e.(event.Fetched); ok {
			calls = append(calls, scorer.calls)
			scorer.calls = 0
		}
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The links of the seed; then, after the third page and each of the next two, a
	// slice of those that two pages have left, and after the sixth page the same from
	// the beginning on. What is fetched meanwhile was in a slice before, since they go
	// from the best on.
	want := []int{links, 0, 0, 2048, 2048, links - 2 - 2*2048, 2048, 2048, links - 5 - 2*2048, 0, 0, 0}
	if !slices.Equal(calls, want) {
		t.Errorf("scores asked for between pages:\n%d, want\n%d", calls, want)
	}
	var by [3]int
	for _, model := range scorer.asked {
		by[model]++
	}
	if by != [3]int{2, 2, links - 4} {
		t.Errorf("%d addresses have their priority of the first, second and third model, want the 2 fetched before each change", by)
	}
}

// Two crawls in one process know nothing of each other.
func TestTwoCrawlsAtATime(t *testing.T) {
	alone := func(hosts int) (urls []string) {
		c := newCrawl(t, tree(hosts, 30), 1)
		c.Clock = stillClock{}
		c.Listen = func(e event.Event) {
			if f, ok := e.(event.Fetched); ok {
				urls = append(urls, f.URL.String())
			}
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Error(err)
		}
		return urls
	}
	small, large := alone(2), alone(5)
	var both [2][]string
	var running sync.WaitGroup
	running.Go(func() { both[0] = alone(2) })
	running.Go(func() { both[1] = alone(5) })
	running.Wait()
	if !slices.Equal(both[0], small) || !slices.Equal(both[1], large) {
		t.Error("two crawls at a time differ from each on its own")
	}
}

// The budget is met exactly and no page is fetched twice, however many workers
// there are; a crawl of everything ends with an empty frontier.
func TestBudgetAndEnd(t *testing.T) {
	for _, c := range []struct {
		workers, budget, want int
		how                   event.Ending
	}{
		{1, 10, 10, event.BudgetSpent},
		{16, 77, 77, event.BudgetSpent},
		{16, 0, 200, event.FrontierEmpty},
		{3, 1000, 200, event.FrontierEmpty},
	} {
		t.Run(fmt.Sprintf("%d workers, %d pages", c.workers, c.budget), func(t *testing.T) {
			run := newCrawl(t, tree(20, 10), c.workers)
			run.Policy.Pages = c.budget
			var urls []string
			run.Listen = func(e event.Event) {
				if f, ok := e.(event.Fetched); ok {
					urls = append(urls, f.URL.String())
				}
			}
			how, err := run.Run(t.Context())
			if err != nil || how != c.how {
				t.Errorf("ended %q, %v; want %q", how, err, c.how)
			}
			slices.Sort(urls)
			if n := len(slices.Compact(urls)); n != c.want || len(urls) != c.want {
				t.Errorf("%d pages, %d different ones; want %d", len(urls), n, c.want)
			}
		})
	}
}

// silentWeb is a web that never answers.
type silentWeb struct{ asked chan struct{} }

func (h silentWeb) Fetch(ctx context.Context, _ web.URL) (*web.Response, error) {
	h.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestStopsWhileFetching(t *testing.T) {
	c := newCrawl(t, nil, 4)
	h := silentWeb{make(chan struct{}, 1)}
	c.Fetcher = h
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-h.asked
		cancel()
	}()
	if how, err := c.Run(ctx); err != nil || how != event.Stopped {
		t.Errorf("ended %q, %v", how, err)
	}
}

// brokenLog fails at its nth event.
type brokenLog struct{ left *int }

func (l brokenLog) Append(events ...event.Event) ([]byte, error) {
	if *l.left -= len(events); *l.left < 0 {
		return nil, errors.New("no space left on device")
	}
	return []byte("mark"), nil
}

func (brokenLog) Sync() error { return nil }

// A crawl that cannot write ends at once with the reason, and what it could
// not log it has not committed.
func TestEndsWhenItCannotWrite(t *testing.T) {
	c := newCrawl(t, tree(2, 20), 2)
	left := 5
	c.Log = brokenLog{&left}
	heard := 0
	c.Listen = func(event.Event) { heard++ }
	_, err := c.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "event log: no space left") {
		t.Errorf("error %v", err)
	}
	if heard != 5 {
		t.Errorf("%d events told, 5 were logged", heard)
	}
}

// Politeness outranks priority: with a delay a host is asked once per delay,
// whatever its links promise. The clock moves only when the crawl waits.
func TestDelay(t *testing.T) {
	c := newCrawl(t, tree(2, 15), 4)
	clock := &leapClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	c.Clock = clock
	c.Policy.Delay = 10 * time.Second
	at := map[web.Host][]time.Time{}
	c.Listen = func(e event.Event) {
		if f, ok := e.(event.Fetched); ok {
			at[f.URL.Host()] = append(at[f.URL.Host()], f.At.At)
		}
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for h, times := range at {
		if len(times) != 15 {
			t.Errorf("%s: %d pages, want 15", h, len(times))
		}
		for i := 1; i < len(times); i++ {
			if d := times[i].Sub(times[i-1]); d < c.Policy.Delay {
				t.Errorf("%s: %v between pages %d and %d", h, d, i-1, i)
			}
		}
	}
}

// leapClock is a clock whose timers fire at once and take it along.
type leapClock struct{ now time.Time }

func (l *leapClock) Now() time.Time { return l.now }

func (l *leapClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	// One arrival may be under way while the clock leaps; it is then seen
	// later than it came, which is what a busy machine does too.
	l.now = l.now.Add(d)
	fire := make(chan time.Time, 1)
	fire <- l.now
	return fire, func() {}
}

// first judges the first pages relevant, and no page after them.
type priorityBefore struct{ left int }

func (f *priorityBefore) Judge(context.Context, *web.Page) (web.Verdict, error) {
	if f.left--; f.left < 0 {
		return web.Verdict{}, nil
	}
	return web.Verdict{Relevance: 1, Similarity: 1, Relevant: true}, nil
}

// otherPeers are other workers that own nothing, and have something to do the first times that they are asked.
type otherPeers struct {
	crawl.Peers
	arrived chan struct{}
	asked   int
}

func (*otherPeers) Owns(web.Host) bool                                { return true }
func (*otherPeers) Send(context.Context, crawl.Mail, *web.Turn) error { return nil }
func (*otherPeers) Receive(context.Context) (crawl.Mail, error)       { return crawl.Mail{}, nil }
func (*otherPeers) Tell(time.Time, bool, func() crawl.Standing)       {}
func (*otherPeers) Others() (crawl.Standing, int)                     { return crawl.Standing{}, 0 }

func (p *otherPeers) Arrived() <-chan struct{} { return p.arrived }

func (p *otherPeers) Idle() bool {
	if p.asked++; p.asked < 10 {
		p.arrived <- struct{}{}
	}
	return p.asked >= 10
}

// A crawl ends once its next pages are expected to bring fewer relevant ones than is
// wanted, not before it has seen 100, and goes on when less is wanted. One of several workers gives
// out no more until the others have nothing to do.
func TestUntilGain(t *testing.T) {
	for _, several := range []bool{false, true} {
		fetched := 0
		front := frontier.NewMemory(frontier.Options{})
		run := func(gain float64) event.Ending {
			c := newCrawl(t, tree(100, 10), 1)
			c.Frontier, c.Clock, c.Judge, c.Policy.UntilGain = front, stillClock{}, &priorityBefore{120 - fetched}, gain
			if several {
				c.Peers = &otherPeers{arrived: make(chan struct{}, 1)}
			}
			c.Listen = func(e event.Event) {
				if _, ok := e.(event.Fetched); ok {
					fetched++
				}
			}
			how, err := c.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return how
		}
		for _, c := range []struct {
			gain  float64
			how   event.Ending
			pages int
		}{
			{10, event.GainLow, 276},
			{10, event.GainLow, 276},
			{5, event.GainLow, 330},
			{0, event.FrontierEmpty, 491},
		} {
			if how := run(c.gain); how != c.how || fetched != c.pages {
				t.Fatalf("several workers: %t, until %v of 100: %s after %d pages, want %s after %d", several, c.gain, how, fetched, c.how, c.pages)
			}
		}
	}
}
