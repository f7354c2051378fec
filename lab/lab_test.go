package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/score"
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
		{"outside: maybe" + rest, `there is no mode "maybe"; the modes are drop, fail, bounds`},
		{"seeds: [near, far]" + rest, "a topic seen from both would count as two"},
		{"judges: [topic, topic]" + rest, "the judge topic is named twice"},
		{"network: {spread: .nan}" + rest, "lab.yaml:1: workers, delay"},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  - {name: fish-search, set: {width: .nan}}", "lab.yaml:4: fish-search: width = NaN is outside"},
		{"scorers: [breadth-first]\nwebs: [{path: w}, {path: w}]", "is named twice"},
		{"repeats: -4" + rest, "lab.yaml:1: repeats: -4 is outside 1…1000"},
		{"network: {delay: 5}" + rest, `lab.yaml:1: the time "5" is not understood; it has no unit: for seconds write 5s`},
		{"network:\n  latency: soon" + rest, `lab.yaml:2: the time "soon" is not understood; write it as 500ms or 5s`},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  - {name: best-n-first, set: {batch: 0}}", "lab.yaml:4: best-n-first: batch = 0 is outside 1…256"},
		{"scorers: [breadth-first]\nwebs:\n  - path: w\n    topics: [a]\n    dev: [b]", `lab.yaml:5: the topic "b" is not among the topics of this web`},
		{"seeds: [middle]" + rest, `seeds "middle": near or far`},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  - {name: random, queue: -1}", "lab.yaml:4: a queue of -1: give 1…100,000"},
		{"hops: 5" + rest, "lab.yaml:1: hops: 5 is outside 1…4"},
		{"seeds: [far]\nhops: 2" + rest, "lab.yaml:2: hops: 2 takes seeds of its own"},
		{"budgets: [300, 100]" + rest, "lab.yaml"},
		{"budgets: [0]" + rest, "lab.yaml"},
		{"budgets: many" + rest, "lab.yaml:1: budgets: a list is wanted: write budgets: [many]"},
		{"title: x\nseeds: far" + rest, "lab.yaml:2: seeds: a list is wanted: write seeds: [far]"},
		{"repeats: many" + rest, `lab.yaml:1: repeats: a whole number is wanted, and not "many"`},
		{"hide-half: perhaps" + rest, `lab.yaml:1: hide-half: true or false is wanted, and not "perhaps"`},
		{"network: 5" + rest, `lab.yaml:1: network: keys with values are wanted, and not "5": write network: {key: value}`},
		{"title: [x]" + rest, "lab.yaml:1: title: text is wanted, and not a list"},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  -\n", "lab.yaml:4: an entry of the list is empty"},
		{"title: x\n\x00\x1f\x8b", `lab.yaml:2: it holds "\x00", which no text has`},
		{"measures: [hits, auc, hits]" + rest, "the measure hits is named twice"},
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
	return tree(t, "cars have engines and wheels")
}

// tree is the small web with other words on the pages that are not about bees.
func tree(t *testing.T, cars string) string {
	t.Helper()
	return buildTree(t, cars, treeFile)
}

// treeFile is what the small web says of itself.
const treeFile = `name: tree
pages: 60
hosts: 1
topics:
  - {name: bees, description: Honey bees, keywords: [honey bee, waggle dance], seeds: ["http://a.example/1"], examples: ["http://a.example/7"], truth: truth/bees.txt, relevant: 8}
  - {name: cars, description: Cars, keywords: [engine], seeds: ["http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/5"], examples: ["http://a.example/8", "http://a.example/9", "http://a.example/10"], truth: truth/cars.txt, relevant: 9}
  - {name: untruthful, description: No truth, keywords: [x], seeds: ["http://a.example/1"]}
`

