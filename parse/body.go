package parse

import "golang.org/x/net/html/atom"

// startTag meets a start tag.
func (b *builder) startTag(t *tag) {
	if b.foreign(startToken, t.atom) && b.foreignStart(t) {
		return
	}
	for b.beyond == "" && !b.startIn(t) {
	}
}

// endTag meets an end tag.
func (b *builder) endTag(a atom.Atom, name []byte) {
	if b.foreign(endToken, a) && b.foreignEnd(a, name) {
		return
	}
	for b.beyond == "" && !b.endIn(a, name) {
	}
}

// startImplied meets a start tag that stands nowhere.
func (b *builder) startImplied(a atom.Atom) {
	b.startTag(&tag{atom: a, name: []byte(a.String())})
}

// startIn handles a start tag in the present mode. It tells whether that is done;
// otherwise the mode is another now.
//
// Source: HTML Standard, 13.2.6.4.1 to 13.2.6.4.22.
func (b *builder) startIn(t *tag) (done bool) {
	switch b.mode {
	case initial, beforeHTML:
		if t.atom == atom.Html {
			b.quirks = b.quirks || b.mode == initial
			b.insert(t)
			b.mode = beforeHead
			return true
		}
		b.beginHTML()
		return false
	case beforeHead:
		switch t.atom {
		case atom.Head:
			b.insert(t)
			b.mode = inHead
			return true
		case atom.Html:
			b.merge(t)
			return true
		}
		b.beginHead()
		return false
	case inHead:
		if t.atom == atom.Html {
			b.merge(t)
			return true
		}
		if t.atom == atom.Head || b.headStart(t) {
			return true
		}
		b.mode = afterHead
		return false
	case afterHead:
		switch t.atom {
		case atom.Html:
			b.merge(t)
			return true
		case atom.Head:
			return true
		case atom.Body:
			b.popTo(1)
			b.insert(t)
			b.mode = inBody
			return true
		case atom.Frameset:
			b.needTree("frames")
			return true
		}
		if b.headStart(t) {
			return true
		}
		b.beginBody()
		return false
	case inTable:
		return b.startInTable(t)
	case inTableBody:
		return b.startInTableBody(t)
	case inRow:
		return b.startInRow(t)
	case inCell:
		return b.startInCell(t)
	case inCaption:
		return b.startInCaption(t)
	case inColumnGroup:
		return b.startInColumnGroup(t)
	case afterBody, afterAfterBody:
		if t.atom == atom.Html {
			b.merge(t)
			return true
		}
		b.mode = inBody
		return false
	}
	b.startInBody(t)
	return true
}

// endIn handles an end tag in the present mode, as startIn does a start tag.
func (b *builder) endIn(a atom.Atom, name []byte) (done bool) {
	switch b.mode {
	case initial, beforeHTML, beforeHead:
		switch a {
		case atom.Head, atom.Body, atom.Html, atom.Br:
			b.beginHead()
			return false
		}
		if b.mode == initial {
			b.quirks, b.mode = true, beforeHTML
		}
		return true
	case inHead, afterHead:
		switch a {
		case atom.Body, atom.Html, atom.Br:
			b.beginBody()
			return false
		case atom.Head:
			b.mode = afterHead
		}
		return true
	case inTable:
		return b.endInTable(a, name)
	case inTableBody:
		return b.endInTableBody(a, name)
	case inRow:
		return b.endInRow(a, name)
	case inCell:
		return b.endInCell(a, name)
	case inCaption:
		return b.endInCaption(a, name)
	case inColumnGroup:
		return b.endInColumnGroup(a)
	case afterBody:
		if a == atom.Html {
			b.mode = afterAfterBody
			return true
		}
		b.mode = inBody
		return false
	case afterAfterBody:
		b.mode = inBody
		return false
	}
	return b.endInBody(a, name)
}

// headStart inserts the elements that belong in the head, wherever they stand. It
// tells whether the tag is of one.
//
// Source: HTML Standard, 13.2.6.4.4.
func (b *builder) headStart(t *tag) bool {
	switch t.atom {
	case atom.Base, atom.Basefont, atom.Bgsound, atom.Link, atom.Meta:
		b.insertEmpty(t)
	case atom.Script, atom.Style, atom.Noframes, atom.Title:
		b.rawElement(t)
	case atom.Noscript:
		if b.mode != inHead {
			return false
		}
		b.rawElement(t)
	case atom.Template:
		b.needTree("a template")
	default:
		return false
	}
	return true
}

