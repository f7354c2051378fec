package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/store"
)

// numbered is a web of n pages, each a pure function of its number: page i
// lives on host i mod 4, links to fifteen others, and a tenth of them is about
// bees; some have moved, some are gone. It tells which requests came after they had been acknowledged.
type numbered struct {
	n     int
	hosts [4]string     // http://127.0.0.1:PORT
	heard chan struct{} // holds one when a request came

	mu    sync.Mutex
	acked map[string]bool // addresses that a killed run had acknowledged
	again []string        // of these, those asked for once more
	asked int
}

func (w *numbered) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(rw, r)
		return
	}
	select {
	case w.heard <- struct{}{}:
	default:
	}
	url := "http://" + r.Host + r.URL.Path
	w.mu.Lock()
	w.asked++
	if w.acked[url] {
		w.again = append(w.again, url)
	}
	w.mu.Unlock()
	i, err := strconv.Atoi(r.URL.Path[1:])
	if r.URL.Path != "/" && (err != nil || i >= w.n) {
		http.NotFound(rw, r)
		return
	}
	switch {
	case i%17 == 5:
		http.Redirect(rw, r, fmt.Sprintf("%s/%d", w.hosts[(i+1)%4], (i+1)%w.n), http.StatusMovedPermanently)
		return
	case i%23 == 7:
		http.Error(rw, "gone", http.StatusGone)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(rw, "<title>Page %d</title><h1>Number %d</h1>", i, i)
	if i%10 == 3 {
		io.WriteString(rw, "<p>The waggle dance of the honey bee tells its sisters where food is.</p>")
	}
	for _, j := range w.links(i) {
		fmt.Fprintf(rw, "<p>see <a href=\"%s/%d\">page %d</a> for more of it", w.hosts[j%4], j, j)
	}
}

// ack notes that a killed run had acknowledged what became of an address.
func (w *numbered) ack(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked[url] = true
}

// links are the pages that page i links to.
func (w *numbered) links(i int) (to [15]int) {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	for k := range to {
		to[k] = rng.IntN(w.n)
	}
	return to
}

// reachable counts the pages that can be reached from the seed, itself
// included.
func (w *numbered) reachable() int {
	pages := 1 // the seed is "/", which is not "/0"
	seen := map[int]bool{}
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		for _, j := range w.links(queue[0]) {
			for ; j%17 == 5 && !seen[j]; j = (j + 1) % w.n {
				seen[j] = true // moved
			}
			if seen[j] {
				continue
			}
			seen[j] = true
			if j%23 != 7 {
				pages++
				queue = append(queue, j)
			}
		}
	}
	return pages
}

