package collection

import (
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// A frontier that has lost the end of its seen-set is told what is done: the seed that
// failed and entered once more is not.
func TestRemind(t *testing.T) {
	failed := func(path string, retry bool) event.Event {
		return event.Failed{Visit: event.Visit{URL: address(path)}, Reason: web.ReasonStatus, Retry: retry}
	}
	seeded := func(path string) event.Event {
		return event.Seeded{Queued: []event.Found{{URL: address(path)}}}
	}
	events := []event.Event{
		seeded("again"), seeded("gone"), failed("again", false), failed("gone", false), failed("busy", true),
		event.Fetched{Visit: event.Visit{URL: address("page")}}, seeded("again"), seeded("gone"), failed("gone", false),
	}
	f := frontier.NewMemory(frontier.Options{})
	add := web.Turn{}
	for _, path := range []string{"again", "busy", "gone", "page", "new"} {
		add.Add = append(add.Add, web.Candidate{URL: address(path)})
	}
	if _, err := f.Commit(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	log := func(yield func(event.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
	if err := remind(t.Context(), f, iter.Seq2[event.Event, error](log)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]frontier.Standing{
		"again": frontier.Waiting, "busy": frontier.Waiting, "gone": frontier.Done, "page": frontier.Done, "new": frontier.Waiting,
	} {
		if got := f.Standing(address(path)); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// The list of what is lost is found damaged, and made anew with every address that
// it held: by Verify, and before a crawl goes on.
func TestLossesDamaged(t *testing.T) {
	t.Parallel()
	m, dirs := snapshots(t, rand.New(rand.NewPCG(3, 12)), 1)
	dir := dirs[len(dirs)-1]
	acked := acknowledged(t, dir)
	files, err := At(dir).ArchiveFiles()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	repairNow(t, dir, "the archive is missing")
	want, err := At(dir).Lost()
	if err != nil || len(want) < 20 {
		t.Fatalf("%d addresses are lost, %v", len(want), err)
	}
	slices.Sort(want)
	for how, damage := range map[string]func(b []byte) []byte{
		"removed": func(b []byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"zeroed":  func(b []byte) []byte { clear(b); return b },
		"a piece zeroed": func(b []byte) []byte {
			clear(b[len(b)/3 : len(b)/2])
			return b
		},
		"a bit": func(b []byte) []byte {
			b[len(b)/2] ^= 1
			return b
		},
		"a line more": func(b []byte) []byte { return append(b, "https://h1.test/nowhere\n"...) },
	} {
		t.Run(how, func(t *testing.T) {
			own := copyOf(t, dir)
			name := At(own).LostFile()
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if b = damage(b); b == nil {
				err = os.Remove(name)
			} else {
				err = os.WriteFile(name, b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			v, err := At(own).Verify(t.Context(), nil)
			if err != nil || v.Whole || len(v.Damage) == 0 || v.Damage[0].File != "lost.txt" {
				t.Fatalf("Verify says %v, %v", v.Damage, err)
			}
			fresh := &meadow{n: m.n, asked: maps.Clone(m.asked), acked: acked}
			var broken *OpenError
			if _, err := fresh.resume(t, own, StoreOptions{}, 0); !errors.As(err, &broken) || !broken.Damaged || !strings.Contains(err.Error(), "lost.txt") {
				t.Errorf("the next run says %v", err)
			}
			repairNow(t, own, how)
			got, err := At(own).Lost()
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%d addresses are lost, want %d; %v", len(got), len(want), err)
			}
			if _, err := fresh.resume(t, own, StoreOptions{}, 0); err != nil {
				t.Fatal(err)
			}
			if v, err := At(own).Verify(t.Context(), nil); err != nil || !v.Whole {
				t.Errorf("in the end: %v, %v", v.Damage, err)
			}
			owed(t, fresh, own, how)
		})
	}
}

// A table of the frontier is damaged where opening it does not read: the run that meets
// it is refused, and one that accepts loss goes on.
func TestLossInTables(t *testing.T) {
	m := &meadow{n: 150, clock: newLeapClock(), asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	run := func(dir string, o StoreOptions, requests int) error { // in no bubble: a store that is damaged leaves goroutines
		m.clock.advance(time.Minute)
		_, err := m.crawl(t, dir, o, requests, func(c *crawl.Crawl) { c.Clock, c.Scorer = m.clock, &fickle{heavy: 30_000} })
		return err
	}
	for range 3 { // opening it makes a table of what was in the log
		if err := run(dir, StoreOptions{}, 40); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := filepath.Glob(filepath.Join(At(dir).FrontierDir(), "queue", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	// Which bytes are read on the way depends on when the store wrote its tables: where
	// few of them are not met, more are tried.
	met := 0
	for parts := 4; met == 0 && parts <= 64; parts *= 4 {
		for _, table := range tables {
			b, err := os.ReadFile(table)
			if err != nil {
				t.Fatal(err)
			}
			for at := 500; at < len(b); at += len(b)/parts + 1 {
				own := copyOf(t, dir)
				changed := slices.Clone(b)
				changed[at] ^= 1
				if err := os.WriteFile(filepath.Join(own, table[len(dir):]), changed, 0o644); err != nil {
					t.Fatal(err)
				}
				err := run(own, StoreOptions{}, 1)
				if err == nil {
					continue
				}
				if !errors.As(err, new(*OpenError)) {
					met++
				}
				if err := run(own, StoreOptions{AcceptLoss: true}, 1); err != nil {
					t.Errorf("%s, byte %d: %v", filepath.Base(table), at, err)
				}
			}
		}
	}
	if met == 0 {
		t.Error("no run met damage on its way")
	}
}