// buildTree is tree with another file.
func buildTree(t *testing.T, cars, file string) string {
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
		text := cars
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
	write("truth/cars.txt", []byte("http://a.example/50\nhttp://a.example/51\nhttp://a.example/52\nhttp://a.example/8\nhttp://a.example/9\nhttp://a.example/10\nhttp://a.example/3\nhttp://a.example/22\nhttp://a.example/nowhere\n"))
	write("web.yaml", []byte(file))
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
webs: [{path: `+small(t)+`, topics: [bees]}]
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
	for _, want := range []string{"# Trees", "tree", "bees", "fish", "| strategy | topics | hits | harvest |"} {
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
		{"{path: " + tree + ", budgets: [10], dev: [wasps]}", `no topic "wasps"`},
		{"{path: nowhere}", "is not a recorded web"},
	} {
		f := read(t, "webs: ["+c.web+"]\nscorers: [breadth-first]\nbudgets: [100]\n")
		var wrong job.Mistake
		if _, err := f.Run(t.Context(), t.TempDir(), Options{}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "lab.yaml:1") {
			t.Errorf("%s: %v, want a mistake with %s and the line", c.web, err, c.want)
		}
	}
	unseeded := small(t)
	edit(t, filepath.Join(unseeded, "web.yaml"), "http://a.example/1\n", "http://a.example/100\n")
	f := read(t, "webs:\n  - {path: "+unseeded+", topics: [bees], budgets: [10]}\nscorers: [breadth-first]\n")
	if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "lab.yaml:2: topic bees: none of its 1 seeds is in the record") {
		t.Errorf("seeds that are not recorded: %v", err)
	}
	f = read(t, "webs: [{path: "+tree+", budgets: [10]}]\nscorers: [breadth-first, semantic-synonym]\n")
	if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "needs a thesaurus") {
		t.Errorf("without a thesaurus: %v", err)
	}
	table := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(table, []byte("bee, honeybee\n\x00\x01"), 0o644); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"{table: " + table + "}":     table + ":2: this is no text",
		"{table: " + table + "-not}": "no such file",
		"{wordnet: " + table + "}":   "WordNet",
	} {
		f := read(t, "webs: [{path: "+tree+", budgets: [10]}]\nscorers: [breadth-first, semantic-synonym]\nthesaurus: "+words+"\n")
		if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "lab.yaml:3: thesaurus: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("thesaurus %s: %v, want the line and %s", words, err, want)
		}
	}
}

