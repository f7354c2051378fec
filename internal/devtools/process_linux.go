package devtools

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// insideUser is the user that the browser is within its own user name space.
const insideUser = 1000

// isolate sets how a process is started: in a group of its own and, where it is to be
// offline, in name spaces of its own.
func isolate(cmd *exec.Cmd, offline bool) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if offline {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: insideUser, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: insideUser, HostID: os.Getgid(), Size: 1}}
	}
	return nil
}

// kill ends all processes of the group.
func kill(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// ticksPerSecond is the unit of times in /proc: USER_HZ, which is 100 on every
// architecture that Go runs on.
const ticksPerSecond = 100

// allLooks is after how many looks those processes are looked at as well which were none of the
// browser's: their numbers may be given to others.
const allLooks = 10

// Usage tells what the processes of the browser take. The error wraps
// errors.ErrUnsupported on systems where that is not known.
func (b *Browser) Usage() (u Usage, err error) {
	b.looking.Lock()
	defer b.looking.Unlock()
	if b.looks%allLooks == 0 {
		b.others = map[string]bool{}
	}
	b.looks++
	list, err := os.ReadDir("/proc")
	if err != nil {
		return u, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	group := strconv.Itoa(b.cmd.Process.Pid)
	for _, d := range list {
		if name := d.Name(); name[0] < '1' || name[0] > '9' || b.others[name] {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", d.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		// PID (COMMAND) STATE PPID PGRP …; utime and stime are fields 14 and 15. Z has ended.
		_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		f := strings.Fields(rest)
		if len(f) < 13 || f[2] != group || f[0] == "Z" {
			b.others[d.Name()] = true
			continue
		}
		user, _ := strconv.ParseInt(f[11], 10, 64) // of the kernel's making
		system, _ := strconv.ParseInt(f[12], 10, 64)
		u.Processes++
		u.CPU += time.Duration(user+system) * time.Second / ticksPerSecond
		u.Memory += ownMemory(d.Name())
	}
	return u, nil
}

// ownMemory is the memory of a process that it shares with no file.
func ownMemory(pid string) (bytes int64) {
	status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "RssAnon" && name != "RssShmem" {
			continue
		}
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		bytes += kib << 10
	}
	return bytes
}
