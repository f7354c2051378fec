package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/nearcopy"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// What is made of one response, apart from the rest of the crawl.

// Examine makes an arrival of what a fetch brought: a response or an error. It
// is the part of a crawl's work which depends on one page alone, and it is
// the same live and simulated. Safe for concurrent use.
func (c *Crawl) Examine(ctx context.Context, l web.Lease, r *web.Response, err error) (Arrival, error) {
	return c.examine(ctx, l, r, err, func(wait func()) { wait() })
}

func (c *Crawl) examine(ctx context.Context, l web.Lease, r *web.Response, err error, release coreRelease) (Arrival, error) {
	a := Arrival{Lease: l, Response: r}
	if r != nil {
		a.Bytes = r.Received()
	}
	if err != nil {
		if !errors.As(err, &a.Failure) {
			return a, fmt.Errorf("fetching %s: %w", l.URL, err)
		}
		a.Response = nil
		a.Reason, a.Detail = a.Failure.Reason, a.Failure.Detail
		return a, c.encodeBeside(&a, a.Failure.Robots, nil, l.URL)
	}
	switch {
	case r.Status >= 300 && r.Status < 400:
		a.Reason = web.ReasonRedirect
		switch {
		case r.Repeats:
			a.Detail = fmt.Sprintf("status %d, its Location repeats a secret, and is not kept", r.Status)
		case r.Location.IsZero():
			a.Detail = fmt.Sprintf("status %d without a usable Location", r.Status)
		}
	case r.Absent():
		// Nobody answered for the site: there is nothing to keep.
		a.Reason, a.Detail = web.ReasonRecord, "not in the recorded web"
		return a, c.encodeBeside(&a, r.Robots, r.SiteFile, l.URL)
	case r.Status < 200 || r.Status >= 300:
		a.Reason, a.Detail = web.ReasonStatus, fmt.Sprintf("status %d", r.Status)
		if reason := c.refusal(r); reason != "" {
			a.Reason = reason
		}
	case len(r.Body) == 0:
		a.Reason, a.Detail = web.ReasonEmpty, "the document has no body"
	case c.triesAgain(&l, r):
		a.Reason = cutBy(r)
		a.Detail = fmt.Sprintf("%.200s: the body ended after %d bytes: %s", l.URL, len(r.Raw), a.Reason.Meaning())
		return a, c.encodeBeside(&a, r.Robots, r.SiteFile, l.URL) // what came later is kept
	default:
		if a.Page, err = c.page(ctx, &a, r, release); ctx.Err() != nil {
			return a, ctx.Err()
		} else if err != nil {
			a.Page, a.Reason, a.Detail = nil, web.ReasonProtocol, err.Error()
			var f *web.Failure
			switch {
			case errors.Is(err, parse.ErrType):
				a.Reason = web.ReasonType
			case errors.As(err, &f):
				a.Reason, a.Detail = f.Reason, f.Detail
			}
			if a.Reason == web.ReasonReader {
				return a, c.encodeBeside(&a, r.Robots, r.SiteFile, l.URL) // it is asked for again
			}
			break
		}
		if c.Policy.Sitemaps {
			a.Page = WithSitemaps(a.Page, r.Sitemaps)
		}
		a.Page = r.WithoutTelling(a.Page)
		if a.Verdict, a.Reason, err = c.verdict(ctx, a.Page); err != nil {
			return a, err
		}
		a.Features = c.Scorer.Extract(a.Page, a.Verdict)
		if c.Policy.NearCopies && a.Reason == "" {
			a.sketch = nearcopy.Of(a.Page)
		}
		if w := a.Page.Directives; (w.NoIndex || w.NoArchive) && !c.Policy.IgnoreDirectives {
			if w.NoIndex {
				a.Reason = web.ReasonNoIndex
			}
			return a, c.encodeBeside(&a, r.Robots, r.SiteFile, l.URL) // the page itself asks not to be kept
		}
	}
	return a, c.encode(&a, web.Exchange{
		Candidate: l.Candidate, Response: r, Page: a.Page, Verdict: a.Verdict, Reason: a.Reason,
	})
}

