package event

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// operations is a disk with a file, and notes what is done to the file, whose writes can fail.
type operations struct {
	OS
	File
	done  []string
	wrong error
}

func (o *operations) Open(path string, create bool) (_ File, size int64, err error) {
	o.File, size, err = o.OS.Open(path, create)
	return o, size, err
}

func (o *operations) Write(b []byte) (int, error) {
	o.done = append(o.done, "write")
	if o.wrong != nil {
		n, _ := o.File.Write(b[:len(b)/2])
		return n, o.wrong
	}
	return o.File.Write(b)
}

func (o *operations) Truncate(size int64) error {
	o.done = append(o.done, "truncate")
	return o.File.Truncate(size)
}

func (o *operations) Sync() error {
	o.done = append(o.done, "sync")
	return o.File.Sync()
}

// What is cut off a log is off the disk before anything is written in its place: else a power failure could
// bring lines of before back, among those that replaced them.
func TestCutIsSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	var o *operations
	open := func(mark []byte) *Log {
		o = &operations{}
		l, err := OpenOn(o, path, mark)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	did := func(when, want string) {
		t.Helper()
		if got := strings.Join(o.done, " "); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
		o.done = nil
	}
	l := open(nil)
	first, err := l.Append(Ended{At: after(1), How: Stopped})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(Ended{At: after(2), How: Stopped}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(first)
	did("opened at an earlier mark", "truncate sync")
	o.wrong = errors.New("no room")
	if _, err := l.Append(Ended{At: after(3), How: Stopped}); !errors.Is(err, o.wrong) {
		t.Fatal(err)
	}
	did("a write that fails", "write truncate sync")
	o.wrong = nil
	if _, err := l.Append(Ended{At: after(4), How: Stopped}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
