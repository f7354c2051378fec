package main

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

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/job"
)

// godoc is the site of the demo: the documentation of the Go on this machine,
// as served by the tool that served golang.org for years.
const (
	godocModule  = "golang.org/x/tools/cmd/godoc"
	godocVersion = "v0.28.0"
)

// demoCmd is `waggle demo`.
type demoCmd struct {
	Web   string `default:"go" enum:"go,debian" help:"The site: go (the Go documentation on this machine) or debian (manuals of Debian packages, many hosts; needs apt-get)."`
	Pages int    `short:"n" default:"120" placeholder:"N" help:"Pages each crawl may fetch."`
	Out   string `short:"o" placeholder:"DIR" help:"Folder for both collections (default: a new temporary one)."`
}

// site is a running web to crawl.
type site struct {
	job  job.Job // seeds and how to fetch
	stop func()
}

// Run crawls the site twice at the same budget, focused and breadth-first.
func (c *demoCmd) Run(ctx context.Context, io streams) error {
	if c.Pages < 1 {
		return exit{exitUsage, errors.New("--pages must be at least 1")}
	}
	dir := c.Out
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp("", "waggle-demo-"); err != nil {
			return err
		}
	}
	if collection.At(dir).Begun() {
		return exit{exitUsage, fmt.Errorf("%s holds a crawl: choose another -o DIR", dir)}
	}
	note := func(format string, args ...any) { fmt.Fprintf(io.err, format+"\n", args...) }
	var s site
	switch c.Web {
	case "debian":
		s, err = debianSite(ctx, dir, note)
	default:
		s, err = godocSite(ctx, note)
	}
	if err != nil {
		if ctx.Err() != nil {
			return exit{exitStopped, errors.New("stopped")}
		}
		return err
	}
	defer s.stop()

	type result struct {
		scorer, dir string
		sum         *event.Summary
	}
	var results []result
	for _, scorer := range []string{job.DefaultScorer, "breadth-first"} {
		j := s.job
		j.Name = "demo-" + scorer
		j.Scorer.Name = scorer
		j.Budget.Pages = c.Pages
		note("\n%s, %d pages:", scorer, c.Pages)
		col := collection.At(filepath.Join(dir, scorer))
		if err := col.Usable(); err != nil {
			return exit{exitUsage, err}
		}
		if col.Begun() {
			return exit{exitUsage, fmt.Errorf("%s holds a crawl already: choose another -o DIR", col.Dir())}
		}
		w, err := col.Lock()
		if err != nil {
			return err
		}
		how, sum, err := crawlAndShow(ctx, &job.Maker{Job: &j, Writer: w}, func(path string) string { return path }, func() progress { return newProgress(io.out, false, clock.System{}, os.Getenv) })
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
		if how == event.Stopped {
			return exit{exitStopped, fmt.Errorf("stopped; what was fetched lies in %s", dir)}
		}
		if sum.Pages == 0 {
			return exit{exitNothing, fmt.Errorf("no page was fetched%s", why(sum, true))}
		}
		results = append(results, result{scorer, col.Dir(), sum})
	}

	fmt.Fprintf(io.out, "\nThe topic: %s\n\n%-18s %6s %9s %8s  %s\n", s.job.Topic.Description, "scorer", "pages", "relevant", "harvest", "collection")
	for _, r := range results {
		fmt.Fprintf(io.out, "%-18s %6d %9d %7.1f%%  %s\n", r.scorer, r.sum.Pages, r.sum.Relevant, 100*r.sum.Harvest(), r.dir)
	}
	fmt.Fprintf(io.out, `
A page counts as relevant by the crawl's own judge. In each collection harvest.tsv
lists the relevant pages, archive/ holds them as WARC, and this tells why one of
them was fetched:

  waggle explain %s -o %s
`, firstRelevant(results[0].dir), results[0].dir)
	return nil
}

// firstRelevant is the most relevant address of a crawl, for the example.
func firstRelevant(dir string) string {
	h, err := collection.At(dir).Harvest()
	if err != nil || len(h) == 0 {
		return "URL"
	}
	return event.Line(h[0].URL.String())
}

// godocSite builds and starts the Go documentation server on a free port of
// the loopback address.
func godocSite(ctx context.Context, note func(string, ...any)) (site, error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return site{}, errors.New("the demo crawls the Go documentation and needs the go command in the PATH (https://go.dev/dl/)")
	}
	bin, err := buildGodoc(ctx, goTool, note)
	if err != nil {
		return site{}, err
	}
	root, err := exec.CommandContext(ctx, goTool, "env", "GOROOT").Output()
	if err != nil {
		return site{}, fmt.Errorf("go env GOROOT: %w", err)
	}
	empty, err := os.MkdirTemp("", "waggle-gopath-") // a GOPATH with nothing in it
	if err != nil {
		return site{}, err
	}
	addr, err := freePort()
	if err != nil {
		return site{}, err
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
		return site{}, fmt.Errorf("starting %s: %w", bin, err)
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
			return site{}, fmt.Errorf("the documentation server ended: %v\n%s", err, said.String())
		case <-ctx.Done():
			stop()
			return site{}, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	none := job.Duration(0)
	s := site{stop: stop}
	s.job.Seeds = []string{home}
	// The words that the pages of the site use: they write "crypto".
	s.job.Topic = job.Topic{
		Description: "Cryptography: encryption, signatures, certificates and secure connections",
		Keywords:    []string{"crypto", "encryption", "cipher", "certificate", "TLS"},
	}
	s.job.Scope.Reach = "host"
	s.job.Scope.Exclude = []string{`[?&][sh]=`} // the same source, with other lines marked
	s.job.Politeness.Delay = &none              // a server of one's own
	s.job.Fetch.AllowPrivate = true
	s.job.Fetch.Workers = 1 // the same crawl every time
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
	dir := filepath.Join(cache, "waggle", "godoc-"+godocVersion)
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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
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
