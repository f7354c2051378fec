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
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
	"golang.org/x/net/html"
)

// recordedPages returns every nth page of a recorded web, at most limit.
func recordedPages(t testing.TB, name string, nth, limit int) (pages []*web.Response) {
	eachRecorded(t, name, nth, func(r *web.Response) bool {
		pages = append(pages, r)
		return len(pages) < limit
	})
	return pages
}

// eachRecorded calls yield with every nth page of a recorded web, until it
// returns false.
func eachRecorded(t testing.TB, name string, nth int, yield func(*web.Response) bool) {
	f, err := os.Open(filepath.Join(recorded.Web(t, name), "pages.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	in := bufio.NewReaderSize(z, 1<<20)
	for i := 0; ; i++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
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
		if !yield(&web.Response{
			URL:    u,
			Status: rec.Status,
			Header: http.Header{"Content-Type": {mediaType + "; charset=utf-8"}},
			Body:   []byte(rec.Body),
		}) {
			return
		}
	}
}

// BenchmarkParse measures a whole page against the least a crawler can do with
// one: build the tree, collect and resolve the references.
func BenchmarkParse(b *testing.B) {
	pages := recordedPages(b, "manuals", 50, 200)
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
