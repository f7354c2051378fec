package demo

import (
	"os/exec"
	"syscall"
)

// endWithParent makes a child die with this process, however that ends, and
// keeps the terminal's interrupt from it: this process ends it in good order.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
