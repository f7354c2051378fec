//go:build unix

package profile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// The copy of a program that was killed goes when the next one is made, and no other does.
func TestSwept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "places.sqlite")
	if err := os.WriteFile(file, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(tmp string) error{
		"Read": func(tmp string) error {
			_, err := Read(t.Context(), file, Options{Sites: []string{"a.test"}, Temp: tmp})
			return err
		},
		"Pages": func(tmp string) error {
			t.Setenv("TMPDIR", tmp)
			_, err := Pages(t.Context(), file, 10)
			return err
		},
	} {
		tmp := t.TempDir()
		for _, name := range []string{"waggle-profile-left", "waggle-profile-held", "another"} {
			dir := filepath.Join(tmp, name)
			lock, err := folder.Lock(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "copy"), []byte("a history"), 0o600); err != nil {
				t.Fatal(err)
			}
			if name == "waggle-profile-held" {
				t.Cleanup(func() { lock.Close() })
			} else if err := lock.Close(); err != nil {
				t.Fatal(err)
			}
			long := time.Now().Add(-30 * time.Second)
			if err := os.Chtimes(dir, long, long); err != nil {
				t.Fatal(err)
			}
		}
		if err := read(tmp); err == nil {
			t.Errorf("%s reads what is no history", name)
		}
		entries, err := os.ReadDir(tmp)
		if err != nil {
			t.Fatal(err)
		}
		var there []string
		for _, e := range entries {
			there = append(there, e.Name())
		}
		if want := []string{"another", "waggle-profile-held"}; !slices.Equal(there, want) {
			t.Errorf("%s leaves %q, want %q", name, there, want)
		}
	}
}
