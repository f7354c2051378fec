package collection

import (
	"iter"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// A frontier that has lost the end of its seen-set is told what is done: the seed that
// failed and entered once more is not.
func TestRemind(t *testing.T) {
	failed := func(path string, retry bool) event.Event {
		return event.Failed{Visit: event.Visit{URL: address(path)}, Reason: web.ReasonStatus, Retry: retry}
	}
	seeded := func(path string) event.Event {
		return event.Seeded{Queued: []event.Found{{URL: address(path)}}}
	}
	events := []event.Event{
		seeded("again"), seeded("gone"), failed("again", false), failed("gone", false), failed("busy", true),
		event.Fetched{Visit: event.Visit{URL: address("page")}}, seeded("again"), seeded("gone"), failed("gone", false),
	}
	f := frontier.NewMemory(frontier.Options{})
	add := web.Turn{}
	for _, path := range []string{"again", "busy", "gone", "page", "new"} {
		add.Add = append(add.Add, web.Candidate{URL: address(path)})
	}
	if _, err := f.Commit(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	log := func(yield func(event.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
	if err := remind(t.Context(), f, iter.Seq2[event.Event, error](log)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]frontier.Standing{
		"again": frontier.Waiting, "busy": frontier.Waiting, "gone": frontier.Done, "page": frontier.Done, "new": frontier.Waiting,
	} {
		if got := f.Standing(address(path)); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
