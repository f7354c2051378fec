package explain

import (
	"context"
	"fmt"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// unrendered says in a sentence why no browser was asked for a page that was fetched.
func unrendered(ctx context.Context, col collection.Collection, documents parse.Documents, u web.URL) (string, error) {
	m, err := makerOf(col, documents)
	if err != nil {
		return "", err
	}
	defer m.Close()
	how := crawl.Render(m.Job.Fetch.Render)
	if how == crawl.RenderNever {
		return "No browser was asked for it: rendering is off (fetch.render: never).", nil
	}
	if err := m.MakeJudge(ctx); err != nil {
		return "", err
	}
	r, err := col.Finder().Response(ctx, u)
	if err != nil {
		return "", err
	}
	p, err := m.Parser.Parse(r)
	if err != nil {
		return "", err
	}
	why, byGains := crawl.Unrendered(how, !m.Job.Judge.CountHollow, r, p)
	if !byGains {
		return "No browser was asked for it: " + why + ".", nil
	}
	all, host := 0, 0 // rendered before it
	for e, err := range col.Visits() {
		if err != nil {
			return "", err
		}
		f, ok := e.(event.Fetched)
		switch {
		case ok && f.URL == u:
			return byGain(why, all, host), nil
		case ok && f.Rendered != nil:
			if all++; f.URL.Host() == u.Host() {
				host++
			}
		}
	}
	return byGain(why, all, host), nil
}

// byGain says why a page of a kind was not worth a browser: all pages of the crawl were rendered
// before it, and host of them of its host.
func byGain(kind string, all, host int) string {
	if all == 0 {
		return "No browser was asked for it: pages with " + kind + " are expected to gain too little (see waggle help rendering), the web is a recorded one, or no browser was found (older logs do not say). No page was rendered before it."
	}
	return fmt.Sprintf("No browser was asked for it: pages with %s had gained too little by rendering to try this one (see waggle help rendering); of its host %s had been rendered before it, of the crawl %s.",
		kind, terminal.Count(host, "page"), terminal.Number(all))
}
