package crawl_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// leftOutWeb is a web with a notice, /4, a page that is read for its links alone, /6, and a copy of
// /2, /5.
type leftOutWeb struct{ mapWeb }

func newLeftOutWeb() leftOutWeb {
	w := tree(3, 200)
	w["h0.example/4"] = `<title>404 Not Found</title><h1>Not Found</h1> <a href="/8">left</a>`
	w["h0.example/5"] = w["h0.example/2"]
	return leftOutWeb{w}
}

const linksOnly = "application/xhtml+xml"

func (w leftOutWeb) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := w.mapWeb.Fetch(ctx, u)
	if err == nil && u.String() == "http://h0.example/6" {
		r.Header = web.Header{"Content-Type": {linksOnly}}
	}
	return r, err
}

// fondJudge finds every page relevant.
type fondJudge struct{}

func (fondJudge) Judge(context.Context, *web.Page) (web.Verdict, error) {
	return web.Verdict{Relevance: 1, Similarity: 1, Relevant: true}, nil
}

// checkCounts compares the verdicts of pages in a log, and all counts of it with one another.
func checkCounts(t *testing.T, l *memoryLog, when, want string) {
	t.Helper()
	var followed, read event.Summary
	var harvest event.Harvest
	for _, e := range l.events {
		followed.Add(e)
	}
	retrace, err := crawl.NewRetrace(func(string) ([]byte, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	for e := range l.all() {
		retrace.Add(e, false)
	}
	got := ""
	for e := range event.Renewed(l.all(), l.all()) {
		read.Add(e)
		harvest.Add(e)
		if p, ok := e.(event.Fetched); ok && len(p.URL.Path()) == 2 && strings.Contains("/4 /5 /6", p.URL.Path()) && p.URL.Host() == "h0.example" {
			x, err := event.Explain(l.all(), p.URL)
			if err != nil {
				t.Fatal(err)
			}
			if x.Reason != p.Reason {
				t.Errorf("%s: %s is explained as left out for %q, and is for %q", when, p.URL, x.Reason, p.Reason)
			}
			got += fmt.Sprintf("%s %v, ", p.URL.Path(), p.Relevant && p.Reason == "")
		}
	}
	if got != want {
		t.Errorf("%s: %s; want %s", when, got, want)
	}
	if n := len(harvest.Pages()); followed.Relevant != n || read.Relevant != n || followed.Logins() != read.Logins() || len(followed.NotKept) != len(read.NotKept) {
		t.Errorf("%s: %d pages are in the harvest; %d were counted by who followed, %d by who reads", when, n, followed.Relevant, read.Relevant)
	}
	if s := string(retrace.States()["crawl"]); !strings.Contains(s, fmt.Sprintf(`"relevant":%d,`, read.Relevant)) {
		t.Errorf("%s: %d are relevant, and a repaired frontier would know %s", when, read.Relevant, s)
	}
}

// A person overrules what says that a page is a notice, or is read for its links alone. A copy of another
// page stays out of the harvest whatever is said of it. Once a label is undone each is what it was, in a
// later run too. Whoever follows the crawl counts what whoever reads its log does.
func TestLabelsOfWhatIsLeftOut(t *testing.T) {
	site, log, parser := newLeftOutWeb(), &memoryLog{}, parse.New(parse.Options{})
	run := func(pages int, judge crawl.Judge, front crawl.Frontier, told []event.Act, lines ...event.Act) *crawl.Crawl {
		t.Helper()
		c := newCrawl(t, site.mapWeb, 1)
		c.Fetcher, c.Clock, c.Judge, c.Log, c.History = site, stillClock{}, judge, log, event.Renewed(log.all(), log.all())
		c.Policy.Pages, c.Policy.Hollow, c.Policy.LinksOnly = pages, true, []string{linksOnly}
		if front != nil {
			c.Frontier = front
		}
		s := &said{acts: append(append([]event.Act(nil), told...), lines...), after: make([]int, len(told)+len(lines))}
		for i := range lines {
			s.after[len(told)+i] = 20
		}
		c.Acts, c.Told = s, told
		c.Look = func(ctx context.Context, u web.URL) (*web.Page, error) {
			r, err := site.Fetch(ctx, u)
			if err != nil || r.Status != 200 {
				return nil, nil
			}
			return parser.Parse(r)
		}
		if told != nil {
			s.pages = 20
		}
		c.Listen = func(e event.Event) {
			if _, ok := e.(event.Fetched); ok {
				s.pages++
			}
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	u := func(path string) web.URL { return mustParse(t, "h0.example/"+path) }
	acts := []event.Act{
		{Number: 1, Do: event.Relevant, URL: u("4")}, {Number: 2, Do: event.More, URL: u("5")}, {Number: 3, Do: event.Relevant, URL: u("6")},
	}
	first := run(30, fondJudge{}, nil, nil, acts...)
	checkCounts(t, log, "after labels", "/4 true, /5 false, /6 true, ")

	pages := func(yield func(*web.Page, error) bool) {
		for e := range log.all() {
			if p, ok := e.(event.Fetched); ok {
				page, err := first.Look(t.Context(), p.URL)
				if !yield(page, err) {
					return
				}
			}
		}
	}
	first.History = event.Renewed(log.all(), log.all())
	first.JudgeName, first.Threshold = "fond", 0.5
	anew, err := first.Rejudge(t.Context(), pages)
	if err != nil {
		t.Fatal(err)
	}
	if err := anew.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkCounts(t, log, "judged anew", "/4 true, /5 false, /6 true, ")

	run(40, fondJudge{}, first.Frontier, acts, event.Act{Do: event.Undo, Act: 1}, event.Act{Do: event.Undo, Act: 2}, event.Act{Do: event.Undo, Act: 3})
	checkCounts(t, log, "undone", "/4 false, /5 false, /6 false, ")
}
