package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOlderEngine brings an engine back from a backup that is older than the folders of its workers. They
// are refused, also once others have gone on with it for longer than they had; and with new folders in their
// place nothing is lost: what is merged of all has each page, once.
func TestOlderEngine(t *testing.T) {
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
	old := session(2 * pages / 3)
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
	if n := len(c.table(c.merge(append(hands, old...)...))); n != pages {
		t.Errorf("%d pages of %d", n, pages)
	}
	for _, s := range c.web.hurried(c.delay) {
		t.Errorf("hurried: %s", s)
	}
}