// edit replaces text in a file, which has to be there.
func edit(t *testing.T, name, old, by string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s does not hold %q:\n%s", name, old, b)
	}
	if err := os.WriteFile(name, bytes.ReplaceAll(b, []byte(old), []byte(by)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Seeds and examples that the record does not have are told before the first
// cell, and in the report.
func TestNotesOnWhatIsNotRecorded(t *testing.T) {
	web := small(t)
	edit(t, filepath.Join(web, "web.yaml"), "http://a.example/5\n", "http://a.example/500\n") // a seed of cars
	edit(t, filepath.Join(web, "web.yaml"), "http://a.example/9\n", "http://a.example/900\n") // an example
	f := read(t, "webs: [{path: "+web+", topics: [cars], budgets: [10]}]\nscorers: [breadth-first]\n")
	dir := t.TempDir()
	var told []string
	if _, err := f.Run(t.Context(), dir, Options{Note: func(n string) { told = append(told, n) }}); err != nil {
		t.Fatal(err)
	}
	r, err := f.results(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"tree/cars: 1 of 4 seeds are not in the record, such as http://a.example/500.",
		"tree/cars: 1 of 3 examples have no page in the record, such as http://a.example/900, and are shown to no strategy.",
	} {
		if !slices.Contains(told, want) || !slices.Contains(r.Rules, want) {
			t.Errorf("not told: %s\nbut %q", want, told)
		}
	}
}

// The rules of one lab are not told over the cells of another: a run that ends
// before its first cell leaves both as they were, and a lab file that is not
// that of the cells is refused.
func TestReportIsOfOneLab(t *testing.T) {
	web, dir := small(t), t.TempDir()
	lab := "webs: [{path: " + web + ", topics: [bees], budgets: [10]}]\nscorers: [breadth-first]\n"
	if _, err := read(t, lab).Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := read(t, "outside: fail\n"+lab).Run(ctx, dir, Options{}); err == nil {
		t.Fatal("a run that was stopped before it began says nothing")
	}
	if r, err := Report(dir); err != nil || r.Missing != 0 || !strings.Contains(strings.Join(r.Rules, " "), "left out of the frontier") {
		t.Errorf("%d missing, %v, %q", r.Missing, err, r.Rules)
	}
	edit(t, filepath.Join(dir, labFile), "outside: drop", "outside: fail")
	if _, err := Report(dir); err == nil || !strings.Contains(err.Error(), "is not the lab file that the cells") || !strings.Contains(err.Error(), "run the lab again") {
		t.Errorf("with the rules of another lab: %v", err)
	}
}

// The report names the command that makes it, as it was given, for a shell.
func TestReportNamesItsCommand(t *testing.T) {
	f := read(t, "webs: [{path: "+small(t)+", topics: [bees], budgets: [10]}]\nscorers: [breadth-first]\n")
	dir := filepath.Join(t.TempDir(), "bees' results")
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := f.results(dir)
	quotedDir := "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	if want := "waggle lab run -f " + f.name + " -o " + quotedDir + " && waggle lab report " + quotedDir; err != nil || r.Command != want {
		t.Errorf("%s, %v; want %s", r.Command, err, want)
	}
	// Facts of an older waggle name no file; the kept one does.
	path := filepath.Join(dir, factsFile)
	known, err := readJSON[facts](path)
	if err != nil {
		t.Fatal(err)
	}
	known.File, known.Lab = "", ""
	if err := writeJSON(path, known); err != nil {
		t.Fatal(err)
	}
	if r, err := f.results(dir); err != nil || !strings.Contains(r.Command, "-f '"+strings.ReplaceAll(dir, "'", `'\''`)+"/lab.yaml' -o") {
		t.Errorf("%s, %v", r.Command, err)
	}
}

// Seeds at a distance are drawn from the pages exactly so many links from the
// nearest relevant one, as many as the topic has, and are no hits.
func TestHops(t *testing.T) {
	web := small(t)
	// Of the tree where page n links to 2n and 2n+1: cars are 3, 8, 9, 10, 22,
	// 50, 51, 52. So one link away are 1 (of 3), 4, 5, 11, 25, 26; two away 2 (by
	// 4 or 5), 12 (by 25), 13 (by 26); three away 6, of 12; four away none.
	away := map[int][]string{1: {"1", "11", "25", "26", "4", "5"}, 2: {"12", "13", "2"}, 3: {"6"}, 4: nil}
	for hops, pages := range away {
		file := fmt.Sprintf("webs: [{path: %s, topics: [cars], budgets: [50]}]\nscorers: [breadth-first]\nhops: %d\n", web, hops)
		g := groupOf(t, file, "cars", 0)
		var got []string
		for _, u := range g.seeds() {
			name := strings.TrimPrefix(u.String(), "http://a.example/")
			if !slices.Contains(pages, name) {
				t.Errorf("page %s is not %d links away", name, hops)
			}
			if !g.truth().Shown.Has(u, "") {
				t.Errorf("the seed %s counts as a hit", u)
			}
			got = append(got, name)
		}
		if want := min(4, len(pages)); len(slices.Compact(slices.Sorted(slices.Values(got)))) != want { // the topic has 4
			t.Errorf("%d hops: seeds %v, want %d", hops, got, want)
		}
		if again := groupOf(t, file, "cars", 0); !slices.Equal(again.seeds(), g.seeds()) {
			t.Errorf("%d hops: other seeds when drawn again", hops)
		}
	}
	seeds := map[string]bool{}
	for chance := range 8 {
		g := groupOf(t, fmt.Sprintf("webs: [{path: %s, topics: [cars], budgets: [50]}]\nscorers: [breadth-first]\nhops: 1\nseed: %d\n", web, chance), "cars", 0)
		seeds[fmt.Sprint(g.seeds())] = true
	}
	if len(seeds) < 2 {
		t.Error("another seed of chance draws the same pages")
	}

	// Where no page is so far away, that is said before the first cell.
	f := read(t, "webs: [{path: "+web+", topics: [cars], budgets: [50]}]\nscorers: [breadth-first]\nhops: 4\n")
	dir := t.TempDir()
	out, err := f.Run(t.Context(), dir, Options{})
	if mistake := (job.Mistake{}); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "lab.yaml:3: no page of") || !strings.Contains(err.Error(), "exactly 4 links from the nearest relevant page of cars") {
		t.Errorf("%+v, %v", out, err)
	}
}

