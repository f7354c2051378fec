package harmless_test

import (
	"bufio"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	. "github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/teach/harmless/harmlesstest"
	"github.com/waggle-crawler/waggle/web"
)

// TestRecordedPages shows pages of recorded webs: they are harmless, and what
// can be clicked is what the crawler sees: nearly every shown link is found
// among the links of the parsed page.
func TestRecordedPages(t *testing.T) {
	parser := parse.New(parse.Options{Analyzer: text.NewAnalyzer()})
	path := func(int) string { return "/page/CAP/1/1" }
	for _, name := range []string{"campus", "departments", "manuals"} {
		pages, links, found, n := 0, 0, 0, 0
		for u, body := range recordedPages(t, recorded.Web(t, name)) {
			if n++; n%5 != 1 {
				continue
			}
			if pages == 60 {
				break
			}
			p, err := parser.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(body)})
			if err != nil {
				continue
			}
			pages++
			s := Options{LinkPath: path, ResourcePath: path, Styles: true, Images: true}.Show(p, strings.ToValidUTF8(body, "\uFFFD"))
			if err := harmlesstest.Check(string(s.HTML), "CAP"); err != nil {
				t.Errorf("%s: %v", u, err)
			}
			for _, l := range s.Links {
				links++
				if l.Ordinal > 0 {
					found++
					if p.Links[l.Ordinal-1].URL != l.URL {
						t.Errorf("%s: link to %s was taken for the one to %s", u, l.URL, p.Links[l.Ordinal-1].URL)
					}
				}
			}
		}
		t.Logf("%s: %d pages, %d links shown, %d found on the parsed page", name, pages, links, found)
		if pages == 0 || float64(found) < 0.98*float64(links) {
			t.Errorf("%s: of %d links shown on %d pages only %d are found on the parsed page", name, links, pages, found)
		}
	}
}

// recordedPages are the pages of a recorded web that were found, with their bodies.
func recordedPages(t *testing.T, dir string) iter.Seq2[web.URL, string] {
	return func(yield func(web.URL, string) bool) {
		f, err := os.Open(filepath.Join(dir, "pages.jsonl.zst"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		lines := bufio.NewScanner(z)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var k struct {
				URL, Body string
				Status    int
			}
			if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
				t.Fatal(err)
			}
			if u, err := web.Parse(k.URL); err == nil && k.Status == 200 && !yield(u, k.Body) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkShow makes a page of 40 KB with 200 links harmless.
func BenchmarkShow(b *testing.B) {
	src := "<!DOCTYPE html><title>t</title><style>p{color:red}</style>" + strings.Repeat(`<div class="row" style="margin:0"><p onclick="x()">The waggle dance tells where the flowers are. <a href="/flowers?n=1" target=_blank>Flowers</a> and bees, and <b>more</b> of both.</p></div>`, 200)
	u, err := web.Parse("http://college.test/")
	if err != nil {
		b.Fatal(err)
	}
	p, err := parse.New(parse.Options{Analyzer: text.NewAnalyzer()}).Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Body: []byte(src)})
	if err != nil {
		b.Fatal(err)
	}
	path := func(int) string { return "/page/CAP/1/1" }
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		Options{LinkPath: path, ResourcePath: path, Styles: true}.Show(p, src)
	}
}
