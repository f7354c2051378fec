//go:build unix

package collection

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever stands in the place of a file, verify and a run say so at once: they neither
// wait for it nor fail with the words of the system.
func TestKindsOfFiles(t *testing.T) {
	_, dirs := snapshots(t, rand.New(rand.NewPCG(7, 7)), 1)
	dir := dirs[0]
	if err := os.WriteFile(filepath.Join(dir, "fields.yaml"), []byte("{}\n"), 0o644); err != nil { // a person's
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, path[len(dir)+1:])
		}
		return err
	})
	if err != nil || len(names) < 8 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if name == "lock" { // nothing is read of it
			continue
		}
		for _, kind := range []struct {
			name string
			make func(path string) error
		}{
			{"a folder", func(p string) error { return os.Mkdir(p, 0o755) }},
			{"a pipe", func(p string) error { return syscall.Mkfifo(p, 0o644) }},
			{"a link that leads nowhere", func(p string) error { return os.Symlink("nowhere", p) }},
		} {
			own := copyOf(t, dir)
			path := filepath.Join(own, name)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := kind.make(path); err != nil {
				t.Fatal(err)
			}
			_, verified := At(own).Verify(t.Context(), nil)
			_, locked := At(own).Lock()
			for what, err := range map[string]error{"verify": verified, "lock": locked} {
				if err == nil || !strings.Contains(err.Error(), path+" is "+kind.name) {
					t.Errorf("%s where %s is %s: %v", what, name, kind.name, err)
				}
			}
			if err := os.RemoveAll(own); err != nil {
				t.Fatal(err)
			}
		}

		// A link to the file is as good as the file.
		own, elsewhere := copyOf(t, dir), filepath.Join(dir, name)
		path := filepath.Join(own, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, path); err != nil {
			t.Fatal(err)
		}
		if v, err := At(own).Verify(t.Context(), nil); err != nil || !v.Whole {
			t.Errorf("%s is a link to the file: %+v, %v", name, v, err)
		}
		if err := os.RemoveAll(own); err != nil {
			t.Fatal(err)
		}
	}
}
