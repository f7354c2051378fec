package fetch

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/internal/clock"
)

// cache remembers loaded values for a time and within a weight; the least
// recently used go first. Callers that want a value which one of them is
// loading wait for it.
//
// The life of an entry: loading (in entries only) → kept (in entries and
// order) → expired or pushed out (in neither).
type cache[K comparable, V any] struct {
	clock  clock.Clock
	max    int         // of the sum of weights
	weight func(V) int // ≥ 1, constant for a value

	mu      sync.Mutex
	entries map[K]*entry[K, V]
	order   *list.List // of *entry, most recently used first
	sum     int        // of weights in order
}

type entry[K comparable, V any] struct {
	key     K
	loaded  chan struct{} // closed when value is final
	failed  bool          // the loader gave up: load again
	value   V
	expires time.Time
	at      *list.Element // nil unless kept
}

func newCache[K comparable, V any](c clock.Clock, max int, weight func(V) int) *cache[K, V] {
	return &cache[K, V]{clock: c, max: max, weight: weight, entries: map[K]*entry[K, V]{}, order: list.New()}
}

// get returns the value of key, and whether this call loaded it. load says
// how long its value lives; a life of 0 shares it with those who wait now,
// and no longer. An error of load is that call's alone: others load again.
func (c *cache[K, V]) get(ctx context.Context, key K, load func() (V, time.Duration, error)) (v V, fresh bool, err error) {
	for {
		c.mu.Lock()
		e := c.entries[key]
		if e != nil && e.at != nil {
			if c.clock.Now().Before(e.expires) {
				c.order.MoveToFront(e.at)
				c.mu.Unlock()
				return e.value, false, nil
			}
			c.drop(e)
			e = nil
		}
		if e == nil {
			e = &entry[K, V]{key: key, loaded: make(chan struct{}), failed: true}
			c.entries[key] = e
			c.mu.Unlock()
			v, err := c.fill(e, load)
			return v, true, err
		}
		c.mu.Unlock()
		select {
		case <-e.loaded:
			if !e.failed {
				return e.value, false, nil
			}
		case <-ctx.Done():
			return v, false, ctx.Err()
		}
	}
}

// fill loads the value of e and lets those who wait go, even if load panics.
func (c *cache[K, V]) fill(e *entry[K, V], load func() (V, time.Duration, error)) (v V, err error) {
	var life time.Duration
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(e.loaded)
		if e.failed || life <= 0 {
			delete(c.entries, e.key)
			return
		}
		c.keep(e, c.clock.Now().Add(life))
	}()
	v, life, err = load()
	if err == nil {
		e.value, e.failed = v, false
	}
	return v, err
}

// put keeps a value that was loaded elsewhere until a moment, if the key is not
// known.
func (c *cache[K, V]) put(key K, v V, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != nil {
		return
	}
	e := &entry[K, V]{key: key, loaded: make(chan struct{}), value: v}
	close(e.loaded)
	c.entries[key] = e
	c.keep(e, until)
}

// take returns the value of key and forgets it; ok tells whether there was one.
func (c *cache[K, V]) take(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil || e.at == nil {
		return v, false
	}
	c.drop(e)
	return e.value, c.clock.Now().Before(e.expires)
}

// keep puts an entry with a value in its place, and lets others go where there
// is no room.
func (c *cache[K, V]) keep(e *entry[K, V], until time.Time) {
	e.expires = until
	e.at = c.order.PushFront(e)
	c.sum += c.weight(e.value)
	for c.sum > c.max && c.order.Len() > 1 {
		c.drop(c.order.Back().Value.(*entry[K, V]))
	}
}

func (c *cache[K, V]) drop(e *entry[K, V]) {
	c.order.Remove(e.at)
	c.sum -= c.weight(e.value)
	delete(c.entries, e.key)
}
