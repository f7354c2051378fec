package folder

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that could not be written whole leaves what was there, and nothing
// beside it.
func TestWriteIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	if err := Write(name, []byte("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := WriteFrom(name, func(w io.Writer) error {
		io.WriteString(w, "ne")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	holds := func(want string) {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil || string(b) != want {
			t.Errorf("%q, %v; want %q", b, err, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	}
	holds("old")
	if err := Write(name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds("new")
	if err := Write(filepath.Join(dir, "none", "a"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("into a folder that is not there: %v", err)
	}
}

// What cannot be written is told by the name that was asked for, not by that of a file beside it.
func TestErrorsName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	name := filepath.Join(dir, "table.tsv")
	write := func(io.Writer) error { return nil }
	for what, err := range map[string]error{
		"Write": Write(name, nil), "WriteFrom": WriteFrom(name, write), "WriteBeside": WriteBeside(name, write),
		"LockFile": func() error { _, err := LockFile(name); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "table.tsv:") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
