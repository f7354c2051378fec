package frontier

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/web"
)

// addedTo has n new links enter a frontier, one in each turn, and waits for what is done in the background.
func addedTo(t *testing.T, f *Frontier, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		turn := web.Turn{Add: []web.Candidate{{URL: address(t, fmt.Sprintf("a%d.example/%d", i%7, i))}}}
		if _, err := f.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		if j := f.backend.(*disk).job; j != nil {
			<-j.done
		}
	}
}

// seenBy asserts that a frontier knows n links.
func seenBy(t *testing.T, f *Frontier, n int) {
	t.Helper()
	for i := range n {
		if s := f.Standing(address(t, fmt.Sprintf("a%d.example/%d", i%7, i))); s != Waiting {
			t.Errorf("address %d of %d stands at %d", i, n, s)
		}
	}
	if s := f.Stats(time.Time{}); s.Seen != n || s.Queued != n {
		t.Errorf("%+v, want %d", s, n)
	}
}

// Where the disk is too full for a run, a crawl goes on with what there is, and writes the run
// once there is room.
func TestFullForARun(t *testing.T) {
	for _, why := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		t.Run(why.Error(), func(t *testing.T) { fullForARun(t, why) })
	}
}

func fullForARun(t *testing.T, why error) {
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.HasPrefix(filepath.Base(op.Path), "run-") {
			return why
		}
		return nil
	}))
	opts := Options{recent: 24}
	f, err := open(fs, "frontier", opts)
	if err != nil {
		t.Fatal(err)
	}
	d := f.backend.(*disk)
	addedTo(t, f, 0, 60)
	had := len(d.seen.runs)
	full.Store(true)
	addedTo(t, f, 60, 200)
	if len(d.seen.runs) != had || d.seen.frozen == nil {
		t.Errorf("%d runs of %d while the disk was full", len(d.seen.runs), had)
	}
	names, err := fs.List("frontier")
	if err != nil {
		t.Fatal(err)
	}
	known := append([]string(nil), d.obsolete...)
	for _, r := range d.seen.runs {
		known = append(known, r.name)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "run-") && !slices.Contains(known, d.path(name)) {
			t.Errorf("%s was left half written", name)
		}
	}
	full.Store(false)
	addedTo(t, f, 260, 60)
	if d.fullAt != 0 || d.seen.recent.n > 3*24 {
		t.Errorf("with room again %d addresses are not in a run", d.seen.recent.n)
	}
	for range 2 {
		seenBy(t, f, 320)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err = open(fs, "frontier", opts); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Where the disk was too full for runs to become one, the next run of a new ledger waits for a part of that ledger alone.
func TestFullForAMerge(t *testing.T) {
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if first, last, ok := span(filepath.Base(op.Path)); ok && last > first && op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	const limit = 64
	f, err := open(fs, "frontier", Options{recent: limit})
	if err != nil {
		t.Fatal(err)
	}
	d, n := f.backend.(*disk), 0
	for ; d.fullAt == 0; n++ {
		addedTo(t, f, n, 1)
	}
	for ledger := d.ledger; d.ledger == ledger; n++ {
		addedTo(t, f, n, 1)
	}
	addedTo(t, f, n, limit/8+3)
	if n += limit/8 + 3; d.seen.frozen != nil {
		t.Errorf("no run was written when the new ledger had %d records", d.ledger.records)
	}
	seenBy(t, f, n)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A file that is obsolete and cannot be removed, as another program reads it or it is gone, is no reason to end: the first
// Open that can removes it.
func TestObsoleteFileStays(t *testing.T) {
	for _, why := range []error{os.ErrPermission, os.ErrNotExist} {
		t.Run(why.Error(), func(t *testing.T) {
			var refused atomic.Int32
			mem := vfs.NewMem()
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if _, _, ok := span(filepath.Base(op.Path)); ok && op.Kind == errorfs.OpRemove {
					refused.Add(1)
					return why
				}
				return nil
			}))
			opts := Options{recent: 24}
			f, err := open(fs, "frontier", opts)
			if err != nil {
				t.Fatal(err)
			}
			const links = 400
			for n := 0; n < links; n += links / 2 {
				addedTo(t, f, n, links/2)
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				if f, err = open(fs, "frontier", opts); err != nil {
					t.Fatal(err)
				}
				seenBy(t, f, n+links/2)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if refused.Load() == 0 {
				t.Fatal("nothing was to be removed")
			}
			left := listed(t, mem)
			if f, err = open(mem, "frontier", opts); err != nil {
				t.Fatal(err)
			}
			seenBy(t, f, links)
			d := f.backend.(*disk)
			if now, want := listed(t, mem), len(d.meta.runs)+len(d.meta.closed)+1; len(now) != want || len(left) <= want {
				t.Errorf("%d files are left of %d, want %d", len(now), len(left), want)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A Close does not wait for runs to become one: the next Open begins with that anew.
func TestCloseStopsMerge(t *testing.T) {
	var closing atomic.Bool
	merging, stopped := make(chan string, 1), make(chan struct{})
	var once sync.Once
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		first, last, ok := span(filepath.Base(op.Path))
		switch {
		case op.Kind == errorfs.OpCreate && ok && last > first:
			once.Do(func() {
				merging <- op.Path
				<-stopped
			})
		case op.Kind == errorfs.OpFileSync && strings.Contains(op.Path, "ledger") && closing.CompareAndSwap(true, false):
			close(stopped) // Close writes what there is before it waits
		}
		return nil
	}))
	opts := Options{recent: 24}
	f, err := open(fs, "frontier", opts)
	if err != nil {
		t.Fatal(err)
	}
	d := f.backend.(*disk)
	n, name := 0, ""
	for name == "" {
		turn := web.Turn{Add: []web.Candidate{{URL: address(t, fmt.Sprintf("a%d.example/%d", n%7, n))}}}
		if _, err := f.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		n++
		if d.job != nil {
			select {
			case <-d.job.done:
			case name = <-merging:
			}
		}
	}
	closing.Store(true)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(name); err == nil {
		t.Errorf("%s was written before Close returned", name)
	}
	if f, err = open(fs, "frontier", opts); err != nil {
		t.Fatal(err)
	}
	seenBy(t, f, n)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// What runs have replaced is removed also where the disk has no room for the next run: that is
// what makes room.
func TestFullDiskRemovesRuns(t *testing.T) {
	merging, on := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fs := NewSmallDisk(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if first, last, ok := span(filepath.Base(op.Path)); op.Kind == errorfs.OpCreate && ok && last > first {
			once.Do(func() {
				close(merging)
				<-on
			})
		}
		return nil
	})), 1<<40)
	f, err := open(fs, "frontier", Options{recent: 24})
	if err != nil {
		t.Fatal(err)
	}
	d := f.backend.(*disk)
	n := 0
	add := func() {
		turn := web.Turn{Add: []web.Candidate{{URL: address(t, fmt.Sprintf("a%d.example/%d", n%7, n))}}}
		if _, err := f.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		n++
	}
	for begun := false; !begun; {
		if add(); d.job != nil {
			select {
			case <-d.job.done:
			case <-merging:
				begun = true
			}
		}
	}
	for d.seen.recent.n < d.tableLimit { // so that the next run is due as soon as this one is written
		add()
	}
	close(on)
	<-d.job.done
	fs.Leave(reserve)
	addedTo(t, f, n, 3)
	n += 3
	if d.seen.frozen == nil {
		t.Error("a run was written without room for it")
	}
	names := slices.DeleteFunc(listed(t, fs), func(name string) bool {
		used := func(r *run) bool { return r.name == d.path(name) }
		return !strings.HasPrefix(name, "run-") || slices.ContainsFunc(d.seen.runs, used)
	})
	if len(names) > 0 {
		t.Errorf("runs that were replaced are left: %v", names)
	}
	seenBy(t, f, n)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Where the end of the seen-set was lost and the disk has no room to write it anew, nothing is changed
// and the error says how much is lacking: with room, all is there.
func TestNoRoomForRenewal(t *testing.T) {
	fs := NewSmallDisk(vfs.NewMem(), 1<<40)
	opts := Options{recent: 24}
	f, err := open(fs, "frontier", opts)
	if err != nil {
		t.Fatal(err)
	}
	addedTo(t, f, 0, 30)
	d := f.backend.(*disk)
	ledger, safe := d.ledger.name, d.meta.synced
	addedTo(t, f, 30, 10)
	if d.ledger.name != ledger {
		t.Fatal("the ledger is another")
	}
	left := vfs.NewMem() // as a power failure leaves it: the store is whole and the ledger is not
	if ok, err := vfs.Clone(fs.FS, left, "frontier", "frontier", vfs.CloneSync); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cut(t, left, ledger, safe)
	fs = NewSmallDisk(left, reserve)
	before := listed(t, left)
	if _, err = open(fs, "frontier", opts); err == nil || !strings.Contains(err.Error(), "make room") || !strings.Contains(err.Error(), "MiB") {
		t.Fatalf("without room: %v", err)
	}
	if after := listed(t, left); !slices.Equal(before, after) {
		t.Errorf("files %v, before %v", after, before)
	}
	fs.Leave(1 << 40)
	if f, err = open(fs, "frontier", opts); err != nil {
		t.Fatal(err)
	}
	seenBy(t, f, 40)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, fs vfs.FS, name string, size int64) {
	t.Helper()
	in, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := in.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	out, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = out.Write(b)
	}
	if err := errors.Join(err, in.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
}

// listed are the names of the seen-set's files.
func listed(t *testing.T, fs vfs.FS) (names []string) {
	t.Helper()
	all, err := fs.List("frontier")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if _, _, ok := span(name); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
