package crawl

import (
	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/web"
)

// Unrendered says why no browser was asked for a page, which is as it was sent, in words that
// follow a colon. leftOut says that hollow pages are no harvest. byGains tells that the gains of
// other pages decided: the words are then what pages of its kind have.
func Unrendered(how Render, leftOut bool, r *web.Response, p *web.Page) (why string, byGains bool) {
	hints := look(r.Body)
	switch {
	case how == RenderNever:
		return "rendering is off", false
	case !isHTML(r, p):
		return "it is a document and no HTML", false
	case how == RenderAlways:
		return "the crawl had no browser; a crawl of a recorded web never has one", false
	case !hints.scripts:
		return "there is no script in it that a browser would run", false
	case leftOut && hollow.LoginByTitle(p):
		return "its title says that it asks for a login", false
	}
	sent := contentOf(p)
	switch hints.kind(&sent) {
	case kindBare:
		return "almost no text and no list of links", true
	case kindUnfinished:
		return "something that waits to be filled in", true
	case kindEnd:
		return "hardly any link to their own site", true
	}
	return "text and links as they are sent", true
}
