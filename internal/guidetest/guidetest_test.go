package guidetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// waggle here is a program that knows version and crawl, without flags.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"waggle": func() {
		if err := parse(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}})
}

func parse(args []string) error {
	for _, a := range args {
		if strings.HasPrefix(a, "--colour") {
			return errors.New("unknown flag " + a)
		}
	}
	return nil
}

// What is wrong with a page is found, with its line.
func TestGuideFaults(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pages need a POSIX shell: run this on Linux or macOS")
	}
	for _, c := range []struct{ name, page, fault string }{
		{"right", "```console\n$ echo a b\na …\n```\n", ""},
		{"lines left out", "```console\n$ printf 'a\\nb\\nc\\n'\na\n…\nc\n```\n", ""},
		{"two lines", "```console\n$ echo a \\\n    b\na b\n```\n", ""},
		{"a file", "```text f.txt\nx\n```\n```console\n$ cat f.txt\nx\n```\n", ""},
		{"a failure that is shown", "```console\n$ false\n$ echo $?\n1\n```\n", ""},
		{"a reason", "*Not run by the tests: it asks the live web.*\n\n```console\n$ waggle crawl https://example.org/\n```\n", ""},
		{"another output", "text\n```console\n$ echo a\nb\n```\n", "3: echo a: the output is not that of the page"},
		{"no output shown", "```console\n$ echo a\n```\n", "2: echo a: the output"},
		{"no output made", "```console\n$ true\na\n```\n", "2: true: the output"},
		{"too little shown", "```console\n$ printf 'a\\nb\\n'\na\n```\n", "the output is not that of the page"},
		{"a failure", "```console\n$ false\n```\n", "2: false: exit code 1"},
		{"another failure", "```console\n$ false\n$ echo $?\n2\n```\n", "3: echo $?: the output"},
		{"no such flag", "```console\n$ waggle version --colour\n…\n```\n", "2: waggle version --colour: exit code 2"},
		{"in a block that is not run", "```sh\nwaggle version\n```\n", "2: a command in a block that is not run"},
		{"indented", "text:\n\n    waggle version\n", "3: a command in a block that is not run"},
		{"behind a prompt", "```\n$ waggle version\n```\n", "2: a command in a block that is not run"},
		{"no prompt", "```console\nwaggle version\n```\n", "2: output without a command"},
		{"no reason", "*Not run by the tests:*\n\n```console\n$ waggle version\n```\n", "1: the reason is missing"},
		{"not run, and wrong", "*Not run by the tests: x.*\n\n```console\n$ waggle crawl --colour\n```\n", "4: waggle crawl --colour: unknown flag --colour"},
		{"a reason above a file", "*Not run by the tests: x.*\n\n```yaml f\na: 1\n```\n", "1: no console block"},
		{"no such command", "Read `waggle reed x`.\n", "1: there is no command waggle reed"},
		{"no end", "```console\n$ true\n", "1: the block does not end"},
		{"no server", "```console\n$ waggle crawl --through http://127.0.0.1:8080\n```\n", "2: nothing is served"},
		{"a file outside", "```text ../f\nx\n```\n", "1: the file ../f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPage(c.page, t.TempDir(), Program{[]string{"version", "crawl"}, parse})
			p.run(t.Context())
			got := strings.Join(p.faults, "\n")
			if c.fault == "" && got != "" || !strings.Contains(got, c.fault) {
				t.Errorf("faults:\n%s\nwant %q", got, c.fault)
			}
		})
	}
}

// The Go code that the guide shows is a part of the examples that the tests run.
func TestGuideLibrary(t *testing.T) {
	read := func(name ...string) string {
		b, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, name...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	examples := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(read("example_test.go"), "")
	blocks := regexp.MustCompile("(?s)\n```go\n(.*?)```\n").FindAllStringSubmatch(read("docs", "guide", "library.md"), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d blocks of Go were found", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(examples, b[1]) {
			t.Errorf("example_test.go does not hold\n%s", b[1])
		}
	}
}

// Links between documents lead to files and headings that are there.
func TestGuideLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	names, err := filepath.Glob(filepath.Join(root, "docs", "guide", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"} {
		names = append(names, filepath.Join(root, name))
	}
	link := regexp.MustCompile(`\]\(([^):#]*)(#[^)]*)?\)`)
	block := regexp.MustCompile("(?s)\n```.*?\n```") // its text is no text of the document
	links := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(block.ReplaceAllString(string(text), "\n"), -1) {
			links++
			to := name
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(name), filepath.FromSlash(m[1]))
			}
			b, err := os.ReadFile(to)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if m[2] != "" && !strings.Contains(headings(string(b)), m[2]+"\n") {
				t.Errorf("%s: %s has no heading %s", name, to, m[2])
			}
		}
	}
	if links < 40 {
		t.Errorf("only %d links were found", links)
	}
}

// headings are those of a document as the addresses that forges give them, each
// with # before and a line break behind.
func headings(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "#"); ok {
			title = strings.ToLower(strings.TrimSpace(strings.TrimLeft(title, "#")))
			title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(title, "")
			b.WriteString("#" + strings.ReplaceAll(title, " ", "-") + "\n")
		}
	}
	return b.String()
}
