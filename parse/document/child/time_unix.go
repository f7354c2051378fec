//go:build unix

package child

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what the process has used of processors so far.
func processorTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
