package collection

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// A repair may die at any moment: the old files are there, or the new ones once
// the folder is locked again, and a second repair goes through.
func TestRepairInterrupted(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 12))
	m, dirs := snapshots(t, rng, 1)
	dir := dirs[len(dirs)-1]
	acked := acknowledged(t, dir)
	// Everything is to be replaced: the frontier, the log, an archive file in its
	// middle; and some is lost.
	log := filepath.Join(dir, "events.jsonl")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	files, err := At(dir).ArchiveFiles()
	if err != nil {
		t.Fatal(err)
	}
	warc, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 { // more than a header of gzip, of which not every byte matters
		warc[len(warc)/3+i] ^= 0xff
	}
	if err := errors.Join(os.WriteFile(log, b, 0o644), os.WriteFile(files[0], warc, 0o644)); err != nil {
		t.Fatal(err)
	}

	plan := func(dir string) (journal, *Writer) {
		w := opened(t, dir)
		r := w.newRepair(t.Context(), RepairOptions{Parser: parse.New(parse.Options{})})
		var changes journal
		err := r.run(r.readMarks, r.readLog, r.readArchive, r.judge, r.writeLog, r.writeFrontier, func() (err error) {
			changes, err = r.planSwap()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return changes, w
	}
	changes, w := plan(copyOf(t, dir))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, c := range changes {
		kinds[c.Kind+" "+filepath.Ext(strings.TrimSuffix(c.From, ".new"))] = true
	}
	if len(changes) < 6 || !kinds["aside "] || !kinds["move .jsonl"] || !kinds["move .gz"] || !kinds["move .txt"] {
		t.Fatalf("the test needs more changes than %v", changes)
	}
	for made := -1; made <= len(changes); made += long.Of(5, 1) { // -1: before the journal
		own := copyOf(t, dir)
		_, w := plan(own)
		if made >= 0 {
			text, err := changes.text()
			if err = errors.Join(err, folder.Write(w.journalFile(), text)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range max(made, 0) {
			if err := w.make(changes[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil { // the process dies
			t.Fatal(err)
		}
		what := fmt.Sprintf("interrupted after %d of %d changes", made, len(changes))
		fresh := &meadow{n: m.n, asked: map[string]int{}, acked: acked}
		if made < 0 {
			repairNow(t, own, what)
		} else if v, err := At(own).Verify(t.Context(), nil); err != nil || v.Whole || !v.Interrupted || len(v.Damage) > 0 {
			t.Errorf("%s: Verify says %+v, %v", what, v, err)
		}
		if _, err := fresh.resume(t, own, StoreOptions{}, 0); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		v, err := At(own).Verify(t.Context(), nil)
		if err != nil || !v.Whole {
			t.Errorf("%s, in the end: %v, %v", what, v.Damage, err)
		}
		owed(t, fresh, own, what)
	}
}

// A WARC file that somebody put beside those of the archive is none of it: whole is whole, and nobody touches it.
func TestForeignFileInArchive(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	run(t, dir, 2, StoreOptions{})
	for _, name := range []string{"zoo-00000.warc.gz", "site-20240101.warc.gz", "bees-20240101.warc.gz"} {
		own := copyOf(t, dir)
		foreign := filepath.Join(own, "archive", name)
		if err := os.WriteFile(foreign, []byte("of another tool"), 0o644); err != nil {
			t.Fatal(err)
		}
		v, err := At(own).Verify(t.Context(), nil)
		if err != nil || !v.Whole || v.Archive.Files != 1 {
			t.Errorf("%s: of %d files: %v, %v", name, v.Archive.Files, v.Damage, err)
		}
		w := opened(t, own)
		r, err := w.Repair(t.Context(), RepairOptions{})
		if err = errors.Join(err, w.Close()); err != nil || !r.Whole {
			t.Errorf("%s: repaired: %v, %v", name, r.Lines(), err)
		}
		run(t, own, 0, StoreOptions{})
		if v, err := At(own).Verify(t.Context(), nil); err != nil || !v.Whole || v.Archive.Files != 1 {
			t.Errorf("%s, gone on with: of %d files: %v, %v", name, v.Archive.Files, v.Damage, err)
		}
		without := copyOf(t, own)
		if err := os.RemoveAll(At(without).FrontierDir()); err != nil {
			t.Fatal(err)
		}
		repairNow(t, without, name)
		if v, err := At(without).Verify(t.Context(), nil); err != nil || !v.Whole || v.Archive.Files != 1 {
			t.Errorf("%s, without a frontier: of %d files: %v, %v", name, v.Archive.Files, v.Damage, err)
		}
		if b, err := os.ReadFile(foreign); err != nil || string(b) != "of another tool" {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
}

// Folders that earlier versions made are read, verified, and gone on with; where
// they lost turns, that is noticed and repaired.
func TestEarlierVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file  string
		pages int
	}{
		{"v5017637.tar.gz", 4}, // ended by its budget
		{"v2be6c91.tar.gz", 4}, // killed
	} {
		t.Run(c.file, func(t *testing.T) {
			whole := unpacked(t, filepath.Join("testdata", c.file))
			verified := func(dir string) *Verification {
				t.Helper()
				v, err := At(dir).Verify(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			v := verified(whole)
			if !v.Whole || v.Log.Pages != c.pages || v.Archive.Pages != c.pages || v.Frontier.Waiting != 6 || v.Log.Summed != 0 {
				t.Errorf("%s", strings.Join(v.Lines(), "\n"))
			}
			cut := copyOf(t, whole)
			logs, err := filepath.Glob(filepath.Join(cut, "frontier", "queue", "*.log"))
			if err != nil || len(logs) != 1 {
				t.Fatal(logs, err)
			}
			if err := os.Truncate(logs[0], 1500); err != nil {
				t.Fatal(err)
			}
			o := StoreOptions{}
			o.Archive.Prefix = "crawl"
			w := opened(t, cut)
			var broken *OpenError
			if _, err := w.OpenStores(t.Context(), o); !errors.As(err, &broken) || !broken.Damaged || broken.Store != "frontier" {
				t.Errorf("with a log of the store cut: %v", err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			repairNow(t, cut, "the store's log cut")
			for _, dir := range []string{whole, cut} {
				asked := map[string]int{}
				w := opened(t, dir)
				stores, err := w.OpenStores(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				err = askAll(t.Context(), stores, asked)
				if err := errors.Join(err, w.SaveHarvest(), stores.Close(), w.Close()); err != nil {
					t.Fatal(err)
				}
				if len(asked) != 6 {
					t.Errorf("asked for %v", asked)
				}
				if v := verified(dir); !v.Whole || v.Log.Pages != c.pages || v.Frontier.Waiting != 0 {
					t.Errorf("in the end\n%s", strings.Join(v.Lines(), "\n"))
				}
			}
		})
	}
}

// askAll leases all that waits and marks it done.
func askAll(ctx context.Context, s *Stores, asked map[string]int) error {
	for {
		out, err := s.Frontier.Lease(ctx, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), 10, 0, nil)
		if err != nil || len(out) == 0 {
			return err
		}
		for _, l := range out {
			asked[l.URL.String()]++
			if _, err := s.Frontier.Commit(ctx, web.Turn{Done: []web.URL{l.URL}}); err != nil {
				return err
			}
		}
	}
}

// unpacked is the folder in a tar file.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var top string
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if err == io.EOF {
			return filepath.Join(dir, top)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsLocal(h.Name) {
			t.Fatalf("%s leads outside", h.Name)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			if top == "" {
				top = filepath.Clean(h.Name)
			}
			err = os.MkdirAll(path, 0o755)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, b, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Pieces of an archive file that touch are one.
func TestMerged(t *testing.T) {
	got := merged([]span{{7, 9}, {0, 3}, {3, 5}, {8, 12}, {20, 21}})
	if want := []span{{0, 5}, {7, 12}, {20, 21}}; !slices.Equal(got, want) {
		t.Errorf("merged %v, want %v", got, want)
	}
}

// After a power failure the archive alone may hold what followed the first turn of a crawl: the frontier
// knows no end of it. The crawl is refused, and goes on after a repair.
func TestRepairBeforeFirstMark(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 60, asked: map[string]int{}}
	whole, dir := filepath.Join(t.TempDir(), "c"), ""
	copied := func() { dir = copyOf(t, whole) } // whose folder lasts longer than the bubble
	synctest.Test(t, func(t *testing.T) {
		_, err := m.crawl(t, whole, StoreOptions{}, 20, func(c *crawl.Crawl) {
			c.Frontier = snapFrontier{c.Frontier, func() {
				if dir == "" && At(whole).Begun() {
					copied()
				}
			}}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if err := os.CopyFS(At(dir).ArchiveDir(), os.DirFS(At(whole).ArchiveDir())); err != nil {
		t.Fatal(err)
	}
	fresh := &meadow{n: m.n, asked: map[string]int{}}
	var broken *OpenError
	if _, err := fresh.resume(t, dir, StoreOptions{}, 0); !errors.As(err, &broken) || !broken.Damaged || !strings.Contains(err.Error(), "lags behind") {
		t.Fatalf("the crawl is not refused: %v", err)
	}
	if v, err := At(dir).Verify(t.Context(), nil); err != nil || v.Whole {
		t.Errorf("Verify says %v, %v", v, err)
	}
	repairNow(t, dir, "the archive is ahead")
	if _, err := fresh.resume(t, dir, StoreOptions{}, 0); err != nil {
		t.Fatal(err)
	}
	if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole {
		t.Errorf("in the end: %v, %v", v.Damage, err)
	}
	if got := outcomesIn(t, dir); len(got) < 40 {
		t.Errorf("%d addresses have outcomes", len(got))
	}
}