// verdict is what the judge says of a page: nothing of a hollow one, for the reason that
// is returned with it.
func (c *Crawl) verdict(ctx context.Context, p *web.Page) (web.Verdict, web.Reason, error) {
	if c.Policy.Hollow {
		if reason := hollow.Reason(p); reason != "" {
			return web.Verdict{}, reason, nil
		}
	}
	v, err := c.Judge.Judge(ctx, p)
	if err != nil {
		return v, "", fmt.Errorf("judging %s: %w", p.URL, err)
	}
	return v, "", nil
}

// refusal is why a server that forbids an address turns the crawler away, where the document
// that comes with it tells: a wall, or what others are shown there. "" for a plain error.
func (c *Crawl) refusal(r *web.Response) web.Reason {
	if !c.Policy.Hollow || r.Status != http.StatusForbidden && r.Status != http.StatusUnauthorized || len(r.Body) == 0 {
		return ""
	}
	p, err := c.Parser.Parse(r)
	if err != nil {
		return "" // of another type
	}
	return hollow.Refusal(r.Status, p)
}

// cutBy is why the end of a document is missing that its server would have sent: it
// was too slow, or the connection broke. "" where nothing is missing, and where the
// rest was not wanted.
func cutBy(r *web.Response) web.Reason {
	switch r.Truncated {
	case "time":
		return web.ReasonTimeout
	case "disconnect":
		return web.ReasonReset
	}
	return ""
}

// triesAgain tells whether a document is asked for again, as its end is missing.
// The last try counts, whatever came.
func (c *Crawl) triesAgain(l *web.Lease, r *web.Response) bool {
	return cutBy(r) != "" && l.Tries+1 < c.Policy.withDefaults().MaxTries
}

// encodeBeside keeps the robots.txt and the file of reservations that were fetched on the way to
// an address which itself leaves nothing to keep.
func (c *Crawl) encodeBeside(a *Arrival, robots *web.Response, file *web.SiteFile, from web.URL) error {
	kept := robots
	if file != nil {
		rest := *file
		if kept == nil {
			kept, rest.Response = file.Response, nil
		}
		if kept == nil {
			kept, rest.Robots = file.Robots, nil
		}
		if kept != nil && (rest.Response != nil || rest.Robots != nil) {
			both := *kept
			both.SiteFile = &rest
			kept = &both
		}
	}
	if kept == nil {
		return nil
	}
	return c.encode(a, web.Exchange{
		Candidate: web.Candidate{URL: kept.URL, From: from}, Response: kept, Reason: web.ReasonRobots,
	})
}

func (c *Crawl) encode(a *Arrival, x web.Exchange) (err error) {
	if c.Archive == nil {
		return nil
	}
	x.Judge, x.Scorer = c.JudgeName, c.ScorerName
	if a.Record, err = c.Archive.Encode(x); err != nil {
		return fmt.Errorf("archiving %s: %w", x.Response.URL, err)
	}
	return nil
}

// examine fetches a lease and makes of it all that can be made without
// knowing the rest of the crawl. An error ends the crawl.
func (d *driver) examine(ctx context.Context, l web.Lease, cores *cores, f *ongoingFetch) (Arrival, error) {
	limited, cancel := within(ctx, d.Clock, l.Patience)
	if f != nil {
		limited = web.WithStages(limited, f.enter)
	}
	r, err := d.Fetcher.Fetch(limited, l.URL)
	late := err != nil && context.Cause(limited) == errLate
	cancel()
	switch {
	case ctx.Err() != nil:
		return Arrival{}, ctx.Err()
	case late:
		r, err = nil, Late(&l)
	}
	if r != nil && d.Sites != nil {
		asks := ctx
		if f != nil {
			asks = web.WithStages(ctx, f.enter)
		}
		if err := d.Sites.Complete(asks, r); err != nil { // the page is there: its site has the whole time
			return Arrival{}, err
		}
	}
	size := 0
	if r != nil {
		size = len(r.Body)
	}
	f.enter(web.StageExamine)
	leave := cores.take(size)
	defer func() { leave() }()
	wording := d.wording.Load()
	a, err := d.Crawl.examine(ctx, l, r, err, func(wait func()) {
		leave()
		f.enter(web.StageBrowser)
		wait()
		f.enter(web.StageExamine)
		leave = cores.take(size)
	})
	a.wording = wording
	if a.Response != nil { // what is kept of the body is in the page and the record
		light := *a.Response
		light.Raw, light.Body, light.Rendering = nil, nil, nil
		a.Response = &light
	}
	return a, err
}
