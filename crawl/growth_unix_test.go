//go:build unix

package crawl_test

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkLearning crawls 200,000 pages of a synthetic web with scorers that learn;
// WAGGLE_PAGES asks for another number:
//
//	go test -run '^$' -bench Learning -benchtime 1x -timeout 2h ./crawl
//
// slower is the processor time of a page in the last tenth divided by that of the
// 4,000 pages around page 10,000; the bar is 1.5. All that waits is scored anew once
// every hundredth of the pages, which is half of the cost: fewer pages would hold two
// of these rounds or three, as it happens. resume-s is the processor time in which a
// scorer reads its state of the end; the bar is 10. state-MB is that state.
func BenchmarkLearning(b *testing.B) {
	pages := 200_000
	if s := os.Getenv("WAGGLE_PAGES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 20_000 {
			b.Fatalf("WAGGLE_PAGES=%s: give a number from 20,000 on", s)
		}
		pages = n
	}
	for _, name := range []string{"best-first-page", "apprentice-tempered", "ache-like-soft", "tagpath-bandit-like"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				early, late, resume, size := learning(b, name, pages)
				b.ReportMetric(float64(late)/float64(early), "slower")
				b.ReportMetric(late.Seconds()*1000, "ms/page")
				b.ReportMetric(resume.Seconds(), "resume-s")
				b.ReportMetric(float64(size)/1e6, "state-MB")
			}
		})
	}
}

// learning returns the processor time of a page around page 10,000 and at the end, the
// time to restore the scorer, and the size of its state.
func learning(b *testing.B, name string, pages int) (early, late, resume time.Duration, size int) {
	b.Helper()
	o := synthetic.Defaults()
	o.Hosts = 500
	o.Seed, o.Words, o.Boilerplate, o.Links, o.Template, o.Traps, o.Targets = 1, 40, 10, 5, 2, 0, 0.05
	w, err := synthetic.New(o)
	if err != nil {
		b.Fatal(err)
	}
	made := func() score.Scorer {
		s, err := score.New(name, score.Options{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	// In memory, since scoring anew what waits on disk would hide what is measured.
	front := frontier.NewMemory(frontier.Options{})
	fetched := 0
	var marks [4]time.Duration
	c := &crawl.Crawl{
		Seeds: w.Some(0, 1, 20), Frontier: front, Fetcher: w, Parser: parse.New(parse.Options{}),
		Judge: truthJudge{w}, Scorer: made(), Workers: 1, Clock: stillClock{}, Policy: crawl.Policy{Pages: pages, MaxDepth: 1000},
		Listen: func(e event.Event) {
			if _, ok := e.(event.Fetched); !ok {
				return
			}
			fetched++
			for i, at := range [4]int{8_000, 12_000, pages - pages/10, pages} {
				if fetched == at {
					marks[i] = processorTime()
				}
			}
		},
	}
	if _, err := c.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	if fetched < pages {
		b.Fatalf("the web gave %d pages of %d", fetched, pages)
	}
	state := func(name string) ([]byte, error) { return front.State(b.Context(), name) }
	began := processorTime()
	whole, err := crawl.ScorerState(state)
	if err != nil {
		b.Fatal(err)
	}
	if err := made().Restore(whole); err != nil {
		b.Fatal(err)
	}
	resume = processorTime() - began
	if err := front.Close(); err != nil {
		b.Fatal(err)
	}
	return (marks[1] - marks[0]) / 4_000, (marks[3] - marks[2]) / time.Duration(pages/10), resume, len(whole)
}

// truthJudge knows which pages are targets of topic 0, and how near others are.
type truthJudge struct{ web *synthetic.Web }

func (j truthJudge) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	f, ok := j.web.Facts(p.URL)
	if !ok || f.Topic != 0 {
		return web.Verdict{}, nil
	}
	r := 1 / float64(1+f.Level)
	return web.Verdict{Relevance: r, Similarity: r, Relevant: f.Level == 0}, nil
}

// processorTime is that of this process so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
