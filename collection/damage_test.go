package collection

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/collection/collectiontest"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// meadow is a web of n pages, each a function of its number: page i lives on host
// i mod 4 and links to six others. Some have moved, are gone, are busy once, time
// out twice, or ask not to be kept.
type meadow struct {
	n     int
	clock *leapClock // of the crawl; nil = that of the machine, or of a bubble
	mu    sync.Mutex
	asked map[string]int
	acked map[string]bool // addresses that were acknowledged
	again []string        // of these, those that were asked for once more
	told  map[string]bool // unless nil, addresses of which somebody who listens was told
	stop  context.CancelFunc
	after int
}

func (m *meadow) address(i int) string { return fmt.Sprintf("https://h%d.test/%d", i%4, i) }

func (m *meadow) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	const took = 100 * time.Millisecond
	if m.clock == nil {
		select {
		case <-time.After(took):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[u.String()]++
	if m.acked[u.String()] {
		m.again = append(m.again, u.String())
	}
	if m.after--; m.after == 0 {
		m.stop()
	}
	i, _ := strconv.Atoi(strings.Trim(u.Path(), "/"))
	now := time.Now()
	if m.clock != nil {
		now = m.clock.Now()
	}
	r := &web.Response{
		URL: u, Status: 200, Proto: "HTTP/1.1", Started: now, Took: took,
		Header: web.Header{"Content-Type": {"text/html"}}, RequestHead: []byte("GET " + u.Path() + " HTTP/1.1"),
	}
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	var body strings.Builder
	fmt.Fprintf(&body, "<title>Page %d</title>", i)
	switch {
	case i == 0:
	case i%17 == 5:
		to, err := web.Parse(m.address((i + 1) % m.n))
		if err != nil {
			return nil, err
		}
		r.Status, r.Header["Location"], r.Location = 301, []string{to.String()}, to
	case i%23 == 7:
		r.Status = 410
	case i%13 == 6 && m.asked[u.String()] == 1:
		r.Status = 503
	case i%31 == 8 && m.asked[u.String()] <= 2:
		return nil, &web.Failure{Reason: web.ReasonTimeout}
	case i%19 == 4:
		body.WriteString(`<meta name="robots" content="noarchive">`)
	case i%29 == 3:
		body.WriteString(`<meta name="robots" content="noindex">`)
	}
	for range 1 + i%4 {
		body.WriteString("<p>bees and other things")
	}
	for range rng.IntN(30) {
		fmt.Fprintf(&body, "<p>%x", rng.Uint64())
	}
	for range 6 {
		j := rng.IntN(m.n)
		fmt.Fprintf(&body, `<a href="%s">%d</a> `, m.address(j), j)
	}
	r.Body = []byte(body.String())
	r.Raw = r.Body
	return r, nil
}

// resume goes on with the crawl in dir, to its end.
func (m *meadow) resume(t *testing.T, dir string, o StoreOptions, requests int) (how event.Ending, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		later(dir)
		how, err = m.crawl(t, dir, o, requests, nil)
	})
	return how, err
}

// later lets some time pass in a bubble, in each of which time begins anew: no run
// begins at the moment of another one, so that no two events are the same.
func later(dir string) {
	if info, err := os.Stat(At(dir).EventLog()); err == nil {
		time.Sleep(time.Duration(info.Size()) * (time.Second + time.Nanosecond))
	}
}

func (m *meadow) crawl(t *testing.T, dir string, o StoreOptions, requests int, change func(*crawl.Crawl)) (event.Ending, error) {
	seed, err := web.Parse(m.address(0))
	if err != nil {
		t.Fatal(err)
	}
	return crawlNow(t, dir, o, func(c *crawl.Crawl) {
		c.Seeds = []web.URL{seed}
		c.Policy.Backoff, c.Policy.MaxFailures = time.Second, 1000
		c.Workers = 2
		if change != nil {
			change(c)
		}
	}, func(stop context.CancelFunc) crawl.Fetcher {
		m.stop, m.after = stop, requests
		return m
	})
}

// Stores that take a copy of the folder now and then, as if the process died
// between two of its steps.
type (
	snapFrontier struct {
		crawl.Frontier
		snap func()
	}
	snapArchive struct {
		crawl.Archive
		snap func()
	}
	snapLog struct {
		crawl.Log
		snap func()
	}
)

func (s snapFrontier) Commit(ctx context.Context, turn web.Turn) (web.Receipt, error) {
	r, err := s.Frontier.Commit(ctx, turn)
	if err == nil {
		_, err = s.Frontier.Unwritten(0)
	}
	s.snap()
	return r, err
}

func (s snapArchive) Append(records ...[]byte) ([]byte, error) {
	mark, err := s.Archive.Append(records...)
	s.snap()
	return mark, err
}

