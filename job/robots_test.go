package job

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
)

// A crawl that goes on asks no site for its robots.txt again within a day; where
// the file of these is damaged, it says so and asks.
func TestRobotsOverResume(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			fmt.Fprintln(w, "User-agent: *\nDisallow: /secret")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		var n int
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		fmt.Fprintf(w, "<title>Honey bee %d</title><a href=/%d>next</a> <a href=/secret/%d>secret</a>", n, n+1, n)
	}))
	defer site.Close()
	dir := t.TempDir()
	none := Duration(0)
	run := func(pages int) (notes []string) {
		w, err := collection.At(dir).Lock()
		if err != nil {
			t.Fatal(err)
		}
		m := &Maker{
			Job: &Job{
				Seeds: []string{site.URL + "/0"}, Topic: Topic{Keywords: []string{"honey bee"}}, Budget: Budget{Pages: pages},
				Politeness: Politeness{Delay: &none}, Fetch: Fetch{AllowPrivate: true, Workers: 1},
			},
			Writer: w, Note: func(s string) { notes = append(notes, s) },
		}
		if w.Begun() {
			m.Begun = &w.Collection
		}
		c, err := m.Crawl(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(m.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		return notes
	}
	for i, step := range []struct{ pages, robots int }{{2, 1}, {4, 1}, {6, 2}} {
		if i == 2 {
			b, err := os.ReadFile(collection.At(dir).RobotsFile())
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)/2] ^= 1
			if err := os.WriteFile(collection.At(dir).RobotsFile(), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		notes := run(step.pages)
		if damaged := slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, "damaged") }); damaged != (i == 2) {
			t.Errorf("run %d noted %q", i+1, notes)
		}
		if asked["/robots.txt"] != step.robots || asked[fmt.Sprintf("/%d", step.pages-1)] != 1 || asked["/secret/0"] > 0 {
			t.Errorf("after run %d: asked %v, want robots.txt %d times", i+1, asked, step.robots)
		}
	}
}
