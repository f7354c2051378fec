package export

import (
	"bytes"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
	"github.com/waggle-crawler/waggle/parse"
)

// TestMemoryOfAPage holds what each further page of an export leaves in memory until the
// export is done: the difference between 1,800 pages and 300, of which each has six
// links. The greatest of what is in use is taken, of what the collector of garbage leaves,
// at every 128 KiB of the export.
func TestMemoryOfAPage(t *testing.T) {
	long.Test(t, "writes each export of 1,800 pages")
	const few, many = 300, 1800
	// Rows of a page, held, are some 1,000 bytes, those of its links 1,500. What is in work at
	// a moment differs by up to 300 KB, or 200 bytes a page.
	bars := map[string]int{ // bytes a page
		"harvest": 400, "pages-jsonl": 400, "pages-csv": 400, "cdxj": 400, "wacz": 400, "bagit": 400,
		"links-jsonl": 400, "links-csv": 400,
		"graphml": 800, // with three edges to hosts that are new, mostly
	}
	var of [2]collection.Collection
	for i, n := range []int{few, many} {
		c, err := madecrawl.Write(filepath.Join(t.TempDir(), "made"), n, 20, 1)
		if err != nil {
			t.Fatal(err)
		}
		of[i] = c
	}
	p := parse.New(parse.Options{})
	input := func(c collection.Collection) *Input {
		return &Input{Collections: []collection.Collection{c}, memory: 64 << 10, Parser: func(collection.Collection) (crawl.Parser, error) { return p, nil }}
	}
	if err := writePagesCSV(t.Context(), input(of[1]), io.Discard); err != nil { // the parser knows all words then
		t.Fatal(err)
	}
	for _, f := range Forms() {
		bar, ok := bars[f.Name]
		if strings.HasSuffix(f.Name, "-parquet") {
			continue // what it compresses with weighs more than these pages: see TestGroupsAreBounded
		} else if !ok {
			t.Errorf("%s has no bar", f.Name)
			continue
		}
		var peak [2]int
		for i, c := range of {
			before := inUse()
			w := &weigher{}
			if err := f.Write(t.Context(), input(c), w); err != nil {
				t.Fatal(err)
			}
			w.weigh()
			peak[i] = w.most - before
		}
		page := (peak[1] - peak[0]) / (many - few)
		t.Logf("%s: %d bytes in use for %d pages, %d for %d: %d a page", f.Name, peak[0], few, peak[1], many, page)
		if page > bar {
			t.Errorf("%s: a page leaves %d bytes in memory, and may leave %d", f.Name, page, bar)
		}
	}
}

// Rows of Parquet are in memory until there is a group of them.
func TestGroupsAreBounded(t *testing.T) {
	c, err := madecrawl.Write(filepath.Join(t.TempDir(), "made"), 200, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pages-parquet", "links-parquet"} {
		b := write(t, name, &Input{Collections: []collection.Collection{c}, memory: 10_000})
		f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range f.RowGroups() {
			if n := g.NumRows(); n == 0 || n > 10_000/64 { // a row counts for 64 bytes at least
				t.Errorf("%s: group %d of %d has %d rows", name, i, len(f.RowGroups()), n)
			}
		}
	}
}

// weigher takes an export and notes the most memory that is in use meanwhile.
type weigher struct{ since, most int }

func (w *weigher) Write(p []byte) (int, error) {
	if w.since += len(p); w.since >= 128<<10 {
		w.weigh()
	}
	return len(p), nil
}

func (w *weigher) weigh() { w.since, w.most = 0, max(w.most, inUse()) }

// inUse is how many bytes of the heap are in use.
func inUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
