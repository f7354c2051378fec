package export

import (
	"context"
	"encoding/hex"
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

// ahead bounds how many documents of the archive are held until the log comes to them,
// as both have the same order but for what was repaired.
const ahead = 64

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
			next, stop := iter.Pull2(c.Pages(ctx, p, func(u web.URL) bool { _, ok := s.wanted(in, i, u); return ok }))
			docs := documents{next: next, number: func(u web.URL) (int32, bool) { return s.wanted(in, i, u) }, held: map[int32]*web.Page{}, gaps: g, running: !s.crawl[i].ended}
			ok := in.join(ctx, s, i, c, &docs, g, yield)
			stop()
			if !ok {
				return
			}
		}
	}
}

// join gives the pages of one collection; false ends the sequence.
func (in *Input) join(ctx context.Context, s *survey, i int, c collection.Collection, docs *documents, g *gaps, yield func(*found, error) bool) bool {
	number := int32(-1)
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
		if facts := s.crawl[i]; number < facts.anewBefore {
			one.Judge = facts.anew
		}
		if one.Page, err = docs.take(number, f); err != nil {
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

// documents are those of an archive, taken one by one in the order of the log.
type documents struct {
	next    func() (*web.Page, error, bool)
	number  func(web.URL) (int32, bool)
	held    map[int32]*web.Page // read before their turn
	gaps    *gaps
	running bool
	ended   bool
}

// take is the document of a page of the log, nil if there is none.
func (d *documents) take(number int32, f event.Fetched) (*web.Page, error) {
	right := func(p *web.Page) bool { return p != nil && hex.EncodeToString(p.Digest[:]) == f.Digest }
	if p := d.held[number]; right(p) {
		delete(d.held, number)
		return p, nil
	}
	for !d.ended && len(d.held) < ahead {
		p, err, ok := d.next()
		var damage *store.Damage
		var unparsed *collection.ParseError
		switch {
		case !ok:
			d.ended = true
			continue
		case errors.As(err, &damage):
			if !damage.Torn || !d.running {
				d.gaps.add(err)
			}
			continue
		case errors.As(err, &unparsed):
			continue // the page that has no text is told
		case err != nil:
			return nil, err
		}
		at, known := d.number(p.URL)
		switch {
		case !known || at < number:
		case at > number:
			d.held[at] = p
		case right(p):
			return p, nil
		}
	}
	for at := range d.held {
		if at <= number {
			delete(d.held, at) // another body of an address, asked for again
		}
	}
	return nil, nil
}

// folderName is what the tables call a collection.
func folderName(c collection.Collection) string {
	dir, err := filepath.Abs(c.Dir())
	if err != nil {
		dir = c.Dir()
	}
	return valid(filepath.Base(dir))
}
