package crawl_test

import (
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
	seen := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	known := func(name string, priority float64) crawl.Known {
		u, err := web.Parse("http://bees.test/" + name)
		if err != nil {
			t.Fatal(err)
		}
		r.pages[u.String()] = "<title>Page " + name + "</title><p>Number " + name + `. <a href="/new">new</a>`
		return crawl.Known{Candidate: web.Candidate{URL: u, Priority: priority}, Last: seen, Worth: 1, Chance: priority}
	}
	r.again.Due = []crawl.Known{known("map", 1)}
	for i := range 4 {
		r.again.Due = append(r.again.Due, known(fmt.Sprint(i+1), .4-.05*float64(i)))
	}
	for i := range 3 {
		r.again.Left = append(r.again.Left, known(fmt.Sprint(i+5), .2-.05*float64(i)))
	}
	r.pages["http://bees.test/new"] = "<title>New</title><p>It was not known."
	var b strings.Builder
	for entry := range strings.SplitSeq(sitemap, ", ") {
		name, said, _ := strings.Cut(entry, " ")
		fmt.Fprintf(&b, `<li><a href="/%s">%s</a>`, name, said)
	}
	r.pages["http://bees.test/map"] = "<title>Map</title>" + b.String()
	return r
}

// run is the order of what a run of the round fetches.
func (r *round) run(f crawl.Frontier, budget int) (order []string) {
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
	if _, err := c.Run(r.Context()); err != nil {
		r.Fatal(err)
	}
	return order
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
		words       map[web.Host]crawl.Word
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
		"a host that is not true": {sitemap: "4 changed 2026-01-02, 1 changed 2025-12-01", words: map[web.Host]crawl.Word{"bees.test": {Changed: 1, Unchanged: 1}}, order: "map 1 2 3 4 new 5 6 7", told: "4 0.25, 1 0.40"},
	} {
		t.Run(name, func(t *testing.T) {
			ready := func() *round {
				r := newRound(t, c.sitemap)
				r.again.Room, r.again.Words = c.room, c.words
				return r
			}
			r := ready()
			if order := strings.Join(r.run(frontier.NewMemory(frontier.Options{}), 0), " "); order != c.order || r.told() != c.told {
				t.Errorf("order %s, want %s\ntold %s, want %s", order, c.order, r.told(), c.told)
			}

			r = ready()
			dir := filepath.Join(t.TempDir(), "frontier")
			var order []string
			for budget := range 11 {
				f, err := frontier.Open(dir, frontier.Options{})
				if err != nil {
					t.Fatal(err)
				}
				order = append(order, r.run(f, budget+1)...)
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if order := strings.Join(order, " "); order != c.order || r.told() != c.told {
				t.Errorf("page by page: order %s, want %s\ntold %s, want %s", order, c.order, r.told(), c.told)
			}
		})
	}
}
