package process

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
)

// crew is a crawl of several workers.
type crew struct {
	*testing.T
	web    *sitesWeb
	dir    string
	engine string
	delay  time.Duration
	term   time.Duration // of sessions
	args   []string
	env    []string  // of workers, beside that of the test
	server *exec.Cmd // the engine, where it has a process of its own
	listen string
	kept   string // the engine's folder; "" = in dir
	ca     string // by what it is known; "" = it has no TLS
	// program is what workers run; "" = waggle.
	program string
	workers []*hand // that were started
	// complaints are what engines said.
	complaints said
}

// hand is a worker's process.
type hand struct {
	c     *crew
	dir   string
	cmd   *exec.Cmd
	out   said
	ended chan error
	// When it was back last, see awaitBack: the session, and how often it had joined again.
	session string
	joined  int
}

// said is what a process has said so far.
type said struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed when there is more
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// count is how often it has said something.
func (s *said) count(what string) int { return strings.Count(s.String(), what) }

// more gets a value when more is said from now on.
func (s *said) more() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// says waits until a worker has said something so often.
func (h *hand) says(what string, n int) {
	h.c.Helper()
	late := time.After(patience)
	for {
		more := h.out.more()
		if h.out.count(what) >= n {
			return
		}
		select {
		case <-more:
		case err := <-h.ended:
			h.ended <- err
			h.c.Fatalf("the worker in %s ended (%v) and did not say %q: %s", h.dir, err, what, h.out.String())
		case <-late:
			h.cmd.Process.Signal(syscall.SIGQUIT)
			<-h.ended
			h.c.Fatalf("the worker in %s does not say %q: %s", h.dir, what, h.out.String())
		}
	}
}

// start starts a worker in its folder, which it goes on with if there is a crawl in it.
func (c *crew) start(name string, more ...string) *hand {
	c.Helper()
	h := &hand{c: c, dir: filepath.Join(c.dir, name), ended: make(chan error, 1)}
	args := []string{"crawl", "-o", h.dir, "--worker-name", name}
	if !slices.Contains(more, "--join") {
		args = append(args, "--join", c.engine)
	}
	if collection.At(h.dir).Begun() {
		args = append(args, "--resume")
	} else {
		args = append(args, c.begin()...)
	}
	h.cmd = waggleCommand(append(append(args, c.args...), more...))
	if c.program != "" {
		h.cmd.Path = c.program
	}
	h.cmd.Env = append(h.cmd.Environ(), c.env...)
	c.launch(h)
	return h
}

// launch starts the process of a worker, which ends with the test.
func (c *crew) launch(h *hand) {
	c.Helper()
	h.cmd.Stdout, h.cmd.Stderr = &h.out, &h.out
	if err := h.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	go func() { h.ended <- h.cmd.Wait() }()
	c.workers = append(c.workers, h)
	c.Cleanup(h.end)
}

// end ends a worker with the test. What it said, and where it stood, is told where the test failed.
func (h *hand) end() {
	if !h.c.Failed() {
		h.cmd.Process.Kill()
		return
	}
	h.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-h.ended:
	case <-time.After(10 * time.Second):
		h.cmd.Process.Kill()
	}
	h.c.Logf("%s:\n%s", h.dir, h.out.String())
}

// begin are the arguments of a worker that begins. A request that the web holds back, see sitesWeb.allow, is not
// given up and made again, however slow the machine is.
func (c *crew) begin() []string {
	file := filepath.Join(c.dir, "patient.yaml")
	if err := os.WriteFile(file, []byte("fetch: {timeout: 1h}\n"), 0o600); err != nil {
		c.Fatal(err)
	}
	return []string{
		"-f", file,
		"--seed", "http://" + siteName(0) + "/0", "--keywords", "bees", "--through", c.web.url,
		"--delay", c.delay.String(), "--scorer", "breadth-first", "--term", c.term.String(), "--shards", "32",
	}
}

// wait waits for the end of a worker: as long as pages are asked for, and as patience says.
func (h *hand) wait() error {
	h.c.Helper()
	for asked := -1; ; {
		before := asked
		asked = h.c.web.requestsSoFar()
		if asked == before {
			for _, other := range h.c.workers {
				h.c.Logf("%s:\n%s", other.dir, other.out.String())
			}
			h.cmd.Process.Signal(syscall.SIGQUIT)
			<-h.ended
			h.c.Fatalf("the worker in %s does not end: %s", h.dir, h.out.String())
		}
		select {
		case err := <-h.ended:
			h.ended <- err
			return err
		case <-time.After(patience):
		}
	}
}

func (h *hand) signal(s os.Signal) {
	h.c.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		h.c.Fatal(err)
	}
}

// stop stops a worker in good order.
func (h *hand) stop() {
	h.c.Helper()
	h.signal(os.Interrupt)
	h.wait()
}

