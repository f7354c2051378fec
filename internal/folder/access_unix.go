//go:build unix

package folder

import (
	"io/fs"
	"syscall"
)

// Writable tells why this process can make no file in a folder, nil where it can. It makes none.
func Writable(dir string) error {
	const writes = 2 // W_OK
	if err := syscall.Access(dir, writes); err != nil {
		return &fs.PathError{Op: "write", Path: dir, Err: err}
	}
	return nil
}
