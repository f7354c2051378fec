package collection

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/waggle-crawler/waggle/crawl"
)

// harvest.tsv is that of the last run that came to its end, however many died since:
// that is no damage. A file that no moment of the log explains is.
func TestHarvestOfLongAgo(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 150, asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	if _, err := m.resume(t, dir, StoreOptions{}, 20); err != nil {
		t.Fatal(err)
	}
	long := dir
	for range 20 {
		var left string
		turns := 0
		take := func() {
			if turns++; turns == 3 {
				left = copyOf(t, dir)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			_, err := m.crawl(t, dir, StoreOptions{}, 20, func(c *crawl.Crawl) {
				c.Frontier = snapFrontier{c.Frontier, take}
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		dir = left
	}
	b, err := os.ReadFile(At(dir).HarvestFile())
	first, errFirst := os.ReadFile(At(long).HarvestFile())
	if err = errors.Join(err, errFirst); err != nil || bytes.Equal(b, first) || bytes.Count(b, []byte("\n")) < 5 {
		t.Fatalf("the harvest of the first run, which went on later, is %q and %q, %v", b, first, err)
	}
	v, err := At(dir).Verify(t.Context(), nil)
	if err != nil || !v.Whole || v.Harvest <= bytes.Count(b, []byte("\n")) {
		t.Errorf("%d pages, %v, %v", v.Harvest, v.Damage, err)
	}
	if err := os.WriteFile(At(dir).HarvestFile(), b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1], 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := At(dir).Verify(t.Context(), nil); err != nil || v.Whole {
		t.Errorf("a harvest that lost a line is whole, %v", err)
	}
}

// harvest.yaml is compared with the log as harvest.tsv is: its judge, its threshold,
// the number of pages, the settings. Repair writes it anew.
func TestProvenanceVerified(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 150, asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	var files [2]harvestFiles
	for run := range files {
		if _, err := m.resume(t, dir, StoreOptions{}, 30); err != nil {
			t.Fatal(err)
		}
		var err error
		if files[run], err = At(dir).readHarvestFiles(); err != nil {
			t.Fatal(err)
		}
	}
	now := string(files[1].provenance)
	if !strings.HasPrefix(now, "# By what the pages of harvest.tsv are relevant.\njudge: \"words\"\nthreshold: 0.25\npages: ") {
		t.Fatalf("harvest.yaml is\n%s", now)
	}
	count := regexp.MustCompile(`pages: \d+\n`)
	for name, c := range map[string]struct {
		file  string
		whole bool
	}{
		"as written":                    {now, true},
		"of the first run":              {string(files[0].provenance), true}, // the process died before it was written again
		"of an earlier version":         {count.ReplaceAllString(now, ""), true},
		"another judge":                 {strings.Replace(now, "words", "topic", 1), false},
		"another threshold":             {strings.Replace(now, "0.25", "0.2", 1), false},
		"another number of pages":       {count.ReplaceAllString(now, "pages: 1\n"), false},
		"no judge":                      {strings.Replace(now, "judge: \"words\"\n", "", 1), false},
		"cut":                           {now[:len(now)/2], false},
		"empty":                         {"", false},
		"a setting that nobody gave":    {now + "settings:\n  topic.keywords: \"[]\"\n", false},
		"a moment at which none judged": {strings.Replace(now, "when they were fetched", "anew", 1), false},
	} {
		own := copyOf(t, dir)
		if err := os.WriteFile(At(own).ProvenanceFile(), []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		v, err := At(own).Verify(t.Context(), nil)
		if err != nil || v.Whole != c.whole || !c.whole && (len(v.Damage) != 1 || v.Damage[0].File != "harvest.yaml") {
			t.Errorf("%s: whole %v, %v, %v", name, v.Whole, v.Damage, err)
		}
		if c.whole {
			continue
		}
		w := opened(t, own)
		r, err := w.Repair(t.Context(), RepairOptions{})
		if err := errors.Join(err, w.Close()); err != nil || !slices.Equal(r.Found, []string{"harvest.yaml was not what the event log tells"}) {
			t.Errorf("%s: found %q, %v", name, r.Found, err)
		}
		if b, err := os.ReadFile(At(own).ProvenanceFile()); err != nil || string(b) != now {
			t.Errorf("%s: after the repair it is\n%s%v", name, b, err)
		}
	}
	if err := os.Remove(At(dir).ProvenanceFile()); err != nil {
		t.Fatal(err)
	}
	if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole || !strings.Contains(strings.Join(v.Notes, "\n"), "harvest.yaml is not there") {
		t.Errorf("without it: %v, %v, %v", v.Damage, v.Notes, err)
	}
}
