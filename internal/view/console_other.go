//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package view

import (
	"os"

	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/internal/terminal"
)

// keylessConsole is a terminal without keys.
type keylessConsole struct{ out int }

// openConsole opens the terminal out. Keys are not read here.
func openConsole(_ *os.File, out terminal.Output) console { return keylessConsole{int(out.Fd())} }

func (c keylessConsole) Size() (width, height int) {
	w, h, err := term.GetSize(c.out)
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

func (keylessConsole) Front() bool                   { return true }
func (keylessConsole) Take()                         {}
func (keylessConsole) Give()                         {}
func (keylessConsole) Keys() <-chan key              { return nil }
func (keylessConsole) Signals() <-chan consoleSignal { return nil }
func (keylessConsole) Interrupt()                    {}
func (keylessConsole) Suspend()                      {}
func (keylessConsole) Close()                        {}
