package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
)

// hubs builds a recorded web of 40 pages in a row that are about nothing, each
// with a link to a page about bees and to one about cars, told apart by their
// anchors alone.
func hubs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "exchange")
	if err := os.MkdirAll(filepath.Join(dir, "truth"), 0o755); err != nil {
		t.Fatal(err)
	}
	var pages, truth strings.Builder
	page := func(name, body string) {
		fmt.Fprintf(&pages, `{"url":"http://a.example/%s","status":200,"content_type":"text/html","body":"<title>%[1]s</title>%s"}`+"\n", name, body)
	}
	for n := range 40 {
		page(fmt.Sprint("hub", n), fmt.Sprintf("<p><a href=car%d>garage</a><p>and<p><a href=bee%[1]d>hive</a><p>so<p><a href=hub%d>onward</a>", n, n+1))
		page(fmt.Sprint("bee", n), fmt.Sprintf("<p>the waggle dance of the honey bee %d", n))
		page(fmt.Sprint("car", n), fmt.Sprintf("<p>cars have engines and wheels %d", n))
		fmt.Fprintf(&truth, "http://a.example/bee%d\n", n)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"pages.jsonl.zst": z.EncodeAll([]byte(pages.String()), nil),
		"truth/bees.txt":  []byte(truth.String()),
		"web.yaml": []byte(`name: hubs
pages: 120
hosts: 1
topics:
  - {name: bees, description: Honey bees, keywords: [honey bee, waggle dance], seeds: ["http://a.example/hub0"], truth: truth/bees.txt, relevant: 40}
`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "hubs")
	if _, err := corpus.Build(t.Context(), out, corpus.Exchange{Dir: dir}, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	return out
}

const apprenticeLab = `
webs: [{path: %s, budgets: [60]}]
baseline: best-first-page
scorers:
  - best-first-page
  - {name: apprentice, as: off-line, after: best-first-page, set: {online: 0}}
  - {name: apprentice, as: recall, after: best-first-page, within: best-first-page, set: {online: 0}}
  - {name: apprentice, as: on-line, set: {start: 20, every: 5}}
`

// The crawl that others build on goes from memory with the last cell of its topic.
func TestCrawlsGo(t *testing.T) {
	g := groupOf(t, fmt.Sprintf(apprenticeLab, hubs(t)), "bees", 0)
	g.cells.Add(1)
	if _, err := g.crawlOf(t.Context(), "topic", "best-first-page"); err != nil {
		t.Fatal(err)
	}
	if g.done(); len(g.crawls) > 0 {
		t.Errorf("%d crawls are kept after the last cell", len(g.crawls))
	}
}

// The protocols of Chakrabarti, Punera & Subramanyam 2002, sections 3.5 to 3.7: an
// apprentice that is taught by the crawl before its own finds more than that crawl
// did; kept to its pages it ends with the same, and is ahead on the way; and one that
// learns on the way lies between.
func TestProtocols(t *testing.T) {
	f := read(t, fmt.Sprintf(apprenticeLab, hubs(t)))
	dir := t.TempDir()
	out, err := f.Run(t.Context(), dir, Options{Workers: 2})
	if err != nil || out.Failed > 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	hits, auc := map[string]float64{}, map[string]float64{}
	files, _ := results(t, dir)
	for _, name := range files {
		c, err := readCell(filepath.Join(dir, cellsDir, name))
		if err != nil || c.Error != "" {
			t.Fatalf("%s: %s %v", name, c.Error, err)
		}
		hits[c.Scorer], auc[c.Scorer] = c.Value("hits", 60), c.Value("auc", 60)
	}
	if base := hits["best-first-page"]; hits["off-line"] < base+8 || auc["on-line"] <= auc["best-first-page"] || auc["off-line"] <= auc["on-line"] {
		t.Errorf("hits %v, area under them %v", hits, auc)
	}
	if hits["recall"] != hits["best-first-page"] || auc["recall"] <= auc["best-first-page"] {
		t.Errorf("the recall crawler: hits %v, area %v", hits, auc)
	}
	if notes := strings.Join(f.rules(), "\n"); !strings.Contains(notes, "recall is taught by the crawl of best-first-page before its own, and can have only the pages that best-first-page fetched.") {
		t.Errorf("the report does not tell:\n%s", notes)
	}
}

// A recall crawler asks for no page that the other did not fetch.
func TestWithin(t *testing.T) {
	f := read(t, fmt.Sprintf(apprenticeLab, hubs(t)))
	w, err := f.open(&f.Webs[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r := &runner{File: f, dir: t.TempDir(), opt: Options{Workers: 1}}
	g := r.group(w, w.folds[0], w.topics[0], false, 0)
	if err := g.fold.load(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	fetched := func(label string) (urls []string) {
		m := g.simulateWith(t.Context(), g.key("topic", label), f.named(label), func(e event.Event) {
			if p, ok := e.(event.Fetched); ok {
				urls = append(urls, p.URL.String())
			}
		})
		if m.err != nil {
			t.Fatal(m.err)
		}
		return urls
	}
	base, recall := fetched("best-first-page"), fetched("recall")
	if slices.Equal(base, recall) {
		t.Error("the recall crawler went the same way")
	}
	slices.Sort(base)
	slices.Sort(recall)
	if !slices.Equal(base, recall) {
		t.Errorf("%q\nand\n%q", base, recall)
	}
}

// What cannot be built on is said with its line.
func TestBasisErrors(t *testing.T) {
	for _, c := range []struct{ scorer, want string }{
		{"{name: apprentice, after: random}", `lab.yaml:4: apprentice builds on the crawl of "random", which is not among the scorers: add it`},
		{"{name: fish-search, after: breadth-first}", "lab.yaml:4: fish-search learns from no crawl before its own"},
		{"{name: apprentice, within: apprentice-2}\n  - {name: apprentice, as: apprentice-2, after: breadth-first}", "builds on another itself"},
	} {
		_, err := decode("lab.yaml", []byte("webs: [{path: w}]\nscorers:\n  - breadth-first\n  - "+c.scorer+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\n  want %s", c.scorer, err, c.want)
		}
	}
}

// What bears on every figure of a strategy is told before the lab runs and in its report:
// that it was taught by another crawl, that it ends before it learns, and that it
// fetched the same pages as another.
func TestWhatWasNotAlike(t *testing.T) {
	f := read(t, fmt.Sprintf(apprenticeLab, hubs(t))+"  - {name: apprentice, as: late, set: {start: 5200, every: 5}}\n")
	dir := t.TempDir()
	var told []string
	if _, err := f.Run(t.Context(), dir, Options{Workers: 2, Note: func(n string) { told = append(told, n) }}); err != nil {
		t.Fatal(err)
	}
	const late = "late learns nothing in its crawls: it begins to learn after 5200 pages (start = 5200), and they have 60 at most. Give it set: {start: N} with a smaller N, or the lab a larger budget."
	if !slices.Contains(told, late) || len(told) != 1 {
		t.Errorf("told before the run: %q", told)
	}
	_, text := reportOf(t, dir)
	for _, want := range []string{
		late, "late fetched the same pages as best-first-page, in the same order, in every run up to 60 pages",
		"off-line (taught before by a whole crawl of 60 pages by best-first-page", "| off-line ‡ |", "(off-line by 60 pages of best-first-page",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
}
