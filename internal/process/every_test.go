package process

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
)

// A service begins one round after another, is killed in the middle of one, goes on with that
// one, and ends when it is told to: no page is asked for twice in a round.
func TestEvery(t *testing.T) {
	long.Test(t, "waits for rounds of a crawl")
	t.Parallel()
	web := serveNumbered(t, 40)
	dir := filepath.Join(t.TempDir(), "crawl")
	args := append(web.crawl(dir), "--keywords", "honey bee, waggle dance", "--workers", "4")
	if said, err := waggleCommand(args).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	base := collection.At(dir)
	service := func() (*exec.Cmd, *bufio.Scanner) {
		cmd := waggleCommand([]string{"crawl", "--again", dir, "--every", "1s", "--workers", "4"})
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		return cmd, bufio.NewScanner(out)
	}
	until := func(lines *bufio.Scanner, beginning string) {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), beginning) {
				return
			}
		}
		t.Fatalf("the output ends before %q", beginning)
	}

	cmd, lines := service()
	until(lines, "Round 1:")
	enough := web.gate(10)
	<-enough // the second round is on its way
	cmd.Process.Kill()
	cmd.Wait() // it was killed
	web.open()

	cmd, lines = service()
	until(lines, "Round 2:")
	until(lines, "Round 3:")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	const stopped = 3 // the exit code of what goes on with the same command
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != stopped {
		t.Errorf("the service that was told to end: %v, want exit status %d", err, stopped)
	}
	for n := 1; n <= 3; n++ {
		fetched := map[string]int{}
		for e, err := range event.ReadFile(base.Round(n).EventLog()) {
			if err != nil {
				t.Fatal(err)
			}
			if p, ok := e.(event.Fetched); ok {
				fetched[p.URL.String()]++
			}
		}
		if len(fetched) != web.reachable() {
			t.Errorf("round %d: %d pages, want %d", n, len(fetched), web.reachable())
		}
		for u, times := range fetched {
			if times != 1 {
				t.Errorf("round %d: %s was fetched %d times", n, u, times)
			}
		}
		if said, err := waggleCommand([]string{"verify", base.Round(n).Dir()}).CombinedOutput(); err != nil {
			t.Errorf("round %d: %v\n%s", n, err, said)
		}
	}
}
