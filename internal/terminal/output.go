package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Output is what a program writes to: an *os.File, or one that is watched.
type Output interface {
	io.WriteCloser
	Fd() uintptr
	Name() string
}

// Draws tells whether out is a terminal that goes by control sequences: one that says of itself that
// it is dumb shows them as characters.
func Draws(out Output) bool {
	return term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
}