func (h *hand) kill() {
	h.c.Helper()
	h.cmd.Process.Kill()
	h.wait()
}

// finish waits until all workers say that the crawl is over.
func (c *crew) finish(hands ...*hand) {
	c.Helper()
	for _, h := range hands {
		if err := h.wait(); err != nil {
			for _, h := range hands {
				h.kill()
				c.Logf("%s: %v\n%s", h.dir, err, h.out.String())
			}
			c.FailNow()
		}
	}
}

// pages are what the archives of all workers hold, and how often.
func (c *crew) pages() map[string]int {
	c.Helper()
	out := map[string]int{}
	dirs, err := filepath.Glob(filepath.Join(c.dir, "w*"))
	if err != nil {
		c.Fatal(err)
	}
	for _, dir := range dirs {
		col := collection.At(dir)
		if !col.Begun() {
			continue
		}
		logged := map[string]bool{}
		for e, err := range col.Fetched() {
			if err != nil {
				c.Fatal(err)
			}
			logged[e.URL.String()] = true
		}
		for r, err := range col.Responses(nil) {
			if err != nil {
				c.Fatal(err)
			}
			if r.Status == 200 {
				out[strings.TrimPrefix(r.URL.String(), "http://")]++
				if !logged[r.URL.String()] {
					c.Errorf("%s is in the archive of %s and not in its log", r.URL, dir)
				}
			}
		}
	}
	return out
}

// compare holds what the workers have against the web.
func (c *crew) compare(again int) {
	c.Helper()
	want, have := c.web.reachable(), c.pages()
	for _, u := range slices.Sorted(maps.Keys(want)) {
		if have[u] != 1 {
			c.Errorf("%s is archived %d times", u, have[u])
		}
	}
	for u := range have {
		if !want[u] {
			c.Errorf("%s is archived", u)
		}
	}
	repeated := 0
	for u, n := range c.web.counts() {
		if n > 1 {
			repeated += n - 1
			c.Logf("%s was asked for %d times", u, n)
		}
	}
	if repeated > again {
		c.Errorf("%d requests were repeated, and not %d at most", repeated, again)
	}
	for _, s := range c.web.hurried(c.delay) {
		c.Errorf("hurried: %s", s)
	}
	for _, dir := range must(filepath.Glob(filepath.Join(c.dir, "w*"))) {
		if !collection.At(dir).Begun() {
			continue
		}
		if said, err := waggleCommand([]string{"verify", dir}).CombinedOutput(); err != nil {
			c.Errorf("waggle verify %s: %v\n%s", dir, err, said)
		}
	}
}

// overSaid is what a worker says whose session is over.
const overSaid = "it joins again"

// joinedAgain is how often workers have.
func joinedAgain(hands ...*hand) (n int) {
	for _, h := range hands {
		n += h.out.count(overSaid)
	}
	return n
}

// repeated is how many requests workers may have made twice after so many faults: those that were under way at a fault, and
// when a session was over. That may come of a machine that stands still, but not to each worker twice.
func (c *crew) repeated(faults int) int {
	c.Helper()
	n := joinedAgain(c.workers...)
	if n > faults+len(c.workers) {
		c.Errorf("%d workers joined again %d times after %d faults", len(c.workers), n, faults)
	}
	return (faults + n) * atATime
}

// mended holds what the workers have against the web, after faults that made each of some
// of them join again: what was under way then was asked for again.
func (c *crew) mended(faults int, hands ...*hand) {
	c.Helper()
	n := joinedAgain(hands...)
	if n < faults {
		c.Errorf("%d faults, and workers joined again %d times: the faults were none", faults, n)
	}
	if faults == 0 && n > len(hands) {
		c.Errorf("%d workers joined again %d times without a fault", len(hands), n)
	}
	c.compare(n * atATime)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// serveEngine serves the engine in a process of its own, at an address that stays.
func (c *crew) serveEngine() {
	c.Helper()
	at := "127.0.0.1:0"
	if c.listen != "" {
		at = c.listen
	}
	c.server, c.engine = c.startEngine(cmp.Or(c.kept, filepath.Join(c.dir, "served")), "--listen", at)
	c.listen = c.engine[strings.LastIndexByte(c.engine, '@')+1:]
}

// startEngine starts the process of an engine in a folder, and returns its address.
func (c *crew) startEngine(dir string, args ...string) (cmd *exec.Cmd, address string) {
	c.Helper()
	cmd = waggleCommand(append([]string{"cluster", "engine", dir}, args...))
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	cmd.Stderr = &c.complaints
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.Fatalf("the engine: %v %s", err, c.complaints.String())
	}
	_, address, _ = strings.Cut(strings.TrimSpace(line), "--join ")
	return cmd, address
}

// stopEngine kills the engine.
func (c *crew) stopEngine() {
	c.server.Process.Kill()
	c.server.Wait()
}

