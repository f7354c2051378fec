package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	l, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var marks [][]byte
	for i := range 3 {
		mark, err := l.Append(Tick{At: after(float64(i))}, Ended{At: after(float64(i)), How: Stopped})
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, mark)
	}
	if err := errors.Join(l.Sync(), l.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, nil); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a new log over an old one: %v", err)
	}
	for _, c := range []struct {
		file, mark string
		want       error
		left       int
	}{
		{string(whole), string(marks[2]), nil, len(whole)},
		{string(whole) + `{"kind":"ti`, string(marks[2]), nil, len(whole)},
		{string(whole), string(marks[0]), nil, len(whole) / 3},
		{string(whole), Empty, nil, 0},
		{"", Empty, nil, 0},
		{string(whole[:len(whole)-1]), string(marks[2]), ErrMark, 0},
		{string(whole), "7", ErrMark, 0},
		{string(whole), "", ErrMark, 0},
		{string(whole), "-1", ErrMark, 0},
		{string(whole), "99999999999999999999", ErrMark, 0},
	} {
		if err := os.WriteFile(path, []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path, []byte(c.mark))
		if !errors.Is(err, c.want) || (c.want == nil && err != nil) {
			t.Errorf("%d bytes, mark %q: error %v, want %v", len(c.file), c.mark, err, c.want)
			continue
		}
		now, _ := os.ReadFile(path)
		if err != nil {
			if string(now) != c.file {
				t.Errorf("mark %q was refused, and the file changed", c.mark)
			}
			continue
		}
		if string(now) != c.file[:c.left] {
			t.Errorf("mark %q leaves %d bytes, want %d", c.mark, len(now), c.left)
		}
		if mark, err := l.Append(Tick{At: after(9)}); err != nil || len(collect(t, path)) == 0 {
			t.Errorf("going on at %q: mark %s, %v", c.mark, mark, err)
		}
		l.Close()
	}
}

// faulty is a file in memory that can fail at any operation.
type faulty struct {
	data []byte
	fail func(op string, n int) (done int, err error) // of n bytes
}

func (f *faulty) Write(b []byte) (int, error) {
	n, err := f.fail("write", len(b))
	f.data = append(f.data, b[:n]...)
	return n, err
}

func (f *faulty) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(b, at)
}

func (f *faulty) Truncate(size int64) error {
	if _, err := f.fail("truncate", 0); err != nil {
		return err
	}
	f.data = f.data[:size]
	return nil
}

func (f *faulty) Sync() error { _, err := f.fail("sync", 0); return err }

func (f *faulty) Close() error { _, err := f.fail("close", 0); return err }

// Whatever fails: what was acknowledged is there up to its mark, what was not
// is gone once anything works again, and the log goes on after being killed.
func TestFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		broken := errors.New("disk full")
		f := &faulty{}
		f.fail = func(op string, n int) (int, error) {
			switch rapid.IntRange(0, 3).Draw(t, op) {
			case 0:
				return rapid.IntRange(0, n).Draw(t, "part"), broken
			case 1:
				if op == "write" { // a short write without a reason
					return rapid.IntRange(0, n).Draw(t, "part"), nil
				}
			}
			return n, nil
		}
		l, err := open("log", f, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		mark, acked := []byte(Empty), []byte(nil)
		for i := range 12 {
			e := Failed{At: after(float64(i)), Visit: Visit{URL: addr("https://a.example/")}, Detail: strings.Repeat("x", i)}
			switch rapid.IntRange(0, 4).Draw(t, "do") {
			case 0: // killed, and opened again
				l, err = open("log", f, int64(len(f.data)), mark)
				for err != nil {
					if !errors.Is(err, broken) {
						t.Fatal(err)
					}
					l, err = open("log", f, int64(len(f.data)), mark)
				}
			case 1:
				if l.Sync() == nil && !bytes.Equal(f.data, acked) {
					t.Fatalf("synced %q, acknowledged %q", f.data, acked)
				}
			default:
				m, err := l.Append(e, e)
				if err != nil {
					if m != nil {
						t.Fatal("a mark with an error")
					}
					break
				}
				b, _ := appendLine(nil, e, maxLine)
				acked = append(append(acked, b...), b...)
				mark = m
				if string(mark) != fmt.Sprint(len(acked)) || !bytes.Equal(f.data, acked) {
					t.Fatalf("mark %s, file %q, acknowledged %q", mark, f.data, acked)
				}
			}
			if !bytes.HasPrefix(f.data, acked) {
				t.Fatalf("file %q lost of %q", f.data, acked)
			}
		}
	})
}

// A bit that flips anywhere in a line makes it one that cannot be read, or
// leaves its event as it was; the lines beside it are read.
func TestChecksum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := Fetched{At: after(1), Visit: Visit{URL: addr("https://a.example/"), Depth: 3, Priority: 0.25}, Title: "Bees", Relevance: 0.5, Digest: "00"}
	if _, err := l.Append(page, page, page); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"digest":"00","relevance":0.5,"similarity":0,"links":0,"crc":"`; !bytes.Contains(whole, []byte(want)) || !json.Valid(bytes.Split(whole, []byte("\n"))[0]) {
		t.Fatalf("the line is %s", whole)
	}
	unnoticed := 0
	third := len(whole) / 3
	for at := third; at < 2*third-1; at++ { // the newline is another matter
		for bit := range 8 {
			b := bytes.Clone(whole)
			if b[at] ^= 1 << bit; b[at] == '\n' {
				continue // two lines, neither of them whole
			}
			var events []Event
			var errs []error
			for e, err := range Read(bytes.NewReader(b)) {
				if err != nil {
					errs = append(errs, err)
				} else {
					events = append(events, e)
				}
			}
			for _, e := range events {
				if !reflect.DeepEqual(e, events[0]) {
					t.Fatalf("bit %d of byte %d makes another event: %v", bit, at, e)
				}
			}
			switch {
			case len(errs) == 0 && len(events) == 3:
				unnoticed++
			case len(errs) != 1 || len(events) != 2 || !strings.HasPrefix(errs[0].Error(), "line 2: "):
				t.Fatalf("bit %d of byte %d: %d events, %v", bit, at, len(events), errs)
			}
		}
	}
	// What is not noticed is in the checksum's own key or not a digit any more.
	if unnoticed > 8*checksumSize {
		t.Errorf("%d bits of %d are not noticed", unnoticed, 8*third)
	}
}
