package frontier

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// halt stops a store that cannot go on, and keeps the process alive. pebble demands that the
// process end then, on whichever of its goroutines meets the failure. Instead
// the first failure is kept, nothing is written any more, the goroutine ends,
// and every later call of the frontier returns the failure: what is on disk is
// the last committed turn. The store is not closed then, since it may wait for
// ever for what ended: it is left as it stands until the process ends.
type halt struct {
	cause  atomic.Pointer[error]
	done   chan struct{} // closed with the first failure
	opened atomic.Bool   // the store is open: see waitForEver
}

func newHalt() *halt { return &halt{done: make(chan struct{})} }

// stop notes a failure; the first one counts.
func (h *halt) stop(err error) {
	if h.cause.CompareAndSwap(nil, &err) {
		close(h.done)
	}
}

// err is the failure, nil while there is none.
func (h *halt) err() error {
	if err := h.cause.Load(); err != nil {
		return *err
	}
	return nil
}

// waitForEver stops the store, where it is open, and the calling goroutine with it, which keeps
// what it holds. It is for failures that pebble meets between giving back a lock and taking it
// again: a goroutine that ended or panicked there would give back a lock that it does not have,
// which ends the process.
func (h *halt) waitForEver(err error) {
	if !h.opened.Load() {
		return // Open returns the error
	}
	h.stop(err)
	select {}
}

// run makes a change to the store, unless it stands still. The change runs on a
// goroutine of its own, since it may never return.
func (h *halt) run(change func() error) error {
	if err := h.err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- change() }()
	select {
	case err := <-done:
		return err
	case <-h.done:
		return h.err()
	}
}

// Infof and Errorf are pebble's log, which is kept quiet.
func (h *halt) Infof(string, ...any)  {}
func (h *halt) Errorf(string, ...any) {}

// Fatalf is called when the store cannot go on; it must not return. Deferred
// calls of the goroutine give back what locks they can.
func (h *halt) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	for _, a := range args {
		if cause, ok := a.(error); ok {
			err = cause
		}
	}
	h.stop(damageOf("", err))
	runtime.Goexit()
}

// listener listens to the store. A flush or a compaction that failed would
// be tried again for ever.
func (h *halt) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			h.stop(damageOf("", err))
			runtime.Goexit()
		},
		// This one may run on the caller's goroutine.
		DataCorruption: func(i pebble.DataCorruptionInfo) { h.stop(&DamageError{Path: i.Path, Err: i.Details}) },
	}
}

// haltFS lets nothing be changed in a file system once the store stands still.
type haltFS struct {
	vfs.FS
	halt *halt
}

func (f haltFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.halt.err(); err != nil {
		return nil, err
	}
	return f.wrap(f.FS.Create(name, c))
}

func (f haltFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	if err := f.halt.err(); err != nil {
		return nil, err
	}
	return f.wrap(f.FS.OpenReadWrite(name, c, o...))
}

func (f haltFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.halt.err(); err != nil {
		return nil, err
	}
	return f.wrap(f.FS.ReuseForWrite(from, to, c))
}

func (f haltFS) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &haltFile{file, f.halt}, nil
}

func (f haltFS) Link(from, to string) error {
	if err := f.halt.err(); err != nil {
		return err
	}
	return f.FS.Link(from, to)
}

func (f haltFS) Remove(name string) error {
	if err := f.halt.err(); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f haltFS) RemoveAll(name string) error {
	if err := f.halt.err(); err != nil {
		return err
	}
	return f.FS.RemoveAll(name)
}

func (f haltFS) Rename(from, to string) error {
	if err := f.halt.err(); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

// GetDiskUsage is ErrUnsupported where it fails: it is no reason to end.
func (f haltFS) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	usage, err := f.FS.GetDiskUsage(path)
	if err != nil {
		err = vfs.ErrUnsupported
	}
	return usage, err
}

func (f haltFS) Unwrap() vfs.FS { return f.FS }

// storeFS is the file system as the store sees it. Where a folder cannot be synced, or a log cannot
// be begun, written or ended, pebble panics, on any of its goroutines: it stands still instead.
type storeFS struct {
	vfs.FS
	halt *halt
}

func (f storeFS) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return storeDir{dir, f.halt}, nil
}

func (f storeFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return f.log(name, file, err)
}

func (f storeFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(from, to, c)
	return f.log(to, file, err)
}

// log is a file that was begun, or the error of it.
func (f storeFS) log(name string, file vfs.File, err error) (vfs.File, error) {
	if !strings.HasSuffix(name, ".log") {
		return file, err
	}
	if err != nil {
		f.halt.waitForEver(err)
		return nil, err
	}
	return storeLog{file, f.halt}, nil
}

func (f storeFS) Unwrap() vfs.FS { return f.FS }

type storeDir struct {
	vfs.File
	halt *halt
}

func (d storeDir) Sync() error {
	err := d.File.Sync()
	if err != nil {
		d.halt.waitForEver(err)
		d.halt.stop(damageOf("", err))
		runtime.Goexit()
	}
	return nil
}

// storeLog is a log of the store.
type storeLog struct {
	vfs.File
	halt *halt
}

func (l storeLog) Write(b []byte) (int, error) {
	n, err := l.File.Write(b)
	return n, l.check(err)
}

func (l storeLog) SyncTo(length int64) (bool, error) {
	full, err := l.File.SyncTo(length)
	return full, l.check(err)
}

func (l storeLog) Sync() error     { return l.check(l.File.Sync()) }
func (l storeLog) SyncData() error { return l.check(l.File.SyncData()) }
func (l storeLog) Close() error    { return l.check(l.File.Close()) }

func (l storeLog) check(err error) error {
	if err != nil {
		l.halt.waitForEver(err)
	}
	return err
}

type haltFile struct {
	vfs.File
	halt *halt
}

func (f *haltFile) Write(b []byte) (int, error) {
	if err := f.halt.err(); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

func (f *haltFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.halt.err(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}
