package frontier

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// view shows the files of a frontier as they are at one moment, for reading
// alone: also while a crawl goes on that writes to them, removes and renames
// them. All files are held open, and each is as long as it was.
//
// The witness is looked at first, then the store, then the ledgers: so what the
// witness speaks of is in the store's log, and what that speaks of in the
// ledger.
type view struct {
	vfs.FS
	dir   string
	files map[string]*viewFile // by path
	hide  func(name string) bool
	marks []string // names of empty files that the store's folder should have
}

// errReadOnly is what every change of a view gives.
var errReadOnly = errors.New("this view of the frontier is for reading")

// viewTries is how often a view is begun anew because files came or went.
const viewTries = 1000

// openView opens all files in the folder dir of a frontier, none if it is not
// there.
func openView(fs vfs.FS, dir string) (*view, error) {
	for range viewTries {
		v := &view{FS: fs, dir: dir, files: make(map[string]*viewFile)}
		queue := fs.PathJoin(dir, "queue")
		before, err := listAll(fs, dir, queue)
		if err != nil {
			return nil, err
		}
		err = v.hold(before)
		if err == nil {
			var after []string
			if after, err = listAll(fs, dir, queue); err == nil && slices.Equal(before, after) {
				return v, nil
			}
		}
		if err := errors.Join(err, v.close()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s changes too fast to be looked at: wait until the crawl has less to do, or stop it", dir)
}

// listAll lists the files of a frontier in the order in which a view looks at
// them.
func listAll(fs vfs.FS, dir, queue string) (paths []string, err error) {
	rank := func(path string) int {
		switch {
		case fs.PathBase(path) == witnessName:
			return 0
		case fs.PathDir(path) == queue:
			return 1
		}
		return 2
	}
	for _, d := range []string{dir, queue} {
		names, err := fs.List(d)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, name := range names {
			if path := fs.PathJoin(d, name); path != queue {
				paths = append(paths, path)
			}
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	return paths, nil
}

// hold opens files and notes their lengths.
func (v *view) hold(paths []string) error {
	for _, path := range paths {
		f, err := v.FS.Open(path)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err != nil {
			return errors.Join(err, f.Close())
		}
		if info.IsDir() {
			if err := f.Close(); err != nil {
				return err
			}
			continue
		}
		v.files[path] = &viewFile{File: f, info: info, size: info.Size()}
		if v.FS.PathBase(path) == witnessName { // it is written over in place
			b := make([]byte, info.Size())
			if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
				return err
			}
			v.files[path].bytes = b
		}
	}
	return nil
}

func (v *view) close() error {
	var errs []error
	for _, f := range v.files {
		errs = append(errs, f.File.Close())
	}
	return errors.Join(errs...)
}

// healed is a view without the files that only describe the store, and with those
// marks that can be told from its other files.
func (v *view) healed() *view {
	own := v.without(func(name string) bool { return strings.HasPrefix(name, "OPTIONS-") })
	queue := v.FS.PathJoin(v.dir, "queue")
	var format, manifest bool
	newest := ""
	for path := range v.files {
		name := v.FS.PathBase(path)
		format = format || strings.HasPrefix(name, formatMark)
		manifest = manifest || strings.HasPrefix(name, manifestMark)
		if v.FS.PathDir(path) == queue && strings.HasPrefix(name, "MANIFEST-") && (len(name) > len(newest) || len(name) == len(newest) && name > newest) {
			newest = name
		}
	}
	if newest == "" {
		return own
	}
	if !format {
		own.marks = append(own.marks, fmt.Sprintf("%s000001.%s", formatMark, pebble.FormatNewest))
	}
	if !manifest {
		own.marks = append(own.marks, manifestMark+"000001."+newest)
	}
	return own
}

// What the names of pebble's marks begin with. They are empty files: their names
// tell the number of the mark and what it stands for.
const (
	formatMark   = "marker.format-version."
	manifestMark = "marker.manifest."
)

// without is a view in which some files, by their base names, are not seen.
func (v *view) without(hide func(name string) bool) *view {
	own := *v
	own.hide = hide
	if v.hide != nil {
		own.hide = func(name string) bool { return v.hide(name) || hide(name) }
	}
	return &own
}

func (v *view) file(path string) *viewFile {
	f := v.files[path]
	if f == nil || v.hide != nil && v.hide(v.FS.PathBase(path)) {
		return nil
	}
	return f
}

// Open opens a file for reading.
func (v *view) Open(name string, _ ...vfs.OpenOption) (vfs.File, error) {
	f := v.file(name)
	if f == nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
	}
	return &viewHandle{viewFile: f}, nil
}

// List lists the files of a folder by their base names.
func (v *view) List(dir string) (names []string, err error) {
	for path := range v.files {
		if v.FS.PathDir(path) == dir && v.file(path) != nil {
			names = append(names, v.FS.PathBase(path))
		}
	}
	if dir == v.FS.PathJoin(v.dir, "queue") {
		names = append(names, v.marks...)
	}
	slices.Sort(names)
	return names, nil
}

// Stat tells of a file.
func (v *view) Stat(name string) (vfs.FileInfo, error) {
	if f := v.file(name); f != nil {
		return f.Stat()
	}
	return v.FS.Stat(name) // of a folder
}

func (v *view) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnly }
func (v *view) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnly
}
func (v *view) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnly
}
func (v *view) Link(string, string) error          { return errReadOnly }
func (v *view) Remove(string) error                { return errReadOnly }
func (v *view) RemoveAll(string) error             { return errReadOnly }
func (v *view) Rename(string, string) error        { return errReadOnly }
func (v *view) MkdirAll(string, os.FileMode) error { return errReadOnly }
func (v *view) Lock(string) (io.Closer, error)     { return io.NopCloser(nil), nil }
func (v *view) Unwrap() vfs.FS                     { return nil }

