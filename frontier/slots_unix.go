//go:build unix

package frontier

import (
	"syscall"
	"unsafe"
)

// newSlots makes n empty slots. Large ones are pages of their own, outside the
// collected heap: the seen-set is most of what a frontier holds in memory, and
// the collector lets a heap grow to twice what it holds.
func newSlots(n int) []slot {
	size := n * int(unsafe.Sizeof(slot{}))
	if size < mapFrom {
		return make([]slot, n)
	}
	pages, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return make([]slot, n)
	}
	return unsafe.Slice((*slot)(unsafe.Pointer(unsafe.SliceData(pages))), n)
}

// freeSlots gives back what newSlots made.
func freeSlots(s []slot) {
	size := len(s) * int(unsafe.Sizeof(slot{}))
	if size < mapFrom {
		return
	}
	pages := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), size)
	// This fails for slots from the heap alone, which the collector frees.
	_ = syscall.Munmap(pages)
}

// mapFrom is the least size in bytes that gets pages of its own.
const mapFrom = 64 << 10