func newCrew(t *testing.T, sites, pages int, delay time.Duration) *crew {
	dir := t.TempDir()
	return &crew{T: t, web: serveSites(t, sites, pages), dir: dir, engine: filepath.Join(dir, "engine"), delay: delay, term: 3 * time.Second}
}

// TestTogether crawls a web with one, two, four and eight workers (two in the quick run), which fetch all of it, no page
// twice unless the machine is so busy that a session ends, and hurry no site.
func TestTogether(t *testing.T) {
	for _, n := range long.Of([]int{2}, []int{1, 2, 4, 8}) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			// The sites are so many that no worker's shards are without one, wherever they begin.
			c := newCrew(t, max(40, 20*n), 3, 250*time.Millisecond)
			c.args, c.term = []string{"--workers", fmt.Sprint(atATime)}, 15*time.Second
			var hands []*hand
			for i := range n {
				hands = append(hands, c.start(fmt.Sprint("w", i), "--workers-min", fmt.Sprint(n)))
			}
			c.finish(hands...)
			c.mended(0, hands...)
			said, err := waggleCommand([]string{"crawl", "-o", hands[0].dir, "--resume"}).CombinedOutput()
			if err == nil || !strings.Contains(string(said), "go on with --join") {
				t.Errorf("a worker's folder alone: %v\n%s", err, said)
			}
			shares := 0
			for _, h := range hands {
				pages := 0
				for e, err := range collection.At(h.dir).Events() {
					if err != nil {
						t.Fatal(err)
					}
					if _, ok := e.(event.Fetched); ok {
						pages++
					}
				}
				if pages > 0 {
					shares++
				}
			}
			if shares < n {
				t.Errorf("%d of %d workers fetched something", shares, n)
			}
		})
	}
}

// atATime is how many fetches a worker of the tests below makes at a time: so many may be
// repeated where it is stopped or lost.
const atATime = 4

// TestKilledWorkers kills workers at random instants, and starts some of them again at once,
// others when their shards have been taken over, and others never. WAGGLE_KILLS says how
// often (default 4).
func TestKilledWorkers(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	kills := killsWanted(t)
	c := newCrew(t, 40, 6+6*kills, 10*time.Millisecond)
	c.args = []string{"--workers", fmt.Sprint(atATime)}
	c.serveEngine()
	rng := killChance(t)
	hands := []*hand{c.start("w0"), c.start("w1"), c.start("w2")}
	t.Cleanup(func() {
		for _, h := range hands {
			if out := h.out.String(); t.Failed() {
				t.Logf("%s said last:\n%s", h.dir, out[max(0, len(out)-2000):])
			}
		}
	})
	var left []string // workers that do not come back while the others crawl
	names := 3
	pages := len(c.web.reachable())
	for k := range kills {
		c.web.await(t, pages*(k+1)/(kills+2)+rng.IntN(20))
		i := rng.IntN(len(hands))
		hands[i].kill()
		name := filepath.Base(hands[i].dir)
		t.Logf("kill %d of %d: %s", k+1, kills, name)
		switch rng.IntN(3) {
		case 0:
			hands[i] = c.start(name)
		case 1:
			c.web.await(t, pages*(k+1)/(kills+2)+40)
			hands[i] = c.start(name)
		default:
			left = append(left, name)
			hands[i] = c.start(fmt.Sprint("w", names))
			names++
		}
	}
	c.finish(hands...)
	for _, name := range left { // what they wrote and nobody acknowledged is cut off
		c.finish(c.start(name))
	}
	c.compare(c.repeated(kills))
}

// A crawl that was begun alone cannot be joined: it holds links of all sites.
func TestBegunAlone(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 3, 3, 0)
	dir := filepath.Join(c.dir, "w0")
	args := []string{"crawl", "-o", dir, "--keywords", "bees", "--through", c.web.url, "--delay", "0", "http://" + siteName(0) + "/0"}
	if said, err := waggleCommand(args).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	said, err := waggleCommand([]string{"crawl", "-o", dir, "--resume", "--join", c.engine}).CombinedOutput()
	if err == nil || !strings.Contains(string(said), "was begun alone") {
		t.Errorf("joined with a crawl begun alone: %v\n%s", err, said)
	}
}

// TestExampleOfWorkers gives workers an example page by its address: each fetches it before it
// joins, when no shard is its own yet.
func TestExampleOfWorkers(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	c := newCrew(t, 3, 3, 0)
	c.args = []string{"--workers", "1", "--example", "http://" + siteName(0) + "/1"}
	hands := []*hand{c.start("w0", "--workers-min", "2"), c.start("w1", "--workers-min", "2")}
	c.finish(hands...)
	for _, h := range hands {
		if x, err := collection.At(h.dir).Examples(); err != nil || len(x) != 1 {
			t.Errorf("%s keeps %d examples (%v), want the one: %s", h.dir, len(x), err, h.out.String())
		}
	}
}
