package collection

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// Of a crawl whose frontier and event log are gone or empty, the archive stays as it
// is: the crawl is refused, and Repair makes the two anew, so that it goes on to its
// end and fetches nothing again. The links of its pages wait.
func TestArchiveAlone(t *testing.T) {
	t.Parallel()
	m, dirs := snapshots(t, rand.New(rand.NewPCG(3, 12)), 0)
	links := map[web.URL]bool{} // of archived pages
	for e, err := range At(dirs[len(dirs)-1]).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := e.(event.Fetched); ok && mustKeep(p) {
			for _, l := range p.Queued {
				links[l.URL] = true
			}
		}
	}
	empty := func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)) }
	for name, lose := range map[string]func(c Collection) error{
		"gone":  func(c Collection) error { return errors.Join(os.Remove(c.EventLog()), os.RemoveAll(c.FrontierDir())) },
		"empty": func(c Collection) error { return errors.Join(os.Truncate(c.EventLog(), 0), empty(c.FrontierDir())) },
		"frontier gone, rest empty": func(c Collection) error {
			return errors.Join(os.Truncate(c.EventLog(), 0), os.RemoveAll(c.FrontierDir()))
		},
		"as a power failure leaves it that comes before the frontier is synced": func(c Collection) error {
			if err := errors.Join(os.Truncate(c.EventLog(), 0), os.RemoveAll(c.FrontierDir())); err != nil {
				return err
			}
			f, err := frontier.Open(c.FrontierDir(), frontier.Options{})
			if err != nil {
				return err
			}
			return f.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyOf(t, dirs[len(dirs)-1])
			before := archiveBytes(t, dir)
			archived := map[string]bool{}
			for r, err := range At(dir).Responses(nil) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Status == 200 {
					archived[r.URL.String()] = true
				}
			}
			if err := lose(At(dir)); err != nil {
				t.Fatal(err)
			}
			fresh := &meadow{n: m.n, asked: map[string]int{}, acked: archived}
			_, err := fresh.resume(t, dir, StoreOptions{}, 0)
			var broken *OpenError
			if !errors.As(err, &broken) || !broken.Damaged || !strings.Contains(err.Error(), "events.jsonl are missing or empty, but the archive holds") {
				t.Fatalf("the crawl is not refused: %v", err)
			}
			w := opened(t, dir)
			if err := w.Discard(); err == nil || !strings.Contains(err.Error(), "holds pages") {
				t.Errorf("Discard: %v", err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if v, err := At(dir).Verify(t.Context(), nil); err != nil || v.Whole {
				t.Errorf("Verify says %v, %v", v, err)
			}
			repairNow(t, dir, name)
			if !slices.Equal(before, archiveBytes(t, dir)) {
				t.Error("the archive changed")
			}
			if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole {
				t.Fatalf("after the repair: %v, %v", v.Damage, err)
			}
			f, err := frontier.Open(At(dir).FrontierDir(), frontier.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for u := range links {
				if is := f.Standing(u); is != frontier.Waiting && is != frontier.Done {
					t.Errorf("a link of an archived page neither waits nor is done: %v", u)
				}
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := fresh.resume(t, dir, StoreOptions{}, 0); err != nil {
				t.Fatal(err)
			}
			owed(t, fresh, dir, name)
		})
	}
}

// Of a crawl whose frontier is gone, and whose log lost its end, nobody knows where
// the log ended: pages of the archive that it does not tell of stay where they are, as
// pages that were fetched, and their links wait.
func TestFrontierGoneLogCut(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 250, asked: map[string]int{}}
	whole := filepath.Join(t.TempDir(), "c")
	if _, err := m.resume(t, whole, StoreOptions{}, 60); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(At(whole).EventLog())
	if err != nil {
		t.Fatal(err)
	}
	behind := func(at int) int { return bytes.LastIndexByte(log[:at], '\n') + 1 }
	for name, at := range map[string]int{"in the middle": behind(len(log) / 2), "in a line": behind(len(log)/2) + 20, "near its start": behind(len(log) / 20)} {
		t.Run(name, func(t *testing.T) {
			dir := copyOf(t, whole)
			before := archiveBytes(t, dir)
			archived := map[string]bool{}
			for r, err := range At(dir).Responses(nil) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Status == 200 {
					archived[r.URL.String()] = true
				}
			}
			if err := errors.Join(os.RemoveAll(At(dir).FrontierDir()), os.Truncate(At(dir).EventLog(), int64(at))); err != nil {
				t.Fatal(err)
			}
			if v, err := At(dir).Verify(t.Context(), nil); err != nil || v.Whole {
				t.Errorf("Verify says %v, %v", v, err)
			}
			repairNow(t, dir, name)
			if !slices.Equal(before, archiveBytes(t, dir)) {
				t.Error("the archive changed")
			}
			if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole {
				t.Fatalf("after the repair: %v, %v", v.Damage, err)
			}
			fresh := &meadow{n: m.n, asked: map[string]int{}, acked: archived}
			if _, err := fresh.resume(t, dir, StoreOptions{}, 0); err != nil {
				t.Fatal(err)
			}
			owed(t, fresh, dir, name)
			// A crawl that lost nothing, gone on with to its end, has the same pages.
			other := copyOf(t, whole)
			if _, err := (&meadow{n: m.n, asked: map[string]int{}, acked: archived}).resume(t, other, StoreOptions{}, 0); err != nil {
				t.Fatal(err)
			}
			got := outcomesIn(t, dir)
			for u := range outcomesIn(t, other) {
				if got[u] == 0 {
					t.Errorf("%s has no outcome", u)
				}
			}
		})
	}
}

// archiveBytes are the files of the archive with what they hold.
func archiveBytes(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := At(dir).ArchiveFiles()
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, filepath.Base(name), string(b))
	}
	return out
}
