package event

import (
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Repeats tells whether a page, as it is parsed from an archive, repeats what lets the user in, by what the
// log has of it: links that are left out, and a title and anchors of found links of which something is concealed.
// The log does not tell of what stands in the text of the page alone.
func Repeats(p *web.Page, telling int, title string, found ...Found) bool {
	if telling > 0 || conceals(title, p.Title) {
		return true
	}
	concealed := map[web.URL]string{}
	for _, f := range found {
		if strings.Contains(f.Anchor, web.Concealed) {
			concealed[f.URL] = f.Anchor
		}
	}
	if len(concealed) == 0 {
		return false
	}
	held := false
	for _, l := range p.Links {
		anchor, ok := concealed[l.URL]
		if held = held || ok; ok && !conceals(anchor, l.Anchor) { // the anchor is that of one of its places
			delete(concealed, l.URL)
		}
	}
	return held && len(concealed) > 0
}

// conceals tells whether something of a text is concealed in what is kept of it: pages write an ellipsis, too.
func conceals(kept, text string) bool {
	return kept == web.Concealed && strings.TrimSpace(text) != web.Concealed ||
		strings.Count(kept, web.Concealed) > strings.Count(text, web.Concealed)
}
