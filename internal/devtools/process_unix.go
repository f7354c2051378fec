//go:build unix && !linux

package devtools

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
)

func isolate(cmd *exec.Cmd, offline bool) error {
	if offline {
		return fmt.Errorf("%w: %s has no such thing", ErrOffline, runtime.GOOS)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

func kill(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// Usage is not known here.
func (b *Browser) Usage() (Usage, error) { return Usage{}, errors.ErrUnsupported }
