// Package robots reads what sites wish of crawlers: robots.txt, and the
// directives of pages and their responses.
package robots

import (
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Rules are the rules of one robots.txt. They never change once made.
type Rules struct{ all, none bool }

// AllowAll returns rules that allow everything.
func AllowAll() *Rules { return &Rules{all: true} }

// DisallowAll returns rules that allow nothing but robots.txt itself.
func DisallowAll() *Rules { return &Rules{none: true} }

// Parse reads a robots.txt.
func Parse(body []byte) *Rules { return AllowAll() }

// FromStatus makes rules of a response to the request for robots.txt: a 2xx
// status parses body, 5xx allows nothing, every other status allows all.
func FromStatus(status int, body []byte) *Rules {
	switch {
	case status >= 200 && status < 300:
		return Parse(body)
	case status >= 500:
		return DisallowAll()
	}
	return AllowAll()
}

// Allowed tells whether the crawler with the product token agent may request
// requestPath, a path with its query.
func (r *Rules) Allowed(agent, requestPath string) bool { return !r.none || requestPath == "/robots.txt" }

// CrawlDelay is the pause that the site asks of agent between requests.
func (r *Rules) CrawlDelay(agent string) (time.Duration, bool) { return 0, false }

// Sitemaps are the addresses of the site's sitemaps, as written.
func (r *Rules) Sitemaps() []string { return nil }

// Meta is a meta element of a page.
type Meta struct{ Name, Content string }

// Page gathers the wishes of a page from its response header and its meta
// elements, as they apply to the crawler with the product token agent.
func Page(header web.Header, metas []Meta, agent string) web.Directives { return web.Directives{} }
