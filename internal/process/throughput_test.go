package process

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/job"
)

// BenchmarkThroughput crawls real pages on loopback, 20,000 unless WAGGLE_PAGES says
// otherwise, without a delay, and compares processor time with that of a bare loop in a
// process of its own: fetch, parse to a tree, extract links, nothing else. The server is a
// third process and not counted. It needs the recorded webs manuals and campus:
//
//	WAGGLE_PAGES=3000 go test -run '^$' -bench Throughput -benchtime 1x ./internal/process
//
// docs/results/speed.md has what each part of it costs.
//
// It does so with best-first by page and anchor, and with the default scorer: two pages of
// three are crawled, so both fetch nearly the same.
// Metrics: pages per second of the crawler's processor time, the same of the
// bare loop, their ratio (the bar is .77, which is 1.3 times the time), and the crawler's
// greatest resident set in MiB (the bar is 500).
//
// Of 4,000 pages (campus: 3,000), in two turns, a page took this many milliseconds of
// processor time:
//
//	                          manuals        campus
//	bare loop               1.40   1.36    1.11   .89
//	best-first-both         2.08   1.78    1.74  1.27
//	waggle                  2.49   2.29    1.70  1.54
//	waggle, by way of trees 3.26   3.31    3.12  2.66
//
// Later, beside much other work, in two turns:
//
//	bare loop               1.20   1.23     .78   .80
//	best-first-both         1.34   1.35    1.37  1.38
//	waggle                  1.72   1.76    1.77  1.66
//
// Of waggle on campus, whose pages are smaller: parsing 19 %, scoring links 19 (their
// likeness to the topic 11), compression 17, commits, log and frontier 15, collecting
// garbage 6, fetching 4. By the judge topic the likeness of links takes 3. Since what the
// judge said of the anchors and addresses of menus is kept, the likeness takes 3 as well: 2.02
// became 1.87 ms, means of three turns of 3,000 pages.
//
// The profile of waggle on manuals at first: parsing 28 % (terms 12, reading the source 11),
// compression 15, features of links 11, scoring anew what waits 7, the judge 4, commits 4,
// collecting garbage 4. Nothing of that is as large as the tree was, 37. Level 1 would
// take three fifths of the time of compression, for a tenth more bytes.
func BenchmarkThroughput(b *testing.B) {
	budget := 20_000
	if s := os.Getenv("WAGGLE_PAGES"); s != "" {
		var err error
		if budget, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range []string{"manuals", "campus"} {
		b.Run(name, func(b *testing.B) {
			place, w := builtWeb(b, name)
			j := job.Recorded(w.Topics[0], false, budget)
			j.Judge.Name = "cosine-tfidf-centroid"
			j.Scope.Reach = "host"   // as the bare loop: no requests for what cannot be recorded
			j.Fetch.Render = "never" // its browser would be counted, too
			proxy := serveInChild(b, place)
			for _, scorer := range []string{"best-first-both", job.DefaultScorer} {
				j.Scorer.Name = scorer
				b.Run(scorer, func(b *testing.B) { throughput(b, j, proxy, budget) })
			}
		})
	}
}

func throughput(b *testing.B, j *job.Job, proxy string, budget int) {
	for b.Loop() {
		dir := b.TempDir()
		file := filepath.Join(dir, "job.yaml")
		if text, err := j.YAML(); err != nil {
			b.Fatal(err)
		} else if err := os.WriteFile(file, text, 0o644); err != nil {
			b.Fatal(err)
		}
		full := measure(b, waggle, "crawl", "-f", file, "-o", filepath.Join(dir, "crawl"), "--through", proxy)
		bare := measure(b, runBare, append([]string{proxy, strconv.Itoa(budget)}, j.Seeds...)...)
		b.ReportMetric(full.perCPU(), "pages/cpu-s")
		b.ReportMetric(bare.perCPU(), "bare-pages/cpu-s")
		b.ReportMetric(full.perCPU()/bare.perCPU(), "ratio")
		b.ReportMetric(full.perSecond(), "pages/s")
		b.ReportMetric(float64(full.rss)/(1<<20), "rss-MiB")
	}
}

// serveInChild serves a recorded web from another process until the benchmark
// ends.
func serveInChild(b *testing.B, place string) (proxy string) {
	b.Helper()
	cmd := exec.Command(waggle, "web", "serve", place, "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+b.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	return strings.TrimSpace(line[strings.LastIndex(line, "http://"):])
}

// cost is what a process used.
type cost struct {
	pages     int
	cpu, wall float64 // seconds
	rss       int64   // bytes

	instructions float64 // where they were counted
}

func (c cost) perCPU() float64    { return float64(c.pages) / c.cpu }
func (c cost) perSecond() float64 { return float64(c.pages) / c.wall }

// measure runs a program, waggle or with runBare this test binary, and reads the pages
// it fetched from its output: "pages 20,000 of …".
func measure(b *testing.B, program string, args ...string) cost {
	b.Helper()
	cmd := exec.Command(program, args...)
	if program == runBare {
		cmd = exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), runBare+"=1")
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %v\n%s%s", args, err, out.String(), said.String())
	}
	c := cost{wall: time.Since(start).Seconds()}
	c.rss = maxRSS(cmd.ProcessState)
	c.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "pages" {
			c.pages, _ = strconv.Atoi(strings.ReplaceAll(f[1], ",", ""))
		}
	}
	if c.pages == 0 {
		b.Fatalf("%v fetched nothing\n%s", args, out.String())
	}
	return c
}

