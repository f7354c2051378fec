package process

import (
	"bytes"
	"errors"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/store"
)

// numberedWeb is a web of n pages, each a pure function of its number: page i
// lives on host i mod 4, links to fifteen others, and a tenth of them is about
// bees; some have moved, some are gone. It tells which requests came after they had been acknowledged.
type numberedWeb struct {
	sitemap func() string // of its first host, named by robots.txt; nil = none
	n       int
	hosts   [4]string     // http://127.0.0.1:PORT
	heard   chan struct{} // holds one when a request came

	mu     sync.Mutex
	acked  map[string]bool // addresses that a killed run had acknowledged
	again  []string        // of these, those asked for once more
	served map[string]bool // pages that were sent whole
	asked  int
	down   bool // nobody answers
	// While gated, most more requests are answered. The last of them closes enough;
	// later ones are held until their client leaves.
	gated  bool
	most   int
	enough chan struct{}
	opened func() // called by open

	run atomic.Int64 // of crawlKilled: n while its nth run is under way, and -n from there to the next
}

// gate has the web answer so many requests more, and hold the rest. The channel is
// closed when it has.
func (w *numberedWeb) gate(most int) (enough <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gated, w.most, w.enough = true, most, make(chan struct{})
	return w.enough
}

// open has the web answer all requests.
func (w *numberedWeb) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gated = false
	if w.opened != nil {
		w.opened()
	}
}

// passes tells whether a request is answered.
func (w *numberedWeb) passes() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gated {
		return true
	}
	w.most--
	if w.most == 0 {
		close(w.enough)
	}
	return w.most >= 0
}

// outage takes the web down, or brings it back.
func (w *numberedWeb) outage(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

func (w *numberedWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	down := w.down
	w.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}
	if r.URL.Path == "/robots.txt" {
		if w.sitemap == nil {
			http.NotFound(rw, r)
			return
		}
		fmt.Fprintf(rw, "User-agent: *\nAllow: /\nSitemap: %s/sitemap.xml\n", w.hosts[0])
		return
	}
	select {
	case w.heard <- struct{}{}:
	default:
	}
	if !w.passes() {
		<-r.Context().Done()
		return
	}
	url := "http://" + r.Host + r.URL.Path
	w.mu.Lock()
	w.asked++
	if w.acked[url] {
		w.again = append(w.again, url)
	}
	w.mu.Unlock()
	if r.URL.Path == "/sitemap.xml" && w.sitemap != nil {
		rw.Header().Set("Content-Type", "application/xml")
		io.WriteString(rw, w.sitemap())
		return
	}
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
	tag := fmt.Sprintf("%q", "page "+strconv.Itoa(i))
	rw.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		rw.WriteHeader(http.StatusNotModified)
		return
	}
	w.page(rw, i)
	w.mu.Lock()
	w.served[url] = true
	w.mu.Unlock()
}

// page writes page i.
func (w *numberedWeb) page(rw io.Writer, i int) {
	fmt.Fprintf(rw, "<title>Page %d</title><h1>Number %d</h1>", i, i)
	if i%10 == 3 {
		io.WriteString(rw, "<p>The waggle dance of the honey bee tells its sisters where food is.</p>")
	}
	for _, j := range w.links(i) {
		fmt.Fprintf(rw, "<p>see <a href=\"%s/%d\">page %d</a> for more of it", w.hosts[j%4], j, j)
	}
}

// ack notes that a killed run had acknowledged what became of an address.
func (w *numberedWeb) ack(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked[url] = true
}

// links are the pages that page i links to.
func (w *numberedWeb) links(i int) (to [15]int) {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	for k := range to {
		to[k] = rng.IntN(w.n)
	}
	return to
}

