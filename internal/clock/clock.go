// Package clock gives time to those who must not read it themselves.
package clock

import "time"

// Clock tells the time and makes timers.
type Clock interface {
	Now() time.Time
	// NewTimer fires once after d.
	NewTimer(d time.Duration) (fire <-chan time.Time, stop func())
}

// System is the machine's clock.
type System struct{}

// Now returns the machine's time.
func (System) Now() time.Time { return time.Now() }

// NewTimer returns a timer of the machine's clock.
func (System) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
