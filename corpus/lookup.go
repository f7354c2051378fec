package corpus

import (
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Lookup looks pages up in a recorded web, and remembers the latest.
type Lookup struct {
	web    *Web
	parser *parse.Parser
	pages  map[web.URL]*web.Page
}

// NewLookup looks up in a web that stays open.
func NewLookup(w *Web) *Lookup {
	return &Lookup{w, parse.New(parse.Options{Analyzer: text.NewAnalyzer(), Canon: w.Canon()}), map[web.URL]*web.Page{}}
}

// Page is the page of an address, of which redirects are none. It is not for
// concurrent use.
func (r *Lookup) Page(u web.URL) (*web.Page, bool) {
	if p, ok := r.pages[u]; ok {
		return p, p != nil
	}
	var page *web.Page
	if resp, err := r.web.Lookup(u); err == nil && resp.Status/100 == 2 {
		page, _ = r.parser.Parse(resp) // what is no page is none
	}
	if len(r.pages) >= 10_000 {
		clear(r.pages)
	}
	r.pages[u] = page
	return page, page != nil
}
