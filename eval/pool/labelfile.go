package pool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/event"
)

// labels.tsv holds the labels of a pool in the order in which they were given.
// Of several by one reader, of one page and round, the last counts; the grade -
// takes those before it back. Lines end with LF or CRLF; the last one may have
// no end. A last line that only begins as a label was not written whole: it is
// an error for ReadLabels, and OpenLabels cuts it off and tells it.
//
//	# waggle labels of pool 3fa9c20be1d04a57
//	web	topic	address	grade	reader	round
//	campus	databases	http://a.example/	2	ada	1
const (
	LabelsName = "labels.tsv"
	labelsMark = "# waggle labels of pool "
	labelsHead = "web\ttopic\taddress\tgrade\treader\tround"
)

// ReadLabels reads the labels in the folder of a pool and checks each; none,
// where the file is not there. The error tells file and line.
func ReadLabels(dir string, p *Pool) ([]Label, error) {
	name := filepath.Join(dir, LabelsName)
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := readLabels(name, b, p)
	if err != nil {
		return nil, err
	}
	if r.rest != "" && r.lines > 2 {
		return nil, fmt.Errorf("%s:%d: the last line was not written whole: %q: complete it or remove it; waggle lab read cuts it off when it starts", name, r.lines, event.Line(r.rest))
	}
	return r.labels, nil
}

// labelLines are those of a file of labels.
type labelLines struct {
	labels []Label
	size   int64  // bytes of whole lines, and of a whole last line without an end
	open   bool   // the last line is whole and has no end
	rest   string // the beginning of a line at the end; "" for none
	lines  int    // with that
}

// readLabels reads the bytes of a file of labels.
func readLabels(name string, b []byte, p *Pool) (r labelLines, err error) {
	if head := labelsMark + p.Revision + "\n" + labelsHead + "\n"; strings.HasPrefix(head, string(b)) {
		return labelLines{rest: string(b), lines: 1}, nil // the head was not written whole
	}
	ix := p.index()
	text := string(b)
	for line := range strings.Lines(text) {
		r.lines++
		bare, ended := strings.CutSuffix(line, "\n")
		bare = strings.TrimSuffix(bare, "\r")
		fail := func(err error) (labelLines, error) {
			return r, fmt.Errorf("%s:%d: %w", name, r.lines, err)
		}
		if strings.Contains(bare, "\r") {
			return fail(errors.New("a carriage return stands within the line: lines end with LF or CRLF, and those of this file seem to end with CR alone"))
		}
		if r.lines <= 2 {
			if err := checkHead(r.lines, bare, p); err != nil {
				return fail(err)
			}
		} else if l, err := ix.label(bare); err == nil {
			r.labels = append(r.labels, l)
		} else if ended || !ix.begins(bare) {
			return fail(err)
		} else {
			r.rest = line
			return r, nil
		}
		r.size += int64(len(line))
		r.open = !ended
	}
	return r, nil
}

// checkHead checks one of the first two lines.
func checkHead(n int, line string, p *Pool) error {
	if n == 2 {
		if line != labelsHead {
			return fmt.Errorf("the line is not %q", labelsHead)
		}
		return nil
	}
	revision, ok := strings.CutPrefix(line, labelsMark)
	if !ok {
		return fmt.Errorf("the first line is not %q and a revision", labelsMark)
	}
	if revision != p.Revision {
		return fmt.Errorf("the labels are of pool %s, and this is pool %s: labels fit the pool they were given for", event.Line(revision), p.Revision)
	}
	return nil
}

// label reads a line.
func (ix *index) label(line string) (l Label, err error) {
	f := strings.Split(line, "\t")
	if len(f) != 6 {
		return l, errors.New("six fields parted by tabs are wanted: web, topic, address, grade, reader, round")
	}
	l = Label{Key: Key{f[0], f[1]}, Reader: f[4]}
	if f[3] == withdrawn.String() {
		l.Grade = withdrawn
	} else if l.Grade, err = ParseGrade(f[3]); err != nil {
		return l, err
	}
	if l.Round, err = parseRound(f[5]); err != nil {
		return l, err
	}
	if err := ix.checkReader(l.Reader); err != nil {
		return l, err
	}
	l.URL, _, err = ix.find(l.Key, f[2])
	return l, err
}

// begins tells whether line is the beginning of a valid label line.
func (ix *index) begins(line string) bool {
	f := strings.Split(line, "\t")
	for i := range ix.p.Topics {
		t := &ix.p.Topics[i]
		if start := t.Web + "\t" + t.Name + "\t"; strings.HasPrefix(start, line) {
			return true
		} else if !strings.HasPrefix(line, start) {
			continue
		}
		if len(f) > 3 { // the address is whole
			_, _, err := ix.find(t.Key(), f[2])
			return err == nil && len(f) <= 6
		}
		return true
	}
	return false
}

