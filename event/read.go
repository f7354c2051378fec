package event

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// Errors which a LineError wraps.
var (
	// ErrTorn: the last line has no end, as a run that was killed, or is
	// still writing, leaves it.
	ErrTorn = errors.New("the line has no end: the run was killed or is still writing")
	// ErrTooLong: the line is longer than any that a Log writes.
	ErrTooLong = fmt.Errorf("longer than %d bytes", maxLine)
)

// LineError is an error of one line of a log.
type LineError struct {
	Path string // "" when read from something else than a file
	Line int    // 1…
	Err  error
}

func (e *LineError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// Read decodes a log, one event at a time. A line that is no event is given as
// a *LineError, after which the next line follows if the loop goes on; an event
// of unknown kind is an Unknown. An error of r ends the sequence. A line counts
// only with its newline: a last line without is a *LineError of ErrTorn.
func Read(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { read("", r, nil, yield) }
}

// ReadFile is Read of the file at path, which is opened anew every time the
// sequence is ranged over.
func ReadFile(path string) iter.Seq2[Event, error] { return readFile(path, nil) }

// ReadKinds is ReadFile of the events of some kinds. Lines of others are passed over
// without being decoded.
func ReadKinds(path string, kinds ...string) iter.Seq2[Event, error] {
	return readFile(path, func(line []byte) bool {
		kind, err := kindOf(line)
		return err != nil || slices.Contains(kinds, kind)
	})
}

func readFile(path string, want func(line []byte) bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, fmt.Errorf("event log: %w", err))
			return
		}
		defer f.Close()
		read(path, f, want, yield)
	}
}

// read gives the events of the lines that are wanted; nil wants all.
func read(path string, r io.Reader, want func(line []byte) bool, yield func(Event, error) bool) {
	lines := bufio.NewReaderSize(r, 1<<16)
	var long []byte // a line beyond the reader's buffer
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		size := len(line)
		if err == bufio.ErrBufferFull {
			long = append(long[:0], line...)
			for err == bufio.ErrBufferFull {
				line, err = lines.ReadSlice('\n')
				if size += len(line); size <= maxLine {
					long = append(long, line...)
				}
			}
			line = long
		}
		if err != nil && err != io.EOF {
			yield(nil, fmt.Errorf("event log %s: after line %d: %w", path, n-1, err))
			return
		}
		if err == io.EOF {
			if size > 0 {
				yield(nil, &LineError{path, n, ErrTorn})
			}
			return
		}
		if want != nil && size <= maxLine && !want(line) {
			continue
		}
		var e Event
		if size > maxLine {
			err = ErrTooLong
		} else {
			e, err = decode(line[:len(line)-1])
		}
		if err != nil {
			err = &LineError{path, n, err}
		}
		if !yield(e, err) {
			return
		}
		if cap(long) > 1<<20 {
			long = nil
		}
	}
}

// decode reads one event. The event shares no memory with line.
func decode(line []byte) (Event, error) {
	kind, err := kindOf(line)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "started":
		return decodeAs[Started](line)
	case "changed":
		return decodeAs[Changed](line)
	case "seeded":
		return decodeAs[Seeded](line)
	case "fetched":
		return decodeAs[Fetched](line)
	case "failed":
		return decodeAs[Failed](line)
	case "dropped":
		return decodeAs[Dropped](line)
	case "doubt":
		return decodeAs[Doubt](line)
	case "rejudged":
		return decodeAs[Rejudged](line)
	case "tick":
		return decodeAs[Tick](line)
	case "ended":
		return decodeAs[Ended](line)
	case "":
		return nil, errors.New("an event without a kind")
	}
	var at At
	if err := json.Unmarshal(line, &at); err != nil {
		return nil, err
	}
	at.At = at.At.UTC()
	return Unknown{At: at, Name: kind, Raw: bytes.Clone(line)}, nil
}

func decodeAs[E Event](line []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, err
	}
	return e, nil
}

// kindOf finds the kind, which a Log writes first.
func kindOf(line []byte) (string, error) {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"kind":"`)); ok {
		if i := bytes.IndexByte(rest, '"'); i > 0 && bytes.IndexByte(rest[:i], '\\') < 0 {
			return string(rest[:i]), nil
		}
	}
	var k struct {
		Kind string `json:"kind"`
	}
	err := json.Unmarshal(line, &k)
	return k.Kind, err
}
