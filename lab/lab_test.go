package lab

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
)

// Errors name the line and what to do, before anything is run.
func TestFileErrors(t *testing.T) {
	const rest = "\nscorers: [breadth-first]\nwebs: [{path: w}]\n"
	for _, c := range []struct{ file, want string }{
		{"webz: []", `lab.yaml:1: unknown key "webz"`},
		{"title: x", "no webs"},
		{"webs: [{path: w}]", "no scorers"},
		{"scorers: [breadth-first, bestest]\nwebs: [{path: w}]", `lab.yaml:1: there is no scorer "bestest"; waggle lab list names them`},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  - {name: fish-search, set: {widht: 3}}", `lab.yaml:4: fish-search has no setting "widht"`},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  - {nam: x}", `lab.yaml:4: a scorer has no key "nam"`},
		{"webs: [{path: w}]\nscorers: [breadth-first, random, random]", `two scorers are called "random": tell them apart by as:`},
		{"webs: [{path: w}]\nscorers: [random]", `the baseline "breadth-first" is not among the scorers`},
		{"judges: [topic, astrologer]" + rest, `lab.yaml:1: there is no judge "astrologer"`},
		{"judges: [command]" + rest, `there is no judge "command" for a lab`},
		{"measures: [hits, luck]" + rest, `lab.yaml:1: there is no measure "luck"`},
		{"outside: maybe" + rest, `there is no mode "maybe"; the modes are drop and fail`},
		{"seeds: [near, far]" + rest, "a topic seen from both would count as two"},
		{"judges: [topic, topic]" + rest, "the judge topic is named twice"},
		{"network: {spread: .nan}" + rest, "lab.yaml:1: workers, delay"},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  - {name: fish-search, set: {width: .nan}}", "lab.yaml:4: fish-search: width = NaN is outside"},
		{"scorers: [breadth-first]\nwebs: [{path: w}, {path: w}]", "is named twice"},
		{"seeds: [middle]" + rest, `seeds "middle": near or far`},
		{"budgets: [300, 100]" + rest, "lab.yaml"},
		{"budgets: [0]" + rest, "lab.yaml"},
		{"budgets: many" + rest, "lab.yaml:1:"},
	} {
		_, err := decode("lab.yaml", []byte(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\n  want %s", c.file, err, c.want)
		}
	}
}

// small builds a recorded web of 60 pages in a binary tree: page n links to 2n
// and 2n+1; every seventh is about bees.
func small(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "exchange")
	if err := os.MkdirAll(filepath.Join(dir, "truth"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var pages, truth strings.Builder
	for n := 1; n <= 60; n++ {
		text := "cars have engines and wheels"
		if n%7 == 0 {
			text = "the waggle dance of the honey bee"
			fmt.Fprintf(&truth, "http://a.example/%d\n", n)
		}
		fmt.Fprintf(&pages, `{"url":"http://a.example/%d","status":200,"content_type":"text/html","body":"<title>%d</title><p>%s <a href=/%d>left %s</a> <a href=/%d>right</a>"}`+"\n", n, n, text, 2*n, text, 2*n+1)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	write("pages.jsonl.zst", z.EncodeAll([]byte(pages.String()), nil))
	write("truth/bees.txt", []byte(truth.String()))
	write("web.yaml", []byte(`name: tree
pages: 60
hosts: 1
topics:
  - {name: bees, description: Honey bees, keywords: [honey bee, waggle dance], seeds: ["http://a.example/1"], examples: ["http://a.example/7"], truth: truth/bees.txt, relevant: 8}
  - {name: untruthful, description: No truth, keywords: [x], seeds: ["http://a.example/1"]}
`))
	out := filepath.Join(t.TempDir(), "tree")
	if _, err := corpus.Build(t.Context(), out, corpus.Exchange{Dir: dir}, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, file string) *File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(name, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// results hashes all cells in a folder.
func results(t *testing.T, dir string) (names []string, hash string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, cellsDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(f))
		fmt.Fprintf(h, "%s %s", filepath.Base(f), b)
	}
	return names, fmt.Sprintf("%x", h.Sum(nil))
}

// A lab gives the same bytes again, on any number of cores; goes on where it
// was stopped; and its report tells what was possible.
func TestLab(t *testing.T) {
	f := read(t, `
title: Trees
webs: [{path: `+small(t)+`}]
scorers: [breadth-first, random, best-first-both, {name: fish-search, as: fish, set: {width: 2}}]
judges: [topic, truth]
budgets: [10, 30]
repeats: 2
`)
	one, two := t.TempDir(), t.TempDir()
	out, err := f.Run(t.Context(), one, Options{Workers: 1})
	if err != nil || out != (Outcome{Cells: 16, Made: 16}) {
		t.Fatalf("%+v, %v", out, err)
	}
	if out, err := f.Run(t.Context(), one, Options{}); err != nil || out != (Outcome{Cells: 16}) {
		t.Errorf("again: %+v, %v: no cell had to be made", out, err)
	}

	// Stopped after some cells, and taken up.
	ctx, stop := context.WithCancel(t.Context())
	_, err = f.Run(ctx, two, Options{Workers: 3, Progress: func(done, _ int, _ string) {
		if done == 5 {
			stop()
		}
	}})
	if err == nil {
		t.Error("a stopped lab tells of no end")
	}
	if out, err := f.Run(t.Context(), two, Options{Workers: 3}); err != nil || out.Cells != 16 || out.Made == 0 || out.Made > 11 {
		t.Errorf("taken up: %+v, %v", out, err)
	}
	namesOne, hashOne := results(t, one)
	namesTwo, hashTwo := results(t, two)
	if !slices.Equal(namesOne, namesTwo) || hashOne != hashTwo {
		t.Errorf("results differ:\n%v %s\n%v %s", namesOne, hashOne, namesTwo, hashTwo)
	}

	r, err := Report(one)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) != 16 || len(r.Topics) != 1 || len(r.Judges) == 0 {
		t.Errorf("%d cells, %d topics, %d judges", len(r.Cells), len(r.Topics), len(r.Judges))
	}
	hits := map[string]float64{}
	for i := range r.Cells {
		c := &r.Cells[i]
		hits[c.Scorer+" "+c.Judge] += c.Value("hits", 30) / 2
		if u := c.Value("of-bound", 30); !(u >= 0 && u <= 1) {
			t.Errorf("%s: H/U %v", c.Key, u)
		}
	}
	if hits["best-first-both truth"] < hits["random truth"] || hits["best-first-both topic"] <= 0 {
		t.Errorf("hits %v", hits)
	}
	b, err := os.ReadFile(filepath.Join(one, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Trees", "tree/bees", "fish", "| strategy | topics | hits | harvest |"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the report does not hold %q", want)
		}
	}
}

