package collection

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A scratch file is gone when it is closed, and what a killed process left of one goes with the
// next crawl of the folder, whatever the folder is called; files of a folder beside it stay.
func TestScratch(t *testing.T) {
	parent := t.TempDir()
	dir, beside := filepath.Join(parent, "a[1]"), filepath.Join(parent, "a1")
	for _, d := range []string{dir, beside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "known-pages-7.new"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names := func(dir string) (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	w := &Writer{Collection: Collection{dir: dir}}
	if err := w.clearScratch(); err != nil || len(names(dir)) > 0 || len(names(beside)) != 1 {
		t.Errorf("%v; the folder has %v, the one beside it %v", err, names(dir), names(beside))
	}
	f, err := w.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("known")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "known" {
		t.Errorf("read %q, %v", b, err)
	}
	if err := f.Close(); err != nil || len(names(dir)) > 0 {
		t.Errorf("%v; the folder has %v", err, names(dir))
	}
	// Where an open file keeps its name.
	if f, err = w.Scratch(); err != nil {
		t.Fatal(err)
	}
	s := f.(*scratch)
	if err := os.WriteFile(s.Name(), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.named = true
	if err := s.Close(); err != nil || len(names(dir)) > 0 {
		t.Errorf("%v; the folder has %v", err, names(dir))
	}
}

// The last of the disk is left to what the frontier has to write.
func TestScratchLeavesRoom(t *testing.T) {
	w := &Writer{Collection: Collection{dir: t.TempDir()}}
	f, err := w.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.(*scratch).room.free = func(string) (uint64, error) { return reserve, nil }
	if _, err := f.Write([]byte("known")); err == nil || !strings.Contains(err.Error(), "nearly full") {
		t.Errorf("written all the same: %v", err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("something was written")
	}
}

func TestOpenStoresClearsScratch(t *testing.T) {
	w, err := Collection{dir: t.TempDir()}.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	left := filepath.Join(w.Dir(), "known-pages-1.new")
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := w.OpenStores(t.Context(), StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	entries, err := os.ReadDir(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return isScratch(e.Name()) }) {
		t.Error("what an earlier process left is still there")
	}
}
