package crawl

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkDriver is the work of the goroutine that decides, whatever the number of cores:
// 8,000 pages of a synthetic web with 27 links each arrive, fetched and examined
// beforehand, at a crawl on the disk with archive and log.
//
//	go test -run '^$' -bench Driver -benchtime 1x -cpu 2 ./crawl
//
// pages/s is by the processor time of its thread alone, without what other threads do for
// it, such as writing what was decided; the bar is 5,000. What is scored anew is scored by all
// cores, its own among them: with -cpu 4, where four are free, that is a quarter of it.
// %-of-examining is the same time in percent of what the thread took to make and to examine the pages,
// which depends on the machine's speed as much, and on what is measured not at all: two revisions are compared by it.
// pages/wall-s is by the clock, with what the goroutine waits for, and longest-ms the longest turn
// by it: those two tell of the load of the machine, too. docs/results/speed.md has figures.
func BenchmarkDriver(b *testing.B) {
	for _, name := range []string{"best-first-both", "waggle"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				benchDriver(b, name)
			}
		})
	}
}

// turnClock shows how long the driver has worked.
type turnClock struct{ now time.Time }

func (c *turnClock) Now() time.Time { return c.now }

func (c *turnClock) NewTimer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

func benchDriver(b *testing.B, scorer string) {
	const pages = 8_000
	o := synthetic.Defaults()
	o.Seed, o.Hosts, o.Words, o.Boilerplate, o.Targets = 1, 2000, 80, 20, 0.05
	w, err := synthetic.New(o)
	must(b, err)
	analyzer := text.NewAnalyzer()
	about := w.Topic(0)
	j, err := judge.New("topic", &topic.Topic{Name: about.Name, Keywords: about.Keywords}, judge.Options{Analyzer: analyzer})
	must(b, err)
	s, err := score.New(scorer, score.Options{Seed: 1, Anchor: j.Text})
	must(b, err)
	dir := b.TempDir()
	front, err := frontier.Open(filepath.Join(dir, "frontier"), frontier.Options{MaxNames: -1})
	must(b, err)
	defer front.Close()
	archive, err := store.Create(filepath.Join(dir, "archive"), store.Options{})
	must(b, err)
	defer archive.Close()
	log, err := event.Open(filepath.Join(dir, "events.jsonl"), nil)
	must(b, err)
	defer log.Close()
	watch := &turnClock{now: time.Unix(1e9, 0)}
	d := (&Crawl{
		Seeds: w.Some(0, 1, 100), Frontier: front, Fetcher: w, Parser: parse.New(parse.Options{Analyzer: analyzer}), Judge: j, Scorer: s,
		Archive: archive, Log: log, Clock: watch, Policy: Policy{Pages: pages, Delay: time.Nanosecond},
	}).newDriver()
	ctx := context.Background()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var wall, cpu, longest, examining time.Duration
	measure := func(do func() error) {
		began, used := time.Now(), threadTime()
		must(b, do())
		cpu += threadTime() - used
		took := time.Since(began)
		wall += took
		longest = max(longest, took)
		watch.now = watch.now.Add(took)
	}
	measure(func() error { return d.start(ctx) })
	var waiting []web.Lease
	for d.step.count.Pages < pages {
		measure(func() error {
			if _, _, err := d.ended(ctx, watch.now); err != nil {
				return err
			}
			out, err := d.lease(ctx, watch.now)
			waiting = append(waiting, out...)
			return err
		})
		if len(waiting) == 0 {
			b.Fatalf("nothing to fetch after %d pages", d.step.count.Pages)
		}
		l := waiting[0]
		waiting = waiting[1:]
		used := threadTime()
		r, err := w.Fetch(ctx, l.URL)
		a, err := d.Examine(ctx, l, r, err)
		must(b, err)
		examining += threadTime() - used
		d.inFlight--
		measure(func() error { return d.arrive(ctx, a) })
	}
	b.ReportMetric(pages/cpu.Seconds(), "pages/s")
	b.ReportMetric(100*cpu.Seconds()/examining.Seconds(), "%-of-examining")
	b.ReportMetric(pages/wall.Seconds(), "pages/wall-s")
	b.ReportMetric(longest.Seconds()*1000, "longest-ms")
	b.ReportMetric(0, "ns/op")
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// threadTime is the processor time of the calling thread. That of getrusage(2) is counted by
// ticks, and would be that of what came before a turn, too.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
