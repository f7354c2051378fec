package fetch

import (
	"testing"
	"time"
)

// A request that waits in the moment in which its time is over, before the alarm came, has no more time.
func TestTimerHeldTooLate(t *testing.T) {
	timer := newTimer(t.Context(), time.Hour)
	defer timer.stop()
	timer.end = time.Now().Add(-time.Second)
	timer.hold(true)
	timer.hold(false)
	select {
	case <-timer.ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the request has no end")
	}
	if !timer.over() {
		t.Error("it did not end by its time")
	}
}
