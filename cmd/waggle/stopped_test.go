package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
)

// Commands that are interrupted while they read what they are given end as stopped, and leave nothing.
func TestStopped(t *testing.T) {
	dir := t.TempDir()
	web := filepath.Join(dir, "web")
	src, err := synthetic.ParseSource("pages=60,topics=1,targets=0.2,words=40,seed=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := corpus.Build(t.Context(), web, src, corpus.Options{Name: "made"}); err != nil {
		t.Fatal(err)
	}
	pages := filepath.Join(dir, "pages")
	if err := os.Mkdir(pages, 0o700); err != nil {
		t.Fatal(err)
	}
	table := write(t, "/Insects/Bees,https://bees.example/\n/Insects/Wasps,https://wasps.example/\n")
	taxonomy := write(t, "waggle taxonomy 1\n")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	out := filepath.Join(dir, "out")
	for _, args := range [][]string{
		{"web", "info", web},
		{"lab", "judge", web, "-o", out},
		{"lab", "paths", "--web", web},
		{"lab", "paths", "--web", web, "--topics", "bees", "--labels", table},
		{"topic", "import", table, "-o", out},
		{"topic", "import", pages, "-o", out},
		{"topic", "prune", taxonomy, "-o", out},
	} {
		std, said := files(t)
		if got := run(over, args, std); got != exitStopped || !strings.Contains(contents(t, said), "stopped") || strings.Contains(contents(t, said), "canceled") {
			t.Errorf("%v ends with %d: %s", args, got, contents(t, said))
		}
		if left, err := filepath.Glob(out + "*"); err != nil || len(left) > 0 {
			t.Errorf("%v leaves %v, %v", args, left, err)
		}
	}
}

// A lab that goes on and is stopped while it draws its seeds tells of no cells: it knows of none.
func TestLabStoppedBeforeItsCells(t *testing.T) {
	dir := t.TempDir()
	web := filepath.Join(dir, "web")
	src, err := synthetic.ParseSource("pages=210,topics=1,targets=0.1,words=40,seed=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := corpus.Build(t.Context(), web, src, corpus.Options{Name: "made"}); err != nil {
		t.Fatal(err)
	}
	file := write(t, "webs: [{path: "+web+", budgets: [20]}]\nscorers: [breadth-first]\nhops: 1\n")
	args := []string{"lab", "run", "-f", file, "-o", filepath.Join(dir, "out")}
	std, said := files(t)
	if got := run(t.Context(), args, std); got != 0 {
		t.Fatalf("it ends with %d: %s", got, contents(t, said))
	}
	if err := os.Remove(filepath.Join(web, "pages.bin")); err != nil { // it reads the pages again
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	std, said = files(t)
	std.out = std.err
	if got := run(over, args, std); got != exitStopped || !strings.Contains(contents(t, said), "stopped") || strings.Contains(contents(t, said), " of 0 cells") {
		t.Errorf("it ends with %d: %s", got, contents(t, said))
	}
	std, said = files(t)
	args[len(args)-1] = filepath.Join(dir, "new") // nor does it fail where there are no results yet
	if got := run(over, args, std); got != exitStopped || contents(t, said) != "waggle: stopped; the same command goes on where it was\n" {
		t.Errorf("without results it ends with %d: %s", got, contents(t, said))
	}
}

// A crawl that waits for seeds from standard input is stopped as one that runs.
func TestStoppedAtSeeds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bees")
	std, said := files(t)
	in, seeds, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer seeds.Close()
	std.in = in
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"crawl", "-o", dir, "--keywords", "honey", "--allow-private", "--seeds-file", "-"}, std)
	}()
	// More than a pipe holds: once it is written, the command is reading.
	if _, err := seeds.WriteString(strings.Repeat("# a comment of a list of seeds\n", 10_000)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if got := <-code; got != exitStopped {
		t.Errorf("it ends with %d: %s", got, contents(t, said))
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it leaves the folder of the crawl")
	}
}
