package sim_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	_ sim.Record   = (*corpus.Pages)(nil)
	_ crawl.Parser = (*corpus.Pages)(nil)
)

// answer is a recorded response: header lines, then the body.
type answer struct{ head, body string }

func page(body string) answer { return answer{"200\r\nContent-Type: text/html", body} }

// bees is a web with what a crawl meets: robots.txt that forbids and that is
// absent, redirects, loops and dead ends, copies, other types, links outside
// the record, a page that wishes not to be kept.
var bees = map[string]answer{
	"http://a.example/robots.txt": {"200\r\nContent-Type: text/plain", "User-agent: *\nDisallow: /private"},
	"http://a.example/": page(`<title>Bees</title><p>All about the waggle dance of bees.
		<a href="/dance">the waggle dance</a> <a href="/private/x">secret bees</a> <a href="/old">moved dance</a>
		<a href="/loop">round dance</a> <a href="/paper">dance paper</a> <a href="https://b.example/">cars</a>
		<a href="/copy">copy</a> <a href="/again">dance again</a> <a href="http://gone.example/bees">waggle dance of bees elsewhere</a> <a href="/untyped">untyped</a>`),
	"http://a.example/dance":      page(`<title>Waggle dance</title>Bees dance to tell of flowers: the waggle dance. <a href="/flowers">flowers of bees</a> <a href="/missing">missing dance</a>`),
	"http://a.example/copy":       page(`<title>Waggle dance</title>Bees dance to tell of flowers: the waggle dance. <a href="/flowers">flowers of bees</a> <a href="/missing">missing dance</a>`),
	"http://a.example/private/x":  page(`secret`),
	"http://a.example/old":        {"301\r\nLocation: /new\r\nContent-Type: text/html", "moved"},
	"http://a.example/new":        page(`<title>New</title>A new dance of bees. <a href="/">home</a> <a href="/hushed">hushed dance</a>`),
	"http://a.example/again":      {"301\r\nLocation: /dance", ""},
	"http://a.example/loop":       {"302\r\nLocation: /loop2", ""},
	"http://a.example/loop2":      {"302\r\nLocation: /loop", ""},
	"http://a.example/paper":      {"200\r\nContent-Type: application/pdf", "%PDF-1.4"},
	"http://a.example/untyped":    {"200", "<html><title>Untyped</title>bees without a type <a href='/picture'>picture</a></html>"},
	"http://a.example/picture":    {"200", "\x89PNG\x0D\x0A\x1A\x0A"},
	"http://a.example/flowers":    page(`<title>Flowers</title>Where bees go. <a href="https://b.example/honey">honey</a>`),
	"http://a.example/hushed":     page(`<meta name=robots content=noindex><title>Hushed dance</title>bees <a href="/empty">empty dance</a>`),
	"http://a.example/empty":      {"200\r\nContent-Type: text/html", ""},
	"https://b.example/":          page(`<title>Cars</title>Cars and roads. <a href="/honey">honey</a> <a href="/engines">engines</a>`),
	"https://b.example/honey":     page(`<title>Honey</title>Honey is made by bees that dance. <a href="http://a.example/dance">waggle dance</a> <a href="http://c.example/">gone bees</a>`),
	"https://b.example/engines":   page(`<title>Engines</title>No insects here. <a href="/honey">bees</a>`),
	"http://c.example/robots.txt": {"403\r\nContent-Type: text/html", "no"},
	"http://c.example/":           {"410\r\nContent-Type: text/html", "gone"},
}

// record makes a recorded web.
func record(t testing.TB, answers map[string]answer) *corpus.Web {
	t.Helper()
	dir := t.TempDir()
	a, err := store.Create(dir, store.Options{Prefix: "made"})
	must(t, err)
	for _, address := range sorted(answers) {
		x := answers[address]
		var status int
		fmt.Sscan(x.head, &status)
		b, err := a.EncodeResponse(&web.Response{
			URL: at(t, address), Started: time.Unix(1e9, 0), Status: status,
			Head: []byte("HTTP/1.1 " + x.head), Raw: []byte(x.body),
		})
		must(t, err)
		_, err = a.Append(b)
		must(t, err)
	}
	must(t, a.Close())
	must(t, os.WriteFile(filepath.Join(dir, "web.yaml"), []byte("name: made\n"), 0o644))
	return opened(t, dir)
}

