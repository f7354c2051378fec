package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/learn/metric"
	"github.com/waggle-crawler/waggle/web"
)

// The figures of a judge on hand-made pages. A page that stands for three is as good as
// three pages.
func TestJudgeFigures(t *testing.T) {
	page := func(relevance float64, relevant bool, weight float64) observation {
		return observation{Prediction: metric.Prediction{Score: relevance, Positive: relevant, Weight: weight}}
	}
	once := factOf([]observation{page(.9, true, 2), page(.6, false, 3), page(.55, true, 1), page(.2, false, 4)}, .5)
	thrice := factOf([]observation{page(.9, true, 1), page(.9, true, 1), page(.6, false, 1), page(.6, false, 1), page(.6, false, 1), page(.55, true, 1),
		page(.2, false, 1), page(.2, false, 1), page(.2, false, 1), page(.2, false, 1)}, .5)
	for _, x := range []struct {
		name      string
		got, want eval.Number
	}{{"precision", once.Precision, thrice.Precision}, {"recall", once.Recall, thrice.Recall}, {"AUROC", once.AUROC, thrice.AUROC}, {"ECE", once.ECE, thrice.ECE}} {
		if math.Abs(float64(x.got-x.want)) > 1e-12 {
			t.Errorf("weighted %s %v, of copies %v", x.name, x.got, x.want)
		}
	}
	if once.Pages != 4 || once.Correct != 2 || once.Precision != .5 {
		t.Errorf("%+v", once)
	}
}

