package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// TestOutside shows the modes on a page with two links within the record and
// three outside it.
func TestOutside(t *testing.T) {
	l := beeLab(t, map[string]answer{
		"http://a.example/": page(`<a href="/in">waggle dance</a> <a href="/out1">waggle bees</a> <a href="/out2">cars</a>
			<a href="http://far.example/">bees</a> <a href="/in2">cars</a>`),
		"http://a.example/in":  page("bees <a href=/out1>waggle again</a>"),
		"http://a.example/in2": page("cars"),
	})
	for _, c := range []struct {
		mode            sim.Outside
		pages           int
		fetched, missed int
		links, outside  int
		how             event.Ending
	}{
		{sim.Drop, 0, 3, 0, 6, 3, event.FrontierEmpty},
		{sim.Fail, 0, 3, 3, 6, 3, event.FrontierEmpty},
		{sim.Bounds, 0, 3, 3, 6, 3, event.FrontierEmpty},
		{sim.Fail, 3, 2, 1, 6, 3, event.BudgetSpent},
		{sim.Drop, 3, 3, 0, 6, 3, event.BudgetSpent},
	} {
		r, _ := simulate(t, l.crawl(t, "best-first-anchor", crawl.Policy{Pages: c.pages}), l.pages, sim.Options{Outside: c.mode})
		if r.Pages != c.fetched || r.Missed != c.missed || r.Links != c.links || r.Outside != c.outside || r.How != c.how {
			t.Errorf("%s, budget %d: %d pages, %d missed, %d links, %d outside, %s; want %+v",
				c.mode, c.pages, r.Pages, r.Missed, r.Links, r.Outside, r.How, c)
		}
	}
}

func TestParseOutside(t *testing.T) {
	for _, o := range []sim.Outside{sim.Drop, sim.Fail, sim.Bounds} {
		if got, err := sim.ParseOutside(o.String()); err != nil || got != o {
			t.Errorf("%v reads %v, %v", o, got, err)
		}
	}
	if _, err := sim.ParseOutside("ignore"); err == nil || !strings.Contains(err.Error(), "drop, fail, bounds") {
		t.Errorf("error %v names no mode", err)
	}
}

// spy is a scorer that writes down all it is told.
type spy struct {
	crawl.Scorer
	said []string
}

func (s *spy) Extract(p *web.Page, v web.Verdict) [][]byte {
	s.said = append(s.said, fmt.Sprintf("extract %+v %+v", *p, v))
	return s.Scorer.Extract(p, v)
}

func (s *spy) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p != nil {
		s.said = append(s.said, fmt.Sprintf("visit %+v %+v %+v", *c, *p, v))
	} else {
		s.said = append(s.said, fmt.Sprintf("visit %+v", *c))
	}
	return s.Scorer.Visit(c, p, v)
}

func (s *spy) Score(c *web.Candidate) float64 {
	s.said = append(s.said, fmt.Sprintf("score %+v", *c))
	return s.Scorer.Score(c)
}

// TestScorersSeeWhatWasFetched: what a scorer is told depends on the pages
// fetched and on nothing else of the record. The rest of it is replaced, and
// where links outside cost a page also removed, so that membership changes;
// the scorer hears the same to the letter.
func TestScorersSeeWhatWasFetched(t *testing.T) {
	all := hosts(3, 30)
	const budget = 40
	listen := func(t *testing.T, answers map[string]answer, mode sim.Outside) ([]string, []event.Event) {
		l := newLab(t, record(t, answers), &topic.Topic{Name: "left", Keywords: []string{"left"}}, []web.URL{at(t, "http://h0.example/1")})
		c := l.crawl(t, "best-first-both", crawl.Policy{Pages: budget})
		s := &spy{Scorer: c.Scorer}
		c.Scorer = s
		_, events := simulate(t, c, l.pages, sim.Options{Outside: mode, Workers: 2, Latency: sim.Latency{Median: time.Second, Spread: 1}})
		return s.said, events
	}
	for _, mode := range []sim.Outside{sim.Drop, sim.Fail, sim.Bounds} {
		t.Run(mode.String(), func(t *testing.T) {
			said, events := listen(t, all, mode)
			fetched := map[string]bool{}
			for _, e := range events {
				fetched[address(e)] = true
			}
			replaced, removed := map[string]answer{}, map[string]answer{}
			for a, x := range all {
				if fetched[a] {
					replaced[a], removed[a] = x, x
				} else {
					replaced[a] = page("<title>left left left</title>" + strings.Repeat("something else ", 50))
				}
			}
			if len(removed) == len(all) {
				t.Fatal("everything was fetched: the test shows nothing")
			}
			if again, _ := listen(t, replaced, mode); !slices.Equal(again, said) {
				t.Error("the scorer heard of the content of pages that were not fetched")
			}
			if mode == sim.Drop {
				return
			}
			if again, _ := listen(t, removed, mode); !slices.Equal(again, said) {
				t.Error("the scorer heard which pages are recorded")
			}
		})
	}
}

