package main

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
)

// madeRound is round 1 of a crawl of one page.
func madeRound(t *testing.T) collection.Collection {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bees")
	for _, args := range [][]string{{"crawl", honeySite(t), "-o", dir, "--keywords", "honey", "--allow-private", "--delay", "0"}, {"crawl", "--again", dir}} {
		std, said := files(t)
		if got := run(t.Context(), args, std); got != exitDone {
			t.Fatalf("%v ends with %d: %s", args, got, contents(t, said))
		}
	}
	return collection.At(dir).Round(1)
}

// runUntil runs a command, and ends it once it tells a line with these words; at is called then. It returns the exit code
// and all that was told.
func runUntil(t *testing.T, words string, at func(), args ...string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	std, _ := files(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	std.err = w
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, args, std)
		w.Close()
	}()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), words) {
			at()
			cancel()
		}
	}
	return <-ended, said
}

// Who stops a service between two rounds is told that no round is open, when the next one was due, and the whole command.
func TestStoppedBetweenRounds(t *testing.T) {
	dir := filepath.Dir(filepath.Dir(madeRound(t).Dir()))
	code, said := runUntil(t, "The next round begins at", func() {}, "crawl", "--again", dir, "--every", "24h")
	_, at, _ := strings.Cut(said, "The next round begins at ")
	at, _, _ = strings.Cut(at, ".\n")
	if want := "waggle: stopped between two rounds, the next of which was due at " + at + "; go on with: waggle crawl --again " + dir + " --every 24h\n"; code != exitStopped || !strings.HasSuffix(said, want) {
		t.Errorf("it ends with %d: %s, want %s", code, said, want)
	}
}

// A round that is looked at once it has ended was reported before.
func TestRoundReportedBeforeItsPage(t *testing.T) {
	t.Setenv("PATH", "") // no browser is opened
	round := madeRound(t)
	changes := filepath.Join(round.Dir(), "changes.tsv")
	if err := os.Remove(changes); err != nil {
		t.Fatal(err)
	}
	looked := false
	code, said := runUntil(t, "The page stays until Ctrl-C.", func() {
		looked = true
		if _, err := os.Stat(changes); err != nil {
			t.Error(err)
		}
	}, "crawl", "-o", round.Dir(), "--resume", "--open", "--no-index")
	if code != exitDone || !looked {
		t.Errorf("it ends with %d: %s", code, said)
	}
}

// sleepyClock is that of a machine that sleeps for an hour whenever a timer runs.
type sleepyClock struct {
	now    time.Time
	timers time.Duration // how long they ran
}

func (c *sleepyClock) Now() time.Time { return c.now }

func (c *sleepyClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	c.now, c.timers = c.now.Add(d+time.Hour), c.timers+d
	fire := make(chan time.Time, 1)
	fire <- c.now
	return fire, func() {}
}

// The time for which a machine sleeps counts for when the next round begins.
func TestAwait(t *testing.T) {
	c := &sleepyClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	at := c.now.Add(24 * time.Hour)
	if !await(t.Context(), c, at) || c.now.Before(at) || c.now.Sub(at) > 2*time.Hour || c.timers > time.Hour {
		t.Errorf("it is %v for %v, and timers ran for %v", c.now, at, c.timers)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, at := range []time.Time{at, {}} { // the second is due
		if await(ctx, stoppedClock{}, at) {
			t.Errorf("a wait until %v that was ended is told to be over", at)
		}
	}
}

// stoppedClock is a clock that stands.
type stoppedClock struct{}

func (stoppedClock) Now() time.Time { return time.Time{} }

func (stoppedClock) NewTimer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }
