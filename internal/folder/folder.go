// Package folder writes files so that each is there whole or not at all, and
// keeps a folder for one process.
package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// ErrLocked says that another process holds the lock of a folder.
var ErrLocked = errors.New("it is in use by another waggle")

// Write writes a file so that a crash leaves the old one or the new one. Until
// it is complete, it has the name with ".new" behind it.
func Write(name string, b []byte) error {
	return WriteFrom(name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WritePrivate writes a file as Write does, which nobody but its owner may read at any time.
func WritePrivate(name string, b []byte) error {
	if err := os.Remove(name + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return named(name, err)
	}
	return replace(name, f, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteFrom writes a file as Write does, from a function that writes it piece by
// piece. An error of the function leaves the old file.
func WriteFrom(name string, write func(io.Writer) error) error {
	f, err := os.Create(name + ".new")
	if err != nil {
		return named(name, err)
	}
	return replace(name, f, write)
}

// WriteBeside is WriteFrom for a folder that is not ours: until the file is complete
// it has a name that no other file there has, with a number and ".new" behind it.
func WriteBeside(name string, write func(io.Writer) error) error {
	for n := 0; ; n++ {
		f, err := os.OpenFile(fmt.Sprintf("%s.%d.new", name, n), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			return replace(name, f, write)
		case !errors.Is(err, fs.ErrExist):
			return named(name, err)
		}
	}
}

// named is an error of a file beside name, such as one that has the name once it is complete,
// told of name itself: nobody asked for the other.
func named(name string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: name, Err: p.Err}
	}
	return err
}

// replace writes f and gives it the name.
func replace(name string, f *os.File, write func(io.Writer) error) error {
	err := write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return Sync(filepath.Dir(name))
}

// Sync makes the names in a folder survive a power failure. Windows syncs no folder that was opened to be read, and
// says that access is denied: there it does nothing.
func Sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Exists tells whether there is a file or folder of that name.
func Exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// Lock makes the folder if there is none and takes it for this process, until
// the lock is closed or the process ends. The error wraps ErrLocked if another
// process has it. The file "lock" in the folder stays there.
func Lock(dir string) (io.Closer, error) {
	for try := 0; ; try++ {
		err := os.MkdirAll(dir, 0o755)
		var f *os.File
		if err == nil {
			f, err = lock(dir, filepath.Join(dir, "lock"), 0o644)
		}
		// Whoever had it may have removed it meanwhile.
		if (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)) && try < 100 {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch ok, err := inPlace(f); {
		case err != nil:
			return nil, err
		case ok:
			return f, nil
		}
	}
}

// LockFile is Lock for a single file: what is locked is an empty file beside it, "NAME.lock",
// which only its owner may open and which goes when the lock is closed.
func LockFile(name string) (io.Closer, error) {
	for {
		f, err := lock(name, name+".lock", 0o600)
		if err != nil {
			return nil, err
		}
		switch ok, err := inPlace(f); {
		case err != nil:
			return nil, err
		case ok:
			return lockedFile{f}, nil
		}
	}
}

// inPlace tells whether a file that was locked still has its name, and closes it otherwise: whoever had the lock may have
// removed it between its opening and its locking here.
func inPlace(f *os.File) (bool, error) {
	held, err := f.Stat()
	if err != nil {
		return false, errors.Join(err, f.Close())
	}
	if there, err := os.Stat(f.Name()); err == nil && os.SameFile(held, there) {
		return true, nil
	}
	return false, f.Close()
}

// lockedFile is the lock of a file.
type lockedFile struct{ *os.File }

// Close removes the file of the lock while it is held, and gives it back.
func (l lockedFile) Close() error {
	_ = os.Remove(l.Name()) // an empty file that stays does no harm
	return l.File.Close()
}

// lock takes the lock of what is called so for this process.
func lock(what, name string, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil, named(what, err)
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", what, err), f.Close())
	}
	return f, nil
}

// Held tells whether a process holds the lock of the folder. It is in the way of nobody who
// wants it.
func Held(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return locked(f)
}

// New is a folder that a program may make, and the folders around it that there were
// not before: empty where it was there.
type New []string

// Absent looks at a folder before it is made.
func Absent(dir string) (made New) {
	for dir = filepath.Clean(dir); !Exists(dir); dir = filepath.Dir(dir) {
		made = append(made, dir)
	}
	return made
}

// Remove takes away what was made, as far as nothing but a lock is in it, unless another process has taken it meanwhile. This
// one has given its own lock back.
func (made New) Remove() {
	if len(made) == 0 || !Exists(made[0]) {
		return
	}
	l, err := Lock(made[0])
	switch {
	case errors.Is(err, ErrLocked):
		return
	case err == nil && runtime.GOOS == "windows": // which removes no file that is open
		l.Close()
	case err == nil:
		defer l.Close()
	}
	os.Remove(filepath.Join(made[0], "lock")) // what stays is in the way of nothing
	for _, dir := range made {
		if os.Remove(dir) != nil {
			return
		}
	}
}