// merge meets a second <html> or <body>, whose attributes the first one gets.
func (b *builder) merge(t *tag) {
	for _, key := range []string{"class", "lang", "xml:lang"} {
		if _, ok := t.attr(key); ok {
			b.needTree("a second root element with attributes")
		}
	}
}

// closeP ends the paragraph that is open, if any.
func (b *builder) closeP() { b.popFrom(b.open.inScope(buttonScope, atom.P)) }

// closeImplied ends the innermost elements whose end tags can be left out, but for
// one of that name.
//
// Source: HTML Standard, 13.2.6.3.
func (b *builder) closeImplied(except atom.Atom) {
	for top := b.open.top(); top.rules&implied != 0 && top.atom != except; top = b.open.top() {
		b.pop()
	}
}

// closeItem ends the item that another one follows.
func (b *builder) closeItem(x, y atom.Atom) {
	for i := len(b.open) - 1; i >= 0; i-- {
		e := &b.open[i]
		if e.is(x) || e.is(y) {
			b.popTo(i)
			break
		}
		if e.rules&barrier != 0 && e.rules&transparent == 0 {
			break
		}
	}
	b.closeP()
}

// startInBody handles a start tag in the body.
//
// Source: HTML Standard, 13.2.6.4.7.
func (b *builder) startInBody(t *tag) {
	switch t.atom {
	case atom.Html, atom.Body:
		b.merge(t)
	case atom.Base, atom.Basefont, atom.Bgsound, atom.Link, atom.Meta, atom.Noframes, atom.Script, atom.Style,
		atom.Template, atom.Title:
		b.headStart(t)
	case atom.Frameset:
		b.needTree("frames")
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Details, atom.Dialog, atom.Dir,
		atom.Div, atom.Dl, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Header, atom.Hgroup,
		atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Search, atom.Section, atom.Summary, atom.Ul,
		atom.Pre, atom.Listing:
		b.closeP()
		b.insert(t)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		b.closeP()
		if b.open.top().rules&numbered != 0 {
			b.pop()
		}
		b.insert(t)
	case atom.Form:
		if b.form == 0 {
			b.closeP()
			b.insert(t)
			b.form = b.ids
		}
	case atom.Li:
		b.closeItem(atom.Li, atom.Li)
		b.insert(t)
	case atom.Dd, atom.Dt:
		b.closeItem(atom.Dd, atom.Dt)
		b.insert(t)
	case atom.Plaintext:
		b.closeP()
		b.insert(t)
		rest := b.rawText(atom.Plaintext)
		b.takeText(b.src[rest.start:rest.end], false)
	case atom.Button:
		if i := b.open.inScope(anyScope, atom.Button); i >= 0 {
			b.popTo(i)
		}
		b.reconstruct()
		b.insert(t)
	case atom.A:
		if i := b.lastActive(atom.A, len(b.active)); i >= 0 {
			id := b.active[i].id
			b.endFormatting(atom.A)
			b.remove(id)
			if i := b.activeIndex(id); i >= 0 {
				b.active = append(b.active[:i], b.active[i+1:]...)
			}
		}
		b.reconstruct()
		b.insertFormatting(t)
	case atom.Nobr:
		b.reconstruct()
		if b.open.inScope(anyScope, atom.Nobr) >= 0 {
			b.endFormatting(atom.Nobr)
			b.reconstruct()
		}
		b.insertFormatting(t)
	case atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.S, atom.Small, atom.Strike, atom.Strong,
		atom.Tt, atom.U:
		b.reconstruct()
		b.insertFormatting(t)
	case atom.Applet, atom.Marquee, atom.Object:
		b.reconstruct()
		b.insert(t)
		b.mark()
	case atom.Table:
		if !b.quirks {
			b.closeP()
		}
		b.insert(t)
		b.mode = inTable
	case atom.Image:
		img := *t
		img.atom, img.name = atom.Img, []byte("img")
		b.startTag(&img)
	case atom.Area, atom.Br, atom.Embed, atom.Img, atom.Keygen, atom.Wbr:
		b.reconstruct()
		b.insertEmpty(t)
	case atom.Param, atom.Source, atom.Track:
		b.insertEmpty(t)
	case atom.Xmp:
		b.closeP()
		b.reconstruct()
		b.rawElement(t)
	case atom.Textarea, atom.Iframe, atom.Noembed, atom.Noscript:
		b.rawElement(t)
	case atom.Math:
		b.reconstruct()
		b.insertForeign(t, mathSpace)
	case atom.Svg:
		b.reconstruct()
		b.insertForeign(t, svgSpace)
	case atom.Caption, atom.Col, atom.Colgroup, atom.Frame, atom.Head, atom.Tbody, atom.Td, atom.Tfoot, atom.Th,
		atom.Thead, atom.Tr:
	case atom.Input, atom.Hr, atom.Select, atom.Option, atom.Optgroup, atom.Rb, atom.Rtc, atom.Rp, atom.Rt:
		b.startInSelectOrRuby(t)
	default:
		b.reconstruct()
		b.insert(t)
	}
}

