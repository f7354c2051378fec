package main

import (
	"context"
	"testing"
	"time"
)

// sleepyClock is that of a machine that sleeps for an hour whenever a timer runs.
type sleepyClock struct {
	now    time.Time
	timers time.Duration // how long they ran
}

func (c *sleepyClock) Now() time.Time { return c.now }

func (c *sleepyClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	c.now, c.timers = c.now.Add(d+time.Hour), c.timers+d
	fire := make(chan time.Time, 1)
	fire <- c.now
	return fire, func() {}
}

// The time for which a machine sleeps counts for when the next round begins.
func TestAwait(t *testing.T) {
	c := &sleepyClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	at := c.now.Add(24 * time.Hour)
	if !await(t.Context(), c, at) || c.now.Before(at) || c.now.Sub(at) > 2*time.Hour || c.timers > time.Hour {
		t.Errorf("it is %v for %v, and timers ran for %v", c.now, at, c.timers)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if await(ctx, stoppedClock{}, at) {
		t.Error("a wait that was ended is told to be over")
	}
}

// stoppedClock is a clock that stands.
type stoppedClock struct{}

func (stoppedClock) Now() time.Time { return time.Time{} }

func (stoppedClock) NewTimer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }
