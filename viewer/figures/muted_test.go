package figures

import (
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Links that mutes set aside are counted once each, whether they waited or were found in a muted
// place, until they wait again, are refused for another reason, or are fetched. An end without a
// link that waits says how many there are.
func TestMuted(t *testing.T) {
	u := func(path string) web.URL { return addr(t, "https://muted.test/"+path) }
	skipped := func(r web.Reason, paths ...string) (l []event.Skipped) {
		for _, p := range paths {
			l = append(l, event.Skipped{URL: u(p), Reason: r})
		}
		return l
	}
	queued := func(paths ...string) (l []event.Found) {
		for _, p := range paths {
			l = append(l, event.Found{URL: u(p), Priority: .5})
		}
		return l
	}
	c := New()
	for i, x := range []struct {
		what           string
		event          event.Event
		muted, waiting int
	}{
		{"four links", event.Received{Queued: queued("a", "b", "c", "d")}, 0, 4},
		{"three leave as they are muted", event.Dropped{Reason: web.ReasonMuted, Count: 3, URLs: []web.URL{u("a"), u("b"), u("c")}}, 3, 1},
		{"two are found there, one of them known", event.Received{Skipped: skipped(web.ReasonMuted, "a", "e")}, 4, 1},
		{"the same again", event.Received{Skipped: skipped(web.ReasonMuted, "a", "e")}, 4, 1},
		{"others leave the queue", event.Dropped{Reason: web.ReasonQueue, Count: 1, URLs: []web.URL{u("d")}}, 4, 0},
		{"the end", event.Ended{How: event.FrontierEmpty}, 4, 0},
		{"undone: two wait, one is refused", event.Received{Queued: queued("a", "e"), Skipped: skipped(web.ReasonScope, "b")}, 1, 2},
		{"a redirect led to another", event.Fetched{Visit: event.Visit{URL: u("c")}}, 0, 2},
		{"a page is found in a muted place", event.Received{Skipped: skipped(web.ReasonMuted, "c")}, 0, 2},
	} {
		c.Add(x.event, int64(i))
		f := c.Figures()
		if f.Muted != x.muted || f.Waiting != x.waiting {
			t.Errorf("%s: %d muted, %d wait; want %d and %d", x.what, f.Muted, f.Waiting, x.muted, x.waiting)
		}
		if want := "no link is left, but 4 that mutes set aside"; f.Ended == event.FrontierEmpty && x.muted == 4 && f.EndedWords != want {
			t.Errorf("%s: %q, want %q", x.what, f.EndedWords, want)
		}
	}
	c.Add(event.Fetched{Visit: event.Visit{URL: u("f")}, Telling: 3}, 20)
	c.Add(event.Fetched{Visit: event.Visit{URL: u("g")}, Telling: 1}, 21)
	if f := c.Failures(); c.Figures().Skipped == 0 || !slices.ContainsFunc(c.Skips(), func(x Cause) bool { return x.Reason == web.ReasonTelling && x.Count == 4 && len(x.Examples) == 2 }) {
		t.Errorf("of links that repeat a secret the page tells %v, %v", f, c.Skips())
	}
	if got := c.Fate(u("b")).Fate; got != event.Unseen {
		t.Errorf("one that is refused is %v", got)
	}
}
