package crawl_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkMute mutes 100,000 links that wait in a frontier on disk, and undoes that: how long
// the acts take, and how much memory there is at most beside what was there before, in MB.
func BenchmarkMute(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		f, err := frontier.Open(b.TempDir(), frontier.Options{MaxPerHost: -1, MaxNames: -1})
		if err != nil {
			b.Fatal(err)
		}
		var turn web.Turn
		for n := range 100_000 {
			u, err := web.Parse(fmt.Sprintf("http://h%d.muted.example/page/%d", n%100, n))
			if err != nil {
				b.Fatal(err)
			}
			turn.Add = append(turn.Add, web.Candidate{URL: u, Kind: web.LinkA, Depth: 2, Priority: float64(n%997) / 997, Features: make([]byte, 100)})
			if len(turn.Add) == 5000 {
				if _, err := f.Commit(context.Background(), turn); err != nil {
					b.Fatal(err)
				}
				turn = web.Turn{}
			}
		}
		site := mapWeb{}
		for n := range 20 {
			site[fmt.Sprintf("h0.example/%d", n)] = fmt.Sprintf(`<title>%d</title><a href="/%d">next</a>`, n, n+1)
		}
		scorer, err := score.New("best-first-page", score.Options{})
		if err != nil {
			b.Fatal(err)
		}
		seed, _ := web.Parse("http://h0.example/0")
		s := &said{acts: []event.Act{{Do: event.Mute, Place: "muted.example"}, {Do: event.Undo, Act: 1}}, after: []int{2, 5}}
		c := &crawl.Crawl{
			Seeds: []web.URL{seed}, Frontier: f, Fetcher: site, Clock: stillClock{}, Policy: crawl.Policy{Pages: 6},
			Parser: parse.New(parse.Options{}), Judge: evenJudge{}, Scorer: scorer, Workers: 1, Acts: s,
			Look: func(context.Context, web.URL) (*web.Page, error) { return nil, nil },
		}
		var before, now runtime.MemStats
		var from time.Time
		took, most := map[string]time.Duration{}, uint64(0)
		doing := ""
		end := func() {
			if doing != "" {
				took[doing] += time.Since(from)
			}
			doing = ""
		}
		left, back := 0, 0
		c.Listen = func(e event.Event) {
			switch e := e.(type) {
			case event.Fetched:
				s.pages++
				end()
			case event.Act:
				doing, from = string(e.Do), time.Now()
				if runtime.GC(); e.Do == event.Mute {
					runtime.ReadMemStats(&before)
				}
			case event.Dropped:
				left += e.Count
			case event.Received:
				if back += len(e.Queued); back%(10<<10) < 512 {
					runtime.GC()
					runtime.ReadMemStats(&now)
					most = max(most, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
				}
			}
		}
		b.StartTimer()
		if _, err := c.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		end()
		b.StopTimer()
		if left < 99_900 || back != left {
			b.Fatalf("%d links left, %d came back", left, back)
		}
		b.ReportMetric(took["mute"].Seconds(), "s-mute")
		b.ReportMetric(took["undo"].Seconds(), "s-undo")
		b.ReportMetric(float64(most)/1e6, "MB")
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
