package sim_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// hostsWeb is a web of n hosts with m pages each. A page links to the next of its host, to
// its own host's first, and to pages of the two hosts that follow. The first page of host
// 1 has moved to it from elsewhere, and one link a host is dead.
func hostsWeb(n, m int) map[string]answer {
	out := map[string]answer{}
	host := func(i int) string { return fmt.Sprintf("http://h%d.example", i%n) }
	for i := range n {
		for j := range m {
			var b strings.Builder
			fmt.Fprintf(&b, "<title>%d/%d</title>Page %d of host %d.", i, j, j, i)
			for _, to := range []string{
				fmt.Sprintf("%s/%d", host(i), (j+1)%m), host(i) + "/0",
				fmt.Sprintf("%s/%d", host(i+1), j), fmt.Sprintf("%s/%d", host(i+2), (j*7)%m), host(i+3) + "/gone",
			} {
				fmt.Fprintf(&b, " <a href=%q>a bee</a>", to)
			}
			out[fmt.Sprintf("%s/%d", host(i), j)] = page(b.String())
		}
	}
	out["http://old.example/"] = answer{"301\r\nLocation: http://h1.example/0\r\nContent-Type: text/html", ""}
	return out
}

// ownerOf divides the hosts of hostsWeb among workers.
func ownerOf(workers int) func(web.Host) int {
	return func(h web.Host) (n int) {
		if _, err := fmt.Sscanf(string(h), "h%d.example", &n); err != nil {
			return workers - 1
		}
		return n % workers
	}
}

// together runs the crawl of l by workers, and returns the fetches of each.
func together(t *testing.T, l *lab, scorer string, policy crawl.Policy, workers int, o sim.Options, how sim.Team) (sim.Outcome, [][]event.Event) {
	t.Helper()
	told := make([][]event.Event, workers)
	var crawls []*crawl.Crawl
	for i := range workers {
		c := l.crawl(t, scorer, policy)
		c.Listen = func(e event.Event) { told[i] = append(told[i], e) }
		crawls = append(crawls, c)
	}
	how.Owner = ownerOf(workers)
	out, err := sim.RunTeam(t.Context(), crawls, l.pages, o, how)
	must(t, err)
	return out, told
}

// fetchesOf are the fetched addresses of events.
func fetchesOf(told []event.Event) (out []event.Fetched) {
	for _, e := range told {
		if f, ok := e.(event.Fetched); ok {
			out = append(out, f)
		}
	}
	return out
}

// Any number of workers fetch the same pages, each once and by the owner of its host, and
// no host sooner than its delay allows.
func TestWorkersFetchTheSame(t *testing.T) {
	const delay = time.Second
	l := newLab(t, record(t, hostsWeb(17, 6)), &topic.Topic{Name: "bees", Keywords: []string{"bee"}},
		[]web.URL{at(t, "http://h0.example/0"), at(t, "http://old.example/")})
	var want []string
	for _, workers := range []int{1, 2, 4, 8} {
		owner := ownerOf(workers)
		out, told := together(t, l, "breadth-first", crawl.Policy{Delay: delay}, workers,
			sim.Options{Workers: 3, Latency: sim.Latency{Median: 200 * time.Millisecond, Spread: 1}},
			sim.Team{Delay: 300 * time.Millisecond, Every: time.Second})
		if out.How != event.FrontierEmpty {
			t.Errorf("%d workers: %s", workers, out.How)
		}
		var got []string
		for i := range told {
			asked := map[web.Host]time.Time{}
			for _, f := range fetchesOf(told[i]) {
				h := f.URL.Host()
				if owner(h) != i {
					t.Errorf("%d workers: %s was fetched by worker %d", workers, f.URL, i)
				}
				began := f.At.At.Add(-time.Duration(f.Took * float64(time.Second)))
				if last, ok := asked[h]; ok && began.Sub(last) < delay-time.Millisecond {
					t.Errorf("%d workers: %s was asked %v after the page before", workers, f.URL, began.Sub(last))
				}
				asked[h] = f.At.At
				got = append(got, f.URL.String())
			}
		}
		if slices.Sort(got); want == nil {
			want = got
		}
		if len(got) != 17*6 || !slices.Equal(got, want) {
			t.Errorf("%d workers fetched %d pages, one fetched %d; want the same 102", workers, len(got), len(want))
		}
		if out.Pages != len(got) || len(out.Workers) != workers {
			t.Errorf("%d workers: the outcome tells of %d pages of %d workers", workers, out.Pages, len(out.Workers))
		}
	}
}

// One worker of a crawl is the crawl alone.
func TestOneWorkerTogether(t *testing.T) {
	l := newLab(t, record(t, hostsWeb(7, 5)), &topic.Topic{Name: "bees", Keywords: []string{"bee"}}, []web.URL{at(t, "http://h0.example/0")})
	o := sim.Options{Workers: 2, Latency: sim.Latency{Median: 100 * time.Millisecond, Spread: 1}}
	policy := crawl.Policy{Pages: 25, Delay: time.Second, WaitForBetter: 5 * time.Second}
	_, told := together(t, l, "waggle", policy, 1, o, sim.Team{Delay: time.Second})
	_, alone := simulate(t, l.crawl(t, "waggle", policy), l.pages, o)
	var a, b []event.Event
	for _, f := range fetchesOf(told[0]) {
		a = append(a, f)
	}
	for _, f := range fetchesOf(alone) {
		b = append(b, f)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%d fetches, and alone %d others", len(a), len(b))
	}
}