// TestKilledCrawlGoesOn kills a crawl at random instants, again and again, and
// checks each time what an acknowledged page is owed: it is in the archive, and
// its address is never asked for again. WAGGLE_KILLS sets how often (default 8).
func TestKilledCrawlGoesOn(t *testing.T) {
	kills := 8
	if v := os.Getenv("WAGGLE_KILLS"); v != "" {
		var err error
		if kills, err = strconv.Atoi(v); err != nil {
			t.Fatalf("WAGGLE_KILLS: %v", err)
		}
	}
	web := &numbered{n: 80 * max(kills, 10), acked: map[string]bool{}, heard: make(chan struct{}, 1)}
	for i := range web.hosts {
		srv := httptest.NewServer(web)
		defer srv.Close()
		web.hosts[i] = srv.URL
	}
	dir := filepath.Join(t.TempDir(), "crawl")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))

	start := []string{"crawl", "-o", dir, "--seed", web.hosts[0] + "/", "--keywords", "honey bee, waggle dance",
		"--allow-private", "--delay", "0", "--workers", "4",
		"--scorer", []string{"best-first-both", "ache-like-soft", "pagerank", "apprentice-tempered"}[rng.IntN(4)]}
	resume := []string{"crawl", "-o", dir, "--resume"}
	killed, pages := 0, 0
	for round := 0; ; round++ {
		args := resume
		if _, err := os.Stat(filepath.Join(dir, "job.yaml")); err != nil {
			args = start
		}
		var said bytes.Buffer
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), runAsWaggle+"=1")
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// A kill falls somewhere after the first page asked for; one in five
		// falls earlier, while the crawl is set up or taken up.
		instant := time.NewTimer(2 * time.Minute)
		if killed < kills {
			if rng.IntN(5) == 0 {
				instant.Reset(time.Duration(rng.IntN(150)) * time.Millisecond)
			} else {
				select {
				case <-web.heard: // left over from before
				default:
				}
				select {
				case <-web.heard:
					instant.Reset(time.Duration(rng.IntN(60_000)) * time.Microsecond)
				case <-instant.C:
					t.Fatalf("round %d: no request in two minutes\n%s", round, said.String())
				case err := <-ended:
					ended <- err
				}
			}
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("round %d: %v\n%s", round, err, said.String())
			}
		case <-instant.C:
			cmd.Process.Kill()
			<-ended
			if killed == kills {
				t.Fatalf("the crawl does not end\n%s", said.String())
			}
			killed++
			pages = checkKilled(t, dir, web)
			continue
		}
		break
	}
	if killed < kills/2 {
		t.Fatalf("the crawl ended after %d of %d kills: it needs more pages", killed, kills)
	}
	final := checkKilled(t, dir, web)
	if want := web.reachable(); final != want {
		t.Errorf("%d pages in the end, %d when last killed; %d can be reached", final, pages, want)
	}
	web.mu.Lock()
	defer web.mu.Unlock()
	if len(web.again) > 0 {
		t.Errorf("asked for again although acknowledged: %d addresses, first %s", len(web.again), web.again[0])
	}
	t.Logf("%s: %d kills, %d pages, %d requests", start[len(start)-1], killed, final, web.asked)
}

// checkKilled looks at the folder of a dead crawl as the next run will: every
// acknowledged page must be readable in the archive before its mark, once. It
// returns the number of acknowledged pages.
func checkKilled(t *testing.T, dir string, web *numbered) int {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "frontier")); err != nil {
		return 0
	}
	// What is looked at is a copy: opening repairs, and the next run is to
	// find what the kill left.
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	col := collection{dir: copied}
	f, err := frontier.Open(col.frontier(), frontier.Options{})
	if err != nil {
		t.Fatalf("the frontier after a kill: %v", err)
	}
	defer f.Close()
	marks := map[string][]byte{}
	for _, name := range []string{crawl.StateArchive, crawl.StateEvents} {
		if marks[name], err = f.State(context.Background(), name); err != nil {
			t.Fatal(err)
		}
	}
	if marks[crawl.StateEvents] == nil {
		return 0
	}
	log, err := event.Open(col.events(), marks[crawl.StateEvents])
	if err != nil {
		t.Fatalf("the log after a kill: %v", err)
	}
	log.Close()
	if m := marks[crawl.StateArchive]; m != nil {
		a, err := store.Open(col.archive(), store.Options{Prefix: "crawl", Mark: m})
		if err != nil {
			t.Fatalf("the archive after a kill: %v", err)
		}
		a.Close()
	}
	archived := map[string]int{}
	paths, err := store.Paths(col.archive())
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range store.Records(paths...) {
		if err != nil {
			t.Fatalf("the archive after a kill: %v", err)
		}
		if r.Type() == "response" {
			archived[r.Target()]++
		}
	}
	pages := 0
	for e, err := range event.ReadFile(col.events()) {
		if err != nil {
			t.Fatalf("the log after a kill: %v", err)
		}
		if f, ok := e.(event.Failed); ok && !f.Retry {
			web.ack(f.URL.String())
		}
		p, ok := e.(event.Fetched)
		if !ok {
			continue
		}
		pages++
		web.ack(p.URL.String())
		if n := archived[p.URL.String()]; n != 1 {
			t.Fatalf("%s is acknowledged and %d times in the archive", p.URL, n)
		}
	}
	return pages
}