// TestPagesKeepLinksOutside: a page shows its scorer every link, also those
// that the mode drops.
func TestPagesKeepLinksOutside(t *testing.T) {
	l := beeLab(t, map[string]answer{"http://a.example/": page(`<a href="/x">x</a> <a href="http://far.example/">far</a>`)})
	c := l.crawl(t, "breadth-first", crawl.Policy{})
	s := &spy{Scorer: c.Scorer}
	c.Scorer = s
	simulate(t, c, l.pages, sim.Options{Outside: sim.Drop})
	scored := strings.Join(s.said, "\n")
	for _, want := range []string{"http://a.example/x", "http://far.example/"} {
		if !strings.Contains(scored, "score {URL:"+want) {
			t.Errorf("%s was not scored:\n%s", want, scored)
		}
	}
}

// TestBadHosts: robots.txt that answers with an error keeps the crawl out, and
// a host that fails waits and is tried again, all in virtual time.
func TestBadHosts(t *testing.T) {
	l := beeLab(t, map[string]answer{
		"http://a.example/":           page(`<a href="http://b.example/x">b</a> <a href="http://c.example/">c</a>`),
		"http://b.example/robots.txt": {"503\r\nContent-Type: text/html", "busy"},
		"http://b.example/x":          page("never seen"),
		"http://c.example/":           {"503\r\nContent-Type: text/html\r\nRetry-After: 100", "busy"},
	})
	r, events := simulate(t, l.crawl(t, "breadth-first", crawl.Policy{}), l.pages, sim.Options{})
	count := map[string]int{}
	for _, e := range events {
		count[address(e)]++
	}
	want := map[string]int{
		"http://a.example/":                 1,
		"http://b.example/x robots-unknown": 3, "http://c.example/ status": 3,
	}
	for k, n := range want {
		if count[k] != n {
			t.Errorf("%s: %d times, want %d; all: %v", k, count[k], n, count)
		}
	}
	if r.Elapsed < 200*time.Second || r.How != event.FrontierEmpty {
		t.Errorf("%s after %v", r.How, r.Elapsed)
	}
	_, events = simulate(t, l.crawl(t, "breadth-first", crawl.Policy{}), l.pages, sim.Options{IgnoreRobots: true})
	if !slices.ContainsFunc(events, func(e event.Event) bool { return address(e) == "http://b.example/x" }) {
		t.Error("with robots.txt ignored, the page behind it was not fetched")
	}
}

func TestStopped(t *testing.T) {
	l := hostLab(t, 2, 30)
	ctx, cancel := context.WithCancel(t.Context())
	c := l.crawl(t, "breadth-first", crawl.Policy{})
	n := 0
	c.Listen = func(e event.Event) {
		if _, ok := e.(event.Fetched); ok {
			if n++; n == 10 {
				cancel()
			}
		}
	}
	r, err := sim.Run(ctx, c, l.pages, sim.Options{})
	if err != nil || r.How != event.Stopped || r.Pages != 10 {
		t.Errorf("%s after %d pages, error %v", r.How, r.Pages, err)
	}
}

// badRecord is a record of which an address cannot be read.
type badRecord struct {
	*corpus.Pages
	address string // its end
}

func (f badRecord) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if strings.HasSuffix(u.String(), f.address) {
		return nil, errDisk
	}
	return f.Pages.Fetch(ctx, u)
}

func TestErrors(t *testing.T) {
	l := hostLab(t, 1, 7)
	policy := crawl.Policy{}
	for _, address := range []string{"/3", "/robots.txt"} {
		_, err := sim.Run(t.Context(), l.crawl(t, "breadth-first", policy), badRecord{l.pages, address}, sim.Options{})
		if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), address) {
			t.Errorf("error %v, want %v of %s", err, errDisk, address)
		}
	}
	for _, o := range []sim.Options{
		{Workers: -1}, {Outside: 7}, {Latency: sim.Latency{Median: -1}}, {Latency: sim.Latency{Median: 1, Spread: -1}},
	} {
		if _, err := sim.Run(t.Context(), l.crawl(t, "breadth-first", policy), l.pages, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
