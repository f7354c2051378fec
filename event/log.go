package event

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// Errors of Open.
var (
	// ErrNotEmpty: a new log was asked for where one is already.
	ErrNotEmpty = errors.New("the event log is not empty: resume the crawl, or choose another folder")
	// ErrMark: the log does not reach to the mark, or no event ends there.
	ErrMark = errors.New("the event log does not fit the crawl's state: events that were acknowledged are missing from it")
)

// Empty is the mark of a log without events.
const Empty = "0"

// Log appends events to a file.
//
// The mark of a log is its length in decimal digits: the file up to a mark
// holds whole lines only.
//
//	{"kind":"started",…}⏎ {"kind":"seeded",…}⏎ {"kind":"fetched",…}⏎
//	                                         └ mark "412"
//
// One goroutine uses a Log at a time.
type Log struct {
	path string
	f    file
	size int64 // of what was appended whole
	torn bool  // bytes behind size may be in the file
	buf  []byte
}

// file is what a Log needs of an *os.File opened for appending.
type file interface {
	io.Writer
	io.ReaderAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Open opens the log at path. Without a mark it begins a new one, and refuses
// a file that holds something with ErrNotEmpty. With a mark, which Append
// returned, it goes on there: what lies behind the mark is cut off. A file
// that is shorter, or has no end of a line at the mark, is ErrMark.
func Open(path string, mark []byte) (*Log, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("event log: %w", err)
	}
	if info.Size() == 0 { // perhaps new: make its name last
		if d, err := os.Open(filepath.Dir(path)); err == nil {
			err = d.Sync()
			d.Close()
			if err != nil {
				f.Close()
				return nil, fmt.Errorf("event log %s: %w", path, err)
			}
		}
	}
	l, err := open(path, f, info.Size(), mark)
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

func open(path string, f file, size int64, mark []byte) (*Log, error) {
	l := &Log{path: path, f: f, size: size}
	if mark == nil {
		if size > 0 {
			return nil, fmt.Errorf("%s: %w", path, ErrNotEmpty)
		}
		return l, nil
	}
	end, err := strconv.ParseInt(string(mark), 10, 64)
	if err != nil || end < 0 {
		return nil, fmt.Errorf("%s: mark %.40q is no length: %w", path, mark, ErrMark)
	}
	if end > size {
		return nil, fmt.Errorf("%s: %d bytes, the mark is at %d: %w", path, size, end, ErrMark)
	}
	if end > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], end-1); err != nil {
			return nil, fmt.Errorf("event log %s: %w", path, err)
		}
		if last[0] != '\n' {
			return nil, fmt.Errorf("%s: no event ends at the mark %d: %w", path, end, ErrMark)
		}
	}
	l.size, l.torn = end, size > end
	if err := l.cut(); err != nil {
		return nil, err
	}
	return l, nil
}

// cut removes what a write that failed, or a run that was killed, left behind
// the last whole append.
func (l *Log) cut() error {
	if !l.torn {
		return nil
	}
	if err := l.f.Truncate(l.size); err != nil {
		return fmt.Errorf("event log %s: cutting it back to %d bytes: %w", l.path, l.size, err)
	}
	l.torn = false
	return nil
}

// LastMark is the mark behind the last whole event in the log at path.
func LastMark(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	// Backwards, a block at a time, to the last end of a line.
	block := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		n := min(end, int64(len(block)))
		if _, err := f.ReadAt(block[:n], end-n); err != nil {
			return nil, fmt.Errorf("event log: %w", err)
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			return strconv.AppendInt(nil, end-n+int64(i)+1, 10), nil
		}
		end -= n
	}
	return []byte(Empty), nil
}

// Append writes events with one write and returns the mark of the log's new
// end. It appends all of them or, with an error, none: a part that reached the
// file is cut off before anything else is written. It does not wait for the
// disk. An event too long for a line is shortened or split, see Fetched.Omitted.
func (l *Log) Append(events ...Event) (mark []byte, err error) {
	if err := l.cut(); err != nil {
		return nil, err
	}
	b := l.buf[:0]
	for _, e := range events {
		if b, err = appendLine(b, e, maxLine); err != nil {
			return nil, fmt.Errorf("event log %s: %w", l.path, err)
		}
	}
	if cap(b) <= 1<<20 {
		l.buf = b // kept for the next call
	}
	if len(b) > 0 {
		n, err := l.f.Write(b)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite
		}
		if err != nil {
			l.torn = true
			err = fmt.Errorf("event log: %w", err)
			return nil, errors.Join(err, l.cut())
		}
		l.size += int64(n)
	}
	return strconv.AppendInt(nil, l.size, 10), nil
}

// appendLine appends e and a newline, in more than one line if one would be
// longer than limit.
func appendLine(b []byte, e Event, limit int) ([]byte, error) {
	start := len(b)
	b, err := AppendJSON(b, e)
	if err != nil {
		return b, err
	}
	if len(b)-start < limit {
		return append(b, '\n'), nil
	}
	b = b[:start]
	for _, part := range fit(e, limit) {
		start := len(b)
		if b, err = AppendJSON(b, part); err != nil {
			return b, err
		}
		if len(b)-start >= limit {
			return b, fmt.Errorf("event %s of %d bytes: longer than %d", e.Kind(), len(b)-start, limit)
		}
		b = append(b, '\n')
	}
	return b, nil
}

// Sync makes sure that what was appended survives a power failure.
func (l *Log) Sync() error {
	if err := l.cut(); err != nil {
		return err
	}
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("event log %s: %w", l.path, err)
	}
	return nil
}

// Close closes the file. It does not sync.
func (l *Log) Close() error {
	return errors.Join(l.cut(), l.f.Close())
}
