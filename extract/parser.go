package extract

import (
	"sync/atomic"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/web"
)

// Reader makes pages and document trees of responses, as parse.Parser does.
type Reader interface {
	Parse(*web.Response) (*web.Page, error)
	Tree(r *web.Response, maxTags int) (root *html.Node, cut bool, err error)
}

// Parser makes pages with the values of fields (web.Page.Values). Beside its count it is
// pure; it is safe for concurrent use if its reader is.
type Parser struct {
	Reader
	Fields *Fields
	Short  *atomic.Int64 // counts the pages that are Page.Short; nil = nobody asks
}

// Parse makes the page of a response.
func (p Parser) Parse(r *web.Response) (*web.Page, error) {
	page, err := p.Reader.Parse(r)
	if err != nil {
		return nil, err
	}
	own, err := Open(p.Reader, r)
	if err != nil {
		return nil, err
	}
	page.Values = p.Fields.Values(own)
	if p.Short != nil && own.Short() {
		p.Short.Add(1)
	}
	return page, nil
}

// Open is the page of a response in the form in which values are looked for. Of a page
// with more than 50,000 tags the rest is left out.
func Open(by Reader, r *web.Response) (*Page, error) {
	root, _, err := by.Tree(r, maxTags)
	if err != nil {
		return nil, err
	}
	return NewPage(r.URL, root), nil
}
