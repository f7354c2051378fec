package render

import (
	"context"
	"slices"
	"sync"
)

// queue holds the pages that wait for a browser. The page of the highest priority is next, and
// among equals the one that came first: a page keeps its host waiting too, and first come first
// served, the host of the best links would stand behind pages of little promise. One page in
// byAgeEvery is the one that has waited longest, so that each is served.
type queue struct {
	mu      sync.Mutex
	free    []*slot
	waiting []*waiter // in the order in which they came
	served  int       // of those that waited
}

// byAgeEvery is the number of waiting pages of which one is served by its age.
const byAgeEvery = 4

// waiter is a page that waits.
type waiter struct {
	priority float64
	slot     chan *slot // holds one
}

func newQueue(n int) *queue {
	q := &queue{}
	for range n {
		q.free = append(q.free, &slot{})
	}
	return q
}

// take waits for a browser. The error is ctx's.
func (q *queue) take(ctx context.Context, priority float64) (*slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.mu.Lock()
	if n := len(q.free); n > 0 {
		s := q.free[n-1]
		q.free = q.free[:n-1]
		q.mu.Unlock()
		return s, nil
	}
	w := &waiter{priority: priority, slot: make(chan *slot, 1)}
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()
	select {
	case s := <-w.slot:
		return s, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, w); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else {
		q.serve(<-w.slot) // it was served in the moment in which ctx ended
	}
	return nil, ctx.Err()
}

// put gives a browser back.
func (q *queue) put(s *slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serve(s)
}

// serve gives a browser to the page that is next. q.mu is held.
func (q *queue) serve(s *slot) {
	if len(q.waiting) == 0 {
		q.free = append(q.free, s)
		return
	}
	q.served++
	next := 0 // the one that has waited longest
	if q.served%byAgeEvery != 0 {
		for i, w := range q.waiting {
			if w.priority > q.waiting[next].priority {
				next = i
			}
		}
	}
	w := q.waiting[next]
	q.waiting = slices.Delete(q.waiting, next, next+1)
	w.slot <- s
}
