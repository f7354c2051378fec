package collection

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/store"
)

// faultyDisk counts the operations of some kinds, of all three stores, and has those in
// [from, to) fail. A write that fails has written half of its bytes, a read has read half.
type faultyDisk struct {
	of       []kind
	err      error
	mu       sync.Mutex
	n        int
	from, to int
	failed   int
	files    int // of these, operations of archive and log that need room
}

// kind is a kind of operations.
type kind string

const (
	roomOps kind = "room"  // what needs room on a disk: writes, syncs, new files and names
	nameOps kind = "names" // files renamed, removed and cut
	readOps kind = "reads" // files opened, listed and read
)

func (d *faultyDisk) take(k kind) error {
	if !slices.Contains(d.of, k) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if d.n-1 < d.from || d.n-1 >= d.to {
		return nil
	}
	d.failed++
	return d.err
}

// takeFile is take for archive and log, without which no crawl may go on.
func (d *faultyDisk) takeFile(k kind) error {
	err := d.take(k)
	if err != nil && k == roomOps {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.files++
	}
	return err
}

// options are those of stores on the disk.
func (d *faultyDisk) options() (o StoreOptions) {
	o.Frontier.FS = tornFS{errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpCreate, errorfs.OpLink, errorfs.OpMkdirAll, errorfs.OpReuseForWrite, errorfs.OpFilePreallocate,
			errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			return d.take(roomOps)
		case errorfs.OpRename, errorfs.OpRemove, errorfs.OpRemoveAll:
			return d.take(nameOps)
		case errorfs.OpOpen, errorfs.OpOpenDir, errorfs.OpList, errorfs.OpStat, errorfs.OpFileStat:
			return d.take(readOps)
		}
		return nil
	})), d}
	o.Archive.Files = faultyFiles{store.OS{}, d}
	o.LogDisk = faultyLogs{event.OS{}, d}
	return o
}

// tornFS has the writes and reads of the frontier fail half done, which errorfs does not.
type tornFS struct {
	vfs.FS
	disk *faultyDisk
}

func (f tornFS) torn(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return tornFile{file, f.disk}, nil
}

func (f tornFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.torn(f.FS.Create(name, c))
}

func (f tornFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.torn(f.FS.Open(name, opts...))
}

func (f tornFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.torn(f.FS.OpenReadWrite(name, c, opts...))
}

func (f tornFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.torn(f.FS.ReuseForWrite(oldname, newname, c))
}

type tornFile struct {
	vfs.File
	disk *faultyDisk
}

func (f tornFile) half(k kind, b []byte, do func([]byte) (int, error)) (int, error) {
	if err := f.disk.take(k); err != nil {
		n, _ := do(b[:len(b)/2]) // its error may be io.EOF, which is none of a disk
		return n, err
	}
	return do(b)
}

func (f tornFile) Write(b []byte) (int, error) { return f.half(roomOps, b, f.File.Write) }
func (f tornFile) Read(b []byte) (int, error)  { return f.half(readOps, b, f.File.Read) }

func (f tornFile) WriteAt(b []byte, at int64) (int, error) {
	return f.half(roomOps, b, func(b []byte) (int, error) { return f.File.WriteAt(b, at) })
}

func (f tornFile) ReadAt(b []byte, at int64) (int, error) {
	return f.half(readOps, b, func(b []byte) (int, error) { return f.File.ReadAt(b, at) })
}

type faultyFiles struct {
	store.Files
	disk *faultyDisk
}

func (f faultyFiles) MkdirAll(dir string) error {
	if err := f.disk.takeFile(roomOps); err != nil {
		return err
	}
	return f.Files.MkdirAll(dir)
}

func (f faultyFiles) Create(path string) (store.File, error) {
	if err := f.disk.takeFile(roomOps); err != nil {
		return nil, err
	}
	file, err := f.Files.Create(path)
	return faultyFile{file, f.disk}, err
}

func (f faultyFiles) List(dir string) ([]store.FileInfo, error) {
	if err := f.disk.takeFile(readOps); err != nil {
		return nil, err
	}
	return f.Files.List(dir)
}

func (f faultyFiles) Remove(path string) error {
	if err := f.disk.takeFile(nameOps); err != nil {
		return err
	}
	return f.Files.Remove(path)
}

func (f faultyFiles) SyncDir(dir string) error {
	if err := f.disk.takeFile(roomOps); err != nil {
		return err
	}
	return f.Files.SyncDir(dir)
}

