package demo

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// What is printed names the crawls and how to go on; without a harvest it says URL.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	results := []Result{
		{"waggle", dir, &event.Summary{Pages: 300, Relevant: 90}},
		{"breadth-first", "demo/breadth-first", &event.Summary{Pages: 300, Relevant: 12}},
	}
	if err := Write(&out, "Locks", results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"The topic: Locks",
		"waggle                300        90    30.0%  " + dir,
		"breadth-first         300        12     4.0%  demo/breadth-first",
		"waggle explain URL -o " + dir,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// Each line of the table is a package and the address from which its crawl starts.
func TestDebianTable(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(debianTable) {
		name, base, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if u, err := web.Parse(base); !ok || err != nil || u.String() != base || seen[name] {
			t.Errorf("%q: %v, %v", line, u, err)
		}
		seen[name] = true
	}
	if len(seen) < 10 {
		t.Errorf("%d packages", len(seen))
	}
}

// A table of packages that the user has in the folder of the demo stays as it is.
func TestDebianKeepsFiles(t *testing.T) {
	t.Setenv("PATH", "") // without apt-get nothing is built
	dir := t.TempDir()
	table := filepath.Join(dir, "packages.tsv")
	if err := os.WriteFile(table, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Debian(t.Context(), dir, func(string, ...any) {}, nil); err == nil {
		t.Fatal("a web was built")
	}
	if b, err := os.ReadFile(table); string(b) != "mine" {
		t.Errorf("%s holds %q, %v", table, b, err)
	}
}
