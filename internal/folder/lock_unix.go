//go:build unix

package folder

import (
	"fmt"
	"os"
	"syscall"
)

// lockFile takes a lock that ends with the process. Who only asks for it, as locked does, is
// not in its way: such a question takes microseconds. The error is ErrLocked where another
// process has it. Some file systems have no locks, such as NFS and Lustre by their settings.
func lockFile(f *os.File) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case nil:
			return nil
		case syscall.EWOULDBLOCK:
			if locked(f) {
				return ErrLocked
			}
		case syscall.EINTR:
		default:
			return fmt.Errorf("this file system has no locks: choose a folder on another one: %w", err)
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
			return err == syscall.EWOULDBLOCK
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
