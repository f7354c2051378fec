package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// listing is a parser to which a page is a sitemap whose links, of a known anchor, bear dates:
// "changed 2026-01-02", or "published 2026-01-02".
type listing struct{ *parse.Parser }

func (l listing) Parse(r *web.Response) (*web.Page, error) {
	p, err := l.Parser.Parse(r)
	if err != nil {
		return nil, err
	}
	for i := range p.Links {
		k := &p.Links[i]
		word, date, _ := strings.Cut(k.Anchor, " ")
		k.Changed, _ = web.ParseDate(date)
		k.Published = word == "published"
	}
	return p, nil
}

// round is a round of a collection of seven pages, all seen on the first of January, and of a
// sitemap that comes first: pages 1 to 4 are due, 5 to 7 left.
type round struct {
	*testing.T
	pages texts
	again crawl.Again
	log   []event.Event
}

func newRound(t *testing.T, sitemap string) *round {
	r := &round{T: t, pages: texts{}}
	r.again.Due = []crawl.Known{r.list("http://bees.test/map", 1, sitemap)}
	for i := range 4 {
		r.again.Due = append(r.again.Due, r.known(fmt.Sprint("http://bees.test/", i+1), .4-.05*float64(i)))
	}
	for i := range 3 {
		r.again.Left = append(r.again.Left, r.known(fmt.Sprint("http://bees.test/", i+5), .2-.05*float64(i)))
	}
	r.pages["http://bees.test/new"] = "<title>New</title><p>It was not known."
	return r
}

// known is a page of the round.
func (r *round) known(address string, priority float64) crawl.Known {
	u, err := web.Parse(address)
	if err != nil {
		r.Fatal(err)
	}
	r.pages[u.String()] = "<title>Page " + u.Path() + "</title><p>Number " + u.Path() + `. <a href="http://bees.test/new">new</a>`
	seen := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	return crawl.Known{Candidate: web.Candidate{URL: u, Priority: priority}, Last: seen, Worth: 1, Chance: priority}
}

// list is a sitemap of the round, of pages of bees.test.
func (r *round) list(address string, priority float64, entries string) crawl.Known {
	k := r.known(address, priority)
	var b strings.Builder
	for entry := range strings.SplitSeq(entries, ", ") {
		name, said, _ := strings.Cut(entry, " ")
		fmt.Fprintf(&b, `<li><a href="http://bees.test/%s">%s</a>`, name, said)
	}
	r.pages[k.URL.String()] = "<title>List " + address + "</title>" + b.String()
	return k
}

// goes checks the order of what a round fetches and what is told of its pages, live and where it
// is ended and goes on after every page.
func goes(t *testing.T, ready func() *round, wantOrder, wantTold string) {
	t.Helper()
	r := ready()
	if order := strings.Join(r.run(frontier.NewMemory(frontier.Options{}), 0), " "); order != wantOrder || r.told() != wantTold {
		t.Errorf("order %s, want %s\ntold %s, want %s", order, wantOrder, r.told(), wantTold)
	}

	r = ready()
	dir := filepath.Join(t.TempDir(), "frontier")
	var order []string
	for budget := range strings.Count(wantOrder, " ") + 3 {
		f, err := frontier.Open(dir, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, r.run(f, budget+1)...)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if order := strings.Join(order, " "); order != wantOrder || r.told() != wantTold {
		t.Errorf("page by page: order %s, want %s\ntold %s, want %s", order, wantOrder, r.told(), wantTold)
	}
}

// run is the order of what a run of the round fetches.
func (r *round) run(f crawl.Frontier, budget int) (order []string) {
	order, err := r.try(f, budget)
	if err != nil {
		r.Fatal(err)
	}
	return order
}

// try is run, of a run that may fail.
func (r *round) try(f crawl.Frontier, budget int) (order []string, err error) {
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		r.Fatal(err)
	}
	c := &crawl.Crawl{
		Frontier: f, Fetcher: r.pages, Parser: listing{parse.New(parse.Options{})}, Judge: allJudge{}, Scorer: scorer, Workers: 1,
		Policy: crawl.Policy{Pages: budget}, Again: r.again,
		History: func(yield func(event.Event, error) bool) {
			for _, e := range slices.Clone(r.log) {
				if !yield(e, nil) {
					return
				}
			}
		},
		Listen: func(e event.Event) {
			r.log = append(r.log, e)
			if f, ok := e.(event.Fetched); ok {
				order = append(order, strings.TrimPrefix(f.URL.Path(), "/"))
			}
		},
	}
	_, err = c.Run(r.Context())
	return order, err
}

