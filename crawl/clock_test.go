package crawl

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// A crawl that goes on at another time of the clock, earlier or later, fetches at
// once: what its hosts are owed is what was left when it stopped. Its time does
// not run backwards. So it is with a folder that tells no time of its last turn.
func TestClockSetBack(t *testing.T) {
	for _, by := range []time.Duration{-30 * time.Second, -24 * time.Hour, 24 * time.Hour, 0} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, old folder: %t", by, old), func(t *testing.T) {
				v := newVirtual(t, "h0.example/1")
				v.dir, v.policy.Time = t.TempDir(), 25*time.Second
				ring := rings(2, 200)
				v.answer = func(_ time.Time, u web.URL) (pageOf, time.Duration) { return ring(u) }
				if how := v.run(10 * time.Second); how != event.Stopped {
					t.Fatal(how)
				}
				if old {
					forgetLast(t, v.dir)
				}
				pages := len(v.asked)
				v.now = v.now.Add(by)
				began := v.now
				var first time.Duration
				v.listen = func(e event.Event) {
					if _, ok := e.(event.Fetched); ok && first == 0 {
						first = v.now.Sub(began)
					}
				}
				if how := v.run(1000 * time.Hour); how != event.BudgetSpent {
					t.Errorf("ended %s", how)
				}
				if first == 0 || first > 1200*time.Millisecond {
					t.Errorf("the first page came after %v", first)
				}
				var sum event.Summary
				for _, e := range v.events {
					if sum.Add(e); sum.Elapsed(sum.Last) < 0 {
						t.Fatalf("%v have passed at %T", sum.Elapsed(sum.Last), e)
					}
				}
				if took := v.now.Sub(began); !old && (took < 14*time.Second || took > 16*time.Second) {
					t.Errorf("the second run took %v, of 25 s in all", took)
				}
				if len(v.asked) <= pages || len(v.twice()) > 1 { // what was under way when it stopped
					t.Errorf("%d pages, then %d; twice: %v", pages, len(v.asked), v.twice())
				}
			})
		}
	}
}

// forgetLast makes of a folder one of an older version.
func forgetLast(t *testing.T, dir string) {
	f, err := frontier.Open(dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.State(t.Context(), stateCrawl)
	if err != nil {
		t.Fatal(err)
	}
	without := regexp.MustCompile(`,"last_ns":\d+`).ReplaceAll(b, nil)
	if string(without) == string(b) {
		t.Fatalf("no time of the last turn in %s", b)
	}
	if _, err := f.Commit(context.Background(), web.Turn{State: map[string][]byte{stateCrawl: without}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// The time in which no run tried a host does not count against it: it is not given
// up by a run that begins days later.
func TestTimeBetweenRuns(t *testing.T) {
	v := newVirtual(t, "h0.example/1")
	v.dir = t.TempDir()
	v.answer = down(rings(1, 5), web.ReasonConnect, between(0, 100*time.Hour))
	for range 3 {
		if how := v.run(1000 * time.Hour); how != event.HostsDown {
			t.Fatalf("ended %s", how)
		}
		v.now = v.now.Add(30 * time.Hour)
	}
	v.now = epoch.Add(101 * time.Hour)
	if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
		t.Errorf("ended %s", how)
	}
	v.whole(1, 5)
}

// The time that a crawl waits after its last page counts against its budget when it goes on.
func TestTimeAfterTheLastPage(t *testing.T) {
	v := newVirtual(t, "h0.example/1")
	v.dir, v.policy.Time, v.policy.Delay = t.TempDir(), 2*time.Hour, 24*time.Hour
	ring := rings(1, 5)
	v.answer = func(_ time.Time, u web.URL) (pageOf, time.Duration) { return ring(u) }
	for range 2 {
		if how := v.run(1000 * time.Hour); how != event.BudgetSpent {
			t.Errorf("ended %s", how)
		}
	}
	if took := v.now.Sub(epoch); took > 25*time.Hour || len(v.asked) != 1 {
		t.Errorf("two runs took %v and brought %d pages", took, len(v.asked))
	}
}
