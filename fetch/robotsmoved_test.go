package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// A robots.txt that has moved to the other origin of its name, which asks for longer pauses than a
// request waits: each of its addresses is asked once, and the page comes.
func TestRobotsMovedBehindPauses(t *testing.T) {
	clock := newFastClock()
	var asked []string
	sites := fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) {
		asked = append(asked, u.String())
		r := &web.Response{URL: u, Status: 200}
		switch u.String() {
		case "http://a.test/robots.txt":
			r.Status, r.Location = 301, address(t, "https://a.test/robots.txt")
		case "https://a.test/robots.txt":
			r.Body = []byte("User-agent: *\nCrawl-delay: 10\nDisallow: /no\n")
		}
		return r, nil
	})
	gate := fetch.NewGate(fetch.GateOptions{Delay: time.Second, Patience: 2 * time.Second, Clock: clock})
	robots := fetch.NewRobots(fetch.RobotsOptions{Pages: gate.Before(sites), Files: gate.Before(sites), Gate: gate, CrawlDelayCap: time.Minute, Clock: clock})

	// until asks for a page until it is there, and returns how often it had to come again.
	until := func(page string) (again int, err error) {
		for ; again < 9; again++ {
			_, err = robots.Fetch(t.Context(), address(t, page))
			var f *web.Failure
			if !errors.As(err, &f) || f.Reason != web.ReasonBusy {
				return again, err
			}
			if moved := f.Robots != nil && f.Robots.Status == 301; moved != (page == "http://a.test/x" && again == 0) {
				t.Errorf("%s, asked %d times: the redirect is told, or not told: %+v", page, again+1, f)
			}
			clock.advance(f.RetryAfter)
		}
		return again, fmt.Errorf("%s still does not come: %w", page, err)
	}
	if _, err := until("https://a.test/"); err != nil {
		t.Fatal(err)
	}
	clock.advance(10 * time.Second)
	if again, err := until("http://a.test/x"); err != nil || again > 2 {
		t.Errorf("it had to be asked for %d times more, %v", again, err)
	}
	if _, err := until("http://a.test/no"); err == nil {
		t.Error("the rules that were found do not hold")
	}
	want := []string{"https://a.test/robots.txt", "https://a.test/", "http://a.test/robots.txt", "https://a.test/robots.txt", "http://a.test/x"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked\n%q, want\n%q", asked, want)
	}
}

// The way to a robots.txt that has moved ends after as many redirects as one that never had to wait.
func TestRobotsMovedWithoutEnd(t *testing.T) {
	clock := newFastClock()
	asked := 0
	files := fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) {
		if asked++; asked%2 == 0 {
			return nil, &web.Failure{Reason: web.ReasonBusy, RetryAfter: 10 * time.Second}
		}
		return &web.Response{URL: u, Status: 301, Location: address(t, fmt.Sprintf("https://a.test/%d", asked))}, nil
	})
	pages := fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) {
		return &web.Response{URL: u, Status: 200}, nil
	})
	robots := fetch.NewRobots(fetch.RobotsOptions{Pages: pages, Files: files, Clock: clock})
	for range 5 {
		_, err := robots.Fetch(t.Context(), address(t, "https://a.test/"))
		if f := (*web.Failure)(nil); !errors.As(err, &f) || f.Reason != web.ReasonBusy {
			t.Fatalf("after %d requests: %v", asked, err)
		}
	}
	if _, err := robots.Fetch(t.Context(), address(t, "https://a.test/")); err != nil || asked != 11 {
		t.Errorf("after %d requests: %v", asked, err)
	}
}
