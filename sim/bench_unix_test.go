//go:build unix

package sim_test

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/topic"
)

// BenchmarkBestFirst simulates best-first-both for 3,000 pages, topic after
// topic, on the recorded web (a built one) that WAGGLE_WEB names, departments
// otherwise, from parsed pages. Run it on one core:
//
//	WAGGLE_WEB=… go test -run '^$' -bench BestFirst -benchtime 10x -cpu 1 ./sim
//
// The figures are pages a second of CPU time, that of collecting garbage
// included, and the most memory the process ever had (on Linux; others count it
// in other units).
func BenchmarkBestFirst(b *testing.B) {
	w := benchWeb(b)
	l := newLab(b, w, nil, nil)
	pages, n := 0, 0
	var spent time.Duration
	for b.Loop() {
		c := topical(b, l, w.Topics[n%len(w.Topics)])
		n++
		before := usage(b)
		r, err := sim.Run(b.Context(), c, l.pages, sim.Options{})
		must(b, err)
		spent += cpuTime(usage(b)) - cpuTime(before)
		pages += r.Pages
	}
	b.ReportMetric(float64(pages)/spent.Seconds(), "pages/cpu-s")
	b.ReportMetric(float64(pages)/float64(b.N), "pages/op")
	b.ReportMetric(float64(usage(b).Maxrss)/1e3, "MB-peak")
}

// BenchmarkAllCores is the same with a run on every core at a time; MB-peak is
// the most memory that the process ever had, in resident megabytes.
func BenchmarkAllCores(b *testing.B) {
	w := benchWeb(b)
	l := newLab(b, w, nil, nil)
	var pages atomic.Int64
	before := usage(b)
	for b.Loop() {
		var crawls []*crawl.Crawl
		for i := range 4 * runtime.GOMAXPROCS(0) {
			crawls = append(crawls, topical(b, l, w.Topics[i%len(w.Topics)]))
		}
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		for _, c := range crawls {
			g.Go(func() error {
				r, err := sim.Run(b.Context(), c, l.pages, sim.Options{})
				pages.Add(int64(r.Pages))
				return err
			})
		}
		must(b, g.Wait())
	}
	after := usage(b)
	b.ReportMetric(float64(pages.Load())/(cpuTime(after)-cpuTime(before)).Seconds(), "pages/cpu-s")
	b.ReportMetric(float64(pages.Load())/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(float64(after.Maxrss)/1e3, "MB-peak")
}

// benchWeb is the recorded web that a benchmark runs on.
func benchWeb(b *testing.B) *corpus.Web {
	b.Helper()
	if dir := os.Getenv("WAGGLE_WEB"); dir != "" {
		return opened(b, dir)
	}
	return recordedWeb(b, "departments")
}

// topical is a crawl for a topic of the web.
func topical(b *testing.B, l *lab, x corpus.Topic) *crawl.Crawl {
	b.Helper()
	l.topic = &topic.Topic{Name: x.Name, Description: x.Description, Keywords: x.Keywords}
	l.seeds = x.Seeds
	for _, u := range x.Examples {
		if p, ok := l.pages.Page(u); ok {
			l.topic.Examples = append(l.topic.Examples, p)
		}
	}
	return l.crawl(b, "best-first-both", crawl.Policy{Pages: 3000})
}

// usage is what the process has used so far.
func usage(b *testing.B) (u syscall.Rusage) {
	b.Helper()
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u
}

func cpuTime(u syscall.Rusage) time.Duration {
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
