package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/job/explain"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/web"
)

// Page is all that is told of a page.
type Page struct {
	figures.Page
	From       web.URL        `json:"from,omitzero"`
	Link       web.LinkKind   `json:"link,omitempty"`
	Digest     string         `json:"digest"`
	Directives web.Directives `json:"directives"`
	CutBy      string         `json:"cut_by,omitempty"` // in words
	Threshold  float64        `json:"threshold"`
	// Way leads to the page: a seed first, the page last.
	Way []Step `json:"way"`
}

// Step is an address on the way to a page.
type Step struct {
	URL       web.URL      `json:"url"`
	Title     string       `json:"title,omitempty"`
	Link      web.LinkKind `json:"link,omitempty"`
	Meaning   string       `json:"meaning"` // what the link was, in words
	Anchor    string       `json:"anchor,omitempty"`
	Queued    *float64     `json:"queued,omitempty"` // priority that it entered the frontier with by this link
	Leased    float64      `json:"leased"`           // priority that it left the frontier with
	Page      bool         `json:"page"`             // false: a redirect, or Failed
	Failed    string       `json:"failed,omitempty"` // why nothing came of an address that another was asked for in place of, in words
	Relevance float64      `json:"relevance"`
	Relevant  bool         `json:"relevant"`
}

// maxSteps bounds the way to a page.
const maxSteps = 200

// Page is what the log tells of a page. The error is Absent if the crawl has none of this
// address.
func (c *Crawl) Page(u web.URL) (*Page, error) {
	v := &Page{}
	got, err := c.Fetched(u, &v.Page)
	if err != nil {
		return nil, err
	}
	c.With(func(f *figures.Crawl) { v.Threshold = f.Threshold() })
	v.From, v.Link, v.Digest, v.Directives = got.From, got.Link, got.Digest, got.Directives
	v.Priority = got.Priority
	v.Title = event.Line(got.Title)
	if got.Cut != "" {
		v.CutBy = event.Line(web.CutMeaning(got.Cut))
	}
	v.Way = c.way(got)
	return v, nil
}

// Fetched finds the event of a page in the log, and what the figures tell of it.
func (c *Crawl) Fetched(u web.URL, p *figures.Page) (event.Fetched, error) {
	var offset int64
	var ok bool
	c.With(func(f *figures.Crawl) { *p, offset, ok = f.Page(u) })
	if !ok {
		return event.Fetched{}, Absent{fmt.Errorf("%s is no page of this crawl", u)}
	}
	e, err := c.EventAt(offset)
	if err != nil {
		return event.Fetched{}, err
	}
	got, ok := e.(event.Fetched)
	if !ok || got.URL != u {
		return got, errors.New("the log has changed: ask again")
	}
	return got, nil
}

// way is the path to a page by the log.
func (c *Crawl) way(last event.Fetched) []Step {
	steps := []Step{}
	var e event.Event = last
	seen := map[web.URL]bool{}
	for len(steps) < maxSteps {
		var visit event.Visit
		x := Step{}
		switch e := e.(type) {
		case event.Fetched:
			visit = e.Visit
			x.Page, x.Title = true, event.Line(e.Title)
			c.With(func(f *figures.Crawl) {
				if p, _, ok := f.Page(e.URL); ok {
					x.Relevance, x.Relevant = p.Relevance, p.Relevant
				}
			})
		case event.Failed:
			visit = e.Visit
			if e.Reason != web.ReasonRedirect && e.Reason != web.ReasonRedirectKnown {
				x.Failed = event.Line(e.Reason.Brief())
			}
		}
		if visit.URL.IsZero() || seen[visit.URL] {
			break
		}
		seen[visit.URL] = true
		x.URL, x.Link, x.Leased = visit.URL, visit.Link, visit.Priority
		x.Meaning = event.Line(visit.Link.Meaning())
		steps = append(steps, x)
		if visit.From.IsZero() {
			break
		}
		var offset int64
		var ok bool
		c.With(func(f *figures.Crawl) { offset, ok = f.Event(visit.From) })
		if !ok {
			break
		}
		before, err := c.EventAt(offset)
		if err != nil {
			break
		}
		if p, ok := before.(event.Fetched); ok {
			if i := slices.IndexFunc(p.Queued, func(l event.Found) bool { return l.URL == visit.URL }); i >= 0 {
				steps[len(steps)-1].Anchor, steps[len(steps)-1].Queued = event.Line(p.Queued[i].Anchor), &p.Queued[i].Priority
			}
		}
		e = before
	}
	slices.Reverse(steps)
	return steps
}

// Archived is a page of the archive.
type Archived struct {
	Response *web.Response
	Page     *web.Page // with the links as the crawl read them
	Canon    web.Canon // how it read addresses
	Shown    string    // what the page is shown by; see parse.Parser.Shown
	IsHTML   bool      // Shown is, and no plain text
}

// Archived is what the archive holds of an address. The error wraps collection.ErrAbsent where
// that is nothing; otherwise it says why the body cannot be parsed. The first time, the archive is
// read for where its pages lie.
func (c *Crawl) Archived(ctx context.Context, u web.URL) (*Archived, error) {
	a := &Archived{Canon: web.Canon{StripSessions: true, StripTracking: true}}
	var err error
	if a.Response, err = c.arch.Response(ctx, u); err != nil {
		return nil, err
	}
	if j, err := job.Read(c.col.JobFile()); err == nil {
		a.Canon = j.Canon()
	}
	parser := job.LinkParser(c.col, c.docs)
	if a.Page, err = parser.Parse(a.Response); err != nil {
		return nil, err
	}
	a.Shown, a.IsHTML, err = parser.Shown(a.Response)
	return a, err
}

// Response is the last response that the archive holds of an address; the error wraps
// collection.ErrAbsent where it holds none.
func (c *Crawl) Response(ctx context.Context, u web.URL) (*web.Response, error) {
	return c.arch.Response(ctx, u)
}

// Explanation tells why a page was fetched or not.
type Explanation struct {
	Fate   event.Fate `json:"fate"`
	Text   string     `json:"text"`
	Doubts []string   `json:"doubts"` // what cannot be told, and why
}

// Explain answers as the command explain does.
func (c *Crawl) Explain(ctx context.Context, u web.URL) (Explanation, error) {
	got := Explanation{Doubts: []string{}}
	var text limited
	var err error
	got.Fate, err = explain.Explain(ctx, &text, c.col, c.docs, u, func(what string, why error) {
		got.Doubts = append(got.Doubts, event.Line(fmt.Sprintf("%s cannot be told: %v", what, why)))
	})
	got.Text = string(text)
	return got, err
}

// limited is text up to a megabyte.
type limited []byte

func (l *limited) Write(b []byte) (int, error) {
	*l = append(*l, b[:min(len(b), max(0, 1<<20-len(*l)))]...)
	return len(b), nil
}
