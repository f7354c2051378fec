package crawl_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// plainWeb is a mapWeb that fails by https, for some requests or always.
type plainWeb struct {
	mapWeb
	reason web.Reason // "record" for a recorded web that has no https
	fails  *int       // -1 = always
	moves  bool       // http leads to https
}

func (w plainWeb) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	bare := strings.TrimPrefix(u.String(), "https://")
	if u.Scheme() == "http" {
		if w.moves {
			to, err := web.Parse("https" + strings.TrimPrefix(u.String(), "http"))
			return &web.Response{URL: u, Status: 301, Location: to}, err
		}
		return w.mapWeb.Fetch(ctx, u)
	}
	switch {
	case *w.fails == 0:
		body := w.mapWeb[bare]
		return &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Raw: []byte(body), Body: []byte(body)}, nil
	case w.reason == web.ReasonRecord:
		return &web.Response{URL: u, Status: 404, Header: web.Header{web.RecordHeader: {web.RecordAbsent}}}, nil
	}
	*w.fails--
	return nil, &web.Failure{Reason: w.reason, Detail: "it failed", Temporary: w.reason == web.ReasonConnect}
}

// A seed without a scheme is asked for by https, and where that fails by http; the log
// says so. One with a scheme is asked for as it is.
func TestBareSeed(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason web.Reason
		fails  int
		moves  bool
		scheme bool // the seed has one
		want   []string
	}{
		{name: "refused", reason: web.ReasonConnect, fails: -1, want: []string{"http://h0.example/1"}},
		{name: "no trust", reason: web.ReasonTLS, fails: -1, want: []string{"http://h0.example/1"}},
		{name: "recorded without https", reason: web.ReasonRecord, fails: -1, want: []string{"http://h0.example/1"}},
		{name: "too slow", reason: web.ReasonTimeout, fails: -1},
		{name: "with a scheme", reason: web.ReasonTLS, fails: -1, scheme: true},
		{name: "refused once, and http leads back", reason: web.ReasonConnect, fails: 1, moves: true, want: []string{"https://h0.example/1"}},
		{name: "fine, and links to http", want: []string{"https://h0.example/1", "http://h0.example/1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				crawled := newCrawl(t, tree(1, 1), 2)
				crawled.Fetcher = plainWeb{tree(1, 1), c.reason, &c.fails, c.moves}
				seed, err := web.Parse("https://h0.example/1")
				if err != nil {
					t.Fatal(err)
				}
				crawled.Seeds = []web.URL{seed}
				if !c.scheme {
					crawled.Bare = crawled.Seeds
				}
				var pages []string
				told := false
				crawled.Listen = func(e event.Event) {
					switch e := e.(type) {
					case event.Fetched:
						pages = append(pages, e.URL.String())
					case event.Failed:
						told = told || strings.HasPrefix(e.To.String(), "http:") && e.Queued && strings.Contains(e.Detail, "by http too")
					}
				}
				if _, err := crawled.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(pages, c.want) {
					t.Errorf("pages: %q, want %q", pages, c.want)
				}
				if other := c.want != nil && c.reason != ""; told != other {
					t.Errorf("told of http: %v, want %v", told, other)
				}
			})
		})
	}
}
