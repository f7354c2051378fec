package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/job"
)

// honeySite serves one page at each address.
func honeySite(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<title>Honey</title><p>Bees make honey, as %s says.", r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// files are streams of a command that reads nothing, and the file of its errors.
func files(t *testing.T) (std streams, said string) {
	t.Helper()
	said = filepath.Join(t.TempDir(), "said")
	f, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	none, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); none.Close() })
	return streams{in: none, out: none, err: f}, said
}

// A crawl that another process began in the folder, while this one still read its seeds, is left as it is.
func TestFolderBegunMeanwhile(t *testing.T) {
	site := honeySite(t)
	dir := filepath.Join(t.TempDir(), "bees")
	crawl := []string{"crawl", "-o", dir, "--keywords", "honey", "--allow-private", "--delay", "0"}
	std, said := files(t)
	var in *os.File
	var err error
	if std.in, in, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	defer std.in.Close()
	defer in.Close()
	code := make(chan int, 1)
	go func() { code <- run(t.Context(), append(crawl, "--seeds-file", "-"), std) }()
	// More than a pipe holds: once it is written, the command is reading.
	if _, err := in.WriteString(strings.Repeat("# a comment of a list of seeds\n", 10_000)); err != nil {
		t.Fatal(err)
	}
	other, otherSaid := files(t)
	if got := run(t.Context(), append(crawl, site+"/a"), other); got != exitDone {
		t.Fatalf("the other crawl ends with %d: %s", got, contents(t, otherSaid))
	}
	job := contents(t, filepath.Join(dir, "job.yaml"))
	fmt.Fprintln(in, site+"/b")
	in.Close()
	if got := <-code; got != exitFailed || !strings.Contains(contents(t, said), "bees was begun or removed by another waggle: run the same command again") {
		t.Errorf("it ends with %d: %s", got, contents(t, said))
	}
	if now := contents(t, filepath.Join(dir, "job.yaml")); now != job {
		t.Errorf("the job of the other crawl was overwritten:\n%s", now)
	}
}

// contents are what a file holds.
func contents(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Rounds that begin one after another have the seeds that standard input gave to the first.
func TestRoundsHaveTheSeeds(t *testing.T) {
	site := honeySite(t)
	dir := filepath.Join(t.TempDir(), "bees")
	std, said := files(t)
	if got := run(t.Context(), []string{"crawl", site + "/a", "-o", dir, "--keywords", "honey", "--allow-private", "--delay", "0"}, std); got != exitDone {
		t.Fatalf("the crawl ends with %d: %s", got, contents(t, said))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	std, said = files(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	std.out = w
	if std.in, err = os.Open(write(t, site+"/b\n")); err != nil {
		t.Fatal(err)
	}
	defer std.in.Close()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"crawl", "--again", dir, "--every", "1s", "--seeds-file", "-"}, std)
		w.Close()
	}()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "Round 2:") {
			cancel()
		}
	}
	if got := <-code; got != exitDone {
		t.Errorf("the rounds end with %d: %s", got, contents(t, said))
	}
	for n := 1; n <= 2; n++ {
		j, err := job.In(collection.At(dir).Round(n))
		if err != nil || !slices.Equal(j.Seeds, []string{site + "/a", site + "/b"}) {
			t.Errorf("round %d: %v, %v", n, j, err)
		}
	}
}

// write writes a file and returns its name.
func write(t *testing.T, s string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
