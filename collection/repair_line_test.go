package collection

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A crawl that lost pages and was repaired, and whose log is then cut in a line, is
// repaired at once, by Repair as well as by AcceptLoss.
func TestLogCutInALineAfterLosses(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 250, asked: map[string]int{}}
	whole := filepath.Join(t.TempDir(), "c")
	if _, err := m.resume(t, whole, StoreOptions{}, 40); err != nil {
		t.Fatal(err)
	}
	files, err := At(whole).ArchiveFiles()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0], 6000); err != nil {
		t.Fatal(err)
	}
	repairNow(t, whole, "archive cut")
	acked := acknowledged(t, whole)
	log, err := os.ReadFile(At(whole).EventLog())
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(bytes.Lines(log))
	if err := os.Truncate(At(whole).EventLog(), int64(len(log)-len(lines[len(lines)-1])-len(lines[len(lines)-2])/2)); err != nil {
		t.Fatal(err)
	}
	for name, lossy := range map[string]bool{"repair": false, "accept loss": true} {
		t.Run(name, func(t *testing.T) {
			dir := copyOf(t, whole)
			if !lossy {
				repairNow(t, dir, "log cut")
				if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole {
					t.Fatalf("after the repair: %v, %v", v.Damage, err)
				}
			}
			fresh := &meadow{n: m.n, asked: map[string]int{}, acked: acked}
			if _, err := fresh.resume(t, dir, StoreOptions{AcceptLoss: lossy}, 0); err != nil {
				t.Fatal(err)
			}
			owed(t, fresh, dir, name)
		})
	}
}
