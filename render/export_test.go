package render

import "time"

// Online has the browsers of a pool started in the network of the machine.
func (p *Pool) Online() { p.way = len(ways) - 1 }

// SetTime replaces how long a page may take.
func (p *Pool) SetTime(d time.Duration) { p.o.Limits.Time = d }

// SetClock replaces the clock of a pool.
func (p *Pool) SetClock(now func() time.Time) { p.o.Clock = clockFunc(now) }

type clockFunc func() time.Time

func (f clockFunc) Now() time.Time { return f() }
