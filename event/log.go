package event

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
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
// A line is a JSON object whose last member is the checksum of what is before
// it in the line: its CRC-32C (RFC 3720), eight hexadecimal digits.
//
//	{"kind":"tick","at":"2026-03-01T12:00:00Z",…,"crc":"9a1f03c2"}⏎
//	└──────────── of these bytes ──────────────┘
//
// Lines without one, as earlier versions wrote them, are read all the same.
//
// One goroutine uses a Log at a time.
type Log struct {
	// Room, unless nil, is asked before n bytes are written whether the disk has
	// room for them; its error is Append's.
	Room func(n int) error
	// Unsynced, unless nil, is told of the sync of the file that failed first.
	Unsynced func(error)

	path string
	f    File
	size int64 // of what was appended whole
	torn bool  // bytes behind size may be in the file
	buf  []byte

	unsynced error // of the first sync of the file that failed
}

// Open opens the log at path. Without a mark it begins a new one, and refuses
// a file that holds something with ErrNotEmpty. With a mark, which Append
// returned, it goes on there: what lies behind the mark is cut off. A file
// that is shorter, or has no end of a line at the mark, is ErrMark.
func Open(path string, mark []byte) (*Log, error) { return OpenOn(nil, path, mark) }

// OpenOn is Open on another disk than that of the machine: tests put faults there. nil = that
// of the machine.
func OpenOn(disk Disk, path string, mark []byte) (*Log, error) {
	if disk == nil {
		disk = OS{}
	}
	f, size, err := disk.Open(path, true)
	if err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	if size == 0 { // perhaps new: make its name last
		if err := disk.SyncDir(filepath.Dir(path)); err != nil {
			f.Close()
			return nil, fmt.Errorf("event log %s: %w", path, err)
		}
	}
	l, err := open(path, f, size, mark)
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

func open(path string, f File, size int64, mark []byte) (*Log, error) {
	l := &Log{path: path, f: f, size: size}
	if mark == nil {
		if size > 0 {
			return nil, fmt.Errorf("%s: %w", path, ErrNotEmpty)
		}
		return l, nil
	}
	end, err := parseMark(path, mark)
	if err != nil {
		return nil, err
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

func parseMark(path string, mark []byte) (int64, error) {
	end, err := strconv.ParseInt(string(mark), 10, 64)
	if err != nil || end < 0 {
		return 0, fmt.Errorf("%s: mark %.40q is no length: %w", path, mark, ErrMark)
	}
	return end, nil
}

// cut removes what a write that failed, or a run that was killed, left behind
// the last whole append. The disk has that before anything is written in its place, lest lines of
// before come back when the power fails.
func (l *Log) cut() error {
	if !l.torn {
		return nil
	}
	if err := l.f.Truncate(l.size); err != nil {
		return fmt.Errorf("event log %s: cutting it back to %d bytes: %w", l.path, l.size, err)
	}
	if err := l.syncFile(); err != nil {
		return err
	}
	l.torn = false
	return nil
}

// syncFile syncs the file, also after a cut. After a sync that failed all fail: the system may have dropped what
// was to be written, and tells the error once.
func (l *Log) syncFile() error {
	if l.unsynced != nil {
		return l.unsynced
	}
	if err := l.f.Sync(); err != nil {
		l.unsynced = fmt.Errorf("event log %s: %w", l.path, err)
		if l.Unsynced != nil {
			l.Unsynced(l.unsynced)
		}
	}
	return l.unsynced
}

// Append writes events with one write and returns the mark of the log's new
// end. It appends all of them or, with an error, none: a part that reached the
// file is cut off before anything else is written. It does not wait for the
// disk, but for such a cut. An event too long for a line is shortened or split, see Fetched.Omitted.
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
	return l.write(b)
}

// AppendEntry appends a whole line of another log as it is.
func (l *Log) AppendEntry(e Entry) (mark []byte, err error) {
	if e.Err != nil {
		return nil, e.Err
	}
	if err := l.cut(); err != nil {
		return nil, err
	}
	return l.write(e.Line)
}

// write appends whole lines.
func (l *Log) write(b []byte) (mark []byte, err error) {
	if l.Room != nil && len(b) > 0 {
		if err := l.Room(len(b)); err != nil {
			return nil, err
		}
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

// appendLine appends e with its checksum and a newline, in more than one line if
// one would be longer than limit.
func appendLine(b []byte, e Event, limit int) ([]byte, error) {
	limit -= checksumSize
	start := len(b)
	b, err := AppendJSON(b, e)
	if err != nil {
		return b, err
	}
	if len(b)-start < limit {
		return appendChecksum(b, start), nil
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
		b = appendChecksum(b, start)
	}
	return b, nil
}

// checksumKey begins the member that holds the checksum, and checksumSize is
// the length of that member with the brace behind it.
const (
	checksumKey  = `,"crc":"`
	checksumSize = len(checksumKey) + 8 + len(`"}`)
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// appendChecksum ends the line of the JSON object at b[start:].
func appendChecksum(b []byte, start int) []byte {
	b = b[:len(b)-1] // the brace
	sum := checksum(b[start:])
	return fmt.Appendf(b, "%s%08x\"}\n", checksumKey, sum)
}

// cutChecksum parts a line, without its newline, into what is before the checksum
// and the checksum; ok is false where there is none.
func cutChecksum(line []byte) (body []byte, sum uint32, ok bool) {
	n := len(line) - checksumSize
	if n < 0 || !bytes.HasPrefix(line[n:], []byte(checksumKey)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil, 0, false
	}
	v, err := strconv.ParseUint(string(line[n+len(checksumKey):len(line)-2]), 16, 32)
	if err != nil {
		return nil, 0, false
	}
	return line[:n], uint32(v), true
}

// Sync makes sure that what was appended survives a power failure. After one that failed, all fail, and so they do
// after an Append whose cut could not be synced.
func (l *Log) Sync() error {
	if err := l.cut(); err != nil {
		return err
	}
	return l.syncFile()
}

// SyncFile makes what the log at path holds survive a power failure; where there is none it
// does nothing. It may be called while a Log is open there, on any goroutine. The disk is that
// of OpenOn.
func SyncFile(disk Disk, path string) error {
	if disk == nil {
		disk = OS{}
	}
	f, _, err := disk.Open(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("event log %s: %w", path, err)
	}
	return nil
}

// Close closes the file. It does not sync.
func (l *Log) Close() error {
	return errors.Join(l.cut(), l.f.Close())
}
