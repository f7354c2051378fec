//go:build unix

package frontier

import (
	"syscall"
	"unsafe"
)

// newPages makes n zero values, which hold no pointers. Many are pages of their own, outside the
// collected heap: what a frontier holds of addresses and hosts is most of its memory, and
// the collector lets a heap grow to twice what it holds.
func newPages[T any](n int) []T {
	size := n * int(unsafe.Sizeof(*new(T)))
	if size < mapFrom {
		return make([]T, n)
	}
	pages, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return make([]T, n)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(pages))), n)
}

// freePages gives back what newPages made.
func freePages[T any](s []T) {
	size := len(s) * int(unsafe.Sizeof(*new(T)))
	if size < mapFrom {
		return
	}
	pages := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), size)
	// This fails for values from the heap alone, which the collector frees.
	_ = syscall.Munmap(pages)
}

// mapFrom is the least size in bytes that gets pages of its own.
const mapFrom = 64 << 10
