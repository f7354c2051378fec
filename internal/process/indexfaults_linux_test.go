package process

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
)

// TestIndexFaults has the disk fail under waggle index, or kills it, at one call of the system
// after another that writes, syncs, makes a folder, or opens a file of the index (it
// removes and renames none): strace lets the nth of a thread fail, or the nth and all after it. The index is new, or
// lacks the last page. Whatever is left, the same command makes of
// it the index that it makes undisturbed, and a search of what is left tells that it is not whole.
// WAGGLE_LONG=all tries all three faults at every call, WAGGLE_LONG=1 one of them, in turn.
func TestIndexFaults(t *testing.T) {
	long.Test(t, "makes an index again and again")
	if why := canSlow(); why != "" {
		t.Skip(why)
	}
	t.Parallel()
	col := madecrawl.Crawl(t, filepath.Join(t.TempDir(), "c"), "meadow", madecrawl.Site{
		"https://bees.test/":      {Body: `<title>Bees</title><p>Bees. <a href="/dance">The dance</a> <a href="/nest">The nest</a>`},
		"https://bees.test/dance": {Body: "<title>The dance</title><p>The bees dance on the comb."},
		"https://bees.test/nest":  {Body: "<title>The nest</title><p>The nest of bees."},
	}, "https://bees.test/")
	crawl := col.Dir()
	search := func(index string) (string, error) {
		out, err := waggleCommand([]string{"search", crawl, "bees", "--index", index}).CombinedOutput()
		return string(out), err
	}
	build := func(index string) {
		t.Helper()
		if out, err := waggleCommand([]string{"index", crawl, "--index", index}).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	whole := filepath.Join(t.TempDir(), "index")
	build(whole)
	want, err := search(whole)
	if err != nil || !strings.Contains(want, "https://bees.test/dance") {
		t.Fatalf("%v\n%s", err, want)
	}
	behind := indexOfPart(t, col, build)
	if left, err := search(behind); err != nil || !strings.Contains(left, "The crawl has more than the index") {
		t.Fatalf("%v\n%s", err, left)
	}
	updated := copyOf(t, behind)
	build(updated)
	if got, err := search(updated); err != nil || got != want {
		t.Fatalf("%v\n%s", err, got)
	}

	type call struct {
		name string
		most int // calls of a thread, about
	}
	both := []call{{"pwrite64", 12}, {"fdatasync", 9}, {"fsync", 2}, {"write", 6}, {"openat", 9}}
	hows := []string{"error=ENOSPC:when=%d", "error=EIO:when=%d+", "signal=KILL:when=%d"}
	calls := 0
	tried, failed := map[string]int{}, map[string]int{}
	for _, index := range []struct {
		what  string
		begin func() string // returns the folder of the index
		step  int           // every so many calls one fails
		calls []call
		files []string // of the index
	}{
		{"new", func() string { return filepath.Join(t.TempDir(), "index") }, 1, append(both, call{"ftruncate", 1}, call{"mkdirat", 3}), filesOf(t, whole)},
		// No folder is made, and root.bolt has room.
		{"behind", func() string { return copyOf(t, behind) }, 3, both, filesOf(t, updated)},
	} {
		for _, c := range index.calls {
			hit := 0
			for n := 1; n <= c.most; n += index.step {
				faults := hows
				if !long.All() {
					faults = hows[calls%len(hows):][:1]
				}
				calls++
				for _, how := range faults {
					dir, log := index.begin(), filepath.Join(t.TempDir(), "log")
					inject := fmt.Sprintf("inject="+c.name+":"+how, n)
					program := waggleCommand([]string{"index", crawl, "--index", dir})
					args := []string{"-f", "-qq", "-o", log, "-e", "trace=" + c.name, "-e", inject}
					if c.name == "openat" { // what is opened elsewhere is only read
						for _, name := range index.files {
							args = append(args, "-P", filepath.Join(dir, name))
						}
					}
					cmd := exec.Command("strace", append(args, program.Args...)...)
					cmd.Env = program.Env
					said, errFault := cmd.CombinedOutput()
					told, err := os.ReadFile(log)
					if err != nil {
						t.Fatalf("%s: %v, %v\n%s", inject, err, errFault, said)
					}
					if strings.Contains(string(said), "goroutine ") {
						t.Errorf("%s, %s: %s", index.what, inject, said)
					}
					if !bytes.Contains(told, []byte("(INJECTED)")) && !bytes.Contains(told, []byte("killed by SIGKILL")) {
						continue // no thread had so many calls
					}
					hit++
					tried[how]++
					if errFault != nil {
						failed[how]++
					}
					left, err := search(dir)
					if err == nil && left != want && !strings.Contains(left, "The crawl has more than the index") || strings.Contains(left, "goroutine ") {
						t.Errorf("%s, %s: a search finds\n%s", index.what, inject, left)
					}
					if out, err := waggleCommand([]string{"index", crawl, "--index", dir}).CombinedOutput(); err != nil {
						t.Errorf("%s, %s: it ended with %v\n%s\nand then with %v\n%s", index.what, inject, errFault, said, err, out)
					} else if got, err := search(dir); err != nil || got != want {
						t.Errorf("%s, %s: in the end a search finds %v\n%s", index.what, inject, err, got)
					}
				}
			}
			t.Logf("%s, %s: %d commands met their fault", index.what, c.name, hit)
			if hit == 0 {
				t.Errorf("%s: no command met a fault of %s", index.what, c.name)
			}
		}
	}
	for _, how := range hows {
		t.Logf("%s: of %d commands that met it %d failed", how, tried[how], failed[how])
		if tried[how] == 0 || failed[how] < tried[how]/4 {
			t.Errorf("%s: hardly any command failed", how)
		}
	}
}

// indexOfPart makes an index of a crawl whose log lacks the last page.
func indexOfPart(t *testing.T, c collection.Collection, build func(index string)) string {
	t.Helper()
	log, err := os.ReadFile(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndex(log, []byte(`{"kind":"fetched"`))
	if last < 0 {
		t.Fatalf("no page in\n%s", log)
	}
	write := func(b []byte) {
		if err := os.WriteFile(c.EventLog(), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(log[:last])
	index := filepath.Join(t.TempDir(), "index")
	build(index)
	write(log)
	return index
}

// copyOf copies a folder.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "index")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// filesOf lists the files and folders of an index, and the lock that it has while it is written.
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	files := []string{"lock"}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		files = append(files, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(name string) bool { return name == "." })
}
