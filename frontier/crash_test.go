package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

const dir = "crawl/frontier"

// driver draws its calls from a seed; it never re-scores, which changes what
// is on disk between Turns.
func driver(seed uint64) *frontiertest.Driver {
	r := rand.New(rand.NewPCG(seed, 0))
	return &frontiertest.Driver{Now: frontiertest.Start, Draw: func(n int, what string) int {
		if what == "rescore" || what == "all" {
			return n - 1
		}
		return r.IntN(n)
	}}
}

// TestKilled kills the process at each of its writes, and asserts that what is
// opened afterwards is the frontier before or after the call that wrote.
func TestKilled(t *testing.T) {
	for seed := range long.Of(uint64(1), 3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			type snapshot struct {
				fs    *vfs.MemFS
				calls int // completed before
			}
			var mu sync.Mutex
			var taken []snapshot
			var calls int
			disk := vfs.NewCrashableMem()
			r := rand.New(rand.NewPCG(seed, 1))
			watch := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
					mu.Lock()
					defer mu.Unlock()
					taken = append(taken, snapshot{disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r}), calls})
				}
				return nil
			})
			bounds := frontiertest.Options{MaxPerHost: 4}
			opts := frontier.FewHosts(frontier.ShortRuns(options(bounds), 5), 2)
			f, err := frontier.OpenOn(errorfs.Wrap(disk, watch), dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			model := frontiertest.NewModel(bounds)
			models := []*frontiertest.Model{model.Clone()}
			d := driver(seed)
			for range 40 {
				if err := d.Step(f, model); err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				models = append(models, model.Clone())
				calls++
				mu.Unlock()
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if len(taken) < 40 {
				t.Fatalf("only %d writes were seen", len(taken))
			}
			for i, s := range taken {
				before := models[s.calls].Clone()
				after := models[min(s.calls+1, len(models)-1)].Clone()
				before.Reopen()
				after.Reopen()
				f, err := frontier.OpenOn(s.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r}), dir, opts)
				if err != nil {
					t.Fatalf("write %d, during call %d: %v", i, s.calls, err)
				}
				errBefore := frontiertest.Same(f, before, frontiertest.Start)
				chosen := before
				if errBefore != nil {
					chosen = after
				}
				if err := frontiertest.Drain(f, chosen, d.Now); err != nil {
					// Equal counts may hide another state: try it afresh.
					errAfter := reopened(s.fs, opts, after, d.Now)
					if errAfter != nil {
						t.Errorf("write %d, during call %d: neither as before (%v) nor as after (%v, %v)", i, s.calls, errBefore, err, errAfter)
					}
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func reopened(fs *vfs.MemFS, opts frontier.Options, m *frontiertest.Model, now time.Time) error {
	f, err := frontier.OpenOn(fs, dir, opts)
	if err != nil {
		return err
	}
	return errors.Join(frontiertest.Drain(f, m, now), f.Close())
}

// eitherOf asserts that a frontier opened on disk is as one of two models.
func eitherOf(disk *vfs.MemFS, opts frontier.Options, before, after *frontiertest.Model, now time.Time) error {
	before.Reopen()
	after.Reopen()
	kept := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	errBefore := reopened(kept, opts, before, now)
	if errBefore == nil {
		return nil
	}
	if err := reopened(disk, opts, after, now); err != nil {
		return fmt.Errorf("neither as before (%w) nor as after (%w)", errBefore, err)
	}
	return nil
}

// TestPowerFailure loses unsynced data at random, and asserts that what is
// opened, or rebuilt where Open says that the last commits are gone, holds every
// link that a Sync made safe, unless it has been done since, and gives no link
// twice.
func TestPowerFailure(t *testing.T) {
	ctx := context.Background()
	refused := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		disk := vfs.NewCrashableMem()
		opts := frontier.Options{}
		if seed%2 == 1 {
			opts = frontier.ShortRuns(opts, 7)
		}
		f, err := frontier.OpenOn(disk, dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		safe := make(map[web.URL]bool)
		added, done := make(map[web.URL]bool), make(map[web.URL]bool)
		for i := range 20 {
			var turn web.Turn
			for j := range 5 {
				c := web.Candidate{URL: frontiertest.URL(r.IntN(frontiertest.Addresses)), Priority: float64(j)}
				turn.Add = append(turn.Add, c)
				added[c.URL] = !done[c.URL]
			}
			out, err := f.Lease(ctx, frontiertest.Start, 2, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range out {
				turn.Done = append(turn.Done, l.URL)
				done[l.URL] = true
			}
			if _, err := f.Commit(ctx, turn); err != nil {
				t.Fatal(err)
			}
			if seed%4 >= 2 { // more than half a sweep, so that moves are listed
				if _, err := f.Rescore(ctx, nil, 20, func(c *web.Candidate) float64 { return -c.Priority }); err != nil {
					t.Fatal(err)
				}
			}
			if i == 12 {
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
				maps.Copy(safe, added)
			}
		}
		lost := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed%5) * 25, RNG: r})
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		place := dir
		f, err = frontier.OpenOn(lost, place, opts)
		var d *frontier.DamageError
		if errors.As(err, &d) && d.Unsynced && d.Lost > 0 {
			refused++
			place = "new/frontier"
			if _, _, err := frontier.RebuildOn(ctx, lost, dir, place); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			f, err = frontier.OpenOn(lost, place, frontier.Options{})
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		seen := make(map[web.URL]bool)
		for {
			out, err := f.Lease(ctx, frontiertest.Start, 10, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(out) == 0 {
				break
			}
			var turn web.Turn
			for _, l := range out {
				if seen[l.URL] {
					t.Errorf("seed %d: %s leased twice", seed, l.URL)
				}
				seen[l.URL] = true
				turn.Done = append(turn.Done, l.URL)
			}
			if _, err := f.Commit(ctx, turn); err != nil {
				t.Fatal(err)
			}
		}
		for u := range safe {
			if !seen[u] && !done[u] {
				t.Errorf("seed %d: %s was synced and is lost", seed, u)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if refused == 0 || refused == 100 {
		t.Errorf("%d of 100 power failures were refused: the test tries one case alone", refused)
	}
}

// TestLedgerFailsOnce has one call on a ledger fail, and none after it: Close writes what was known
// before the turn that failed, and what is opened then holds every address.
func TestLedgerFailsOnce(t *testing.T) {
	failed := 0
	for k := 0; k < 150; k += long.Of(5, 1) {
		disk := vfs.NewCrashableMem()
		var mu sync.Mutex
		left := k
		inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || !strings.HasPrefix(filepath.Base(op.Path), "ledger") {
				return nil
			}
			if left--; left != -1 {
				return nil
			}
			return syscall.EIO
		})
		bounds := frontiertest.Options{MaxPerHost: 4}
		opts := frontier.FewHosts(frontier.ShortRuns(options(bounds), 5), 2)
		f, err := frontier.OpenOn(errorfs.Wrap(disk, inject), dir, opts)
		if err != nil {
			continue
		}
		model := frontiertest.NewModel(bounds)
		d := driver(uint64(k))
		var before *frontiertest.Model
		for range 100 {
			before = model.Clone()
			if err = d.Step(f, model); err != nil {
				break
			}
		}
		f.Close() // what it says no longer matters
		if err != nil {
			failed++
			if !errors.Is(err, syscall.EIO) {
				t.Fatalf("write %d: %v", k, err)
			}
		} else {
			before = model
		}
		if err := eitherOf(disk, opts, before.Clone(), model, d.Now); err != nil {
			t.Errorf("write %d: %v", k, err)
		}
	}
	if failed < long.Of(10, 50) {
		t.Errorf("only %d of the writes were in a call", failed)
	}
}

// TestDiskFull fails every write from the k-th on, for many k, and asserts that
// the error says so, that it stays, and that what is on disk is the last
// committed Turn.
func TestDiskFull(t *testing.T) {
	for k := range 30 {
		disk := vfs.NewCrashableMem()
		var mu sync.Mutex
		left := 3 * k
		full := true
		inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if !full || op.Kind != errorfs.OpFileWrite && op.Kind != errorfs.OpFileWriteAt {
				return nil
			}
			if left--; left >= 0 {
				return nil
			}
			return syscall.ENOSPC
		})
		bounds := frontiertest.Options{MaxPerHost: 4}
		opts := frontier.FewHosts(frontier.ShortRuns(options(bounds), 5), 2)
		f, err := frontier.OpenOn(errorfs.Wrap(disk, inject), dir, opts)
		if err != nil {
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("write %d: the error does not say where: %v", 3*k, err)
			}
			continue
		}
		model := frontiertest.NewModel(bounds)
		d := driver(uint64(k))
		var before *frontiertest.Model
		for range 200 {
			before = model.Clone()
			if err = d.Step(f, model); err != nil {
				break
			}
		}
		if err == nil {
			t.Fatalf("write %d: 200 calls and no error", 3*k)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("write %d: %v", 3*k, err)
		}
		if _, again := f.Commit(context.Background(), web.Turn{}); again == nil {
			t.Errorf("write %d: a Commit after %v", 3*k, err)
		}
		f.Close() // what it says no longer matters
		mu.Lock()
		full = false
		mu.Unlock()
		// The write that failed may have been the one after the Turn was whole.
		if err := eitherOf(disk, opts, before, model, d.Now); err != nil {
			t.Errorf("write %d: %v", 3*k, err)
		}
	}
}
