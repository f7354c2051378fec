package event

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
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
	// ErrChecksum: the line is not as it was written.
	ErrChecksum = errors.New("its checksum is wrong: the line is damaged")
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
	return events(func(yield func(Entry, error) bool) { read("", r, 0, nil, yield) })
}

// ReadFile is Read of the file at path, which is opened anew every time the
// sequence is ranged over.
func ReadFile(path string) iter.Seq2[Event, error] { return events(Entries(path)) }

// ReadKinds is ReadFile of the events of some kinds. Lines of others are passed over
// without being decoded.
func ReadKinds(path string, kinds ...string) iter.Seq2[Event, error] {
	return ReadKindsBefore(path, math.MaxInt64, kinds...)
}

// ReadKindsBefore is ReadKinds of the lines that begin before a byte of the file.
func ReadKindsBefore(path string, end int64, kinds ...string) iter.Seq2[Event, error] {
	want := func(line []byte) bool {
		kind, err := kindOf(line)
		return err != nil || slices.Contains(kinds, kind)
	}
	return func(yield func(Event, error) bool) {
		before := func(yield func(Entry, error) bool) {
			readFile(path, 0, want, func(e Entry, err error) bool { return (err != nil || e.Offset < end) && yield(e, err) })
		}
		for e, err := range events(before) {
			if err == nil && (e == nil || !slices.Contains(kinds, e.Kind())) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// ReadVisits is ReadFile of events in which a page has no links: Queued, Skipped and
// Omitted of Fetched are empty. It takes a third of the time, or less.
func ReadVisits(path string) iter.Seq2[Event, error] {
	page := []byte(`{"kind":"` + Fetched{}.Kind() + `"`)
	others := func(line []byte) bool { return !bytes.HasPrefix(line, page) }
	return func(yield func(Event, error) bool) {
		for e, err := range func(yield func(Entry, error) bool) { readFile(path, 0, others, yield) } {
			if err == nil && e.Err == nil && e.Event == nil {
				if e.Event, err = decode(cutLinks(e.Line)); err != nil {
					err = &LineError{path, e.Number, err}
				}
			}
			if p, ok := e.Event.(Fetched); ok {
				p.Queued, p.Skipped, p.Omitted = nil, nil, 0
				e.Event = p
			}
			if !yield(e.Event, cmp.Or(err, e.Err)) {
				return
			}
		}
	}
}

// cutLinks ends the line of a page before its links, which a Log writes last. What
// is looked for cannot stand in a string: there, quotes are escaped.
func cutLinks(line []byte) []byte {
	for _, member := range []string{`,"queued":[`, `,"skipped":[`} {
		if i := bytes.Index(line, []byte(member)); i >= 0 {
			line[i] = '}'
			return line[:i+1]
		}
	}
	return line
}

// Behind is what the log at path holds behind a mark, as Read gives it. Lines
// are counted from there. Nothing is behind a mark that the log does not reach.
func Behind(path string, mark []byte) iter.Seq2[Event, error] {
	return events(func(yield func(Entry, error) bool) {
		at, err := parseMark(path, mark)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		readFile(path, at, nil, yield)
	})
}

// Entry is a line of a log.
type Entry struct {
	Number int    // 1…
	Offset int64  // where it begins in the file, in bytes
	Line   []byte // with its newline, but for a last line without; valid until the next
	Event  Event  // nil with Err
	Summed bool   // it has a checksum, which is right unless Err says otherwise
	Err    error  // why it is no event: a *LineError
}

// Entries are the lines of the log at path, damaged ones among them. An error
// of the file ends the sequence.
func Entries(path string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) { readFile(path, 0, nil, yield) }
}

// EntriesFrom are the lines of the log at path from an offset on, at which one begins.
// Their numbers count from there, their offsets from the beginning of the file.
func EntriesFrom(path string, offset int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) { readFile(path, offset, nil, yield) }
}

// Check reads the log at path up to a mark and finds its first line that is
// damaged, as a *LineError; ErrMark if the log does not reach there. It is
// faster than reading the events, since of a line with a checksum nothing else is
// looked at. A log that is not there is an empty one.
func Check(path string, mark []byte) error {
	end, err := parseMark(path, mark)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && end == 0:
		return nil
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s is missing: %w", path, ErrMark)
	}
	if err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	if info.Size() < end {
		return fmt.Errorf("%s: %d bytes, the mark is at %d: %w", path, info.Size(), end, ErrMark)
	}
	for e, err := range func(yield func(Entry, error) bool) {
		read(path, io.LimitReader(f, end), 0, func([]byte) bool { return false }, yield)
	} {
		if err != nil {
			return err
		}
		if e.Err != nil {
			return e.Err
		}
	}
	return nil
}

// events are the events of lines.
func events(lines iter.Seq2[Entry, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range lines {
			if err == nil {
				err = e.Err
			}
			if !yield(e.Event, err) {
				return
			}
		}
	}
}

func readFile(path string, from int64, want func(line []byte) bool, yield func(Entry, error) bool) {
	f, err := os.Open(path)
	if err != nil {
		yield(Entry{}, fmt.Errorf("event log: %w", err))
		return
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		yield(Entry{}, fmt.Errorf("event log: %w", err))
		return
	}
	read(path, f, from, want, yield)
}

// read reads lines, of which the first begins at an offset in its file. Lines
// with a checksum that is right and that are not wanted have no event; nil wants all.
func read(path string, r io.Reader, offset int64, want func(line []byte) bool, yield func(Entry, error) bool) {
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
			yield(Entry{}, fmt.Errorf("event log %s: after line %d: %w", path, n-1, err))
			return
		}
		entry := Entry{Number: n, Offset: offset, Line: line}
		offset += int64(size)
		switch {
		case err == io.EOF && size == 0:
			return
		case err == io.EOF:
			entry.Err = &LineError{path, n, ErrTorn}
			yield(entry, nil)
			return
		case size > maxLine:
			err = ErrTooLong
		default:
			entry.Event, entry.Summed, err = decodeLine(line[:len(line)-1], want == nil || want(line))
		}
		if err != nil {
			entry.Err = &LineError{path, n, err}
		}
		if !yield(entry, nil) {
			return
		}
		if cap(long) > 1<<20 {
			long = nil
		}
	}
}

// decodeLine reads the event of a line without its newline, and its checksum if
// it has one.
func decodeLine(line []byte, decoding bool) (e Event, summed bool, err error) {
	body, sum, ok := cutChecksum(line)
	switch {
	case !ok:
		e, err = decode(line)
		return e, false, err
	case sum != checksum(body):
		return nil, true, ErrChecksum
	case !decoding:
		return nil, true, nil
	}
	// The object without its last member is made in place for a moment.
	comma := line[len(body)]
	line[len(body)] = '}'
	e, err = decode(line[:len(body)+1])
	line[len(body)] = comma
	return e, true, err
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
	case "received":
		return decodeAs[Received](line)
	case "fetched":
		return decodeAs[Fetched](line)
	case "site-file":
		return decodeAs[SiteFile](line)
	case "failed":
		return decodeAs[Failed](line)
	case "dropped":
		return decodeAs[Dropped](line)
	case "doubt":
		return decodeAs[Doubt](line)
	case "rejudged":
		return decodeAs[Rejudged](line)
	case "act":
		return decodeAs[Act](line)
	case "outage":
		return decodeAs[Outage](line)
	case "host-down":
		return decodeAs[HostDown](line)
	case "trap":
		return decodeAs[Trap](line)
	case "shipped":
		return decodeAs[Shipped](line)
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
