package collection

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/waggle-crawler/waggle/crawl"
)

// harvest.tsv is that of the last run that came to its end, however many died since:
// that is no damage. A file that no moment of the log explains is.
func TestHarvestOfLongAgo(t *testing.T) {
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
