package lab

import (
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval"
)

// The curve of a strategy is the mean over the repeats of a topic, from near seeds; a name that several webs have, that
// none has, and results without the strategy are told.
func TestReadCurves(t *testing.T) {
	web, dir := small(t), t.TempDir()
	_, err := read(t, "webs: [{path: "+web+", topics: [bees, cars], budgets: [10, 40]}]\nscorers: [breadth-first, depth-first]\nrepeats: 2\n").Run(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadCurves(dir, "breadth-first")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bees", "tree/bees"} {
		got, err := c.Of(name)
		if err != nil {
			t.Fatal(err)
		}
		// Page n of the tree is the n-th; those of which n is a multiple of 7 are relevant, and 7 is the example.
		want := map[int]float64{10: 0, 14: 1, 21: 2, 28: 3, 35: 4, 40: 4}
		for n, hits := range want {
			i := slices.Index(got.Points, n)
			if i < 0 || got.Hits[i] != hits {
				t.Errorf("%s, %d pages: point %d of %v, %v", name, n, i, got.Points, got.Hits)
			}
		}
		if got.Web != "tree" || got.Crawls != 2 {
			t.Errorf("%s: %d crawls on %s", name, got.Crawls, got.Web)
		}
	}
	for name, says := range map[string]string{"wasps": `no crawl of breadth-first on a topic "wasps", but on bees, cars`, "meadow/bees": "no crawl of"} {
		if _, err := c.Of(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.cells = slices.Clone(c.cells)
	// A crawl that ended after a point keeps what it had found by then.
	of := func(x eval.Cell) bool { return x.Topic == "bees" }
	i := slices.IndexFunc(c.cells, of)
	whole := c.cells[i]
	n := slices.Index(whole.Points, 28) + 1
	c.cells[i].Points, c.cells[i].Hits = whole.Points[:n], whole.Hits[:n]
	got, err := c.Of("bees")
	if end := len(got.Hits) - 1; err != nil || got.Crawls != 2 || got.Points[end] != 40 || got.Hits[end] != 3.5 {
		t.Errorf("one of two crawls ended after 28 pages: %+v, %v", got, err)
	}
	c.cells[i] = whole
	c.cells[0].Web = "meadow"
	if _, err := c.Of(c.cells[0].Topic); err == nil || !strings.Contains(err.Error(), "on meadow and tree: give the crawl the name meadow/") {
		t.Errorf("a topic of two webs: %v", err)
	}
	for dir, says := range map[string]string{t.TempDir(): "holds no results of a lab"} {
		if _, err := ReadCurves(dir, "breadth-first"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v", err)
		}
	}
	if _, err := ReadCurves(dir, "shark-search"); err == nil || !strings.Contains(err.Error(), "add it to the scorers") {
		t.Errorf("%v", err)
	}
}
