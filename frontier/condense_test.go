package frontier

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/web"
)

// A closed frontier has what is known of an address once, however often it moved. It knows the
// same when it is opened again, also after a power failure, and where a step of closing it failed.
func TestCondense(t *testing.T) {
	const links = 500
	whole := vfs.NewCrashableMem()
	f, err := open(whole, "frontier", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var turn web.Turn
	for i := range links {
		turn.Add = append(turn.Add, web.Candidate{URL: address(t, fmt.Sprintf("a%d.example/%d", i%7, i))})
	}
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	want := map[web.URL]float64{}
	rescore := func(f *Frontier, score func(*web.Candidate) float64) {
		t.Helper()
		for from, more := []byte(nil), true; more; more = from != nil {
			var err error
			if from, err = f.Rescore(t.Context(), from, links, score); err != nil {
				t.Fatal(err)
			}
		}
	}
	for round := 1; f.backend.(*disk).ledger.size <= mostLog; round++ {
		rescore(f, func(c *web.Candidate) float64 {
			want[c.URL] = float64(round * (1 + int(hashOf(c.URL)%97)) % 101)
			return want[c.URL]
		})
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	clone := func(fs *vfs.MemFS, unsynced int) *vfs.MemFS {
		return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rand.New(rand.NewPCG(1, 2))})
	}
	check := func(what string, fs *vfs.MemFS) {
		t.Helper()
		f, err := open(fs, "frontier", Options{})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if f.Repaired() {
			t.Errorf("%s: it had to be repaired", what)
		}
		seenBy(t, f, links)
		rescore(f, func(c *web.Candidate) float64 {
			if c.Priority != want[c.URL] {
				t.Errorf("%s: %s has %v, want %v", what, c.URL, c.Priority, want[c.URL])
			}
			return c.Priority
		})
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		size := int64(0)
		names, err := fs.List("frontier")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if _, _, ok := span(name); ok {
				info, err := fs.Stat(fs.PathJoin("frontier", name))
				if err != nil {
					t.Fatal(err)
				}
				size += info.Size()
			}
		}
		if most := 2 * (runRef{records: links}).size(); size > most {
			t.Errorf("%s: runs and ledgers have %d bytes, want %d at most", what, size, most)
		}
	}
	for failing := 1; ; failing++ {
		what := fmt.Sprintf("step %d of closing", failing)
		fs := clone(whole, 100)
		var closing, told atomic.Bool
		var step atomic.Int32
		f, err := open(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if seen := strings.Contains(op.Path, "ledger-") || strings.Contains(op.Path, "run-"); closing.Load() && seen && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && int(step.Add(1)) == failing {
				told.Store(op.Kind != errorfs.OpRemove) // the next Open removes it
				return errorfs.ErrInjected
			}
			return nil
		})), "frontier", Options{})
		if err != nil {
			t.Fatal(err)
		}
		closing.Store(true)
		err = f.Close()
		if told.Load() != (err != nil) {
			t.Errorf("%s: %v", what, err)
		}
		check(what+", then a power failure", clone(fs, 0))
		check(what, fs)
		if int(step.Load()) < failing {
			if failing < 5 {
				t.Errorf("closing had %d steps", failing-1)
			}
			return
		}
	}
}
