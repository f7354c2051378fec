package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// What stands between the gate and HTTP is asked for the pages that may be fetched, one
// at a time of a host, and its responses are those of the stack; robots.txt passes it by.
func TestBetween(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /private")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "as sent")
	})
	var asked []string // by one goroutine at a time: all addresses are of one host
	f := direct(t, func(o *fetch.Options) {
		o.IgnoreRobots = false
		o.Between = func(pages fetch.Fetcher) fetch.Fetcher {
			return fetcherFunc(func(ctx context.Context, u web.URL) (*web.Response, error) {
				asked = append(asked, u.Path())
				r, err := pages.Fetch(ctx, u)
				if err == nil {
					r.Body = []byte("as rendered")
				}
				return r, err
			})
		}
	})
	bodies := make(chan string)
	paths := []string{"a", "b", "c", "private"}
	for _, path := range paths {
		u, err := web.Parse(at + path)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			r, err := f.Fetch(t.Context(), u)
			if err != nil {
				bodies <- ""
				return
			}
			bodies <- string(r.Body)
		}()
	}
	var got []string
	for range paths {
		got = append(got, <-bodies)
	}
	slices.Sort(got)
	slices.Sort(asked)
	if !slices.Equal(got, []string{"", "as rendered", "as rendered", "as rendered"}) || !slices.Equal(asked, []string{"/a", "/b", "/c"}) {
		t.Errorf("asked for %q, got %q", asked, got)
	}
}
