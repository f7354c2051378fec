package asking

import (
	"context"
	"errors"
	"net/http"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// Fetching is a teach.Suggester that asks by the pages that are at hand: any of a recorded web; of the
// live one those of the paths shown, which are fetched when they are needed,
// once. It is not for concurrent use, as a teach.Suggester is not.
type Fetching struct {
	fetcher  teach.Fetcher
	parser   *parse.Parser
	recorded bool
	pages    map[web.URL]*web.Page // nil = cannot be had
	failed   []web.URL             // of these those that the next question may have
}

// maxFetched bounds the pages kept; then they are read anew.
const maxFetched = 3000

// NewFetching makes the suggester of a teach page with those options.
func NewFetching(o teach.Options) *Fetching {
	return &Fetching{fetcher: o.Fetcher, parser: o.Parser, recorded: o.Recorded != "", pages: map[web.URL]*web.Page{}}
}

// Suggest makes a model of what was shown and asks about what it doubts.
func (a *Fetching) Suggest(ctx context.Context, shown, candidates []paths.Path, n int) ([]teach.Suggestion, error) {
	if len(a.pages) > maxFetched {
		clear(a.pages)
	}
	for _, u := range a.failed {
		delete(a.pages, u)
	}
	a.failed = a.failed[:0]
	for _, set := range [][]paths.Path{shown, candidates} {
		for i := range set {
			for _, s := range set[i].Steps {
				if len(a.pages) < maxFetched {
					a.read(ctx, s.URL)
				}
			}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return (&Asker{Record: fetchingRecord{a, ctx}}).Suggest(ctx, shown, candidates, n)
}

func (a *Fetching) read(ctx context.Context, u web.URL) *web.Page {
	if p, ok := a.pages[u]; ok {
		return p
	}
	r, err := fetch.Follow(ctx, a.fetcher, u, 10)
	if ctx.Err() != nil {
		return nil
	}
	var refused *web.Failure
	switch {
	case errors.As(err, &refused) && !refused.Temporary: // that holds
	case err != nil || r.Status == http.StatusTooManyRequests || r.Status >= 500:
		a.failed = append(a.failed, u)
	}
	var page *web.Page
	if err == nil && r.Status >= 200 && r.Status < 300 {
		if page, _ = a.parser.Parse(r); page != nil { // nil where it is no page
			page = r.WithoutTelling(page)
		}
	}
	a.pages[u] = page
	return page
}

// fetchingRecord is the record of one question.
type fetchingRecord struct {
	a   *Fetching
	ctx context.Context
}

// Page is a page at hand.
func (r fetchingRecord) Page(u web.URL) (*web.Page, bool) {
	p := r.a.pages[u]
	if p == nil && r.a.recorded && len(r.a.pages) < maxFetched {
		p = r.a.read(r.ctx, u)
	}
	return p, p != nil
}
