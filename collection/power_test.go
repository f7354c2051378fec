package collection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// powerDisk is a disk below all three stores that knows what a power failure would leave
// of them. Archive and log are kept on the machine's disk as well, to be read; the
// frontier is in memory alone.
//
//	run ──► its stores ──► powerDisk ── at each sync, before it is done ──► cut
//
// A process that dies loses nothing of it: the next run goes on with what the system had.
type powerDisk struct {
	t     *testing.T
	dir   string
	queue *vfs.MemFS

	mu    sync.Mutex
	files map[string]*powerFile // of archive and log, by path
	// gone are files that were removed, and whose folder was not synced since: they may come back.
	gone map[string]*powerFile
	run  int // a store of an earlier run is a dead process's
	// failing is a part of the name of the file of which the next sync fails; "" = none. What it was to write is
	// lost: the syncs of this run that follow have nothing to write, and succeed. What the machine then does with what
	// it has in memory is not known to anybody; here the syncs of the next run write it.
	failing string
	// tears is how many writes of the log are done before that sync, the last of them in half; 0 = none.
	tears int
	syncs int
	safe  int64 // bytes of the log at the last sync of the crawl
	cut   func(syncs int)
}

// powerFile is a file: what was synced of it, and what was done to it since.
type powerFile struct {
	synced  []byte
	named   bool // its folder was synced since it was made
	pending []pendingWrite
	lost    []pendingWrite // what a sync that failed did not write
}

// pendingWrite is a write, or with cut the end of the file.
type pendingWrite struct {
	at  int64
	b   []byte
	cut bool
}

var errDead = errors.New("the process is dead")

func (c pendingWrite) apply(b []byte) []byte {
	if end := c.at + int64(len(c.b)); end > int64(len(b)) {
		b = append(b, make([]byte, end-int64(len(b)))...)
	} else if c.cut {
		b = b[:c.at]
	}
	copy(b[c.at:], c.b)
	return b
}

// after is what a power failure leaves: of what was not synced each change with a chance of
// percent, in whatever order the disk took them, and where not all are left every fourth in part.
func (f *powerFile) after(percent int, rng *rand.Rand) []byte {
	b := slices.Clone(f.synced)
	for _, c := range f.pending {
		if rng.IntN(100) >= percent {
			continue
		}
		if percent < 100 && rng.IntN(4) == 0 {
			c.b = c.b[:rng.IntN(len(c.b)+1)]
		}
		b = c.apply(b)
	}
	return b
}

func newPowerDisk(t *testing.T, dir string) *powerDisk {
	d := &powerDisk{t: t, dir: dir, queue: vfs.NewCrashableMem(), files: map[string]*powerFile{}, gone: map[string]*powerFile{}}
	// The folder of the crawl is there before.
	if err := d.queue.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for p := dir; ; p = filepath.Dir(p) {
		f, err := d.queue.OpenDir(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		if p == filepath.Dir(p) {
			return d
		}
	}
}

// step is done before each operation, with d.mu held: the run's process may have died.
func (d *powerDisk) step(run int, syncs bool) error {
	if run != d.run {
		return errDead
	}
	if syncs {
		d.syncs++
		if d.cut != nil {
			d.cut(d.syncs)
		}
	}
	return nil
}

// options are those of the stores of the next run.
func (d *powerDisk) options() (o StoreOptions) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run++
	run := d.run
	for _, f := range d.files {
		f.pending, f.lost = append(f.lost, f.pending...), nil
	}
	o.Frontier.FS = unlockedFS{errorfs.Wrap(d.queue, errorfs.InjectorFunc(func(op errorfs.Op) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			return d.step(run, true)
		}
		return d.step(run, false)
	}))}
	o.Archive.Files = powerFiles{store.OS{}, d, run}
	o.LogDisk = powerLogs{event.OS{}, d, run}
	return o
}

// unlockedFS is a file system on which a dead process holds no lock.
type unlockedFS struct{ vfs.FS }

