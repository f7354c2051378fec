package process

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
)

// TestFullDisk fills the disk to its last byte while a crawl runs, again and again.
// Each time the crawl ends with an error that says so, what it leaves is whole, also
// while nothing can be written, and once there is room it goes on. In the end the
// server's record decides, as in TestKilledDamagedCrawlGoesOn. It needs a small disk:
//
//	mount -t tmpfs -o size=420m tmpfs /mnt/small
//	WAGGLE_SMALL_DISK=/mnt/small go test -run FullDisk -v ./internal/process
//
// WAGGLE_KILLS sets how often the disk is filled (4, and 1 in the quick run).
func TestFullDisk(t *testing.T) {
	small := os.Getenv("WAGGLE_SMALL_DISK")
	if small == "" {
		t.Skip("needs a disk of some 400 MB: set WAGGLE_SMALL_DISK to a folder on it, as above")
	}
	dir, err := os.MkdirTemp(small, "full")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	fills := killsWanted(t)
	h := &harness{
		T: t, web: serveNumbered(t, 100*max(fills, 20)), rng: killChance(t),
		dir: filepath.Join(dir, "crawl"), counts: map[string]int{},
	}
	start := append(h.web.crawl(h.dir), "--keywords", "honey bee, waggle dance", "--example", h.example(), "--workers", "4")
	filler := filepath.Join(dir, "filler")
	for round := 0; ; round++ {
		args := []string{"crawl", "-o", h.dir, "--resume"}
		if !collection.At(h.dir).Begun() {
			args = start
		}
		if round == fills {
			if said, err, _ := h.run(args, false); err != nil {
				t.Fatalf("in the end: %v\n%s", err, said)
			}
			break
		}
		said, err := h.fill(args, filler)
		if err == nil {
			h.counts["over before it was full"]++
			if err := os.Remove(filler); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			continue
		}
		var status *exec.ExitError
		if !errors.As(err, &status) || status.ExitCode() != exitFailed || !strings.Contains(said, "full") && !strings.Contains(said, "no space left") {
			t.Fatalf("round %d: %v\n%s", round, err, said)
		}
		h.counts["ended as the disk was full"]++
		if said, err := waggleCommand([]string{"verify", h.dir}).CombinedOutput(); err != nil {
			t.Fatalf("round %d: verified while the disk is full: %v\n%s", round, err, said)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		checkKilled(t, h.dir, h.web)
	}
	h.settle()
	h.compare()
	if h.counts["ended as the disk was full"] < fills/2 {
		t.Errorf("of %d runs hardly any met the full disk", fills)
	}
	t.Logf("%d requests, %v", h.web.asked, h.counts)
}

// fill runs a crawl, and fills its disk soon after a request.
func (h *harness) fill(args []string, filler string) (said string, err error) {
	var out bytes.Buffer
	cmd := waggleCommand(args)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	instant := time.NewTimer(runMost)
	defer instant.Stop()
	h.chooseInstant(instant, ended, h.web.gate(1+h.rng.IntN(40)))
	defer h.web.open()
	select {
	case err := <-ended:
		return out.String(), err
	case <-instant.C:
	}
	if err := fillDisk(filler); err != nil {
		h.Fatal(err)
	}
	h.web.open()
	select {
	case err := <-ended:
		return out.String(), err
	case <-time.After(runMost):
		cmd.Process.Kill()
		<-ended
		h.Fatalf("on a full disk the crawl does not end\n%s", out.String())
		return "", nil
	}
}

// fillDisk fills a disk to its last byte by a file.
func fillDisk(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for n := 4 << 20; n > 0; {
		if _, err := f.Write(make([]byte, n)); errors.Is(err, syscall.ENOSPC) {
			n /= 16
		} else if err != nil {
			return err
		}
	}
	return nil
}
