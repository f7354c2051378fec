package pool

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// labelled is a pool in a folder with three labels, and a function that makes
// more.
func labelled(t *testing.T) (p *Pool, dir string, label func(n int) Label) {
	t.Helper()
	p, dir = drawn(t)
	label = func(n int) Label { return Label{p.Topics[0].Key(), p.Topics[0].Pages[n].URL, Partly, "ada", 1} }
	f, _, err := OpenLabels(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Add(label(0), label(1), label(2)), f.Close()); err != nil {
		t.Fatal(err)
	}
	return p, dir, label
}

// fullDisk is a file on a disk that has room for so many bytes more.
type fullDisk struct {
	appendFile
	room    int
	stuck   bool // nothing can be cut off either
	unsaved bool // what is written does not reach the disk
}

func (f *fullDisk) Write(b []byte) (int, error) {
	n, err := f.appendFile.Write(b[:min(f.room, len(b))])
	f.room -= n
	if err == nil && n < len(b) {
		err = errors.New("no space left on device")
	}
	return n, err
}

func (f *fullDisk) Sync() error {
	if f.unsaved {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (f *fullDisk) Truncate(n int64) error {
	if f.stuck {
		return errors.New("read-only file system")
	}
	return f.appendFile.Truncate(n)
}

// A label that finds no room is an error and leaves nothing behind, wherever the
// room ends; the next one with room is kept.
func TestDiskIsFull(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		for _, room := range []int{0, 1, 20, 37} { // of the 38 bytes of a line
			p, dir, label := labelled(t)
			f, _, err := OpenLabels(dir, p)
			if err != nil {
				t.Fatal(err)
			}
			disk := &fullDisk{appendFile: f.f.(appendFile), room: room, stuck: stuck}
			f.f = disk
			if err := f.Add(label(3)); err == nil || !strings.Contains(err.Error(), "no space left") {
				t.Fatalf("room for %d bytes: %v", room, err)
			}
			disk.room = 1 << 20
			if stuck && room > 0 {
				if err := f.Add(label(4)); err == nil || !strings.Contains(err.Error(), "cannot be cut off") {
					t.Fatalf("after a part of a line that cannot be cut off: %v", err)
				}
				disk.stuck = false
			}
			if err := errors.Join(f.Add(label(5)), f.Close()); err != nil {
				t.Fatal(err)
			}
			got, err := ReadLabels(dir, p)
			if err != nil || len(got) != 4 || got[3] != label(5) {
				t.Fatalf("room for %d bytes, then more: %v, %v", room, got, err)
			}
		}
	}
	p, dir, label := labelled(t)
	f, _, err := OpenLabels(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	disk := &fullDisk{appendFile: f.f.(appendFile), room: 1 << 20, unsaved: true}
	f.f = disk
	if err := f.Add(label(3)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a label that did not reach the disk: %v", err)
	}
	f.Close()
	if got, err := ReadLabels(dir, p); err != nil || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

// What another program adds to the file is not written over, and the labels that
// come after it are refused.
func TestAppendedMeanwhile(t *testing.T) {
	p, dir, label := labelled(t)
	f, _, err := OpenLabels(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := filepath.Join(dir, LabelsName)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(b[strings.LastIndex(string(b[:len(b)-1]), "\n")+1:]), "ada", "somebody", 1)
	if err := os.WriteFile(name, append(b, other...), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Add(label(4)); err == nil || !strings.Contains(err.Error(), "was changed by another program: it has") || !strings.Contains(err.Error(), "start it again") {
			t.Errorf("%v", err)
		}
	}
	if got, err := ReadLabels(dir, p); err != nil || len(got) != 4 || got[3].Reader != "somebody" {
		t.Errorf("%v, %v", got, err)
	}
}

// What of a file's end and line ends is understood is read; the rest is refused,
// and the file stays as it is.
func TestLabelLineEnds(t *testing.T) {
	p, dir, label := labelled(t)
	name := filepath.Join(dir, LabelsName)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(b)
	for _, c := range []struct {
		name, file string
		labels     int
		read, open string // errors; "" for none
	}{
		{"no end", strings.TrimSuffix(whole, "\n"), 3, "", ""},
		{"CRLF", strings.ReplaceAll(whole, "\n", "\r\n"), 3, "", ""},
		{"CRLF and no end", strings.TrimSuffix(strings.ReplaceAll(whole, "\n", "\r\n"), "\n"), 3, "", ""},
		{"some CRLF", strings.Replace(whole, "\n", "\r\n", 3), 3, "", ""},
		{"half a line", whole + "tree\tbees\thttp://a.ex", 3, `labels.tsv:6: the last line was not written whole: "tree bees http://a.ex"`, ""},
		{"CR alone", strings.ReplaceAll(whole, "\n", "\r"), 0, "lines end with LF or CRLF", "lines end with LF or CRLF"},
		{"no lines", "hello", 0, "labels.tsv:1: the first line is not", "labels.tsv:1: the first line is not"},
		{"an end of another kind", whole + "and so on", 0, "labels.tsv:6: six fields", "labels.tsv:6: six fields"},
		{"an end of another topic", whole + "tree\twasps\thttp://a.ex", 0, "labels.tsv:6: six fields", "labels.tsv:6: six fields"},
	} {
		if err := os.WriteFile(name, []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		told := func(err error, want string) bool {
			return want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want)
		}
		if got, err := ReadLabels(dir, p); !told(err, c.read) || err == nil && len(got) != c.labels {
			t.Errorf("%s: read %v, %v", c.name, got, err)
		}
		f, got, err := OpenLabels(dir, p)
		if !told(err, c.open) || len(got) != c.labels {
			t.Errorf("%s: opened %v, %v", c.name, got, err)
		}
		if err != nil {
			if now, err := os.ReadFile(name); err != nil || string(now) != c.file {
				t.Errorf("%s: the file is now %q, %v", c.name, now, err)
			}
			continue
		}
		if err := errors.Join(f.Add(label(7)), f.Close()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got, err := ReadLabels(dir, p); err != nil || len(got) != c.labels+1 || got[c.labels] != label(7) {
			t.Errorf("%s: then %v, %v", c.name, got, err)
		}
	}
}

// Names that a spreadsheet takes for formulas are no readers.
func TestReaderNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"ada": true, "Ada Byron": true, "": false, "a\x1bb": false, "a\u202eb": false, "=HYPERLINK(1)": false, "+1": false,
		"-1": false, "@ada": false, "a=b": true, strings.Repeat("x", 61): false,
	} {
		if err := CheckReader(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
