package folder

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What an upgrade leaves behind is removed once nobody opens it, and nothing else is.
func TestOpenVersion(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	long := now.Add(-Unused - time.Hour)
	make := func(name string, opened time.Time) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(p, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p, "in", "code"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, opened, opened); err != nil {
			t.Fatal(err)
		}
	}
	make("code-1", long)
	make("code-2", now.Add(-Unused+time.Hour)) // in use
	make("code-3", long)                       // this one
	make("old-1", long)
	make("mine", long)
	if err := os.WriteFile(filepath.Join(dir, "code-file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"code-2", "code-3", "code-file", "code-link", "mine"}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "code-link")); err != nil {
		t.Log("this system gives no links: ", err)
		want = slices.DeleteFunc(want, func(name string) bool { return name == "code-link" })
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	own, err := OpenVersion(dir, "code-3", []string{"code-", "old-"}, now)
	if err != nil || own != filepath.Join(dir, "code-3") {
		t.Fatal(own, err)
	}
	if got := left(); !slices.Equal(got, want) {
		t.Errorf("%q are left, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "kept")); err != nil {
		t.Error(err)
	}
	// A later version finds the time at which this one was opened.
	if _, err := OpenVersion(dir, "code-4", []string{"code-"}, now.Add(Unused-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(left(), "code-3") || slices.Contains(left(), "code-2") {
		t.Errorf("%q are left", left())
	}
	if _, err := OpenVersion(filepath.Join(dir, "code-file"), "x", nil, now); err == nil {
		t.Error("a folder in a file was made")
	}
}
