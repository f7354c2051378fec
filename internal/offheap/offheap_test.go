package offheap

import (
	"runtime"
	"testing"
)

// What is large is not in the heap where the system has memory beside it, and all of it can be used.
func TestMake(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const words = 4 << 20 // 32 MiB
	before := heap()
	s := Make[uint64](words)
	if grown := int64(heap()) - int64(before); runtime.GOOS == "linux" && grown > words {
		t.Errorf("%d bytes of 32 MiB are in the heap", grown)
	}
	for _, s := range [][]uint64{s, Make[uint64](10), Make[uint64](0)} {
		for i := range s {
			if s[i] != 0 {
				t.Fatalf("value %d is %d", i, s[i])
			}
			s[i] = uint64(i)
		}
		Free(s)
	}
}