// Cells are those of what a lab is made of: a page with another text, and a
// thesaurus with other words in the same place, make others; a copy does not.
func TestCellsKnowTheirInputs(t *testing.T) {
	names := func(web, table string) (out []string) {
		t.Helper()
		f := read(t, "webs: [{path: "+web+", topics: [bees]}]\nbudgets: [5]\nscorers: [breadth-first, semantic-synonym]\nthesaurus: {table: "+table+"}\n")
		dir := t.TempDir()
		if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
			t.Fatal(err)
		}
		out, _ = results(t, dir)
		return out
	}
	table := filepath.Join(t.TempDir(), "words.txt")
	write := func(name, words string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(words), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(table, "bee, honeybee\n")
	web, other, moved := small(t), tree(t, "vans have engines and wheels"), filepath.Join(t.TempDir(), "moved")
	if err := os.CopyFS(moved, os.DirFS(web)); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.txt")
	write(copied, "bee, honeybee\n")
	first := names(web, table)
	if again := names(moved, copied); !slices.Equal(again, first) {
		t.Errorf("a copy of the web gives %v, not %v", again, first)
	}
	if pages := names(other, table); slices.Equal(pages, first) {
		t.Errorf("pages of another text give the same cells: %v", pages)
	}
	write(table, "bee, bumblebee\n")
	if words := names(web, table); slices.Equal(words, first) {
		t.Errorf("other words give the same cells: %v", words)
	}
}