func (s snapLog) Append(events ...event.Event) ([]byte, error) {
	mark, err := s.Log.Append(events...)
	s.snap()
	return mark, err
}

// snapshots crawls a meadow in one run or more, and returns folders as a process
// left them that died at random moments.
func snapshots(t *testing.T, rng *rand.Rand, n int) (m *meadow, dirs []string) {
	t.Helper()
	m = &meadow{n: 150, asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	take := func() {
		if len(dirs) < n && rng.IntN(60) == 0 {
			dirs = append(dirs, copyOf(t, dir))
		}
	}
	for run := range 1 + rng.IntN(3) {
		synctest.Test(t, func(t *testing.T) {
			later(dir)
			_, err := m.crawl(t, dir, StoreOptions{}, 20+rng.IntN(100), func(c *crawl.Crawl) {
				c.Frontier, c.Archive, c.Log = snapFrontier{c.Frontier, take}, snapArchive{c.Archive, take}, snapLog{c.Log, take}
			})
			if err != nil {
				t.Fatalf("run %d: %v", run, err)
			}
		})
	}
	dirs = append(dirs, dir)
	return m, dirs
}

// acknowledged is what the crawl in a folder is owed: the addresses whose outcome
// a turn committed.
func acknowledged(t *testing.T, dir string) map[string]bool {
	t.Helper()
	w := opened(t, copyOf(t, dir))
	defer w.Close()
	stores, err := w.OpenStores(t.Context(), meadowStores())
	if err != nil {
		t.Fatal(err)
	}
	defer stores.Close()
	acked := map[string]bool{}
	for e, err := range w.Events() {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if f, ok := e.(event.Failed); ok && f.Retry {
			continue
		}
		if u := visited(e); !u.IsZero() {
			acked[u.String()] = true
		}
	}
	return acked
}

func meadowStores() StoreOptions {
	o := StoreOptions{}
	o.Archive.Prefix = "bees"
	return o
}

// copyOf copies the folder of a crawl, which may run. The frontier's store removes files
// that it no longer needs at any moment: where one was listed and is gone, the copy is
// made anew.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	for range 20 {
		copied := filepath.Join(t.TempDir(), "copy")
		err := os.CopyFS(copied, os.DirFS(dir))
		if err == nil {
			return copied
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Fatalf("files of %s vanish while they are copied, 20 times", dir)
	return ""
}

func opened(t *testing.T, dir string) *Writer {
	t.Helper()
	w, err := At(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestDamagedCrawl damages one file of the folder of a crawl that was killed, at a random
// place. The next run then goes on with everything that was acknowledged, or is
// refused with the name of what is damaged; then the file is put back, or the crawl
// repaired, and it goes on. In the end archive and log hold each page once, or
// lost.txt names it, nothing acknowledged was asked for again, and the folder is
// whole. WAGGLE_DAMAGES sets how often (15, and 3 in the quick run); more begin with the same.
func TestDamagedCrawl(t *testing.T) {
	t.Parallel()
	rounds := long.Count(t, "WAGGLE_DAMAGES", 3, 15)
	counts := map[string]int{}
	for round := 0; round < rounds; {
		rng := rand.New(rand.NewPCG(uint64(round), 11))
		m, dirs := snapshots(t, rng, 5)
		for _, dir := range dirs {
			acked := acknowledged(t, dir)
			for range 3 {
				if round++; round > rounds {
					break
				}
				own := copyOf(t, dir)
				name, how, was, err := collectiontest.Damage(own, rng)
				if err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("round %d, %s: %s", round, name[len(own)+1:], how)
				fresh := &meadow{n: m.n, asked: maps.Clone(m.asked), acked: acked}
				kind := filepath.Base(name)
				if rel, err := filepath.Rel(own, name); err == nil && filepath.Dir(rel) != "." {
					kind = strings.Split(filepath.ToSlash(rel), "/")[0]
				}
				outcome := goesOn(t, fresh, own, name, what, was)
				counts[kind+" "+outcome]++
				if t.Failed() && testing.Verbose() {
					t.Logf("%s → %s", what, outcome)
				}
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d %s", counts[k], k)
	}
}

// goesOn resumes a damaged crawl, does what the messages say, and checks how it
// ends.
func goesOn(t *testing.T, m *meadow, dir, name, what string, was []byte) (outcome string) {
	t.Helper()
	outcome = "goes on"
	_, err := m.resume(t, dir, StoreOptions{}, 0)
	var broken *OpenError
	if err != nil {
		base := filepath.Base(name)
		if !strings.Contains(err.Error(), base) && !strings.Contains(err.Error(), filepath.Base(filepath.Dir(name))) {
			t.Errorf("%s: refused without a word of the file: %v", what, err)
		}
		if testing.Verbose() {
			t.Logf("%s → %v", what, err)
		}
		v, errVerify := At(dir).Verify(t.Context(), nil)
		if errVerify != nil {
			t.Fatalf("%s: verify: %v", what, errVerify)
		}
		if v.Whole {
			t.Errorf("%s: refused (%v), and Verify finds nothing", what, err)
		}
		switch {
		case errors.As(err, &broken) && broken.Damaged || isFrontierDamage(err):
			outcome = "repaired"
			repairNow(t, dir, what)
		default:
			outcome = "put back"
			if err := os.WriteFile(name, was, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.resume(t, dir, StoreOptions{}, 0); err != nil {
			t.Fatalf("%s: %s, and then: %v", what, outcome, err)
		}
	}
	v, err := At(dir).Verify(t.Context(), nil)
	if err != nil {
		t.Fatalf("%s: verify: %v", what, err)
	}
	if !v.Whole && outcome == "goes on" {
		// What a run does not read is found by Verify.
		outcome = "found by verify"
		repairNow(t, dir, what)
		if v, err = At(dir).Verify(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if !v.Whole {
		t.Errorf("%s: %s, and in the end: %v", what, outcome, v.Damage)
	}
	owed(t, m, dir, what+": "+outcome)
	return outcome
}

func repairNow(t *testing.T, dir, what string) {
	t.Helper()
	w := opened(t, dir)
	defer w.Close()
	r, err := w.Repair(t.Context(), RepairOptions{Parser: parse.New(parse.Options{})})
	if err != nil {
		t.Fatalf("%s: repair: %v", what, err)
	}
	if r.Whole {
		t.Errorf("%s: nothing was found to repair", what)
	}
	if testing.Verbose() {
		t.Logf("%s: %s", what, strings.Join(r.Lines(), "; "))
	}
}

// owed checks that what was acknowledged is there.
func owed(t *testing.T, m *meadow, dir, what string) {
	t.Helper()
	c := At(dir)
	lost, err := c.Lost()
	if err != nil {
		t.Fatal(err)
	}
	told, archived := map[string]int{}, map[string]int{}
	var pages []string
	for e, err := range c.Events() {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if f, ok := e.(event.Failed); ok && f.Retry {
			continue
		}
		if u := visited(e); !u.IsZero() {
			told[u.String()]++
		}
		if f, ok := e.(event.Fetched); ok && mustKeep(f) {
			pages = append(pages, f.URL.String())
		}
	}
	for r, err := range c.Responses(nil) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if r.Status == 200 {
			archived[r.URL.String()]++
		}
	}
	for u := range m.acked {
		if told[u] != 1 && !slices.Contains(lost, u) {
			t.Errorf("%s: %s was acknowledged, and the log tells of it %d times", what, u, told[u])
		}
	}
	for _, u := range pages {
		if archived[u] != 1 && !slices.Contains(lost, u) {
			t.Errorf("%s: %s is %d times in the archive", what, u, archived[u])
		}
	}
	for u, n := range archived {
		if n > 1 || told[u] != 1 && !slices.Contains(lost, u) {
			t.Errorf("%s: %s is archived %d times and told of %d times", what, u, n, told[u])
		}
	}
	if len(m.again) > 0 {
		t.Errorf("%s: asked for again: %v", what, m.again)
	}
}

// isFrontierDamage tells the error of a run that met damage on its way.
func isFrontierDamage(err error) bool { return errors.As(err, new(*frontier.DamageError)) }

// A crawl that is stopped while a turn is being settled settles it first: archive,
// log and frontier tell the same.
func TestStoppedWhileSettling(t *testing.T) {
	t.Parallel()
	for _, between := range []string{"archive and log", "log and frontier"} {
		t.Run(between, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "c")
			m := &meadow{n: 150, asked: map[string]int{}}
			synctest.Test(t, func(t *testing.T) {
				turns := 0
				stop := func() {
					if turns++; turns == 20 {
						m.stop()
					}
				}
				_, err := m.crawl(t, dir, StoreOptions{}, 0, func(c *crawl.Crawl) {
					if between == "archive and log" {
						c.Archive = snapArchive{c.Archive, stop}
					} else {
						c.Log = snapLog{c.Log, stop}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
			})
			v, err := At(dir).Verify(t.Context(), nil)
			if err != nil || !v.Whole || v.Log.Ignored > 0 {
				t.Errorf("%s\n%v", strings.Join(v.Lines(), "\n"), err)
			}
			m.acked = acknowledged(t, dir)
			if _, err := m.resume(t, dir, StoreOptions{}, 0); err != nil {
				t.Fatal(err)
			}
			owed(t, m, dir, between)
		})
	}
}
