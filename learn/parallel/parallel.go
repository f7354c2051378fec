// Package parallel shares the calls of a loop among goroutines. It is for
// mathematics whose result must not depend on the number of processors: the
// caller splits its work by the data alone, and adds up what the calls computed
// in their order.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers returns the number of goroutines that an option stands for: the
// option itself, or as many as there are processors (GOMAXPROCS) if it is 0 or
// less.
func Workers(option int) int {
	if option > 0 {
		return option
	}
	return runtime.GOMAXPROCS(0)
}

// For calls do for 0 … n−1 from that many goroutines, and returns when all
// calls have returned. Which goroutine makes which call, and when, differs from
// run to run. With one worker, or one call, it starts no goroutine.
func For(workers, n int, do func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}

// Blocks calls do for consecutive intervals [low, high) of 0 … n−1, each of
// size numbers but the last, as For does.
func Blocks(workers, n, size int, do func(low, high int)) {
	For(workers, (n+size-1)/size, func(i int) { do(i*size, min((i+1)*size, n)) })
}
