package revisit

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// Before makes of a fetcher one that asks for the pages which rounds before this one hold by
// their ETag and Last-Modified. Where the server answers that a page is as it was, or sends
// the same, the response is the earlier one, with Revisit. What an earlier archive cannot
// give is asked for like a new page.
func Before(round collection.Collection) func(pages fetch.Fetcher) fetch.Fetcher {
	return func(pages fetch.Fetcher) fetch.Fetcher {
		return &conditionalFetcher{pages: pages, earlier: round.Earlier()}
	}
}

type conditionalFetcher struct {
	pages   fetch.Fetcher
	mu      sync.Mutex
	earlier *collection.Earlier
}

func (c *conditionalFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	c.mu.Lock()
	before, err := c.earlier.Response(ctx, u)
	c.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || before.Status != http.StatusOK || before.Truncated != "" || len(before.Body) == 0 {
		return c.pages.Fetch(ctx, u)
	}
	v := fetch.Validators{ETag: first(before.Header, "Etag")}
	if settled(before.Header) {
		v.LastModified = first(before.Header, "Last-Modified")
	}
	r, err := c.pages.Fetch(fetch.WithValidators(ctx, v), u)
	if err != nil {
		return nil, err
	}
	notModified := r.Status == http.StatusNotModified && v != (fetch.Validators{})
	same := r.Status == http.StatusOK && r.Truncated == "" && bytes.Equal(r.Raw, before.Raw)
	if !notModified && !same {
		return r, nil
	}
	sent, record := collection.Original(before)
	return collection.Revisited(r, before, &web.Revisit{NotModified: notModified, Head: r.Head, Record: record, At: sent}), nil
}

// settled reports whether a document was at least a second old when it was sent: one that
// changed again in the second of its Last-Modified keeps that date, and the server would call
// the new version unchanged. Where either date is missing or is none, it is taken for settled.
//
// Source: RFC 9110, section 8.8.2.2.
func settled(h web.Header) bool {
	sent, err := http.ParseTime(first(h, "Date"))
	if err != nil {
		return true
	}
	changed, err := http.ParseTime(first(h, "Last-Modified"))
	return err != nil || sent.Sub(changed) >= time.Second
}

func first(h web.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}