func (f faultyFiles) Open(path string) (store.File, error) {
	if err := f.disk.takeFile(readOps); err != nil {
		return nil, err
	}
	file, err := f.Files.Open(path)
	return faultyFile{file, f.disk}, err
}

type faultyFile struct {
	store.File
	disk *faultyDisk
}

func (f faultyFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.disk.takeFile(roomOps); err != nil {
		n, errWrite := f.File.WriteAt(b[:len(b)/2], at)
		return n, errors.Join(err, errWrite)
	}
	return f.File.WriteAt(b, at)
}

func (f faultyFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.disk.takeFile(readOps); err != nil {
		n, _ := f.File.ReadAt(b[:len(b)/2], at)
		return n, err
	}
	return f.File.ReadAt(b, at)
}

func (f faultyFile) Truncate(n int64) error {
	if err := f.disk.takeFile(nameOps); err != nil {
		return err
	}
	return f.File.Truncate(n)
}

func (f faultyFile) Sync() error { return errors.Join(f.disk.takeFile(roomOps), f.File.Sync()) }

type faultyLogs struct {
	event.Disk
	disk *faultyDisk
}

func (f faultyLogs) Open(path string, create bool) (event.File, int64, error) {
	k := readOps
	if create && !folder.Exists(path) {
		k = roomOps
	}
	if err := f.disk.takeFile(k); err != nil {
		return nil, 0, err
	}
	file, size, err := f.Disk.Open(path, create)
	return faultyLog{file, f.disk}, size, err
}

func (f faultyLogs) SyncDir(dir string) error {
	return errors.Join(f.disk.takeFile(roomOps), f.Disk.SyncDir(dir))
}

type faultyLog struct {
	event.File
	disk *faultyDisk
}

func (f faultyLog) Write(b []byte) (int, error) {
	if err := f.disk.takeFile(roomOps); err != nil {
		n, errWrite := f.File.Write(b[:len(b)/2])
		return n, errors.Join(err, errWrite)
	}
	return f.File.Write(b)
}

func (f faultyLog) ReadAt(b []byte, at int64) (int, error) {
	if err := f.disk.takeFile(readOps); err != nil {
		n, _ := f.File.ReadAt(b[:len(b)/2], at)
		return n, err
	}
	return f.File.ReadAt(b, at)
}

func (f faultyLog) Truncate(n int64) error {
	if err := f.disk.takeFile(nameOps); err != nil {
		return err
	}
	return f.File.Truncate(n)
}

func (f faultyLog) Sync() error { return errors.Join(f.disk.takeFile(roomOps), f.File.Sync()) }

// leapClock is a clock whose time passes only where a crawl waits for it: a store
// that met a full disk leaves goroutines of pebble behind, so that no bubble of
// synctest can hold it. A timer fires soon, as if its time had passed; soon is long
// enough for a page that is under way to come first.
type leapClock struct {
	mu  sync.Mutex
	now time.Time
}

const soon = 500 * time.Microsecond

func newLeapClock() *leapClock {
	return &leapClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *leapClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *leapClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *leapClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	fire := make(chan time.Time, 1)
	t := time.AfterFunc(soon, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now = c.now.Add(d)
		fire <- c.now
	})
	return fire, func() { t.Stop() }
}

// The disk is full at the nth operation of a crawl, of any of its stores, for one
// operation, for some, or from then on. The crawl ends with an error that says so,
// what it leaves is whole, and with room it goes on to what it would have fetched.
// WAGGLE_LONG=all tries every n, WAGGLE_LONG=1 one of nine, and the quick run one of 45.
func TestDiskFullAnywhere(t *testing.T) {
	faultsAnywhere(t, syscall.ENOSPC, 9, roomOps)
}

// The disk breaks in the same way: it does not write, does not sync, does not give a file
// another name, or does not read. WAGGLE_LONG=all
// tries every n, WAGGLE_LONG=1 one of 23 writes and of 9 reads, and the quick run a fifth of these.
func TestDiskBreaksAnywhere(t *testing.T) {
	t.Run("writes", func(t *testing.T) { faultsAnywhere(t, syscall.EIO, 23, roomOps) })
	t.Run("names", func(t *testing.T) { faultsAnywhere(t, syscall.EIO, 1, nameOps) })
	t.Run("reads", func(t *testing.T) { faultsAnywhere(t, syscall.EIO, 9, readOps) })
}