// told are the dates that counted, and what became of their pages.
func (r *round) told() string {
	var told []string
	for _, e := range r.log {
		if f, ok := e.(event.Fetched); ok {
			for _, d := range f.Dated {
				told = append(told, strings.TrimSpace(fmt.Sprintf("%s %.2f %s", d.URL.Path()[1:], d.Value, d.Then)))
			}
		}
	}
	return strings.Join(told, ", ")
}

// What a sitemap says to have changed comes sooner, and what it says not to have goes behind
// new pages; then there is room for pages that were left. Live, where it is ended and goes on
// after every page, and where its frontier was made anew, the order is the same.
func TestDates(t *testing.T) {
	for name, c := range map[string]struct {
		sitemap     string
		room        int
		weights     map[web.Host]crawl.DateWeight
		order, told string
	}{
		"no dates":                {sitemap: "1 a, 2 b", order: "map 1 2 3 4 new 5 6 7"},
		"one changed":             {sitemap: "3 changed 2026-01-02", order: "map 3 1 2 4 new 5 6 7", told: "3 0.63 sooner"},
		"one did not":             {sitemap: "1 changed 2025-12-01", order: "map 2 3 4 new 1 5 6 7", told: "1 0.14 last"},
		"left, and no room":       {sitemap: "6 changed 2026-01-02", order: "map 1 2 3 4 new 5 6 7", told: "6 0.41"},
		"left, and room":          {sitemap: "6 changed 2026-01-02", room: 1, order: "map 6 1 2 3 4 new 5 7", told: "6 0.41 sooner"},
		"one for another":         {sitemap: "7 changed 2026-01-02, 6 changed 2026-01-02, 1 changed 2025-12-01", order: "map 6 2 3 4 new 1 5 7", told: "7 0.31, 6 0.41 sooner, 1 0.14 last"},
		"the day of the visit":    {sitemap: "3 changed 2026-01-01, 4 changed 2026-01", order: "map 1 2 3 4 new 5 6 7"},
		"the second of it":        {sitemap: "3 changed 2026-01-01T12:00:00Z", order: "map 1 2 3 4 new 5 6 7"},
		"the future":              {sitemap: "3 changed 2999-01-01", order: "map 1 2 3 4 new 5 6 7"},
		"no date":                 {sitemap: "3 changed soon, 4 changed 1970-01-01", order: "map 1 2 3 4 new 5 6 7"},
		"published before":        {sitemap: "1 published 2025-12-01", order: "map 1 2 3 4 new 5 6 7"},
		"published after":         {sitemap: "4 published 2026-01-02", order: "map 4 1 2 3 new 5 6 7", told: "4 0.57 sooner"},
		"what is told twice":      {sitemap: "1 changed 2025-12-01, 1 changed 2026-01-02, 1 changed 2025-12-01", order: "map 1 2 3 4 new 5 6 7", told: "1 0.73 sooner"},
		"a host that is not true": {sitemap: "4 changed 2026-01-02, 1 changed 2025-12-01", weights: map[web.Host]crawl.DateWeight{"bees.test": {Changed: 1, Unchanged: 1}}, order: "map 1 2 3 4 new 5 6 7", told: "4 0.25, 1 0.40"},
	} {
		t.Run(name, func(t *testing.T) {
			goes(t, func() *round {
				r := newRound(t, c.sitemap)
				r.again.Room, r.again.DateWeights = c.room, c.weights
				return r
			}, c.order, c.told)
		})
	}
}

// However many pages are said not to have changed, all of them come behind the links.
func TestManyGoLast(t *testing.T) {
	var told []string
	for i := range 20 {
		told = append(told, fmt.Sprintf("old%d 0.25 last", i))
	}
	_, order := manyGoLast(t)
	goes(t, func() *round {
		r, _ := manyGoLast(t)
		return r
	}, order, strings.Join(told, ", "))
}

