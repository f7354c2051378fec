package collection

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/waggle-crawler/waggle/collection/collectiontest"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse"
)

// TestRepairedIsWhole damages two kinds of files of a killed crawl at random places,
// and repairs it. Verify then finds nothing but what Repair says that only putting
// a file back mends; that done, the crawl goes on, and in the end all is whole and no
// page is archived twice. A crawl may be damaged and repaired again, before it goes on
// or after that. WAGGLE_DAMAGES sets how many folders (12, and 3 in the quick run), and WAGGLE_SEED
// where chance begins.
func TestRepairedIsWhole(t *testing.T) {
	folders, seed := long.Count(t, "WAGGLE_DAMAGES", 3, 12), long.Seed(t, 100)
	for n := 0; n < folders; seed++ {
		rng := rand.New(rand.NewPCG(seed, 13))
		m, dirs := snapshots(t, rng, 5)
		for i, dir := range dirs {
			for try := range 4 {
				if n++; n > folders {
					break
				}
				own := copyOf(t, dir)
				what := fmt.Sprintf("seed %d, folder %d, try %d", seed, i, try)
				for cycle := range 1 + rng.IntN(2) {
					what += fmt.Sprintf("; cycle %d", cycle)
					if !repairedIsWhole(t, rng, own, &what) {
						break
					}
					if rng.IntN(3) == 0 && !goesOnWhole(t, m, own, what, 1+rng.IntN(60)) {
						break
					}
				}
				if rng.IntN(3) == 0 && !t.Failed() {
					goesOnWhole(t, m, own, what, 0)
				}
				if err := os.RemoveAll(own); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// repairedIsWhole damages two kinds of files and repairs them.
func repairedIsWhole(t *testing.T, rng *rand.Rand, dir string, what *string) bool {
	t.Helper()
	was := map[string][]byte{}
	for kinds := map[string]bool{}; len(kinds) < 2; {
		name, how, before, err := collectiontest.Damage(dir, rng)
		if err != nil {
			t.Fatal(err)
		}
		if _, again := was[name]; !again {
			was[name] = before
		}
		kinds[filepath.Dir(name)+filepath.Ext(name)] = true
		*what += fmt.Sprintf(", %s: %s", name[len(dir)+1:], how)
	}
	putBack := func(file string) {
		if before, damaged := was[file]; damaged {
			if err := os.WriteFile(file, before, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !At(dir).Begun() { // without it the folder is none of a crawl
		putBack(At(dir).JobFile())
	}
	w := opened(t, dir)
	r, err := w.Repair(t.Context(), RepairOptions{Parser: parse.New(parse.Options{})})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Errorf("%s: repair: %v", *what, err)
		return false
	}
	// What a checksum is of is put back with the checksum, if both are damaged.
	left := r.Left
	for range len(was) {
		for _, d := range left {
			putBack(filepath.Join(dir, d.File))
			putBack(At(dir).SumFile())
		}
		if left, _, err = At(dir).setupDamage(); err != nil {
			t.Fatal(err)
		}
	}
	return isWhole(t, dir, *what, "after the repair ("+strings.Join(r.Lines(), "; ")+")")
}

func isWhole(t *testing.T, dir, what, when string) bool {
	t.Helper()
	v, err := At(dir).Verify(t.Context(), nil)
	switch {
	case err != nil:
		t.Errorf("%s\n%s: %v", what, when, err)
	case !v.Whole:
		t.Errorf("%s\n%s: %v", what, when, v.Damage)
	}
	return err == nil && v.Whole
}

// goesOnWhole goes on with a crawl for some requests, 0 for all.
func goesOnWhole(t *testing.T, m *meadow, dir, what string, requests int) bool {
	t.Helper()
	fresh := &meadow{n: m.n, asked: map[string]int{}}
	if _, err := fresh.resume(t, dir, StoreOptions{}, requests); err != nil {
		t.Errorf("%s: goes on: %v", what, err)
		return false
	}
	archived := map[string]int{}
	for r, err := range At(dir).Responses(nil) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return false
		}
		if u := r.URL.String(); r.Status == 200 {
			if archived[u]++; archived[u] == 2 {
				t.Errorf("%s: %s is archived twice", what, u)
			}
		}
	}
	return isWhole(t, dir, what, "after it went on")
}

// An error page was archived, and the process died before its turn was committed.
// After the frontier was damaged too, and the crawl repaired, its address waits, and
// the log says so.
func TestErrorInFlight(t *testing.T) {
	m := &meadow{n: 150, asked: map[string]int{}}
	dir, killed := filepath.Join(t.TempDir(), "c"), ""
	const gone = "https://h1.test/145"              // answers 410
	take := func() string { return copyOf(t, dir) } // of this test, which outlives the bubble
	synctest.Test(t, func(t *testing.T) {
		if _, err := m.crawl(t, dir, StoreOptions{}, 0, func(c *crawl.Crawl) {
			c.Archive = snapArchive{c.Archive, func() {
				m.mu.Lock()
				defer m.mu.Unlock()
				if m.asked[gone] > 0 && killed == "" {
					killed = take()
				}
			}}
			c.Workers = 1
		}); err != nil {
			t.Fatal(err)
		}
	})
	names, err := filepath.Glob(filepath.Join(At(killed).FrontierDir(), "queue", "marker.manifest.*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	repairNow(t, killed, "marker removed")
	isWhole(t, killed, "marker removed", "after the repair")
	goesOnWhole(t, m, killed, "marker removed", 0)
}

// A list of losses that is gone, or has lost a line, is made anew by its copy in the
// frontier, where its checksum is damaged too: it is what it was, so that the checksums
// fit once they are put back.
func TestLossesAndSumsDamaged(t *testing.T) {
	m := &meadow{n: 150, asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	if _, err := m.resume(t, dir, StoreOptions{}, 40); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(At(dir).EventLog()); err != nil {
		t.Fatal(err)
	}
	repairNow(t, dir, "log removed")
	lost, err := os.ReadFile(At(dir).LostFile())
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(At(dir).SumFile())
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]func(list string) error{
		"list gone":            os.Remove,
		"list without a start": func(list string) error { return os.WriteFile(list, lost[20:], 0o644) },
	} {
		if err := errors.Join(damage(At(dir).LostFile()), os.WriteFile(At(dir).SumFile(), sums[:20], 0o644)); err != nil {
			t.Fatal(err)
		}
		repairNow(t, dir, what)
		if again, err := os.ReadFile(At(dir).LostFile()); err != nil || string(again) != string(lost) {
			t.Errorf("%s: it is\n%s\nand was\n%s\n%v", what, again, lost, err)
		}
		if err := os.WriteFile(At(dir).SumFile(), sums, 0o644); err != nil {
			t.Fatal(err)
		}
		isWhole(t, dir, what, "after the sums were put back")
	}
	// A line of the log that is damaged as well is noted in the list: the checksums that
	// are put back are those of the list before.
	log, err := os.ReadFile(At(dir).EventLog())
	if err != nil {
		t.Fatal(err)
	}
	log[len(log)-20] ^= 1
	if err := errors.Join(os.WriteFile(At(dir).EventLog(), log, 0o644), os.WriteFile(At(dir).SumFile(), sums[:20], 0o644)); err != nil {
		t.Fatal(err)
	}
	repairNow(t, dir, "log and sums")
	if err := os.WriteFile(At(dir).SumFile(), sums, 0o644); err != nil {
		t.Fatal(err)
	}
	isWhole(t, dir, "log and sums", "after the sums were put back")
	if _, err := m.resume(t, dir, StoreOptions{}, 20); err != nil {
		t.Error(err)
	}
	held, err := os.ReadFile(At(dir).LostFile())
	if err != nil || held[0] != '#' {
		t.Fatalf("no note in %q, %v", held, err)
	}
	changed := slices.Clone(held)
	changed[5] ^= 1
	if err := errors.Join(os.WriteFile(At(dir).LostFile(), changed, 0o644), os.WriteFile(At(dir).SumFile(), sums[:20], 0o644)); err != nil {
		t.Fatal(err)
	}
	repairNow(t, dir, "note and sums")
	if again, err := os.ReadFile(At(dir).LostFile()); err != nil || string(again) != string(held) {
		t.Errorf("the list is\n%s\nand was\n%s\n%v", again, held, err)
	}
	if err := os.WriteFile(At(dir).SumFile(), sums, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(At(dir).LostFile(), lost[20:], 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := At(dir).Verify(t.Context(), nil); err != nil || v.Whole {
		t.Errorf("a list that lost lines is whole: %v", err)
	}
}
