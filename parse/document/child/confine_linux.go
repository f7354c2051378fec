package child

import (
	"errors"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// forbidden are the calls of the system by which a process reaches files, the network,
// other processes and programs. Reading and writing what is open stays, and so do
// memory, threads and clocks. It is never changed.
var forbidden = []string{
	"open", "openat", "openat2", "creat", "open_by_handle_at", "name_to_handle_at",
	"unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink", "symlinkat",
	"mknod", "mknodat", "truncate", "chmod", "fchmodat", "chown", "lchown", "fchownat", "utimensat", "setxattr", "mount", "umount2",
	"chdir", "chroot", "pivot_root", "readlink", "readlinkat", "getdents64", "memfd_create", "io_uring_setup",
	"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg",
	"execve", "execveat", "fork", "vfork", "kill", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_open", "pidfd_getfd",
	"unshare", "setns", "bpf", "perf_event_open", "keyctl", "add_key", "request_key", "userfaultfd", "init_module", "finit_module", "kexec_load", "reboot",
}

// confine takes files, network and programs from the process. A kernel without seccomp
// leaves it as it is.
func confine() error {
	for _, limit := range []int{unix.RLIMIT_CORE, unix.RLIMIT_FSIZE} {
		if err := unix.Setrlimit(limit, &unix.Rlimit{}); err != nil {
			return err
		}
	}
	if !seccomp.Supported() {
		return nil
	}
	info, err := arch.GetInfo("")
	if err != nil {
		return nil // a processor that the library does not know
	}
	known := map[string]bool{}
	for _, name := range info.SyscallNumbers {
		known[name] = true
	}
	var names []string
	for _, name := range forbidden {
		if known[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return errors.New("no system call is known by its name")
	}
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls:      []seccomp.SyscallGroup{{Action: seccomp.ActionErrno, Names: names}},
	}})
}
