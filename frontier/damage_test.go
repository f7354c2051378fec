package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// rounds is how many random damages a test tries: WAGGLE_DAMAGES, or few, of which the quick run
// has a third.
func rounds(t *testing.T, few int) int {
	return long.Count(t, "WAGGLE_DAMAGES", (few+2)/3, few)
}

// busy makes a frontier of several tables and logs, and returns its files as
// they are when the process is killed in the middle.
func busy(t *testing.T, r *rand.Rand) *vfs.MemFS {
	t.Helper()
	ctx := context.Background()
	disk := vfs.NewCrashableMem()
	opts := frontier.Small(frontier.Options{}, 64<<10)
	for run := range 1 + r.IntN(2) {
		f, err := frontier.OpenOn(disk, dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 + r.IntN(60) {
			var turn web.Turn
			for j := range 10 {
				u, err := web.Parse(fmt.Sprintf("http://host%d.example/%d/%d/%d", r.IntN(20), run, i, j))
				if err != nil {
					t.Fatal(err)
				}
				features := make([]byte, 100+r.IntN(100))
				for k := range features {
					features[k] = byte(r.Uint32())
				}
				turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: r.Float64(), Features: features})
			}
			out, err := f.Lease(ctx, frontiertest.Start, 3, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range out {
				turn.Done = append(turn.Done, l.URL)
			}
			turn.State = map[string][]byte{"count": fmt.Append(nil, i)}
			if _, err := f.Commit(ctx, turn); err != nil {
				t.Fatal(err)
			}
			if r.IntN(10) == 0 {
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r.IntN(2) == 0 {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		killed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r})
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		disk = killed
	}
	return disk
}

// paths lists the files of the frontier.
func paths(t *testing.T, fs vfs.FS) (out []string) {
	t.Helper()
	for _, d := range []string{dir, dir + "/queue"} {
		names, err := fs.List(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if name != "queue" && name != "LOCK" {
				out = append(out, path.Join(d, name))
			}
		}
	}
	slices.Sort(out)
	return out
}

// kindOf is the name of a file without its number.
func kindOf(path string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, path[strings.LastIndexByte(path, '/')+1:])
}

// damage damages one file, of a kind drawn first, and says how.
func damage(t *testing.T, fs vfs.FS, r *rand.Rand) (what, name string, was []byte) {
	t.Helper()
	kinds := map[string][]string{}
	for _, p := range paths(t, fs) {
		kinds[kindOf(p)] = append(kinds[kindOf(p)], p)
	}
	var names []string
	for k := range kinds {
		names = append(names, k)
	}
	slices.Sort(names)
	files := kinds[names[r.IntN(len(names))]]
	name = files[r.IntN(len(files))]
	b := read(t, fs, name)
	was = slices.Clone(b)
	how := r.IntN(5)
	if len(b) == 0 {
		how = 4
	}
	switch at := r.IntN(max(len(b), 1)); how {
	case 0:
		b[at] ^= 1 << r.IntN(8)
		storedWrite(t, fs, name, b)
		return fmt.Sprintf("a bit of byte %d of %d of %s flipped", at, len(b), name), name, was
	case 1:
		storedWrite(t, fs, name, b[:at])
		return fmt.Sprintf("%s cut at %d of %d", name, at, len(b)), name, was
	case 2:
		end := min(len(b), at+1+r.IntN(5000))
		clear(b[at:end])
		storedWrite(t, fs, name, b)
		return fmt.Sprintf("%s zeroed from %d to %d of %d", name, at, end, len(b)), name, was
	case 3:
		clear(b)
		storedWrite(t, fs, name, b)
		return fmt.Sprintf("%s zeroed, %d bytes", name, len(b)), name, was
	default:
		if err := fs.Remove(name); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s removed", name), name, was
	}
}

// content is what a frontier holds, as the order in which its links are leased
// and what it counts. It ends at the first error.
func content(fs vfs.FS, dir string) (lines []string, err error) {
	ctx := context.Background()
	f, err := frontier.OpenOn(fs, dir, frontier.Small(frontier.Options{}, 64<<10))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if frontier.Working(f) { // Open removes what no commit speaks of: nothing else may be written meanwhile
		return nil, errors.New("work in the background began within Open")
	}
	state, err := f.State(ctx, "count")
	if err != nil {
		return nil, err
	}
	stats := f.Stats(frontiertest.Start)
	stats.Seen = 0 // less where the ledger's end was made anew
	lines = append(lines, fmt.Sprint(stats), string(state))
	for {
		out, err := f.Lease(ctx, frontiertest.Start, 5, 0, nil)
		if err != nil || len(out) == 0 {
			return lines, err
		}
		var turn web.Turn
		for _, l := range out {
			lines = append(lines, fmt.Sprintf("%s %v %x", l.URL, l.Priority, l.Features))
			turn.Done = append(turn.Done, l.URL)
		}
		if _, err := f.Commit(ctx, turn); err != nil {
			return lines, err
		}
	}
}

