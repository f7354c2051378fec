package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// What a page asks for is of any media type, and as polite as pages are: one request at
// a time, a delay apart, none that robots.txt disallows, and none to an address inside.
// Requests that come all at once wait for one another, however long that takes.
func TestResources(t *testing.T) {
	const delay = 20 * time.Millisecond
	var mu sync.Mutex
	var asked []string
	var ended time.Time
	busy := false
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if now := time.Now(); busy || !ended.IsZero() && now.Sub(ended) < delay {
			t.Errorf("%s came while another was on its way, or %v after it", r.URL.Path, now.Sub(ended))
		}
		busy = true
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Origin"))
		mu.Unlock()
		defer func() {
			mu.Lock()
			busy, ended = false, time.Now()
			mu.Unlock()
		}()
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /api/")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{}")
	})
	f := direct(t, func(o *fetch.Options) {
		o.IgnoreRobots, o.Delay, o.Patience = false, delay, delay
	})
	var requests sync.WaitGroup
	fetchOne := func(ctx context.Context, path string, want web.Reason) {
		requests.Go(func() {
			r, err := f.Resources().Fetch(ctx, address(t, at+path))
			var why *web.Failure
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %v", path, err)
			case want == "" && (string(r.Body) != "{}" || ctx != t.Context() && !strings.Contains(string(r.RequestHead), "\r\nOrigin: http://a.example\r\n")):
				t.Errorf("%s: %q after %q", path, r.Body, r.RequestHead)
			case want != "" && (!errors.As(err, &why) || why.Reason != want):
				t.Errorf("%s: %v, want %s", path, err, want)
			}
		})
	}
	for i := range 6 {
		fetchOne(t.Context(), fmt.Sprint(i), "")
	}
	fetchOne(fetch.WithOrigin(t.Context(), "http://a.example"), "own", "")
	fetchOne(t.Context(), "api/x", web.ReasonRobots)
	requests.Wait()
	if got := strings.Join(asked, "\n"); len(asked) != 8 || !strings.HasPrefix(got, "/robots.txt") || !strings.Contains(got, "/own http://a.example") {
		t.Errorf("asked for:\n%s", got)
	}
	// A page of a type that the job does not ask for is none, a resource is.
	if _, err := f.Fetch(t.Context(), address(t, at+"0")); err == nil {
		t.Error("a page of JSON was fetched")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Resources().Fetch(ctx, address(t, at+"1")); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended: %v", err)
	}

	guarded := through(t, badWeb(t), nil)
	var why *web.Failure
	if _, err := guarded.Resources().Fetch(t.Context(), address(t, at)); !errors.As(err, &why) || why.Reason != web.ReasonAddress {
		t.Errorf("a private address: %v", err)
	}
}