// viewFile is a file of a view. Its handles share what is held open.
type viewFile struct {
	vfs.File
	info  vfs.FileInfo
	size  int64
	bytes []byte // of a file that is written over
}

// ReadAt reads what was there when the view was made.
func (f *viewFile) ReadAt(b []byte, at int64) (int, error) {
	if at >= f.size {
		return 0, io.EOF
	}
	short := int64(len(b)) > f.size-at
	if short {
		b = b[:f.size-at]
	}
	n, err := 0, error(nil)
	if f.bytes != nil {
		n = copy(b, f.bytes[at:])
	} else {
		n, err = f.File.ReadAt(b, at)
	}
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// Stat tells of the file as it was.
func (f *viewFile) Stat() (vfs.FileInfo, error) { return viewInfo{f.info, f.size}, nil }

type viewInfo struct {
	vfs.FileInfo
	size int64
}

func (i viewInfo) Size() int64 { return i.size }

// viewHandle reads a file of a view from its own place on.
type viewHandle struct {
	*viewFile
	at int64
}

func (h *viewHandle) Read(b []byte) (int, error) {
	n, err := h.viewFile.ReadAt(b, h.at)
	h.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (h *viewHandle) Close() error                          { return nil }
func (h *viewHandle) Write([]byte) (int, error)             { return 0, errReadOnly }
func (h *viewHandle) WriteAt([]byte, int64) (int, error)    { return 0, errReadOnly }
func (h *viewHandle) Preallocate(int64, int64) error        { return errReadOnly }
func (h *viewHandle) Sync() error                           { return nil }
func (h *viewHandle) SyncData() error                       { return nil }
func (h *viewHandle) SyncTo(int64) (bool, error)            { return false, nil }
func (h *viewHandle) Prefetch(at int64, length int64) error { return nil }
func (h *viewHandle) Fd() uintptr                           { return vfs.InvalidFd }
