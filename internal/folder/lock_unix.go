//go:build unix

package folder

import (
	"os"
	"syscall"
)

// lockFile takes a lock that ends with the process.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// Await takes a lock of the file once others have given it back. It ends with the file.
func Await(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return err
		}
	}
}
