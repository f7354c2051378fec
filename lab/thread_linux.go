package lab

import (
	"syscall"
	"time"
)

// clock is what costs are measured by.
const clock = "processor time of the simulation's thread, which the stages share as the clock saw them"

// threadTime is the processor time of this thread so far, of user and system.
func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD, getrusage(2)
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
