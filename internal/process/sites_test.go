package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/web"
)

// sitesWeb is a web of many sites of a few pages each, behind a proxy: page j of site i is a
// pure function of the two. It keeps when each site was asked for what.
type sitesWeb struct {
	sites, pages int
	url          string

	mu       sync.Mutex
	requests []request
	begun    int // requests for pages
	most     int // of these; others wait until there may be more. 0 = any number
	asked    int
	heard    sync.Cond
	stood    []time.Time // when processes of clients were stopped
}

// allow answers so many requests for pages, and lets others wait; 0 answers all.
func (w *sitesWeb) allow(most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = most
	w.heard.Broadcast()
}

// pass waits until a request may be answered, or its client has left.
func (w *sitesWeb) pass(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.heard.Broadcast()
	})()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.most > 0 && w.begun >= w.most && ctx.Err() == nil {
		w.heard.Wait()
	}
	w.begun++
}

// request is a request as the server saw it.
type request struct {
	host, path string
	began      time.Time
	ended      time.Time
}

func serveSites(t *testing.T, sites, pages int) *sitesWeb {
	w := &sitesWeb{sites: sites, pages: pages}
	w.heard.L = &w.mu
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

// besidePages tells whether a path is one that each worker asks a site for beside its pages.
func besidePages(path string) bool {
	return path == "/robots.txt" || path == "/.well-known/tdmrep.json"
}

func siteName(i int) string { return fmt.Sprintf("s%d.example", i) }

func (w *sitesWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == corpus.CertificatePath { // it says that no site of other people is asked
		rw.Header().Set(web.RecordHeader, web.RecordServed)
		return
	}
	began := time.Now()
	defer func() {
		w.mu.Lock()
		w.requests = append(w.requests, request{r.Host, r.URL.Path, began, time.Now()})
		if !besidePages(r.URL.Path) {
			w.asked++
		}
		w.heard.Broadcast()
		w.mu.Unlock()
	}()
	if !besidePages(r.URL.Path) {
		w.pass(r.Context())
	}
	i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Host, "s"), ".example"))
	j, err2 := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil || err2 != nil || i < 0 || i >= w.sites || j < 0 || j >= w.pages {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(rw, "<title>Page %d of site %d</title><p>Bees of page %d of site %d.", j, i, j, i)
	for _, to := range w.links(i, j) {
		fmt.Fprintf(rw, "<p>see <a href=\"http://%s\">more</a>", to)
	}
}

// links are the pages to which a page links: the next one of its site, and some of others.
func (w *sitesWeb) links(i, j int) (to []string) {
	rng := rand.New(rand.NewPCG(uint64(i), uint64(j)))
	if j+1 < w.pages {
		to = append(to, fmt.Sprintf("%s/%d", siteName(i), j+1))
	}
	for range 4 {
		to = append(to, fmt.Sprintf("%s/%d", siteName(rng.IntN(w.sites)), rng.IntN(w.pages)))
	}
	return to
}

// reachable are the pages that a crawl from page 0 of site 0 finds.
func (w *sitesWeb) reachable() map[string]bool {
	first := siteName(0) + "/0"
	seen := map[string]bool{first: true}
	for queue := []string{first}; len(queue) > 0; queue = queue[1:] {
		var i, j int
		if _, err := fmt.Sscanf(queue[0], "s%d.example/%d", &i, &j); err != nil {
			panic(err)
		}
		for _, to := range w.links(i, j) {
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return seen
}

// patience is for how long a test waits for what comes next, however slow the machine is.
const patience = 3 * time.Minute

// await waits until n pages were asked for. It fails when none is for so long as patience says.
func (w *sitesWeb) await(t *testing.T, n int) {
	t.Helper()
	if !w.reaches(t, n, patience) {
		t.Fatalf("%d pages were asked for, and not %d; none for %v", w.requestsSoFar(), n, patience)
	}
}

// reaches waits until n pages were asked for, or none was for so long: then it is false.
func (w *sitesWeb) reaches(t *testing.T, n int, patience time.Duration) bool {
	t.Helper()
	still := false
	late := time.AfterFunc(patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		still = true
		w.heard.Broadcast()
	})
	defer late.Stop()
	defer context.AfterFunc(t.Context(), w.heard.Broadcast)()
	w.mu.Lock()
	defer w.mu.Unlock()
	for last := w.asked; w.asked < n; last = w.asked {
		if still || t.Context().Err() != nil {
			return false
		}
		w.heard.Wait()
		if w.asked > last {
			still = false
			late.Reset(patience)
		}
	}
	return true
}

// requestsSoFar is how many pages were asked for.
func (w *sitesWeb) requestsSoFar() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// stand notes that the process of a client was stopped. It gives up what it has under way when it goes on.
func (w *sitesWeb) stand() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stood = append(w.stood, time.Now())
}

// stoodFor tells whether a request was under way when a process was stopped, or was read by the server a moment
// later, as it was sent before.
func (w *sitesWeb) stoodFor(r request) bool {
	return slices.ContainsFunc(w.stood, func(at time.Time) bool {
		return r.began.Before(at.Add(time.Second)) && at.Before(r.ended)
	})
}

// hurried are the pairs of requests to one site that were less than a delay apart, but for those whose first
// one a stopped process had under way.
func (w *sitesWeb) hurried(delay time.Duration) (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := map[string]request{}
	for _, r := range slices.SortedFunc(slices.Values(w.requests), func(a, b request) int { return a.began.Compare(b.began) }) {
		if before, ok := last[r.host]; ok && r.began.Sub(before.ended) < delay && !w.stoodFor(before) {
			out = append(out, fmt.Sprintf("%s%s %v after %s", r.host, r.path, r.began.Sub(before.ended), before.path))
		}
		last[r.host] = r
	}
	return out
}

// counts are how often each page was asked for.
func (w *sitesWeb) counts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int{}
	for _, r := range w.requests {
		if !besidePages(r.path) {
			out[r.host+r.path]++
		}
	}
	return out
}
