package crawl_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// feeder is a web with a feed of 300 entries, all of which say that they are of bees, and 301
// pages on bees whose anchors say nothing. entry says what there is at an entry.
type feeder struct {
	entry func(n int) (status int, body string)
}

func (w feeder) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	var n int
	status, mediaType, body := 200, "text/html", ""
	switch path := u.Path(); {
	case path == "/":
		body = `<title>Start</title><link rel=alternate type=application/rss+xml href=/feed>bees <a href=/page/0>more</a>`
	case path == "/feed":
		mediaType = "application/rss+xml"
		var b strings.Builder
		b.WriteString("<rss version='2.0'><channel><title>bees</title>")
		for i := range 300 {
			fmt.Fprintf(&b, "<item><title>bees bees</title><link>http://feeder.test/entry/%d</link></item>", i)
		}
		body = b.String() + "</channel></rss>"
	case strings.HasPrefix(path, "/page/"):
		fmt.Sscanf(path, "/page/%d", &n)
		if body = fmt.Sprintf("<title>Page %d</title>bees %d", n, n); n >= 150 {
			break
		}
		body += fmt.Sprintf(" <a href=/page/%d>more</a> <a href=/page/%d>more</a>", 2*n+1, 2*n+2)
	case strings.HasPrefix(path, "/moved/"):
		status, body = 404, "none"
	default:
		fmt.Sscanf(path, "/entry/%d", &n)
		if status, body = w.entry(n); status == 301 {
			to, err := web.Parse(fmt.Sprintf("http://feeder.test/moved/%d", n))
			return &web.Response{URL: u, Status: status, Location: to}, err
		}
	}
	return &web.Response{URL: u, Status: status, Header: web.Header{"Content-Type": {mediaType}}, Body: []byte(body)}, nil
}

// run makes requests turns of a crawl, and tells what they led to: e an entry of the feed, p a
// page, . the seed and the feed.
func (w feeder) run(t *testing.T, scorer string, f crawl.Frontier, history []event.Event, requests int) (order string, log []event.Event) {
	t.Helper()
	s, err := score.New(scorer, score.Options{Anchor: func(s string) float64 { return float64(strings.Count(s, "bees")) / 2 }})
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := web.Parse("http://feeder.test/")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &crawl.Crawl{
		Seeds: []web.URL{seed}, Frontier: f, Fetcher: w, Judge: onBees{}, Scorer: s, Workers: 1, Clock: stillClock{},
		Parser: parse.New(parse.Options{Sources: []parse.Source{parse.SourceFeeds}, Documents: document.Documents{Reader: document.Local{}}}),
		Policy: crawl.Policy{MaxRedirects: 3, LinksOnly: []string{"application/rss+xml"}},
		Listen: func(e event.Event) {
			log = append(log, e)
			var u web.URL
			switch e := e.(type) {
			case event.Fetched:
				u = e.URL
			case event.Failed:
				u = e.URL
			default:
				return
			}
			switch {
			case strings.HasPrefix(u.Path(), "/entry/"):
				order += "e"
			case strings.HasPrefix(u.Path(), "/page/"):
				order += "p"
			case strings.HasPrefix(u.Path(), "/moved/"):
				order += "m"
			default:
				order += "."
			}
			if len(order) >= requests {
				cancel()
			}
		},
	}
	if history != nil {
		c.History = func(yield func(event.Event, error) bool) {
			for _, e := range history {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	if _, err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return order, log
}

// A feed whose entries are gone, or of something else, does not keep a crawl from better links,
// whatever orders these. One whose entries are good is followed.
func TestListsBring(t *testing.T) {
	const requests = 120
	for name, c := range map[string]struct {
		entry       func(n int) (int, string)
		least, most int // entries among the requests
	}{
		"gone":              {func(int) (int, string) { return 404, "none" }, 3, 20},
		"moved and gone":    {func(int) (int, string) { return 301, "" }, 3, 20},
		"of something else": {func(n int) (int, string) { return 200, fmt.Sprintf("<title>%d</title>wasps %d", n, n) }, 6, 40},
		"one in ten good": {func(n int) (int, string) {
			if n%10 == 0 {
				return 200, fmt.Sprintf("<title>%d</title>bees %d", n, n)
			}
			return 404, "none"
		}, 3, 40},
		"good": {func(n int) (int, string) { return 200, fmt.Sprintf("<title>%d</title>bees and honey %d", n, n) }, 50, 118},
	} {
		for _, scorer := range []string{"breadth-first", "best-first-both", "waggle"} {
			t.Run(name+"/"+scorer, func(t *testing.T) {
				order, _ := feeder{c.entry}.run(t, scorer, frontier.NewMemory(frontier.Options{}), nil, requests)
				if n := strings.Count(order, "e"); n < c.least || n > c.most {
					t.Errorf("%d entries, want %d to %d: %s", n, c.least, c.most, order)
				}
			})
		}
	}
}

// Where nothing else waits, the entries of such a feed are fetched after all.
func TestListsComeBack(t *testing.T) {
	entry := func(n int) (int, string) {
		if n < 40 {
			return 404, "none"
		}
		return 200, fmt.Sprintf("<title>%d</title>bees and honey %d", n, n)
	}
	w := feeder{entry}
	order, _ := w.run(t, "breadth-first", frontier.NewMemory(frontier.Options{}), nil, 1<<30)
	if strings.Count(order, "e") != 300 || strings.Count(order, "p") != 301 || !strings.HasSuffix(order, "eeee") {
		t.Errorf("%d entries and %d pages, want all: %s", strings.Count(order, "e"), strings.Count(order, "p"), order)
	}
}

// A crawl that is stopped after every few requests goes the way of one that is not.
func TestListsGoOn(t *testing.T) {
	w := feeder{func(n int) (int, string) {
		if n%10 == 0 {
			return 301, ""
		}
		return 404, "none"
	}}
	for _, scorer := range []string{"breadth-first", "waggle"} {
		want, _ := w.run(t, scorer, frontier.NewMemory(frontier.Options{}), nil, 60)
		dir := filepath.Join(t.TempDir(), "frontier")
		var got string
		var log []event.Event
		for len(got) < 60 {
			f, err := frontier.Open(dir, frontier.Options{})
			if err != nil {
				t.Fatal(err)
			}
			order, more := w.run(t, scorer, f, log, min(7, 60-len(got)))
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			got, log = got+order, append(log, more...)
		}
		// A crawl that is stopped may have asked for one more by then.
		if got, want := got[:60], want[:60]; got != want {
			t.Errorf("%s, in parts:\n%s\nwant\n%s", scorer, got, want)
		}
	}
}
