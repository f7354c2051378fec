package collection

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/event"
)

// An address of which only the answer to an attempt is lost, and which is to be tried again, is tried again
// after the repair. Other addresses that are lost are not fetched again.
func TestLostAnswerTriedAgain(t *testing.T) {
	t.Parallel()
	m, dir, waiting := &meadow{}, "", map[string]bool{}
	for requests := 20; len(waiting) == 0; requests++ {
		if requests == 60 {
			t.Fatal("no address waits for another attempt")
		}
		m, dir = &meadow{n: 150, asked: map[string]int{}}, filepath.Join(t.TempDir(), "c")
		if _, err := m.resume(t, dir, StoreOptions{}, requests); err != nil {
			t.Fatal(err)
		}
		for e, err := range At(dir).Events() {
			if err != nil {
				t.Fatal(err)
			}
			if f, ok := e.(event.Failed); ok && f.Retry && answered(f) {
				waiting[f.URL.String()] = true
			} else if u := visited(e); !u.IsZero() {
				delete(waiting, u.String())
			}
		}
	}
	files, err := At(dir).ArchiveFiles()
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	repairNow(t, dir, "the archive is missing")
	for name, damage := range map[string]func(c Collection) error{
		"nothing more":             func(Collection) error { return nil },
		"the frontier is lost too": func(c Collection) error { return os.RemoveAll(c.FrontierDir()) },
		"the log is lost too":      func(c Collection) error { return os.Remove(c.EventLog()) },
	} {
		again := copyOf(t, dir)
		if err := damage(At(again)); err != nil {
			t.Fatal(err)
		}
		if name != "nothing more" {
			repairNow(t, again, name)
		}
		lost, err := At(again).Lost()
		if err != nil || len(lost) < 10 {
			t.Fatalf("%s: %d addresses are lost, %v", name, len(lost), err)
		}
		for u := range waiting {
			if !slices.Contains(lost, u) {
				t.Errorf("%s: lost.txt does not say that an answer of %s is lost", name, u)
			}
		}
		if v, err := At(again).Verify(t.Context(), nil); err != nil || !v.Whole {
			t.Fatalf("%s: after the repair: %v, %v", name, v.Damage, err)
		}
		fresh := &meadow{n: m.n, asked: maps.Clone(m.asked)}
		if _, err := fresh.resume(t, again, StoreOptions{}, 0); err != nil {
			t.Fatal(err)
		}
		for _, u := range lost {
			if n := fresh.asked[u] - m.asked[u]; waiting[u] != (n > 0) {
				t.Errorf("%s: %s was asked for %d times after the repair", name, u, n)
			}
		}
		if v, err := At(again).Verify(t.Context(), nil); err != nil || !v.Whole {
			t.Errorf("%s: in the end: %v, %v", name, v.Damage, err)
		}
	}
}
