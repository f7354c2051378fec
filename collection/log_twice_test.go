package collection

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
)

// A line of the log of a killed crawl that is there twice moves the others away
// from the mark: if the crawl is refused, Verify says why, and after a repair it goes
// on, nothing is lost, and no page is told of twice.
func TestLogLineTwice(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 250, asked: map[string]int{}}
	running := filepath.Join(t.TempDir(), "c")
	killed := filepath.Join(t.TempDir(), "killed")
	if _, err := m.resume(t, running, StoreOptions{}, 60); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(killed, os.DirFS(running)); err != nil {
		t.Fatal(err)
	}
	acked := acknowledged(t, killed)
	log, err := os.ReadFile(At(killed).EventLog())
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(bytes.Lines(log))
	refusals := 0
	for i := range lines {
		if i%long.Of(60, 6) > 1 && i < len(lines)-4 {
			continue
		}
		dir := copyOf(t, killed)
		if err := os.WriteFile(At(dir).EventLog(), bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil), 0o644); err != nil {
			t.Fatal(err)
		}
		v, err := At(dir).Verify(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w := opened(t, dir)
		stores, err := w.OpenStores(t.Context(), meadowStores())
		if err == nil {
			err = stores.Close()
		}
		var broken *OpenError
		if refused := errors.As(err, &broken); err != nil && !refused {
			t.Fatalf("line %d twice: %v", i+1, err)
		} else if refused {
			refusals++
			if v.Whole {
				t.Errorf("line %d twice (%.40s): refused (%v), and Verify finds nothing", i+1, lines[i], err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if broken == nil {
			continue
		}
		repairNow(t, dir, "line twice")
		if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole {
			t.Fatalf("line %d twice: after the repair: %v, %v", i+1, v.Damage, err)
		}
		if lost, err := At(dir).Lost(); err != nil || len(lost) > 0 {
			t.Errorf("line %d twice: %q are lost, %v", i+1, lost, err)
		}
		if i%4 == 0 {
			fresh := &meadow{n: m.n, asked: map[string]int{}, acked: acked}
			if _, err := fresh.resume(t, dir, StoreOptions{}, 0); err != nil {
				t.Fatal(err)
			}
			if len(fresh.again) > 0 {
				t.Errorf("line %d twice: asked for again: %v", i+1, fresh.again)
			}
			owed(t, fresh, dir, fmt.Sprintf("line %d twice", i+1))
		}
	}
	if refusals == 0 {
		t.Error("no crawl was refused")
	}
}