func opened(t testing.TB, dir string) *corpus.Web {
	t.Helper()
	w, err := corpus.Open(dir)
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func at(t testing.TB, address string) web.URL {
	t.Helper()
	u, err := web.Parse(address)
	must(t, err)
	return u
}

func sorted(m map[string]answer) []string {
	var l []string
	for k := range m {
		l = append(l, k)
	}
	slices.Sort(l)
	return l
}

// recordedWeb builds a recorded web from its folder; without that the test is
// skipped.
func recordedWeb(t testing.TB, name string) *corpus.Web {
	t.Helper()
	dir := recorded.Web(t, name)
	out := filepath.Join(t.TempDir(), name)
	_, err := corpus.Build(t.Context(), out, corpus.Exchange{Dir: dir}, corpus.Options{})
	must(t, err)
	return opened(t, out)
}

// lab makes crawls over one web for one topic.
type lab struct {
	w        *corpus.Web
	analyzer *text.Analyzer
	parser   *parse.Parser
	pages    *corpus.Pages
	topic    *topic.Topic
	seeds    []web.URL
}

func newLab(t testing.TB, w *corpus.Web, top *topic.Topic, seeds []web.URL) *lab {
	t.Helper()
	l := &lab{w: w, analyzer: text.NewAnalyzer(), topic: top, seeds: seeds}
	l.parser = parse.New(parse.Options{Analyzer: l.analyzer})
	var err error
	l.pages, err = corpus.OpenPages(t.Context(), w, l.parser, corpus.PagesOptions{})
	must(t, err)
	return l
}

func beeLab(t testing.TB, answers map[string]answer) *lab {
	return newLab(t, record(t, answers), &topic.Topic{Name: "bees", Keywords: []string{"waggle dance", "bees"}},
		[]web.URL{at(t, "http://a.example/")})
}

// departments is the lab of a topic of a real web. It has no parsed pages:
// parsing a whole web is more than a test needs.
func departments(t testing.TB, name string) *lab {
	t.Helper()
	w := recordedWeb(t, "departments")
	x, err := w.Topic(name)
	must(t, err)
	l := &lab{w: w, analyzer: text.NewAnalyzer(), seeds: x.Seeds}
	l.parser = parse.New(parse.Options{Analyzer: l.analyzer})
	l.topic = &topic.Topic{Name: x.Name, Description: x.Description, Keywords: x.Keywords}
	for _, u := range x.Examples {
		r, err := w.Lookup(u)
		must(t, err)
		if p, err := l.parser.Parse(r); err == nil {
			l.topic.Examples = append(l.topic.Examples, p)
		}
	}
	return l
}

// crawl makes a crawl, of which every stage is new.
func (l *lab) crawl(t testing.TB, scorer string, policy crawl.Policy) *crawl.Crawl {
	t.Helper()
	j, err := judge.New("topic", l.topic, judge.Options{Analyzer: l.analyzer})
	must(t, err)
	s, err := score.New(scorer, score.Options{Anchor: j.Text})
	must(t, err)
	return &crawl.Crawl{
		Seeds: l.seeds, Frontier: frontier.NewMemory(frontier.Options{}), Parser: l.pages,
		Judge: j, Scorer: s, Policy: policy,
	}
}

// simulate runs a crawl and returns its fetches beside the result.
func simulate(t testing.TB, c *crawl.Crawl, r sim.Record, o sim.Options) (sim.Result, []event.Event) {
	t.Helper()
	var events []event.Event
	c.Listen = func(e event.Event) { events = append(events, e) }
	res, err := sim.Run(t.Context(), c, r, o)
	must(t, err)
	return res, fetches(events)
}

// fetches are the events that tell of fetches.
func fetches(events []event.Event) (out []event.Event) {
	for _, e := range events {
		switch e.(type) {
		case event.Fetched, event.Failed:
			out = append(out, e)
		}
	}
	return out
}

// timeless removes from events what depends on the clock, and the size of the
// server's own answer to what is not recorded.
func timeless(events []event.Event) []event.Event {
	out := make([]event.Event, len(events))
	for i, e := range events {
		switch e := e.(type) {
		case event.Fetched:
			e.At, e.Took = event.At{}, 0
			out[i] = e
		case event.Failed:
			e.At, e.Took = event.At{}, 0
			if e.Status == 404 {
				e.Bytes = 0
			}
			out[i] = e
		}
	}
	return out
}

func address(e event.Event) string {
	switch e := e.(type) {
	case event.Fetched:
		return e.URL.String()
	case event.Failed:
		return fmt.Sprint(e.URL, " ", e.Reason)
	}
	return ""
}

// compare wants the same fetches.
func compare(t *testing.T, got, want []event.Event, gotName, wantName string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("fetch %d: %s ended, %s went on with %s", i+1, gotName, wantName, address(want[i]))
		case i >= len(want):
			t.Fatalf("fetch %d: %s went on with %s, %s ended", i+1, gotName, address(got[i]), wantName)
		case !reflect.DeepEqual(got[i], want[i]):
			t.Fatalf("fetch %d: %s\n%+v\n%s\n%+v", i+1, gotName, got[i], wantName, want[i])
		}
	}
}