// The area under the curve and the calibration error of hand-made judgements.
func TestJudgeMeasures(t *testing.T) {
	page := func(relevance float64, relevant bool, weight float64) scored {
		return scored{relevance: relevance, relevant: relevant, weight: weight}
	}
	perfect := []scored{page(.9, true, 1), page(.8, true, 1), page(.2, false, 1), page(.1, false, 1)}
	if a := auroc(perfect); a != 1 {
		t.Errorf("AUROC of a perfect ranking: %v", a)
	}
	// Pairs: (.5,.5) ties for ½, (.5,.1) right: (½ + 1)/2.
	if a := auroc([]scored{page(.5, true, 1), page(.5, false, 1), page(.1, false, 1)}); a != .75 {
		t.Errorf("AUROC with a tie: %v", a)
	}
	if e := ece([]scored{page(.75, true, 1), page(.75, true, 1), page(.75, true, 1), page(.75, false, 1)}); e != 0 {
		t.Errorf("ECE of a calibrated judge: %v", e)
	}
	if e := ece([]scored{page(.95, false, 1), page(.95, false, 1)}); e != .95 {
		t.Errorf("ECE of one that is sure and wrong: %v", e)
	}
	// A page that stands for three is as good as three pages.
	once := measured([]scored{page(.9, true, 2), page(.6, false, 3), page(.55, true, 1), page(.2, false, 4)}, .5)
	thrice := measured([]scored{page(.9, true, 1), page(.9, true, 1), page(.6, false, 1), page(.6, false, 1), page(.6, false, 1), page(.55, true, 1),
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

// Q3: with a queue of three links a strategy forgets what it would have come to
// later.
func TestQueueQ3(t *testing.T) {
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
	facts, err := g.judges(t.Context())
	if err != nil || len(facts) == 0 {
		t.Fatal(facts, err)
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

// headlines are the rows of the tables that stand under "At N pages".
func headlines(t *testing.T, dir string) (rows []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	within := false
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			within = strings.HasPrefix(line, "### At ")
		}
		if within && strings.HasPrefix(line, "|") {
			rows = append(rows, line)
		}
	}
	return rows
}

// The judge that knows the truth changes no row of a headline table, and adds
// none.
func TestTruthInNoHeadline(t *testing.T) {
	web := small(t)
	var rows [2][]string
	var judged [2]int
	for i, judges := range []string{"topic", "topic, truth"} {
		f := read(t, "webs: [{path: "+web+", budgets: [10, 30]}]\nscorers: [breadth-first, best-first-both, best-first-page]\njudges: ["+judges+"]\n")
		dir := t.TempDir()
		if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
			t.Fatal(err)
		}
		r, err := Report(dir)
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = headlines(t, dir)
		for _, c := range r.Cells {
			if c.Judge == "truth" {
				judged[i]++
			}
		}
	}
	if judged != [2]int{0, 6} {
		t.Fatalf("cells with the truth as judge: %v", judged)
	}
	if len(rows[0]) < 6 || !slices.Equal(rows[0], rows[1]) {
		t.Errorf("headlines without:\n%s\nand with the truth:\n%s", strings.Join(rows[0], ""), strings.Join(rows[1], ""))
	}
}

// A lab that was stopped has a report, which says how much is missing; and a
// lab that is run on finished results reads no page.
func TestStoppedLabHasReport(t *testing.T) {
	web := small(t)
	f := read(t, "webs: [{path: "+web+", budgets: [10], dev: [cars]}]\nscorers: [breadth-first, random, best-first-both]\n")
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, err := f.Run(ctx, dir, Options{Workers: 1, Progress: func(done, _ int, _ string) {
		if done == 2 {
			stop()
		}
	}})
	if err == nil || out.Made != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	r, err := Report(dir)
	if err != nil || len(r.Cells) != 2 || r.Missing != 4 {
		t.Fatalf("%d cells, %d missing, %v; want 2 and 4", len(r.Cells), r.Missing, err)
	}
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if r, err = Report(dir); err != nil || len(r.Cells) != 6 || r.Missing != 0 || len(r.Topics) != 2 {
		t.Fatalf("%d cells, %d missing, %d topics, %v", len(r.Cells), r.Missing, len(r.Topics), err)
	}
	for _, topic := range r.Topics {
		if topic.Dev != (topic.Topic == "cars") {
			t.Errorf("%s: dev %v", topic.Topic, topic.Dev)
		}
	}
	before, err := os.ReadFile(filepath.Join(dir, factsFile))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Run(t.Context(), dir, Options{Progress: func(_, _ int, note string) {
		if strings.Contains(note, "reading") {
			t.Errorf("with all cells there: %s", note)
		}
	}})
	if after, _ := os.ReadFile(filepath.Join(dir, factsFile)); err != nil || string(after) != string(before) {
		t.Errorf("%v; facts\n%s\nwere\n%s", err, after, before)
	}
}

// Webs, topics, judges and repeats are one pool: the bytes of cells, topics and
// facts are the same for any number of workers.
func TestPoolKeepsBytes(t *testing.T) {
	one, two := small(t), small(t)
	b, err := os.ReadFile(filepath.Join(two, "web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(two, "web.yaml"), []byte(strings.Replace(string(b), "name: tree", "name: wood", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	f := read(t, "webs: [{path: "+one+"}, {path: "+two+"}]\nbudgets: [10, 40]\nscorers: [breadth-first, random, ache-like-soft]\njudges: [topic, keyword]\nrepeats: 2\nnetwork: {workers: 3, delay: 1s, latency: 100ms, spread: 1}\n")
	var want string
	for _, workers := range []int{1, 8} {
		dir := t.TempDir()
		last := 0
		out, err := f.Run(t.Context(), dir, Options{Workers: workers, Progress: func(done, total int, _ string) {
			if total != 48 || done < last || done > total {
				t.Errorf("progress went from %d to %d of %d", last, done, total)
			}
			last = done
		}})
		if err != nil || out != (Outcome{Cells: 48, Made: 48}) || last != 48 {
			t.Fatalf("%+v, %v, progress %d", out, err, last)
		}
		got := hashFolder(t, dir)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d workers give other bytes", workers)
		}
	}
}

// hashFolder hashes what a lab left but its costs.
func hashFolder(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == costsFile {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d %s", path[len(dir):], len(b), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Links outside the record as bounds: each place in the budget that was spent
// on one may have been a hit or not.
func TestBounds(t *testing.T) {
	f := read(t, "webs: [{path: "+small(t)+", topics: [bees], budgets: [50]}]\nscorers: [random]\nbaseline: random\noutside: bounds\n")
	dir := t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := f.results(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Cells[0]
	if len(c.Upper) == 0 || c.Value("outside", 50) <= 0 {
		t.Errorf("outside %v, upper %v", c.Value("outside", 50), c.Upper)
	}
}

// What the recorder counts by event and what the simulator counts is one
// number, with robots.txt, at every budget.
func TestRequestsWithRobots(t *testing.T) {
	g := groupOf(t, "webs: [{path: "+small(t)+", budgets: [50]}]\nscorers: [breadth-first]\n", "bees", 0)
	m := g.simulate(t.Context(), g.key("topic", "breadth-first"), Scorer{Name: "breadth-first"})
	if m.err != nil {
		t.Fatal(m.err)
	}
	if m.run.Robots != 1 || m.run.Requests != m.requests || m.run.Pages[0].Requests != 2 {
		t.Errorf("%d requests of which %d for robots.txt; the simulator made %d; the first page came with the request %d, want the second", m.run.Requests, m.run.Robots, m.requests, m.run.Pages[0].Requests)
	}
}

// The kept lab file holds every constant in force, gives the same lab, and is
// read again without a change.
func TestKeptFile(t *testing.T) {
	f := read(t, "webs: [{path: "+small(t)+", budgets: [10]}]\nscorers: [breadth-first, {name: fish-search, set: {width: 2}}, pagerank]\nnetwork: {delay: 1500ms}\n")
	dir := t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	kept, err := Read(filepath.Join(dir, labFile))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range kept.Scorers {
		for _, x := range score.Settings(s.Name) {
			want := x.Default
			if s.Name == "fish-search" && x.Name == "width" {
				want = 2
			}
			if v, ok := s.Set[x.Name]; !ok || v != want {
				t.Errorf("%s: %s = %v, %v; want %v", s.Name, x.Name, v, ok, want)
			}
		}
		if !maps.Equal(s.Set, f.Scorers[i].Set) {
			t.Errorf("%s: %v, was %v", s.Name, s.Set, f.Scorers[i].Set)
		}
	}
	if out, err := kept.Run(t.Context(), dir, Options{}); err != nil || out.Made != 0 {
		t.Errorf("the kept file makes another lab: %+v, %v", out, err)
	}
}

// The example says all that a lab file can, and all of it are defaults.
func TestExample(t *testing.T) {
	var b strings.Builder
	if err := Example(&b); err != nil {
		t.Fatal(err)
	}
	f, err := decode("lab.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Scorers) != len(score.Names()) {
		t.Errorf("%d scorers of %d", len(f.Scorers), len(score.Names()))
	}
	explicit(t, "the example", []byte(b.String()))
	for _, s := range f.Scorers {
		if c := s.changed(); len(c) > 0 {
			t.Errorf("%s: %v are no defaults", s.Name, c)
		}
	}
}

// The lab files of the published results are understood, and those of the
// classics hold every constant: a default that changes does not change them.
func TestResultFiles(t *testing.T) {
	files, err := filepath.Glob("../docs/results/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if _, err := Read(name); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"classics.yaml", "judges-and-seeds.yaml"}, filepath.Base(name)) {
			explicit(t, name, b)
		}
	}
}

// explicit checks that a lab file spells every setting out.
func explicit(t *testing.T, name string, b []byte) {
	t.Helper()
	var raw struct{ Scorers []yaml.Node }
	if err := yaml.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	for _, n := range raw.Scorers {
		s := struct {
			Name string
			Set  map[string]float64
		}{Name: n.Value}
		if n.Kind == yaml.MappingNode {
			if err := n.Decode(&s); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range score.Settings(s.Name) {
			if _, ok := s.Set[x.Name]; !ok {
				t.Errorf("%s: %s does not say %s", name, s.Name, x.Name)
			}
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

// Cells that fail end no lab, and say why.
func TestFailedCell(t *testing.T) {
	web := small(t)
	b, err := os.ReadFile(filepath.Join(web, "web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b = regexp.MustCompile(`(?m)^ *keywords:.*\n`).ReplaceAll(b, nil)
	if err := os.WriteFile(filepath.Join(web, "web.yaml"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	f := read(t, "webs: [{path: "+web+", topics: [bees], budgets: [10]}]\nscorers: [breadth-first, infospiders-like]\n")
	dir := t.TempDir()
	out, err := f.Run(t.Context(), dir, Options{}) // agents without a keyword
	if err != nil || out != (Outcome{Cells: 2, Made: 2, Failed: 1}) {
		t.Fatalf("%+v, %v", out, err)
	}
	r, err := f.results(dir)
	if err != nil || len(r.Cells) != 2 || r.Cells[0].Error != "" || !strings.Contains(r.Cells[1].Error, "keywords") {
		t.Errorf("%+v, %v", r.Cells, err)
	}
}
