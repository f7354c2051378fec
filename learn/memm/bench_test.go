package memm

import (
	"testing"

	"github.com/waggle-crawler/waggle/learn/lattice/latticetest"
)

// BenchmarkTrain is the size of crf's benchmark of that name: 12,000 walks over
// 3,000 pages, some 50,000 weights.
func BenchmarkTrain(b *testing.B) {
	sequences, shape, cuts := latticetest.Walks(1, latticetest.Options{})
	for b.Loop() {
		_, trace, err := Train(b.Context(), sequences, shape, Options{Cuts: cuts})
		if err != nil {
			b.Fatal(err)
		}
		last := trace.Iterations[len(trace.Iterations)-1]
		b.ReportMetric(float64(last.Iteration), "iterations")
		b.ReportMetric(last.Value, "nats")
	}
}
