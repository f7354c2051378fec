package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// lateEngine does something before the call of a number.
type lateEngine struct {
	engine.Engine
	mu    sync.Mutex
	calls int
	at    int
	do    func()
}

func (e *lateEngine) call() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls++; e.calls == e.at {
		e.do()
	}
}

func (e *lateEngine) Append(ctx context.Context, d ...engine.Draft) ([]engine.Position, error) {
	e.call()
	return e.Engine.Append(ctx, d...)
}

func (e *lateEngine) Read(ctx context.Context, from map[string]engine.Position, do func(engine.Record) error) error {
	e.call()
	return e.Engine.Read(ctx, from, do)
}

func (e *lateEngine) End(ctx context.Context, log string) (engine.Record, error) {
	e.call()
	return e.Engine.End(ctx, log)
}

func (e *lateEngine) Get(ctx context.Context, key string) (engine.Entry, error) {
	e.call()
	return e.Engine.Get(ctx, key)
}

func (e *lateEngine) Put(ctx context.Context, key string, value []byte, was engine.Revision) (engine.Revision, error) {
	e.call()
	return e.Engine.Put(ctx, key, value, was)
}

func (e *lateEngine) List(ctx context.Context, prefix string) ([]engine.Entry, error) {
	e.call()
	return e.Engine.List(ctx, prefix)
}

// testShards is how many shards these tests have.
const testShards = 2

// page is a page of a site of a shard.
func page(t *testing.T, n int, name string) web.URL {
	t.Helper()
	for i := 0; ; i++ {
		u, err := web.Parse(fmt.Sprintf("http://s%d.example/%s", i, name))
		if err != nil {
			t.Fatal(err)
		}
		if shard.Of(u.Host(), testShards) == n {
			return u
		}
	}
}

func noEvents(_, _ []byte) iter.Seq2[event.Event, error] {
	return func(func(event.Event, error) bool) {}
}

// killedWorker is a folder's frontier that held all shards when its process ended, up to a
// record in each of their logs, and marks of its stores.
func killedWorker(t *testing.T, e engine.Engine) *frontier.Frontier {
	t.Helper()
	f := frontier.NewMemory(frontier.Options{})
	turn := web.Turn{State: map[string][]byte{
		stateSelf:          []byte(`{"worker":"me","session":"before"}`),
		crawl.StateArchive: []byte("10"), crawl.StateEvents: []byte("20"),
	}}
	for n := range testShards {
		at, err := e.Append(t.Context(), engine.Draft{Log: logDone(n), Data: (&doneRecord{worker: "me", taken: true}).encode()})
		if err != nil {
			t.Fatal(err)
		}
		turn.State[shardState(n)] = view{Last: at[0]}.encode()
		turn.Add = append(turn.Add, web.Candidate{URL: page(t, n, "0"), Priority: 1})
	}
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	return f
}

// open lets a worker join with a folder's frontier.
func open(t *testing.T, e engine.Engine, f *frontier.Frontier) *Worker {
	t.Helper()
	w := New(t.Context(), Options{Engine: e, Name: "w", Plan: Plan{Shards: testShards, Term: time.Hour}})
	if err := w.Open(t.Context(), f, Crawl{Events: noEvents}); err != nil {
		t.Fatal(err)
	}
	return w
}

// Turns that a power failure took from the frontier may be of several shards. It has the marks of the last one.
func TestLateTurnsOfSeveralShards(t *testing.T) {
	m := engine.NewMemory()
	f := killedWorker(t, m)
	var pages []web.URL
	for i, n := range []int{1, 0} {
		u := page(t, n, fmt.Sprint(i))
		pages = append(pages, u)
		record := doneRecord{worker: "me", archive: fmt.Append(nil, 11+i), events: fmt.Append(nil, 21+i), done: []web.URL{u}}
		last, err := m.End(t.Context(), logDone(n))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Append(t.Context(), engine.Draft{Log: logDone(n), Data: record.encode(), IfLast: true, Last: last.Position}); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(t, m, f).Close(""); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{crawl.StateArchive: "12", crawl.StateEvents: "22"} {
		if got, err := f.State(t.Context(), name); err != nil || string(got) != want {
			t.Errorf("the mark %s is %s, %v; want %s", name, got, err, want)
		}
	}
	for _, u := range pages {
		if standing := f.Standing(u); standing != frontier.Done {
			t.Errorf("%s is %v", u, standing)
		}
	}
}

// A turn that a worker logged as it was killed reaches the engine at any moment of the time
// in which its folder is opened again. Either it is in the log, and then the frontier holds
// it whole: the page as done, and the marks of the stores, whoever has the shard now; or it
// was refused, and then the frontier holds nothing of it.
func TestLateTurn(t *testing.T) {
	for _, held := range []bool{true, false} {
		outcomes := map[bool]int{} // by whether it was refused
		for at, done := 1, false; !done; at++ {
			m := engine.NewMemory()
			f := killedWorker(t, m)
			if !held { // another one has the shard, and did not look at its log yet
				if _, err := shard.Join(t.Context(), m, shard.Options{ID: "other", Shards: testShards, Term: time.Hour, Clock: clock.System{}}); err != nil {
					t.Fatal(err)
				}
				for n := range testShards {
					if _, err := m.Put(t.Context(), fmt.Sprint("shard.", n), []byte("other"), 0); err != nil {
						t.Fatal(err)
					}
				}
			}
			u, found := page(t, 0, "0"), page(t, 0, "1")
			record := doneRecord{worker: "me", archive: []byte("11"), events: []byte("21"), done: []web.URL{u}, links: []web.Candidate{{URL: found, Priority: 1}}}
			last, err := m.End(t.Context(), logDone(0))
			if err != nil {
				t.Fatal(err)
			}
			var sent bool
			var refused error
			e := &lateEngine{Engine: m, at: at, do: func() {
				sent = true
				_, refused = m.Append(context.Background(), engine.Draft{Log: logDone(0), Data: record.encode(), IfLast: true, Last: last.Position})
			}}
			w := open(t, e, f)
			e.mu.Lock()
			done, e.at = !sent, 0 // where there are fewer calls
			e.mu.Unlock()
			if err := w.Close(""); err != nil {
				t.Fatal(err)
			}
			if done {
				break
			}
			if refused != nil && !errors.Is(refused, engine.ErrChanged) {
				t.Fatal(refused)
			}
			outcomes[refused != nil]++
			archive, err := f.State(t.Context(), crawl.StateArchive)
			if err != nil {
				t.Fatal(err)
			}
			events, err := f.State(t.Context(), crawl.StateEvents)
			if err != nil {
				t.Fatal(err)
			}
			wantArchive, wantEvents := "11", "21"
			if refused != nil {
				wantArchive, wantEvents = "10", "20"
			}
			if string(archive) != wantArchive || string(events) != wantEvents {
				t.Errorf("held %v, before call %d, refused: %v: the marks are %s and %s, not %s and %s", held, at, refused, archive, events, wantArchive, wantEvents)
			}
			if standing := f.Standing(u); (standing == frontier.Done) != (refused == nil) {
				t.Errorf("held %v, before call %d, refused: %v: the page is %v", held, at, refused, standing)
			}
		}
		if outcomes[true] == 0 || outcomes[false] == 0 {
			t.Errorf("held %v: refused in %d of the moments, and not in %d", held, outcomes[true], outcomes[false])
		}
	}
}
