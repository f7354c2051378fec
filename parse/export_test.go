package parse

import "github.com/waggle-crawler/waggle/web"

// ParseTree is Parse by way of a tree.
func (p *Parser) ParseTree(r *web.Response) (*web.Page, error) {
	page, _, err := p.parse(r, true)
	return page, err
}

// Excessive tells whether a page is pruned before it is read.
func Excessive(src []byte) bool { return excessive(src) }

// ParseStream is Parse, and why it needed a tree, "" if it did not.
func (p *Parser) ParseStream(r *web.Response) (page *web.Page, beyond string, err error) {
	return p.parse(r, false)
}
