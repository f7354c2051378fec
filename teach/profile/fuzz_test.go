package profile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
)

// Whatever a file holds that is said to be the history of a browser, or paths: what is read
// of it are paths through the sites asked for, and pages with addresses; no copy is left.
func FuzzHistory(f *testing.F) {
	dir := f.TempDir()
	name := filepath.Join(dir, "history")
	visits := []visit{{"https://a.example/", 0, 1}, {"https://a.example/b", 1, 1}, {"https://a.example/c", 2, 1}}
	for _, made := range []func(){
		func() { firefox(f, name, 78, visits).Close() },
		func() { chromium(f, name, visits).Close() },
	} {
		made()
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		if err := os.Remove(name); err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte("finished\thttps://a.example/\n"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x58"))
	temp := filepath.Join(dir, "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Setenv("TMPDIR", temp)
	f.Fuzz(func(t *testing.T, held []byte) {
		if err := os.WriteFile(name, held, 0o600); err != nil {
			t.Fatal(err)
		}
		used := allocated.By(func() {
			set, _, err := Trails(t.Context(), name, []string{"a.example"}, true, func(string, ...any) {})
			if err != nil && len(set) > 0 {
				t.Errorf("%d paths and %v", len(set), err)
			}
			for _, p := range set {
				for _, s := range p.Steps {
					if s.URL.Host().Name() != "a.example" {
						t.Errorf("a path by way of %s", s.URL)
					}
				}
			}
		})
		if pages, _ := Pages(t.Context(), name, 100); len(pages) > 100 {
			t.Errorf("%d pages", len(pages))
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("what is left: %v, %v", left, err)
		}
		if most := uint64(64<<20 + 1000*len(held)); used > most {
			t.Errorf("%d bytes allocated for %d", used, len(held))
		}
	})
}
