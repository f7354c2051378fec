package parse_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
	"golang.org/x/net/html"
)

// webs is the folder of recorded webs; the test is skipped when it is absent.
func webs(t testing.TB) string {
	dir := os.Getenv("WAGGLE_WEBS")
	if dir == "" {
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			if filepath.Dir(root) == root {
				t.Fatal("no go.mod above the working directory")
			}
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "..", "shared", "webs")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded webs at %s: set WAGGLE_WEBS", dir)
	}
	return dir
}

// recorded returns every nth page of a recorded web, at most limit.
func recorded(t testing.TB, name string, nth, limit int) (pages []*web.Response) {
	f, err := os.Open(filepath.Join(webs(t), name, "pages.jsonl.zst"))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	in := bufio.NewReaderSize(z, 1<<20)
	for i := 0; len(pages) < limit; i++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%nth != 0 {
			continue
		}
		var rec struct {
			URL         string `json:"url"`
			Status      int    `json:"status"`
			ContentType string `json:"content_type"`
			Body        string `json:"body"`
		}
		if err := json.Unmarshal(line, &rec); err != nil {
			t.Fatal(err)
		}
		u, err := web.Parse(rec.URL)
		if err != nil {
			t.Fatal(err)
		}
		mediaType, _, _ := strings.Cut(rec.ContentType, ";")
		pages = append(pages, &web.Response{
			URL:    u,
			Status: rec.Status,
			Header: http.Header{"Content-Type": {mediaType + "; charset=utf-8"}},
			Body:   []byte(rec.Body),
		})
	}
	return pages
}

// BenchmarkParse measures a whole page against the least a crawler can do with
// one: build the tree, collect and resolve the references.
func BenchmarkParse(b *testing.B) {
	pages := recorded(b, "manuals", 50, 200)
	size := 0
	for _, r := range pages {
		size += len(r.Body)
	}
	b.Run("bare", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, r := range pages {
				bare(r)
			}
		}
	})
	b.Run("waggle", func(b *testing.B) {
		p := parse.New(parse.Options{})
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, r := range pages {
				if _, err := p.Parse(r); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("tree", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, r := range pages {
				html.Parse(bytes.NewReader(r.Body))
			}
		}
	})
}

func bare(r *web.Response) (links []web.URL) {
	doc, err := html.Parse(bytes.NewReader(r.Body))
	if err != nil {
		return nil
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "href" && n.Data == "a" || a.Key == "src" && (n.Data == "frame" || n.Data == "iframe") {
				if u, err := (web.Canon{}).Resolve(r.URL, a.Val); err == nil {
					links = append(links, u)
				}
			}
		}
	}
	return links
}
