package worker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
)

// The plan of the crawl holds for all workers: what is asked for otherwise is refused, and a folder
// makes no new crawl of its own.
func TestPlanHolds(t *testing.T) {
	store := engine.NewMemory()
	agree := func(crawl string, shards int, term time.Duration) error {
		w := New(t.Context(), Options{Engine: store, Plan: Plan{Shards: shards, Term: term}})
		defer w.Close("")
		w.self.Crawl = crawl
		return w.agree(t.Context())
	}
	if err := agree("another engine's", 0, 0); !errors.Is(err, ErrUnknown) {
		t.Errorf("a folder joins an empty engine: %v", err)
	}
	if x, err := store.Get(t.Context(), keyCrawl); err != nil || x.Revision != 0 {
		t.Errorf("it made a crawl there: %+v, %v", x, err)
	}
	for _, x := range []struct {
		shards int
		term   time.Duration
		says   string
	}{
		{64, 20 * time.Second, ""}, // it begins
		{0, 0, ""},
		{64, 20 * time.Second, ""},
		{32, 0, "the crawl has 64 shards, and 32 were asked for"},
		{0, time.Minute, "the term of the crawl is 20s, and 1m0s was asked for"},
	} {
		err := agree("", x.shards, x.term)
		if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%d shards and a term of %v: %v", x.shards, x.term, err)
		}
	}
}
