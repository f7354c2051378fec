//go:build !unix

package frontier

func newPages[T any](n int) []T { return make([]T, n) }
func freePages[T any]([]T)      {}