// A web that says it is synthetic is labelled so in every form of the report,
// and a recorded one beside it is not.
func TestLabLabelsSyntheticWebs(t *testing.T) {
	o, err := synthetic.Parse("pages=200,topics=1,targets=0.1,words=40,links=8")
	if err != nil {
		t.Fatal(err)
	}
	made, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	src, err := made.Source()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "made-up")
	if _, err := corpus.Build(t.Context(), dir, src, corpus.Options{Name: "hive"}); err != nil {
		t.Fatal(err)
	}
	f := read(t, "webs: [{path: "+dir+"}, {path: "+small(t)+"}]\nscorers: [breadth-first]\nbudgets: [50]\n")
	out := t.TempDir()
	if _, err := f.Run(t.Context(), out, Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := Report(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Webs) != 2 || !r.Webs[0].Synthetic || r.Webs[1].Synthetic {
		t.Errorf("webs %+v", r.Webs)
	}
	for _, name := range []string{"report.md", "report.html"} {
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if s := string(b); !strings.Contains(s, "hive (synthetic)") || strings.Contains(s, "tree (synthetic)") || !strings.Contains(s, "support no claim about the web") {
			t.Errorf("%s does not tell which web is synthetic", name)
		}
	}
	for _, name := range []string{"values.csv", "curves.csv"} {
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		made := 0
		for _, l := range lines[1:] {
			if strings.HasPrefix(l, "hive,true,") {
				made++
			} else if !strings.HasPrefix(l, "tree,false,") {
				t.Errorf("%s: %s", name, l)
			}
		}
		if made == 0 {
			t.Errorf("%s holds nothing of the synthetic web", name)
		}
	}
}

// What cannot be measured is said before anything is run.
func TestLabRefuses(t *testing.T) {
	tree := small(t)
	for _, c := range []struct{ web, want string }{
		{"{path: " + tree + "}", "a budget of 100 pages on a web of 60"},
		{"{path: " + tree + ", budgets: [10], topics: [untruthful]}", "topic untruthful has no truth"},
		{"{path: " + tree + ", budgets: [10], topics: [wasps]}", `no topic "wasps"`},
		{"{path: nowhere}", "is not a recorded web"},
	} {
		f := read(t, "webs: ["+c.web+"]\nscorers: [breadth-first]\nbudgets: [100]\n")
		if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "lab.yaml:1") {
			t.Errorf("%s: %v, want %s and the line", c.web, err, c.want)
		}
	}
	f := read(t, "webs: [{path: "+tree+", budgets: [10]}]\nscorers: [breadth-first, semantic-synonym]\n")
	if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "needs a thesaurus") {
		t.Errorf("without a thesaurus: %v", err)
	}
}

// The area under the curve and the calibration error of hand-made judgements.
func TestJudgeMeasures(t *testing.T) {
	perfect := []scored{{.9, true}, {.8, true}, {.2, false}, {.1, false}}
	if a := auroc(perfect); a != 1 {
		t.Errorf("AUROC of a perfect ranking: %v", a)
	}
	// Pairs: (.5,.5) ties for ½, (.5,.1) right: (½ + 1)/2.
	if a := auroc([]scored{{.5, true}, {.5, false}, {.1, false}}); a != .75 {
		t.Errorf("AUROC with a tie: %v", a)
	}
	if e := ece([]scored{{.75, true}, {.75, true}, {.75, true}, {.75, false}}); e != 0 {
		t.Errorf("ECE of a calibrated judge: %v", e)
	}
	if e := ece([]scored{{.95, false}, {.95, false}}); e != .95 {
		t.Errorf("ECE of one that is sure and wrong: %v", e)
	}
}
