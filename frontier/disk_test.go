package frontier_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// TestLongQueues drives both frontiers through queues much longer than what the
// one on disk keeps of them in memory, and asserts that they agree.
func TestLongQueues(t *testing.T) {
	ctx := context.Background()
	for seed := range long.Of(uint64(1), 4) {
		r := rand.New(rand.NewPCG(seed, 3))
		opts := frontier.FewHosts(frontier.Options{MaxPerHost: []int{300, 1000, -1, 150}[seed]}, 1)
		fs := vfs.NewMem()
		disk, err := frontier.OpenOn(fs, dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		memory := frontier.NewMemory(opts)
		both := func(what string, do func(f *frontier.Frontier) (string, error)) string {
			t.Helper()
			d, err := do(disk)
			if err != nil {
				t.Fatal(err)
			}
			m, err := do(memory)
			if err != nil {
				t.Fatal(err)
			}
			if d != m {
				t.Fatalf("seed %d: %s:\n  disk %s\nmemory %s", seed, what, d, m)
			}
			return d
		}
		priority := func() float64 {
			if r.IntN(2) == 0 {
				return float64(r.IntN(5)) // many ties
			}
			return r.NormFloat64()
		}
		candidate := func() web.Candidate {
			u, err := web.Parse(fmt.Sprintf("http://host%d.example/%d", r.IntN(3), r.IntN(3000)))
			if err != nil {
				t.Fatal(err)
			}
			return web.Candidate{URL: u, Priority: priority()}
		}
		var out []web.Lease
		for range 200 {
			var turn web.Turn
			for range r.IntN(60) {
				turn.Add = append(turn.Add, candidate())
			}
			for _, l := range out {
				if r.IntN(4) == 0 {
					l.Priority = priority()
					turn.Retry = append(turn.Retry, l.Candidate)
				} else {
					turn.Done = append(turn.Done, l.URL)
				}
			}
			if r.IntN(60) == 0 {
				turn.Drop = append(turn.Drop, candidate().URL.Host())
			}
			both("Commit", func(f *frontier.Frontier) (string, error) {
				receipt, err := f.Commit(ctx, turn)
				return fmt.Sprint(receipt), err
			})
			scores := make(map[web.URL]float64)
			var rescore func(*web.Candidate) float64
			if r.IntN(3) == 0 {
				rescore = func(c *web.Candidate) float64 {
					if _, ok := scores[c.URL]; !ok {
						scores[c.URL] = c.Priority + r.NormFloat64()/2 - 0.3
					}
					return scores[c.URL]
				}
			}
			among := max(0, r.IntN(40)-20)
			both("Lease", func(f *frontier.Frontier) (string, error) {
				var err error
				out, err = f.Lease(ctx, frontiertest.Start, 3, among, rescore)
				return fmt.Sprint(out), err
			})
			if r.IntN(50) == 0 {
				clear(scores)
				both("Rescore", func(f *frontier.Frontier) (string, error) {
					n := 1 + r.IntN(9)
					for at := []byte(nil); ; {
						var err error
						at, err = f.Rescore(ctx, at, n, func(c *web.Candidate) float64 {
							if _, ok := scores[c.URL]; !ok {
								scores[c.URL] = priority()
							}
							return scores[c.URL]
						})
						if at == nil || err != nil {
							return "", err
						}
					}
				})
			}
			both("Stats", func(f *frontier.Frontier) (string, error) {
				return fmt.Sprint(f.Stats(frontiertest.Start)), nil
			})
			both("Spread", func(f *frontier.Frontier) (string, error) { return frontier.Spread(f), nil })
			if r.IntN(40) == 0 {
				// Both forget their leases alike: put them back first.
				var back web.Turn
				for _, l := range out {
					back.Retry = append(back.Retry, l.Candidate)
				}
				both("Retry", func(f *frontier.Frontier) (string, error) {
					receipt, err := f.Commit(ctx, back)
					return fmt.Sprint(receipt), err
				})
				out = nil
				if err := disk.Close(); err != nil {
					t.Fatal(err)
				}
				if disk, err = frontier.OpenOn(fs, dir, opts); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	}
}

// filled makes a frontier with 30 links, 10 of them done, and closes it.
func filled(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewMem()
	f, err := frontier.OpenOn(fs, dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var add, done web.Turn
	for i := range 30 {
		add.Add = append(add.Add, web.Candidate{URL: frontiertest.URL(i), Priority: float64(i)})
	}
	for i := range 10 {
		done.Done = append(done.Done, frontiertest.URL(i))
	}
	for _, turn := range []web.Turn{add, done} {
		if _, err := f.Commit(context.Background(), turn); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return fs
}

const ledger = dir + "/ledger-000001"

func read(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func storedWrite(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedLedger damages the ledger of a closed frontier and asserts what Open
// says, or what it holds all the same.
func TestDamagedLedger(t *testing.T) {
	change := func(at int, to byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] = to; return b }
	}
	for _, x := range []struct {
		name   string
		damage func([]byte) []byte
		says   string
	}{
		{"a bit of the version", change(15, '3'), `damaged: its header says version "03"`},
		{"not a ledger", change(0, 'x'), "does not begin as a ledger does"},
		{"an empty ledger", func([]byte) []byte { return nil }, "does not begin as a ledger does"},
		{"a bit of a block", func(b []byte) []byte { b[100] ^= 1; return b }, "can be read up to byte 16 of 1160"},
		{"a count", change(18, 0xff), "can be read up to byte 16 of 1160"},
		{"a count of nothing", change(16, 0), "can be read up to byte 16 of 1160"},
		{"the second turn lost", func(b []byte) []byte { return b[:16+12+30*28] }, "can be read up to byte 868 of 1160"},
		{"torn", func(b []byte) []byte { return b[:1160-1] }, "can be read up to byte 868 of 1160"},
		{"the end torn", func(b []byte) []byte { return b[:len(b)-1] }, ""},
		{"something behind the end", func(b []byte) []byte { return append(b, "torn"...) }, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			fs := filled(t)
			storedWrite(t, fs, ledger, x.damage(read(t, fs, ledger)))
			f, err := frontier.OpenOn(fs, dir, frontier.Options{})
			if x.says != "" {
				if err == nil || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), ledger) {
					t.Fatalf("Open says %v, want %q", err, x.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := f.Stats(frontiertest.Start); s.Queued != 20 || s.Seen != 30 {
				t.Errorf("%+v, want 20 queued, 30 seen", s)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestTwoProcesses(t *testing.T) {
	folder := t.TempDir()
	f, err := frontier.Open(folder, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := frontier.Open(folder, frontier.Options{}); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("opened twice: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = frontier.Open(folder, frontier.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Few links that are scored anew often do not fill the disk: what is dead of them is
// dropped, logs that are done with are removed, and the links are there with their last priorities.
func TestOftenRescored(t *testing.T) {
	// A table of flushAfter moves takes 130 kB and the links alone 22. Closing does not wait until the
	// last tables are merged. Of all six that are written here nothing would be dropped with 800 kB.
	t.Run("one log", func(t *testing.T) { testOftenRescored(t, frontier.Options{}, 512<<10) })
	t.Run("many logs", func(t *testing.T) { testOftenRescored(t, frontier.Small(frontier.Options{}, 1<<20), 1<<20) })
}

// testOftenRescored asserts that the closed queue takes most bytes at most.
func testOftenRescored(t *testing.T, opts frontier.Options, most int64) {
	const links, sweeps = 1000, 50
	folder := t.TempDir()
	f, err := frontier.Open(folder, opts)
	if err != nil {
		t.Fatal(err)
	}
	var turn web.Turn
	for i := range links {
		u, err := web.Parse(fmt.Sprintf("http://a.example/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: float64(i), Features: make([]byte, 100)})
	}
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	for range sweeps {
		var next []byte
		for first := true; first || next != nil; first = false {
			// Up, so that a link is met once in a sweep.
			if next, err = f.Rescore(t.Context(), next, 300, func(c *web.Candidate) float64 { return c.Priority + links }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	err = filepath.WalkDir(filepath.Join(folder, "queue"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > most {
		t.Errorf("the queue of %d links takes %d kB after %d sweeps", links, size>>10, sweeps)
	}
	if f, err = frontier.Open(folder, opts); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := f.Lease(t.Context(), time.Time{}, 1, 0, nil)
	if err != nil || len(l) != 1 || l[0].Candidate.Priority != links*sweeps+links-1 {
		t.Errorf("leased %v, %v", l, err)
	}
}
