package process

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/worker"
	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/store/ship/shiptest"
)

// TestLostFolder kills a worker of three and removes its folder: what it had not shipped is
// fetched again, and nothing else; with what it had shipped all pages are there, each once.
func TestLostFolder(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]bool{"while others crawl": false, "when the crawl is over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if over {
				long.Test(t, "crawls with several processes, twice")
			}
			shop := shiptest.New(t)
			c := newCrew(t, 40, 25, 20*time.Millisecond)
			c.args = []string{"--workers", "4", "--ship", "s3://pages/crawl", "--ship-size", "32KiB"}
			c.env = shop.Env()
			c.serveEngine()
			if !over { // the crawl goes on until the folder is lost
				c.web.allow(len(c.web.reachable()) * 3 / 4)
			}
			w0, w1, w2 := c.start("w0", "--workers-min", "3"), c.start("w1", "--workers-min", "3"), c.start("w2", "--workers-min", "3")
			for told := 0; told < 2; told = c.toldShipped("w2") {
				w2.says("shipped ", w2.out.count("shipped ")+1)
			}
			if over {
				c.refused("runs and has a session", "cluster", "lost", "w2", "--join", c.engine)
			}
			w2.kill()
			had := archived(t, w2.dir)
			if err := os.Rename(w2.dir, filepath.Join(c.dir, "gone")); err != nil {
				t.Fatal(err)
			}
			if over {
				c.finish(w0, w1)
			}
			said := c.lose("w2")
			c.web.allow(0)
			if over {
				w0, w1 = c.start("w0"), c.start("w1")
			}
			c.finish(w0, w1)
			if !strings.Contains(said, "that is fetched again") || over != strings.Contains(said, "was over") {
				t.Errorf("lost: %s", said)
			}
			if status := c.waggle("cluster", "status", "--join", c.engine); !strings.Contains(status, "The folder of w2 is lost") {
				t.Errorf("status: %s", status)
			}
			c.refused("is known already", "cluster", "lost", "w2", "--join", c.engine)
			c.refused("there is no worker w7", "cluster", "lost", "w7", "--join", c.engine)

			_, place, _ := strings.Cut(said, "waggle ship fetch ")
			place, _, _ = strings.Cut(place, " ")
			back := filepath.Join(c.dir, "w2")
			if said, err := shipping(shop, "ship", "fetch", place, "-o", back).CombinedOutput(); err != nil {
				t.Fatalf("fetch: %v\n%s", err, said)
			}
			// What it had shipped and not told of counts as lost.
			shipped, told, pages := archived(t, back), archivedBefore(t, back, c.toldShipped("w2")), c.pages()
			lost := 0
			for u := range c.web.reachable() {
				if pages[u] != 1 && (pages[u] != 2 || shipped[u] == 0 || told[u] > 0) {
					t.Errorf("%s is archived %d times", u, pages[u])
				}
				if had[u] > 0 && told[u] == 0 {
					lost++
				}
			}
			repeated := 0
			for u, n := range c.web.counts() {
				repeated += n - 1
				if n > 1 && told[u] > 0 {
					t.Errorf("%s was shipped, and asked for %d times", u, n)
				}
			}
			t.Logf("%d of %d pages of the worker were shipped, and told of; %d requests were repeated. %s", len(told), len(had), repeated, said)
			if lost == 0 || len(told) == 0 || repeated < lost || repeated > lost+c.repeated(1) {
				t.Errorf("%d pages were lost and %d shipped, and %d requests repeated", lost, len(told), repeated)
			}
			for _, s := range c.web.hurried(c.delay) {
				t.Errorf("hurried: %s", s)
			}
			// The folder that was lost is refused, should it be found.
			if err := os.Rename(filepath.Join(c.dir, "gone"), filepath.Join(c.dir, "w9")); err != nil {
				t.Fatal(err)
			}
			cmd := shipping(shop, "crawl", "-o", filepath.Join(c.dir, "w9"), "--resume", "--join", c.engine)
			if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "was said to be lost") {
				t.Errorf("the lost folder: %v\n%s", err, said)
			}
			all := filepath.Join(c.dir, "all")
			c.waggle("cluster", "merge", "-o", all, w0.dir, w1.dir, back)
			c.waggle("verify", all)
			merged := 0
			for _, err := range collection.At(all).Fetched() {
				if err != nil {
					t.Fatal(err)
				}
				merged++
			}
			if merged != len(c.web.reachable()) {
				t.Errorf("%d pages are merged, and not %d", merged, len(c.web.reachable()))
			}
		})
	}
}

// lose says that the folder of a worker that was killed is lost.
func (c *crew) lose(name string) string {
	c.Helper()
	return c.waggle("cluster", "lost", name, "--join", c.engine)
}

// toldShipped is how many files of its archive a worker has shipped, as far as it has told.
func (c *crew) toldShipped(name string) int {
	c.Helper()
	for line := range strings.Lines(c.waggle("cluster", "status", "--json", "--join", c.engine)) {
		var s worker.Status
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			c.Fatal(err)
		}
		if s.Name == name && len(s.Shipped) > 0 {
			n, _, err := store.MarkedFile(s.Shipped)
			if err != nil {
				c.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// archivedBefore are the pages in the archive of a folder that are in its first n files.
func archivedBefore(t *testing.T, dir string, n int) map[string]int {
	t.Helper()
	out := map[string]int{}
	files, err := store.Numbered(collection.At(dir).ArchiveDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Number >= n {
			continue
		}
		for p, err := range store.Pieces(f.Path, -1) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Type == "metadata" && p.Meta.Page {
				out[strings.TrimPrefix(p.Target, "http://")]++
			}
		}
	}
	return out
}
