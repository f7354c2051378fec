package job

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// A crawl asks a site once what of it is reserved, also when it goes on, keeps the answer in
// the archive and the log, and tells it of each page as if the page said it. A crawl that is
// told not to does not ask.
func TestReservationsOfACrawl(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		var n int
		switch _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); {
		case r.URL.Path == "/.well-known/tdmrep.json":
			fmt.Fprint(w, `[{"location": "/1$", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1, "tdm-policy": "https://terms.example/"}, {}]`)
		case err != nil:
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/html")
			if n == 2 {
				w.Header().Set("TDM-Reservation", "0") // goes before the file
			}
			fmt.Fprintf(w, "<title>Honey bee %d</title><a href=/%d>next</a>", n, n+1)
		}
	}))
	defer site.Close()
	none := Duration(0)
	run := func(dir string, pages int, ignore bool) {
		w, err := collection.At(dir).Lock()
		if err != nil {
			t.Fatal(err)
		}
		m := &Maker{
			Job: &Job{
				Seeds: []string{site.URL + "/0"}, Topic: Topic{Keywords: []string{"honey bee"}}, Budget: Budget{Pages: pages},
				Politeness: Politeness{Delay: &none, IgnoreTDMRep: ignore}, Fetch: Fetch{AllowPrivate: true, Workers: 1},
			},
			Writer: w,
		}
		if w.Begun() {
			m.Begun = &w.Collection
		}
		c, err := m.Crawl(t.Context())
		if err == nil {
			_, err = c.Run(t.Context())
		}
		if err = errors.Join(err, m.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	run(dir, 2, false)
	run(dir, 4, false)
	if n := asked["/.well-known/tdmrep.json"]; n != 1 {
		t.Errorf("asked %d times over two runs, want once", n)
	}
	var told []string
	for e := range event.ReadFile(collection.At(dir).EventLog()) {
		switch e := e.(type) {
		case event.SiteFile:
			told = append(told, fmt.Sprintf("%s: status %d, %d rules, %s", e.URL.Path(), e.Status, e.Rules, e.Wrong))
		case event.Fetched:
			told = append(told, fmt.Sprintf("%s: %v %s %v", e.URL.Path(), e.Directives.TDMReserved, e.Directives.TDMPolicy, e.BySite))
		}
	}
	want := `/0: true https://terms.example/ true
/.well-known/tdmrep.json: status 200, 2 rules, 1 of its 3 rules are not used: they have no location that begins with / or *, or no tdm-reservation of 0 or 1
/1: false  false
/2: false  false
/3: true https://terms.example/ true`
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("the log tells\n%s\nwant\n%s", got, want)
	}
	files, err := filepath.Glob(filepath.Join(collection.At(dir).ArchiveDir(), "*.warc.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	kept := map[string]int{}
	for _, path := range files {
		for p, err := range store.Pieces(path, -1) {
			if err != nil || p.Damage != nil {
				t.Fatal(err, p.Damage)
			}
			if u, err := web.Parse(p.Target); err == nil && strings.HasSuffix(u.Path(), "tdmrep.json") {
				kept[p.Type]++
			}
		}
	}
	if kept["response"] != 1 || kept["request"] != 1 {
		t.Errorf("records of the file in the archive: %v, want a response and a request", kept)
	}
	for r, err := range collection.At(dir).Responses(nil) {
		if err != nil || strings.HasSuffix(r.URL.Path(), "tdmrep.json") {
			t.Errorf("%s is told of as if it were a page's, %v", r.URL, err)
		}
	}

	clear(asked)
	run(t.TempDir(), 2, true)
	if n := asked["/.well-known/tdmrep.json"]; n > 0 || asked["/1"] != 1 {
		t.Errorf("told not to ask, it asked %d times: %v", n, asked)
	}
}
