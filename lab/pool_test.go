package lab

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/pool"
)

// poolLab is a lab of the small web that keeps its runs.
func poolLab(t *testing.T) *File {
	return read(t, `
webs: [{path: `+small(t)+`}]
scorers: [breadth-first, best-first-both]
judges: [topic, keyword, truth]
budgets: [10, 30]
keep-runs: true
`)
}

// A lab that keeps its runs makes again those that are not there, and the kept
// runs say what the cells say.
func TestKeepRuns(t *testing.T) {
	f, dir := poolLab(t), t.TempDir()
	if out, err := f.Run(t.Context(), dir, Options{}); err != nil || out != (Outcome{Cells: 12, Made: 12}) {
		t.Fatalf("%+v, %v", out, err)
	}
	runs, err := filepath.Glob(filepath.Join(dir, runsDir, "*.json"))
	if err != nil || len(runs) != 12 {
		t.Fatalf("%d runs are kept, %v", len(runs), err)
	}
	for _, name := range runs {
		run, err := readJSON[eval.Run](name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := readCell(filepath.Join(dir, cellsDir, filepath.Base(name)))
		if err != nil || c.Key != run.Key || c.Value("hits", 30) != run.Hits(30) {
			t.Errorf("%s: hits %v of the cell, %v of the run (%v)", run.Key, c.Value("hits", 30), run.Hits(30), err)
		}
	}
	if err := os.Remove(runs[3]); err != nil {
		t.Fatal(err)
	}
	if _, err := DrawPool(t.Context(), []string{dir}, PoolOptions{DrawOptions: pool.DrawOptions{Pages: 20, Top: 8}}); err == nil || !strings.Contains(err.Error(), "waggle lab run goes on with it") {
		t.Errorf("a pool without one of the runs: %v", err)
	}
	if out, err := f.Run(t.Context(), dir, Options{}); err != nil || out != (Outcome{Cells: 12, Made: 1}) {
		t.Errorf("again without a run: %+v, %v", out, err)
	}
}

// A pool holds what crawls fetched early and judges rank high, and no crawl that
// knew the truth has a say.
func TestDrawPool(t *testing.T) {
	f, dir := poolLab(t), t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	o := PoolOptions{DrawOptions: pool.DrawOptions{Pages: 20, Top: 8, Seed: 5}}
	p, err := DrawPool(t.Context(), []string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Webs) != 1 || p.Webs[0].Name != "tree" || p.Webs[0].Documents != 60 || len(p.Topics) != 2 {
		t.Fatalf("%+v", p)
	}
	bees := p.Topics[0]
	// Two crawls under two judges, and these two judges.
	if bees.Name != "bees" || bees.Lists != 6 || len(bees.Pages) != 20 || bees.Strata[0].Size > 8 {
		t.Errorf("%+v", bees)
	}
	top := map[string]bool{}
	for _, x := range bees.Pages {
		if x.Stratum == 0 {
			top[x.URL.String()] = true
		}
	}
	// What follows the seed in every crawl, but not the seed itself, which no
	// strategy chose; and a page about bees.
	if !top["http://a.example/2"] || top["http://a.example/1"] {
		t.Errorf("the pages by rank are %v", top)
	}
	bee := false
	for _, n := range []string{"7", "14", "21", "28", "35", "42", "49", "56"} {
		bee = bee || top["http://a.example/"+n]
	}
	if !bee {
		t.Errorf("none of the pages by rank is about bees: %v", top)
	}
	again, err := DrawPool(t.Context(), []string{dir}, o)
	if err != nil || !reflect.DeepEqual(p, again) {
		t.Errorf("drawn again, it differs (%v)", err)
	}
	o.Judges = []string{"truth"}
	if _, err := DrawPool(t.Context(), []string{dir}, o); err == nil || !strings.Contains(err.Error(), `"truth" ranks no pages`) {
		t.Errorf("a pool of the truth: %v", err)
	}

	plain := read(t, "webs: [{path: "+small(t)+"}]\nscorers: [breadth-first]\nbudgets: [10]\n")
	dir = t.TempDir()
	if _, err := plain.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := DrawPool(t.Context(), []string{dir}, o); err == nil || !strings.Contains(err.Error(), "put keep-runs: true") {
		t.Errorf("a lab without runs: %v", err)
	}
}

// A web without a truth is drawn from by judges alone, and what was read of it is a
// truth that a lab can run on.
func TestDrawPoolByJudges(t *testing.T) {
	webDir := small(t)
	o := PoolOptions{Webs: []string{webDir}, Judges: []string{"keyword", "cosine-tf-max"}, DrawOptions: pool.DrawOptions{Pages: 30, Top: 10}}
	if _, err := DrawPool(t.Context(), nil, o); err == nil || !strings.Contains(err.Error(), "tree/untruthful: no judge can rank its pages") {
		t.Errorf("a topic of which no judge can be made: %v", err)
	}
	edit(t, filepath.Join(webDir, "web.yaml"), "keywords: [x]", "keywords: [wheels]")
	p, err := DrawPool(t.Context(), nil, PoolOptions{Webs: []string{webDir}, Judges: []string{"keyword", "cosine-tf-max"}, DrawOptions: pool.DrawOptions{Pages: 30, Top: 10}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Topics) != 3 || p.Topics[2].Name != "untruthful" || len(p.Topics[2].Pages) != 30 || p.Topics[2].Lists == 0 {
		t.Fatalf("%d topics, %d pages, %d lists", len(p.Topics), len(p.Topics[2].Pages), p.Topics[2].Lists)
	}
	dir := t.TempDir()
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	f, _, err := pool.OpenLabels(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	for n, x := range p.Topics[2].Pages {
		if err := f.Add(pool.Label{Key: p.Topics[2].Key(), URL: x.URL, Grade: pool.Grade(n % 3), Reader: "ada", Round: 1}); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	out := t.TempDir()
	if o, err := read(t, "webs: [{path: "+webDir+", topics: [untruthful], budgets: [20]}]\nscorers: [breadth-first]\njudges: [keyword]\ntruth: read\npool: "+dir+"\n").Run(t.Context(), out, Options{}); err != nil || o.Failed > 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	r, _ := reportOf(t, out)
	if len(r.Cells) != 1 || !(r.Cells[0].Value("hits", 20) > 0) {
		t.Errorf("%+v", r.Cells)
	}
	if _, err := DrawPool(t.Context(), nil, PoolOptions{Webs: []string{webDir}}); err == nil || !strings.Contains(err.Error(), "judges are needed") {
		t.Errorf("without judges: %v", err)
	}
}
