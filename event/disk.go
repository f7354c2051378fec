package event

import (
	"io"
	"os"
	"runtime"
)

// Disk is where a log has its file: that of the machine, or one on which tests have faults.
type Disk interface {
	// Open opens a file for reading and appending, and tells its size. Where there is none it
	// makes one if create says so, and else returns fs.ErrNotExist.
	Open(path string, create bool) (f File, size int64, err error)
	// SyncDir makes the folder's list of files survive a power failure.
	SyncDir(dir string) error
}

// File is what a Log needs of an *os.File opened for appending.
type File interface {
	io.Writer
	io.ReaderAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// OS is the disk of the machine.
type OS struct{}

var _ Disk = OS{}

// Open opens a file, and makes it if create says so.
func (OS) Open(path string, create bool) (File, int64, error) {
	flag := os.O_RDWR | os.O_APPEND
	if create {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flag, 0o644)
	if err != nil {
		return nil, 0, err // a nil *os.File would be a File that is not nil
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// SyncDir syncs a folder, if it can be opened. Windows syncs none that was opened to be read: there it does nothing.
func (OS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	err = d.Sync()
	d.Close()
	return err
}
