package collection

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// TestRepairAfterRepair loses one store after another, and repairs the crawl and
// goes on with it each time. What is acknowledged stays known: log and archive hold
// it, or lost.txt names it, and it is not asked for again. Excepted are addresses
// that only the lost file named: outcomes without a response when the log is lost,
// and what lost.txt alone told when its copy is lost as well, unless an archived
// page links to them. The seen-set keeps their hashes, and nothing their names.
func TestRepairAfterRepair(t *testing.T) {
	t.Parallel()
	losses := map[string]func(dir string) error{
		"archive": func(dir string) error {
			files, err := At(dir).ArchiveFiles()
			for _, name := range files {
				err = errors.Join(err, zero(name))
			}
			return err
		},
		"log":      func(dir string) error { return zero(At(dir).EventLog()) },
		"lost.txt": func(dir string) error { return zero(At(dir).LostFile()) },
		"lost.txt and its copy": func(dir string) error {
			f, err := frontier.Open(At(dir).FrontierDir(), frontier.Options{MaxPerHost: -1, MaxNames: -1})
			if err != nil {
				return err
			}
			_, err = f.Commit(t.Context(), web.Turn{State: map[string][]byte{stateLosses: nil}})
			return errors.Join(err, f.Close(), zero(At(dir).LostFile()))
		},
		"queue":    func(dir string) error { return os.RemoveAll(filepath.Join(At(dir).FrontierDir(), "queue")) },
		"frontier": func(dir string) error { return os.RemoveAll(At(dir).FrontierDir()) },
		"seen-set": func(dir string) error {
			names, err := filepath.Glob(filepath.Join(At(dir).FrontierDir(), "ledger-*"))
			for _, n := range names {
				err = errors.Join(err, os.Remove(n))
			}
			return err
		},
	}
	stories := []string{
		"log, archive, log, lost.txt, frontier",
		"archive, log, lost.txt and its copy, seen-set",
		"archive, log, seen-set",
		"log, archive, seen-set",
		"archive, seen-set, archive, log, seen-set",
		"archive, log, lost.txt, seen-set",
		"archive, log, frontier, lost.txt, seen-set",
		"archive, log, queue, lost.txt, queue, seen-set",
	}
	for _, story := range stories[:long.Of(4, len(stories))] {
		t.Run(story, func(t *testing.T) {
			m := &meadow{n: 250, asked: map[string]int{}, acked: map[string]bool{}}
			dir := filepath.Join(t.TempDir(), "c")
			for i, what := range strings.Split(story, ", ") {
				if _, err := m.resume(t, dir, StoreOptions{}, 40); err != nil {
					t.Fatal(err)
				}
				for u := range acknowledged(t, dir) {
					m.acked[u] = true
				}
				if err := losses[what](dir); err != nil {
					t.Fatal(err)
				}
				repairNow(t, dir, what)
				if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole {
					t.Fatalf("loss %d, %s: after the repair: %v, %v", i, what, v.Damage, err)
				}
				if what == "log" || what == "lost.txt and its copy" {
					m.forget(t, dir)
				}
				owed(t, m, dir, what)
			}
			if _, err := m.resume(t, dir, StoreOptions{}, 0); err != nil {
				t.Fatal(err)
			}
			owed(t, m, dir, "in the end")
			if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole {
				t.Errorf("in the end: %v, %v", v.Damage, err)
			}
			if len(m.acked) < 40 {
				t.Errorf("%d addresses were acknowledged", len(m.acked))
			}
		})
	}
}

// Damage of the archive after a repair is noticed when the crawl goes on, wherever it
// is in the file that is written on.
func TestDamageAfterRepair(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 250, asked: map[string]int{}}
	whole := filepath.Join(t.TempDir(), "c")
	if _, err := m.resume(t, whole, StoreOptions{}, 40); err != nil {
		t.Fatal(err)
	}
	files, err := At(whole).archiveFiles()
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Truncate(files[0].path, files[0].size*2/3); err != nil {
		t.Fatal(err)
	}
	repairNow(t, whole, "archive cut")
	for name, share := range map[string]int64{"near its start": 20, "in the middle": 2} {
		t.Run(name, func(t *testing.T) {
			dir := copyOf(t, whole)
			files, err := At(dir).archiveFiles()
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(files[0].path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteAt([]byte("ZZ"), files[0].size/share)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			_, err = m.resume(t, dir, StoreOptions{}, 40)
			var broken *OpenError
			if !errors.As(err, &broken) || !broken.Damaged || broken.Store != "archive" {
				t.Errorf("the crawl is not refused: %v", err)
			}
		})
	}
}

// forget takes the addresses for not acknowledged that neither lost.txt nor the
// archive names any more.
func (m *meadow) forget(t *testing.T, dir string) {
	t.Helper()
	named := map[string]bool{}
	lost, err := At(dir).Lost()
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range lost {
		named[u] = true
	}
	for r, err := range At(dir).Responses(nil) {
		if err != nil {
			t.Fatal(err)
		}
		named[r.URL.String()] = true
	}
	for p, err := range Readable(At(dir).Pages(t.Context(), parse.New(parse.Options{}), nil)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range p.Links {
			named[l.URL.String()] = true
		}
	}
	for u := range m.acked {
		if !named[u] {
			t.Logf("nothing names %s any more", u)
			delete(m.acked, u)
		}
	}
}

// zero overwrites a file with zeros.
func zero(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	clear(b)
	return os.WriteFile(name, b, 0o644)
}

// A document that cannot be read is passed over; one that no process was there to read is not.
func TestReadable(t *testing.T) {
	failure := func(r web.Reason) error { return &ParseError{Err: &web.Failure{Reason: r}} }
	told := []error{failure(web.ReasonDamaged), &store.Damage{}, failure(web.ReasonReader), failure(web.ReasonType)}
	var got []error
	for _, err := range Readable(func(yield func(*web.Page, error) bool) {
		for _, err := range told {
			if !yield(nil, err) {
				return
			}
		}
	}) {
		got = append(got, err)
	}
	if len(got) != 1 || got[0] != told[2] {
		t.Errorf("of %v there remain %v", told, got)
	}
}
