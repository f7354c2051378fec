package store

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
)

// Files is what an archive needs of a file system. Tests put faults here.
type Files interface {
	MkdirAll(dir string) error
	// List names the plain files of a folder.
	List(dir string) ([]FileInfo, error)
	// Create makes a file that does not exist.
	Create(path string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(path string) (File, error)
	Remove(path string) error
	// SyncDir makes the folder's list of files survive a power failure.
	SyncDir(dir string) error
}

// FileInfo is a file in a folder.
type FileInfo struct {
	Name string
	Size int64
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// OS is the file system of the machine.
type OS struct{}

var _ Files = OS{}

// MkdirAll makes a folder and those above it.
func (OS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o755) }

// List names the plain files of a folder, by name.
func (OS) List(dir string) ([]FileInfo, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []FileInfo
	for _, e := range entries {
		info, err := os.Stat(dir + string(os.PathSeparator) + e.Name())
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			list = append(list, FileInfo{e.Name(), info.Size()})
		}
	}
	return list, nil
}

// Create makes a file that does not exist.
func (OS) Create(path string) (File, error) {
	return open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open opens an existing file for reading and writing.
func (OS) Open(path string) (File, error) { return open(path, os.O_RDWR) }

func open(path string, flag int) (File, error) {
	f, err := os.OpenFile(path, flag, 0o644)
	if err != nil {
		return nil, err // a nil *os.File would be a File that is not nil
	}
	return f, nil
}

// Remove deletes a file.
func (OS) Remove(path string) error { return os.Remove(path) }

// SyncDir syncs a folder, where the system can. Windows syncs none that was opened to be read.
func (OS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
