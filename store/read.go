package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Bounds on what a file may make a reader do.
const (
	maxHeader = 1 << 20 // bytes of a record's header
	maxFields = 10_000  // lines of a record's header
	maxFolded = 1000    // further lines of values; each is a copy of what came before it
	maxRecord = 4 << 30 // bytes of a record's block, unzipped
	window    = 64 << 10
	glance    = 4 << 10 // the first piece that is read behind damage: there may be more of it soon
)

// Field is a line of a record's header.
type Field struct{ Name, Value string }

// Record is one record of a WARC file. Its block can be read until the next
// record is asked for.
type Record struct {
	File   string // as given to the reader
	Offset int64  // where the record starts, or the gzip member it is in
	// Inner is where it starts within its gzip member, unzipped: 0 unless a
	// tool has packed several records into one member.
	Inner   int64
	Version string // "1.1"
	Fields  []Field
	Length  int64 // bytes of the block
	Block   io.Reader
}

// Get returns the value of a field, "" if it is absent. Names are compared
// without case.
func (r *Record) Get(name string) string {
	for _, f := range r.Fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Type is the record's kind: "response", "request", "metadata", "warcinfo",
// "resource", "revisit", "conversion", "continuation", or one of another tool.
func (r *Record) Type() string { return strings.ToLower(r.Get("WARC-Type")) }

// Target is the address the record is about, as written. (WARC/1.0 writers
// put it between angle brackets.)
func (r *Record) Target() string {
	t := r.Get("WARC-Target-URI")
	if strings.HasPrefix(t, "<") && strings.HasSuffix(t, ">") {
		t = t[1 : len(t)-1]
	}
	return t
}

// Date is when the record was captured, zero if that is unreadable.
func (r *Record) Date() time.Time {
	t, err := time.Parse(time.RFC3339Nano, r.Get("WARC-Date"))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// Damage is a place where a file cannot be read. Reading goes on behind it
// with the next record that can be found.
type Damage struct {
	File   string
	Offset int64 // where the damaged record starts
	// Torn means that the file ends within the record, as after a crash.
	Torn bool
	Err  error
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s, offset %d: %v", d.File, d.Offset, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// Records reads the records of files one after another. A file that cannot be
// opened and every damaged place give an error (a *Damage), after which the
// iteration goes on. Files may be gzipped record by record, as a whole, or not
// at all.
func Records(paths ...string) iter.Seq2[*Record, error] { return RecordsFrom(0, paths...) }

// RecordsFrom is Records, the first file read from an offset on, at which a record or
// its gzip member begins.
func RecordsFrom(offset int64, paths ...string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for _, path := range paths {
			if !readFile(path, offset, yield) {
				return
			}
			offset = 0
		}
	}
}

func readFile(path string, offset int64, yield func(*Record, error) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return yield(nil, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return yield(nil, err)
	}
	r := NewReader(path, f, info.Size())
	if offset > 0 {
		r.seek(min(offset, info.Size()))
	}
	for rec, err := range r.All() {
		if !yield(rec, err) {
			return false
		}
	}
	return true
}

// Reader reads one WARC file. It trusts nothing in it: memory is bounded by
// some hundred KiB and the present header (at most 1 MiB), and a block longer
// than 4 GiB is damage.
type Reader struct {
	name string
	src  io.ReaderAt
	size int64

	raw    counter       // src from some offset on
	br     *bufio.Reader // over raw
	gz     *gzip.Reader  // over br; nil until needed
	zipped bool          // the present member is gzip
	start  int64         // where the present member starts
	inner  counter       // what came out of the present member
	in     *bufio.Reader // over inner; for plain files over raw

	rec    *Record // whose block is not read to its end yet
	failed error   // the damage in the present record, until reported
	ended  bool

	piece []byte // what search reads into; nil until needed
}

// counter counts what is read through it.
type counter struct {
	r    io.Reader
	n    int64
	most int // bytes of the next read, doubled with each until they are enough; 0 = any number
}

func (c *counter) Read(p []byte) (int, error) {
	if 0 < c.most && c.most < len(p) {
		p = p[:c.most]
		c.most *= 2
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// NewReader reads a file of size bytes; name is for messages and Record.File.
func NewReader(name string, src io.ReaderAt, size int64) *Reader {
	r := &Reader{name: name, src: src, size: size}
	r.br = bufio.NewReaderSize(&r.raw, window)
	r.in = bufio.NewReaderSize(&r.inner, window)
	r.seek(0)
	return r
}

// seek goes to an offset at which a member or a plain record starts.
func (r *Reader) seek(offset int64) {
	r.raw = counter{r: io.NewSectionReader(r.src, offset, r.size-offset), n: offset}
	r.br.Reset(&r.raw)
	r.rec, r.failed, r.ended = nil, nil, false
	r.zipped = false
	r.start = offset
	r.inner = counter{}
	r.in.Reset(bytes.NewReader(nil))
}

// pos is the offset in the file of the next unread byte.
func (r *Reader) pos() int64 {
	if r.plain() {
		return r.inner.n - int64(r.in.Buffered()) + r.start
	}
	return r.raw.n - int64(r.br.Buffered())
}

// plain tells whether the reader is within records that are not zipped.
func (r *Reader) plain() bool { return !r.zipped && r.inner.r != nil }

// At goes to the record at an offset, as Record.Offset and Inner have it, and
// reads its header.
func (r *Reader) At(offset, inner int64) (*Record, error) {
	if offset < 0 || offset >= r.size || inner < 0 {
		return nil, r.damage(offset, fmt.Errorf("no record there: the file has %d bytes", r.size))
	}
	r.seek(offset)
	if err := r.member(); err != nil {
		return nil, r.damage(offset, err)
	}
	if inner > 0 {
		if _, err := io.CopyN(io.Discard, r.in, inner); err != nil {
			return nil, r.damage(offset, err)
		}
	}
	rec, err := r.header()
	if err != nil {
		return nil, r.damage(offset, err)
	}
	return rec, nil
}

// All reads the records from the present place on. After a *Damage the
// iteration goes on with the next record that can be found.
func (r *Reader) All() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// Next reads on to the next record. The error is a *Damage, after which Next
// may be called again, or io.EOF.
func (r *Reader) Next() (*Record, error) {
	if r.ended {
		return nil, io.EOF
	}
	err := r.finish()
	if err == nil {
		var rec *Record
		if rec, err = r.advance(); err == nil {
			return rec, nil
		}
	}
	if err == io.EOF {
		r.ended = true
		return nil, io.EOF
	}
	d := r.damage(r.start, err)
	if r.plain() {
		d.Offset = r.lastRecord()
	}
	first := glance
	if isOfDisk(err) {
		first = window // to come past a bad place at once
	}
	next, found := r.search(d.Offset+1, first)
	if found {
		r.seek(next)
		r.raw.most = first
	} else {
		r.ended = true
		d.Torn = errors.Is(err, io.ErrUnexpectedEOF)
	}
	return nil, d
}

// lastRecord is where the record read last starts in a plain file.
func (r *Reader) lastRecord() int64 {
	if r.rec != nil {
		return r.rec.Offset
	}
	return min(r.pos(), r.size)
}

// advance finds the next header: in the present member, or in the next.
func (r *Reader) advance() (*Record, error) {
	for {
		if r.inner.r != nil {
			err := r.skipBlank(r.in)
			if err == nil {
				return r.header()
			}
			if err != io.EOF {
				return nil, err
			}
			if !r.zipped {
				return nil, io.EOF
			}
		}
		if err := r.member(); err != nil {
			return nil, err
		}
	}
}

// skipBlank passes over the line ends between records; io.EOF means that no
// record follows.
func (r *Reader) skipBlank(br *bufio.Reader) error {
	for range maxHeader {
		c, err := br.ReadByte()
		if err != nil {
			return err
		}
		if c != '\r' && c != '\n' {
			return br.UnreadByte()
		}
	}
	return fmt.Errorf("more than %d line ends between records", maxHeader)
}

// member begins the gzip member, or the plain text, at the present place.
func (r *Reader) member() error {
	r.start = r.raw.n - int64(r.br.Buffered())
	r.inner = counter{}
	r.rec = nil
	magic, err := r.br.Peek(2)
	if len(magic) == 0 {
		return err // io.EOF, or what the file system says
	}
	r.zipped = len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b
	if !r.zipped {
		r.inner.r = r.br
		r.in.Reset(&r.inner)
		return nil
	}
	if r.gz == nil {
		r.gz = new(gzip.Reader)
	}
	if err := r.gz.Reset(r.br); err != nil {
		return noEOF(err)
	}
	r.gz.Multistream(false)
	r.inner.r = r.gz
	r.in.Reset(&r.inner)
	return nil
}

// header reads a record's header.
func (r *Reader) header() (*Record, error) {
	rec := &Record{File: r.name, Offset: r.start, Inner: r.inner.n - int64(r.in.Buffered())}
	if !r.zipped {
		rec.Offset, rec.Inner = r.start+rec.Inner, 0
	}
	r.rec = rec
	left, folded := maxHeader, 0
	line, err := r.line(&left)
	if err != nil {
		return nil, err
	}
	version, ok := strings.CutPrefix(line, "WARC/")
	if !ok || version == "" || len(version) > 8 {
		return nil, fmt.Errorf("%.40q is not the start of a WARC record", line)
	}
	rec.Version = version
	for {
		if line, err = r.line(&left); err != nil {
			return nil, err
		}
		if line == "" {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if folded++; folded > maxFolded {
				return nil, fmt.Errorf("a header of more than %d folded lines", maxFolded)
			}
			if n := len(rec.Fields); n > 0 {
				f := &rec.Fields[n-1]
				f.Value = strings.TrimSpace(f.Value + " " + strings.TrimSpace(line))
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("header line %.80q has no colon", line)
		}
		if len(rec.Fields) == maxFields {
			return nil, fmt.Errorf("a header of more than %d lines", maxFields)
		}
		rec.Fields = append(rec.Fields, Field{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	length := rec.Get("Content-Length")
	n, err := strconv.ParseInt(length, 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("Content-Length %.40q is not a length", length)
	}
	if n > maxRecord {
		return nil, fmt.Errorf("a block of %d bytes: more than %d", n, int64(maxRecord))
	}
	rec.Length = n
	rec.Block = &block{r: r, rec: rec, left: n}
	return rec, nil
}

// line reads one line of a header without its end, and takes its length off
// left.
func (r *Reader) line(left *int) (string, error) {
	var long []byte
	for {
		part, err := r.in.ReadSlice('\n')
		*left -= len(part)
		if *left < 0 {
			return "", fmt.Errorf("a header of more than %d bytes", maxHeader)
		}
		if err == nil {
			if long != nil {
				part = append(long, part...)
			}
			return string(bytes.TrimRight(part, "\r\n")), nil
		}
		if err != bufio.ErrBufferFull {
			return "", noEOF(err)
		}
		long = append(long, part...)
	}
}

// block is the unread rest of a record's block.
type block struct {
	r    *Reader
	rec  *Record
	left int64
}

func (b *block) Read(p []byte) (int, error) {
	if b.r.rec != b.rec {
		return 0, errors.New("the block of a record that was left behind")
	}
	if b.r.failed != nil {
		return 0, b.r.failed
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.in.Read(p)
	b.left -= int64(n)
	if b.left == 0 {
		return n, nil
	}
	if err != nil {
		b.r.failed = noEOF(err)
		return n, b.r.failed
	}
	return n, nil
}

// whole reads to the end of the present record, as finish does, and looks whether a record or nothing
// follows in its gzip member; the error says that it is something else.
func (r *Reader) whole() error {
	if err := r.finish(); err != nil {
		return err
	}
	const start = "WARC/"
	next, err := r.in.Peek(len(start))
	if err != nil && err != io.EOF {
		return noEOF(err)
	}
	if len(next) > 0 && string(next) != start {
		return fmt.Errorf("%.20q behind the record: not the start of a WARC record", next)
	}
	return nil
}

// finish reads to the end of the present record and, where a gzip member ends
// with it, to the end of that: then its checksum is good.
func (r *Reader) finish() error {
	if r.rec == nil || r.rec.Block == nil {
		return r.failed
	}
	if _, err := io.Copy(io.Discard, r.rec.Block); err != nil {
		return err
	}
	if err := r.skipBlank(r.in); err != nil && err != io.EOF {
		r.failed = noEOF(err)
		return r.failed
	}
	return nil
}

// search looks for the next place at or after offset where a record starts. first is how many bytes it
// reads at first.
func (r *Reader) search(offset int64, first int) (int64, bool) {
	if r.piece == nil {
		r.piece = make([]byte, window)
	}
	const overlap = 16
	for size := first; offset < r.size; size = min(2*size, window) {
		buf := r.piece[:size]
		n, err := r.src.ReadAt(buf, offset)
		if err != nil && err != io.EOF { // a bad place of the disk: there is more behind it
			offset += int64(size)
			continue
		}
		if n == 0 {
			return 0, false
		}
		for i := range n {
			at := offset + int64(i)
			switch {
			case bytes.HasPrefix(buf[i:n], []byte("\x1f\x8b\x08")) && r.startsRecord(at),
				bytes.HasPrefix(buf[i:n], []byte("\nWARC/1.")):
				if buf[i] == '\n' {
					at++
				}
				return at, true
			}
		}
		if n <= overlap || offset+int64(n) >= r.size {
			return 0, false
		}
		offset += int64(n) - overlap
	}
	return 0, false
}

// startsRecord tells whether the gzip member at an offset begins as a record
// does.
func (r *Reader) startsRecord(at int64) bool {
	if r.gz == nil {
		r.gz = new(gzip.Reader)
	}
	if r.gz.Reset(bufio.NewReaderSize(io.NewSectionReader(r.src, at, min(r.size-at, window)), 512)) != nil {
		return false
	}
	r.gz.Multistream(false)
	var start [5]byte
	_, err := io.ReadFull(r.gz, start[:])
	return err == nil && string(start[:]) == "WARC/"
}

func (r *Reader) damage(at int64, err error) *Damage {
	d := &Damage{File: r.name, Offset: at, Err: noEOF(err)}
	d.Torn = errors.Is(d.Err, io.ErrUnexpectedEOF)
	return d
}

// isOfDisk tells an error of the file system from what is wrong with the bytes of a file.
func isOfDisk(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number)
}

// noEOF makes an end of file within something an error of its own.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
