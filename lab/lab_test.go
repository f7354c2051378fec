package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/score"
)

// A misspelt scorer is one fault: the baseline that nobody wrote is none.
func TestMisspeltScorerIsOneFault(t *testing.T) {
	_, err := decode("lab.yaml", []byte("webs: [{path: w}]\nscorers: [wagle]\n"))
	if want := `lab.yaml:2: there is no scorer "wagle"; near names: waggle; waggle lab list names them`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Errors name the line and what to do, before anything is run.
func TestFileErrors(t *testing.T) {
	const rest = "\nscorers: [breadth-first]\nwebs: [{path: w}]\n"
	for _, c := range []struct{ file, want string }{
		{"webz: []", `lab.yaml:1: unknown key "webz"`},
		{"title: x\nfetch: {types: [pdf], render: auto}" + rest, `lab.yaml:2: "fetch.render" is a key of a job, and none of a lab: a lab fetches nothing: it reads pages as the recorded web has them`},
		{"tables: [hits]" + rest, `lab.yaml:1: a lab has no key "tables": the report has a table of each measure, and those that measures names come first`},
		{"topics: [bees]" + rest, `lab.yaml:1: a lab has no key "topics": each web names its topics`},
		{"topic: {want: documents, language: [de]}" + rest, `lab.yaml:1: "topic.language" is a key of a job, and none of a lab: topics, with their languages`},
		{"judge: topic" + rest, `lab.yaml:1: "judge" is a key of a job, and none of a lab: the judges of a lab stand in judges`},
		{"title: x", "no webs"},
		{"webs: [{path: w}]", "no scorers"},
		{"budgets:" + rest, "lab.yaml:1: budgets: no number of pages: write budgets: [300, 1000], or leave the key out for 300, 1000, 3000"},
		{"title: x\nbudgets: []" + rest, "lab.yaml:2: budgets: no number of pages"},
		{"webs:\n- {path: w}\n- path: v\n  budgets:\nscorers: [breadth-first]", "lab.yaml:4: budgets: no number of pages: write budgets: [300, 1000], or leave the key out for those of the lab"},
		{"title: x\nbudgets: [100, 100]" + rest, "lab.yaml:2: budgets [100 100]: write positive numbers, smallest first, each once"},
		{"title: x\nbudgets: [100, 100]\nwebs: [{path: w, budgets: [5]}]\nscorers: [breadth-first]", "lab.yaml:2: budgets [100 100]: write positive numbers"},
		{"webs:\n- path: v\n  budgets: [0]\nscorers: [breadth-first]", "lab.yaml:3: budgets [0]: write positive numbers"},
		{"scorers: [breadth-first, bestest]\nwebs: [{path: w}]", `lab.yaml:1: there is no scorer "bestest"; waggle lab list names them`},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  - {nam: x}", `lab.yaml:4: a scorer has no key "nam"; near names: name`},
		{"webs: [{path: w}]\nscorers:\n  - {name: waggle, turns: 8}", `lab.yaml:3: a scorer has no key "turns"; settings stand under set: set: {turns: 8}`},
		{"judges: [{name: topic, terms: 8}]" + rest, `lab.yaml:1: a judge has no key "terms"; settings stand under set: set: {terms: 8}`},
		{"want: documents" + rest, `lab.yaml:1: unknown key "want" here: it stands under topic`},
		{"types: [pdf]\nsources: [feeds]\nworkers: 2" + rest, "lab.yaml:1: unknown key \"types\" here: it stands under fetch\nlab.yaml:2: unknown key \"sources\" here: it stands under links\nlab.yaml:3: unknown key \"workers\" here: it stands under scorers.together, and under network; near names: scorers"},
		{"fetch: {typs: [pdf]}" + rest, `lab.yaml:1: unknown key "typs"; near names: types`},
		{"links: {source: [feeds]}" + rest, `lab.yaml:1: unknown key "source"; near names: sources`},
		{"topic: {want: [documents]}" + rest, "lab.yaml:1: want: text is wanted, and not a list"},
		{"network: {workers: [2], delay: 1s}" + rest, "lab.yaml:1: workers: a whole number is wanted, and not a list"},
		{"network: {median: 1s}" + rest, `lab.yaml:1: unknown key "median"`},
		{"webs: [{path: w}]\nscorers:\n  - {name: lm10-crf, model: x}", `lab.yaml:3: a scorer has no key "model": a lab teaches models itself, on what train: says at the webs and at the scorer`},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  - {name: fish-search, set: {widht: 3}}", `lab.yaml:4: fish-search has no setting "widht"; near names: width; waggle lab list names them`},
		{"webs: [{path: w}]\nscorrers: [breadth-first]", `lab.yaml:2: unknown key "scorrers"; near names: scorers`},
		{"webs: [{path: w}]\nscorers: [breadth-first]\njudges: [topics]", `lab.yaml:3: there is no judge "topics" for a lab; near names: topic; waggle lab list names them`},
		{"webs: [{path: w}]\nscorers: [breadth-first, random, random]", `two scorers are called "random": tell them apart by as:`},
		{"webs: [{path: w}]\nscorers: [random, opic]", `the baseline "breadth-first" is not among the scorers`},
		{"judges: [topic, astrologer]" + rest, `lab.yaml:1: there is no judge "astrologer"`},
		{"judges: [command]" + rest, `there is no judge "command" for a lab`},
		{"measures: [hits, harvest-rat]" + rest, `lab.yaml:1: there is no measure "harvest-rat"; near names: `},
		{"webs: [{path: w}]\nscorers: [random, opic]\nbaseline: opci", `lab.yaml:3: the baseline "opci" is not among the scorers; near names: opic: add it`},
		{"webs: [{path: w}]\nscorers:\n  - breadth-first\n  - {name: waggle, set: {turns: 3.5}}", "lab.yaml:4: waggle: turns = 3.5 is no whole number in 0…1000"},
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
		{"webs: [{path: w}]\nscorers:\n  - {name: random, host-pages: -1}", "lab.yaml:3: host-pages: -1: give 1…1,000,000"},
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
		{"{path: " + tree + ", budgets: [10], topics: [bes]}", `no topic "bes"; near names: bees; it has `},
		{"{path: nowhere}", "is not a recorded web"},
		{"{path: ../nowhere}", "path ../nowhere: "},
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
	if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "lab.yaml:2: topic bees: of its 1 seed none is in the record") {
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
		"tree/cars: 1 of 4 seeds is not in the record, such as http://a.example/500.",
		"tree/cars: 1 of 3 examples has no page in the record, such as http://a.example/900, and is shown to no strategy.",
	} {
		if !slices.Contains(told, want) || !slices.Contains(r.Rules, want) {
			t.Errorf("not told: %s\nbut %q", want, told)
		}
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
	if len(f.Scorers) != len(score.Descriptions()) {
		t.Errorf("%d scorers of %d", len(f.Scorers), len(score.Descriptions()))
	}
	explicit(t, "the example", []byte(b.String()))
	for _, s := range f.Scorers {
		if c := s.changed(); len(c) > 0 {
			t.Errorf("%s: %v are no defaults", s.Name, c)
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
		d, _ := score.Describe(s.Name)
		for _, x := range d.Settings {
			if _, ok := s.Set[x.Name]; !ok {
				t.Errorf("%s: %s does not say %s", name, s.Name, x.Name)
			}
		}
	}
}
