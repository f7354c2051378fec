package worker

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// silent is an engine that stopped answering once a worker had connected to it.
type silent struct {
	engine.Engine
	asked chan struct{}
}

func (s silent) Get(ctx context.Context, _ string) (engine.Entry, error) {
	s.asked <- struct{}{}
	<-ctx.Done()
	return engine.Entry{}, ctx.Err()
}

// A worker that waits for an engine which is gone can be told so: it may join again.
func TestGiveUpJoining(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e := silent{engine.NewMemory(), make(chan struct{}, 1)}
	w := New(ctx, Options{Engine: e, Name: "w"})
	f := frontier.NewMemory(frontier.Options{})
	defer f.Close()
	gone := errors.New("the engine is gone")
	go func() {
		<-e.asked
		w.GiveUp(gone)
	}()
	if err := w.Open(w.Context(), f, Crawl{}); err == nil {
		t.Error("it joined an engine that does not answer")
	}
	if err := w.Close(""); err != nil {
		t.Errorf("it leaves: %v", err)
	}
	if err := w.Failed(); !errors.Is(err, ErrOver) || !errors.Is(err, gone) {
		t.Errorf("it ends with %v", err)
	}
	if ctx.Err() != nil {
		t.Error("it waited until the test was over")
	}
}

// A worker that waits for others is seen to, and has not had enough of them when it is to join again.
func TestWaitsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := engine.NewMemory()
		open := func(name string) (w *Worker, opened chan error) {
			w, opened = New(t.Context(), Options{Engine: store, Name: name, Least: 2, Plan: Plan{Shards: 4, Term: 3 * time.Second}}), make(chan error, 1)
			go func() {
				f := frontier.NewMemory(frontier.Options{})
				opened <- errors.Join(w.Open(w.Context(), f, Crawl{}), f.Close())
			}()
			return w, opened
		}
		states := func() (out []string) {
			s, err := Look(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range s.Workers {
				out = append(out, w.Name+" "+w.State())
			}
			return out
		}
		alone, opened := open("a")
		time.Sleep(time.Second)
		if got := states(); !slices.Equal(got, []string{"a waiting"}) {
			t.Errorf("one of two: %v", got)
		}
		alone.GiveUp(errors.New("the engine is gone"))
		if err := <-opened; err == nil || alone.HadEnough() {
			t.Errorf("it gave up: %v; it had enough: %v", err, alone.HadEnough())
		}
		alone.Close("")
		first, one := open("b")
		second, two := open("c")
		if err := errors.Join(<-one, <-two); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // both have told of themselves since
		if got := states(); slices.Contains(got, "b waiting") || slices.Contains(got, "c waiting") || !first.HadEnough() || !second.HadEnough() {
			t.Errorf("two of two: %v", got)
		}
		if err := errors.Join(first.Close(""), second.Close("")); err != nil {
			t.Error(err)
		}
	})
}

// A worker that waits for others does not wait where the crawl is over: they need not come back.
func TestWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := engine.NewMemory()
		open := func(name string, least int) *Worker {
			w := New(t.Context(), Options{Engine: store, Name: name, Least: least, Plan: Plan{Shards: 4, Term: 3 * time.Second}})
			f := frontier.NewMemory(frontier.Options{})
			t.Cleanup(func() { f.Close() })
			ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
			defer cancel()
			if err := w.Open(ctx, f, Crawl{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return w
		}
		if err := open("a", 1).Close("FrontierEmpty"); err != nil {
			t.Fatal(err)
		}
		b := open("b", 2)
		b.mu.Lock()
		if n := len(b.holds) + b.taking; n != 4 {
			t.Errorf("it takes %d of 4 shards, which nobody has", n)
		}
		b.mu.Unlock()
		if err := b.Close("FrontierEmpty"); err != nil {
			t.Error(err)
		}
	})
}

// deaf is an engine that does not take in what is put once it is off.
type deaf struct {
	engine.Engine
	off *atomic.Bool
}

func (e deaf) Put(ctx context.Context, key string, value []byte, was engine.Revision) (engine.Revision, error) {
	if e.off.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return e.Engine.Put(ctx, key, value, was)
}

// A worker whose session is over asks for nothing any more, not even for a robots.txt: others ask its hosts.
func TestOverAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Bool
		w := New(t.Context(), Options{Engine: deaf{engine.NewMemory(), &off}, Name: "w", Plan: Plan{Shards: 1, Term: 3 * time.Second}})
		f := frontier.NewMemory(frontier.Options{})
		defer f.Close()
		if err := w.Open(w.Context(), f, Crawl{}); err != nil {
			t.Fatal(err)
		}
		busy := (*web.Failure)(nil)
		if err := w.MayAsk(w.Context(), "a.example", true); !errors.As(err, &busy) || busy.Reason != web.ReasonBusy {
			t.Errorf("for a page of a host that it does not hold yet: %v", err)
		}
		w.mu.Lock()
		w.holds[0] = &liveShard{}
		w.mu.Unlock()
		for _, page := range []bool{false, true} {
			if err := w.MayAsk(w.Context(), "a.example", page); err != nil {
				t.Errorf("page %v: %v", page, err)
			}
		}
		off.Store(true)
		time.Sleep(2 * time.Second)
		for _, page := range []bool{false, true} {
			if err := w.MayAsk(t.Context(), "a.example", page); !errors.Is(err, context.Canceled) {
				t.Errorf("when its session is over, page %v: %v", page, err)
			}
		}
		if err := w.Failed(); !errors.Is(err, ErrOver) {
			t.Errorf("it ends with %v", err)
		}
		w.Close("")
	})
}
