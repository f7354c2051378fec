package folder

import (
	"errors"
	"runtime"
	"syscall"
)

// Full tells whether an error says that the disk is full, or that this user may have no more of it.
func Full(err error) bool {
	const diskFull, handleDiskFull = syscall.Errno(112), syscall.Errno(39) // of Windows
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		runtime.GOOS == "windows" && (errors.Is(err, diskFull) || errors.Is(err, handleDiskFull))
}
