package train

import (
	"context"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// FetchPages fetches the pages of paths, each once, and parses them. What cannot be had,
// or is no page, is left out, which paths.Check tells; the error is ctx's.
func FetchPages(ctx context.Context, fetcher Fetcher, parser Parser, set []paths.Path, progress func(done, total int)) (paths.Record, error) {
	got := fetchedPages{}
	var all []web.URL
	for i := range set {
		for _, s := range set[i].Steps {
			if _, ok := got[s.URL]; !ok {
				got[s.URL] = nil
				all = append(all, s.URL)
			}
		}
	}
	for i, u := range all {
		progress(i, len(all))
		r, err := fetch.Follow(ctx, fetcher, u, 10)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || r.Status < 200 || r.Status > 299 {
			continue
		}
		if p, err := parser.Parse(r); err == nil {
			got[u] = r.WithoutTelling(p)
		}
	}
	return got, nil
}

// fetchedPages is a record of what was fetched; nil = there was no page.
type fetchedPages map[web.URL]*web.Page

// Page is the page of an address.
func (f fetchedPages) Page(u web.URL) (*web.Page, bool) {
	p := f[u]
	return p, p != nil
}
