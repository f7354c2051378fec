package worker

import (
	"context"
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

// A worker that was not the first to begin a crawl waits until it sees the plan of the other.
func TestPlanIsBehind(t *testing.T) {
	store := &behindEngine{Engine: engine.NewMemory(), times: 3}
	agree := func(e engine.Engine, shards int) (Plan, error) {
		w := New(t.Context(), Options{Engine: e, Plan: Plan{Shards: shards}})
		defer w.Close("")
		err := w.agree(t.Context())
		return w.plan, err
	}
	if _, err := agree(store.Engine, 64); err != nil {
		t.Fatal(err)
	}
	if p, err := agree(store, 0); err != nil || p.Shards != 64 {
		t.Errorf("%d shards, %v", p.Shards, err)
	}
}

// behindEngine is an engine whose copy that is asked for keys is behind so many times.
type behindEngine struct {
	engine.Engine
	times int
}

func (b *behindEngine) Get(ctx context.Context, key string) (engine.Entry, error) {
	if b.times > 0 {
		b.times--
		return engine.Entry{Key: key}, nil
	}
	return b.Engine.Get(ctx, key)
}

// Another job than that of the crawl is refused before anything is done for it, by what of it is known then; nothing is
// refused where no crawl has begun, and of a crawl that acts have changed, what they change is not looked at.
func TestAgreeBeforehand(t *testing.T) {
	store := engine.NewMemory()
	job := map[string]string{"topic.keywords": `["bee"]`, "judge.threshold": "0.3", "budget.pages": "10"}
	worker := func(shards int) *Worker {
		w := New(t.Context(), Options{Engine: store, Plan: Plan{Shards: shards, Settings: job}})
		t.Cleanup(func() { w.Close("") })
		return w
	}
	wasps := map[string]string{"topic.keywords": `["wasp"]`}
	if err := worker(0).Agree(t.Context(), wasps, false); err != nil {
		t.Errorf("of a crawl that nobody has begun: %v", err)
	}
	if err := worker(64).agree(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		settings map[string]string
		shards   int
		goesOn   bool
		says     string
	}{
		{map[string]string{"topic.keywords": `["bee"]`}, 0, false, ""}, // the threshold is not known yet
		{job, 64, false, ""},
		{wasps, 0, false, "topic.keywords is bee there and wasp here"},
		{map[string]string{"topic.examples": "x"}, 0, false, "topic.examples is nothing there and x here"},
		{job, 7, false, "the crawl has 64 shards, and 7 were asked for"},
		{wasps, 0, true, "topic.keywords is bee there and wasp here"},
	} {
		err := worker(x.shards).Agree(t.Context(), x.settings, x.goesOn)
		if (err == nil) != (x.says == "") || err != nil && (!strings.Contains(err.Error(), x.says) || !errors.As(err, new(*RefusedError))) {
			t.Errorf("%v: %v, want %q", x.settings, err, x.says)
		}
	}
	if _, err := store.Append(t.Context(), engine.Draft{Log: logActs, Data: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := worker(0).Agree(t.Context(), wasps, true); err != nil {
		t.Errorf("keywords that acts have changed: %v", err)
	}
	if err := worker(0).Agree(t.Context(), wasps, false); err == nil {
		t.Error("a new worker with other keywords is not refused")
	}
}