// runBare makes the test binary the bare loop.
const runBare = "WAGGLE_TEST_BARE"

// bareLoop fetches pages through a proxy, breadth-first with as many fetches at
// a time as a crawl has, parses each to a tree and follows its links.
func bareLoop(ctx context.Context, proxy string, budget int, seeds []string) error {
	o, err := (&job.Job{Fetch: job.Fetch{Through: proxy}}).FetchOptions(ctx) // with its certificates
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(o.Proxy), TLSClientConfig: &tls.Config{RootCAs: o.CAs}, MaxIdleConns: 512, MaxIdleConnsPerHost: 512,
	}}
	var mu sync.Mutex
	changed := sync.NewCond(&mu)
	seen := map[string]bool{}
	var queue []string
	pages, busy := 0, 0
	hosts := map[string]bool{} // of the seeds: nothing else is asked for
	for _, s := range seeds {
		if u, err := url.Parse(s); err == nil {
			hosts[u.Host] = true
		}
	}
	push := func(u string) {
		if _, rest, ok := strings.Cut(u, "://"); ok && !seen[u] && hosts[rest[:strings.IndexByte(rest+"/", '/')]] {
			seen[u] = true
			queue = append(queue, u)
		}
	}
	for _, s := range seeds {
		push(s)
	}
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for range 32 {
		workers.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for {
				for len(queue) == 0 && busy > 0 && pages < budget {
					changed.Wait()
				}
				if len(queue) == 0 || pages >= budget {
					changed.Broadcast()
					return
				}
				u := queue[0]
				queue = queue[1:]
				busy++
				mu.Unlock()
				links, ok := bareFetch(client, u, cores)
				mu.Lock()
				busy--
				if ok {
					pages++
				}
				for _, l := range links {
					push(l)
				}
				changed.Broadcast()
			}
		})
	}
	workers.Wait()
	fmt.Printf("pages %d\n", pages)
	return nil
}

func bareFetch(client *http.Client, address string, cores chan struct{}) (links []string, ok bool) {
	resp, err := client.Get(address)
	if err != nil {
		return nil, false
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		io.Copy(io.Discard, resp.Body) // for the next request on this connection
		return nil, false
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, false
	}
	cores <- struct{}{}
	defer func() { <-cores }()
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, false
	}
	base := resp.Request.URL
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" {
			continue
		}
		for _, a := range n.Attr {
			if a.Key != "href" {
				continue
			}
			if u, err := base.Parse(a.Val); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
				u.Fragment = ""
				links = append(links, u.String())
			}
		}
	}
	return links, true
}

// builtWeb builds a recorded web in a folder of the benchmark, and opens it. It skips the
// benchmark where there is no recording.
func builtWeb(b *testing.B, name string) (place string, w *corpus.Web) {
	b.Helper()
	source := recorded.Web(b, name)
	place = filepath.Join(b.TempDir(), name)
	if _, err := corpus.Build(b.Context(), place, corpus.Exchange{Dir: source}, corpus.Options{}); err != nil {
		b.Fatal(err)
	}
	w, err := corpus.Open(place)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close() })
	return place, w
}