func (unlockedFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// onDisk is a file of the disk as a run has it open.
type onDisk struct {
	d    *powerDisk
	run  int
	path string
}

// file finds the file, which may have been there before it was opened.
func (o onDisk) file() *powerFile {
	f := o.d.files[o.path]
	if f == nil {
		f = &powerFile{}
		o.d.files[o.path] = f
	}
	return f
}

func (o onDisk) change(c pendingWrite, do func() error) error {
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	if err := o.d.step(o.run, false); err != nil {
		return err
	}
	c.b = slices.Clone(c.b)
	f := o.file()
	f.pending = append(f.pending, c)
	return do()
}

func (o onDisk) sync() error {
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	if err := o.d.step(o.run, true); err != nil {
		return err
	}
	f := o.file()
	if o.d.failing != "" && o.d.tears == 0 && strings.Contains(filepath.Base(o.path), o.d.failing) {
		f.pending, f.lost, o.d.failing = nil, append(f.lost, f.pending...), ""
		return syscall.EIO
	}
	for _, c := range f.pending {
		f.synced = c.apply(f.synced)
	}
	f.pending = nil
	return nil
}

// syncDir makes the names of a folder's files last.
func (d *powerDisk) syncDir(run int, dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(run, true); err != nil {
		return err
	}
	for path, file := range d.files {
		if filepath.Dir(path) == dir {
			file.named = true
		}
	}
	maps.DeleteFunc(d.gone, func(path string, _ *powerFile) bool { return filepath.Dir(path) == dir })
	return nil
}

type powerLogs struct {
	event.Disk
	d   *powerDisk
	run int
}

func (l powerLogs) Open(path string, create bool) (_ event.File, size int64, err error) {
	log := &powerLog{on: onDisk{l.d, l.run, path}}
	open := func() (err error) {
		log.File, size, err = l.Disk.Open(path, create)
		return err
	}
	if create && !folder.Exists(path) {
		err = log.on.change(pendingWrite{}, open)
	} else {
		err = open()
	}
	return log, size, err
}

func (l powerLogs) SyncDir(dir string) error { return l.d.syncDir(l.run, dir) }

type powerLog struct {
	event.File
	on onDisk
}

func (l *powerLog) Write(b []byte) (n int, err error) {
	info, err := os.Stat(l.on.path)
	if err != nil {
		return 0, err
	}
	b, fault := l.torn(b)
	err = l.on.change(pendingWrite{at: info.Size(), b: b}, func() (err error) {
		n, err = l.File.Write(b)
		return err
	})
	return n, errors.Join(err, fault)
}

// torn is what is done of a write, with its error.
func (l *powerLog) torn(b []byte) ([]byte, error) {
	d := l.on.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tears == 0 {
		return b, nil
	}
	if d.tears--; d.tears > 0 {
		return b, nil
	}
	return b[:len(b)/2], syscall.EIO
}

func (l *powerLog) Truncate(n int64) error {
	return l.on.change(pendingWrite{at: n, cut: true}, func() error { return l.File.Truncate(n) })
}

func (l *powerLog) Sync() error { return l.on.sync() }

type powerFiles struct {
	store.Files
	d   *powerDisk
	run int
}

// MkdirAll makes the folder of the frontier too, which is in memory and looked for on the
// machine's disk.
func (f powerFiles) MkdirAll(dir string) error {
	return errors.Join(f.Files.MkdirAll(dir), os.MkdirAll(At(f.d.dir).FrontierDir(), 0o755))
}

func (f powerFiles) Create(path string) (store.File, error) {
	on := onDisk{f.d, f.run, path}
	var file store.File
	err := on.change(pendingWrite{}, func() (err error) {
		file, err = f.Files.Create(path)
		return err
	})
	return powerArchive{file, on}, err
}

func (f powerFiles) Open(path string) (store.File, error) {
	file, err := f.Files.Open(path)
	if err != nil {
		return nil, err
	}
	return powerArchive{file, onDisk{f.d, f.run, path}}, nil
}

func (f powerFiles) Remove(path string) error {
	return onDisk{f.d, f.run, path}.change(pendingWrite{}, func() error {
		f.d.gone[path] = f.d.files[path]
		delete(f.d.files, path)
		return f.Files.Remove(path)
	})
}

func (f powerFiles) SyncDir(dir string) error { return f.d.syncDir(f.run, dir) }

type powerArchive struct {
	store.File
	on onDisk
}

func (f powerArchive) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.on.change(pendingWrite{at: at, b: b}, func() (err error) {
		n, err = f.File.WriteAt(b, at)
		return err
	})
	return n, err
}

func (f powerArchive) Truncate(n int64) error {
	return f.on.change(pendingWrite{at: n, cut: true}, func() error { return f.File.Truncate(n) })
}

func (f powerArchive) Sync() error { return f.on.sync() }

