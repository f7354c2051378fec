package frontier

import (
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lazyFS is the file system under the store. The store hands its log to the
// operating system and fsyncs it before a commit returns; lazyFS lets the first
// happen, so that the death of the process loses nothing, and puts off the
// second until sync, since an fsync per page fetched would set the pace of a
// crawl.
//
// Before any table it fsyncs the ledger, and has the caller fsync what turns speak of
// (Options.Ahead): a table may make turns durable whose log was never fsynced.
type lazyFS struct {
	vfs.FS
	ahead      func() error // nil = nothing is to be done
	hard       atomic.Bool  // sync logs for real
	syncLedger atomic.Pointer[func() error]

	syncs    sync.Mutex // guards unsynced, and is held while a ledger or stale logs are synced
	unsynced error      // of the first such sync that failed

	mu    sync.Mutex
	stale map[string]struct{} // logs closed without a sync
	locks []io.Closer         // of the store's folder
}

func newLazyFS(fs vfs.FS, h *halt, ahead func() error) *lazyFS {
	return &lazyFS{FS: haltFS{fs, h}, ahead: ahead, stale: make(map[string]struct{})}
}

// Lock takes a lock that unlock gives back, whatever a store that was left as it
// stood did about it.
func (l *lazyFS) Lock(name string) (io.Closer, error) {
	c, err := l.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locks = append(l.locks, c)
	return io.NopCloser(nil), nil
}

func (l *lazyFS) unlock() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.locks {
		err = errors.Join(err, c.Close())
	}
	l.locks = nil
	return err
}

func (l *lazyFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.Create(name, c)
	return l.wrap(name, f, err)
}

func (l *lazyFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.ReuseForWrite(from, to, c)
	l.forget(from)
	return l.wrap(to, f, err)
}

func (l *lazyFS) Remove(name string) error {
	l.forget(name)
	return l.FS.Remove(name)
}

func (l *lazyFS) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.stale, name)
}

func (l *lazyFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	switch {
	case err != nil:
		return nil, err
	case strings.HasSuffix(name, ".log"):
		return &logFile{File: f, fs: l, name: name}, nil
	case strings.HasSuffix(name, ".sst"), strings.HasSuffix(name, ".blob"):
		return &tableFile{File: f, fs: l}, nil
	}
	return f, nil
}

// syncing syncs a ledger or stale logs. After a sync that failed, all fail: the system may have
// dropped what was to be written, and says so once.
func (l *lazyFS) syncing(sync func() error) error {
	l.syncs.Lock()
	defer l.syncs.Unlock()
	if l.unsynced == nil {
		l.unsynced = sync()
	}
	return l.unsynced
}

// syncStale fsyncs the logs that were closed without it.
func (l *lazyFS) syncStale() error { return l.syncing(l.syncClosedLogs) }

func (l *lazyFS) syncClosedLogs() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.stale {
		f, err := l.FS.Open(name)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return err
		}
		delete(l.stale, name)
	}
	return nil
}

// callAhead makes durable what turns speak of.
func (l *lazyFS) callAhead() error {
	if l.ahead == nil {
		return nil
	}
	return l.ahead()
}

// beforeTable makes durable what a table relies on.
func (l *lazyFS) beforeTable() error {
	if err := l.callAhead(); err != nil {
		return err
	}
	if sync := l.syncLedger.Load(); sync != nil {
		return (*sync)()
	}
	return nil
}

type logFile struct {
	vfs.File
	fs   *lazyFS
	name string
}

// Preallocate does nothing: the room for whole logs would be two hundred
// megabytes for a crawl of a few pages.
func (f *logFile) Preallocate(int64, int64) error { return nil }

func (f *logFile) Sync() error {
	if f.fs.hard.Load() {
		return f.File.Sync()
	}
	return nil
}

func (f *logFile) SyncData() error {
	if f.fs.hard.Load() {
		return f.File.SyncData()
	}
	return nil
}

func (f *logFile) Close() error {
	f.fs.mu.Lock()
	f.fs.stale[f.name] = struct{}{}
	f.fs.mu.Unlock()
	return f.File.Close()
}

type tableFile struct {
	vfs.File
	fs *lazyFS
}

func (f *tableFile) Sync() error {
	if err := f.fs.beforeTable(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *tableFile) SyncData() error {
	if err := f.fs.beforeTable(); err != nil {
		return err
	}
	return f.File.SyncData()
}
