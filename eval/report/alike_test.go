package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval"
)

// copied adds a strategy under another name whose crawls are those of one that is there.
func copied(r Results, of, as string) Results {
	for i := range r.Cells {
		c := &r.Cells[i]
		c.Order = map[int]string{}
		for _, n := range r.Budgets {
			c.Order[n] = c.Topic + c.Scorer
		}
	}
	for _, c := range r.Cells {
		if c.Scorer == of {
			c.Scorer = as
			r.Cells = append(r.Cells, c)
		}
	}
	return r
}

// One crawl under two names is told once, and compared once: neither the number of
// strategies nor the rule of Holm counts it twice.
func TestSameCrawls(t *testing.T) {
	strategies := auc{"bee": near(.5, .01), "breadth-first": near(.3, .01), "ant": near(.1, .01)}
	alone, twice := strategies.results(8, 100), copied(strategies.results(8, 100), "bee", "hornet")
	said, err := Verdict(twice)
	if want := "bee (with the same pages as hornet) is best: at 100 pages it has the highest AUC of 3 strategies, 0.500 on average over 8 topics. The tests tell it apart from every other (p at most .023)."; err != nil || said != want {
		t.Errorf("the verdict: %v\n got %s\nwant %s", err, said, want)
	}
	first, err := TestsCSV(alone)
	if err != nil {
		t.Fatal(err)
	}
	second, err := TestsCSV(twice)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("tests with a strategy under two names: %v\n%s\nand without:\n%s", err, second, first)
	}
	page, err := Markdown(twice, "")
	if err != nil {
		t.Fatal(err)
	}
	const note = "hornet fetched the same pages as bee, in the same order, in every run up to 100 pages"
	if n := strings.Count(string(page), note); n != 1 {
		t.Errorf("%d times: %s", n, note)
	}
	// Other pages in one run, and they are two strategies.
	i := slices.IndexFunc(twice.Cells, func(c eval.Cell) bool { return c.Scorer == "hornet" })
	twice.Cells[i].Order = map[int]string{100: "other pages"}
	if page, err = Markdown(twice, ""); err != nil || strings.Contains(string(page), "fetched the same pages") {
		t.Errorf("of strategies that differ in one run it is said that they fetched the same pages, or %v", err)
	}
	// What copies the baseline is not compared with it.
	if second, err = TestsCSV(copied(strategies.results(8, 100), "breadth-first", "broad")); err != nil || strings.Contains(string(second), "broad,") {
		t.Errorf("the baseline under another name: %v\n%s", err, second)
	}
}

// Strategies that are one crawl have all of their runs, and are not told apart.
func TestAllTheSame(t *testing.T) {
	both := copied(auc{"breadth-first": near(.3, 0)}.results(2, 100), "breadth-first", "ant")
	third := copied(auc{"breadth-first": near(.3, 0), "bee": near(.5, 0)}.results(2, 100), "breadth-first", "ant")
	i := slices.IndexFunc(third.Cells, func(c eval.Cell) bool { return c.Scorer == "bee" })
	third.Cells = slices.Delete(third.Cells, i, i+1)
	for want, r := range map[string]Results{
		"All strategies fetched the same pages in the same order (breadth-first and ant), so there is nothing to tell apart. At 100 pages their mean AUC over 2 topics is 0.300.":                   both,
		"Only breadth-first and ant have all of their runs, and they fetched the same pages in the same order, so there is nothing to compare. At 100 pages their mean AUC over 2 topics is 0.300.": third,
	} {
		r.Baseline = "breadth-first"
		if said, err := Verdict(r); err != nil || said != want {
			t.Errorf("%v\n got %s\nwant %s", err, said, want)
		}
	}
}

// A strategy that another crawl taught had more budget: its row and the verdict say so.
func TestTaught(t *testing.T) {
	r := auc{"pupil": near(.5, .01), "breadth-first": near(.3, .01), "ant": near(.1, .01)}.results(8, 100)
	r.Taught = []Taught{{"pupil", "breadth-first", 100}}
	r.Warnings = []string{"ant learns nothing."}
	said, err := Verdict(r)
	if err != nil || !strings.HasPrefix(said, "pupil (taught before by a whole crawl of 100 pages by breadth-first, which no other had) is best:") {
		t.Errorf("%s, %v", said, err)
	}
	page, err := Markdown(r, "")
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		"| pupil ‡ |": 5, // at 100 pages, by topic, of other measures, of the papers, and the comparison
		"‡ taught before its own crawl by a whole one of the same topic from the same seeds (pupil by 100 pages of breadth-first)": 5,
		"ant learns nothing.": 1,
	} {
		if n := strings.Count(string(page), want); n < times {
			t.Errorf("%d times, and not %d: %s", n, times, want)
		}
	}
}