// group of a topic of the small web, its pages read.
func groupOf(t *testing.T, file, name string, repeat int) *group {
	t.Helper()
	f := read(t, file)
	w, err := f.open(&f.Webs[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	r := &runner{File: f, opt: Options{Workers: 1}}
	if err := w.folds[0].load(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(w.topics, func(t corpus.Topic) bool { return t.Name == name })
	return r.group(w, w.folds[0], w.topics[i], false, repeat)
}

// wholeJudge has a name that is none of its methods, so that it can be a part of a struct.
type wholeJudge = judge.Judge

// oddJudge is a judge but for what it says of pages.
type oddJudge struct {
	wholeJudge
	say func() (float64, error)
}

func (j oddJudge) Judge(context.Context, *web.Page) (web.Verdict, error) {
	r, err := j.say()
	return web.Verdict{Relevance: r, Similarity: r}, err
}

// odd describes a judge of a program that says that of each page.
func odd(say func() (float64, error)) []judge.Description {
	return []judge.Description{{Name: "odd", Make: func(o judge.Options) (judge.Judge, error) {
		j, err := judge.New("keyword", o.Topic, judge.Options{Analyzer: o.Analyzer})
		return oddJudge{j, say}, err
	}}}
}

// A judge that fails at a page, or says what is no relevance, is told of, and the others are
// measured.
func TestJudgesThatFail(t *testing.T) {
	g := groupOf(t, "webs: [{path: "+small(t)+", topics: [bees], budgets: [5]}]\nscorers: [breadth-first]\n", "bees", 0)
	others, failed, err := g.judges(t.Context())
	if err != nil || len(failed) > 0 || len(others) == 0 {
		t.Fatal(others, failed, err)
	}
	for _, c := range []struct {
		say  func() (float64, error)
		want string
	}{
		{func() (float64, error) { return .5, errors.New("no honey") }, "no honey."},
		{func() (float64, error) { return math.NaN(), nil }, "relevance NaN is outside [0,1]."},
		{func() (float64, error) { return -.1, nil }, "relevance -0.1 is outside [0,1]."},
		{func() (float64, error) { return 1.1, nil }, "relevance 1.1 is outside [0,1]."},
		{func() (float64, error) { panic("a sting") }, "panic: a sting."},
	} {
		g.own.Judges = odd(c.say)
		facts, failed, err := g.judges(t.Context())
		if want := []string{"tree/bees: the judge odd was not measured: " + c.want}; err != nil || len(facts) != len(others) || !slices.Equal(failed, want) {
			t.Errorf("%d judges of %d, %q, %v; want %q", len(facts), len(others), failed, err, want)
		}
	}
	g.own.Judges = []judge.Description{{Name: "odd", Make: func(judge.Options) (judge.Judge, error) { panic("a sting") }}}
	if facts, failed, err := g.judges(t.Context()); err != nil || len(facts) != len(others) || len(failed) > 0 {
		t.Errorf("with a judge that cannot be made: %d judges of %d, %q, %v", len(facts), len(others), failed, err)
	}
}

// A judge that fails ends its cells and not the lab, and is measured by the next run.
func TestLabWithAJudgeThatFails(t *testing.T) {
	works := false
	own := job.Strategies{Judges: odd(func() (float64, error) {
		if !works {
			return 0, errors.New("no honey")
		}
		return .5, nil
	})}
	f, err := Parse("lab.yaml", []byte("webs: [{path: "+small(t)+", topics: [bees], budgets: [5]}]\nscorers: [breadth-first]\njudges: [keyword, odd]\n"), own)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, want := range []Outcome{{Cells: 2, Made: 2, Failed: 1}, {Cells: 2, Made: 1}} {
		if out, err := f.Run(t.Context(), dir, Options{}); err != nil || out != want {
			t.Fatalf("%+v, %v, want %+v", out, err, want)
		}
		known, err := readJSON[facts](filepath.Join(dir, factsFile))
		if err != nil {
			t.Fatal(err)
		}
		noted := slices.ContainsFunc(known.Notes, func(n string) bool { return strings.Contains(n, "the judge odd was not measured: no honey") })
		measured := slices.ContainsFunc(known.Judges, func(j judgeFact) bool { return j.Judge == "odd" })
		if noted == works || measured != works {
			t.Errorf("it works: %v, and it is noted: %v, measured: %v", works, noted, measured)
		}
		works = true
	}
}

// With a queue of three links a strategy forgets what it would have come to
// later.
func TestQueueLimit(t *testing.T) {
	fetched := func(queue int) int {
		g := groupOf(t, "webs: [{path: "+small(t)+", budgets: [50]}]\nscorers: [breadth-first]\n", "cars", 0)
		m := g.simulate(t.Context(), g.key("topic", "breadth-first"), Scorer{Name: "breadth-first", Queue: queue})
		if m.err != nil {
			t.Fatal(m.err)
		}
		return len(m.run.Pages)
	}
	if all, few := fetched(0), fetched(3); !(few < all) {
		t.Errorf("%d pages with a queue of three, %d without a limit", few, all)
	}
}

// host-pages keeps a strategy to so many pages of a host, and costs it those beyond.
func TestHostPages(t *testing.T) {
	most := func(s Scorer) (host, all int) {
		g := groupOf(t, "webs: [{path: "+small(t)+", budgets: [50]}]\nscorers: [breadth-first]\n", "cars", 0)
		m := g.simulate(t.Context(), g.key("topic", "breadth-first"), s)
		if m.err != nil {
			t.Fatal(m.err)
		}
		of := make([]int, len(m.run.Hosts))
		for _, p := range m.run.Pages {
			of[p.Host]++
		}
		return slices.Max(of), len(m.run.Pages)
	}
	host, all := most(Scorer{Name: "breadth-first"})
	if kept, fewer := most(Scorer{Name: "breadth-first", HostPages: 2}); kept != 2 || host <= 2 || fewer >= all {
		t.Errorf("%d pages of a host and %d in all with two of each host, %d and %d without a limit", kept, fewer, host, all)
	}
	f := read(t, "webs: [{path: "+small(t)+"}]\nscorers:\n  - breadth-first\n  - {name: ache-like-levels, host-pages: 100}\n")
	if f.Scorers[1].HostPages != 100 {
		t.Errorf("the file says host-pages: 100, and the scorer has %d", f.Scorers[1].HostPages)
	}
	// A limit of breadth-first itself is kept, though most measures compare with a crawl without one.
	f = read(t, "webs: [{path: "+small(t)+", topics: [cars], budgets: [50]}]\nscorers: [{name: breadth-first, host-pages: 2}]\nkeep-runs: true\n")
	dir := t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	runs, err := filepath.Glob(filepath.Join(dir, runsDir, "*.json"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	if run, err := readJSON[eval.Run](runs[0]); err != nil || len(run.Pages) != 2 {
		t.Errorf("%d pages of the one host in a lab with two of each host, %v", len(run.Pages), err)
	}
}

// Each repeat but the first leaves out a third of seeds and of examples, another
// third each time; what one repeat is not shown is no hit there either.
func TestRepeatsDraw(t *testing.T) {
	file := "webs: [{path: " + small(t) + ", budgets: [50]}]\nscorers: [breadth-first]\nrepeats: 4\n"
	all := groupOf(t, file, "cars", 0)
	if len(all.seeds()) != 4 || len(all.examples()) != 3 {
		t.Fatalf("repeat 0: %v, %v", all.seeds(), all.examples())
	}
	left := map[string]int{}
	for repeat := 1; repeat <= 4; repeat++ {
		g := groupOf(t, file, "cars", repeat)
		if len(g.seeds()) != 3 || len(g.examples()) != 2 {
			t.Errorf("repeat %d: %v, %v", repeat, g.seeds(), g.examples())
		}
		for _, u := range all.seeds() {
			if !slices.Contains(g.seeds(), u) {
				left[u.String()]++
			}
		}
		if again := groupOf(t, file, "cars", repeat); !slices.Equal(again.seeds(), g.seeds()) || !slices.Equal(again.examples(), g.examples()) {
			t.Errorf("repeat %d is drawn otherwise when drawn again", repeat)
		}
		shown := g.truth().Shown
		for _, u := range slices.Concat(all.seeds(), all.examples()) {
			if !shown.Has(u, "") {
				t.Errorf("repeat %d: %s counts as a hit", repeat, u)
			}
		}
		if g.chance() == all.chance() {
			t.Errorf("repeat %d has the chance of the first", repeat)
		}
	}
	if len(left) != 4 { // four repeats, four seeds: each is left out once
		t.Errorf("left out: %v", left)
	}
	// A topic with one seed and one example keeps them.
	if g := groupOf(t, file, "bees", 3); len(g.seeds()) != 1 || len(g.examples()) != 1 {
		t.Errorf("one seed and one example: %v, %v", g.seeds(), g.examples())
	}
}

// The judge that knows the truth knows it of copies of a page too, and a
// judge's table counts pages of one body once.
func TestJudgesCountBodies(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "truth"), 0o755); err != nil {
		t.Fatal(err)
	}
	var pages strings.Builder
	for path, body := range map[string]string{
		"1": "<p>the waggle dance <a href=/2>x</a>", "2": "<p>dances of the honey bee", "copy": "<p>dances of the honey bee",
		"3": "<p>cars have wheels", "4": "<p>cars have wheels", "copy-of-1": "<p>the waggle dance <a href=/2>x</a>",
	} {
		fmt.Fprintf(&pages, `{"url":"http://a.example/%s","status":200,"content_type":"text/html","body":%q}`+"\n", path, body)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"pages.jsonl.zst": z.EncodeAll([]byte(pages.String()), nil),
		"truth/bees.txt":  []byte("http://a.example/2\n"),
		"web.yaml":        []byte("name: copies\npages: 6\nhosts: 1\ntopics:\n  - {name: bees, description: Honey bees, keywords: [honey bee], seeds: ['http://a.example/1'], truth: truth/bees.txt, relevant: 1}\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "copies")
	if _, err := corpus.Build(t.Context(), out, corpus.Exchange{Dir: dir}, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	g := groupOf(t, "webs: [{path: "+out+", budgets: [5]}]\nscorers: [breadth-first]\n", "bees", 0)
	facts, failed, err := g.judges(t.Context())
	if err != nil || len(failed) > 0 || len(facts) == 0 {
		t.Fatal(facts, failed, err)
	}
	for _, f := range facts { // of the bodies of 1 (shown), 2 and 3
		n := 0
		for _, b := range f.Bins {
			n += b.Count
		}
		if f.Pages != 2 || f.Relevant != 1 || n != 2 {
			t.Errorf("%s: %d pages, %d relevant, %d in bins; want 2, 1, 2", f.Judge, f.Pages, f.Relevant, n)
		}
	}
	j, _, err := g.judge(g.topic(), "truth")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for u := range g.w.URLs() {
		p, ok := g.w.pages.Page(u)
		if !ok {
			t.Fatal(u)
		}
		v, err := j.Judge(t.Context(), p)
		if want := strings.HasSuffix(u.String(), "/2") || strings.HasSuffix(u.String(), "/copy"); err != nil || v.Relevant != want {
			t.Errorf("%s: %+v, %v, want relevant %v", u, v, err, want)
		}
	}
}

// Costs are told of the cells that are there, by stage; learning is no part of
// visiting, and parsing is apart.
func TestCosts(t *testing.T) {
	web := small(t)
	f := read(t, "webs: [{path: "+web+", topics: [bees], budgets: [50]}]\nscorers: [breadth-first, {name: pagerank, set: {every: 1, iterations: 1000}}]\n")
	dir := t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	// A cell of another program, and a line that a crash has torn.
	log, err := os.OpenFile(filepath.Join(dir, costsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(log, "other.json\tbreadth-first\ttopic\t50\t9e9%s\nsome.json\tbread", strings.Repeat("\t9e9", stages))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := f.results(dir)
	if err != nil || len(r.Costs) != 2 || r.Clock == "" {
		t.Fatalf("%+v, %v", r.Costs, err)
	}
	for _, c := range r.Costs {
		millis := map[string]float64{}
		for _, s := range c.Stages {
			if !(s.Millis >= 0 && s.Millis < 1e6) || s.Apart != (s.Name == "parse") {
				t.Errorf("%s: %+v", c.Scorer, s)
			}
			millis[s.Name] = s.Millis
		}
		if learns := c.Scorer == "pagerank"; (millis["learn"] > millis["visit"]) != learns || !learns && millis["learn"] != 0 {
			t.Errorf("%s: %v", c.Scorer, millis)
		}
		if millis["parse"] <= 0 || !(c.Training >= 0 && c.Training < 60) {
			t.Errorf("%s: %v, training %v", c.Scorer, millis, c.Training)
		}
	}
}

// Damage in the record of the last web is found before a cell of the first is
// made, and told with file and place.
func TestDamagedRecord(t *testing.T) {
	sound, hurt := small(t), small(t)
	files, err := filepath.Glob(filepath.Join(hurt, "*.warc.gz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 { // within a record, and the index still fits by size and time
		b[len(b)/2+i] ^= 0x55
	}
	if err := os.WriteFile(files[0], b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(files[0], info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(hurt, "web.yaml")
	if b, err = os.ReadFile(manifest); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, bytes.Replace(b, []byte("name: tree"), []byte("name: wood"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	f := read(t, "webs:\n  - {path: "+sound+", budgets: [10]}\n  - {path: "+hurt+", budgets: [10]}\nscorers: [breadth-first]\n")
	dir := t.TempDir()
	var wrong job.Mistake
	if out, err := f.Run(t.Context(), dir, Options{}); !errors.As(err, &wrong) || out.Made != 0 ||
		!strings.Contains(err.Error(), "lab.yaml:3") || !strings.Contains(err.Error(), files[0]) {
		t.Errorf("%+v, %v", out, err)
	}
}
