package export

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// pageRow is a page as the tables have it. Texts are as the page has them: untrusted.
type pageRow struct {
	URL       string    `parquet:"url"`
	Time      time.Time `parquet:"time,timestamp(microsecond)"` // fetched, UTC
	Status    int32     `parquet:"status"`
	Type      string    `parquet:"type,dict"`     // "text/html"
	Language  string    `parquet:"language,dict"` // ISO 639-1, "" = unknown
	Title     string    `parquet:"title"`
	Text      string    `parquet:"text"` // main text, without navigation
	Relevance float64   `parquet:"relevance"`
	Relevant  bool      `parquet:"relevant"`
	Reason    string    `parquet:"reason,dict"` // why it is no harvest whatever its relevance: duplicate, near-copy, noindex
	CopyOf    string    `parquet:"copy_of"`     // the page of which it is a near-copy
	Judge     string    `parquet:"judge,dict"`
	Scorer    string    `parquet:"scorer,dict"`
	Depth     int32     `parquet:"depth"`
	From      string    `parquet:"from"` // the page it was found on, "" of a seed
	Digest    string    `parquet:"digest"`
	OptOuts   []string  `parquet:"opt_outs,list"`
	TDMPolicy string    `parquet:"tdm_policy"`
	Crawl     string    `parquet:"crawl,dict"` // name of the folder

	Values [][]string `parquet:"-"` // of the columns of the Input
}

// linkRow is a link as the tables have it. Texts are untrusted.
type linkRow struct {
	From     string   `parquet:"from"` // "" of a seed
	To       string   `parquet:"to"`
	Kind     string   `parquet:"kind,dict"` // "a", "redirect", "seed"; "" where the archive does not have the page
	Anchor   string   `parquet:"anchor"`
	Context  string   `parquet:"context"`           // up to ten words before the anchor, the anchor, and up to ten after it
	Priority *float64 `parquet:"priority,optional"` // when it was found; nil where it did not enter the frontier then
	Fate     string   `parquet:"fate,dict"`
	Reason   string   `parquet:"reason,dict"` // why it was not fetched
	Crawl    string   `parquet:"crawl,dict"`
}

