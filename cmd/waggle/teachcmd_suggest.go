package main

import (
	"context"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach"
	"github.com/waggle-crawler/waggle/teach/asking"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// pathAsker asks by the pages that are at hand: any of a recorded web; of the
// live one those of the paths shown, which are fetched when they are needed,
// once. It is not for concurrent use, as a teach.Suggester is not.
type pathAsker struct {
	fetcher  teach.Fetcher
	parser   *parse.Parser
	recorded bool
	pages    map[web.URL]*web.Page // nil = cannot be had
}

// maxAskerPages bounds the pages kept; then they are read anew.
const maxAskerPages = 3000

// newPathAsker makes the suggester of a teach page with those options.
func newPathAsker(o teach.Options) *pathAsker {
	return &pathAsker{fetcher: o.Fetcher, parser: o.Parser, recorded: o.Recorded != "", pages: map[web.URL]*web.Page{}}
}

// Suggest makes a model of what was shown and asks about what it doubts.
func (a *pathAsker) Suggest(ctx context.Context, shown, candidates []paths.Path, n int) ([]teach.Suggestion, error) {
	if len(a.pages) > maxAskerPages {
		clear(a.pages)
	}
	for _, set := range [][]paths.Path{shown, candidates} {
		for i := range set {
			for _, s := range set[i].Steps {
				if len(a.pages) < maxAskerPages {
					a.read(ctx, s.URL)
				}
			}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return (&asking.Asker{Record: askerRecord{a, ctx}}).Suggest(ctx, shown, candidates, n)
}

func (a *pathAsker) read(ctx context.Context, u web.URL) *web.Page {
	if p, ok := a.pages[u]; ok {
		return p
	}
	r, err := fetch.Follow(ctx, a.fetcher, u, 10)
	if ctx.Err() != nil {
		return nil
	}
	var page *web.Page
	if err == nil && r.Status >= 200 && r.Status < 300 {
		page, _ = a.parser.Parse(r) // nil where it is no page
	}
	a.pages[u] = page
	return page
}

// askerRecord is the record of one question.
type askerRecord struct {
	a   *pathAsker
	ctx context.Context
}

// Page is a page at hand.
func (r askerRecord) Page(u web.URL) (*web.Page, bool) {
	p := r.a.pages[u]
	if p == nil && r.a.recorded && len(r.a.pages) < maxAskerPages {
		p = r.a.read(r.ctx, u)
	}
	return p, p != nil
}