// live crawls the web through a replay server on loopback, with the fetcher of
// live crawls, until enough fetches have been heard of.
func (l *lab) live(t *testing.T, scorer string, policy crawl.Policy, enough int) []event.Event {
	t.Helper()
	server, err := corpus.NewServer(l.w, corpus.ServerOptions{})
	must(t, err)
	listener, err := corpus.Listen("")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.CertificatePEM())
	f, err := fetch.New(fetch.Options{
		Proxy: &url.URL{Scheme: "http", Host: listener.Addr().String()}, Recorded: true, CAs: roots, Delay: -1,
	})
	must(t, err)
	defer f.Close()
	c := l.crawl(t, scorer, policy)
	c.Fetcher, c.Parser, c.Workers = f, l.parser, 1
	var events []event.Event
	crawling, stop := context.WithCancel(ctx)
	defer stop()
	c.Listen = func(e event.Event) {
		events = append(events, e)
		if len(fetches(events)) == enough {
			stop()
		}
	}
	_, err = c.Run(crawling)
	must(t, err)
	return timeless(fetches(events))
}

// TestSimulationIsTheLiveCrawl: with one worker, a crawl through the replay
// server and its simulation fetch the same in the same order, and say the same
// of it: priorities, verdicts, links queued and skipped.
func TestSimulationIsTheLiveCrawl(t *testing.T) {
	l := beeLab(t, bees)
	for _, scorer := range []string{"breadth-first", "best-first-both"} {
		t.Run(scorer, func(t *testing.T) {
			live := l.live(t, scorer, crawl.Policy{}, -1)
			_, simulated := simulate(t, l.crawl(t, scorer, crawl.Policy{}), l.pages, sim.Options{Outside: sim.Fail})
			compare(t, timeless(simulated), live, "simulated", "live")
			for _, want := range []web.Reason{
				web.ReasonRobots, web.ReasonRedirect, web.ReasonRedirectKnown, web.ReasonRedirectLoop, web.ReasonType, web.ReasonStatus, web.ReasonEmpty,
			} {
				if !slices.ContainsFunc(live, func(e event.Event) bool { f, ok := e.(event.Failed); return ok && f.Reason == want }) {
					t.Errorf("the web shows no %s", want)
				}
			}
			for _, want := range []web.Reason{web.ReasonDuplicate, web.ReasonNoIndex} {
				if !slices.ContainsFunc(live, func(e event.Event) bool { f, ok := e.(event.Fetched); return ok && f.Reason == want }) {
					t.Errorf("the web shows no %s", want)
				}
			}
		})
	}
}