func faultsAnywhere(t *testing.T, cause error, step int, of ...kind) {
	t.Helper()
	const never = 1 << 30
	crawled := func(dir string, d *faultyDisk, m *meadow, requests int) error {
		_, err := m.crawl(t, dir, d.options(), requests, func(c *crawl.Crawl) {
			c.Clock, c.Listen = m.clock, func(e event.Event) {
				if f, ok := e.(event.Failed); ok && f.Retry {
					return
				}
				if u := visited(e); !u.IsZero() && m.told != nil {
					m.told[u.String()] = true
				}
			}
		})
		return err
	}
	whole := &faultyDisk{of: of, from: never, to: never}
	undisturbed := filepath.Join(t.TempDir(), "c")
	m := &meadow{n: 40, clock: newLeapClock(), asked: map[string]int{}}
	if err := crawled(undisturbed, whole, m, 15); err != nil {
		t.Fatal(err)
	}
	// Once n is past the operations of the first run, the disk is full in a second
	// run, which goes on with a copy of the first.
	begun := copyOf(t, undisturbed)
	second := &faultyDisk{of: of, from: never, to: never}
	if err := crawled(undisturbed, second, m, 0); err != nil {
		t.Fatal(err)
	}
	want := outcomesIn(t, undisturbed)
	if m.asked[m.address(8)] == 0 || !m.clock.Now().After(newLeapClock().Now()) {
		t.Fatalf("no page timed out, or nobody waited: it is %v in the end", m.clock.Now())
	}
	switch {
	case long.All():
		step = 1
	case !long.Asked():
		step *= 5
	}
	counts := map[string]int{}
	lengths := []int{1, 5, never}
	for n := 0; n < whole.n+second.n; n += step {
		first := n < whole.n
		d := &faultyDisk{of: of, err: cause, from: n}
		dir, m := filepath.Join(t.TempDir(), "c"), &meadow{n: 40, clock: newLeapClock(), asked: map[string]int{}, told: map[string]bool{}}
		if !first {
			d.from, dir = n-whole.n, copyOf(t, begun)
			m.acked = acknowledged(t, dir)
		}
		d.to = d.from + lengths[n/step%len(lengths)]
		what := fmt.Sprintf("second run %t, operations from %d, %d of them", !first, d.from, d.to-d.from)
		err := crawled(dir, d, m, 0)
		var broken *OpenError
		switch {
		case errors.As(err, &broken) && broken.Damaged && slices.Contains(of, readOps):
			// What cannot be read is damaged as far as anybody can tell.
			counts["told as damage"]++
		case err != nil && !strings.Contains(err.Error(), cause.Error()):
			t.Errorf("%s: the error does not say what the disk said: %v", what, err)
		case err == nil && d.files > 0:
			t.Errorf("%s: archive or log was not written, and nobody was told", what)
		case err == nil && d.failed > 0:
			counts["went on, and did without what failed"]++
		case err == nil:
			counts["over before"]++
		default:
			counts["ended"]++
		}
		// The process has ended: what it held open, it holds no more.
		left := copyOf(t, dir)
		if v, err := At(left).Verify(t.Context(), nil); err != nil || !v.Whole {
			t.Fatalf("%s: what is left: %v, %v", what, v.Damage, err)
		}
		again := &meadow{n: 40, clock: newLeapClock(), asked: m.asked, acked: acknowledged(t, left)}
		maps.Copy(m.told, m.acked)
		for u := range m.told {
			if !again.acked[u] {
				t.Errorf("%s: %s was done, and is not any more", what, u)
			}
		}
		if len(m.again) > 0 {
			t.Errorf("%s: asked for again in that run: %q", what, m.again)
		}
		if err := crawled(left, &faultyDisk{of: of, from: never, to: never}, again, 0); err != nil {
			t.Fatalf("%s: with room again: %v", what, err)
		}
		if v, err := At(left).Verify(t.Context(), nil); err != nil || !v.Whole {
			t.Fatalf("%s: in the end: %v, %v", what, v.Damage, err)
		}
		owed(t, again, left, what)
		got := outcomesIn(t, left)
		for u := range want {
			if got[u] != 1 {
				t.Errorf("%s: %s has %d outcomes in the end", what, u, got[u])
			}
		}
	}
	t.Logf("%d operations of a first run and %d of a second: %v", whole.n, second.n, counts)
	if counts["ended"]+counts["told as damage"]+counts["went on, and did without what failed"] < long.Of(2, 5) {
		t.Error("the crawl hardly ever met what failed")
	}
}
