package job

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// scriptedSite is a site whose pages a script makes of data, but for the pages below /plain. What
// robots.txt disallows, and what was asked for, is noted.
type scriptedSite struct {
	mu    sync.Mutex
	asked []string
}

func (s *scriptedSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	s.mu.Unlock()
	var n int
	switch {
	case r.URL.Path == "/robots.txt":
		fmt.Fprint(w, "User-agent: *\nDisallow: /private/\n")
	case r.URL.Path == "/app.js":
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `fetch("/private/user.json").catch(() => 0);
			fetch("/data" + location.pathname + ".json").then(r => r.json()).then(d => {
				document.title = d.title;
				document.getElementById("app").innerHTML = "<p>" + d.text + "</p>" + d.links.map(l => "<a href=" + l + ">" + l + "</a> ").join("");
			});`)
	case strings.HasPrefix(r.URL.Path, "/data/"):
		fmt.Sscanf(r.URL.Path, "/data/%d.json", &n)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"title": "Bees %d", "text": "honey bee %d %s", "links": ["/%d", "/%d", "/plain/%d"]}`, n, n, strings.Repeat("of the hive ", 30), 2*n, 2*n+1, n)
	case strings.HasPrefix(r.URL.Path, "/plain/"):
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>Plain</title><p>honey bee, as sent, %s", r.URL.Path)
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>App</title><div id="app"></div><script src="/app.js"></script>`)
	}
}

// A crawl renders what scripts make: archive, log, replay and all that reads a collection have
// the document that the scripts left, beside what the server sent.
func TestRenderedCrawl(t *testing.T) {
	long.Test(t, "starts a browser")
	chromium.Find(t)
	site := &scriptedSite{}
	server := httptest.NewServer(site)
	defer server.Close()
	j, err := Parse("job.yaml", []byte(fmt.Sprintf(`
seeds: ["%s/1"]
topic: {keywords: ["honey bee"]}
judge: {name: keyword, threshold: 0.01}
scorer: {name: breadth-first}
politeness: {delay: 0s}
fetch: {allow-private: true, unsandboxed: true, render: auto, browser-time: 5m}
`, server.URL)))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "crawl")
	for _, pages := range []int{4, 9} { // the second run goes on with the first
		crawlInto(t, dir, j, pages)
	}

	c := collection.At(dir)
	rendered, plain := map[string]event.Fetched{}, 0
	for f, err := range c.Fetched() {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(f.URL.Path(), "/plain/"):
			if plain++; f.Rendered != nil {
				t.Errorf("%s was rendered", f.URL)
			}
		case f.Rendered == nil || !strings.HasPrefix(f.Title, "Bees ") || !f.Relevant || f.Rendered.Refused[web.ReasonRobots] != 1 || f.Links != 3:
			t.Errorf("%s: %+v, %+v", f.URL, f, f.Rendered)
		default:
			rendered[f.URL.String()] = f
		}
	}
	if len(rendered) < 4 || plain == 0 {
		t.Fatalf("%d pages rendered, %d plain", len(rendered), plain)
	}
	if slices.Contains(site.asked, "/private/user.json") {
		t.Error("it asked for what robots.txt disallows")
	}

	parser := parse.New(parse.Options{})
	for p, err := range c.Pages(t.Context(), parser, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := rendered[p.URL.String()]; ok && (p.Title != f.Title || fmt.Sprintf("%x", p.Digest) != f.Digest) {
			t.Errorf("the archive has %q (%x) of %s, the log %q (%s)", p.Title, p.Digest, p.URL, f.Title, f.Digest)
		}
	}
	finder := c.Finder()
	for address := range rendered {
		r, err := finder.Response(t.Context(), at(t, address))
		if err != nil || !strings.Contains(string(r.Body), `<div id="app"></div>`) || !strings.Contains(string(r.Rendered().Body), "honey bee") {
			t.Errorf("%s: %v, %+v", address, err, r)
		}
	}
	if v, err := c.Verify(t.Context(), nil); err != nil || len(v.Damage) > 0 {
		t.Errorf("verify: %v, %+v", err, v)
	}
	paths, err := c.ArchiveFiles()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]int{}
	for rec, err := range store.Records(paths...) {
		if err != nil {
			t.Fatal(err)
		}
		u, _ := web.Parse(rec.Target())
		if name := rec.Type(); name == "conversion" || rec.Asked() {
			types[name+" "+strings.Split(u.Path(), "/")[1]+rec.Get("WARC-Resource-Type")]++
		}
	}
	if types["conversion data"] != 0 || types["response app.jsscript"] == 0 || types["response datafetch"]+types["response dataxhr"] != len(rendered) {
		t.Errorf("records: %v, for %d pages", types, len(rendered))
	}

	// A recorded web of the crawl answers with both.
	src, err := corpus.Detect(dir)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "web")
	if _, err := corpus.Build(t.Context(), to, src, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	recorded, err := corpus.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer recorded.Close()
	for address, f := range rendered {
		r, err := corpus.Fetcher{Web: recorded}.Fetch(t.Context(), at(t, address))
		if err != nil || r.Rendering == nil || !strings.Contains(string(r.Body), `<div id="app"></div>`) {
			t.Fatalf("%s: %v, %+v", address, err, r)
		}
		if p, err := parser.Parse(r); err != nil || p.Title != f.Title {
			t.Errorf("the recorded web has %q of %s, %v", p.Title, address, err)
		}
	}
}

// crawlInto crawls into a folder, or goes on with what is there.
func crawlInto(t *testing.T, dir string, j *Job, pages int) {
	t.Helper()
	own := *j
	own.Budget.Pages = pages
	_, errRead := collection.At(dir).Job()
	w, err := collection.At(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	m := &Maker{Job: &own, Writer: w, Note: func(n string) { t.Log(n) }}
	if errRead == nil {
		m.Begun = &w.Collection
	}
	c, err := m.Crawl(t.Context())
	if err == nil {
		_, err = c.Run(t.Context())
		err = errors.Join(err, w.SaveHarvest())
	}
	if err := errors.Join(err, m.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
}

func at(t *testing.T, s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