// reachable counts the pages that can be reached from the seed, itself
// included.
func (w *numberedWeb) reachable() int {
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

// scorerKinds are scorers of every kind of state: none, a small one, a journal, a graph of
// links, a classifier fitted anew, bandits, agents, and one with a critic.
func scorerKinds(t *testing.T, web *numberedWeb) [][]string {
	words := []string{"--keywords", "honey bee, waggle dance"}
	kinds := [][]string{{"--scorer", "apprentice", "--critic", beeCritic(t, web), "--focus", "/bees"}}
	for _, name := range []string{job.DefaultScorer, "best-first-both", "ache-like-soft", "pagerank", "apprentice-tempered", "opic",
		"aggarwal", "anthelion-like", "infospiders-like"} {
		kinds = append(kinds, append([]string{"--scorer", name}, words...))
	}
	return kinds
}

// TestKilledCrawlGoesOn kills crawls at random instants, again and again, and
// checks each time what an acknowledged page is owed: it is in the archive, and
// its address is never asked for again. WAGGLE_KILLS sets how often (4, and 2 in
// the quick run); with 20 each kind of scorer has its turn.
func TestKilledCrawlGoesOn(t *testing.T) {
	t.Parallel()
	kills := killsWanted(t)
	rng := killChance(t)
	kinds := scorerKinds(t, serveNumbered(t, 800))
	each := max(2, kills/len(kinds))
	for _, k := range rng.Perm(len(kinds))[:max(1, min(len(kinds), kills/each))] {
		rng := rand.New(rand.NewPCG(rng.Uint64(), 3))
		t.Run(kinds[k][1], func(t *testing.T) {
			web := serveNumbered(t, 80*max(each, 4))
			dir := filepath.Join(t.TempDir(), "crawl")
			crawlKilled(t, web, dir, append(append(web.crawl(dir), kinds[k]...), "--workers", "4"), each, rng)
			final := checkKilled(t, dir, web)
			if want := web.reachable(); final != want {
				t.Errorf("%d pages in the end; %d can be reached", final, want)
			}
			web.mu.Lock()
			defer web.mu.Unlock()
			if len(web.again) > 0 {
				t.Errorf("asked for again although acknowledged: %d addresses, first %s", len(web.again), web.again[0])
			}
			t.Logf("%q: %d kills, %d pages, %d requests", kinds[k], each, final, web.asked)
		})
	}
}

// TestKilledScorerIsTheSame crawls twice with one worker, by a scorer that learns: once
// undisturbed, once killed again and again. Both fetch the same pages in the same order,
// and the scorer knows the same in the end. The apprentice has a critic; waggle has
// a judge that changes its mind about pages, which the scorer learns anew.
func TestKilledScorerIsTheSame(t *testing.T) {
	long.Test(t, "kills crawls of two scorers")
	t.Parallel()
	for _, c := range []struct {
		scorer  string
		args    func(web *numberedWeb) []string
		renewed bool
	}{
		{"apprentice", func(web *numberedWeb) []string {
			return []string{"--scorer", "apprentice", "--critic", beeCritic(t, web), "--focus", "/bees"}
		}, false},
		{"waggle", func(*numberedWeb) []string {
			file := filepath.Join(t.TempDir(), "renewals.yaml")
			if err := os.WriteFile(file, []byte("scorer: {name: waggle, set: {renewals: 1}}\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			return []string{"-f", file, "--keywords", "honey bee, waggle dance"}
		}, true},
	} {
		t.Run(c.scorer, func(t *testing.T) {
			t.Parallel()
			web := serveNumbered(t, 50*max(killsWanted(t), 8))
			rng, args := killChance(t), c.args(web)
			crawled := func(name string, kills int) (order []string, knows []byte) {
				dir := filepath.Join(t.TempDir(), name)
				crawlKilled(t, web, dir, append(append(web.crawl(dir), "--workers", "1"), args...), kills, rng)
				renewed := 0
				for e, err := range collection.At(dir).Events() {
					if err != nil {
						t.Fatal(err)
					}
					switch e := e.(type) {
					case event.Fetched:
						order = append(order, fmt.Sprintf("%s %.6f %.6f", e.URL, e.Priority, e.Relevance))
					case event.Rejudged:
						renewed += len(e.Pages)
					}
				}
				if c.renewed != (renewed > 0) {
					t.Errorf("%s: %d verdicts were renewed", name, renewed)
				}
				own, err := collection.At(dir).Lock()
				if err != nil {
					t.Fatal(err)
				}
				defer own.Close()
				if knows, err = own.ScorerState(); err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %d kills, %d pages, the scorer's state has %d bytes", name, kills, len(order), len(knows))
				return order, knows
			}
			whole, knows := crawled("whole", 0)
			killed, knew := crawled("killed", killsWanted(t))
			for i := range min(len(whole), len(killed)) {
				if whole[i] != killed[i] {
					t.Fatalf("page %d is %s after kills, and %s without", i, killed[i], whole[i])
				}
			}
			if len(whole) != len(killed) || len(whole) != web.reachable() || !bytes.Equal(knows, knew) {
				t.Errorf("%d and %d pages of %d; what the scorer knows is the same: %v", len(whole), len(killed), web.reachable(), bytes.Equal(knows, knew))
			}
		})
	}
}

// killsWanted is how often a crawl is killed.
func killsWanted(t *testing.T) int {
	return long.Count(t, "WAGGLE_KILLS", 1, 4)
}

func killChance(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

func serveNumbered(t *testing.T, n int) *numberedWeb {
	web := &numberedWeb{n: n, acked: map[string]bool{}, served: map[string]bool{}, heard: make(chan struct{}, 1)}
	for i := range web.hosts {
		srv := httptest.NewServer(web)
		t.Cleanup(srv.Close)
		web.hosts[i] = srv.URL
	}
	return web
}

// crawl are the arguments that all crawls of the web share.
func (w *numberedWeb) crawl(dir string) []string {
	return []string{"crawl", "-o", dir, "--seed", w.hosts[0] + "/", "--allow-private", "--delay", "0"}
}

// beeCritic trains a critic on pages like those of the web: the class /bees,
// and /others.
func beeCritic(t *testing.T, web *numberedWeb) string {
	dir := t.TempDir()
	write := func(class string, i int) {
		rec := httptest.NewRecorder()
		web.page(rec, i)
		name := filepath.Join(dir, "pages", class, fmt.Sprint(i, ".html"))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, rec.Body.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		write("bees", 10*i+3)
		write("others", 10*i+4)
	}
	critic := filepath.Join(dir, "bees.critic")
	for _, args := range [][]string{
		{"topic", "import", filepath.Join(dir, "pages"), "-o", filepath.Join(dir, "bees.tax")},
		{"topic", "train", filepath.Join(dir, "bees.tax"), "-o", critic},
	} {
		if said, err := waggleCommand(args).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, said)
		}
	}
	return critic
}

func waggleCommand(args []string) *exec.Cmd {
	return exec.Command(waggle, args...)
}

// crawlKilled runs a crawl to its end and kills it on the way so many times,
// looking each time at what is left of it.
func crawlKilled(t *testing.T, web *numberedWeb, dir string, start []string, kills int, rng *rand.Rand) {
	killed := 0
	for round := 0; ; round++ {
		// The runs that are killed get no more answers than their part of the pages, so that
		// none of them ends the crawl, however fast it is.
		if killed < kills {
			web.gate(web.n / (kills + 1))
		} else {
			web.open()
		}
		args := []string{"crawl", "-o", dir, "--resume"}
		if _, err := os.Stat(filepath.Join(dir, "job.yaml")); err != nil {
			args = start
		}
		var said bytes.Buffer
		cmd := waggleCommand(args)
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		web.run.Store(int64(round + 1))
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
			web.run.Store(int64(-round - 1))
			cmd.Process.Kill()
			<-ended
			if killed == kills {
				t.Fatalf("the crawl does not end\n%s", said.String())
			}
			killed++
			checkKilled(t, dir, web)
			continue
		}
		break
	}
	if killed < kills {
		t.Fatalf("the crawl ended after %d of %d kills: it needs more pages", killed, kills)
	}
}

// checkKilled looks at the folder of a dead crawl as the next run will: every
// acknowledged page must be readable in the archive before its mark, once, or
// named in lost.txt. It returns the number of acknowledged pages.
func checkKilled(t *testing.T, dir string, web *numberedWeb) int {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "frontier")); err != nil {
		return 0
	}
	// What is looked at is a copy: opening repairs, and the next run is to
	// find what the kill left.
	copied := dir + "-copy"
	defer os.RemoveAll(copied)
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return checkCopy(t, collection.At(copied), "crawl", web)
}

// checkCopy is checkKilled for a folder that may be changed, of a crawl of that name.
func checkCopy(t *testing.T, col collection.Collection, name string, web *numberedWeb) int {
	t.Helper()
	own, err := col.Lock()
	if err != nil {
		t.Fatalf("the folder after a kill: %v", err)
	}
	defer own.Close()
	stores, err := own.OpenStores(t.Context(), collection.StoreOptions{Archive: store.Options{Prefix: name}})
	if err != nil {
		t.Fatalf("the stores after a kill: %v", err)
	}
	defer stores.Close()
	lost, err := col.Lost()
	if err != nil {
		t.Fatal(err)
	}
	isLost := map[string]bool{}
	for _, u := range lost {
		isLost[u] = true
	}
	archived := map[string]int{}
	for r, err := range col.Responses(nil) {
		if err != nil {
			t.Fatalf("the archive after a kill: %v", err)
		}
		archived[r.URL.String()]++
	}
	pages := 0
	for e, err := range event.ReadFile(col.EventLog()) { // torn lines would be errors
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
		if n := archived[p.URL.String()]; n != 1 && !isLost[p.URL.String()] {
			t.Fatalf("%s is acknowledged and %d times in the archive", p.URL, n)
		}
	}
	return pages
}
