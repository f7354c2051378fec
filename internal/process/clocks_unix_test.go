//go:build unix

package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/long"
)

// clockAhead is the variable that tells the program of aheadProgram by how many seconds its wall clock is ahead.
const clockAhead = "WAGGLE_TEST_CLOCK_AHEAD"

// aheadProgram is waggle with a wall clock of its own: in Go's runtime the function from which time.Now
// has the time adds as many seconds as clockAhead says. The monotonic clock, timers and the times of
// files are the machine's. The runtime alone is compiled anew, and linked with the packages of the
// program that there is, which the linker refuses where they need another runtime.
func aheadProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, said.String())
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	original := filepath.Join(run("env", "GOROOT"), "src", "runtime", "time.go")
	source := string(must(os.ReadFile(original)))
	const reads, ahead = "\treturn time_now()\n}\n", "\tsec, nsec, mono = time_now(); n, sign := int64(0), int64(1)" +
		"; for _, c := range gogetenv(\"" + clockAhead + "\") { if c == '-' { sign = -1 } else { n = 10*n + int64(c-'0') } }" +
		"; return sec + sign*n, nsec, mono\n}\n" // in one line: those below stay where they were
	if strings.Count(source, reads) != 1 {
		t.Fatalf("%s reads the clock otherwise than this test knows", original)
	}
	changed := write("time.go", strings.Replace(source, reads, ahead, 1))
	overlay := write("overlay.json", fmt.Sprintf(`{"Replace":{%q:%q}}`, original, changed))
	archive := filepath.Join(dir, "runtime.a")
	run("build", "-overlay", overlay, "-o", archive, "runtime")
	var linked []string
	main := ""
	for line := range strings.Lines(run("list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}", "../../cmd/waggle")) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "runtime" {
			file = archive
		}
		linked, main = append(linked, "packagefile "+name+"="+file), file // the program comes last
	}
	program := filepath.Join(dir, "waggle")
	run("tool", "link", "-importcfg", write("importcfg", strings.Join(linked, "\n")), "-o", program, main)
	return program
}

// startAhead starts a worker whose wall clock is ahead.
func (c *crew) startAhead(program, name string, ahead time.Duration) *hand {
	c.Helper()
	c.program, c.env = program, []string{fmt.Sprintf("%s=%d", clockAhead, int(ahead.Seconds()))}
	defer func() { c.program, c.env = "", nil }()
	return c.start(name)
}

// TestWallClocksApart has workers crawl whose wall clocks are an hour apart.
func TestWallClocksApart(t *testing.T) {
	long.TestOfAll(t, "compiles the runtime of Go anew, and links waggle with it")
	program := aheadProgram(t)
	t.Run("crawl", func(t *testing.T) { clocksApart(t, program) })
	t.Run("certificate", func(t *testing.T) { certificateByClock(t, program) })
}

// clocksApart has three workers crawl by an engine with TLS: the wall clock of one is an hour
// ahead, that of another an hour behind, and the engine's and the third's are right. Each is killed, and
// comes back once others have its sites; one of them with another clock.
func clocksApart(t *testing.T, program string) {
	kills := max(4, faultsWanted(t))
	c := newCrew(t, 40, 10+4*kills, 20*time.Millisecond)
	c.serveSecured("a-secret-of-workers", 24*time.Hour)
	c.args = []string{"--workers", fmt.Sprint(atATime), "--join-ca", c.ca}
	ahead := []time.Duration{time.Hour, -time.Hour, 0}
	began := time.Now()
	var hands []*hand
	for i, by := range ahead {
		hands = append(hands, c.startAhead(program, fmt.Sprint("w", i), by))
	}
	c.faults(kills, func(k int) {
		i := k % len(hands)
		name := filepath.Base(hands[i].dir)
		c.awaitBack(hands...)
		hands[i].kill()
		c.awaitLost(name)
		by := ahead[i]
		if k >= len(hands) { // the clock was put right, and too far
			by = -by
		}
		hands[i] = c.startAhead(program, name, by)
		c.awaitBack(hands[i])
	})
	c.finish(hands...)
	c.compare((kills + joinedAgain(hands...)) * atATime)
	for i, h := range hands {
		var first time.Time // when its first page was fetched, by its clock
		for e, err := range collection.At(h.dir).Fetched() {
			if err != nil {
				t.Fatal(err)
			}
			if first.IsZero() {
				first = e.At.At
			}
		}
		if by := first.Sub(began); by < ahead[i] || by > ahead[i]+time.Hour/2 {
			t.Errorf("the first page of %s is of %v after the test began: its clock is not %v ahead", h.dir, by, ahead[i])
		}
	}
	c.merge(hands...)
}

// certificateByClock has workers whose clocks are an hour apart join by an engine whose certificate is valid from half an
// hour ago to half an hour from now: the clock is named as what may be wrong.
func certificateByClock(t *testing.T, program string) {
	c := newCrew(t, 3, 3, 0)
	c.serveSecured("a-secret-of-workers", 30*time.Minute)
	c.args = []string{"--workers", fmt.Sprint(atATime), "--join-ca", c.ca}
	for i, by := range []time.Duration{time.Hour, -time.Hour} {
		h := c.startAhead(program, fmt.Sprint("w", i), by)
		if err := h.wait(); err == nil || !strings.Contains(h.out.String(), "the clock of this machine is to be set") {
			t.Errorf("a clock that is %v ahead: %v\n%s", by, err, h.out.String())
		}
	}
	right := c.startAhead(program, "w2", 0)
	c.finish(right)
	c.compare(joinedAgain(right) * atATime)
}
