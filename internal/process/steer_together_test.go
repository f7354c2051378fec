package process

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/long"
)

// told waits until the log of a worker is there and has n acts, and returns them.
func (h *hand) told(n int) []string {
	h.c.Helper()
	ctx, cancel := context.WithTimeout(h.c.Context(), patience)
	defer cancel()
	for {
		var out []string
		log := collection.At(h.dir).EventLog()
		begun := folder.Exists(log)
		if begun {
			for e, err := range event.ReadKinds(log, event.Act{}.Kind()) {
				if a, ok := e.(event.Act); ok && err == nil {
					out = append(out, fmt.Sprint(a.Number, " ", a.Words(), a.Refused))
				}
			}
		}
		if begun && len(out) >= n {
			return out
		}
		select {
		case <-ctx.Done():
			h.kill()
			h.c.Fatalf("%s has the acts %q, and not %d\n%s", h.dir, out, n, h.out.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// leftOut is a page of a site to which a page links that was fetched, and that was not fetched itself.
func (c *crew) leftOut(site string) string {
	c.Helper()
	have := c.pages()
	for from := range have {
		var i, j int
		if _, err := fmt.Sscanf(from, "s%d.example/%d", &i, &j); err != nil {
			c.Fatal(err)
		}
		for _, to := range c.web.links(i, j) {
			if have[to] == 0 && strings.HasPrefix(to, site+"/") {
				return to
			}
		}
	}
	c.Fatalf("all pages of %s were fetched that are linked", site)
	return ""
}

// TestSteeredWorkers tells workers things, each another one: all do them, also one that comes
// later, and one that is killed and comes back while the crawl stands still.
func TestSteeredWorkers(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	c := newCrew(t, 30, 40, 40*time.Millisecond)
	c.serveEngine()
	c.web.allow(60) // no page more before all workers are told of the muted site
	w0, w1 := c.start("w0", "--workers-min", "2"), c.start("w1", "--workers-min", "2")
	c.web.await(t, 60)
	w0.told(0) // it has begun, whoever has fetched these pages
	c.waggle("steer", w0.dir, "pause")
	w0.told(1)
	w1.told(1)
	c.waggle("steer", w1.dir, "mute", siteName(7))
	w0.told(2)
	w1.told(2)
	w2 := c.start("w2")
	w2.told(2)
	c.web.allow(0)
	w0.kill()
	w0 = c.start("w0")
	c.waggle("steer", w2.dir, "boost", siteName(3))
	c.waggle("steer", w2.dir, "relevant", "http://"+siteName(0)+"/0")
	c.waggle("steer", w2.dir, "budget", "400")
	for _, h := range []*hand{w0, w1, w2} {
		h.told(5)
	}
	c.waggle("steer", w0.dir, "continue")
	c.finish(w0, w1, w2)
	want := []string{"1 pause", "2 mute s7.example", "3 boost s3.example", "4 relevant http://s0.example/0", "5 budget 400", "6 continue"}
	pages := 0
	for _, h := range []*hand{w0, w1, w2} {
		if got := h.told(6); !slices.Equal(got, want) {
			t.Errorf("%s has %q", h.dir, got)
		}
		paused, muted := false, false
		for e, err := range collection.At(h.dir).Events() {
			if err != nil {
				t.Fatal(err)
			}
			switch e := e.(type) {
			case event.Act:
				switch e.Do {
				case event.Pause, event.Continue:
					paused = e.Do == event.Pause
				case event.Mute:
					muted = true
				}
			case event.Fetched:
				pages++
				// What was under way at the pause still ends.
				if strings.HasPrefix(e.URL.String(), "http://"+siteName(7)) && muted && !paused {
					t.Errorf("%s fetched %s", h.dir, e.URL)
				}
			}
		}
	}
	if reachable := len(c.web.reachable()); pages < 400 || pages >= reachable {
		t.Errorf("%d pages of %d, with a budget of 400", pages, reachable)
	}
	all := c.merge(w0, w1, w2)
	if said := c.waggle("steer", all, "list"); strings.Count(said, "\n") != 6 || !strings.Contains(said, "mute s7.example") {
		t.Errorf("merged: %s", said)
	}
	u := c.leftOut(siteName(7))
	if said := c.waggle("explain", "-o", all, "http://"+u); !strings.Contains(said, "mute") {
		t.Errorf("explained: %s", said)
	}
}

// What is told to a worker that does not run waits in its folder, and all take it in when it
// comes back, although the budget was spent. A label of a page that nobody has does not look as
// if it was done, and a crawl that is over takes nothing in any more.
func TestToldLate(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	c := newCrew(t, 12, 6, 0)
	c.args = []string{"--pages", "20"}
	c.serveEngine()
	w0, w1 := c.start("w0", "--workers-min", "2"), c.start("w1", "--workers-min", "2")
	c.finish(w0, w1)
	steer := func(h *hand, args ...string) string { return c.waggle(append([]string{"steer", h.dir}, args...)...) }
	lists := func(h *hand, want ...string) {
		t.Helper()
		said := steer(h, "list")
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("%s lists\n%swithout %q", h.dir, said, w)
			}
		}
	}
	if said := steer(w0, "relevant", "http://"+siteName(0)+"/0"); !strings.Contains(said, "when this one goes on") {
		t.Errorf("told a worker that does not run: %s", said)
	}
	steer(w0, "relevant", "http://"+siteName(1)+"/none")
	steer(w0, "budget", "1000")
	// It is told to pause, and later the other one, which does not know of that, to go on.
	steer(w0, "pause")
	steer(w1, "continue")
	lists(w0, "waits                 relevant http://s0.example/0", "waits                 budget 1000")
	c.args = nil
	// The other one comes back first: it hears of them when the first one does.
	w1 = c.start("w1", "--workers-min", "2")
	w1.says("waits for 2 workers", 1)
	w0 = c.start("w0", "--workers-min", "2")
	c.finish(w0, w1)
	want := []string{"1 continue", "2 relevant http://s0.example/0", "3 relevant http://s1.example/none", "4 budget 1000", "5 pause"}
	for _, h := range []*hand{w0, w1} {
		got := h.told(5)
		pause, why, _ := strings.Cut(got[4], "the worker that was told it at ")
		if !slices.Equal(append(slices.Clip(got[:4]), pause), want) || !strings.Contains(why, "before act 1, continue, was told at") {
			t.Errorf("%s has %q", h.dir, got)
		}
		lists(h, "relevant http://s1.example/none: not done, no worker that was heard of has a page of this address")
		if said := steer(h, "list"); strings.Contains(said, "waits") || strings.Contains(said, "s0.example/0: not") {
			t.Errorf("%s lists\n%s", h.dir, said)
		}
	}
	if have, reachable := len(c.pages()), len(c.web.reachable()); have != reachable {
		t.Errorf("%d pages of %d", have, reachable)
	}
	said, err := waggleCommand([]string{"steer", w0.dir, "budget", "2000"}).CombinedOutput()
	if err == nil || !strings.Contains(string(said), "is over") {
		t.Errorf("told a crawl that is over: %v, %s", err, said)
	}
}

// Links of a muted place come back when that is undone, whichever worker has set them aside: while
// the workers crawl, and in what is merged of their folders.
func TestUnmutedWorkers(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	c := newCrew(t, 20, 12, 0)
	c.serveEngine()
	c.web.allow(40)
	w0, w1 := c.start("w0", "--workers-min", "2"), c.start("w1", "--workers-min", "2")
	c.web.await(t, 40)
	w1.told(0) // it has begun, whoever has fetched these pages
	for i, site := range []int{7, 11} {
		c.waggle("steer", w1.dir, "mute", siteName(site))
		w0.told(i + 1)
		w1.told(i + 1)
	}
	c.web.allow(100)
	c.web.await(t, 100)
	c.waggle("steer", w0.dir, "undo", "1")
	w0.told(3)
	w1.told(3)
	c.web.allow(0)
	c.finish(w0, w1)

	reachable := c.web.reachable()
	missing := func() (sites []string) {
		have := c.web.counts()
		for u := range reachable {
			if have[u] == 0 {
				site, _, _ := strings.Cut(u, "/")
				sites = append(sites, site)
			}
		}
		slices.Sort(sites)
		return slices.Compact(sites)
	}
	if got := missing(); slices.Contains(got, siteName(7)) || !slices.Contains(got, siteName(11)) {
		t.Errorf("pages of %v were not fetched, and %s alone is muted", got, siteName(11))
	}
	all := c.merge(w0, w1)
	c.waggle("steer", all, "undo", "2")
	c.waggle("crawl", "-o", all, "--resume", "--delay", "0")
	if got := missing(); got != nil {
		t.Errorf("pages of %v were not fetched, and nothing is muted", got)
	}
}
