//go:build !linux

package child

// confine does nothing: there is no such thing on this system. The reader of PDF is
// confined by itself, as WebAssembly.
func confine() error { return nil }
