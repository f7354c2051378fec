package fetch_test

import (
	"sync"
	"time"
)

// fastClock is a clock on which every wait is over at once: a timer moves the
// time to when it fires.
type fastClock struct {
	mu  sync.Mutex
	now time.Time
}

func newFastClock() *fastClock {
	return &fastClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *fastClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fastClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	c.advance(d)
	fire := make(chan time.Time, 1)
	fire <- c.Now()
	return fire, func() {}
}

func (c *fastClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