// TestSimulationIsTheLiveCrawlOfDepartments is the same on a real web, for the
// first 250 pages of the budget.
func TestSimulationIsTheLiveCrawlOfDepartments(t *testing.T) {
	if raceDetector {
		t.Skip("another web, and nothing else shared than in TestSimulationIsTheLiveCrawl")
	}
	l := departments(t, "course")
	c := l.crawl(t, "best-first-both", crawl.Policy{Pages: 250})
	c.Parser = l.parser
	_, simulated := simulate(t, c, plainRecord{corpus.Fetcher{Web: l.w}, l.w}, sim.Options{Outside: sim.Fail})
	live := l.live(t, "best-first-both", crawl.Policy{}, len(simulated))
	compare(t, timeless(simulated), live, "simulated", "live")
}

// plainRecord is a record without parsed pages.
type plainRecord struct {
	corpus.Fetcher
	*corpus.Web
}

// TestParsedPagesChangeNothing: a run on parsed pages is the run on the WARC
// files.
func TestParsedPagesChangeNothing(t *testing.T) {
	l := beeLab(t, bees)
	cached, fromPages := simulate(t, l.crawl(t, "best-first-both", crawl.Policy{}), l.pages, sim.Options{})
	c := l.crawl(t, "best-first-both", crawl.Policy{})
	c.Parser = l.parser
	plain, fromWARC := simulate(t, c, plainRecord{corpus.Fetcher{Web: l.w}, l.w}, sim.Options{})
	compare(t, fromPages, fromWARC, "parsed pages", "WARC files")
	if !reflect.DeepEqual(cached, plain) {
		t.Errorf("results differ:\n%+v\n%+v", cached, plain)
	}
}

// hosts is a web of some hosts: page n of each links to pages 2n and 2n+1, and
// the first also to the first of each host.
func hosts(n, pages int) map[string]answer {
	all := ""
	for h := range n {
		all += fmt.Sprintf(`<a href="http://h%d.example/1">host</a> `, h)
	}
	w := map[string]answer{}
	for h := range n {
		for i := 1; i <= pages; i++ {
			links := fmt.Sprintf(`<a href="/%d">left</a> <a href="/%d">right</a>`, 2*i, 2*i+1)
			if i == 1 {
				links += all
			}
			w[fmt.Sprintf("http://h%d.example/%d", h, i)] = page(fmt.Sprintf("<title>%d of host %d</title>%s", i, h, links))
		}
	}
	return w
}

func hostLab(t testing.TB, n, pages int) *lab {
	return newLab(t, record(t, hosts(n, pages)), &topic.Topic{Name: "left", Keywords: []string{"left"}},
		[]web.URL{at(t, "http://h0.example/1")})
}

// TestRunsAreRepeatable: the same inputs give the same run for any number of
// workers, and another seed gives another.
func TestRunsAreRepeatable(t *testing.T) {
	l := hostLab(t, 5, 20)
	run := func(o sim.Options) (sim.Result, []event.Event) {
		o.Latency = sim.Latency{Median: 100 * time.Millisecond, Spread: 1}
		return simulate(t, l.crawl(t, "best-first-both", crawl.Policy{Delay: time.Second}), l.pages, o)
	}
	for _, workers := range []int{1, 2, 7, 100} {
		first, e1 := run(sim.Options{Workers: workers, Seed: 1})
		second, e2 := run(sim.Options{Workers: workers, Seed: 1})
		if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(e1, e2) {
			t.Errorf("%d workers: two runs differ", workers)
		}
		if third, _ := run(sim.Options{Workers: workers, Seed: 2}); third.Elapsed == first.Elapsed {
			t.Errorf("%d workers: another seed takes the same time, %v", workers, third.Elapsed)
		}
		if first.Pages != 100 {
			t.Errorf("%d workers: %d pages, want 100", workers, first.Pages)
		}
	}
}

