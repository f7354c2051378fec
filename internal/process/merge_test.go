package process

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/long"
)

// waggle runs a command that is to succeed.
func (c *crew) waggle(args ...string) string {
	c.Helper()
	out, err := waggleCommand(args).CombinedOutput()
	if err != nil {
		c.Fatalf("waggle %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// refused runs a command that is to fail and say something.
func (c *crew) refused(says string, args ...string) {
	c.Helper()
	out, err := waggleCommand(args).CombinedOutput()
	if err == nil || !strings.Contains(string(out), says) {
		c.Errorf("waggle %s: %v, and not %q\n%s", strings.Join(args, " "), err, says, out)
	}
}

// merge merges the folders of all workers, and returns the new one, verified.
func (c *crew) merge(hands ...*hand) string {
	c.Helper()
	out := filepath.Join(c.dir, "all")
	args := []string{"cluster", "merge", "-o", out}
	for _, h := range hands {
		args = append(args, h.dir)
	}
	c.Log(c.waggle(args...))
	c.Log(c.waggle("verify", out))
	if said := c.waggle("repair", out); !strings.Contains(said, "nothing was changed") {
		c.Errorf("a merged folder: %s", said)
	}
	return out
}

// table are the pages of a crawl as an export has them, by address, without what the order of
// arrivals decides: when a page was fetched, by which of the links to it, and by how many
// pages the judge knew then which words are common.
func (c *crew) table(dir string) []string {
	c.Helper()
	file := filepath.Join(c.TempDir(), "pages.csv")
	c.waggle("export", dir, "pages-csv", "-o", file)
	b, err := os.ReadFile(file)
	if err != nil {
		c.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		c.Fatal(err)
	}
	var keep []int
	for i, name := range rows[0] {
		if slices.Contains([]string{"url", "status", "mime", "title", "relevant", "digest", "links", "reason"}, name) {
			keep = append(keep, i)
		}
	}
	if len(keep) < 5 {
		c.Fatalf("the table has the columns %q", rows[0])
	}
	var out []string
	for _, row := range rows[1:] {
		var cells []string
		for _, i := range keep {
			cells = append(cells, row[i])
		}
		out = append(out, strings.Join(cells, " | "))
	}
	slices.Sort(out)
	return out
}

// TestMergedWorkers merges a crawl by one worker and one by four, of which one is killed and
// does not come back: both have the same pages, and each is a crawl like any other.
func TestMergedWorkers(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	var tables [][]string
	var last string
	for _, n := range []int{1, 4} {
		c := newCrew(t, 30, 8, 20*time.Millisecond)
		c.args = []string{"--workers", fmt.Sprint(atATime)}
		c.serveEngine()
		if n > 1 {
			c.web.allow(80) // the crawl goes on until one is killed
		}
		var hands []*hand
		for i := range n {
			hands = append(hands, c.start(fmt.Sprint("w", i), "--workers-min", fmt.Sprint(n)))
		}
		if n > 1 {
			c.web.await(t, 60)
			for _, h := range hands {
				h.told(0) // it has begun, whoever has fetched these pages
			}
			c.refused("is in use", "cluster", "merge", "-o", filepath.Join(c.dir, "early"), hands[0].dir, hands[1].dir)
			hands[n-1].kill()
			c.web.allow(0)
			c.finish(hands[:n-1]...)
			c.refused("the folder of w", "cluster", "merge", "-o", filepath.Join(c.dir, "less"), hands[1].dir, hands[2].dir, hands[3].dir)
			c.refused("of two crawls", "cluster", "merge", "-o", filepath.Join(c.dir, "less"), hands[0].dir, last)
			c.refused("is given twice", "cluster", "merge", "-o", filepath.Join(c.dir, "less"), hands[0].dir, hands[0].dir+"/../w0")
		} else {
			c.finish(hands...)
			last = hands[0].dir
		}
		all := c.merge(hands...)
		if left, err := filepath.Glob(filepath.Join(c.dir, "*.merging")); err != nil || len(left) > 0 {
			t.Errorf("left over: %q, %v", left, err)
		}
		tables = append(tables, c.table(all))
		want := c.web.reachable()
		pages := 0
		for p, err := range collection.At(all).Fetched() {
			if err != nil {
				t.Fatal(err)
			}
			if pages++; !want[strings.TrimPrefix(p.URL.String(), "http://")] {
				t.Errorf("%s is in the log", p.URL)
			}
		}
		if pages != len(want) {
			t.Errorf("%d workers: %d pages, and not %d", n, pages, len(want))
		}
		if said := c.waggle("explain", "-o", all, "http://"+siteName(0)+"/1"); !strings.Contains(said, siteName(0)) {
			t.Errorf("explained: %s", said)
		}
		c.waggle("index", all)
		if said := c.waggle("search", all, "bees"); !strings.Contains(said, "Page ") {
			t.Errorf("searched: %s", said)
		}
		c.Log(c.waggle("crawl", "-o", all, "--resume", "--through", c.web.url))
		c.waggle("crawl", "--again", all, "--pages", "10", "--through", c.web.url)
		c.waggle("verify", all)
	}
	// A worker whose archive is gone, or was cut: nothing is merged.
	archives, err := filepath.Glob(filepath.Join(last, "archive", "*.warc.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archive in %s: %v", last, err)
	}
	for _, spoil := range []func(string) error{func(path string) error { return os.Truncate(path, 100) }, os.Remove} {
		if err := spoil(archives[len(archives)-1]); err != nil {
			t.Fatal(err)
		}
		said, err := waggleCommand([]string{"cluster", "merge", "--accept-loss", "-o", last + "-merged", last}).CombinedOutput()
		if err == nil || !strings.Contains(string(said), "fewer than were written") {
			t.Errorf("merged without an archive: %v: %s", err, said)
		}
	}
	for i, row := range tables[0] {
		if len(tables[1]) != len(tables[0]) || tables[1][i] != row {
			t.Fatalf("one worker has %d pages and four have %d: %s", len(tables[0]), len(tables[1]), row)
		}
	}
}