func (in *Input) pageRows(ctx context.Context, g *gaps) iter.Seq2[pageRow, error] {
	return func(yield func(pageRow, error) bool) {
		s, err := in.look(ctx)
		if err != nil {
			yield(pageRow{}, err)
			return
		}
		for f, err := range in.pages(ctx, s, g) {
			if err != nil {
				yield(pageRow{}, err)
				return
			}
			row := pageRow{
				URL: f.URL.String(), Time: f.At.At.UTC(), Status: int32(f.Status), Type: valid(f.MIME), Language: valid(f.Language), Title: valid(f.Title),
				Relevance: f.Relevance, Relevant: f.Relevant, Reason: string(f.Reason), CopyOf: f.Like.String(), Judge: f.Judge, Scorer: f.Scorer,
				Depth: int32(f.Depth), From: f.From.String(), Digest: f.Digest, OptOuts: optOuts(f.Directives), TDMPolicy: valid(f.Directives.TDMPolicy), Crawl: valid(f.Crawl),
			}
			if f.Page != nil {
				row.Text = valid(f.Page.Main)
				row.Values = f.Page.Values
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// valid makes text valid UTF-8, which every form needs.
func valid(s string) string { return strings.ToValidUTF8(s, "�") }

// linkRows are the links of all pages that are exported: of a page, each address it
// links to once. Seeds and redirects, which no page holds, come first.
func (in *Input) linkRows(ctx context.Context, g *gaps) iter.Seq2[linkRow, error] {
	return func(yield func(linkRow, error) bool) {
		s, err := in.look(ctx)
		if err != nil {
			yield(linkRow{}, err)
			return
		}
		fates, err := in.fates(ctx)
		if err != nil {
			yield(linkRow{}, err)
			return
		}
		if !in.pagelessLinks(ctx, s, fates, yield) {
			return
		}
		for f, err := range in.pages(ctx, s, g) {
			if err != nil {
				yield(linkRow{}, err)
				return
			}
			for _, row := range linksOf(f, fates) {
				if u, err := web.Parse(row.To); err == nil && s.left(in, u) {
					continue
				}
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// pagelessLinks gives seeds and redirects; false ends the sequence.
func (in *Input) pagelessLinks(ctx context.Context, s *survey, fates *fates, yield func(linkRow, error) bool) bool {
	for _, c := range in.Collections {
		give := func(from, to web.URL, kind web.LinkKind, priority *float64, otherwise fate) bool {
			if s.left(in, to) {
				return true
			}
			row := linkRow{From: from.String(), To: to.String(), Kind: string(kind), Priority: priority, Crawl: folderName(c)}
			row.setFate(to, fates, otherwise)
			return yield(row, nil)
		}
		for e, err := range c.Events() {
			var damaged *event.LineError
			switch {
			case ctx.Err() != nil:
				yield(linkRow{}, ctx.Err())
				return false
			case errors.As(err, &damaged):
				continue // the reading of pages that follows tells it
			case err != nil:
				yield(linkRow{}, err)
				return false
			}
			switch e := e.(type) {
			case event.Seeded:
				for _, q := range e.Queued {
					if !give(web.URL{}, q.URL, cmp.Or(q.Link, web.LinkSeed), nil, fate{waiting, ""}) {
						return false
					}
				}
				for _, x := range e.Skipped {
					if !give(web.URL{}, x.URL, web.LinkSeed, nil, fate{skipped, x.Reason}) {
						return false
					}
				}
			case event.Failed:
				if e.To.IsZero() {
					continue
				}
				var priority *float64
				if e.Queued {
					priority = &e.Priority
				}
				if !give(e.URL, e.To, web.LinkRedirect, priority, fate{skipped, e.Reason}) {
					return false
				}
			}
		}
	}
	return true
}

// setFate tells what became of the target; otherwise where the logs do not tell.
func (r *linkRow) setFate(to web.URL, fates *fates, otherwise fate) {
	x, ok := fates.of(to)
	if !ok {
		x = otherwise
	}
	r.Fate, r.Reason = x.What, string(x.Reason)
}

// linksOf are the links of a page, each address once: as the archive has them, with
// what the log tells; where there is no document, those of the log. Where the document itself tells a secret,
// links have no context, and the anchors of the log alone, and those that no log names are left out.
func linksOf(f *found, fates *fates) (rows []linkRow) {
	at := map[web.URL]int{}
	row := func(to web.URL) *linkRow {
		i, ok := at[to]
		if !ok {
			i = len(rows)
			at[to] = i
			rows = append(rows, linkRow{From: f.URL.String(), To: to.String(), Crawl: valid(f.Crawl)})
			rows[i].setFate(to, fates, fate{skipped, ""})
		}
		return &rows[i]
	}
	if f.Page != nil {
		discreet := f.tells()
		for _, l := range f.Page.Links {
			if _, twice := at[l.URL]; twice || discreet && !fates.knows(l.URL) {
				continue
			}
			r := row(l.URL)
			r.Kind = string(l.Kind)
			if discreet {
				continue
			}
			r.Anchor = valid(l.Anchor)
			r.Context = valid(strings.Join(strings.Fields(l.Before+" "+l.Anchor+" "+l.After), " "))
		}
	}
	for i := range f.Queued {
		r := row(f.Queued[i].URL)
		r.Priority = &f.Queued[i].Priority
		if r.Anchor == "" {
			r.Anchor = valid(f.Queued[i].Anchor)
		}
	}
	for _, x := range f.Skipped {
		if r := row(x.URL); r.Fate == skipped {
			r.Reason = string(x.Reason) // of this link, which may be another than of the first
		}
	}
	return rows
}

// writeRows writes rows by a function, and tells what could not be read.
func writeRows[R any](rows func(*gaps) iter.Seq2[R, error], write func(R) error, end func() error) error {
	var g gaps
	for row, err := range rows(&g) {
		if err != nil {
			return err
		}
		if err := write(row); err != nil {
			return err
		}
	}
	if err := end(); err != nil {
		return err
	}
	return g.err()
}

func pagesTo(ctx context.Context, in *Input, write func(pageRow) error, end func() error) error {
	return writeRows(func(g *gaps) iter.Seq2[pageRow, error] { return in.pageRows(ctx, g) }, write, end)
}

func linksTo(ctx context.Context, in *Input, write func(linkRow) error, end func() error) error {
	return writeRows(func(g *gaps) iter.Seq2[linkRow, error] { return in.linkRows(ctx, g) }, write, end)
}
