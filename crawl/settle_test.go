package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// onDisk is a frontier on a disk in memory: what a crawl decides goes there later.
func onDisk(t *testing.T) *frontier.Frontier {
	t.Helper()
	f, err := frontier.Open("frontier", frontier.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// slowLog takes a second for each call.
type slowLog struct {
	t      *testing.T
	mu     sync.Mutex
	kinds  []string // of events that it has
	closed bool
	full   int // events at which it fails; 0 = never
}

func (l *slowLog) Append(events ...event.Event) ([]byte, error) {
	time.Sleep(time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.t.Error("something is logged after the log was closed")
	}
	for _, e := range events {
		if l.kinds = append(l.kinds, e.Kind()); len(l.kinds) == l.full {
			return nil, errFull
		}
	}
	return fmt.Append(nil, len(l.kinds)), nil
}

func (l *slowLog) Sync() error { return nil }

func (l *slowLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

func (l *slowLog) has(kind string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.kinds, kind)
}

// noActs cannot be read.
type noActs struct{}

func (noActs) After(int) ([]event.Act, error) { return nil, errors.New("they cannot be read") }

// A crawl that cannot begin returns once nothing of it is written any more.
func TestNothingIsWrittenAfterAFailedStart(t *testing.T) {
	for name, begin := range map[string]func(*crawl.Crawl) error{
		"Run":   func(c *crawl.Crawl) error { _, err := c.Run(context.Background()); return err },
		"Begin": func(c *crawl.Crawl) error { _, err := c.Begin(context.Background()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrawl(t, tree(2, 10), 1)
				f, log := onDisk(t), &slowLog{t: t}
				c.Frontier, c.Log, c.Acts = f, log, noActs{}
				err := begin(c)
				log.close()
				if err == nil || !strings.Contains(err.Error(), "acts: they cannot be read") {
					t.Errorf("error %v", err)
				}
				if !log.has("seeded") {
					t.Error("the turn before is not in the log")
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// brokenFrontier fails at a page, as where its disk is full: from then on every call does.
type brokenFrontier struct {
	*frontier.Frontier
	left   int
	broken func()
	err    error
}

func (f *brokenFrontier) Commit(ctx context.Context, turn web.Turn) (web.Receipt, error) {
	if f.err != nil {
		return web.Receipt{}, f.err
	}
	if f.left--; f.left < 0 {
		f.err = errFull
		f.broken()
		return web.Receipt{}, f.err
	}
	return f.Frontier.Commit(ctx, turn)
}

func (f *brokenFrontier) Unwritten(most int) (int, error) {
	n, err := f.Frontier.Unwritten(most)
	return n, errors.Join(err, f.err)
}

func (f *brokenFrontier) Sync() error { return errors.Join(f.err, f.Frontier.Sync()) }

// Where the frontier cannot go on, nothing more is logged, also where the crawl is stopped at the
// same time, and the reason is told once.
func TestNothingIsLoggedWithoutAFrontier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c := newCrawl(t, tree(2, 10), 1)
		disk, log := onDisk(t), &slowLog{t: t}
		f := &brokenFrontier{Frontier: disk, left: 6}
		f.broken = func() {
			stop()
			if _, err := disk.Unwritten(0); err != nil {
				t.Error(err)
			}
			log.close()
		}
		c.Frontier, c.Log = f, log
		_, err := c.Run(ctx)
		if err == nil || strings.Count(err.Error(), errFull.Error()) != 1 {
			t.Errorf("error %v", err)
		}
		if log.has("ended") {
			t.Error("the log tells how the crawl ended")
		}
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A log that fails while later turns are decided ends the crawl with the reason, told once,
// whether it is stopped at the same time or not, and nobody hears of what is not in it.
func TestLogFailsLater(t *testing.T) {
	for _, full := range []int{2, 3, 5, 9, 14, 20, 21} {
		for _, stopped := range []bool{false, true} {
			if stopped && full == 2 {
				continue // it would not have begun
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				c := newCrawl(t, tree(2, 10), 4)
				f, log := onDisk(t), &slowLog{t: t, full: full}
				c.Frontier, c.Log = f, log
				heard := 0
				c.Listen = func(e event.Event) {
					if event.Passing(e) {
						return
					}
					if heard++; stopped && heard == full-1 {
						stop()
					}
				}
				_, err := c.Run(ctx)
				log.close()
				if err == nil || strings.Count(err.Error(), errFull.Error()) != 1 || !strings.HasPrefix(err.Error(), "event log: ") {
					t.Errorf("full at event %d, stopped: %t: error %v", full, stopped, err)
				}
				if heard > full-1 {
					t.Errorf("%d events were told, %d logged", heard, full-1)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// rewordedJudge takes any keywords.
type rewordedJudge struct{ evenJudge }

func (rewordedJudge) Keywords([]string, func(web.URL) (*web.Page, error)) ([]web.Renewal, error) {
	return nil, nil
}

// slowToReword takes its keywords once a page of the second host was judged, which is once it is to take them.
type slowToReword struct {
	reword, judged chan struct{}
	reworded       atomic.Bool
}

func (j *slowToReword) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	v := web.Verdict{Relevant: j.reworded.Load()}
	if p.URL.Host() == "h1.example" && !v.Relevant {
		<-j.reword
		close(j.judged)
	}
	return v, nil
}

func (j *slowToReword) Keywords([]string, func(web.URL) (*web.Page, error)) ([]web.Renewal, error) {
	close(j.reword)
	<-j.judged
	j.reworded.Store(true)
	return nil, nil
}

// A page that was judged before new keywords hold, and comes after that, goes by the new ones.
func TestPagesUnderWayGoByNewKeywords(t *testing.T) {
	c := newCrawl(t, mapWeb{"h0.example/1": "<title>a</title>", "h1.example/1": "<title>b</title>"}, 2)
	s := &said{acts: []event.Act{{Do: event.Keywords, Keywords: []string{"bees"}}}, after: []int{1}}
	c.Seeds = append(c.Seeds, mustParse(t, "h1.example/1"))
	c.Judge, c.Acts = &slowToReword{reword: make(chan struct{}), judged: make(chan struct{})}, s
	c.Look = func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
	relevant := map[web.Host]bool{}
	c.Listen = func(e event.Event) {
		if p, ok := e.(event.Fetched); ok {
			s.pages++
			relevant[p.URL.Host()] = p.Relevant
		}
	}
	if how, err := c.Run(t.Context()); err != nil || how != event.FrontierEmpty {
		t.Fatal(how, err)
	}
	if relevant["h0.example"] || !relevant["h1.example"] {
		t.Errorf("relevant as they came: %v", relevant)
	}
}

// New keywords are kept once the log has the act that gives them.
func TestKeywordsAreKeptOnceLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, tree(2, 10), 1)
		f, log := onDisk(t), &slowLog{t: t}
		s := &said{acts: []event.Act{{Do: event.Keywords, Keywords: []string{"bees"}}}, after: []int{0}}
		c.Frontier, c.Log, c.Judge, c.Acts = f, log, rewordedJudge{}, s
		c.Look = func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
		kept := 0
		c.Reword = func([]string) (crawl.Rewording, error) {
			return crawl.Rewording{Keep: func() error {
				if kept++; !log.has("act") {
					t.Error("they are kept, and the log does not have the act")
				}
				return nil
			}}, nil
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if kept != 1 {
			t.Errorf("they were kept %d times", kept)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A crawl whose disk takes a second for each page waits for it, and says so.
func TestWritingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, tree(2, 10), 1)
		f := onDisk(t)
		c.Frontier, c.Log = f, &slowLog{t: t}
		var told []float64
		c.Active = func(a web.Activity) { told = append(told, a.Writing) }
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(told) < 10 || slices.Max(told) < 0.9 {
			t.Errorf("of the time a crawl wrote, it told %v", told)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// callLog has the kinds of the events of each call, which takes a second.
type callLog struct{ calls [][]string }

func (l *callLog) Append(events ...event.Event) ([]byte, error) {
	time.Sleep(time.Second)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Kind())
	}
	l.calls = append(l.calls, kinds)
	return fmt.Append(nil, len(l.calls)), nil
}

func (*callLog) Sync() error { return nil }

// Where the queue is full, links leave it with nearly every page. The crawl does not wait for what
// is being written to tell that: it is written with the next page, after the page that it is of.
func TestFullQueueDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, tree(8, 100), 8)
		f, err := frontier.Open("frontier", frontier.Options{FS: vfs.NewMem(), Max: 10})
		if err != nil {
			t.Fatal(err)
		}
		log := &callLog{}
		c.Frontier, c.Log, c.Policy.Pages = f, log, 60
		var heard []string
		c.Listen = func(e event.Event) {
			if !event.Passing(e) {
				heard = append(heard, e.Kind())
			}
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if logged := slices.Concat(log.calls...); !slices.Equal(logged, heard) {
			t.Errorf("logged %v\nheard  %v", logged, heard)
		}
		apart, with := 0, 0
		for _, kinds := range log.calls {
			switch {
			case !slices.Contains(kinds, "dropped"):
			case slices.Contains(kinds, "fetched"):
				with++
			default:
				apart++
			}
		}
		if with+apart < 30 || with < 2*apart {
			t.Errorf("links that left were written with a page %d times and apart %d times", with, apart)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}
