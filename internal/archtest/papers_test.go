package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// The codes of items, and the short names of papers, stand in docs/papers.md alone:
// comments and tests cite the paper by its authors and section, and what users read
// has words.
func TestCodesStandInTheirKeyAlone(t *testing.T) {
	root := root(t)
	code := codes(t, root)
	read := []string{".go", ".md", ".yaml", ".tsv", ".txt", ".txtar", ".svg", ".sh"}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch slash := filepath.ToSlash(name); {
		case d.IsDir() && (d.Name() == ".git" || slash == "docs/truth" || slash == "internal/archtest"):
			return filepath.SkipDir
		case d.IsDir() || slash == "docs/papers.md" || !slices.Contains(read, filepath.Ext(name)):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(b), "\n") {
			if !capitalBeforeDigit(line) {
				continue // as no code is written: that is found sooner
			}
			if at := code.FindString(line); at != "" {
				t.Errorf("%s:%d: %q is a code of docs/papers.md: cite authors and section, or say it in words", name, i+1, at)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func capitalBeforeDigit(s string) bool {
	for i := 1; i < len(s); i++ {
		if '0' <= s[i] && s[i] <= '9' && 'A' <= s[i-1] && s[i-1] <= 'Z' {
			return true
		}
	}
	return false
}

// codes matches what can only be a code of docs/papers.md: a short name of a paper, or
// an item in brackets, behind the word item, at the head of a comment, or at the end of
// a test's name.
func codes(t *testing.T, root string) *regexp.Regexp {
	text, err := os.ReadFile(filepath.Join(root, "docs", "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	var papers, items []string
	for line := range strings.Lines(string(text)) {
		if m := regexp.MustCompile(`^\| ([A-Z]{2,3}\d\d) \|`).FindStringSubmatch(line); m != nil {
			papers = append(papers, m[1])
		}
		if m := regexp.MustCompile(`^\| ([A-Z]\d+) \|`).FindStringSubmatch(line); m != nil {
			items = append(items, m[1])
		}
	}
	if len(papers) != 5 || len(items) < 60 {
		t.Fatalf("docs/papers.md has %d papers and %d items", len(papers), len(items))
	}
	paper, item := `(`+strings.Join(papers, "|")+`)`, `(`+strings.Join(items, "|")+`)`
	return regexp.MustCompile(`\b` + paper + `\b|\s\(` + item + `([,–-] ?` + item + `)*\)|\b[Ii]tems? ` + item + `\b|^\s*// ` + item + `( by hand)?[:,]|func Test\w*[a-z]` + item + `\(`)
}

func TestCodesAreFound(t *testing.T) {
	code := codes(t, root(t))
	for text, want := range map[string]bool{
		"// A1: by hand":                 true,
		"// as in LM10, section 3":       true,
		"relevance (A1, A2) of a page":   true,
		"to the first goal (P8–P10)":     true,
		"Item B9: pages":                 true,
		"func TestFoldsR8(t *testing.T)": true,
		"=SUM(A1)":                       false,
		"func TestHMM2(t *testing.T)":    false,
		"cos(page, C0)":                  false,
		"the F1 of Goal":                 false,
	} {
		if got := code.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
