package crawl_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// What a round has left of its budget once nothing new waits goes to known pages that were left,
// in their order, each once, also where the round is ended and goes on after every page, and where
// its frontier was made anew.
func TestGiveBack(t *testing.T) {
	pages := texts{}
	known := func(i int, priority float64) crawl.Known {
		u, err := web.Parse(fmt.Sprintf("http://bees.test/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		pages[u.String()] = fmt.Sprintf("<title>Page %d</title><p>Number %d. <a href=/new>new</a> <a href=/5>5</a>", i, i)
		return crawl.Known{Candidate: web.Candidate{URL: u, Priority: priority}}
	}
	again := crawl.Again{Due: []crawl.Known{known(0, .9), known(1, .8)}}
	for i, p := range []float64{.5, .4, .3, .2} {
		again.Left = append(again.Left, known(i+2, p))
	}
	pages["http://bees.test/new"] = "<title>New</title><p>It was not known."
	var log []event.Event
	run := func(t *testing.T, f crawl.Frontier, budget int) (order []string, how event.Ending) {
		scorer, err := score.New("breadth-first", score.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := &crawl.Crawl{
			Frontier: f, Fetcher: pages, Parser: parse.New(parse.Options{}), Judge: allJudge{}, Scorer: scorer, Workers: 1,
			Policy: crawl.Policy{Pages: budget}, Again: again,
			History: func(yield func(event.Event, error) bool) {
				for _, e := range slices.Clone(log) {
					if !yield(e, nil) {
						return
					}
				}
			},
			Listen: func(e event.Event) {
				log = append(log, e)
				if f, ok := e.(event.Fetched); ok {
					order = append(order, f.URL.Path())
				}
			},
		}
		if how, err = c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return order, how
	}
	all := []string{"/0", "/1", "/new", "/2", "/3", "/4", "/5"}
	for budget := 1; budget <= 9; budget++ {
		log = nil
		order, how := run(t, frontier.NewMemory(frontier.Options{}), budget)
		if want := all[:min(budget, len(all))]; !slices.Equal(order, want) || (how == event.FrontierEmpty) != (budget > len(all)) {
			t.Errorf("budget %d: %s, %v", budget, how, order)
		}
	}
	log = nil
	dir := filepath.Join(t.TempDir(), "frontier")
	var order []string
	for budget := 1; budget <= 9; budget++ {
		f, err := frontier.Open(dir, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		more, _ := run(t, f, budget)
		order = append(order, more...)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(order, all) {
		t.Errorf("page by page: %v", order)
	}

	// The frontier is lost when two of them were fetched, and made anew of the log.
	log = nil
	order, _ = run(t, frontier.NewMemory(frontier.Options{}), 5)
	retrace, err := crawl.NewRetrace(func(string) ([]byte, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	var turn web.Turn
	for _, e := range log {
		retrace.Add(e, false)
		if f, ok := e.(event.Fetched); ok {
			turn.Done = append(turn.Done, f.URL)
		}
	}
	turn.State = retrace.States()
	f := frontier.NewMemory(frontier.Options{})
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if more, _ := run(t, f, 9); !slices.Equal(append(order, more...), all) {
		t.Errorf("with a frontier that was made anew: %v, then %v", order, more)
	}
}

// deadHost is a web whose host dead.test does not answer.
type deadHost struct{ texts }

func (w deadHost) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if u.Host() == "dead.test" {
		return nil, &web.Failure{Reason: web.ReasonConnect, Temporary: true, Detail: "refused"}
	}
	return w.texts.Fetch(ctx, u)
}

// A host that is down keeps no page from being asked for that is asked for where nothing else waits.
func TestLeftWhileAHostIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := deadHost{texts{}}
		known := func(address string) crawl.Known {
			u, err := web.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			pages.texts[address] = "<title>A page</title><p>At " + address
			return crawl.Known{Candidate: web.Candidate{URL: u, Priority: .5}}
		}
		scorer, err := score.New("breadth-first", score.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		c := &crawl.Crawl{
			Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: pages, Parser: parse.New(parse.Options{}), Judge: allJudge{}, Scorer: scorer, Workers: 1,
			Policy: crawl.Policy{Pages: 20, MaxTries: 5, Backoff: time.Second, GiveUp: 24 * time.Hour},
			Again: crawl.Again{
				Due:  []crawl.Known{known("http://bees.test/due"), known("http://dead.test/")},
				Left: []crawl.Known{known("http://bees.test/left1"), known("http://bees.test/left2")},
			},
			Listen: func(e event.Event) {
				if f, ok := e.(event.Fetched); ok {
					order = append(order, f.URL.Path())
				}
			},
		}
		how, err := c.Run(t.Context())
		if err != nil || how != event.HostsDown || !slices.Equal(order, []string{"/due", "/left1", "/left2"}) {
			t.Errorf("%v, %s, %v", order, how, err)
		}
	})
}

// movedSite is a web whose pages of bees.test are all at www.bees.test.
type movedSite struct{ texts }

func (w movedSite) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if u.Host() != "bees.test" {
		return w.texts.Fetch(ctx, u)
	}
	to, err := web.Parse("http://www.bees.test" + u.Path())
	return &web.Response{URL: u, Status: 301, Location: to}, err
}

// Pages of earlier rounds that are in the scope only by where a seed redirects to are asked for,
// once each, also where the seed is a known page itself.
func TestDueWhereASeedMoved(t *testing.T) {
	for _, known := range []bool{false, true} {
		testDueWhereASeedMoved(t, known)
	}
}

func testDueWhereASeedMoved(t *testing.T, known bool) {
	seed, err := web.Parse("http://bees.test/")
	if err != nil {
		t.Fatal(err)
	}
	pages := movedSite{texts{"http://www.bees.test/": "<title>Bees</title><p>All about bees."}}
	var due []crawl.Known
	for i := range 2 {
		u, err := web.Parse(fmt.Sprintf("http://www.bees.test/%d", i+1))
		if err != nil {
			t.Fatal(err)
		}
		pages.texts[u.String()] = fmt.Sprintf("<title>Page %d</title><p>No page links to number %d.", i, i)
		due = append(due, crawl.Known{Candidate: web.Candidate{URL: u, Priority: .5}})
	}
	if known {
		due = append(due, crawl.Known{Candidate: web.Candidate{URL: seed, Priority: .5}})
	}
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var fetched, queued []string
	c := &crawl.Crawl{
		Seeds: []web.URL{seed}, Again: crawl.Again{Due: due}, Policy: crawl.Policy{Scope: crawl.Scope{Reach: crawl.ReachHost}},
		Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: pages, Parser: parse.New(parse.Options{}), Judge: allJudge{}, Scorer: scorer, Workers: 1,
		Listen: func(e event.Event) {
			switch e := e.(type) {
			case event.Fetched:
				fetched = append(fetched, e.URL.String())
			case event.Seeded:
				for _, f := range e.Queued {
					if !f.Raised {
						queued = append(queued, f.URL.String())
					}
				}
			}
		},
	}
	how, err := c.Run(t.Context())
	if err != nil || how != event.FrontierEmpty {
		t.Fatalf("known: %t: %s, %v", known, how, err)
	}
	slices.Sort(fetched)
	if want := []string{"http://www.bees.test/", "http://www.bees.test/1", "http://www.bees.test/2"}; !slices.Equal(fetched, want) {
		t.Errorf("known: %t: fetched %v", known, fetched)
	}
	if want := []string{"http://bees.test/", "http://www.bees.test/1", "http://www.bees.test/2"}; !slices.Equal(queued, want) {
		t.Errorf("known: %t: queued %v", known, queued)
	}
}
