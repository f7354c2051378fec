package event

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// operations is a disk with a file, and notes what is done to the file, whose writes can fail, and its next sync.
type operations struct {
	OS
	File
	done     []string
	wrong    error
	unsynced error
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
	if err := o.unsynced; err != nil { // a system tells it once
		o.unsynced = nil
		return err
	}
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

// The disk breaks: a write fails, and then the sync of what is cut off, once. Events that were appended before may be
// lost, so whoever waits for the log is told, and it syncs and takes no more.
func TestCutThatCannotBeSynced(t *testing.T) {
	o := &operations{}
	l, err := OpenOn(o, filepath.Join(t.TempDir(), "events.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var told []error
	l.Unsynced = func(err error) { told = append(told, err) }
	if _, err := l.Append(Ended{At: after(1), How: Stopped}); err != nil {
		t.Fatal(err)
	}
	o.wrong, o.unsynced = errors.New("no write"), errors.New("no sync")
	write, sync := o.wrong, o.unsynced
	if _, err := l.Append(Ended{At: after(2), How: Stopped}); !errors.Is(err, write) || !errors.Is(err, sync) {
		t.Errorf("a write and the sync of its cut fail: %v", err)
	}
	o.wrong = nil
	if err := l.Sync(); !errors.Is(err, sync) {
		t.Errorf("synced: %v", err)
	}
	if mark, err := l.Append(Ended{At: after(3), How: Stopped}); !errors.Is(err, sync) {
		t.Errorf("appended up to %s: %v", mark, err)
	}
	if len(told) != 1 || !errors.Is(told[0], sync) {
		t.Errorf("told of %v", told)
	}
	if err := l.Close(); !errors.Is(err, sync) {
		t.Errorf("closed: %v", err)
	}
}