// startInSelectOrRuby handles the start tags in the body for which it matters
// whether a select or a ruby is open.
//
// Source: HTML Standard, 13.2.6.4.7.
func (b *builder) startInSelectOrRuby(t *tag) {
	selecting := b.open.inScope(anyScope, atom.Select)
	ruby := b.open.inScope(anyScope, atom.Ruby) >= 0
	switch t.atom {
	case atom.Input:
		b.popFrom(selecting)
		b.reconstruct()
		b.insertEmpty(t)
	case atom.Hr:
		b.closeP()
		if b.open.inScope(anyScope, atom.Select) >= 0 {
			b.closeImplied(0)
		}
		b.insertEmpty(t)
	case atom.Select:
		if !b.popFrom(selecting) {
			b.reconstruct()
			b.insert(t)
		}
	case atom.Option, atom.Optgroup:
		switch {
		case selecting >= 0 && t.atom == atom.Option:
			b.closeImplied(atom.Optgroup)
		case selecting >= 0:
			b.closeImplied(0)
		case b.open.top().is(atom.Option):
			b.pop()
		}
		b.reconstruct()
		b.insert(t)
	case atom.Rb, atom.Rtc:
		if ruby {
			b.closeImplied(0)
		}
		b.insert(t)
	case atom.Rp, atom.Rt:
		if ruby {
			b.closeImplied(atom.Rtc)
		}
		b.insert(t)
	}
}

// endInBody handles an end tag in the body.
//
// Source: HTML Standard, 13.2.6.4.7.
func (b *builder) endInBody(a atom.Atom, name []byte) (done bool) {
	switch a {
	case atom.Body:
		if b.open.inScope(anyScope, atom.Body) >= 0 {
			b.mode = afterBody
		}
	case atom.Html:
		if b.open.inScope(anyScope, atom.Body) >= 0 {
			b.mode = afterBody
			return false
		}
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Button, atom.Center, atom.Details, atom.Dialog,
		atom.Dir, atom.Div, atom.Dl, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Header,
		atom.Hgroup, atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Pre, atom.Search, atom.Section,
		atom.Select, atom.Summary, atom.Ul:
		b.popFrom(b.open.inScope(anyScope, a))
	case atom.Form:
		form := b.form
		b.form = 0
		if i := b.open.inScope(anyScope, atom.Form); form != 0 && i >= 0 && b.open[i].id == form {
			b.closeImplied(0)
			b.remove(form)
		}
	case atom.P:
		if b.open.inScope(buttonScope, atom.P) < 0 {
			b.startImplied(atom.P)
		}
		b.closeP()
	case atom.Li:
		b.popFrom(b.open.inScope(listScope, a))
	case atom.Dd, atom.Dt:
		b.popFrom(b.open.inScope(anyScope, a))
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		b.popFrom(b.open.rulesInScope(anyScope, numbered))
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U:
		b.endFormatting(a)
	case atom.Applet, atom.Marquee, atom.Object:
		if b.popFrom(b.open.inScope(anyScope, a)) {
			b.clearToMark()
		}
	case atom.Br:
		b.startImplied(atom.Br)
	case atom.Template:
	default:
		b.endOther(a, name)
	}
	return true
}
