package export

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// found is a page of the log with its document in the archive.
type found struct {
	event.Fetched
	Page   *web.Page // nil if the archive does not have it, or it is not readable
	Scorer string
	Judge  string
	Crawl  string // the folder
}

// tells tells whether the document repeats a secret in a link that the log leaves out: in a part that is compressed,
// such as one of a PDF file, as all others are concealed in the archive.
func (f *found) tells() bool { return f.Page != nil && f.Telling > f.Page.Telling }

// pages are the pages to export, in the order of the logs, with their documents. What
// cannot be read goes to g; an error ends the sequence.
func (in *Input) pages(ctx context.Context, s *survey, g *gaps) iter.Seq2[*found, error] {
	return func(yield func(*found, error) bool) {
		for i, c := range in.Collections {
			p, err := in.parser(c)
			if err != nil {
				yield(nil, err)
				return
			}
			docs := c.Documents(ctx, p, collection.Place{}, func(u web.URL) (int, bool) { return s.wanted(in, i, u) })
			docs.Damage = func(d *store.Damage) {
				if !d.Torn || s.crawl[i].ended {
					g.add(d)
				}
			}
			ok := in.join(ctx, s, i, c, docs, g, yield)
			docs.Close()
			if !ok {
				return
			}
		}
	}
}

// join gives the pages of one collection; false ends the sequence.
func (in *Input) join(ctx context.Context, s *survey, i int, c collection.Collection, docs *collection.Documents, g *gaps, yield func(*found, error) bool) bool {
	number := -1
	scorer, judge := "", ""
	for e, err := range c.Events() {
		var damaged *event.LineError
		switch {
		case ctx.Err() != nil:
			yield(nil, ctx.Err())
			return false
		case errors.As(err, &damaged):
			g.add(err)
			continue
		case err != nil:
			yield(nil, err)
			return false
		}
		if run, ok := e.(event.Started); ok {
			scorer, judge = run.Scorer, run.Judge
		}
		f, ok := e.(event.Fetched)
		if !ok {
			continue
		}
		number++
		if at, ok := s.wanted(in, i, f.URL); !ok || at != number {
			continue
		}
		one := &found{Fetched: f, Scorer: scorer, Judge: judge, Crawl: folderName(c)}
		if facts := s.crawl[i]; number < int(facts.anewBefore) {
			one.Judge = facts.anew
		}
		if one.Page, err = docs.Take(number, f); err != nil {
			yield(nil, err)
			return false
		}
		if one.Page == nil && kept(f) {
			g.add(fmt.Errorf("%s: the archive in %s holds no readable record of it: it has no text", event.Line(f.URL.String()), c.Dir()))
		}
		if !yield(one, nil) {
			return false
		}
	}
	return true
}

// kept tells pages that are in the archive: those that do not ask to be left out.
func kept(f event.Fetched) bool {
	return f.Reason != web.ReasonNoIndex && !f.Directives.NoIndex && !f.Directives.NoArchive
}

// folderName is what the tables call a collection.
func folderName(c collection.Collection) string {
	dir, err := filepath.Abs(c.Dir())
	if err != nil {
		dir = c.Dir()
	}
	return valid(filepath.Base(dir))
}
