package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/pool"
)

// A lab with documents gives no pool, as readers are shown pages in HTML.
func TestNoPoolOfDocuments(t *testing.T) {
	dir := t.TempDir()
	f := read(t, "webs: [{path: "+library(t)+", budgets: [9]}]\nscorers: [breadth-first]\njudges: [topic]\ntopic: {want: documents}\nkeep-runs: true\n")
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := DrawPool(t.Context(), []string{dir}, PoolOptions{DrawOptions: pool.DrawOptions{Pages: 4, Top: 2}})
	if err == nil || !strings.Contains(err.Error(), "topic.want: documents") || !strings.Contains(err.Error(), "leave these keys out") {
		t.Errorf("a pool of documents: %v", err)
	}
}

// library is a web of documents: a page leads to a report and a table, a feed to another report,
// and a sitemap, which robots.txt names, to one that no page names. One report cannot be read.
func library(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	at := func(path string) string { return "http://library.example" + path }
	pages := []map[string]any{
		{"url": at("/robots.txt"), "status": 200, "content_type": "text/plain", "body": "User-agent: *\nAllow: /\nSitemap: /all.txt\n"},
		{"url": at("/all.txt"), "status": 200, "content_type": "text/plain", "body": at("/") + "\n" + at("/old.md") + "\n"},
		{"url": at("/"), "status": 200, "content_type": "text/html", "body": "<title>Library</title><link rel=alternate type=application/rss+xml href=/feed><p><a href=/reports>reports on the honey bee</a>"},
		{"url": at("/reports"), "status": 200, "content_type": "text/html", "body": "<title>Honey bees</title><p>The waggle dance of the honey bee. <a href=/dance.md>Dance</a> <a href=/counts.csv>Counts</a> <a href=/broken.docx>Broken</a>"},
		{"url": at("/dance.md"), "status": 200, "content_type": "text/markdown", "body": "# The waggle dance\n\nThe honey bee tells others by a waggle dance.\n"},
		{"url": at("/counts.csv"), "status": 200, "content_type": "text/csv", "body": "hive,waggle dance of the honey bee\nnorth,12\n"},
		{"url": at("/broken.docx"), "status": 200, "content_type": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "body": "PK\x03\x04 word/document.xml"},
		{"url": at("/feed"), "status": 200, "content_type": "application/rss+xml", "body": "<rss version='2.0'><channel><item><title>The waggle dance in winter</title><link>" + at("/winter.json") + "</link></item></channel></rss>"},
		{"url": at("/winter.json"), "status": 200, "content_type": "application/json", "body": `{"title": "The honey bee in winter", "text": "no waggle dance"}`},
		{"url": at("/old.md"), "status": 200, "content_type": "text/markdown", "body": "# An old report\n\nThe waggle dance of the honey bee, in 1950.\n"},
	}
	var lines strings.Builder
	for _, p := range pages {
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(b, '\n'))
	}
	var truth strings.Builder
	for _, p := range []string{"/reports", "/dance.md", "/counts.csv", "/winter.json", "/old.md"} {
		truth.WriteString(at(p) + "\n")
	}
	for name, text := range map[string]string{
		"pages.jsonl":    lines.String(),
		"truth/bees.txt": truth.String(),
		"web.yaml":       "name: library\ntopics:\n  - {name: bees, keywords: [honey bee, waggle dance], seeds: [\"" + at("/") + "\"], truth: truth/bees.txt, relevant: 5}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "library")
	if _, err := corpus.Build(t.Context(), out, corpus.Exchange{Dir: dir}, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	return out
}

// A lab takes the documents, follows the sources of links and counts what a crawl with the same
// keys does; what was possible goes by the same.
func TestKinds(t *testing.T) {
	web := library(t)
	for _, c := range []struct {
		name, keys          string
		pages, hits, errors int
		possible            float64 // hits that links lead to
	}{
		{"without", "", 2, 1, 1, 1},
		{"types", "fetch: {types: [html, markdown, csv]}\n", 4, 3, 0, 3},
		{"damaged", "fetch: {types: [html, docx]}\n", 2, 1, 2, 1},
		{"documents alone", "topic: {want: documents}\n", 4, 2, 1, 2},
		{"feeds", "topic: {want: documents}\nlinks: {sources: [feeds]}\n", 6, 3, 1, 3},
		{"sitemaps", "topic: {want: documents}\nlinks: {sources: [sitemaps]}\n", 6, 3, 1, 3},
		{"both", "fetch: {types: [all]}\nlinks: {sources: [feeds, sitemaps]}\n", 8, 5, 1, 5},
		{"none", "fetch: {types: [html]}\nlinks: {sources: [none]}\n", 2, 1, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := read(t, c.keys+"webs: [{path: "+web+"}]\nscorers: [breadth-first]\nbudgets: [8]\nkeep-runs: true\n")
			dir := t.TempDir()
			if out, err := f.Run(t.Context(), dir, Options{Workers: 1}); err != nil || out.Failed > 0 {
				t.Fatalf("%+v, %v", out, err)
			}
			runs, err := readRuns(dir)
			if err != nil || len(runs) != 1 {
				t.Fatalf("%d runs, %v", len(runs), err)
			}
			hits := 0
			for _, p := range runs[0].Pages {
				if p.Mark&eval.Hit != 0 {
					hits++
				}
			}
			topics, err := filepath.Glob(filepath.Join(dir, topicsDir, "*.json"))
			if err != nil || len(topics) != 1 {
				t.Fatalf("topics %v, %v", topics, err)
			}
			facts, err := readJSON[topicFacts](topics[0])
			if err != nil {
				t.Fatal(err)
			}
			if len(runs[0].Pages) != c.pages || hits != c.hits || runs[0].Errors != c.errors || facts.Topic.Reachable != c.possible {
				t.Errorf("%d pages, %d hits of %v, %d errors; want %d, %d of %v, %d",
					len(runs[0].Pages), hits, facts.Topic.Reachable, runs[0].Errors, c.pages, c.hits, c.possible, c.errors)
			}
		})
	}
}

