//go:build unix

package sim_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

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
// included, and the memory taken from the system in all.
func BenchmarkBestFirst(b *testing.B) {
	var w *corpus.Web
	if dir := os.Getenv("WAGGLE_WEB"); dir != "" {
		w = opened(b, dir)
	} else {
		w = recordedWeb(b, "departments")
	}
	l := newLab(b, w, nil, nil)
	pages, n := 0, 0
	var spent time.Duration
	for b.Loop() {
		x := w.Topics[n%len(w.Topics)]
		n++
		l.topic = &topic.Topic{Name: x.Name, Description: x.Description, Keywords: x.Keywords}
		l.seeds = x.Seeds
		for _, u := range x.Examples {
			if p, ok := l.pages.Page(u); ok {
				l.topic.Examples = append(l.topic.Examples, p)
			}
		}
		c := l.crawl(b, "best-first-both", crawl.Policy{Pages: 3000})
		before := cpuTime(b)
		r, err := sim.Run(b.Context(), c, l.pages, sim.Options{})
		must(b, err)
		spent += cpuTime(b) - before
		pages += len(r.Visits)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(pages)/spent.Seconds(), "pages/cpu-s")
	b.ReportMetric(float64(pages)/float64(b.N), "pages/op")
	b.ReportMetric(float64(m.Sys)/1e6, "MB-sys")
}

// cpuTime is what the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
