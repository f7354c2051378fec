package web

import (
	"slices"
	"strings"
)

// Tells tells whether an address repeats, in its host or behind it, what lets the user in at the site of the
// response or at that host, or did so before that was concealed. Addresses are kept in many places.
func (r *Response) Tells(u URL) bool {
	s := u.String()
	return IsConcealed(s) || r.Conceal != nil && r.Conceal(s) != s
}

// IsConcealed tells whether something of a text is concealed.
func IsConcealed(text string) bool { return strings.Contains(text, Concealed) }

// WithoutConcealed leaves the links of a page out that repeated what lets the user in, before that was concealed
// in the document, and counts them in Telling.
func (p *Page) WithoutConcealed() {
	all := len(p.Links)
	p.Links = slices.DeleteFunc(p.Links, func(l Link) bool { return IsConcealed(l.URL.String()) })
	p.Telling += all - len(p.Links)
}

// WithoutTelling is a page made of the response without the links that repeat what lets the user in, which it
// adds to Telling, and with Concealed in place of it in its title and in the anchors. What the body repeats is
// concealed in it; here it is what stands in a compressed part of a document. It is p where there is nothing to
// leave out.
func (r *Response) WithoutTelling(p *Page) *Page {
	if r.Conceal == nil {
		return p
	}
	more := *p
	more.Title = r.Conceal(p.Title)
	more.Links = make([]Link, 0, len(p.Links))
	for _, l := range p.Links {
		if r.Tells(l.URL) {
			more.Telling++
			continue
		}
		l.Anchor = r.Conceal(l.Anchor)
		more.Links = append(more.Links, l)
	}
	return &more
}