// The same inputs give the same events.
func TestTogetherTwice(t *testing.T) {
	l := newLab(t, record(t, hostsWeb(9, 5)), &topic.Topic{Name: "bees", Keywords: []string{"bee"}}, []web.URL{at(t, "http://h0.example/0")})
	run := func() (sim.Outcome, [][]event.Event) {
		return together(t, l, "waggle", crawl.Policy{Pages: 30, Delay: time.Second, WaitForBetter: 5 * time.Second}, 3,
			sim.Options{Latency: sim.Latency{Median: 100 * time.Millisecond, Spread: 1}}, sim.Team{Delay: 50 * time.Millisecond})
	}
	a, told := run()
	b, again := run()
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(told, again) {
		t.Errorf("two runs differ: %+v and %+v", a, b)
	}
	if a.How != event.BudgetSpent || a.Pages < 30 || a.Pages > 40 {
		t.Errorf("%s after %d pages of 30", a.How, a.Pages)
	}
	if a.Traffic.Links == 0 || a.Addresses < a.Traffic.Links || a.Lessons == 0 || a.Standings == 0 || a.LinkBytes == 0 || a.LessonBytes == 0 || a.StandingBytes == 0 {
		t.Errorf("the traffic is %+v", a.Traffic)
	}
}

// goodAndPoor is a web where host 1 has 60 pages on the topic, and the hosts 0 and 2 to 9
// have 60 each that are not; the seed links to all.
func goodAndPoor() map[string]answer {
	out := map[string]answer{}
	var seed strings.Builder
	for i := range 10 {
		for j := range 60 {
			u, text, anchor := fmt.Sprintf("http://h%d.example/%d", i, j), fmt.Sprintf("Steel and energy, prices of host %d number %d.", i, j), "steel"
			if i == 1 {
				text, anchor = fmt.Sprintf("The waggle dance of bees, %d: bees dance, a waggle dance tells of flowers.", j), "waggle dance of bees"
			}
			out[u] = page(text)
			fmt.Fprintf(&seed, "<a href=%q>%s</a> ", u, anchor)
		}
	}
	out["http://h0.example/seed"] = page("<title>All</title>" + seed.String())
	return out
}

// With a common price the budget is spent on the links of the worker that has the good
// ones. Where each has its own price, the others spend it on what they have.
func TestCommonPrice(t *testing.T) {
	l := newLab(t, record(t, goodAndPoor()), &topic.Topic{Name: "bees", Keywords: []string{"waggle dance", "bees"}}, []web.URL{at(t, "http://h0.example/seed")})
	good := func(own bool) (n int) {
		_, told := together(t, l, "best-first-both", crawl.Policy{Pages: 60, WaitForBetter: 5 * time.Second}, 5,
			sim.Options{Latency: sim.Latency{Median: 100 * time.Millisecond}}, sim.Team{Delay: 50 * time.Millisecond, OwnPriorities: own})
		var all []event.Fetched
		for i := range told {
			all = append(all, fetchesOf(told[i])...)
		}
		slices.SortStableFunc(all, func(a, b event.Fetched) int { return a.At.At.Compare(b.At.At) })
		for _, f := range all[:60] {
			if f.URL.Host() == "h1.example" {
				n++
			}
		}
		return n
	}
	if n := good(false); n < 45 {
		t.Errorf("with a common price %d of 60 pages are good ones", n)
	}
	if n := good(true); n > 25 {
		t.Errorf("without a common price %d of 60 pages are good ones: the test shows nothing", n)
	}
}

// What a worker knows of the others is as old as messages are slow: no host of another
// worker is asked before a link could have come there.
func TestMessagesTakeTime(t *testing.T) {
	const delay = 700 * time.Millisecond
	l := newLab(t, record(t, hostsWeb(6, 3)), &topic.Topic{Name: "bees", Keywords: []string{"bee"}}, []web.URL{at(t, "http://h0.example/0")})
	out, told := together(t, l, "breadth-first", crawl.Policy{}, 6, sim.Options{Latency: sim.Latency{Median: 100 * time.Millisecond}}, sim.Team{Delay: delay})
	if out.Pages != 18 {
		t.Fatalf("%d pages, want 18", out.Pages)
	}
	came := map[string]time.Time{}
	for i := range told {
		for _, f := range fetchesOf(told[i]) {
			came[f.URL.String()] = f.At.At
		}
	}
	for i := range told {
		for _, f := range fetchesOf(told[i]) {
			if f.From.IsZero() || f.From.Host() == f.URL.Host() {
				continue
			}
			if took := f.At.At.Sub(came[f.From.String()]); took < delay+100*time.Millisecond {
				t.Errorf("%s came %v after the page that links to it", f.URL, took)
			}
		}
	}
}

func TestRunTeamRefuses(t *testing.T) {
	l := newLab(t, record(t, hostsWeb(2, 1)), &topic.Topic{Name: "bees", Keywords: []string{"bee"}}, []web.URL{at(t, "http://h0.example/0")})
	one := []*crawl.Crawl{l.crawl(t, "breadth-first", crawl.Policy{})}
	unranked := l.crawl(t, "breadth-first", crawl.Policy{})
	unranked.Frontier = struct{ crawl.Frontier }{unranked.Frontier}
	for want, run := range map[string]func() error{
		"no workers": func() error {
			_, err := sim.RunTeam(t.Context(), nil, l.pages, sim.Options{}, sim.Team{})
			return err
		},
		"give 0 or more": func() error {
			_, err := sim.RunTeam(t.Context(), one, l.pages, sim.Options{}, sim.Team{Delay: -1})
			return err
		},
		"cannot tell what waits": func() error {
			_, err := sim.RunTeam(t.Context(), []*crawl.Crawl{unranked}, l.pages, sim.Options{}, sim.Team{})
			return err
		},
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
