//go:build unix

package process

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
)

// clockAhead is the variable by which the program of aheadProgram is told how far its wall clock is
// ahead of the machine's.
const clockAhead = "WAGGLE_TEST_CLOCK_AHEAD"

// aheadProgram is waggle with a wall clock of its own: the time package of Go is built with time.Now,
// from which all of it has the time of day, as far ahead as clockAhead says. The monotonic clock, timers
// and the times of files are the machine's.
func aheadProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := strings.TrimSpace(string(must(exec.Command("go", "env", "GOROOT").Output())))
	std := filepath.Join(root, "src", "time")
	source := string(must(os.ReadFile(filepath.Join(std, "time.go"))))
	const reads = "sec, nsec, mono := runtimeNow()\n"
	if strings.Count(source, reads) != 1 {
		t.Fatalf("%s reads the clock otherwise than this test knows", std)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range map[string]string{
		"time.go": strings.Replace(source, reads, reads+"\tsec += ahead\n", 1),
		"ahead.go": `package time

import "syscall"

// ahead is how many seconds the wall clock is ahead.
var ahead = func() int64 {
	s, _ := syscall.Getenv("` + clockAhead + `")
	d, err := ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return int64(d / Second)
}()
`,
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(std, name)] = file
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, must(json.Marshal(overlay)), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "waggle")
	if said, err := exec.Command("go", "build", "-overlay", file, "-o", program, "../../cmd/waggle").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	return program
}

// startAhead starts a worker whose wall clock is ahead.
func (c *crew) startAhead(program, name string, ahead time.Duration) *hand {
	c.Helper()
	c.program, c.env = program, []string{clockAhead + "=" + ahead.String()}
	defer func() { c.program, c.env = "", nil }()
	return c.start(name)
}

// TestWallClocksApart has three workers crawl by an engine with TLS: the wall clock of one is an hour
// ahead, that of another an hour behind, and the engine's and the third's are right. Each is killed, and
// comes back once others have its sites; one of them with another clock.
func TestWallClocksApart(t *testing.T) {
	if os.Getenv("WAGGLE_CLOCKS_APART") == "" {
		t.Skip("builds all of waggle with another time package: set WAGGLE_CLOCKS_APART=1")
	}
	program := aheadProgram(t)
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
		for e, err := range collection.At(h.dir).Fetched() {
			if err != nil {
				t.Fatal(err)
			}
			if by := e.At.At.Sub(began); by < ahead[i] || by > ahead[i]+time.Hour/2 {
				t.Errorf("the first page of %s is of %v after the test began: its clock is not %v ahead", h.dir, by, ahead[i])
			}
			break
		}
	}
	c.merge(hands...)
}
