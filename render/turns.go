package render

import (
	"context"
	"sync"
)

// turns gives the browsers to the pages that wait for one: to the page of the highest priority,
// and among equals to the one that came first. A page holds its host while it waits, so a page
// that many links hang on would stand still behind those that few do. Every longestWait-th turn
// is that of the page which has waited longest, so each has its turn.
type turns struct {
	mu      sync.Mutex
	free    []*slot
	waiting []*turn // in the order in which they came
	given   int     // turns that were waited for
}

// longestWait is how often a turn goes by time and not by priority.
const longestWait = 4

// turn is a page that waits.
type turn struct {
	priority float64
	slot     chan *slot // holds one
}

func newTurns(n int) *turns {
	t := &turns{}
	for range n {
		t.free = append(t.free, &slot{})
	}
	return t
}

// take waits for a browser. The error is ctx's.
func (t *turns) take(ctx context.Context, priority float64) (*slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	if n := len(t.free); n > 0 {
		s := t.free[n-1]
		t.free = t.free[:n-1]
		t.mu.Unlock()
		return s, nil
	}
	w := &turn{priority: priority, slot: make(chan *slot, 1)}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	select {
	case s := <-w.slot:
		return s, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.waiting {
		if t.waiting[i] == w {
			t.waiting = append(t.waiting[:i], t.waiting[i+1:]...)
			return nil, ctx.Err()
		}
	}
	t.next(<-w.slot) // its turn came in the same moment
	return nil, ctx.Err()
}

// put gives a browser back.
func (t *turns) put(s *slot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next(s)
}

// next gives a browser to the page whose turn it is. t.mu is held.
func (t *turns) next(s *slot) {
	if len(t.waiting) == 0 {
		t.free = append(t.free, s)
		return
	}
	t.given++
	best := 0
	if t.given%longestWait != 0 {
		for i, w := range t.waiting {
			if w.priority > t.waiting[best].priority {
				best = i
			}
		}
	}
	w := t.waiting[best]
	t.waiting = append(t.waiting[:best], t.waiting[best+1:]...)
	w.slot <- s
}
