//go:build unix

package parse_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/parse"
)

// BenchmarkRatio runs the bare loop and the parser in turns over the same
// pages and reports the processor time of each, collector included, and their
// ratio: other work on the machine touches it less than a wall clock.
func BenchmarkRatio(b *testing.B) {
	pages := recordedPages(b, "manuals", 50, 300)
	p := parse.New(parse.Options{})
	var plain, whole time.Duration
	for b.Loop() {
		start := processorTime(b)
		for _, r := range pages {
			bare(r)
		}
		middle := processorTime(b)
		for _, r := range pages {
			if _, err := p.Parse(r); err != nil {
				b.Fatal(err)
			}
		}
		plain += middle - start
		whole += processorTime(b) - middle
	}
	n := float64(b.N * len(pages))
	b.ReportMetric(float64(plain.Microseconds())/n, "bare-cpu-µs/page")
	b.ReportMetric(float64(whole.Microseconds())/n, "cpu-µs/page")
	b.ReportMetric(float64(whole)/float64(plain), "×bare")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
