//go:build unix

package crf_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/waggle-crawler/waggle/learn/crf"
	"github.com/waggle-crawler/waggle/learn/lattice/latticetest"
)

// BenchmarkTrain is the size that Liu & Milios 2010 train on in 846 s (their
// table 2: about 12,000 sequences): 5 states, 24 weights for each of about
// 2,080 observations. "walks" go over a web of 3,000 pages, "apart" has a page
// of its own at each position, so that nothing recurs.
func BenchmarkTrain(b *testing.B) {
	for _, c := range []struct {
		name string
		o    latticetest.Options
		cut  bool
	}{
		{"walks", latticetest.Options{}, true},
		{"walks-uncut", latticetest.Options{}, false},
		{"apart", latticetest.Options{Pages: -1}, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			sequences, shape, cuts := latticetest.Walks(1, c.o)
			if !c.cut {
				cuts = nil
			}
			before := processorSeconds()
			for b.Loop() {
				_, trace, err := crf.Train(context.Background(), sequences, shape, crf.Options{Cuts: cuts})
				if err != nil {
					b.Fatal(err)
				}
				last := trace.Iterations[len(trace.Iterations)-1]
				b.ReportMetric(float64(last.Iteration), "iterations")
				b.ReportMetric(float64(trace.Weights), "weights")
				b.ReportMetric(float64(trace.Rows), "rows")
				b.ReportMetric(last.Value, "nats")
				b.ReportMetric(last.Gradient, "gradient")
				b.ReportMetric(float64(trace.Positions), "positions")
			}
			b.ReportMetric((processorSeconds()-before)/float64(b.N), "cpu-s/op")
		})
	}
}

// processorSeconds is what this process has used of all processors: on a
// machine that others use too, it says more than the time that went by.
func processorSeconds() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
