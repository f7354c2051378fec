package view

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudo is a terminal of the system: what is typed at the first end is read
// from the second.
func pseudo(t *testing.T) (person, terminal *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs pseudo-terminals: mount devpts (%v)", err)
	}
	t.Cleanup(func() { person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return person, terminal
}

// On a terminal of the system keys come one by one and are not echoed, Ctrl-C
// stays a signal, and all is as before once the terminal is given back.
func TestConsole(t *testing.T) {
	person, terminal := pseudo(t)
	fd := int(terminal.Fd())
	modes := func() unix.Termios {
		t.Helper()
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return *m
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 123, Row: 45}); err != nil {
		t.Fatal(err)
	}
	before := modes()
	if before.Lflag&unix.ECHO == 0 {
		t.Fatal("a terminal that does not echo")
	}
	c := openConsole(terminal, terminal)
	if w, h := c.Size(); w != 123 || h != 45 {
		t.Errorf("size %d × %d", w, h)
	}
	if !c.Front() {
		t.Error("in the background of no shell")
	}
	c.Take()
	if m := modes(); m.Lflag&(unix.ECHO|unix.ICANON) != 0 || m.Lflag&unix.ISIG == 0 || m.Oflag != before.Oflag {
		t.Errorf("taken: %+v", m)
	}
	if _, err := person.WriteString("pH\x1b[A"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []key{"p", "h", keyUp} {
		if got := <-c.Keys(); got != want {
			t.Errorf("key %q, want %q", got, want)
		}
	}
	for i := range 5 {
		c.Take()
		c.Give()
		if m := modes(); m != before {
			t.Errorf("given back: %+v, was %+v", m, before)
		}
		// Nobody reads from it any more: what is typed is there for who comes next.
		line := fmt.Sprintf("line %d\n", i)
		if _, err := person.WriteString(line); err != nil {
			t.Fatal(err)
		}
		var b [64]byte
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000); n != 1 || err != nil {
			t.Fatalf("%q is gone: %v", line, err)
		}
		if n, err := unix.Read(fd, b[:]); err != nil || string(b[:n]) != line {
			t.Errorf("%q of %q is left: %v", b[:max(n, 0)], line, err)
		}
	}
	c.Take()
	c.Close()
	if m := modes(); m != before {
		t.Errorf("closed: %+v, was %+v", m, before)
	}
	// Without a keyboard the terminal stays as it is.
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c = openConsole(null, terminal)
	if c.Take(); c.Keys() != nil || modes() != before {
		t.Error("keys of no keyboard")
	}
	c.Close()
}

// While the shell has the terminal for another job no key can be read, also where this one took it: who
// reads keys waits then, and does not ask again at once.
func TestNoKeysInTheBackground(t *testing.T) {
	person, terminal := pseudo(t)
	c := openConsole(terminal, person).(*tty) // the other end tells of a group in front that is not this one
	defer c.Close()
	c.Take()
	if !c.taken.Load() || c.Front() {
		t.Fatalf("taken: %v, in front: %v", c.taken.Load(), c.Front())
	}
	if n := c.readOnce(make([]byte, 1)); n >= 0 {
		t.Errorf("read %d bytes in the background", n)
	}
}
