package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// adding is a turn with some links of a host.
func adding(t *testing.T, host, links int) (turn web.Turn) {
	t.Helper()
	for i := range links {
		u, err := web.Parse(fmt.Sprintf("http://host%d.example/%d", host, i))
		if err != nil {
			t.Fatal(err)
		}
		turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: float64(host), Features: []byte{byte(host)}})
	}
	return turn
}

// Turns with a First are decided before they are written, and written in order. One that is Safe
// is there after a power failure with all before it, and with what their Firsts returned.
func TestWrittenLater(t *testing.T) {
	ctx := context.Background()
	disk := vfs.NewCrashableMem()
	f, err := frontier.OpenOn(disk, dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var order []int // of the Firsts; one runs at a time
	goesOn := make(chan struct{})
	const turns = 5
	for i := range turns {
		turn := adding(t, i, 20)
		turn.First = func() (map[string][]byte, error) {
			<-goesOn
			order = append(order, i)
			return map[string][]byte{"last": {byte(i)}}, nil
		}
		turn.Safe = i == turns-2
		if _, err := f.Commit(ctx, turn); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := f.Unwritten(turns); n != turns || err != nil {
		t.Fatalf("%d turns are not written, %v", n, err)
	}
	// What was decided counts.
	out, err := f.Lease(ctx, frontiertest.Start, 1, 0, nil)
	if err != nil || len(out) != 1 || out[0].URL.Host() != "host4.example" || len(out[0].Features) != 1 {
		t.Fatal(out, err)
	}
	close(goesOn)
	if n, err := f.Unwritten(0); n != 0 || err != nil {
		t.Fatalf("%d turns are not written, %v", n, err)
	}
	if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
		t.Errorf("the turns were written in the order %d", order)
	}
	lost := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: rand.New(rand.NewPCG(1, 1))})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		disk *vfs.MemFS
		last byte
	}{{disk, turns - 1}, {lost, turns - 2}} {
		f, err := frontier.OpenOn(c.disk, dir, frontier.Options{})
		if err != nil {
			// The witness has recorded the turn behind the safe one.
			var d *frontier.DamageError
			if !errors.As(err, &d) || !d.Unsynced {
				t.Fatal(err)
			}
			if _, _, err := frontier.RebuildOn(ctx, c.disk, dir, "new/frontier"); err != nil {
				t.Fatal(err)
			}
			if f, err = frontier.OpenOn(c.disk, "new/frontier", frontier.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		last, err := f.State(ctx, "last")
		if s := f.Stats(frontiertest.Start); err != nil || !slices.Equal(last, []byte{c.last}) || s.Queued != 20*int(c.last+1) {
			t.Errorf("%d links wait, the last state is %d, %v", s.Queued, last, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Rescore does the same after Prescore and without, also with what changed since the links were
// read.
func TestPrescore(t *testing.T) {
	ctx := context.Background()
	score := func(c *web.Candidate) float64 { return float64(len(c.URL.String())*7%11) + float64(c.Features[0]) }
	run := func(foresee bool) (order []string) {
		f, err := frontier.OpenOn(vfs.NewMem(), dir, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		asked := 0
		for round := range 12 {
			if _, err := f.Commit(ctx, adding(t, round%5, 10*round+10)); err != nil {
				t.Fatal(err)
			}
			counted := func(c *web.Candidate) float64 { asked++; return score(c) }
			for from, again := []byte(nil), true; again; again = from != nil {
				if foresee {
					f.Prescore(40, score)()
				}
				if from, err = f.Rescore(ctx, from, 40, counted); err != nil {
					t.Fatal(err)
				}
			}
			out, err := f.Lease(ctx, frontiertest.Start, 3, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			var turn web.Turn
			for _, l := range out {
				order = append(order, fmt.Sprint(l.URL, l.Priority))
				turn.Done = append(turn.Done, l.URL)
			}
			if _, err := f.Commit(ctx, turn); err != nil {
				t.Fatal(err)
			}
		}
		if all := f.Stats(frontiertest.Start).Queued * 12 / 2; foresee && asked > all/2 {
			t.Errorf("Rescore scored %d of about %d links itself", asked, all)
		}
		return order
	}
	if with, without := run(true), run(false); !slices.Equal(with, without) {
		t.Errorf("leased with Prescore\n%s\nand without\n%s", with, without)
	}
}

// What fails while it is written, whichever call meets it first, is the answer to that call and
// to all that follow: a First, or a file of the frontier's own.
func TestWritingFails(t *testing.T) {
	ctx := context.Background()
	full := errors.New("no space left")
	link := func(t *testing.T, host, n int) web.URL { return adding(t, host, n+1).Add[n].URL }
	calls := []struct {
		name string
		do   func(t *testing.T, f *frontier.Frontier) error
	}{
		{"Unwritten", func(_ *testing.T, f *frontier.Frontier) error { _, err := f.Unwritten(0); return err }},
		{"Commit", func(t *testing.T, f *frontier.Frontier) error { _, err := f.Commit(ctx, adding(t, 9, 1)); return err }},
		{"Sync", func(_ *testing.T, f *frontier.Frontier) error { return f.Sync() }},
		{"State", func(_ *testing.T, f *frontier.Frontier) error { _, err := f.State(ctx, "last"); return err }},
		{"Lease", func(_ *testing.T, f *frontier.Frontier) error {
			_, err := f.Lease(ctx, frontiertest.Start, 1, 0, nil)
			return err
		}},
		{"Preview", func(t *testing.T, f *frontier.Frontier) error {
			_, err := f.Preview(ctx, nil, []web.Candidate{{URL: link(t, 3, 0), Depth: 1}})
			return err
		}},
		{"a plan", func(t *testing.T, f *frontier.Frontier) error {
			_, err := f.Commit(ctx, web.Turn{Add: []web.Candidate{{URL: link(t, 3, 0), Depth: 1}}})
			return err
		}},
		{"Rescore", func(_ *testing.T, f *frontier.Frontier) error {
			_, err := f.Rescore(ctx, nil, 10, func(c *web.Candidate) float64 { return -c.Priority })
			return err
		}},
		{"Revise", func(_ *testing.T, f *frontier.Frontier) error {
			return f.Revise(ctx, func(s *web.HostState) { s.Fetched++ })
		}},
		{"Close", func(_ *testing.T, f *frontier.Frontier) error { return f.Close() }},
	}
	for _, what := range []string{"First", "ledger"} {
		for _, call := range calls {
			t.Run(what+" under "+call.name, func(t *testing.T) {
				disk := vfs.NewCrashableMem()
				var fails atomic.Bool
				inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
					if fails.Load() && op.Kind == errorfs.OpFileWriteAt && strings.HasPrefix(path.Base(op.Path), "ledger") {
						return full
					}
					return nil
				})
				f, err := frontier.OpenOn(errorfs.Wrap(disk, inject), dir, frontier.Options{Shortest: true})
				if err != nil {
					t.Fatal(err)
				}
				goesOn := make(chan struct{})
				ran := 0
				for i := range 4 {
					turn := adding(t, i, 20)
					turn.First = func() (map[string][]byte, error) {
						<-goesOn
						switch ran++; {
						case i == 1 && what == "First":
							return nil, full
						case i == 1:
							fails.Store(true)
						}
						return map[string][]byte{"last": {byte(i)}}, nil
					}
					if _, err := f.Commit(ctx, turn); err != nil {
						t.Fatal(err)
					}
				}
				frontier.Evict(f)
				close(goesOn)
				if err := call.do(t, f); !errors.Is(err, full) {
					t.Errorf("the call that met it: %v", err)
				}
				for _, again := range calls {
					if err := again.do(t, f); call.name != "Close" && again.name != "Close" && !errors.Is(err, full) {
						t.Errorf("%s after that: %v", again.name, err)
					}
				}
				fails.Store(false)
				if err := f.Close(); err != nil {
					t.Errorf("Close tells again: %v", err)
				}
				if ran != 2 {
					t.Errorf("%d Firsts ran", ran)
				}
				if f, err = frontier.OpenOn(disk, dir, frontier.Options{}); err != nil {
					t.Fatal(err)
				}
				last, err := f.State(ctx, "last")
				if s := f.Stats(frontiertest.Start); err != nil || s.Queued != 20 || s.Seen != 20 || !slices.Equal(last, []byte{0}) {
					t.Errorf("%d links wait, %d are known, the last turn is %v, %v; one turn was written", s.Queued, s.Seen, last, err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A First that fails in any turn, also in one that begins a new ledger, leaves what was written
// before.
func TestFirstFailsAnywhere(t *testing.T) {
	ctx := context.Background()
	full := errors.New("no space left")
	for k := range 30 {
		disk := vfs.NewMem()
		opts := frontier.ShortRuns(frontier.Options{}, 5)
		f, err := frontier.OpenOn(disk, dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; err == nil; i++ {
			turn := adding(t, i, 3)
			turn.First = func() (map[string][]byte, error) {
				if i == k {
					return nil, full
				}
				return nil, nil
			}
			_, err = f.Commit(ctx, turn)
		}
		if err != full {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err = frontier.OpenOn(disk, dir, opts); err != nil {
			t.Fatalf("turn %d: %v", k, err)
		}
		if s := f.Stats(frontiertest.Start); s.Queued != 3*k || s.Seen != 3*k {
			t.Errorf("turn %d: %d links wait, %d are known", k, s.Queued, s.Seen)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Where the store stands still, what waits to be written is not, and nobody waits for it.
func TestHaltWithQueue(t *testing.T) {
	ctx := context.Background()
	disk := vfs.NewCrashableMem()
	broken := errors.New("the disk is gone")
	var fails atomic.Bool
	inject := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fails.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".log") {
			return broken
		}
		return nil
	})
	f, err := frontier.OpenOn(errorfs.Wrap(disk, inject), dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	goesOn := make(chan struct{})
	ran := 0
	for i := range 10 {
		turn := adding(t, i, 1)
		turn.First = func() (map[string][]byte, error) {
			<-goesOn
			ran++
			fails.Store(i >= 2)
			return nil, nil
		}
		if _, err := f.Commit(ctx, turn); err != nil {
			t.Fatal(err)
		}
	}
	close(goesOn)
	for range 2 {
		if n, err := f.Unwritten(0); n != 0 || !errors.Is(err, broken) {
			t.Errorf("%d turns are not written, %v", n, err)
		}
		if _, err := f.Commit(ctx, adding(t, 11, 1)); !errors.Is(err, broken) {
			t.Errorf("Commit: %v", err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if ran != 3 {
		t.Errorf("%d Firsts ran", ran)
	}
	left := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	if f, err = frontier.OpenOn(left, dir, frontier.Options{}); err != nil {
		t.Fatal(err)
	}
	if s := f.Stats(frontiertest.Start); s.Queued != 2 {
		t.Errorf("%d links wait, two turns were written", s.Queued)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// slowly has a turn take a second to be written.
func slowly(turn web.Turn) web.Turn {
	turn.First = func() (map[string][]byte, error) {
		time.Sleep(time.Second)
		return nil, nil
	}
	return turn
}

// A new ledger begins, and runs are made, while turns come faster than they are written.
func TestSeenSetChangesWhileWriting(t *testing.T) {
	t.Run("the ledger is long", func(t *testing.T) {
		// The same addresses are raised again and again.
		changesWhileWriting(t, nil, 40, func(i int) web.Turn {
			turn := adding(t, 0, 10)
			for j := range turn.Add {
				turn.Add[j].Priority = float64(i)
			}
			return turn
		})
	})
	t.Run("many addresses", func(t *testing.T) {
		changesWhileWriting(t, nil, 40, func(i int) web.Turn { return adding(t, i, 10) })
	})
	for _, takes := range []time.Duration{500 * time.Millisecond, 2500 * time.Millisecond, 10500 * time.Millisecond} {
		// It ends while Commit waits, or between two of them.
		slow := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpCreate && strings.HasPrefix(path.Base(op.Path), "run") {
				time.Sleep(takes)
			}
			return nil
		})
		t.Run(fmt.Sprintf("a run takes %v", takes), func(t *testing.T) {
			changesWhileWriting(t, slow, 100, func(i int) web.Turn { return adding(t, i, 3) })
		})
		t.Run(fmt.Sprintf("no address comes while a run takes %v", takes), func(t *testing.T) {
			changesWhileWriting(t, slow, 100, func(i int) web.Turn {
				if i < 8 {
					return adding(t, i, 3)
				}
				return web.Turn{State: map[string][]byte{"turn": {byte(i)}}}
			})
		})
	}
}

func changesWhileWriting(t *testing.T, inject errorfs.Injector, turns int, turn func(i int) web.Turn) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		disk := vfs.FS(mem)
		if inject != nil {
			disk = errorfs.Wrap(mem, inject)
		}
		opts := frontier.ShortRuns(frontier.Options{}, 24)
		f, err := frontier.OpenOn(disk, dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		inFlight := 0
		want := map[web.URL]float64{}
		for i := range turns {
			turn := slowly(turn(i))
			if _, err := f.Commit(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			for _, c := range turn.Add {
				want[c.URL] = c.Priority
			}
			n, err := f.Unwritten(100)
			if err != nil {
				t.Fatal(err)
			}
			inFlight = max(inFlight, n)
		}
		if inFlight < 2 {
			t.Errorf("at most %d turns were on their way", inFlight)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err = frontier.OpenOn(mem, dir, opts); err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if s := f.Stats(frontiertest.Start); s.Queued != len(want) || s.Seen != len(want) {
			t.Errorf("%d links wait, %d are known, of %d", s.Queued, s.Seen, len(want))
		}
		for len(want) > 0 {
			out, err := f.Lease(t.Context(), frontiertest.Start, 100, 0, nil)
			if err != nil || len(out) == 0 {
				t.Fatal(len(out), err)
			}
			var turn web.Turn
			for _, l := range out {
				if p, waits := want[l.URL]; !waits || p != l.Priority {
					t.Errorf("%s was leased with priority %v: want %v, waits: %t", l.URL, l.Priority, p, waits)
				}
				delete(want, l.URL)
				turn.Done = append(turn.Done, l.URL)
			}
			if _, err := f.Commit(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What Rescore has a link carry is what Lease gives, whatever is on its way.
func TestRevisedWhileWriting(t *testing.T) {
	for _, evict := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, err := frontier.OpenOn(vfs.NewMem(), dir, frontier.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Commit(t.Context(), adding(t, 1, 1)); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Commit(t.Context(), slowly(adding(t, 0, 1))); err != nil {
				t.Fatal(err)
			}
			_, err = f.Rescore(t.Context(), nil, 10, func(c *web.Candidate) float64 {
				c.Features = []byte("other")
				return c.Priority
			})
			if err != nil {
				t.Fatal(err)
			}
			if evict {
				frontier.Evict(f)
			}
			out, err := f.Lease(t.Context(), frontiertest.Start, 1, 0, nil)
			if err != nil || len(out) != 1 || string(out[0].Features) != "other" {
				t.Errorf("evicted: %t; leased %+v, %v", evict, out, err)
			}
		})
	}
}

// A frontier on disk holds nothing of what a candidate carries: its memory may be that of a whole page.
func TestCandidatesAreCopied(t *testing.T) {
	f, err := frontier.OpenOn(vfs.NewMem(), dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	turn := adding(t, 1, 1)
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	turn.Add[0].Features[0] = 77
	out, err := f.Lease(t.Context(), frontiertest.Start, 1, 0, nil)
	if err != nil || len(out) != 1 || out[0].Features[0] != 1 {
		t.Error(out, err)
	}
}

// However slow the disk is, few megabytes are on their way.
func TestUnwrittenIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := frontier.OpenOn(vfs.NewMem(), dir, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		type bound struct{ bytes, turns, most int }
		for _, c := range long.Of([]bound{{10, 200, 64}, {1 << 20, 20, 16}}, []bound{{10, 200, 64}, {1 << 20, 40, 16}, {20 << 20, 3, 1}}) {
			most := 0
			for i := range c.turns {
				turn := adding(t, i, 1)
				turn.Add[0].URL = frontiertest.URL(i)
				turn.Add[0].Features = make([]byte, c.bytes)
				turn.Add[0].Priority = float64(c.bytes + i)
				if _, err := f.Commit(t.Context(), slowly(turn)); err != nil {
					t.Fatal(err)
				}
				n, err := f.Unwritten(100)
				if err != nil {
					t.Fatal(err)
				}
				most = max(most, n)
			}
			if _, err := f.Unwritten(0); err != nil {
				t.Fatal(err)
			}
			if most > c.most || most < c.most*3/4 {
				t.Errorf("of turns of %d bytes %d were on their way, want about %d", c.bytes, most, c.most)
			}
		}
	})
}

// A frontier that remembers again does, whatever was on its way before.
func TestRememberedWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		f, err := frontier.OpenOn(disk, dir, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		frontier.Forgetful(f)
		if _, err := f.Commit(t.Context(), slowly(adding(t, 1, 1))); err != nil {
			t.Fatal(err)
		}
		if err := f.Remembered(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err = frontier.OpenOn(disk, dir, frontier.Options{}); err != nil {
			t.Fatal(err)
		}
		if f.Repaired() {
			t.Error("it is forgetful again")
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}