// LabelFile is an open file of labels, to which labels are added. It is not safe
// for concurrent use.
//
// What another program does to the file meanwhile is noticed before each label
// that is added: then nothing is written, and the error tells what happened. A
// label that could not be written whole is cut off again.
type LabelFile struct {
	// Cut is what was cut off the end when the file was opened: a line that was
	// not written whole; "" for none.
	Cut string

	f    appender
	name string
	size int64 // bytes of the file, as far as this one knows
	open bool  // the last line has no end
	torn error // why the end may hold a part of a line; nil = it does not
}

// appender is a file whose writes go to its end.
type appender interface {
	io.WriteCloser
	Stat() (os.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// appendFile is an appender. It cuts by name, as some systems do not let a file
// be cut that was opened for appending.
type appendFile struct{ *os.File }

func (f appendFile) Truncate(size int64) error { return os.Truncate(f.Name(), size) }

// OpenLabels opens the labels in the folder of a pool, for adding to them, and
// returns those that are there. What it does not understand it leaves alone; then
// the error tells file and line.
func OpenLabels(dir string, p *Pool) (*LabelFile, []Label, error) {
	name := filepath.Join(dir, LabelsName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, err
	}
	lf, labels, err := openLabels(appendFile{f}, name, p)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return lf, labels, nil
}

func openLabels(f appendFile, name string, p *Pool) (*LabelFile, []Label, error) {
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, nil, err
	}
	r, err := readLabels(name, b, p)
	if err != nil {
		return nil, nil, err
	}
	lf := &LabelFile{f: f, name: name, size: r.size, open: r.open}
	if r.rest != "" {
		if err := f.Truncate(r.size); err != nil {
			return nil, nil, err
		}
		if r.lines > 2 {
			lf.Cut = r.rest
		}
	}
	if r.size == 0 {
		if err := lf.write([]byte(labelsMark + p.Revision + "\n" + labelsHead + "\n")); err != nil {
			return nil, nil, err
		}
	}
	return lf, r.labels, nil
}

// Add adds labels, and returns when they are on the disk. After an error none of
// them is there, unless the error says otherwise.
func (lf *LabelFile) Add(labels ...Label) error {
	if len(labels) == 0 {
		return nil
	}
	if err := lf.check(); err != nil {
		return err
	}
	var b bytes.Buffer
	if lf.open {
		b.WriteByte('\n')
	}
	for _, l := range labels {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%d\n", l.Web, l.Topic, l.URL, l.Grade, l.Reader, l.Round)
	}
	return lf.write(b.Bytes())
}

// again is what helps where another program has changed the file.
const again = "nothing was added to it; end this command and start it again: it reads the file as it is then"

// check finds out what became of the file since the last label.
func (lf *LabelFile) check() error {
	if lf.torn != nil {
		if err := lf.f.Truncate(lf.size); err != nil {
			return fmt.Errorf("%s: its end holds a part of a line (%w), which cannot be cut off: %w", lf.name, lf.torn, err)
		}
		lf.torn = nil
	}
	own, err := lf.f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(lf.name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s was removed or renamed by another program: put it back, or end this command and start it again, which begins a new file", lf.name)
	case err != nil:
		return err
	case !os.SameFile(own, there):
		return fmt.Errorf("%s was replaced by another program, such as an editor: %s", lf.name, again)
	case own.Size() != lf.size:
		return fmt.Errorf("%s was changed by another program: it has %d bytes, and had %d: %s", lf.name, own.Size(), lf.size, again)
	}
	return nil
}

// write writes at the end. What could not be written whole is cut off again.
func (lf *LabelFile) write(b []byte) error {
	n, err := lf.f.Write(b)
	if err == nil {
		err = lf.f.Sync()
	}
	if err == nil {
		lf.size += int64(n)
		lf.open = false
		return nil
	}
	now, broken := lf.f.Stat()
	if broken != nil || now.Size() != lf.size+int64(n) {
		return fmt.Errorf("%s: %w; another program wrote to it at the same time, so a part of a line may stay in it", lf.name, err)
	}
	if n == 0 {
		return err
	}
	if broken := lf.f.Truncate(lf.size); broken != nil {
		lf.torn = err
		return fmt.Errorf("%w; a part of it is in the file and cannot be cut off yet: %w", err, broken)
	}
	return err
}

// Close closes the file.
func (lf *LabelFile) Close() error { return lf.f.Close() }
