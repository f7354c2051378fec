package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a document of docs/results says its tables and charts are made of is there: files that
// its markers name, files and charts that it links to, and a line of papers-labs.csv for each lab.
func TestResultsNameFilesThatExist(t *testing.T) {
	dir := filepath.Join(root(t), "docs", "results")
	labs, err := os.ReadFile(filepath.Join(dir, "papers-labs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(documents) < 10 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		return err == nil
	}
	for _, d := range documents {
		text, err := os.ReadFile(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range resultFaults(string(text), string(labs), exists) {
			t.Errorf("%s %s", filepath.Base(d), fault)
		}
	}
}

var (
	marker = regexp.MustCompile(`(?m)^<!-- (table|csv) ([^ ]+)`)
	madeBy = regexp.MustCompile(`(?m)^<!-- made ([^>]*) -->`)
	link   = regexp.MustCompile(`\]\(([^)#:]+)\)`)
	quoted = regexp.MustCompile("`(papers-[a-z0-9-]+\\.csv)`")
)

// resultFaults lists what a document names that is not there. A lab may have been run under
// another name than it is kept under: it needs a line alone.
func resultFaults(markdown, labs string, exists func(name string) bool) (out []string) {
	for _, find := range []struct {
		is *regexp.Regexp
		at int
	}{{marker, 2}, {link, 1}, {quoted, 1}} {
		for _, m := range find.is.FindAllStringSubmatch(markdown, -1) {
			if !exists(m[find.at]) {
				out = append(out, "names "+m[find.at]+", which does not exist")
			}
		}
	}
	for _, m := range madeBy.FindAllStringSubmatch(markdown, -1) {
		for _, lab := range strings.Fields(m[1]) {
			if !strings.Contains(labs, "\n"+lab+",") {
				out = append(out, "is made of the lab "+lab+", which has no line in papers-labs.csv")
			}
		}
	}
	return out
}

func TestResultFaults(t *testing.T) {
	exists := func(name string) bool { return name == "a.csv" || name == "../papers.md" }
	const labs = "lab,file\nlm10,papers-lm10.yaml\n"
	for text, want := range map[string]string{
		"<!-- table a.csv 3: crf -->\n[items](../papers.md)\n<!-- made lm10 -->\n": "",
		"<!-- table b.csv 3: crf -->\n":                                            "names b.csv, which does not exist",
		"<!-- csv c.csv 2: x -->\n":                                                "names c.csv, which does not exist",
		"![bees](plots/bees.svg)":                                                  "names plots/bees.svg, which does not exist",
		"in `papers-x.csv`":                                                        "names papers-x.csv, which does not exist",
		"<!-- made lm10 cps02 -->\n":                                               "is made of the lab cps02, which has no line in papers-labs.csv",
		"[far](https://example.org/a.csv)":                                         "",
	} {
		if got := strings.Join(resultFaults(text, labs, exists), "; "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
