package store

import (
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// What is kept beside the response for a page, before it.

// siteFile writes the file of a site that was asked for beside a page, as something that
// was asked for with it, and the robots.txt that were asked for on the way.
func (r *renderer) siteFile(f *web.SiteFile) error {
	if f == nil {
		return nil
	}
	if p := f.Response; p != nil {
		if err := r.robots(p.Robots); err != nil {
			return err
		}
		if err := r.exchange(p, nil, "other"); err != nil {
			return err
		}
	}
	return r.robots(f.Robots)
}

// resource writes what a page asked for; without a type it is the robots.txt that refused it.
func (r *renderer) resource(res web.Resource) error {
	if res.Type == "" {
		return r.robots(res.Response)
	}
	return r.exchange(res.Response, nil, res.Type)
}

// rendering writes what a browser made of a response, before that: what the page asked for,
// and the document that it became. So a reader knows the document when it comes to the
// response.
func (r *renderer) rendering(p *web.Response) error {
	by := p.Rendering
	if by == nil {
		return nil
	}
	for _, res := range by.Resources {
		if err := r.robots(res.Robots); err != nil {
			return err
		}
		if err := r.resource(res); err != nil {
			return err
		}
	}
	if by.Body == nil {
		return nil
	}
	r.begin("conversion", recordID("conversion", p.URL.String(), p.Started), by.Started)
	r.field("WARC-Target-URI", p.URL.String())
	r.field("WARC-Refers-To", recordID("response", p.URL.String(), p.Started))
	if by.Ended == web.ReasonRenderSize {
		r.field("WARC-Truncated", "length")
	}
	r.concealed(by.Concealed)
	r.field("Content-Type", typeRendered)
	r.block = r.block[:0]
	r.finish(by.Body)
	return nil
}

// robots writes the response that answered for a robots.txt, if there is one. Where that led to another path, it
// is something else that was asked for: it is not to be taken for a page that was to be had.
func (r *renderer) robots(p *web.Response) error {
	switch {
	case p == nil:
		return nil
	case strings.EqualFold(p.URL.Path(), "/robots.txt"):
		return r.exchange(p, nil, "")
	}
	return r.exchange(p, nil, "other")
}
