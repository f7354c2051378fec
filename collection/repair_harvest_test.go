package collection

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
)

// repaired repairs a crawl, and returns what was found.
func repaired(t *testing.T, dir string) *RepairReport {
	t.Helper()
	w := opened(t, dir)
	defer w.Close()
	r, err := w.Repair(t.Context(), RepairOptions{Parser: parse.New(parse.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noted tells whether Verify finds a crawl whole, and says a thing of it.
func noted(t *testing.T, dir, what string) {
	t.Helper()
	v, err := At(dir).Verify(t.Context(), nil)
	if err != nil || !v.Whole || !slices.ContainsFunc(v.Notes, func(n string) bool { return strings.Contains(n, what) }) {
		t.Errorf("want a note with %q of a whole crawl: %v, %q, %v", what, v.Damage, v.Notes, err)
	}
}

// A harvest that is missing, or of an earlier time than the log as the process died that
// was to write it, is no damage. Verify tells of it, and a repair writes it.
func TestHarvestIsBroughtUp(t *testing.T) {
	m := &meadow{n: 150, asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	if _, err := m.resume(t, dir, StoreOptions{}, 40); err != nil {
		t.Fatal(err)
	}
	before, err := At(dir).readHarvestFiles()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.resume(t, dir, StoreOptions{}, 40); err != nil {
		t.Fatal(err)
	}
	now, err := At(dir).readHarvestFiles()
	if err != nil || string(now.table) == string(before.table) {
		t.Fatal("the harvest did not grow", err)
	}
	for _, c := range []struct {
		what, note string
		change     func() error
	}{
		{"harvest.tsv gone", "harvest.tsv is not there", func() error { return os.Remove(At(dir).HarvestFile()) }},
		{"harvest.yaml gone", "harvest.yaml is not there", func() error { return os.Remove(At(dir).ProvenanceFile()) }},
		{"old", "harvest.tsv is of an earlier time", func() error { return os.WriteFile(At(dir).HarvestFile(), before.table, 0o644) }},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		noted(t, dir, c.note)
		if r := repaired(t, dir); r.Whole || r.Before != "" || len(r.Found) != 1 {
			t.Errorf("%s: %+v", c.what, r)
		}
		if is, err := At(dir).readHarvestFiles(); err != nil || string(is.table) != string(now.table) || string(is.provenance) != string(now.provenance) {
			t.Errorf("%s: the repaired harvest is %q of %q, %v", c.what, is.table, is.provenance, err)
		}
		if r := repaired(t, dir); !r.Whole {
			t.Errorf("%s: there is more to repair: %+v", c.what, r)
		}
	}
}

// A crawl that died before its first turn, and is repaired, begins anew: the harvest is
// that of its new log.
func TestHarvestOfRepairedBeginning(t *testing.T) {
	m := &meadow{n: 150, asked: map[string]int{}}
	dir, dead := filepath.Join(t.TempDir(), "c"), ""
	run := func(dir string, requests int, kill func(*crawl.Crawl, func())) string {
		killed := ""
		copied := func() string { return copyOf(t, dir) } // of this test, which outlives the bubble
		synctest.Test(t, func(t *testing.T) {
			later(dir)
			if _, err := m.crawl(t, dir, StoreOptions{}, requests, func(c *crawl.Crawl) {
				kill(c, func() { killed = copied() })
			}); err != nil {
				t.Fatal(err)
			}
		})
		return killed
	}
	dead = run(dir, 1, func(c *crawl.Crawl, snap func()) {
		first := true
		c.Log = snapLog{c.Log, func() {
			if first {
				snap()
			}
			first = false
		}}
	})
	manifests, err := filepath.Glob(filepath.Join(At(dead).FrontierDir(), "queue", "MANIFEST-*"))
	if err != nil || len(manifests) != 1 {
		t.Fatal(manifests, err)
	}
	if err := os.WriteFile(manifests[0], make([]byte, 39), 0o644); err != nil {
		t.Fatal(err)
	}
	repairNow(t, dead, "manifest zeroed")
	isWhole(t, dead, "manifest zeroed", "after the repair")
	killed := run(dead, 30, func(c *crawl.Crawl, snap func()) {
		listen := c.Listen
		c.Listen = func(e event.Event) {
			if f, ok := e.(event.Fetched); ok && f.Relevant {
				snap()
			}
			if listen != nil {
				listen(e)
			}
		}
	})
	if killed == "" {
		t.Fatal("nothing relevant was fetched")
	}
	isWhole(t, killed, "manifest zeroed", "killed after it went on")
}

// Where archive and log are gone, nobody knows what was fetched: repair and Verify say
// how many pages those are.
func TestUnnamedPages(t *testing.T) {
	m := &meadow{n: 150, asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	if _, err := m.resume(t, dir, StoreOptions{}, 40); err != nil {
		t.Fatal(err)
	}
	v, err := At(dir).Verify(t.Context(), nil)
	if err != nil || v.Log.Pages == 0 {
		t.Fatal(v.Log.Pages, err)
	}
	if err := os.RemoveAll(At(dir).ArchiveDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(At(dir).EventLog()); err != nil {
		t.Fatal(err)
	}
	r := repaired(t, dir)
	lost, err := At(dir).Lost()
	if err != nil {
		t.Fatal(err)
	}
	// Some of the lost addresses are no pages, which nobody can tell.
	if r.Unnamed == 0 || r.Unnamed > v.Log.Pages || r.Unnamed+len(lost) < v.Log.Pages {
		t.Errorf("%d of %d pages are unnamed, %d addresses lost", r.Unnamed, v.Log.Pages, len(lost))
	}
	if text := strings.Join(r.Lines(), "\n"); !strings.Contains(text, "of which no store tells any more") {
		t.Error(text)
	}
	noted(t, dir, "of which no store tells any more")
	if _, err := m.resume(t, dir, StoreOptions{}, 20); err != nil {
		t.Fatal(err)
	}
	noted(t, dir, "of which no store tells any more")
}
