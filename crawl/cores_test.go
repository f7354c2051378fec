package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// heavyWeb has pages of a megabyte on every core, which are parsed only after the one that
// is light, and that one is fetched only once all cores have a heavy one.
type heavyWeb struct {
	*parse.Parser
	begun sync.WaitGroup // heavy pages
	light chan struct{}  // closed once the light page is parsed
	over  context.Context
}

const lightPage = "http://light.example/"

func (h *heavyWeb) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	size := 1 << 20
	if u.String() == lightPage {
		h.begun.Wait()
		size = 1 << 10
	}
	return &web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}},
		Body: fmt.Appendf(nil, "<!doctype html><title>%s</title>%*s", u, size, "."),
	}, nil
}

func (h *heavyWeb) Parse(r *web.Response) (*web.Page, error) {
	if r.URL.String() == lightPage {
		close(h.light)
		return h.Parser.Parse(r)
	}
	h.begun.Done()
	select {
	case <-h.light:
		return h.Parser.Parse(r)
	case <-h.over.Done():
		return nil, errors.New("a light page waited behind heavy ones")
	}
}

// A light page is parsed while heavy ones have all cores.
func TestLightPageDoesNotWaitForHeavyOnes(t *testing.T) {
	over, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	n := runtime.GOMAXPROCS(0)
	h := &heavyWeb{Parser: parse.New(parse.Options{}), light: make(chan struct{}), over: over}
	h.begun.Add(n)
	seeds := []web.URL{mustParse(t, "light.example/")}
	for i := range n {
		seeds = append(seeds, mustParse(t, fmt.Sprintf("heavy-%d.example/", i)))
	}
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	c := &crawl.Crawl{
		Seeds: seeds, Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: h, Parser: h, Judge: evenJudge{}, Scorer: scorer,
		Workers: n + 1,
		Listen: func(e event.Event) {
			switch e := e.(type) {
			case event.Fetched:
				pages++
			case event.Failed:
				t.Errorf("%s: %s", e.URL, e.Detail)
			}
		},
	}
	if how, err := c.Run(t.Context()); err != nil || how != event.FrontierEmpty {
		t.Fatalf("ended %q: %v", how, err)
	}
	if pages != n+1 {
		t.Errorf("%d pages, want %d", pages, n+1)
	}
}
