package web

// Tells tells whether an address repeats, behind its host, what lets the user in at the site of the
// response, or at that host. Addresses are kept in many places.
func (r *Response) Tells(u URL) bool {
	if r.TellsElsewhere != nil && r.TellsElsewhere(u) {
		return true
	}
	if r.Conceal == nil {
		return false
	}
	path := u.RequestPath()
	return r.Conceal(path) != path
}

// WithoutTelling is a page made of the response without the links that repeat what lets the user in, how
// many they are, and with Concealed in place of it in its title and in the anchors. It is p where there is
// nothing to leave out.
func (r *Response) WithoutTelling(p *Page) (out *Page, left int) {
	if r.Conceal == nil && r.TellsElsewhere == nil {
		return p, 0
	}
	conceal := r.Conceal
	if conceal == nil {
		conceal = func(text string) string { return text }
	}
	more := *p
	more.Title = conceal(p.Title)
	more.Links = make([]Link, 0, len(p.Links))
	for _, l := range p.Links {
		if r.Tells(l.URL) {
			left++
			continue
		}
		l.Anchor = conceal(l.Anchor)
		more.Links = append(more.Links, l)
	}
	return &more, left
}
