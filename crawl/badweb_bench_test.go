package crawl_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/badweb"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkGoodSites crawls the sites on which nothing is wrong, alone and among all that is
// wrong, with as many workers, as much patience and as long a pause between two requests to a host as a crawl of the live web has:
//
//	go test -run '^$' -bench GoodSites -benchtime 1x ./crawl
//
// pace is the time from the first good page to the last, alone, divided by that among the
// others; the bar is .8.
func BenchmarkGoodSites(b *testing.B) {
	for b.Loop() {
		alone := goodSites(b, func(bad *badweb.Server) []string { return bad.Good() })
		among := goodSites(b, func(bad *badweb.Server) []string { return append(bad.Good(), bad.Index()) })
		b.ReportMetric(alone.Seconds(), "alone-s")
		b.ReportMetric(among.Seconds(), "among-s")
		b.ReportMetric(alone.Seconds()/among.Seconds(), "pace")
	}
}

func goodSites(b *testing.B, from func(*badweb.Server) []string) time.Duration {
	b.Helper()
	bad, err := badweb.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer bad.Close()
	fetcher, err := fetch.New(fetch.Options{
		Contact: "test@bad.test", Delay: time.Second, OwnHosts: []string{"bad.test"},
		CAs: bad.CAs(), Resolver: bad, Connect: bad.Connect,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer fetcher.Close()
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var seeds []web.URL
	for _, s := range from(bad) {
		u, err := web.Parse(s)
		if err != nil {
			b.Fatal(err)
		}
		seeds = append(seeds, u)
	}
	ctx, stop := context.WithTimeout(b.Context(), 5*time.Minute)
	defer stop()
	var first, last time.Time
	left := len(bad.Good()) * badweb.GoodPages
	c := &crawl.Crawl{
		Seeds: seeds, Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: fetcher,
		Parser: parse.New(parse.Options{}), Judge: evenJudge{}, Scorer: scorer,
		Listen: func(e event.Event) {
			f, ok := e.(event.Fetched)
			if !ok || !strings.HasPrefix(string(f.URL.Host()), "good-") {
				return
			}
			if last = time.Now(); first.IsZero() {
				first = last
			}
			if left--; left == 0 {
				stop()
			}
		},
	}
	if _, err := c.Run(ctx); err != nil {
		b.Fatal(err)
	}
	if left > 0 {
		b.Fatalf("%d good pages were not fetched", left)
	}
	return last.Sub(first)
}
