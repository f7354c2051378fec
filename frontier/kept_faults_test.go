package frontier_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/web"
)

// Of a link that was revised and moved, what is rebuilt of files that the store cannot open has the bytes
// that were written last, whether it was kept or not.
func TestSalvagedAsRevised(t *testing.T) {
	ctx := t.Context()
	for _, bytes := range []int{-1, 0} {
		disk := vfs.NewCrashableMem()
		f, err := frontier.OpenOn(disk, dir, frontier.Kept(frontier.Options{}, bytes, 0))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Commit(ctx, adding(t, 1, 3)); err != nil {
			t.Fatal(err)
		}
		for round := range 4 {
			if _, err := f.Rescore(ctx, nil, 100, func(c *web.Candidate) float64 {
				c.Memory = []byte{byte(round)}
				return float64(10*round + int(c.URL.String()[len(c.URL.String())-1]))
			}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.Commit(ctx, web.Turn{State: map[string][]byte{"x": {1}}}); err != nil {
			t.Fatal(err)
		}
		died := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		names, err := died.List(dir + "/queue")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if strings.HasPrefix(n, "MANIFEST-") {
				w, err := died.Create(dir+"/queue/"+n, vfs.WriteCategoryUnspecified)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write([]byte("damaged damaged damaged")); err != nil {
					t.Fatal(err)
				}
				_ = w.Close()
			}
		}
		b, damage, err := frontier.RebuildOn(ctx, died, dir, "new/frontier")
		if err != nil || b.Waiting != 3 || len(damage) == 0 {
			t.Fatalf("kept %d: %+v %v %v", bytes, b, damage, err)
		}
		again, err := frontier.OpenOn(died, "new/frontier", frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := again.Lease(ctx, frontiertest.Start, 1, 0, nil)
		if err != nil || len(out) != 1 {
			t.Fatal(out, err)
		}
		if m := out[0].Memory; len(m) != 1 || m[0] != 3 {
			t.Errorf("kept %d: %s has priority %v and memory %v, want [3]", bytes, out[0].URL, out[0].Priority, m)
		}
		_ = again.Close()
	}
}

// A frontier is closed, and safe, where the disk has become nearly full since the last commit.
func TestClosedNearlyFull(t *testing.T) {
	ctx := t.Context()
	for _, bytes := range []int{-1, 0} {
		mem := vfs.NewCrashableMem()
		disk := frontier.NewSmallDisk(mem, 1<<40)
		f, err := frontier.OpenOn(disk, dir, frontier.Kept(frontier.Options{}, bytes, 0))
		if err != nil {
			t.Fatal(err)
		}
		turn := adding(t, 1, 9)
		for i := range turn.Add {
			turn.Add[i].Features = make([]byte, 2<<20)
		}
		if _, err := f.Commit(ctx, turn); err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			if _, err := f.Rescore(ctx, nil, 100, func(c *web.Candidate) float64 {
				return float64(10*round + int(c.URL.String()[len(c.URL.String())-1]))
			}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.Commit(ctx, adding(t, 2, 5)); err != nil {
			t.Fatal(err)
		}
		disk.Leave(100 << 20)
		if err := f.Close(); err != nil {
			t.Errorf("kept %d: closing: %v", bytes, err)
		}
		died := mem.CrashClone(vfs.CrashCloneCfg{}) // the power fails
		again, err := frontier.OpenOn(died, dir, frontier.Options{})
		if err != nil {
			t.Errorf("kept %d: opening after a power failure: %v", bytes, err)
			continue
		}
		if q := again.Stats(frontiertest.Start).Queued; q != 14 {
			t.Errorf("kept %d: after a power failure %d links wait, want 14", bytes, q)
		}
		_ = again.Close()
	}
}

// The list has a bound also where nothing is scored anew but for leases.
func TestListOfMovesIsBounded(t *testing.T) {
	ctx := t.Context()
	disk := vfs.NewCrashableMem()
	opts := frontier.Kept(frontier.Options{}, 0, 100)
	f, err := frontier.OpenOn(disk, dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(ctx, adding(t, 1, 50)); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if _, err := f.Rescore(ctx, nil, 100, func(c *web.Candidate) float64 { return score(c, round) }); err != nil {
			t.Fatal(err)
		}
	}
	p := 0.0
	for range 200 {
		out, err := f.Lease(ctx, frontiertest.Start, 1, 0, func(c *web.Candidate) float64 { p--; return p })
		if err != nil {
			t.Fatal(err)
		}
		var turn web.Turn
		for _, l := range out {
			turn.Retry = append(turn.Retry, l.Candidate)
		}
		if _, err := f.Commit(ctx, turn); err != nil {
			t.Fatal(err)
		}
	}
	if keeps, listed := frontier.Keeps(f); listed > 200 {
		t.Errorf("it keeps links: %t, and %d moves are listed, want about 100", keeps, listed)
	}
	_ = f.Close()
}

// Whenever the process dies, or the power fails, what is left is whole: each link where the ledger has it. Every
// fourth write is tried.
func TestKilledAtAnyWriteWhileKept(t *testing.T) {
	ctx := t.Context()
	for _, kept := range []int{0, 30 << 10} {
		disk := vfs.NewCrashableMem()
		r := rand.New(rand.NewPCG(3, 1))
		torn := rand.New(rand.NewPCG(3, 2)) // for writes in the background, guarded by mu
		var mu sync.Mutex
		var taken [2][]*vfs.MemFS
		writes := 0
		watch := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				mu.Lock()
				defer mu.Unlock()
				if writes++; writes%4 > 0 {
					return nil
				}
				taken[0] = append(taken[0], disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: torn}))
				taken[1] = append(taken[1], disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: torn}))
			}
			return nil
		})
		opts := frontier.Small(frontier.Kept(frontier.FewHosts(frontier.Options{MaxPerHost: 30}, 2), kept, 60), 64<<10)
		f, err := frontier.OpenOn(errorfs.Wrap(disk, watch), dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		var from []byte
		for round := range 16 {
			turn := adding(t, round%5, 6*round+4)
			for i := range turn.Add {
				turn.Add[i].Priority = float64(i % 7)
			}
			out, err := f.Lease(ctx, frontiertest.Start, 2, 0, func(c *web.Candidate) float64 { return score(c, round+1) })
			if err != nil {
				t.Fatal(err)
			}
			if from, err = f.Rescore(ctx, from, 20+r.IntN(60), func(c *web.Candidate) float64 {
				if round%3 == 0 {
					c.Memory = []byte{byte(round)}
				}
				return score(c, round)
			}); err != nil {
				t.Fatal(err)
			}
			for i, l := range out {
				if i == 0 {
					turn.Done = append(turn.Done, l.URL)
				} else {
					turn.Retry = append(turn.Retry, l.Candidate)
				}
			}
			if _, err := f.Commit(ctx, turn); err != nil {
				t.Fatal(err)
			}
			if round%5 == 4 {
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		lists, opened := 0, 0
		for how := range taken {
			for i, died := range taken[how] {
				if how == 0 {
					remains, err := frontier.ExamineOn(died, dir)
					if err != nil {
						t.Fatal(err)
					}
					_, err = remains.Check(ctx, nil)
					if remains.Listed() > 0 {
						lists++
					}
					if len(remains.Damage()) > 0 || err != nil {
						t.Errorf("kept %d, write %d: %v %v", kept, i, remains.Damage(), err)
					}
					_ = remains.Close()
				}
				again, err := frontier.OpenOn(died, dir, opts)
				if err != nil {
					if how == 0 {
						t.Errorf("kept %d, write %d: %v", kept, i, err)
					}
					continue
				}
				opened++
				q := again.Stats(frontiertest.Start).Queued
				if got := len(leases(t, again)); got != q {
					t.Errorf("kept %d, write %d, %d: %d leased of %d", kept, i, how, got, q)
				}
				_ = again.Close()
				remains, err := frontier.ExamineOn(died, dir)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := remains.Check(ctx, nil); err != nil || len(remains.Damage()) > 0 {
					t.Errorf("kept %d, write %d, %d, at the end: %v %v", kept, i, how, remains.Damage(), err)
				}
				_ = remains.Close()
			}
		}
		if lists == 0 || opened < len(taken[0]) {
			t.Errorf("kept %d: of %d that died %d had a list; %d of all could be opened", kept, len(taken[0]), lists, opened)
		}
	}
}
