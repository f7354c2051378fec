// Package demo starts the sites of waggle demo on this machine: the documentation of
// Go, and manuals of Debian packages. Nothing but what makes them is fetched.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/job"
)

// godoc is the site of the demo: the documentation of the Go on this machine,
// as served by the tool that served golang.org for years.
const (
	godocModule  = "golang.org/x/tools/cmd/godoc"
	godocVersion = "v0.28.0"
)

// Site is a running web to crawl.
type Site struct {
	Job  job.Job // seeds and how to fetch
	Stop func()
}

// Godoc builds and starts the Go documentation server on a free port of
// the loopback address.
func Godoc(ctx context.Context, note func(string, ...any)) (Site, error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return Site{}, errors.New("the demo crawls the Go documentation and needs the go command in the PATH (https://go.dev/dl/)")
	}
	bin, err := buildGodoc(ctx, goTool, note)
	if err != nil {
		return Site{}, err
	}
	root, err := exec.CommandContext(ctx, goTool, "env", "GOROOT").Output()
	if err != nil {
		return Site{}, fmt.Errorf("go env GOROOT: %w", err)
	}
	empty, err := os.MkdirTemp("", "waggle-gopath-") // a GOPATH with nothing in it
	if err != nil {
		return Site{}, err
	}
	addr, err := freePort()
	if err != nil {
		return Site{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, bin, "-http="+addr, "-goroot="+strings.TrimSpace(string(root)))
	cmd.Env = append(os.Environ(), "GO111MODULE=off", "GOPATH="+empty, "GOFLAGS=")
	var said tail
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = 2 * time.Second
	endWithParent(cmd)
	if err := cmd.Start(); err != nil {
		cancel()
		return Site{}, fmt.Errorf("starting %s: %w", bin, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := func() {
		cancel()
		<-ended
		os.RemoveAll(empty)
	}
	home := "http://" + addr + "/pkg/"
	note("Starting the Go documentation server on %s …", home)
	for {
		if documented(ctx, home) {
			break
		}
		select {
		case err := <-ended:
			ended <- err
			stop()
			return Site{}, fmt.Errorf("the documentation server ended: %v\n%s", err, said.String())
		case <-ctx.Done():
			stop()
			return Site{}, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	none := job.Duration(0)
	s := Site{Stop: stop}
	s.Job.Seeds = []string{home}
	// The words that the pages of the site use: they write "crypto".
	s.Job.Topic = job.Topic{
		Description: "Cryptography: encryption, signatures, certificates and secure connections",
		Keywords:    []string{"crypto", "encryption", "cipher", "certificate", "TLS"},
	}
	s.Job.Scope.Reach = "host"
	s.Job.Scope.Exclude = []string{`[?&][sh]=`} // the same source, with other lines marked
	s.Job.Politeness.Delay = &none              // a server of one's own
	s.Job.Fetch.AllowPrivate = true
	s.Job.Fetch.Workers = 1 // the same crawl every time
	return s, nil
}

// documented tells whether the server has read the packages: until then it
// answers with an empty list.
func documented(ctx context.Context, home string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, home, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return err == nil && strings.Contains(string(b), `href="crypto/`)
}

// buildGodoc returns the documentation server, built once for this user.
func buildGodoc(ctx context.Context, goTool string, note func(string, ...any)) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir, err := folder.OpenVersion(filepath.Join(cache, "waggle"), "godoc-"+godocVersion, []string{"godoc-v"}, time.Now())
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "godoc")
	if folder.Exists(bin) {
		return bin, nil
	}
	note("Building the Go documentation server, %s@%s (once) …", godocModule, godocVersion)
	tmp, err := os.MkdirTemp("", "waggle-build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.CommandContext(ctx, goTool, "install", godocModule+"@"+godocVersion)
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), "GOBIN="+tmp, "GOFLAGS=", "GO111MODULE=on", "GOOS=", "GOARCH=")
	cmd.WaitDelay = 2 * time.Second
	endWithParent(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s@%s: %w\n%s\nThe demo needs this module once; a machine that cannot reach a module proxy can crawl a recorded web instead (waggle web --help)",
			godocModule, godocVersion, err, strings.TrimSpace(string(out)))
	}
	return bin, moveFile(filepath.Join(tmp, "godoc"), bin)
}

// moveFile moves a program, to another file system too, so that a half of it is
// never found under its name.
func moveFile(from, to string) error {
	if os.Rename(from, to) == nil {
		return nil
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to+".new", b, 0o755); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

// freePort returns a loopback address nobody listens on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// tail keeps the end of what a child process says.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - 4096; over > 0 {
		t.b = t.b[over:]
	}
	return len(p), nil
}

func (t *tail) String() string { return event.Line(string(t.b)) }
