// Package recorded finds the recorded webs that tests and benchmarks read. They are too
// large for the repository: without them such a test is skipped.
package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Dir is the folder of recorded webs: $WAGGLE_WEBS, by default shared/webs beside the
// clone. It may be absent.
func Dir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("WAGGLE_WEBS"); dir != "" {
		return dir
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, "..", "shared", "webs")
		}
		up := filepath.Dir(root)
		if up == root {
			t.Fatal("no go.mod above the working directory")
		}
		root = up
	}
}

// Web is the folder of the recorded web of that name. Without it the test or benchmark
// is skipped.
func Web(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(Dir(t), name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("needs the recorded web %s: set WAGGLE_WEBS to a folder that holds it, see CONTRIBUTING.md", name)
	}
	return dir
}

// Page is a page of a recorded web.
type Page struct {
	URL  string
	Type string `json:"content_type"`
	Body string
}

// EachPage calls do with those pages of a recorded web whose addresses are wanted. Without
// the web the test or benchmark is skipped.
func EachPage(t testing.TB, name string, wanted func(address string) bool, do func(p Page)) {
	t.Helper()
	f, err := os.Open(filepath.Join(Web(t, name), "pages.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	lines := bufio.NewReaderSize(z, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		// The address is first, and most pages are not wanted: they are not decoded.
		start, _, _ := bytes.Cut(line, []byte(`",`)) // {"url": "…
		_, address, _ := bytes.Cut(start, []byte(`: "`))
		if !wanted(string(address)) {
			continue
		}
		var page Page
		if err := json.Unmarshal(line, &page); err != nil {
			t.Fatal(err)
		}
		do(page)
	}
}
