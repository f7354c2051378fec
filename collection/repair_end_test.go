package collection

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/waggle-crawler/waggle/store"
)

// A file of the archive that another follows and that has lost its end is found by
// Verify, and mended by one repair: then the crawl goes on.
func TestRepairOfAnEnd(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 150, asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	o := meadowStores()
	o.Archive.MaxFile = 20_000
	synctest.Test(t, func(t *testing.T) {
		if _, err := m.crawl(t, dir, o, 60, nil); err != nil {
			t.Fatal(err)
		}
	})
	files, err := At(dir).archiveFiles()
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var closing int64 // where the last record of the first file begins
	for p, err := range store.Pieces(files[0].path, -1) {
		if err != nil {
			t.Fatal(err)
		}
		closing = p.Offset
	}
	m.acked = acknowledged(t, dir)
	for what, damage := range map[string]func(b []byte) []byte{
		"cut by 100 bytes":     func(b []byte) []byte { return b[:len(b)-100] },
		"cut by 3000 bytes":    func(b []byte) []byte { return b[:len(b)-3000] },
		"the last record gone": func(b []byte) []byte { return b[:closing] },
		"a bit of it flipped":  func(b []byte) []byte { b[closing+40] ^= 4; return b },
		"cut to nothing":       func(b []byte) []byte { return nil },
		"cut to a few bytes":   func(b []byte) []byte { return b[:7] },
		"zeroed":               func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		t.Run(what, func(t *testing.T) {
			own := copyOf(t, dir)
			name := filepath.Join(own, "archive", filepath.Base(files[0].path))
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, damage(b), 0o644); err != nil {
				t.Fatal(err)
			}
			v, err := At(own).Verify(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if v.Whole || !strings.Contains(strings.Join(v.Lines(), "\n"), filepath.Base(name)) {
				t.Errorf("Verify does not name the file:\n%s", strings.Join(v.Lines(), "\n"))
			}
			w := opened(t, own)
			_, err = w.OpenStores(t.Context(), o)
			var broken *OpenError
			if what != "zeroed" && (!errors.As(err, &broken) || !broken.Damaged) {
				t.Errorf("opened with the damage: %v", err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			repairNow(t, own, what)
			if v, err := At(own).Verify(t.Context(), nil); err != nil || !v.Whole {
				t.Errorf("after the repair, %v:\n%s", err, strings.Join(v.Lines(), "\n"))
			}
			fresh := &meadow{n: m.n, asked: maps.Clone(m.asked), acked: m.acked}
			if _, err := fresh.resume(t, own, o, 0); err != nil {
				t.Fatal(err)
			}
			if v, err := At(own).Verify(t.Context(), nil); err != nil || !v.Whole {
				t.Errorf("in the end, %v:\n%s", err, strings.Join(v.Lines(), "\n"))
			}
			owed(t, fresh, own, what)
		})
	}
}
