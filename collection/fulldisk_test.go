package collection

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/store"
)

// fullDisk counts the operations that need room on a disk, of all three stores, and
// has those in [from, to) fail as on a full one. A write that fails has written half
// of its bytes.
type fullDisk struct {
	mu       sync.Mutex
	n        int
	from, to int
	failed   int
}

func (d *fullDisk) take() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if d.n-1 < d.from || d.n-1 >= d.to {
		return nil
	}
	d.failed++
	return syscall.ENOSPC
}

// options are those of stores on the disk.
func (d *fullDisk) options() (o StoreOptions) {
	o.Frontier.FS = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpCreate, errorfs.OpLink, errorfs.OpMkdirAll, errorfs.OpReuseForWrite, errorfs.OpFilePreallocate,
			errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			return d.take()
		}
		return nil
	}))
	o.Archive.Files = fullFiles{store.OS{}, d}
	o.LogFile = func(f event.File) event.File { return fullLog{f, d} }
	return o
}

type fullFiles struct {
	store.Files
	disk *fullDisk
}

func (f fullFiles) MkdirAll(dir string) error {
	if err := f.disk.take(); err != nil {
		return err
	}
	return f.Files.MkdirAll(dir)
}

func (f fullFiles) Create(path string) (store.File, error) {
	if err := f.disk.take(); err != nil {
		return nil, err
	}
	file, err := f.Files.Create(path)
	return fullFile{file, f.disk}, err
}

func (f fullFiles) Open(path string) (store.File, error) {
	file, err := f.Files.Open(path)
	return fullFile{file, f.disk}, err
}

type fullFile struct {
	store.File
	disk *fullDisk
}

func (f fullFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.disk.take(); err != nil {
		n, errWrite := f.File.WriteAt(b[:len(b)/2], at)
		return n, errors.Join(err, errWrite)
	}
	return f.File.WriteAt(b, at)
}

func (f fullFile) Sync() error { return errors.Join(f.disk.take(), f.File.Sync()) }

type fullLog struct {
	event.File
	disk *fullDisk
}

func (f fullLog) Write(b []byte) (int, error) {
	if err := f.disk.take(); err != nil {
		n, errWrite := f.File.Write(b[:len(b)/2])
		return n, errors.Join(err, errWrite)
	}
	return f.File.Write(b)
}

func (f fullLog) Sync() error { return errors.Join(f.disk.take(), f.File.Sync()) }

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
// WAGGLE_FAULTS=1 tries every n, and not one of nine.
func TestDiskFullAnywhere(t *testing.T) {
	const never = 1 << 30
	crawled := func(dir string, d *fullDisk, m *meadow, requests int) error {
		_, err := m.crawl(t, dir, d.options(), requests, func(c *crawl.Crawl) { c.Clock = m.clock })
		return err
	}
	whole := &fullDisk{from: never, to: never}
	undisturbed := filepath.Join(t.TempDir(), "c")
	m := &meadow{n: 40, clock: newLeapClock(), asked: map[string]int{}}
	if err := crawled(undisturbed, whole, m, 15); err != nil {
		t.Fatal(err)
	}
	// Once n is past the operations of the first run, the disk is full in a second
	// run, which goes on with a copy of the first.
	begun := copyOf(t, undisturbed)
	second := &fullDisk{from: never, to: never}
	if err := crawled(undisturbed, second, m, 0); err != nil {
		t.Fatal(err)
	}
	want := outcomesIn(t, undisturbed)
	if m.asked[m.address(8)] == 0 || !m.clock.Now().After(newLeapClock().Now()) {
		t.Fatalf("no page timed out, or nobody waited: it is %v in the end", m.clock.Now())
	}
	step := 9
	if v := os.Getenv("WAGGLE_FAULTS"); v != "" {
		step = 1
	}
	counts := map[string]int{}
	lengths := []int{1, 5, never}
	for n := 0; n < whole.n+second.n; n += step {
		first := n < whole.n
		d := &fullDisk{from: n}
		dir, m := filepath.Join(t.TempDir(), "c"), &meadow{n: 40, clock: newLeapClock(), asked: map[string]int{}}
		if !first {
			d.from, dir = n-whole.n, copyOf(t, begun)
			m.acked = acknowledged(t, dir)
		}
		d.to = d.from + lengths[n/step%len(lengths)]
		what := fmt.Sprintf("second run %t, operations from %d, %d of them", !first, d.from, d.to-d.from)
		err := crawled(dir, d, m, 0)
		switch {
		case err != nil && !errors.Is(err, syscall.ENOSPC):
			t.Fatalf("%s: %v", what, err)
		case err != nil && !strings.Contains(err.Error(), "no space left on device"):
			t.Errorf("%s: the error does not say that the disk is full: %v", what, err)
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
		if err := crawled(left, &fullDisk{from: never, to: never}, again, 0); err != nil {
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
	if counts["ended"] < 10 {
		t.Error("the crawl hardly ever met the full disk")
	}
}
