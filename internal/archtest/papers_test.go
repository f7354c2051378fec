package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each item of docs/papers.md names files that are there, or says "not done",
// and no code stands for two items.
func TestPapersNameFilesThatExist(t *testing.T) {
	root := root(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil
	}
	for _, fault := range papersFaults(string(text), exists) {
		t.Error(fault)
	}
}

// papersFaults lists what is wrong with the items of a text such as
// docs/papers.md.
func papersFaults(markdown string, exists func(name string) bool) (out []string) {
	item, file := regexp.MustCompile(`^\| ([A-Z]\d+) \|`), regexp.MustCompile("`([^`]+)`")
	known := map[string]bool{}
	for line := range strings.Lines(markdown) {
		m := item.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		code := m[1]
		if known[code] {
			out = append(out, code+" is listed twice")
		}
		known[code] = true
		files := file.FindAllStringSubmatch(line, -1)
		if len(files) == 0 && !strings.Contains(line, "not done") {
			out = append(out, code+` names no file and does not say "not done"`)
		}
		for _, f := range files {
			if !exists(f[1]) {
				out = append(out, code+" names "+f[1]+", which does not exist")
			}
		}
	}
	if len(known) == 0 {
		out = append(out, "no item is listed")
	}
	return out
}

func TestPapersFaults(t *testing.T) {
	exists := func(name string) bool { return name == "a.go" }
	for text, want := range map[string]string{
		"| A1 | it | 2.1 | `a.go` |\n":                              "",
		"| A1 | it | 2.1 | not done: too large |\n":                 "",
		"| A1 | it | 2.1 | `b.go`, `a.go` |\n":                      "A1 names b.go, which does not exist",
		"| A1 | it | 2.1 | |\n":                                     `A1 names no file and does not say "not done"`,
		"| A1 | it | `a.go` |\n| A1 | another | `a.go` |\n":         "A1 is listed twice",
		"| code | item | here |\n|---|---|---|\n| LM10 | paper |\n": "no item is listed",
	} {
		if got := strings.Join(papersFaults(text, exists), "; "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
