//go:build unix

package process

import (
	"os"
	"syscall"
)

// maxRSS is the largest resident set of a process that has ended, in bytes, where the
// system counts it in KiB, as Linux does.
func maxRSS(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Maxrss << 10 }
