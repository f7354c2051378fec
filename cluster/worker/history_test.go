package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// A folder is refused by an engine that lacks what the folder has of the crawl, or where others have
// written something else at these places, and the engine is left as it was.
func TestOlderEngine(t *testing.T) {
	mine := (&doneRecord{worker: "me", taken: true}).encode()
	theirs := (&doneRecord{worker: "other", taken: true}).encode()
	link := linkRecords(linkRecord{}, []web.Candidate{{URL: page(t, 0, "1"), Priority: 1}})[0]
	link2 := linkRecords(linkRecord{}, []web.Candidate{{URL: page(t, 0, "2"), Priority: 1}})[0]
	lesson := (&forAll{worker: "other", lessons: []crawl.Lesson{{Data: []byte("x")}}}).encode()
	act := func(do event.Verb) []byte {
		b, err := encodeAct("other", 1, event.Act{Do: do})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	// Positions of the engine in memory count the records of all logs.
	type record struct {
		log  string
		data []byte
	}
	whole := []record{
		{logActs, act(event.Pause)}, {logDone(0), mine}, {logDone(1), mine}, {logLinks(0), link}, {logAll, lesson},
	}
	changed := func(i int, r record) []record {
		list := append([]record(nil), whole...)
		list[i] = r
		return append(list, record{logDone(0), theirs}, record{logLinks(0), link2}, record{logAll, lesson})
	}
	views := map[int]view{0: {Last: 2, Links: 4, Sum: sum(link)}, 1: {Last: 3}}
	all := view{Last: 5, Sum: sum(lesson)}
	for _, c := range []struct {
		name    string
		records []record
		losses  int // that the folder knows of
		sums    bool
		refused string
	}{
		{"the same", whole, 0, true, ""},
		{"newer", append(append([]record(nil), whole...), record{logLinks(0), link2}, record{logDone(1), theirs}), 0, true, ""},
		{"newer, folder of an earlier version", append(append([]record(nil), whole...), record{logLinks(0), link2}), 0, false, ""},
		{"without what all are told", whole[:4], 0, true, "record 5 of the log all"},
		{"without links", whole[:3], 0, true, "record 4 of the log links.0"},
		{"without links, folder of an earlier version", whole[:3], 0, false, "record 4 of the log links.0"},
		{"without own pages", append(append([]record(nil), whole[:2]...), record{logDone(0), theirs}, whole[3], whole[4]), 0, true, "record 3 of the log done.1"},
		{"without anything", nil, 0, true, "is not there"},
		{"another went on: links", changed(3, record{logLinks(0), link2}), 0, true, "record 4 of the log links.0"},
		{"another went on: all", changed(4, record{logAll, mine}), 0, true, "record 5 of the log all"},
		{"another went on: pages", changed(1, record{logDone(0), theirs}), 0, true, "record 2 of the log done.0"},
		{"another went on: in another log", changed(3, record{logLinks(1), link}), 0, true, "record 4 of the log links.0"},
		{"acts", changed(0, record{logActs, act(event.Continue)}), 0, true, `the crawl was told "pause", act 1`},
		{"without losses", whole, 1, true, "it was said of 1 folders"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := engine.NewMemory()
			if _, err := m.Put(t.Context(), keyCrawl, fmt.Appendf(nil, `{"shards":%d,"term_ns":%d,"id":"C","format":%d}`, testShards, time.Hour, format), 0); err != nil {
				t.Fatal(err)
			}
			for _, r := range c.records {
				if _, err := m.Append(t.Context(), engine.Draft{Log: r.log, Data: r.data}); err != nil {
					t.Fatal(err)
				}
			}
			f := frontier.NewMemory(frontier.Options{})
			state := map[string][]byte{stateSelf: []byte(`{"crawl":"C","worker":"me","session":"before"}`), stateAll: all.encode()}
			for n, v := range views {
				if v.Losses = c.losses; !c.sums {
					v.Sum = 0
				}
				state[shardState(n)] = v.encode()
			}
			if _, err := f.Commit(t.Context(), web.Turn{State: state}); err != nil {
				t.Fatal(err)
			}
			w := New(t.Context(), Options{Engine: m, Name: "w", Plan: Plan{Shards: testShards, Term: time.Hour}})
			err := w.Open(t.Context(), f, Crawl{Events: noEvents, Taken: func() []event.Act { return []event.Act{{Number: 1, Do: event.Pause}} }})
			if c.refused == "" {
				if err != nil {
					t.Error(err)
				}
			} else if !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("refused with %v, and not with %q", err, c.refused)
			} else if list, err := m.List(t.Context(), ""); err != nil || len(list) != 1 {
				t.Errorf("the engine has the keys %v, %v", list, err)
			}
			if err := w.Close(""); err != nil {
				t.Error(err)
			}
		})
	}
}

