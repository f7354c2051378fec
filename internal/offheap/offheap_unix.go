//go:build unix

package offheap

import (
	"syscall"
	"unsafe"
)

// Make makes n zero values of a type without pointers. The caller gives them to Free, once.
func Make[T any](n int) []T {
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

// Free gives back the memory of what Make made. Nobody may use it any more.
func Free[T any](s []T) {
	size := len(s) * int(unsafe.Sizeof(*new(T)))
	if size < mapFrom {
		return
	}
	pages := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), size)
	// This fails for values from the heap alone, which the collector frees.
	_ = syscall.Munmap(pages)
}

// mapFrom is the least size in bytes that gets memory outside the heap.
const mapFrom = 64 << 10
