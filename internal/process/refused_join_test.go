package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/long"
)

// joining are the arguments of a worker that joins an engine.
func (c *crew) joining(name, engine string) []string {
	return slices.Concat([]string{"crawl", "-o", filepath.Join(c.dir, name), "--worker-name", name, "--join", engine}, c.begin(), c.args)
}

// A worker that is refused, or is stopped before the crawl begins, leaves nothing that is in
// the way of the same command once it is put right.
func TestRefusedJoin(t *testing.T) {
	long.Test(t, "crawls with several processes")
	t.Parallel()
	c := newCrew(t, 6, 4, 0)
	c.serveEngine()
	c.finish(c.start("w0"))
	dir := filepath.Join(c.dir, "w1")
	nothing := func(what string) {
		t.Helper()
		if folder.Exists(dir) {
			entries, err := os.ReadDir(dir)
			t.Errorf("%s left %v, %v", what, entries, err)
		}
	}
	_, at, _ := strings.Cut(c.engine, "@")
	for what, x := range map[string]struct {
		args []string
		says string
	}{
		"another job":              {append(c.joining("w1", c.engine), "--keywords", "wasps"), "another crawl of this name"},
		"other shards":             {append(c.joining("w1", c.engine), "--shards", "7"), "the crawl has 32 shards"},
		"another term":             {append(c.joining("w1", c.engine), "--term", "77s"), "the term of the crawl is"},
		"another token":            {c.joining("w1", "nats://guessed@"+at), "Authorization"},
		"no port":                  {c.joining("w1", "nats://"+at+"x"), "is no address of an engine"},
		"no scheme":                {c.joining("w1", "worker:secret@"+at), "nats://" + at},
		"one slash":                {c.joining("w1", "nats:/worker:secret@"+at), "is nats://HOST"},
		"a file that is not there": {append(c.joining("w1", c.engine), "--join-ca", filepath.Join(c.dir, "none.pem")), "none.pem"},
	} {
		cmd := waggleCommand(x.args)
		cmd.Dir = t.TempDir() // an address that is taken for a folder leaves it there
		said, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(said), x.says) || strings.Contains(string(said), "secret") {
			t.Errorf("%s: %v\n%s", what, err, said)
		}
		nothing(what)
	}
	// An engine that does not answer is waited for, and so are other workers.
	right := c.engine
	c.engine = "nats://127.0.0.1:1"
	h := c.start("w1")
	h.says("waits for the engine", 1)
	h.stop()
	nothing("waiting for the engine")
	// Nobody is waited for where the crawl is over: this is an engine on which it has not begun.
	_, c.engine = c.startEngine(filepath.Join(c.dir, "fresh"), "--listen", "127.0.0.1:0")
	h = c.start("w1", "--workers-min", "9")
	h.says("waits for 9 workers", 1)
	h.stop()
	nothing("waiting for workers")
	c.engine = right
	c.finish(c.start("w1"))
	// What holds for all workers is changed for all of them, and not below what they have done.
	for what, x := range map[string]struct {
		args []string
		says string
	}{
		"another budget":       {[]string{"crawl", "-o", dir, "--resume", "--join", c.engine, "--pages", "999"}, "--pages: the budget of a crawl of several workers is changed for all of them: waggle steer " + dir + " budget 999"},
		"too small a budget":   {[]string{"steer", dir, "budget", "1"}, "and its budget over all runs is 1: give more than it has fetched"},
		"no engine":            {[]string{"crawl", "-o", dir, "--resume"}, "is that of one of several workers"},
		"an engine of no file": {[]string{"cluster", "status", "--join", filepath.Join(c.dir, "none")}, "no process serves an engine"},
	} {
		cmd := waggleCommand(x.args)
		said, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(said), x.says) {
			t.Errorf("%s: %v\n%s", what, err, said)
		}
	}
	// A folder goes on with the engine by which it was begun, and makes none.
	other, none := filepath.Join(c.dir, "other"), filepath.Join(c.dir, "mistyped")
	_, address := c.startEngine(other, "--listen", "127.0.0.1:0")
	for what, engine := range map[string]string{"an engine without its crawl": address, "no engine": none} {
		said, err := waggleCommand([]string{"crawl", "-o", dir, "--resume", "--join", engine}).CombinedOutput()
		if err == nil || !strings.Contains(string(said), "does not know the crawl of this folder") || strings.Contains(string(said), overSaid) {
			t.Errorf("%s: %v\n%s", what, err, said)
		}
	}
	if folder.Exists(none) {
		t.Errorf("a mistyped folder of an engine was made")
	}
	// A crawl that was begun alone, and is refused, is still told things of its own.
	alone := filepath.Join(c.dir, "alone")
	c.waggle(slices.Concat([]string{"crawl", "-o", alone}, c.begin()[:len(c.begin())-4], []string{"--pages", "1"})...)
	if said, err := waggleCommand([]string{"crawl", "-o", alone, "--resume", "--join", c.engine}).CombinedOutput(); err == nil {
		t.Errorf("joined with a crawl begun alone:\n%s", said)
	}
	if said := c.waggle("steer", alone, "budget", "7"); !strings.Contains(said, "Act 1") {
		t.Errorf("told: %s", said)
	}
}

// A worker that joins again while it waits for others waits on.
func TestMinimumLasts(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 6, 4, 0)
	w0 := c.start("w0", "--workers-min", "3")
	w0.says("waits for 3 workers", 1)
	w1 := c.start("w1", "--workers-min", "3")
	w1.says("waits for 3 workers", 1)
	w0.kill() // it served the engine
	w1.says("joins again", 1)
	w1.says("waits for 3 workers", 2)
	if said := c.waggle("cluster", "status", "--join", c.engine); !strings.Contains(said, "waits for 3 workers") {
		t.Errorf("while it waits:\n%s", said)
	}
	w1.stop()
}