// TestPoliteness: requests to a host are Delay apart, from the end of one to
// the start of the next, and no more are under way than there are workers.
func TestPoliteness(t *testing.T) {
	const delay = time.Second
	l := hostLab(t, 4, 15)
	for _, workers := range []int{1, 3, 10} {
		_, events := simulate(t, l.crawl(t, "breadth-first", crawl.Policy{Delay: delay}), l.pages,
			sim.Options{Workers: workers, Latency: sim.Latency{Median: 300 * time.Millisecond, Spread: 0.7}})
		type span struct{ start, end time.Time }
		byHost := map[web.Host][]span{}
		var all []span
		for _, e := range events {
			f, ok := e.(event.Fetched)
			if !ok {
				continue
			}
			took := time.Duration(f.Took * float64(time.Second))
			s := span{f.Time().Add(-took), f.Time()}
			byHost[f.URL.Host()] = append(byHost[f.URL.Host()], s)
			all = append(all, s)
		}
		if len(byHost) != 4 {
			t.Fatalf("%d workers: %d hosts, want 4", workers, len(byHost))
		}
		const rounding = 100 * time.Microsecond // of Took
		for h, spans := range byHost {
			for i := 1; i < len(spans); i++ {
				if gap := spans[i].start.Sub(spans[i-1].end); gap < delay-rounding {
					t.Errorf("%d workers: %s was asked %v after its last answer", workers, h, gap)
				}
			}
		}
		for _, s := range all {
			together := 0
			for _, x := range all {
				if !x.start.After(s.start) && x.end.After(s.start.Add(rounding)) {
					together++
				}
			}
			if together > workers {
				t.Errorf("%d workers: %d requests at a time", workers, together)
			}
		}
	}
}

// TestVirtualTime reckons by hand: robots.txt, then page after page.
func TestVirtualTime(t *testing.T) {
	const latency = 100 * time.Millisecond
	for _, c := range []struct {
		name    string
		hosts   int
		workers int
		delay   time.Duration
		want    time.Duration
	}{
		// 1 robots + 15 pages, and 15 delays between the 16.
		{"one host", 1, 1, time.Second, 16*latency + 15*time.Second},
		{"one host gains nothing by workers", 1, 8, time.Second, 16*latency + 15*time.Second},
		{"without delay all is latency", 1, 1, 0, 16 * latency},
		{"one worker, two hosts", 2, 1, 0, 32 * latency},
		// The first page of the first host, then both hosts side by side: the
		// second host is the last, with 1 robots and 15 pages of its own.
		{"two hosts, two workers", 2, 2, 0, 2*latency + 16*latency},
	} {
		l := hostLab(t, c.hosts, 15)
		r, _ := simulate(t, l.crawl(t, "breadth-first", crawl.Policy{Delay: c.delay}), l.pages,
			sim.Options{Workers: c.workers, Latency: sim.Latency{Median: latency}})
		if r.Elapsed != c.want || r.How != event.FrontierEmpty {
			t.Errorf("%s: %v, %v, want %v", c.name, r.How, r.Elapsed, c.want)
		}
		if want := c.hosts * 16; r.Requests != want {
			t.Errorf("%s: %d requests, want %d", c.name, r.Requests, want)
		}
	}
}

// TestBudgetOfTime ends a crawl by virtual time.
func TestBudgetOfTime(t *testing.T) {
	l := hostLab(t, 1, 100)
	r, _ := simulate(t, l.crawl(t, "breadth-first", crawl.Policy{Delay: time.Second, Time: 10500 * time.Millisecond}), l.pages, sim.Options{})
	if r.How != event.BudgetSpent || r.Elapsed < 10500*time.Millisecond || r.Elapsed > 12*time.Second {
		t.Errorf("ended %s after %v", r.How, r.Elapsed)
	}
}

var errDisk = errors.New("disk on fire")
