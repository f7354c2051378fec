package eval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// recorded is a web of a home page that links to everything, a page that asks
// not to be followed, a text, and a redirect to the last page.
func recorded(t *testing.T) (*corpus.Web, *corpus.Pages) {
	t.Helper()
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "web")
	var pages []byte
	for _, p := range [][3]string{
		{"/", "text/html", `<a href="/shy">x</a> <a href="/notes.txt">x</a> <a href="/old">x</a> <a href="/lost">x</a>`},
		{"/shy", "text/html", `<meta name="robots" content="nofollow"><a href="/secret">x</a>`},
		{"/notes.txt", "text/plain", `notes`},
		{"/secret", "text/html", `secret`},
		{"/new", "text/html", `new`},
	} {
		line, err := json.Marshal(map[string]any{"url": "http://a.example" + p[0], "status": 200, "content_type": p[1], "body": p[2]})
		if err != nil {
			t.Fatal(err)
		}
		pages = append(append(pages, line...), '\n')
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for name, data := range map[string]string{
		"web.yaml": "name: small\npages: 5\nhosts: 1\n", "pages.jsonl.zst": string(z.EncodeAll(pages, nil)),
		"aliases.tsv": "http://a.example/old\thttp://a.example/new\n",
	} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := corpus.Build(t.Context(), dir, corpus.Exchange{Dir: from}, corpus.Options{Now: func() time.Time { return noon }}); err != nil {
		t.Fatal(err)
	}
	w, err := corpus.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	parsed, err := corpus.OpenPages(t.Context(), w, parse.New(parse.Options{}), corpus.PagesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w, parsed
}

func TestWebGraph(t *testing.T) {
	w, pages := recorded(t)
	for _, test := range []struct {
		name string
		opt  GraphOptions
		want string
	}{
		{"what a crawl takes by default", GraphOptions{}, "/ → /shy /new; /new; /secret; /shy"},
		{"texts too", GraphOptions{Types: []string{"*/*"}}, "/ → /shy /notes.txt /new; /new; /notes.txt; /secret; /shy"},
		{"texts alone", GraphOptions{Types: []string{"text/plain"}}, "/notes.txt"},
		{"against wishes", GraphOptions{IgnoreDirectives: true}, "/ → /shy /new; /new; /secret; /shy → /secret"},
		{"within a scope", GraphOptions{Follows: func(_, to web.URL) bool { return to.Path() != "/shy" }}, "/ → /new; /new; /secret; /shy"},
	} {
		g, err := WebGraph(w, pages, test.opt)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for i := range g.Len() {
			line := g.Page(int32(i)).Path()
			for k, to := range g.Links(int32(i)) {
				if k == 0 {
					line += " →"
				}
				line += " " + g.Page(to).Path()
			}
			lines = append(lines, line)
		}
		if got := strings.Join(lines, "; "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}
