package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
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

// Of a page with more links to its own shard than a record has room for, the rest is in the log of their shard.
func TestManyLinksToTheSameShard(t *testing.T) {
	m := engine.NewMemory()
	w := open(t, m, killedWorker(t, m))
	defer w.Close("")
	if _, err := w.Frontier().Lease(t.Context(), time.Now(), 10, 0, nil); err != nil {
		t.Fatal(err)
	}
	const most = 6000
	turn := web.Turn{Done: []web.URL{page(t, 0, "0")}, State: map[string][]byte{}}
	for i := range most {
		turn.Add = append(turn.Add, web.Candidate{URL: page(t, 0, fmt.Sprint(i, strings.Repeat("x", 150))), Kind: web.LinkA, Priority: 1})
	}
	if err := w.Send(t.Context(), crawl.Mail{}, &turn); err != nil {
		t.Fatal(err)
	}
	end, err := m.End(t.Context(), logDone(0))
	if err != nil {
		t.Fatal(err)
	}
	r, err := readDoneRecord(end.Data, true)
	if err != nil || len(r.done) != 1 {
		t.Fatalf("the record of the page has %d: %v", len(r.done), err)
	}
	var got []string
	for _, c := range r.links {
		got = append(got, c.URL.String())
	}
	got = append(got, linksTo(t, m, 0)...)
	for i := range turn.Add {
		if u := turn.Add[i].URL.String(); i >= len(got) || got[i] != u {
			t.Fatalf("%d links are in the logs, of %d; no %d is not %s", len(got), most, i, u)
		}
	}
	if len(r.links) == 0 || len(got) != most {
		t.Errorf("%d links are with the page, %d in all", len(r.links), len(got))
	}
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
				case <-time.After(time.Minute):
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

// forwarding is a worker that holds shard 0 of two, and an engine.
func forwarding(t *testing.T) (*Worker, engine.Engine) {
	t.Helper()
	m := engine.NewMemory()
	w := New(t.Context(), Options{Engine: m, Name: "w"})
	w.self.Worker, w.self.Session = "w", "w"
	w.routes = newRoutes(testShards)
	w.holds[0] = &liveShard{view: view{Last: 5}}
	var err error
	if w.member, err = shard.Join(t.Context(), m, shard.Options{ID: "w", Shards: testShards, Term: time.Hour, Clock: clock.System{}}); err != nil {
		t.Fatal(err)
	}
	return w, m
}

// told are the links in the log told, a list for each record.
func told(t *testing.T, e engine.Engine) (out [][]string) {
	t.Helper()
	end, err := e.End(t.Context(), logTold)
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{e: e}
	err = w.readTo(t.Context(), nil, map[string]engine.Position{logTold: end.Position}, func(r engine.Record) error {
		told, err := readAnnouncement(r.Data)
		if err != nil {
			return err
		}
		var list []string
		for i := range told.links {
			links, err := told.links[i].read()
			if err != nil {
				return err
			}
			for _, c := range links {
				list = append(list, c.URL.String())
			}
		}
		out = append(out, list)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is for others is told within a quarter of a second, that of several pages together. It is copied to the logs
// of its shards when the worker has nothing else to do, and when much waits.
func TestForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := forwarding(t)
		keep := func(name string) {
			w.keepBack([]web.Candidate{{URL: page(t, 1, name), Priority: 1}}, []web.Candidate{{URL: page(t, 0, name)}}, nil)
			if err := w.forward(false); err != nil {
				t.Fatal(err)
			}
		}
		keep("1")
		time.Sleep(forwardEvery - time.Nanosecond)
		keep("2")
		if list := told(t, m); len(list) != 0 || w.keptBack.Load() == 0 {
			t.Errorf("told early: %v", list)
		}
		time.Sleep(time.Nanosecond)
		keep("3")
		if list := told(t, m); len(list) != 1 || len(list[0]) != 3 || w.keptBack.Load() != 0 {
			t.Errorf("told: %v", list)
		}
		if n := len(linksTo(t, m, 1)); n != 0 {
			t.Errorf("%d links were copied early", n)
		}
		keep("4")
		if err := w.forward(true); err != nil || len(linksTo(t, m, 1)) != 4 || len(told(t, m)) != 1 {
			t.Errorf("of an idle worker %d of 4 links are in the log of their shard: %v", len(linksTo(t, m, 1)), err)
		}
		if n := len(linksTo(t, m, 0)); n != 0 || w.holds[0].copied != 0 {
			t.Errorf("%d own links were sent", n)
		}
		w.keepBack([]web.Candidate{{URL: page(t, 1, "5"), Priority: 1}}, slices.Repeat([]web.Candidate{{URL: page(t, 0, "x")}}, mostOwn), nil)
		if err := w.forward(false); err != nil || w.holds[0].copied != 5 || len(w.outbox.own) != 0 || len(linksTo(t, m, 1)) != 5 {
			t.Errorf("links are kept back: %d, %v", len(w.outbox.own), err)
		}
		w.cancel(context.Canceled)
	})
}

// In a crowd no worker is told of the links of all others.
func TestForwardInCrowd(t *testing.T) {
	for _, others := range []int{mostAnnounced, mostAnnounced + 1} {
		w, m := forwarding(t)
		w.liveOthers = others
		w.keepBack([]web.Candidate{{URL: page(t, 1, "1"), Priority: 1}}, nil, []crawl.Lesson{{Data: []byte("x")}})
		if err := w.announce(w.crowd()); err != nil {
			t.Fatal(err)
		}
		var want [][]string
		if others == mostAnnounced {
			want = [][]string{{page(t, 1, "1").String()}}
		}
		if list := told(t, m); !reflect.DeepEqual(list, want) || len(linksTo(t, m, 1)) != others-mostAnnounced {
			t.Errorf("%d others are told %v, %d links are copied", others, list, len(linksTo(t, m, 1)))
		}
		w.cancel(context.Canceled)
	}
}

// A worker that takes a shard says so once it takes in what is told, and whoever told of links to it before, or is
// about to, copies them.
func TestToldBeforeTaken(t *testing.T) {
	for _, c := range []struct {
		live   int
		told   bool
		copied int
	}{{0, true, 0}, {1, true, 1}, {1, false, 1}} {
		w, m := forwarding(t)
		w.keepBack([]web.Candidate{{URL: page(t, 1, "1"), Priority: 1}}, nil, nil)
		if c.told {
			if err := w.announce(false); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.put(letter{shard: ofAnnounced, place: 7, live: []int{c.live}}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := w.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(linksTo(t, m, 1)); n != c.copied {
			t.Errorf("%+v: %d links are copied", c, n)
		}
		w.cancel(context.Canceled)
	}
}

// A worker that missed what was told says once more from where on it takes in what is told, of the shards that it has said so
// of before; so does one whose own word was forgotten before it heard that.
func TestForgottenIsSaid(t *testing.T) {
	far := engine.Position(math.MaxInt64)
	for _, c := range []struct {
		name       string
		live, said engine.Position
		before     engine.Position
		again      bool
	}{
		{"nothing was forgotten", 9, 9, 5, false},
		{"something was", 9, 9, 11, true},
		{"something was, from before this worker had the shard", 9, 9, 8, false},
		{"it has not said so yet", far, 0, 11, false},
		{"it has not heard itself yet", far, 30, 11, false},
		{"it will not hear itself any more", far, 9, 5, true},
	} {
		w, m := forwarding(t)
		w.toldBy["other"] = 5
		w.holds[0].live, w.holds[0].said = c.live, c.said
		if err := w.put(letter{shard: ofAnnounced, place: 20, before: c.before, linkRecord: linkRecord{session: "other"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.background.Wait()
		end, err := m.End(t.Context(), logTold)
		if err != nil {
			t.Fatal(err)
		}
		if again := end.Position > 0; again != c.again {
			t.Errorf("%s: said again: %v", c.name, again)
		}
		if c.again {
			r, err := readAnnouncement(end.Data)
			if err != nil || !slices.Equal(r.live, []int{0}) || w.holds[0].live != far || w.holds[0].said != end.Position {
				t.Errorf("%s: said again of %v, at %d: %v", c.name, r.live, w.holds[0].said, err)
			}
		}
		w.cancel(context.Canceled)
	}
}

// Records of links in the log told name the one before them, also where many links need several. A session that is told that its record comes
// before its last one is over: nobody would read that.
func TestToldInOrder(t *testing.T) {
	w, m := forwarding(t)
	many := slices.Repeat([]web.Candidate{{URL: page(t, 1, "1"), Priority: 1}}, mostLinks+1)
	for range 2 {
		w.keepBack(many, nil, []crawl.Lesson{{Data: []byte("x")}})
		if err := w.announce(false); err != nil {
			t.Fatal(err)
		}
	}
	var place, before []engine.Position
	end, err := m.End(t.Context(), logTold)
	if err != nil {
		t.Fatal(err)
	}
	err = w.readTo(t.Context(), nil, map[string]engine.Position{logTold: end.Position}, func(r engine.Record) error {
		a, err := readAnnouncement(r.Data)
		place, before = append(place, r.Position), append(before, a.before)
		return err
	})
	if err != nil || len(place) != 4 || !slices.Equal(before, append([]engine.Position{0}, place[:3]...)) {
		t.Errorf("records at %v name those at %v: %v", place, before, err)
	}
	if w.outbox.from != place[0] || w.outbox.till != place[3] {
		t.Errorf("what is to be copied is in records from %d to %d, and told from %d to %d", w.outbox.from, w.outbox.till, place[0], place[3])
	}
	w.outbox.till = 1 << 40
	w.keepBack(many[:1], nil, nil)
	if err := w.announce(false); !errors.Is(err, ErrOlder) || !errors.Is(w.Failed(), ErrOver) {
		t.Errorf("behind a later record: %v; the session: %v", err, w.Failed())
	}
}

// A link is told and copied, and is taken in by either: by the copy where what was told is not, or may not be, here.
func TestToldAndCopied(t *testing.T) {
	link := []web.Candidate{{URL: page(t, 0, "1"), Priority: 1}}
	of := newRoutes(testShards).of
	other := linkRecord{session: "other"}
	told := letter{shard: ofAnnounced, place: 10, linkRecord: other, announced: sections(link, of)}
	foreign := letter{shard: ofAnnounced, place: 10, linkRecord: other, announced: sections([]web.Candidate{{URL: page(t, 1, "1")}}, of)}
	third := letter{shard: ofAnnounced, place: 20, linkRecord: linkRecord{session: "third"}, announced: foreign.announced}
	live := letter{shard: ofAnnounced, place: 9, live: []int{0}, linkRecord: linkRecord{session: "w"}}
	behind := func(before, place engine.Position) letter { // told again behind a record
		l := told
		l.before, l.place = before, place
		return l
	}
	liveAgain := live
	liveAgain.place = 21
	early := told
	early.after = 1
	from := func(worker string, from, till engine.Position) letter {
		return letter{shard: 0, place: 1, links: link, linkRecord: linkRecord{session: worker, from: from, till: till}}
	}
	for _, c := range []struct {
		name    string
		giving  bool
		letters []letter
		want    int
	}{
		{"told", false, []letter{live, told}, 1},
		{"of another shard", false, []letter{live, foreign}, 0},
		{"of a shard to be given", true, []letter{live, told}, 0},
		{"told before this worker had the shard", false, []letter{told}, 0},
		{"told, then copied", false, []letter{live, told, from("other", 10, 10)}, 1},
		{"told before, then copied", false, []letter{live, from("other", 9, 9)}, 1},
		{"some of it before", false, []letter{live, foreign, from("other", 9, 10)}, 1},
		{"before this worker hears itself", false, []letter{foreign, from("other", 10, 10)}, 1},
		{"copied by one that had not told", false, []letter{live, foreign, from("other", 0, 0)}, 1},
		{"the copy came first", false, []letter{live, from("other", 10, 10), told}, 2},
		{"told by this worker, which does not hear itself", false, []letter{live, foreign, from("w", 10, 10)}, 1},
		{"told after something that is not here yet, and copied", false, []letter{live, early, foreign, from("other", 10, 10)}, 1},
		{"told, each behind the one before", false, []letter{live, behind(8, 10), behind(10, 12), from("other", 10, 12)}, 2},
		{"the first was forgotten", false, []letter{live, behind(10, 12)}, 0},
		{"the first was forgotten, then copied", false, []letter{live, behind(10, 12), from("other", 10, 12)}, 1},
		{"one between was forgotten, then copied", false, []letter{live, told, behind(11, 12), from("other", 10, 12)}, 2},
		{"it was forgotten, and others told more", false, []letter{live, third, from("other", 10, 10)}, 1},
		{"the last was forgotten, then copied", false, []letter{live, told, third, from("other", 10, 12)}, 2},
		{"one was forgotten before this worker says so again", false, []letter{live, behind(10, 12), liveAgain, behind(12, 22), from("other", 22, 22)}, 1},
		{"of another session after that", false, []letter{live, behind(10, 12), liveAgain, from("other", 10, 12)}, 1},
	} {
		w, _ := forwarding(t)
		w.holds[0].live, w.holds[0].giving = math.MaxInt64, c.giving
		for _, l := range c.letters {
			if err := w.put(l); err != nil {
				t.Fatal(err)
			}
		}
		m, err := w.Receive(t.Context())
		if err != nil || len(m.Links) != c.want {
			t.Errorf("%s: %d links, not %d; %v", c.name, len(m.Links), c.want, err)
		}
		w.cancel(context.Canceled)
	}
}
