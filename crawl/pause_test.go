package crawl_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// A crawl that is held fetches nothing, however long, and spends none of its
// time; then it goes on as if nothing had been. Its hosts can be looked at all
// the while.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, tree(3, 200), 2)
		c.Policy.Pages, c.Policy.Time, c.Policy.Delay = 60, 5*time.Minute, time.Second
		control := &crawl.Control{}
		c.Control = control
		var pages atomic.Int64
		c.Listen = func(e event.Event) {
			if _, ok := e.(event.Fetched); ok && pages.Add(1) == 20 {
				control.Pause(true)
			}
		}
		type end struct {
			how event.Ending
			err error
		}
		ended := make(chan end, 1)
		go func() {
			how, err := c.Run(t.Context())
			ended <- end{how, err}
		}()
		time.Sleep(time.Hour)
		held := pages.Load()
		if held < 20 || held > 22 || !control.Paused() {
			t.Fatalf("%d pages were fetched by a crawl that is held at 20", held)
		}
		if got := control.Hosts(); got != nil {
			t.Errorf("nobody asked for %v", got)
		}
		control.Watch(2)
		time.Sleep(time.Second)
		hosts := control.Hosts()
		if len(hosts) != 2 || hosts[0].Queued < hosts[1].Queued || hosts[0].Queued == 0 || hosts[0].Fetched == 0 || hosts[0].Busy {
			t.Errorf("hosts %+v", hosts)
		}
		control.Watch(0)
		control.Pause(false)
		if got := control.Hosts(); got != nil {
			t.Errorf("told of %v, which nobody watches", got)
		}
		if e := <-ended; e.how != event.BudgetSpent || e.err != nil || pages.Load() != 60 {
			t.Errorf("%s, %v, %d pages", e.how, e.err, pages.Load())
		}
	})
}

// Of a crawl that is held and stopped nothing is left behind.
func TestPausedCrawlStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrawl(t, tree(1, 50), 4)
		c.Control = &crawl.Control{}
		c.Control.Pause(true)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		time.AfterFunc(time.Minute, stop)
		if how, err := c.Run(ctx); how != event.Stopped || err != nil {
			t.Errorf("%s, %v", how, err)
		}
		stats := c.Frontier.Stats(time.Now())
		if stats.Queued != 1 || stats.Leased != 0 {
			t.Errorf("%+v", stats)
		}
	})
}

// A control that nobody has holds nothing.
func TestNoControl(t *testing.T) {
	if (*crawl.Control)(nil).Paused() {
		t.Error("held by nobody")
	}
	c := &crawl.Control{}
	c.Watch(3)
	if c.Paused() || c.Hosts() != nil {
		t.Error("a control of no crawl tells something")
	}
}

// stoppedClock is a clock of a process that is stopped for days once it was told to be.
type stoppedClock struct {
	stop atomic.Bool
	days atomic.Int64
}

func (s *stoppedClock) Now() time.Time {
	return time.Now().Add(time.Duration(s.days.Load()) * 24 * time.Hour)
}

func (s *stoppedClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	if s.stop.CompareAndSwap(true, false) {
		s.days.Add(4)
	}
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// refusingWeb is a web of which one host takes no connection four times. After the second it stops the process.
type refusingWeb struct {
	mapWeb
	clock *stoppedClock
	tries int
}

func (r *refusingWeb) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if u.Host() == "h1.example" && r.tries < 4 {
		if r.tries++; r.tries == 2 {
			r.clock.stop.Store(true)
		}
		return nil, &web.Failure{Reason: web.ReasonConnect, Temporary: true, Connected: true}
	}
	return r.mapWeb.Fetch(ctx, u)
}

// The time for which the process was stopped counts neither against the budget nor against hosts
// that do not answer.
func TestStoppedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, clock := tree(2, 5), &stoppedClock{}
		c := newCrawl(t, site, 1)
		c.Clock, c.Fetcher = clock, &refusingWeb{site, clock, 0}
		c.Policy.Time, c.Policy.Delay, c.Policy.GiveUp, c.Policy.MaxTries = 2*time.Hour, time.Second, time.Hour, 9
		pages := 0
		c.Listen = func(e event.Event) {
			switch e.(type) {
			case event.Fetched:
				pages++
			case event.Dropped:
				t.Errorf("%+v", e)
			}
		}
		if how, err := c.Run(t.Context()); err != nil || how != event.FrontierEmpty || pages != 10 || clock.days.Load() == 0 {
			t.Errorf("%s after %d pages, %v", how, pages, err)
		}
	})
}
