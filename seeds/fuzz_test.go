package seeds

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/web"
)

// Whatever interfaces, sitemaps and feeds answer: a bounded number of requests, and of
// pages, each with an address that a crawl can take.
func FuzzAnswers(f *testing.F) {
	kinds := Kinds()[:6] // that ask for something
	for i, answer := range []string{
		`{"results":[{"url":"https://a.example/","title":"bees"},{"url":1}]}`,
		`{"query":{"pages":{"1":{"fullurl":"https://a.example/","index":1}}}}`,
		`{"results":[{"title":"t","primary_location":{"landing_page_url":"https://a.example/"}}]}`,
		`[{"cdx-api":"https://a.example/cdx"}]`,
		`<sitemapindex><sitemap><loc>https://a.example/s</loc></sitemap></sitemapindex>`,
		`<rss><channel><item><link>/a</link><description>&lt;b>bees</description></item></channel></rss>`,
	} {
		f.Add(i, []byte(answer), []byte(`{"url":"https://a.example/b"}`+"\n"))
	}
	f.Fuzz(func(t *testing.T, kind int, first, then []byte) {
		asked := 0
		finder := &Finder{Get: func(_ context.Context, u web.URL) (*web.Response, error) {
			asked++
			body := then
			if asked == 1 {
				body = first
			}
			return &web.Response{URL: u, Status: 200, Body: body}, nil
		}}
		var list []Seed
		var err error
		used := allocated.By(func() {
			list, err = kinds[uint(kind)%uint(len(kinds))].find(t.Context(), finder, "https://a.example/", "bees")
		})
		if asked > maxSitemaps {
			t.Errorf("%d requests", asked)
		}
		if most := (len(first) + maxSitemaps*len(then)) / 5; len(list) > min(maxEntries, most) {
			t.Errorf("%d pages in answers of %d and %d bytes (%v)", len(list), len(first), len(then), err)
		}
		for _, p := range list {
			if _, err := web.Parse(p.URL.String()); err != nil {
				t.Errorf("%q: %v", p.URL, err)
			}
		}
		if most := uint64(2<<20 + 5000*(len(first)+maxSitemaps*len(then))); used > most {
			t.Errorf("%d bytes allocated for answers of %d and %d", used, len(first), len(then))
		}
	})
}

// Whatever a file of bookmarks holds.
func FuzzBookmarks(f *testing.F) {
	f.Add([]byte(`<DL><DT><A HREF="https://a.example/">Bees</A></DL>`))
	f.Add([]byte(`{"roots":{"other":{"children":[{"type":"url","name":"n","url":"https://a.example/"}]}}}`))
	f.Add([]byte(`{"children":[{"children":[{"type":"text/x-moz-place","uri":"https://a.example/"}]}]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, held []byte) {
		name := filepath.Join(dir, "bookmarks")
		if err := os.WriteFile(name, held, 0o600); err != nil {
			t.Fatal(err)
		}
		var list []Seed
		var err error
		used := allocated.By(func() { list, err = bookmarks(t.Context(), nil, name, "") })
		if (list == nil) != (err != nil) || len(list) > len(held)/5 {
			t.Errorf("%d pages in %d bytes: %v", len(list), len(held), err)
		}
		if most := uint64(2<<20 + 5000*len(held)); used > most {
			t.Errorf("%d bytes allocated for %d", used, len(held))
		}
	})
}