// manyGoLast is a round of a sitemap that says of 20 pages that they have not changed, and tells
// of new ones; and the order in which it fetches them.
func manyGoLast(t *testing.T) (r *round, order string) {
	sitemap := "x a, y b, z c"
	order = "map x y z new"
	for i := range 20 {
		sitemap += fmt.Sprintf(", old%d changed 2025-12-01", i)
		order += fmt.Sprint(" old", i)
	}
	r = newRound(t, sitemap)
	r.again.Due, r.again.Left = r.again.Due[:1], nil
	for i := range 20 {
		k := r.known(fmt.Sprint("http://bees.test/old", i), .9-.01*float64(i))
		k.Chance = 4. / 7
		r.again.Due = append(r.again.Due, k)
	}
	for _, name := range []string{"x", "y", "z"} {
		r.pages["http://bees.test/"+name] = "<title>" + name + `</title><p>It was not known either. <a href="/new">new</a>`
	}
	return r, order
}

// unsunk is a frontier that fails when priorities are to be set anew for the first time.
type unsunk struct {
	crawl.Frontier
	failed bool
}

var errUnsunk = errors.New("the machine stops here")

func (f *unsunk) Rescore(ctx context.Context, from []byte, n int, score func(*web.Candidate) float64) ([]byte, error) {
	if !f.failed {
		f.failed = true
		return nil, errUnsunk
	}
	return f.Frontier.Rescore(ctx, from, n, score)
}

// A run that died before the frontier was told which pages go last tells it when it goes on.
func TestGoLastAfterFailure(t *testing.T) {
	r, want := manyGoLast(t)
	f := &unsunk{Frontier: frontier.NewMemory(frontier.Options{})}
	order, err := r.try(f, 0)
	if !errors.Is(err, errUnsunk) || strings.Join(order, " ") != "map" {
		t.Fatalf("order %v, %v", order, err)
	}
	if order = append(order, r.run(f, 0)...); strings.Join(order, " ") != want {
		t.Errorf("order %v, want %s", order, want)
	}
}

// A page that one list says not to have changed, and a later one says to have, comes sooner, also
// where a visit is worth less than was thought before anything was told.
func TestLastThenSooner(t *testing.T) {
	goes(t, func() *round {
		r := newRound(t, "1 changed 2025-12-01")
		r.again.Due[1].Priority, r.again.Due[1].Worth = .9, .5
		r.again.Due = append(r.again.Due, r.list("http://bees.test/feed", .95, "1 changed 2026-01-02"))
		return r
	}, "map feed 1 2 3 4 new 5 6 7", "1 0.07 last, 1 0.36 sooner")
}

// A list tells of pages of its registrable domain alone. The links of any list are followed.
func TestDatesOfOtherSites(t *testing.T) {
	const sitemap = "1 changed 2025-12-01, 4 changed 2026-01-02, unknown changed 2026-01-02"
	for list, c := range map[string]struct {
		order, told string
		entries     int
	}{
		"http://wasps.test/map":    {order: "map 1 2 3 4 unknown new 5 6 7"},
		"http://www.bees.test/map": {order: "map 4 2 3 unknown new 1 5 6 7", told: "1 0.14 last, 4 0.57 sooner", entries: 3},
	} {
		t.Run(list, func(t *testing.T) {
			goes(t, func() *round {
				r := newRound(t, "")
				r.pages["http://bees.test/unknown"] = "<title>Unknown</title><p>Only the list tells of it."
				r.again.Due[0] = r.list(list, 1, sitemap)
				return r
			}, c.order, c.told)
			r := newRound(t, "")
			r.again.Due[0] = r.list(list, 1, sitemap)
			r.run(frontier.NewMemory(frontier.Options{}), 1)
			for _, e := range r.log {
				if f, ok := e.(event.Fetched); ok && f.Entries != c.entries {
					t.Errorf("%d entries count, want %d", f.Entries, c.entries)
				}
			}
		})
	}
}

// What a list tells of pages of which nobody knows how likely they have changed does not count, as
// in a round that a version without that began.
func TestDatesWithoutChance(t *testing.T) {
	goes(t, func() *round {
		r := newRound(t, "1 changed 2025-12-01, 4 changed 2026-01-02")
		for i := range r.again.Due {
			r.again.Due[i].Chance = 0
		}
		return r
	}, "map 1 2 3 4 new 5 6 7", "")
}
