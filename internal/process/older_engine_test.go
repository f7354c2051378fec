package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/long"
)

// TestOlderEngine brings an engine back from a backup that is older than the folders of its workers. They
// are refused, also once others have gone on with it for longer than they had; and with new folders in their
// place nothing is lost: what is merged of all has each page, once.
func TestOlderEngine(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	c := newCrew(t, 30, 12, 0)
	c.args = []string{"--workers", fmt.Sprint(atATime)}
	c.kept = filepath.Join(c.dir, "served")
	c.serveEngine()
	pages := len(c.web.reachable())
	session := func(most int) (hands []*hand) {
		c.web.allow(most)
		hands = []*hand{c.start("w0"), c.start("w1")}
		c.web.await(t, most)
		for _, h := range hands {
			h.stop()
		}
		c.stopEngine()
		return hands
	}
	session(pages / 3)
	backup := filepath.Join(c.dir, "backup")
	if err := os.CopyFS(backup, os.DirFS(c.kept)); err != nil {
		t.Fatal(err)
	}
	c.serveEngine()
	had := map[string]int{} // pages of a worker's folder at the time of the backup
	for _, name := range []string{"w0", "w1"} {
		had[name] = len(c.fetched(name))
	}
	both := session(2 * pages / 3)
	// A worker that started late may have fetched nothing since, and goes on.
	old := slices.DeleteFunc(slices.Clone(both), func(h *hand) bool { name := filepath.Base(h.dir); return len(c.fetched(name)) == had[name] })
	if len(old) == 0 {
		t.Fatal("no worker has fetched anything since the backup")
	}
	if err := errors.Join(os.RemoveAll(c.kept), os.Rename(backup, c.kept)); err != nil {
		t.Fatal(err)
	}
	c.serveEngine()
	refused := func() {
		t.Helper()
		for _, h := range old {
			h := c.start(filepath.Base(h.dir))
			if err := h.wait(); err == nil || !strings.Contains(h.out.String(), "the engine is older than this folder") || joinedAgain(h) > 0 {
				t.Errorf("%s: %v\n%s", h.dir, err, h.out.String())
			}
		}
	}
	refused()
	c.web.allow(0)
	hands := []*hand{c.start("w2"), c.start("w3")}
	c.finish(hands...)
	refused()
	if n := len(c.table(c.merge(append(hands, both...)...))); n != pages {
		t.Errorf("%d pages of %d", n, pages)
	}
	for _, s := range c.web.hurried(c.delay) {
		t.Errorf("hurried: %s", s)
	}
}

// fetched are the pages that the log of a worker has: none where it was stopped before it began.
func (c *crew) fetched(name string) (pages []string) {
	c.Helper()
	if !collection.At(filepath.Join(c.dir, name)).Begun() {
		return nil
	}
	for e, err := range collection.At(filepath.Join(c.dir, name)).Fetched() {
		if err != nil {
			c.Fatal(err)
		}
		pages = append(pages, e.URL.String())
	}
	return pages
}
