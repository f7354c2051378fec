// Package child reads documents in processes of their own, the same program run once
// more: a document that makes its reader fail, hang or eat memory costs that process
// alone.
//
//	Pool ── kind, encoding, bytes ──► Serve ─► document.Local
//	     ◄──────────── HTML ─────────
//
// A process reads one document at a time and many after another. It ends when its
// standard input ends, and so with the program that started it. On Linux it can neither
// open files nor make connections nor start programs once it is ready; elsewhere it only
// does not. A frame in either direction is
//
//	request:   kind, encoding, bytes of the document: each length uint32 LE, bytes
//	response:  outcome byte · length uint32 LE · HTML, or what is wrong
package child

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/waggle-crawler/waggle/parse/document"
)

// Name is the argument by which a program knows that it is to Serve.
const Name = "read-documents"

// Self is the program that runs, as Options.Command begins with it: on Linux also after another
// was put in its place, as an update does.
func Self() (string, error) {
	if runtime.GOOS == "linux" {
		const self = "/proc/self/exe"
		_, err := os.Stat(self)
		return self, err
	}
	return os.Executable()
}

// outcome says what came of a document.
type outcome byte

const (
	whole outcome = iota
	cut
	damaged
	locked
	bounds
	empty
)

// Exit codes of a process that ends itself over a document.
const (
	exitMemory = 41
	exitTime   = 42
)

// Bounds on frames, in bytes.
const (
	maxWord  = 200
	maxFrame = 1 << 30

	maxAnswer = 64 << 20
)

func appendFrame(b, frame []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(frame))), frame...)
}

func readFrame(r io.Reader, most int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > uint32(most) {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// outcomeOf is how a process tells what came of a document.
func outcomeOf(wasCut bool, err error) outcome {
	switch {
	case err == nil && wasCut:
		return cut
	case err == nil:
		return whole
	case errors.Is(err, document.ErrLocked):
		return locked
	case errors.Is(err, document.ErrBounds):
		return bounds
	case errors.Is(err, document.ErrEmpty):
		return empty
	}
	return damaged
}

// said is the error that a process told of. What it says is not believed beyond a line.
type said struct {
	kind error
	text string
}

func (e said) Error() string { return e.text }
func (e said) Unwrap() error { return e.kind }

func (o outcome) err(text []byte) error {
	e := said{text: fmt.Sprintf("%.300s", text)}
	switch o {
	case locked:
		e.kind = document.ErrLocked
	case bounds:
		e.kind = document.ErrBounds
	case empty:
		e.kind = document.ErrEmpty
	default:
		e.kind = document.ErrDamaged
	}
	return e
}

// Serve reads documents from in and writes what came of them to out until in ends.
// Before each it calls begin, and end after it.
func serve(in io.Reader, out io.Writer, reader document.Reader, begin, end func()) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		kind, err := readFrame(r, maxWord)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		charset, err := readFrame(r, maxWord)
		if err != nil {
			return err
		}
		src, err := readFrame(r, maxFrame)
		if err != nil {
			return err
		}
		begin()
		html, wasCut, err := reader.HTML(document.Kind(kind), src, string(charset))
		end()
		answer := append(make([]byte, 0, len(html)+256), byte(outcomeOf(wasCut, err)))
		if err != nil {
			answer = appendFrame(answer, fmt.Appendf(nil, "%.300s", err.Error()))
		} else {
			answer = appendFrame(answer, html)
		}
		if _, err := out.Write(answer); err != nil {
			return err
		}
	}
}