// TestDamagedFiles damages one file of a killed frontier at a random place. What
// is opened then holds all that was acknowledged, or says what is damaged: Open
// itself, or the call that reads it. Nothing panics, hangs, or is lost without a
// word.
func TestDamagedFiles(t *testing.T) {
	said, whole := map[string]int{}, map[string]int{}
	for seed := range rounds(t, 100) {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		fs := busy(t, r)
		want, err := content(fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r}), dir)
		if err != nil {
			t.Fatalf("seed %d, undamaged: %v", seed, err)
		}
		what, name, was := damage(t, fs, r)
		type result struct {
			lines []string
			err   error
		}
		done := make(chan result, 1)
		go func() {
			lines, err := content(fs, dir)
			done <- result{lines, err}
		}()
		var got result
		select {
		case got = <-done:
		case <-time.After(time.Minute):
			t.Fatalf("seed %d: hangs: %s", seed, what)
		}
		kind := kindOf(name)
		var d *frontier.DamageError
		switch {
		case got.err == nil && slices.Equal(got.lines, want):
			whole[kind]++
		case got.err == nil:
			t.Errorf("seed %d: %s: lost without a word: %d lines of %d", seed, what, len(got.lines), len(want))
		case !errors.As(got.err, &d):
			t.Errorf("seed %d: %s: not said as damage: %v", seed, what, got.err)
		case !slices.Equal(got.lines, want[:len(got.lines)]):
			t.Errorf("seed %d: %s: wrong before it was said: %v", seed, what, got.err)
		default:
			said[kind]++
			if !strings.HasPrefix(d.Path, dir) {
				t.Errorf("seed %d: %s: does not say where: %v", seed, what, got.err)
			}
			if testing.Verbose() {
				t.Logf("%s → %v", what, got.err)
			}
			if got.lines == nil { // what Open refuses is whole again once the file is put back
				storedWrite(t, fs, name, was)
				if lines, err := content(fs, dir); err != nil || !slices.Equal(lines, want) {
					t.Errorf("seed %d: %s: refused (%v); put back: %d lines of %d, %v", seed, what, got.err, len(lines), len(want), err)
				}
			}
		}
	}
	t.Logf("said %v, nothing lost %v", said, whole)
}

// TestRebuild damages one file and makes a new frontier of what is left. Nothing
// that was done waits in it, every link of which the bytes can be read waits with
// them, and those that are missing are counted.
func TestRebuild(t *testing.T) {
	kept, lost := map[string]int{}, map[string]int{}
	for seed := range rounds(t, 60) {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		fs := busy(t, r)
		want, err := content(fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r}), dir)
		if err != nil {
			t.Fatalf("seed %d, undamaged: %v", seed, err)
		}
		what, name := "nothing", "nothing"
		if seed%10 > 0 {
			what, name, _ = damage(t, fs, r)
		}
		b, damaged, err := frontier.RebuildOn(t.Context(), fs, dir, "new/frontier")
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, what, err)
		}
		got, err := content(fs, "new/frontier")
		if err != nil {
			t.Fatalf("seed %d: %s: the new one: %v", seed, what, err)
		}
		if b.States != (got[1] == want[1]) && b.Lost == 0 {
			t.Errorf("seed %d: %s: the state is %q of %q, and said to be there: %v", seed, what, got[1], want[1], b.States)
		}
		links := map[string]bool{}
		for _, l := range want[2:] {
			links[l] = true
		}
		for _, l := range got[2:] {
			if !links[l] {
				t.Errorf("seed %d: %s: a link that did not wait so: %.80s", seed, what, l)
			}
		}
		missing := len(want) - len(got)
		seen := kindOf(name) == "ledger-" || strings.HasPrefix(kindOf(name), "run-")
		if (!seen || b.Sound) && b.Owed != missing || missing > 0 && len(damaged) == 0 {
			t.Errorf("seed %d: %s: %d links are missing, of which %d are known; %v", seed, what, missing, b.Owed, damaged)
		}
		kept[kindOf(name)] += len(got)
		lost[kindOf(name)] += missing
	}
	t.Logf("lines kept %v, lost %v", kept, lost)
}