// left is a power failure: a folder as it leaves it. The chance of what was not synced is
// that of each change, of each block and of each name by itself. d.mu is held.
func (d *powerDisk) left(percent int, rng *rand.Rand) (dir string, safe int64) {
	t := d.t
	t.Helper()
	queue := d.queue.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
	dir = filepath.Join(t.TempDir(), "left")
	if err := os.CopyFS(dir, os.DirFS(d.dir)); err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(d.gone)
	maps.Copy(all, d.files)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		within, err := filepath.Rel(d.dir, path)
		if err != nil {
			t.Fatal(err)
		}
		f, before := d.files[path], d.gone[path]
		path = filepath.Join(dir, within)
		if f != nil {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if (f == nil || !f.named) && rng.IntN(100) >= percent {
			if f = before; f == nil {
				continue
			}
		}
		if f == nil {
			continue
		}
		if err := os.WriteFile(path, f.after(percent, rng), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Without a frontier there is no folder of one.
	if err := os.Remove(At(dir).FrontierDir()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if _, err := vfs.Clone(queue, vfs.Default, At(d.dir).FrontierDir(), At(dir).FrontierDir()); err != nil {
		t.Fatal(err)
	}
	return dir, d.safe
}

// safeFrontier notes what the log held when the crawl had synced all stores.
type safeFrontier struct {
	crawl.Frontier
	d *powerDisk
}

func (f safeFrontier) Commit(ctx context.Context, turn web.Turn) (web.Receipt, error) {
	r, err := f.Frontier.Commit(ctx, turn)
	if err == nil && turn.Safe {
		if _, err = f.Frontier.Unwritten(0); err == nil {
			err = f.note()
		}
	}
	return r, err
}

func (f safeFrontier) Sync() error {
	if err := f.Frontier.Sync(); err != nil {
		return err
	}
	return f.note()
}

func (f safeFrontier) note() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	info, err := os.Stat(At(f.d.dir).EventLog())
	if err == nil {
		f.d.safe = info.Size()
	}
	return err
}

// saved are the addresses of which a log tells the outcome.
func saved(t *testing.T, log []byte) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for e, err := range event.Read(bytes.NewReader(log)) {
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := e.(event.Failed); ok && f.Retry {
			continue
		}
		if u := visited(e); !u.IsZero() {
			out[u.String()] = true
		}
	}
	return out
}

// The power fails before any sync of a crawl, whichever of its stores makes it, also after
// its process died, or it was stopped, and another one went on. Of what was not synced all, nothing, or any part
// is there, in any order. What the crawl had synced is there, opened as it is or repaired,
// and the crawl goes on to its end. Archive and log are never behind the frontier
// where nothing more was written than what was synced.
//
// The long run tries every sync, the quick run one of four, and each in one way: in turn nothing
// is left of what was not synced, and a part or all of it. WAGGLE_LONG=all tries both at every sync.
func TestPowerFailsAnywhere(t *testing.T) {
	every := long.Of(4, 1)
	parts := []int{10, 50, 90, 100}
	percents := func(turn int) []int {
		switch {
		case long.All():
			return []int{0, parts[turn%len(parts)]}
		case turn%2 == 0:
			return []int{0}
		}
		return []int{parts[turn/2%len(parts)]}
	}
	type failure struct {
		name, dir string
		percent   int
		saved     map[string]bool
	}
	var failures []failure
	rng := rand.New(rand.NewPCG(19, 7))
	dir := filepath.Join(t.TempDir(), "c")
	d := newPowerDisk(t, dir)
	d.cut = func(n int) {
		if n%every != 0 {
			return
		}
		for _, percent := range percents(n / every) {
			left, safe := d.left(percent, rng)
			log, err := os.ReadFile(At(dir).EventLog())
			if err != nil && safe > 0 {
				t.Error(err)
				return
			}
			failures = append(failures, failure{fmt.Sprintf("run %d, sync %d, %d%%", d.run, n, percent), left, percent, saved(t, log[:safe])})
		}
	}
	m := &meadow{n: 60, clock: newLeapClock(), asked: map[string]int{}}
	watch := func(c *crawl.Crawl) { c.Clock, c.Frontier = m.clock, safeFrontier{c.Frontier, d} }
	// A run that is stopped syncs all stores: the runs behind it have something to lose.
	for run, way := range []struct {
		err      error  // that the run ends with
		requests int    // after which it is stopped; 0 = never
		failing  string // the file of which a sync fails then
		tears    int    // the write of the log that is torn before that sync; 0 = none
	}{{err: errDead}, {requests: 10}, {err: syscall.ENOSPC}, {syscall.EIO, 5, "events", 0}, {syscall.EIO, 5, ".warc", 0}, {syscall.EIO, 0, "events", 7}, {err: errDead}, {err: errDead}, {}} {
		o := d.options()
		o.Archive.MaxFile = 20_000
		_, err := m.crawl(t, dir, o, way.requests, func(c *crawl.Crawl) {
			watch(c)
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.failing, d.tears = way.failing, way.tears; way.err != nil && way.failing == "" {
				c.Archive = &endingArchive{c.Archive, d, 7, way.err}
			}
		})
		if !errors.Is(err, way.err) {
			t.Fatalf("run %d: %v", run, err)
		}
		d.mu.Lock()
		if d.failing != "" {
			t.Errorf("run %d: no sync of %s failed", run, d.failing)
		}
		d.mu.Unlock()
	}
	d.mu.Lock()
	d.cut = nil
	d.mu.Unlock()
	want := outcomesIn(t, dir)

	counts := map[string]int{}
	for _, f := range failures {
		again := &meadow{n: 60, clock: newLeapClock(), asked: map[string]int{}, acked: f.saved}
		clocked := func(c *crawl.Crawl) { c.Clock = again.clock }
		_, err := again.crawl(t, f.dir, StoreOptions{}, 0, clocked)
		repaired := err != nil
		switch broken := (*OpenError)(nil); {
		case err == nil:
			counts["opened as it is"]++
		case !errors.As(err, &broken) || !broken.Damaged:
			t.Fatalf("%s: %v", f.name, err)
		default:
			if f.percent == 0 && broken.Store != "frontier" {
				t.Errorf("%s: the frontier was synced before the %s: %v", f.name, broken.Store, err)
			}
			var damage *frontier.DamageError
			if errors.As(err, &damage) && damage.Lost > 0 && !damage.Unsynced {
				t.Errorf("%s: the frontier lost what it had synced: %v", f.name, err)
			}
			if broken.Store == "losses" { // nothing was repaired before
				t.Errorf("%s: %v", f.name, err)
			}
			counts["repaired: "+broken.Store]++
			if _, err = again.crawl(t, f.dir, StoreOptions{AcceptLoss: true, Parser: parse.New(parse.Options{})}, 0, clocked); err != nil {
				t.Fatalf("%s: repaired: %v", f.name, err)
			}
		}
		if v, err := At(f.dir).Verify(t.Context(), nil); err != nil || !v.Whole {
			t.Errorf("%s: in the end: %v, %v", f.name, v.Damage, err)
		}
		lost, err := At(f.dir).Lost()
		if err != nil || slices.ContainsFunc(lost, func(u string) bool { return f.saved[u] }) {
			t.Errorf("%s: lost: %q, %v", f.name, lost, err)
		}
		owed(t, again, f.dir, f.name)
		got := outcomesIn(t, f.dir)
		for u := range want {
			// What only a page led to that was not synced may not be known any more.
			if got[u] != 1 && (got[u] > 1 || f.percent == 0 || !repaired) {
				t.Errorf("%s: %s has %d outcomes in the end", f.name, u, got[u])
			}
		}
		counts["addresses saved"] += len(f.saved)
		counts[fmt.Sprintf("%d%% left", f.percent)]++
	}
	t.Logf("%d power failures of %d syncs: %v", len(failures), d.syncs, counts)
	if len(failures) < 10 || counts["addresses saved"] == 0 || counts["opened as it is"] == 0 {
		t.Error("hardly anything was tried")
	}
	for _, percent := range append(parts, 0) {
		if counts[fmt.Sprintf("%d%% left", percent)] == 0 {
			t.Errorf("no power failure left %d%% of what was not synced", percent)
		}
	}
}

// endingArchive ends a run after so many appends: its process dies, or, with any other error, the disk refuses
// the next one.
type endingArchive struct {
	crawl.Archive
	d    *powerDisk
	left int
	err  error
}

func (a *endingArchive) Append(records ...[]byte) ([]byte, error) {
	if a.left == 0 && a.err != errDead {
		return nil, a.err
	}
	mark, err := a.Archive.Append(records...)
	if a.left--; a.left == 0 && a.err == errDead {
		a.d.mu.Lock()
		defer a.d.mu.Unlock()
		a.d.run++
	}
	return mark, err
}
