//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package view

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/internal/terminal"
)

// tty is a terminal, and the keyboard that belongs to it if in is one.
type tty struct {
	in, out int
	keys    chan key           // nil without a keyboard
	signals chan consoleSignal // see listen
	heard   chan os.Signal
	stop    chan struct{}
	ended   sync.WaitGroup

	mu    sync.Mutex
	own   *unix.Termios // how the terminal was before Take; nil while it is not taken
	taken atomic.Bool
	// reading is held by who reads, a fifth of a second at most, and by who gives the terminal
	// back: a read that began then would wait for a whole line, and Close for it.
	reading sync.Mutex
}

// openConsole opens the terminal out, with the keyboard in if that is one.
func openConsole(in *os.File, out terminal.Output) console {
	t := &tty{
		in: int(in.Fd()), out: int(out.Fd()), signals: make(chan consoleSignal, 1),
		heard: make(chan os.Signal, 4), stop: make(chan struct{}),
	}
	if term.IsTerminal(t.in) {
		t.keys = make(chan key)
		// A background job that reads the keyboard would be stopped by this one;
		// ignored, it makes the reading fail.
		signal.Ignore(unix.SIGTTIN)
		t.ended.Go(t.read)
	}
	signal.Notify(t.heard, terminal.Heeded(unix.SIGTSTP, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)...)
	t.ended.Go(t.listen)
	return t
}

func (t *tty) Size() (width, height int) {
	w, h, err := term.GetSize(t.out)
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

func (t *tty) Front() bool {
	group, err := unix.IoctlGetInt(t.out, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // where nobody knows there is no shell
}

// Take leaves the keys that are signals to the system, so that Ctrl-C works
// whatever becomes of the view.
func (t *tty) Take() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil || t.own != nil {
		return
	}
	was, err := unix.IoctlGetTermios(t.in, readTermios)
	if err != nil {
		return // then keys come by the line
	}
	now := *was
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 0, 2 // a read waits for a fifth of a second at most
	if unix.IoctlSetTermios(t.in, writeTermios, &now) == nil {
		t.own = was
		t.taken.Store(true)
	}
}

func (t *tty) Give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reading.Lock()
	defer t.reading.Unlock()
	if t.own != nil && t.Front() {
		unix.IoctlSetTermios(t.in, writeTermios, t.own) // where that fails nothing can be done
	}
	t.own = nil
	t.taken.Store(false)
}

func (t *tty) Keys() <-chan key              { return t.keys }
func (t *tty) Signals() <-chan consoleSignal { return t.signals }

// read reads keys while the terminal is taken.
func (t *tty) read() {
	var b [64]byte
	for {
		select {
		case <-t.stop:
			return
		default:
		}
		n := t.readOnce(b[:])
		if n < 0 {
			select {
			case <-t.stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
			continue
		}
		for _, k := range keysOf(b[:n]) {
			select {
			case t.keys <- k:
			case <-t.stop:
				return
			}
		}
	}
}

// readOnce reads what was typed while the terminal is taken: the number of bytes, 0 after a while
// without any, below 0 where nothing can be read.
func (t *tty) readOnce(b []byte) int {
	t.reading.Lock()
	defer t.reading.Unlock()
	if !t.taken.Load() || !t.Front() {
		return -1
	}
	n, err := unix.Read(t.in, b)
	if err != nil && err != unix.EINTR {
		return -1
	}
	return n
}

// listen passes signals on. After the first that ends the crawl it hears no
// more: another one ends the process.
func (t *tty) listen() {
	for {
		select {
		case s := <-t.heard:
			told := interrupted
			if s == unix.SIGTSTP {
				told = suspended
			} else {
				signal.Stop(t.heard)
			}
			select {
			case t.signals <- told:
			case <-t.stop:
				return
			}
		case <-t.stop:
			return
		}
	}
}

func (t *tty) Interrupt() {
	s := unix.SIGINT
	if signal.Ignored(s) { // by who started the process: SIGTERM is heard
		s = unix.SIGTERM
	}
	unix.Kill(unix.Getpid(), s)
}

// Suspend stops the process as Ctrl-Z does, and returns when it goes on.
func (t *tty) Suspend() {
	on := make(chan os.Signal, 1)
	signal.Notify(on, unix.SIGCONT)
	defer signal.Stop(on)
	unix.Kill(unix.Getpid(), unix.SIGSTOP)
	select {
	case <-on:
	case <-t.stop:
	}
}

// Close gives the terminal back when nobody reads from it any more.
func (t *tty) Close() {
	signal.Stop(t.heard)
	close(t.stop)
	t.ended.Wait()
	t.Give()
	if t.keys != nil {
		signal.Reset(unix.SIGTTIN)
	}
}
