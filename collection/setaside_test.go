package collection

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/crawl"
)

// A process that sets a crawl aside for a new one, moves it back, or removes it once the new one has begun, is killed
// between any two of its files. The next one finds the old crawl whole where the new one has not begun, and else the
// new one, whatever else is in the folder.
func TestSetAsideKilledAnywhere(t *testing.T) {
	const old, begun = "the old crawl", "the new crawl"
	of := func(c Collection) []string { // in the order of files
		return []string{c.FrontierDir(), c.EventLog(), c.HarvestFile(), c.ExampleFile(), c.SumFile(), c.JobFile()}
	}
	write := func(t *testing.T, name, text string) {
		t.Helper()
		if filepath.Base(name) == "frontier" {
			name = filepath.Join(name, "meta")
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		// state makes the folder when n files were moved or removed.
		state func(t *testing.T, c Collection, files []string, aside func(string) string, n int)
		want  string
	}{
		{"while it is set aside", func(t *testing.T, _ Collection, files []string, aside func(string) string, n int) {
			for i, f := range files {
				if i < n {
					f = aside(f)
				}
				write(t, f, old)
			}
		}, old},
		{"while the new one is set up", func(t *testing.T, _ Collection, files []string, aside func(string) string, n int) {
			for i, f := range files {
				write(t, aside(f), old)
				if i < min(n, len(files)-1) { // the job file makes it one that has begun
					write(t, f, begun)
				}
			}
		}, old},
		{"while it is moved back", func(t *testing.T, _ Collection, files []string, aside func(string) string, n int) {
			for i, f := range slices.Backward(files) {
				if len(files)-1-i >= n {
					f = aside(f)
				}
				write(t, f, old)
			}
		}, old},
		{"while it is removed", func(t *testing.T, _ Collection, files []string, aside func(string) string, n int) {
			for i, f := range files {
				write(t, f, begun)
				if i >= n {
					write(t, aside(f), old)
				}
			}
		}, begun},
	} {
		for n := range 7 {
			c := At(filepath.Join(t.TempDir(), "bees"))
			write(t, filepath.Join(c.Dir(), "index", "part"), "of another crawl")
			if err := os.MkdirAll(c.replaced(), 0o755); err != nil {
				t.Fatal(err)
			}
			tt.state(t, c, of(c), func(f string) string { return filepath.Join(c.replaced(), filepath.Base(f)) }, n)
			if err := errors.Join(c.Usable(), c.BringBack()); err != nil {
				t.Errorf("%s, %d files: %v", tt.name, n, err)
				continue
			}
			for _, f := range of(c) {
				if filepath.Base(f) == "frontier" {
					f = filepath.Join(f, "meta")
				}
				if got, err := os.ReadFile(f); string(got) != tt.want {
					t.Errorf("%s, %d files: %s is of %q, %v; want %q", tt.name, n, filepath.Base(f), got, err, tt.want)
				}
			}
			if _, err := os.Stat(c.replaced()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, %d files: a folder %s is left, %v", tt.name, n, replacedDir, err)
			}
			if !c.Begun() {
				t.Errorf("%s, %d files: no crawl", tt.name, n)
			}
		}
	}
}

// A folder of the user that has the name of the one where crawls are set aside, and a crawl with pages in it, stays as
// it is: beside a crawl, beside its files without a job, and alone.
func TestPagesAreNotSetAside(t *testing.T) {
	from := filepath.Join(t.TempDir(), "meadow")
	m := &meadow{n: 10, clock: newLeapClock(), asked: map[string]int{}}
	if _, err := m.crawl(t, from, StoreOptions{}, 0, func(c *crawl.Crawl) { c.Clock = m.clock }); err != nil {
		t.Fatal(err)
	}
	for what, beside := range map[string][]string{"a crawl": {"job.yaml", "SHA256SUMS", "examples.jsonl"}, "what a set-up leaves": {"SHA256SUMS"}, "nothing": nil} {
		for _, kept := range []string{"job.yaml", "harvest.tsv"} { // beside the archive
			c := At(filepath.Join(t.TempDir(), "bees"))
			err := errors.Join(
				os.MkdirAll(c.replaced(), 0o755),
				os.CopyFS(filepath.Join(c.replaced(), "archive"), os.DirFS(At(from).ArchiveDir())),
				os.WriteFile(filepath.Join(c.replaced(), kept), []byte("of the user"), 0o644),
			)
			for _, name := range beside {
				err = errors.Join(err, os.WriteFile(filepath.Join(c.Dir(), name), []byte("of waggle"), 0o644))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.Usable(), c.BringBack()); err != nil {
				t.Errorf("beside %s: %v", what, err)
			}
			w, err := c.Lock()
			if err != nil {
				t.Errorf("beside %s: %v", what, err)
				continue
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := At(c.replaced()).withoutPages(); err == nil {
				t.Errorf("beside %s: the pages in %s are gone", what, c.replaced())
			}
			if b, err := os.ReadFile(filepath.Join(c.replaced(), kept)); string(b) != "of the user" {
				t.Errorf("beside %s: %s is %q, %v", what, kept, b, err)
			}
		}
	}
}
