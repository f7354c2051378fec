//go:build unix

package folder

import (
	"os"
	"syscall"
)

// lockFile takes a lock that ends with the process. Who only asks for it, as locked does, is
// not in its way: such a question takes microseconds.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || err != syscall.EINTR && locked(f) {
			return err
		}
	}
}

// locked tells whether a process has the lock of the file. It asks by a shared lock, so that two
// who ask at once do not see each other.
func locked(f *os.File) bool {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		if err == nil {
			return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) != nil
		}
		if err != syscall.EINTR {
			return true
		}
	}
}

// Await takes a lock of the file once others have given it back. It ends with the file.
func Await(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return err
		}
	}
}
