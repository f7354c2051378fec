package worker

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// A page is lost where the last record that tells of it is by a worker whose folder is lost, and
// lies behind what that had shipped.
func TestLostPages(t *testing.T) {
	page := func(s string) web.URL {
		u, err := web.Parse("http://a.example/" + s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	e := engine.NewMemory()
	fetched := 0
	log := func(worker string, mark []byte, pages string) {
		if pages != "redirect" && mark != nil {
			fetched++
		}
		r := doneRecord{worker: worker, archive: mark, hosts: []hostRecord{{host: "a.example", fetched: fetched}}}
		for p := range strings.FieldsSeq(pages) {
			r.done = append(r.done, page(p))
		}
		if _, err := e.Append(t.Context(), engine.Draft{Log: logDone(0), Data: r.encode()}); err != nil {
			t.Fatal(err)
		}
	}
	log("w", store.MarkAt(0, 100), "shipped")
	log("w", store.MarkAt(1, 50), "shipped-too")
	log("w", store.MarkAt(1, 51), "lost moved")
	log("w", store.MarkAt(1, 60), "redirect")
	log("w", nil, "failed") // nothing was archived
	log("other", store.MarkAt(7, 7), "kept")
	log("w", store.MarkAt(2, 10), "lost-too again")
	log("other", store.MarkAt(7, 9), "again")
	lost := Loss{Worker: "w", Number: 1, End: 50}
	if err := lost.count(t.Context(), e, 4); err != nil || lost.Addresses != 4 || lost.Pages != 2 || !lost.in(0) || lost.in(1) {
		t.Fatalf("%+v, %v", lost, err)
	}
	w := New(t.Context(), Options{Engine: e})
	w.losses = []Loss{lost}
	took, err := w.take(t.Context(), map[int]engine.Position{0: 0}, false)
	if err != nil {
		t.Fatal(err)
	}
	took[0].settle()
	m := took[0].mail(w.o.Clock.Now())
	names := func(list []web.URL) (out string) {
		for _, u := range list {
			out += " " + strings.TrimPrefix(u.Path(), "/")
		}
		return out
	}
	if got := names(m.Forget); got != " lost lost-too moved redirect" {
		t.Errorf("forgotten:%s", got)
	}
	if got := names(m.Done); got != " shipped shipped-too failed kept again again" {
		t.Errorf("done:%s", got)
	}
	if len(m.Hosts) != 1 || m.Hosts[0].Fetched != fetched-2 {
		t.Errorf("hosts %+v", m.Hosts)
	}
	// What is fetched again is lost no more, whoever looks then.
	log("other", store.MarkAt(8, 1), "lost lost-too moved redirect")
	later, err := w.readDone(t.Context(), map[int]engine.Position{0: 0}, false)
	if err != nil || len(later[0].lost) != 0 {
		t.Errorf("still lost: %v, %v", slices.Collect(maps.Keys(later[0].lost)), err)
	}
	// A shard that was taken before the loss was known is stale, another one is not.
	for _, x := range []struct {
		shard int
		v     view
		want  bool
	}{{0, view{}, true}, {0, view{Losses: 1}, false}, {1, view{}, false}, {0, view{Losses: 9}, false}} {
		if got := w.stale(x.shard, x.v); got != x.want {
			t.Errorf("shard %d, %d losses known: stale %v", x.shard, x.v.Losses, got)
		}
	}
	if got := without(Status{Worker: "w", Standing: crawl.Standing{Pages: 10}}, w.losses); got != 2 {
		t.Errorf("%d pages do not count", got)
	}
	if got := without(Status{Worker: "other", Standing: crawl.Standing{Pages: 10}}, w.losses); got != 0 {
		t.Errorf("%d pages of another do not count", got)
	}
}

// Ten losses of a worker that had pages in most shards have room in a key of the engine, and each
// tells its shards.
func TestLossesHaveRoom(t *testing.T) {
	const shards = 1 << 16
	var list []Loss
	for i := range 10 {
		l := Loss{Worker: "w", Place: "s3://pages/bees/bees-2-k3j5x2ab"}
		for n := range shards {
			if n%10 != i {
				l.add(n)
			}
		}
		list = append(list, l)
	}
	b, err := json.Marshal(list)
	if err == nil {
		err = engine.CheckValue(keyLost, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	var read []Loss
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	for i := range read {
		for n := range shards {
			if read[i].in(n) != (n%10 != i) {
				t.Fatalf("loss %d, shard %d: %t", i, n, read[i].in(n))
			}
		}
	}
}

// Where saying a loss was cut off before the crawl was made to go on, saying it again does so.
func TestLoseCutOff(t *testing.T) {
	ctx, e := t.Context(), engine.NewMemory()
	put := func(key, value string) {
		if _, err := e.Put(ctx, key, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	u, err := web.Parse("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	r := doneRecord{worker: "w", archive: store.MarkAt(0, 100), done: []web.URL{u}, hosts: []hostRecord{{host: "a.example", fetched: 1}}}
	if _, err := e.Append(ctx, engine.Draft{Log: logDone(0), Data: r.encode()}); err != nil {
		t.Fatal(err)
	}
	put(keyCrawl, `{"shards":1}`)
	put(keyWorker+"w", `{"name":"bees"}`)
	put(keyOver, "FrontierEmpty")
	cut := &cutEngine{Engine: e, key: keyOver}
	if _, _, err := Lose(ctx, cut, "bees", func(string) {}); !errors.Is(err, errCut) {
		t.Fatalf("cut off: %v", err)
	}
	l, over, err := Lose(ctx, e, "bees", func(string) {})
	if err != nil || !over || l.Pages != 1 {
		t.Errorf("said again: %+v, over %t, %v", l, over, err)
	}
	if x, err := e.Get(ctx, keyOver); err != nil || x.Revision != 0 {
		t.Errorf("the crawl is still over: %s, %v", x.Value, err)
	}
	if list, err := Losses(ctx, e); err != nil || len(list) != 1 {
		t.Errorf("losses %+v, %v", list, err)
	}
	if _, _, err := Lose(ctx, e, "bees", func(string) {}); err == nil || !strings.Contains(err.Error(), "known already") {
		t.Errorf("said once more: %v", err)
	}
	// A worker that did not know of the loss does not end the crawl; one that did may.
	w := New(ctx, Options{Engine: e})
	for known, want := range []string{"", "HostsDown"} {
		w.e, w.overLosses = e, known
		if err := w.putOver(ctx, "HostsDown"); err != nil {
			t.Fatal(err)
		}
		if x, err := e.Get(ctx, keyOver); err != nil || string(x.Value) != want {
			t.Errorf("%d losses known: over is %q, not %q; %v", known, x.Value, want, err)
		}
	}
}

// A worker that died has a session that nobody ends where no worker runs: its folder is lost all the same. One that runs
// is refused, without a wait of a whole term.
func TestLoseDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, e := t.Context(), engine.NewMemory()
		w := New(ctx, Options{Engine: e, Name: "bees", Plan: Plan{Shards: 4, Term: 3 * time.Second}})
		f := frontier.NewMemory(frontier.Options{})
		defer f.Close()
		if err := w.Open(ctx, f, Crawl{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		began, notes := time.Now(), 0
		if _, _, err := Lose(ctx, e, "bees", func(string) { notes++ }); err == nil || !strings.Contains(err.Error(), "stop the worker") || notes != 1 {
			t.Errorf("it runs: %v; %d notes", err, notes)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("refused after %v", took)
		}
		w.cancel(context.Canceled) // as a process that is killed
		w.background.Wait()
		began = time.Now()
		if l, _, err := Lose(ctx, e, "bees", func(string) {}); err != nil || l.Worker != w.self.Worker {
			t.Errorf("it died: %+v, %v", l, err)
		}
		if took := time.Since(began); took < 3*time.Second {
			t.Errorf("said to be lost after %v, and not a term", took)
		}
		if live, err := shard.Holders(ctx, e); err != nil || len(live) > 0 {
			t.Errorf("%v have sessions; %v", live, err)
		}
	})
}

// A worker that comes back is seen to run as soon as it has a session, and where it does while its losses are counted, its
// folder is not lost.
func TestLoseBack(t *testing.T) {
	ctx, e := t.Context(), engine.NewMemory()
	f := frontier.NewMemory(frontier.Options{})
	defer f.Close()
	open := func(e engine.Engine) (*Worker, chan error) {
		w, opened := New(ctx, Options{Engine: e, Name: "bees", Plan: Plan{Shards: 1}}), make(chan error, 1)
		go func() { opened <- w.Open(ctx, f, Crawl{}) }()
		return w, opened
	}
	w, opened := open(e)
	if err := errors.Join(<-opened, w.Close("")); err != nil {
		t.Fatal(err)
	}
	joining := &stopEngine{Engine: e, log: logTold, stop: make(chan struct{})}
	w, opened = open(joining)
	reached := func(e *stopEngine, ended chan error) {
		t.Helper()
		select {
		case <-e.stop:
		case err := <-ended:
			t.Fatalf("it ended before: %v", err)
		}
	}
	reached(joining, opened)
	if s, err := Look(ctx, e); err != nil || len(s.Workers) != 1 || !s.Workers[0].Live {
		t.Errorf("a worker that joined again: %+v, %v", s.Workers, err)
	}
	reached(joining, opened)
	if err := errors.Join(<-opened, w.Close("")); err != nil {
		t.Fatal(err)
	}
	counting := &stopEngine{Engine: e, log: logDone(0), stop: make(chan struct{})}
	lost := make(chan error, 1)
	go func() {
		_, _, err := Lose(ctx, counting, "bees", func(string) {})
		lost <- err
	}()
	reached(counting, lost)
	w, opened = open(e)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	reached(counting, lost)
	if err := <-lost; err == nil || !strings.Contains(err.Error(), "has come back") {
		t.Errorf("it came back meanwhile: %v", err)
	}
	if err := w.Close(""); err != nil {
		t.Error(err)
	}
	if list, err := Losses(ctx, e); err != nil || len(list) > 0 {
		t.Errorf("lost: %+v, %v", list, err)
	}
}

// stopEngine stops whoever asks for the end of a log, until stop is received from twice.
type stopEngine struct {
	engine.Engine
	log  string
	stop chan struct{}
}

func (s *stopEngine) End(ctx context.Context, log string) (engine.Record, error) {
	if log == s.log {
		s.stop <- struct{}{}
		s.stop <- struct{}{}
	}
	return s.Engine.End(ctx, log)
}

var errCut = errors.New("cut off")

// cutEngine fails to put one key.
type cutEngine struct {
	engine.Engine
	key string
}

func (c *cutEngine) Put(ctx context.Context, key string, value []byte, was engine.Revision) (engine.Revision, error) {
	if key == c.key {
		return 0, errCut
	}
	return c.Engine.Put(ctx, key, value, was)
}

// A view is read as it was written, and one that is torn is refused.
func TestView(t *testing.T) {
	v := view{Links: 7, Done: 300, Till: 5, Last: 1 << 40, Losses: 3, Sum: 5, Sent: 1 << 39}
	b := v.encode()
	if got, err := readView(b); err != nil || got != v {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range b {
		if _, err := readView(b[:n]); err == nil {
			t.Errorf("the first %d bytes are taken for a view", n)
		}
	}
}
