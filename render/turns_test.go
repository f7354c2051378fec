package render

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// Pages that wait for a browser have it by priority, but for every fourth turn, which is that of
// the page that has waited longest.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		s, err := turns.take(t.Context(), 0)
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
				s, err := turns.take(ctx, priority)
				if err != nil {
					got = append(got, fmt.Sprintf("%d stopped", i))
					return
				}
				got = append(got, fmt.Sprintf("%d", i))
				turns.put(s)
			}()
			synctest.Wait() // it waits
		}
		stop()
		synctest.Wait()
		turns.put(s)
		synctest.Wait()
		const want = "6 stopped, 2, 4, 5, 0, 1, 3"
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if len(turns.free) != 1 || len(turns.waiting) != 0 {
			t.Errorf("%d browsers are free and %d pages wait at the end, want 1 and none", len(turns.free), len(turns.waiting))
		}
	})
}
