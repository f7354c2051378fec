package parallel

import (
	"sync/atomic"
	"testing"
)

func TestEachCallIsMadeOnce(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 3, 64} {
		for _, n := range []int{0, 1, 2, 7, 1000} {
			calls := make([]atomic.Int32, n)
			For(workers, n, func(i int) { calls[i].Add(1) })
			for i := range calls {
				if c := calls[i].Load(); c != 1 {
					t.Fatalf("%d workers: call %d of %d was made %d times", workers, i, n, c)
				}
			}
		}
	}
}

func TestBlocksCoverAllNumbers(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 1000} {
		covered := make([]atomic.Int32, n)
		Blocks(4, n, 256, func(low, high int) {
			if low%256 != 0 || high-low > 256 || high-low < 256 && high != n {
				t.Errorf("block [%d, %d) of %d", low, high, n)
			}
			for i := low; i < high; i++ {
				covered[i].Add(1)
			}
		})
		for i := range covered {
			if covered[i].Load() != 1 {
				t.Fatalf("number %d of %d is in %d blocks", i, n, covered[i].Load())
			}
		}
	}
}

func TestWorkers(t *testing.T) {
	if Workers(3) != 3 || Workers(0) < 1 || Workers(-1) != Workers(0) {
		t.Error(Workers(3), Workers(0), Workers(-1))
	}
}
