//go:build unix

package pool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that is replaced or removed while it is open takes no label that would
// be lost; put back, it takes them again. Other systems do not let an open file
// be renamed.
func TestReplacedMeanwhile(t *testing.T) {
	p, dir, label := labelled(t)
	name := filepath.Join(dir, LabelsName)
	f, _, err := OpenLabels(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, "old")
	if err := os.Rename(name, old); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(label(4)); err == nil || !strings.Contains(err.Error(), "was removed or renamed by another program: put it back") {
		t.Errorf("removed: %v", err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(label(4)); err == nil || !strings.Contains(err.Error(), "was replaced by another program") {
		t.Errorf("replaced: %v", err)
	}
	for _, name := range []string{name, old} {
		if now, err := os.ReadFile(name); err != nil || string(now) != string(b) {
			t.Errorf("%s holds %q, %v", name, now, err)
		}
	}
	if err := os.Rename(old, name); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(label(4)); err != nil {
		t.Errorf("put back: %v", err)
	}
	if got, err := ReadLabels(dir, p); err != nil || len(got) != 4 {
		t.Errorf("%v, %v", got, err)
	}
}
