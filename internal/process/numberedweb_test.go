package process

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
	slow   bool   // each answer takes four tenths of a second
	want   int    // sent is closed when so many pages were sent whole; 0 = none waits for that
	sent   chan struct{}

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

// whole returns a channel that is closed once all pages that can be reached were sent. What a
// killed run was sent and did not acknowledge is to be sent once more.
func (w *numberedWeb) whole() <-chan struct{} {
	want := w.reachable()
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.served, func(url string, _ bool) bool { return !w.acked[url] })
	w.want, w.sent = want, make(chan struct{})
	w.noteSent()
	return w.sent
}

// noteSent closes sent once enough pages were. The caller holds the lock.
func (w *numberedWeb) noteSent() {
	if w.want > 0 && len(w.served) >= w.want {
		close(w.sent)
		w.want = 0
	}
}

// slowDown sets whether answers take their time.
func (w *numberedWeb) slowDown(slow bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow = slow
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
	slow := w.slow
	w.mu.Unlock()
	if slow {
		select {
		case <-time.After(400 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
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
		http.Redirect(rw, r, fmt.Sprintf("%s/%d", w.hosts[(i+1)%w.n%4], (i+1)%w.n), http.StatusMovedPermanently)
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
	w.noteSent()
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
