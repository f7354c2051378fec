package render

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// Pages that wait have a browser by priority, but for one in byAgeEvery, which is the one that has
// waited longest.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		s, err := q.take(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		stopped, stop := context.WithCancel(t.Context())
		var got []string
		for i, priority := range []float64{-9, 3, 5, -8, 5, 4, 9} {
			ctx := t.Context()
			if priority == 9 {
				ctx = stopped
			}
			go func() {
				s, err := q.take(ctx, priority)
				if err != nil {
					got = append(got, fmt.Sprintf("%d stopped", i))
					return
				}
				got = append(got, fmt.Sprintf("%d", i))
				q.put(s)
			}()
			synctest.Wait() // it waits
		}
		stop()
		synctest.Wait()
		q.put(s)
		synctest.Wait()
		const want = "6 stopped, 2, 4, 5, 0, 1, 3"
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if len(q.free) != 1 || len(q.waiting) != 0 {
			t.Errorf("%d browsers are free and %d pages wait at the end, want 1 and none", len(q.free), len(q.waiting))
		}
	})
}

// A page that is stopped in the moment in which it is served gives the browser to the next.
func TestQueueStopped(t *testing.T) {
	q := newQueue(1)
	for range 2000 {
		s, err := q.take(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if s, err := q.take(ctx, 1); err == nil {
				q.put(s)
			}
		}()
		go stop()
		q.put(s)
		<-done
		if len(q.free) != 1 || len(q.waiting) != 0 {
			t.Fatalf("%d browsers are free and %d pages wait, want 1 and none", len(q.free), len(q.waiting))
		}
	}
}
