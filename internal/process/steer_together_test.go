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
)

// told waits until the log of a worker has n acts, and returns them.
func (h *hand) told(n int) []string {
	h.c.Helper()
	ctx, cancel := context.WithTimeout(h.c.Context(), time.Minute)
	defer cancel()
	for {
		var out []string
		if c := collection.At(h.dir); c.Begun() {
			for e, err := range event.ReadKinds(c.EventLog(), event.Act{}.Kind()) {
				if a, ok := e.(event.Act); ok && err == nil {
					out = append(out, fmt.Sprint(a.Number, " ", a.Words(), a.Refused))
				}
			}
		}
		if len(out) >= n {
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

// TestSteeredWorkers tells workers things, each another one: all do them, also one that comes
// later, and one that is killed and comes back while the crawl stands still.
func TestSteeredWorkers(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 30, 40, 40*time.Millisecond)
	c.serveEngine()
	w0, w1 := c.start("w0", "--workers-min", "2"), c.start("w1", "--workers-min", "2")
	c.web.await(t, 60)
	c.waggle("steer", w0.dir, "pause")
	w0.told(1)
	w1.told(1)
	c.waggle("steer", w1.dir, "mute", siteName(7))
	w0.told(2)
	w2 := c.start("w2")
	w2.told(2)
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
	if said := c.waggle("explain", "-o", all, "http://"+siteName(7)+"/39"); !strings.Contains(said, "mute") {
		t.Errorf("explained: %s", said)
	}
}
