package fetch

import (
	"context"
	"time"
)

// timer bounds the time of a request, and can be held while the request waits
// for something that is not the server's fault.
type timer struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	alarm  *time.Timer
	end    time.Time
	left   time.Duration // while it is held
}

// newTimer starts a timer. Its ctx ends with the given one, or when the time is
// over; the caller calls stop.
func newTimer(ctx context.Context, limit time.Duration) *timer {
	t := &timer{end: time.Now().Add(limit)}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.alarm = time.AfterFunc(limit, func() { t.cancel(context.DeadlineExceeded) })
	return t
}

// hold stops the time, or lets it go on. One goroutine calls it.
func (t *timer) hold(on bool) {
	if on {
		if t.alarm.Stop() {
			t.left = max(time.Until(t.end), 1) // the alarm may be late
		}
		return
	}
	if t.left > 0 {
		t.end = time.Now().Add(t.left)
		t.alarm.Reset(t.left)
		t.left = 0
	}
}

// over tells whether the time is over.
func (t *timer) over() bool { return context.Cause(t.ctx) == context.DeadlineExceeded }

func (t *timer) stop() {
	t.alarm.Stop()
	t.cancel(nil)
}
