package frontier_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/web"
)

// killed is the disk as a process leaves it that dies now.
func killed(disk *vfs.MemFS) *vfs.MemFS {
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// rescored makes a frontier with links of four hosts whose priorities have sunk, as a
// process leaves it that dies after that: the store's log lacks what the ledger has.
func rescored(t *testing.T, disk *vfs.MemFS, run int) *vfs.MemFS {
	t.Helper()
	ctx := context.Background()
	f, err := frontier.OpenOn(disk, dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var turn web.Turn
	for i := range 40 {
		u, err := web.Parse(fmt.Sprintf("http://host%d.example/%d/%d", i%4, run, i))
		if err != nil {
			t.Fatal(err)
		}
		turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: float64(100 + i)})
	}
	turn.State = map[string][]byte{"count": fmt.Append(nil, run)}
	if _, err := f.Commit(ctx, turn); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Lease(ctx, frontiertest.Start, 4, 0, func(c *web.Candidate) float64 { return c.Priority - 50 }); err != nil {
		t.Fatal(err)
	}
	return killed(disk)
}

// A file that only describes the store is damaged: of the ledger counts what was
// committed, and nothing behind it.
func TestRebuildPassesOverTheTail(t *testing.T) {
	disk := vfs.NewCrashableMem()
	for run := range 2 {
		disk = rescored(t, disk, run)
	}
	for _, name := range paths(t, disk) {
		if strings.HasPrefix(path.Base(name), "OPTIONS-") {
			if err := disk.Remove(name); err != nil {
				t.Fatal(err)
			}
			f, err := disk.Create(name, vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write([]byte("damaged")); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	b, damage, err := frontier.RebuildOn(context.Background(), disk, dir, "new")
	if err != nil {
		t.Fatal(err)
	}
	if len(damage) != 1 || !strings.Contains(damage[0].Path, "OPTIONS-") || !b.States || !b.SeenWhole || b.Waiting != 80 || b.Owed != 0 {
		t.Errorf("%+v of %v", b, damage)
	}
}

// What a process that died wrote behind the last commit is not read once the next one has
// committed, be it as long as that: it would undo what came later.
func TestTailIsCutOff(t *testing.T) {
	disk := rescored(t, vfs.NewCrashableMem(), 0)
	f, err := frontier.OpenOn(disk, dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Lease(context.Background(), frontiertest.Start, 4, 0, nil)
	if err != nil || len(out) != 4 {
		t.Fatal(out, err)
	}
	done := out[1].URL // a commit as long as one that sank a link
	if _, err := f.Commit(context.Background(), web.Turn{Done: []web.URL{done}}); err != nil {
		t.Fatal(err)
	}
	disk = killed(disk)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range paths(t, disk) {
		if strings.HasSuffix(name, ".log") {
			if err := disk.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, _, err := frontier.RebuildOn(context.Background(), disk, dir, "new"); err != nil {
		t.Fatal(err)
	}
	f, err = frontier.OpenOn(disk, "new", frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s := f.Standing(done); s != frontier.Done {
		t.Errorf("what was done stands at %d", s)
	}
}

// A ledger that was made anew counts at once. Where links are scored anew after that
// and the process dies, the next one takes none of it for committed: store and
// ledger agree, and nothing is made anew again.
func TestRenewedLedgerCounts(t *testing.T) {
	for n := range 11 {
		links := 80 + n
		disk := torn(t, links)
		f, err := frontier.OpenOn(disk, dir, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if _, err := f.Lease(context.Background(), frontiertest.Start, 1, 0, func(c *web.Candidate) float64 { return c.Priority - 200 }); err != nil {
				t.Fatal(err)
			}
		}
		next := killed(disk)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := frontier.ExamineOn(next, dir); err != nil {
			t.Fatal(err)
		} else {
			if _, err := r.Check(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			if d := r.Damage(); len(d) > 0 || !r.Whole() {
				t.Errorf("of %d links: whole %v, %v", links, r.Whole(), d)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if f, err = frontier.OpenOn(next, dir, frontier.Options{}); err != nil {
			t.Fatal(err)
		}
		drained(t, f, links)
		if names := strings.Join(paths(t, next), " "); !strings.Contains(names, "ledger-000003") || strings.Contains(names, "ledger-000004") {
			t.Errorf("of %d links: %s", links, names)
		}
	}
}

// drained takes everything out of a frontier, whose links are all found once more, with
// higher priorities, and as many others with lower ones. Each is given out once.
func drained(t *testing.T, f *frontier.Frontier, links int) {
	t.Helper()
	ctx := context.Background()
	given := map[web.URL]int{}
	var again web.Turn
	for i := range links {
		again.Add = append(again.Add,
			web.Candidate{URL: link(t, i), Priority: float64(1000 + i)},
			web.Candidate{URL: link(t, links+i), Priority: float64(-1000 - i)})
	}
	if _, err := f.Commit(ctx, again); err != nil {
		t.Fatal(err)
	}
	for {
		out, err := f.Lease(ctx, frontiertest.Start, 1, 0, nil)
		if err != nil {
			t.Errorf("of %d links: %v", links, err)
			break
		}
		if len(out) == 0 {
			break
		}
		given[out[0].URL]++
		if _, err := f.Commit(ctx, web.Turn{Done: []web.URL{out[0].URL}}); err != nil {
			t.Fatal(err)
		}
	}
	for u, n := range given {
		if n > 1 {
			t.Errorf("of %d links: %s was given %d times", links, u, n)
		}
	}
	if len(given) != 2*links {
		t.Errorf("of %d links, %d were given", links, len(given))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// link is the i-th link of torn.
func link(t *testing.T, i int) web.URL {
	t.Helper()
	u, err := web.Parse(fmt.Sprintf("http://host%d.example/%d", i%4, i))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// torn makes a frontier of links of four hosts, whose ledger has lost an end that no
// Sync made safe.
func torn(t *testing.T, links int) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	f, err := frontier.OpenOn(disk, dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range links {
		if _, err := f.Commit(context.Background(), web.Turn{Add: []web.Candidate{{URL: link(t, i), Priority: float64(i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	left := killed(disk)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := left.OpenReadWrite(dir+"/ledger-000001", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(make([]byte, 100), 300); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return left
}
