// Package allocated counts what a function allocates, for tests that hold a reader of
// anything to a share of its input. The sum grows with what the function does, whatever
// else the machine has to do, so it bounds memory and work alike.
package allocated

import "runtime"

// By is how many bytes do allocates in all, whether or not they are freed meanwhile.
// What other goroutines allocate counts too.
func By(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
