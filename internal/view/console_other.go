//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package view

import (
	"os"

	"golang.org/x/term"
)

// bare is a terminal without keys.
type bare struct{ out int }

// openConsole opens the terminal out. Keys are not read here.
func openConsole(_, out *os.File) console { return bare{int(out.Fd())} }

func (b bare) Size() (width, height int) {
	w, h, err := term.GetSize(b.out)
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

func (bare) Front() bool                   { return true }
func (bare) Take()                         {}
func (bare) Give()                         {}
func (bare) Keys() <-chan key              { return nil }
func (bare) Signals() <-chan consoleSignal { return nil }
func (bare) Interrupt()                    {}
func (bare) Suspend()                      {}
func (bare) Close()                        {}