// What of a lab is refused where it has kinds, and why.
func TestKindsRefused(t *testing.T) {
	web := library(t)
	const rest = "\nscorers: [breadth-first]\nbudgets: [2]\n"
	for keys, want := range map[string]string{
		"fetch: {types: [html]}\ntopic: {want: documents}":             "lab.yaml:2: documents are wanted, and fetch.types names none",
		"fetch: {types: [html, ppt]}":                                  `lab.yaml:1: documents of type "ppt" are not understood`,
		"links: {sources: [feeds, rumours]}":                           `lab.yaml:1: `,
		"topic: {want: books}":                                         "lab.yaml:1: ",
		"fetch: {types: [pdf]}\ntruth: read\npool: p":                  "lab.yaml:2: readers are shown pages in HTML",
		"fetch: {types: [html]}\ntopic:\n  want: pages\n  keywords: x": `lab.yaml:4: "topic.keywords" is a key of a job, and none of a lab: topics, with their languages`,
	} {
		_, err := decode("lab.yaml", []byte(keys+"\nwebs: [{path: "+web+"}]"+rest))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", keys, err, want)
		}
	}
	// A web of one's own crawl has no truth: what helps depends on what readers can be shown.
	bare := buildTree(t, "engines", "name: bare\ntopics:\n  - {name: bees, keywords: [honey bee], seeds: [\"http://a.example/1\"]}\n")
	for keys, want := range map[string]string{
		"":                            "has no topic with a truth: waggle lab pool is how a web without truth files gets a truth; or list the relevant addresses in truth.txt",
		"fetch: {types: [html, pdf]}": "has no topic with a truth: list the relevant addresses in truth.txt in the folder of the web, one a line, and name it at the topic in web.yaml, as truth: truth.txt",
	} {
		f := read(t, keys+"\nwebs: [{path: "+bare+"}]"+rest)
		if _, err := f.Run(t.Context(), t.TempDir(), Options{Workers: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q on a web without a truth: %v\nwant %s", keys, err, want)
		}
	}
	// Nothing of the truth counts: that shows before the first cell.
	pages := buildTree(t, "engines", treeFile)
	f := read(t, "topic: {want: documents}\nwebs: [{path: "+pages+"}]"+rest)
	if _, err := f.Run(t.Context(), t.TempDir(), Options{Workers: 1}); err == nil || !strings.Contains(err.Error(), "nothing that counts is left") {
		t.Errorf("a topic of pages where documents are wanted: %v", err)
	}
}
