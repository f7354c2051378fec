//go:build unix

package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// A build removes the folders of earlier ones of the same name that were killed, and leaves those
// of builds that run and everything else.
func TestRemainsOfKilledBuilds(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "small")
	held := func(name string) (close func()) {
		lock, err := folder.Lock(filepath.Join(parent, name))
		must(t, err)
		must(t, os.Chtimes(filepath.Join(parent, name, lockName), time.Time{}, time.Now().Add(-time.Minute)))
		return func() { must(t, lock.Close()) }
	}
	for _, name := range []string{".small-123", ".smaller-123", ".small-12a", ".small-"} {
		held(name)()
	}
	must(t, os.Mkdir(filepath.Join(parent, ".small-99"), 0o755))
	defer held(".small-456")()
	if _, err := Build(t.Context(), dir, Exchange{Dir: exchange(t, small, nil)}, Options{}); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(parent)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".small-", ".small-12a", ".small-456", ".small-99", ".smaller-123", "small"}; !slices.Equal(names, want) {
		t.Errorf("there are %q, want %q", names, want)
	}
	if folder.Exists(filepath.Join(dir, lockName)) {
		t.Error("the web holds the lock of its build")
	}
}
