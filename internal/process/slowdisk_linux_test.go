package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/long"
)

// slowDisk makes each of some system calls of a process take longer, by strace: the calls are
// those of the program itself, and the disk is asked in the end.
type slowDisk struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  string
	said bytes.Buffer
	over chan error
}

func newSlowDisk(t *testing.T, p *os.Process, calls string, delay time.Duration) *slowDisk {
	t.Helper()
	s := &slowDisk{t: t, log: filepath.Join(t.TempDir(), "calls"), over: make(chan error, 1)}
	s.cmd = exec.Command("strace", "-f", "-qq", "-o", s.log, "-p", fmt.Sprint(p.Pid), "-e", "trace="+calls,
		"-e", fmt.Sprintf("inject=%s:delay_enter=%d", calls, delay.Microseconds()))
	s.cmd.Stderr = &s.said
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.over <- s.cmd.Wait() }()
	return s
}

// await waits until so many calls have taken longer.
func (s *slowDisk) await(n int) {
	s.t.Helper()
	for late := time.After(patience); ; {
		b, err := os.ReadFile(s.log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			s.t.Fatal(err)
		}
		if bytes.Count(b, []byte("(DELAYED)")) >= n {
			return
		}
		select {
		case err := <-s.over:
			s.t.Fatalf("strace: %v\n%s", err, s.said.String())
		case <-late:
			s.end()
			s.t.Fatalf("of the slow calls there are not %d:\n%s", n, b)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// end gives the process its own disk back.
func (s *slowDisk) end() {
	s.t.Helper()
	s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.over:
	case <-time.After(time.Minute):
		s.cmd.Process.Kill()
		s.t.Fatal("strace does not end")
	}
}

// canSlow tells why no disk can be made slow here, "" where one can.
func canSlow() string {
	if _, err := exec.LookPath("strace"); err != nil {
		return "needs strace: install Debian's package of that name"
	}
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		return err.Error()
	}
	defer sleeper.Wait()
	defer sleeper.Process.Kill()
	said, _ := exec.Command("timeout", "-s", "INT", "1", "strace", "-qq", "-p", fmt.Sprint(sleeper.Process.Pid)).CombinedOutput()
	if strings.Contains(string(said), "not permitted") || strings.Contains(string(said), "denied") {
		return fmt.Sprintf("strace may not look at other processes here (%s): run it as root", strings.TrimSpace(string(said)))
	}
	return ""
}

// TestSlowDisk has the disk of a worker, then that of the engine, take longer for a call than
// a session lasts. A worker does not renew its session by way of its disk; of a slow engine all
// sessions are over, as no renewal is in time. Nothing is lost, nobody is hurried, nothing is
// archived twice.
func TestSlowDisk(t *testing.T) {
	long.Test(t, "waits for a slow disk")
	if why := canSlow(); why != "" {
		t.Skip(why)
	}
	t.Parallel()
	faults := max(2, faultsWanted(t))
	c := newFaultyCrew(t, faults)
	hands := []*hand{c.start("w0"), c.start("w1"), c.start("w2")}
	ended := 0 // sessions, as the engine was slow
	c.faults(faults, func(k int) {
		c.awaitBack(hands...)
		if k%2 == 0 {
			h := hands[k/2%len(hands)]
			s := newSlowDisk(t, h.cmd.Process, "fsync,fdatasync", c.term+c.term/3)
			s.await(1)
			s.end()
			t.Logf("the disk of %s was slow: sessions were over %d times since it was back", filepath.Base(h.dir), joinedAgain(h)-h.joined)
		} else {
			s := newSlowDisk(t, c.server.Process, "pwrite64", c.term)
			c.awaitOver(hands...)
			s.await(1)
			s.end()
			ended += len(hands)
		}
		c.awaitBack(hands...)
	})
	c.finish(hands...)
	c.mended(ended, hands...)
}
