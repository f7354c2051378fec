package crawl_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// askedOnce are sites that are asked for their file beside the first page that comes.
type askedOnce struct {
	asked atomic.Bool
	file  *web.SiteFile
}

func (s *askedOnce) Complete(_ context.Context, r *web.Response) error {
	if r.Status == 200 && s.asked.CompareAndSwap(false, true) {
		r.SiteFile = s.file
	}
	return nil
}

// besideArchive tells of each record what is kept beside its response.
type besideArchive struct{ kept []string }

func (*besideArchive) Encode(x web.Exchange) ([]byte, error) {
	s := x.Response.URL.Path()
	if f := x.Response.SiteFile; f != nil && f.Response != nil {
		s += " " + f.Response.URL.Path()
	}
	if f := x.Response.SiteFile; f != nil && f.Robots != nil {
		s += " " + f.Robots.URL.Path()
	}
	return []byte(s), nil
}

func (a *besideArchive) Append(records ...[]byte) ([]byte, error) {
	for _, r := range records {
		a.kept = append(a.kept, string(r))
	}
	return []byte("mark"), nil
}

func (*besideArchive) Sync() error  { return nil }
func (*besideArchive) Close() error { return nil }

// picture serves everything as a picture.
type picture struct{ mapWeb }

func (p picture) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := p.mapWeb.Fetch(ctx, u)
	if err == nil && r.Status == 200 {
		r.Header = web.Header{"Content-Type": {"image/png"}}
	}
	return r, err
}

// The file of a site is told of and kept once, whatever becomes of the page beside which it was
// asked for.
func TestSiteFileBesideAnything(t *testing.T) {
	answer := func(path string, status int) *web.Response {
		u, err := web.Parse("http://h0.example" + path)
		if err != nil {
			t.Fatal(err)
		}
		return &web.Response{URL: u, Status: status}
	}
	const path = "/.well-known/tdmrep.json"
	whole := mapWeb{"h0.example/1": "<title>2</title><p>a page without a link"}
	for _, c := range []struct {
		name    string
		fetcher interface {
			Fetch(context.Context, web.URL) (*web.Response, error)
		}
		file web.SiteFile
		told string
		kept string // a record
	}{
		{"a page", whole, web.SiteFile{Response: answer(path, 200), Rules: 1}, "fetched, site-file 200", "/1 " + path},
		{"a page that is cut at first", cutWeb{mapWeb: whole, why: "disconnect", times: map[string]int{"h0.example/1": 1}},
			web.SiteFile{Response: answer(path, 200), Rules: 1}, "failed, site-file 200, fetched", path},
		{"and robots.txt came in vain", cutWeb{mapWeb: whole, why: "disconnect", times: map[string]int{"h0.example/1": 1}},
			web.SiteFile{Robots: answer("/robots.txt", 503), Wrong: "it could not be had"}, "failed, site-file 0, fetched", "/robots.txt"},
		{"and both came", cutWeb{mapWeb: whole, why: "disconnect", times: map[string]int{"h0.example/1": 1}},
			web.SiteFile{Response: answer(path, 301), Robots: answer("/robots.txt", 503), Wrong: "it could not be had"}, "failed, site-file 301, fetched", path + " /robots.txt"},
		{"a document of another type", picture{whole}, web.SiteFile{Response: answer(path, 200), Rules: 1}, "failed, site-file 200", "/1 " + path},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				live, archive := newCrawl(t, whole, 1), &besideArchive{}
				live.Fetcher, live.Archive, live.Sites = c.fetcher, archive, &askedOnce{file: &c.file}
				live.Listen = func(e event.Event) {
					switch e := e.(type) {
					case event.Fetched, event.Failed:
						told = append(told, e.Kind())
					case event.SiteFile:
						told = append(told, fmt.Sprintf("%s %d", e.Kind(), e.Status))
					}
				}
				if _, err := live.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(told, ", "); got != c.told {
					t.Errorf("told: %s, want %s", got, c.told)
				}
				if !slices.Contains(archive.kept, c.kept) {
					t.Errorf("kept %q, want %q among them", archive.kept, c.kept)
				}
			})
		})
	}
}
