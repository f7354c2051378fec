package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/folder"
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

// A crawl that ended without a page makes room for another one in its folder once that begins, and a job
// file of the folder may be the one of the other. Until then everything of the first one is kept.
func TestCrawlInPlaceOfOneWithoutPages(t *testing.T) {
	var open atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut { // as a store of archives
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.URL.Path == "/robots.txt" && !open.Load() {
			fmt.Fprint(w, "User-agent: *\nDisallow: /\n")
			return
		}
		fmt.Fprint(w, "<title>Honey</title><p>Bees make honey.")
	}))
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "bees")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "honey")
	dir := filepath.Join(t.TempDir(), "bees")
	jobFile := filepath.Join(dir, "job.yaml")
	crawl := func(args ...string) (code int, said string) {
		std, name := files(t)
		code = run(t.Context(), append([]string{"crawl", "-o", dir}, args...), std)
		return code, contents(t, name)
	}
	first := []string{server.URL + "/a", "--keywords", "honey", "--delay", "0", "--allow-private"}
	if code, said := crawl(first...); code != exitNothing {
		t.Fatalf("the first crawl ends with %d: %s", code, said)
	}
	kept := map[string]string{jobFile: contents(t, jobFile), filepath.Join(dir, "events.jsonl"): contents(t, filepath.Join(dir, "events.jsonl"))}
	for _, c := range []struct {
		args []string
		said string
	}{
		{append(first, "--scorer", "wagle"), "wagle"},
		{append(first, "--example", filepath.Join(dir, "none.html")), "none.html"},
		{[]string{"-f", jobFile, "--example", filepath.Join(dir, "none.html")}, "none.html"},
		{append(first, "--ship", "s3://archives/bees", "--ship-endpoint", server.URL), "may not read and write"},
	} {
		if code, said := crawl(c.args...); code != exitUsage || !strings.Contains(said, c.said) {
			t.Errorf("%v ends with %d: %s", c.args, code, said)
		}
		for name, was := range kept {
			if now, err := os.ReadFile(name); err != nil || string(now) != was {
				t.Errorf("after %v: %v, %s is\n%s\nand was\n%s", c.args, err, name, now, was)
			}
		}
		if names, err := filepath.Glob(filepath.Join(dir, "replaced*")); err != nil || len(names) > 0 {
			t.Errorf("%v leaves %v, %v", c.args, names, err)
		}
	}
	w, err := collection.At(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = w.SetAside() // and the process is killed
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	open.Store(true)
	if code, said := crawl("-f", jobFile); code != exitDone {
		t.Errorf("with the job file of the folder it ends with %d: %s", code, said)
	}
	if _, pages, err := collection.At(dir).Ended(); err != nil || pages != 1 {
		t.Errorf("%d pages, %v", pages, err)
	}
	if folder.Exists(filepath.Join(dir, "replaced")) {
		t.Error("what was replaced is still there")
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
	if got := <-code; got != exitStopped {
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
