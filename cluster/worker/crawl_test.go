package worker_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/worker"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// aheadClock is the machine's clock, set ahead.
type aheadClock struct{ by time.Duration }

func (c aheadClock) Now() time.Time { return time.Now().Add(c.by) }
func (c aheadClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// cutEngine is an engine that its worker does not reach while open is a channel: calls
// wait until that is closed.
type cutEngine struct {
	engine.Engine
	mu   sync.Mutex
	open chan struct{}
}

func (e *cutEngine) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = make(chan struct{})
}

func (e *cutEngine) mend() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.open)
	e.open = nil
}

func (e *cutEngine) reach(ctx context.Context) error {
	e.mu.Lock()
	open := e.open
	e.mu.Unlock()
	if open != nil {
		select {
		case <-ctx.Done():
		case <-open:
		}
	}
	return ctx.Err()
}

func (e *cutEngine) Append(ctx context.Context, d ...engine.Draft) ([]engine.Position, error) {
	if err := e.reach(ctx); err != nil {
		return nil, err
	}
	return e.Engine.Append(ctx, d...)
}

func (e *cutEngine) Put(ctx context.Context, key string, value []byte, was engine.Revision) (engine.Revision, error) {
	if err := e.reach(ctx); err != nil {
		return 0, err
	}
	return e.Engine.Put(ctx, key, value, was)
}

func (e *cutEngine) List(ctx context.Context, prefix string) ([]engine.Entry, error) {
	if err := e.reach(ctx); err != nil {
		return nil, err
	}
	return e.Engine.List(ctx, prefix)
}

// squareWeb is a web of sites of as many pages: each page links to the next one of its site
// and of the next site. It keeps when each was asked.
type squareWeb struct {
	n     int
	delay time.Duration
	mu    sync.Mutex
	asked map[web.URL]int
	ended map[web.Host]time.Time
	hurry []string
}

func (w *squareWeb) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	var i, j int
	if _, err := fmt.Sscanf(u.String(), "http://s%d.example/%d", &i, &j); err != nil {
		return nil, err
	}
	started := time.Now()
	w.mu.Lock()
	if rest := started.Sub(w.ended[u.Host()]); rest < w.delay {
		w.hurry = append(w.hurry, fmt.Sprint(u, " ", rest))
	}
	w.asked[u]++
	w.mu.Unlock()
	time.Sleep(30 * time.Millisecond)
	w.mu.Lock()
	w.ended[u.Host()] = time.Now()
	w.mu.Unlock()
	body := fmt.Appendf(nil, `bees <a href="http://s%d.example/%d">x</a> <a href="http://s%d.example/%d">y</a>`, i, (j+1)%w.n, (i+1)%w.n, j)
	return &web.Response{
		URL: u, Status: 200, Proto: "HTTP/1.1", Started: started, Took: 30 * time.Millisecond,
		Header: web.Header{"Content-Type": {"text/html"}}, Body: body, Raw: body,
	}, nil
}

// Others know in the end all that a worker fetched, also what it fetched after it told them last.
func TestTellsLast(t *testing.T) {
	memory := engine.NewMemory()
	f, err := frontier.Open(t.TempDir(), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	me := worker.New(t.Context(), worker.Options{Engine: memory, Name: "w", Plan: worker.Plan{Shards: 4}})
	if err := me.Open(t.Context(), f, worker.Crawl{}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i, last := range []bool{false, false, true} {
		me.Tell(now.Add(time.Duration(i)), last, func() crawl.Standing { return crawl.Standing{Pages: i + 1} })
	}
	if err := me.Close("BudgetSpent"); err != nil {
		t.Fatal(err)
	}
	list, err := worker.Workers(t.Context(), memory)
	if err != nil || len(list) != 1 || list[0].Standing.Pages != 3 || list[0].Ended != "BudgetSpent" {
		t.Errorf("%+v, %v", list, err)
	}
}

type anyPage struct{}

func (anyPage) Judge(context.Context, *web.Page) (web.Verdict, error) {
	return web.Verdict{Relevance: 1}, nil
}

// atATime is how many fetches at a time a worker of these tests has.
const atATime = 3

// session is one of a worker that crawls from http://s0.example/0 on.
func session(t *testing.T, fetcher crawl.Fetcher, delay time.Duration, n int, e engine.Engine, dir string, clock aheadClock) (err error) {
	seed, err := web.Parse("http://s0.example/0")
	if err != nil {
		return err
	}
	f, err := frontier.Open(dir, frontier.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	me := worker.New(t.Context(), worker.Options{
		Engine: e, Name: fmt.Sprint("w", n), Clock: clock, Plan: worker.Plan{Shards: 16, Term: 3 * time.Second},
	})
	err = me.Open(t.Context(), f, worker.Crawl{
		Seeds: []web.URL{seed}, Delay: delay,
		Events: func(_, _ []byte) iter.Seq2[event.Event, error] { return func(func(event.Event, error) bool) {} },
	})
	how := event.Stopped
	if err == nil {
		scorer, errScorer := score.New("breadth-first", score.Options{})
		if errScorer != nil {
			return errScorer
		}
		c := &crawl.Crawl{
			Seeds: []web.URL{seed}, Frontier: me.Frontier(), Fetcher: fetcher, Parser: parse.New(parse.Options{}), Judge: anyPage{}, Scorer: scorer,
			Name: "c", JudgeName: "any", ScorerName: "breadth-first", Workers: atATime, Clock: clock, Peers: me, Policy: crawl.Policy{Delay: delay},
		}
		how, err = c.Run(me.Context())
	}
	ended := string(how)
	if err != nil || how == event.Stopped {
		ended = ""
	}
	left := me.Close(ended)
	if lost := me.Failed(); lost != nil {
		return lost
	}
	return errors.Join(err, left)
}

// Workers whose clocks are hours apart crawl together as others do, also where one of them
// does not reach the engine for a while, and others take its shards: each page is fetched, none
// twice but those under way then, and no site sooner than it may be.
func TestClocksApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &squareWeb{n: 12, delay: 500 * time.Millisecond, asked: map[web.URL]int{}, ended: map[web.Host]time.Time{}}
		memory := engine.NewMemory()
		joined := make([]int, 3)
		run := func(n int, e engine.Engine, ahead time.Duration) error {
			dir := t.TempDir()
			for {
				joined[n]++
				if err := session(t, w, w.delay, n, e, dir, aheadClock{ahead}); !errors.Is(err, worker.ErrOver) {
					return err
				}
			}
		}
		cut := &cutEngine{Engine: memory}
		var all sync.WaitGroup
		errs := make([]error, len(joined))
		for n, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
			e := engine.Engine(memory)
			if n == 1 {
				e = cut
			}
			all.Go(func() { errs[n] = run(n, e, ahead) })
		}
		time.Sleep(4 * time.Second)
		cut.cut()
		time.Sleep(6 * time.Second) // its session is over after 2 of these, and its shards move
		cut.mend()
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if joined[0] != 1 || joined[1] != 2 || joined[2] != 1 {
			t.Errorf("workers joined %v times", joined)
		}
		again := 0
		for _, n := range w.asked {
			again += n - 1
		}
		if len(w.asked) != w.n*w.n || again > atATime {
			t.Errorf("%d pages of %d, and %d requests again", len(w.asked), w.n*w.n, again)
		}
		for _, h := range w.hurry {
			t.Errorf("hurried: %s", h)
		}
	})
}