// A crawl whose messages are of another format is refused.
func TestOtherFormat(t *testing.T) {
	m := engine.NewMemory()
	if _, err := m.Put(t.Context(), keyCrawl, []byte(`{"shards":2,"term_ns":3600000000000,"id":"C"}`), 0); err != nil {
		t.Fatal(err)
	}
	w := New(t.Context(), Options{Engine: m, Name: "w"})
	err := w.Open(t.Context(), frontier.NewMemory(frontier.Options{}), Crawl{})
	if err == nil || !strings.Contains(err.Error(), "messages have format 1, where this one has 4") {
		t.Errorf("joined with %v", err)
	}
	if err := w.Close(""); err != nil {
		t.Error(err)
	}
}

// swappedEngine has other logs from a moment on, and the same keys.
type swappedEngine struct {
	engine.Engine
	mu   sync.Mutex
	logs engine.Engine
}

func (e *swappedEngine) of() engine.Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.logs
}

func (e *swappedEngine) Append(ctx context.Context, d ...engine.Draft) ([]engine.Position, error) {
	return e.of().Append(ctx, d...)
}

func (e *swappedEngine) End(ctx context.Context, log string) (engine.Record, error) {
	return e.of().End(ctx, log)
}

func (e *swappedEngine) First(ctx context.Context, log string, from engine.Position) (engine.Record, error) {
	return e.of().First(ctx, log, from)
}

// An engine whose logs become older within a session is noticed, also by a worker that sends nothing: the
// session ends, and the folder is refused when it joins again.
func TestOlderWithinSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &swappedEngine{Engine: engine.NewMemory()}
		e.logs = e.Engine
		f := killedWorker(t, e)
		join := func() (*Worker, error) {
			w := New(t.Context(), Options{Engine: e, Name: "w", Plan: Plan{Shards: testShards, Term: 15 * time.Second}})
			return w, w.Open(t.Context(), f, Crawl{Events: noEvents})
		}
		w, err := join()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := w.Failed(); err != nil {
			t.Fatalf("before: %v", err)
		}
		older := engine.NewMemory()
		for range 2 { // others go on with it
			if _, err := older.Append(t.Context(), engine.Draft{Log: logDone(0), Data: w.takes()}); err != nil {
				t.Fatal(err)
			}
		}
		e.mu.Lock()
		e.logs = older
		e.mu.Unlock()
		time.Sleep(2 * time.Second)
		if err := w.Failed(); !errors.Is(err, ErrOver) || !errors.Is(err, ErrOlder) {
			t.Errorf("the session: %v", err)
		}
		if err := w.Close(""); err != nil {
			t.Error(err)
		}
		again, err := join()
		if !errors.Is(err, ErrOlder) {
			t.Errorf("joined again: %v", err)
		}
		if err := again.Close(""); err != nil {
			t.Error(err)
		}
	})
}

// A worker that is stopped before its crawl has told anything tells what it told last: its pages count.
func TestToldBefore(t *testing.T) {
	m := engine.NewMemory()
	f := killedWorker(t, m)
	for i, tell := range []bool{true, false} {
		w := open(t, m, f)
		if tell {
			w.Tell(time.Now(), true, func() crawl.Standing { return crawl.Standing{Pages: 7, Relevant: 3, InFlight: 2, Held: 4} })
		}
		if err := w.Close(""); err != nil {
			t.Fatal(err)
		}
		list, err := Workers(t.Context(), m)
		if err != nil || len(list) != 1 || list[0].Standing.Pages != 7 || list[0].Standing.Relevant != 3 || list[0].Ended != "Stopped" {
			t.Errorf("session %d: %+v, %v", i, list, err)
		}
		if !tell && list[0].Standing.InFlight+list[0].Standing.Held != 0 {
			t.Errorf("what was under way before is told again: %+v", list[0].Standing)
		}
	}
}
