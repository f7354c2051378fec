package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// linksTo are the addresses in the log of links to a shard, in order.
func linksTo(t *testing.T, e engine.Engine, n int) (out []string) {
	t.Helper()
	end, err := e.End(t.Context(), logLinks(n))
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{e: e}
	err = w.readTo(t.Context(), nil, map[string]engine.Position{logLinks(n): end.Position}, func(r engine.Record) error {
		_, links, err := readLinkRecord(r.Data)
		for _, c := range links {
			out = append(out, c.URL.String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// done leases the page of shard 0 and sends the turn that fetched it, with a link to shard 1, which
// is this worker's, and others.
func done(t *testing.T, w *Worker, name string, others ...web.Candidate) (found web.URL, err error) {
	t.Helper()
	leased, err := w.Frontier().Lease(t.Context(), time.Now(), 10, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(leased, func(l web.Lease) bool { return l.URL == page(t, 0, "0") }); i < 0 {
		t.Fatalf("leased: %v", leased)
	}
	found = page(t, 1, name)
	return found, w.Send(t.Context(), crawl.Mail{Links: others}, &web.Turn{
		Done: []web.URL{page(t, 0, "0")}, Add: []web.Candidate{{URL: found, Priority: 1}},
		State: map[string][]byte{crawl.StateArchive: []byte("11"), crawl.StateEvents: []byte("21")},
	})
}

// A link to another shard that a worker holds is in the record of its page, and nowhere else while the
// worker has both. Whoever has the shard of the page next copies it, once the worker is gone without a word:
// another one with a new folder, or the same with its own.
func TestLinkOutlivesItsWorker(t *testing.T) {
	for _, again := range []string{"itself", "another"} {
		t.Run(again, func(t *testing.T) {
			m := engine.NewMemory()
			f := killedWorker(t, m)
			w := open(t, m, f)
			found, err := done(t, w, "1")
			if err != nil {
				t.Fatal(err)
			}
			if list := linksTo(t, m, 1); len(list) != 0 {
				t.Fatalf("copied at once: %v", list)
			}
			w.fail(errors.New("killed"))
			if err := w.Close(""); err != nil {
				t.Fatal(err)
			}
			if again == "another" {
				ends, err := shard.Join(t.Context(), m, shard.Options{ID: "ends", Old: w.self.Session, Shards: testShards, Clock: clock.System{}})
				if err = errors.Join(err, ends.Leave(t.Context())); err != nil {
					t.Fatal(err)
				}
				f = frontier.NewMemory(frontier.Options{})
			}
			next := open(t, m, f)
			defer next.Close("")
			for len(linksTo(t, m, 1)) == 0 {
				select {
				case <-next.Arrived():
					if _, err := next.Receive(t.Context()); err != nil {
						t.Fatal(err)
					}
				case <-time.After(10 * time.Second):
					t.Fatal("the link is in no log of its shard")
				}
			}
			if list := linksTo(t, m, 1); !slices.Equal(list, []string{found.String()}) {
				t.Errorf("copied: %v", list)
			}
		})
	}
}

// A shard that a worker gives away has all links that the worker found before it is free.
func TestLinksBeforeGiving(t *testing.T) {
	m := engine.NewMemory()
	w := open(t, m, killedWorker(t, m))
	defer w.Close("")
	found, err := done(t, w, "1")
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.changes = append(w.changes, change{give: 1})
	w.mu.Unlock()
	if _, err := w.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := linksTo(t, m, 1); !slices.Equal(list, []string{found.String()}) {
		t.Errorf("copied: %v", list)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.holds[0]; h.copied != h.Last || h.Sent == h.Last {
		t.Errorf("copied up to %d of %d, and stored as such up to %d before a record tells of it", h.copied, h.Last, h.Sent)
	}
}

// What is for others goes within a quarter of a second, or when the worker has nothing else to do, those of
// several pages together.
func TestForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := engine.NewMemory()
		w := New(t.Context(), Options{Engine: m, Name: "w"})
		w.routes = newRoutes(testShards)
		w.holds[0] = &liveShard{view: view{Last: 5}}
		keep := func(name string) {
			w.keepBack([]web.Candidate{{URL: page(t, 1, name), Priority: 1}}, []web.Candidate{{URL: page(t, 0, name)}}, nil)
			if err := w.forward(false); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if w.member, err = shard.Join(t.Context(), m, shard.Options{ID: "w", Shards: testShards, Term: time.Hour, Clock: clock.System{}}); err != nil {
			t.Fatal(err)
		}
		keep("1")
		time.Sleep(forwardEvery - time.Nanosecond)
		keep("2")
		if n := len(linksTo(t, m, 1)); n != 0 || !w.keptBack.Load() {
			t.Errorf("%d links were sent early", n)
		}
		time.Sleep(time.Nanosecond)
		keep("3")
		if n := len(linksTo(t, m, 1)); n != 3 || w.keptBack.Load() {
			t.Errorf("%d of 3 links were sent", n)
		}
		if end, err := m.End(t.Context(), logLinks(1)); err != nil || end.Position != 1 {
			t.Errorf("in %d records", end.Position)
		}
		keep("4")
		if err := w.forward(true); err != nil || len(linksTo(t, m, 1)) != 4 {
			t.Errorf("an idle worker keeps a link back: %v", err)
		}
		if n := len(linksTo(t, m, 0)); n != 0 || w.holds[0].copied != 0 {
			t.Errorf("%d own links were sent", n)
		}
		w.keepBack(nil, slices.Repeat([]web.Candidate{{URL: page(t, 0, "x")}}, mostOwn), nil)
		if err := w.forward(false); err != nil || w.holds[0].copied != 5 || len(w.outbox.own) != 0 {
			t.Errorf("own links are kept back: %d, %v", len(w.outbox.own), err)
		}
		w.cancel(context.Canceled)
	})
}
