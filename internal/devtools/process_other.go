//go:build !unix

package devtools

import (
	"errors"
	"os/exec"
)

// isolate refuses: a process of this system cannot be given further files.
func isolate(*exec.Cmd, bool) error {
	return errors.New("a browser can be driven on Linux, macOS and other Unix systems alone")
}

func kill(cmd *exec.Cmd) { cmd.Process.Kill() }

// Usage is not known here.
func (b *Browser) Usage() (Usage, error) { return Usage{}, errors.ErrUnsupported }
