package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that a command reads is not written by it, whatever --force says.
func TestInputIsKept(t *testing.T) {
	dir := t.TempDir()
	bees := filepath.Join(dir, "bees")
	std, said := files(t)
	if got := run(t.Context(), []string{"crawl", honeySite(t), "-o", bees, "--keywords", "honey", "--allow-private", "--delay", "0"}, std); got != exitDone {
		t.Fatalf("the crawl ends with %d: %s", got, contents(t, said))
	}
	in := filepath.Join(dir, "in")
	labels := filepath.Join(dir, "labels.tsv") // as of a pool in dir
	for _, c := range []struct {
		args []string
		name string
	}{
		{[]string{"train", "model", "--kind", "paths", "--paths", in}, in},
		{[]string{"train", "model", dir, "--kind", "crf"}, filepath.Join(dir, "graph.json")},
		{[]string{"seeds", "--keywords", "honey", "--contact", "you@example.org", "-s", "bookmarks=" + in}, in},
		{[]string{"seeds", "--example", in, "--contact", "you@example.org", "-s", "openalex"}, in},
		{[]string{"export", bees, "pages-csv", "--fields", in}, in},
		{[]string{"lab", "pool", "extend", dir, "--web", bees}, labels},
	} {
		const text = "fields:\n  - {name: heading, css: h1}\n"
		if err := os.WriteFile(c.name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		std, said := files(t)
		got := run(t.Context(), append(c.args, "-o", c.name, "--force"), std)
		if got != exitUsage || !strings.Contains(contents(t, said), "is read and cannot be written as well") {
			t.Errorf("%v ends with %d: %s", c.args, got, contents(t, said))
		}
		if now := contents(t, c.name); now != text {
			t.Errorf("%v: the file is now %q", c.args, now)
		}
	}
}
