//go:build unix

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// A crawl that is started with signals ignored, as by nohup or in the background of a script, lives on
// after these, and ends in good order at SIGTERM.
func TestIgnoredSignals(t *testing.T) {
	const last = 10
	var asked atomic.Int32
	crawl := make(chan *os.Process, 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<title>Honey</title><p>Bees make honey. <a href=%sx>more</a>", r.URL.Path)
		if r.URL.Path == "/robots.txt" {
			return
		}
		var send []os.Signal
		switch n := asked.Add(1); {
		case n == 2:
			send = []os.Signal{syscall.SIGHUP, os.Interrupt}
		case n == last:
			send = []os.Signal{syscall.SIGTERM}
		}
		for _, s := range send {
			p := <-crawl
			if err := p.Signal(s); err != nil {
				t.Error(err)
			}
			crawl <- p
		}
		if len(send) > 0 && send[0] == syscall.SIGTERM {
			<-r.Context().Done() // the crawl would be over before it hears the signal
		}
	}))
	defer site.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	waggle := filepath.Join(dir, "waggle") // by this name the program of the tests is waggle
	if err := os.Symlink(self, waggle); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `trap "" HUP INT; exec "$0" "$@"`, waggle, "crawl", site.URL+"/x", "-o", filepath.Join(dir, "bees"),
		"--keywords", "honey", "--pages", "10000", "--workers", "1", "--delay", "0", "--allow-private")
	said := filepath.Join(dir, "said")
	if cmd.Stderr, err = os.Create(said); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() // where it has ended nothing is left to do
	crawl <- cmd.Process
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.ExitCode() != exitStopped || asked.Load() < last {
		t.Errorf("it ended after %d pages with %v: %s", asked.Load(), err, contents(t, said))
	}
}
