package parse

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/atom"
)

// foreign tells whether a token is of SVG or MathML, by the innermost element.
//
// Source: HTML Standard, 13.2.6, tree construction dispatcher.
func (b *builder) foreign(kind token, a atom.Atom) bool {
	if len(b.open) == 0 {
		return false
	}
	top := b.open.top()
	if top.space == htmlSpace {
		return false
	}
	switch kind {
	case startToken:
		return top.rules&hosting == 0 && (top.rules&hostingText == 0 || a == atom.Mglyph || a == atom.Malignmark)
	case textToken:
		return top.rules&(hosting|hostingText) == 0
	}
	return true
}

// insertForeign begins an element of SVG or MathML, and ends it if its tag does.
func (b *builder) insertForeign(t *tag, s space) {
	e := openElement{atom: t.atom, space: s, name: bytes.Clone(t.name)}
	name := e.name
	switch s {
	case svgSpace:
		switch t.atom {
		case atom.Title, atom.Desc, atom.Foreignobject:
			e.rules = barrier | scopeEnd | hosting
		}
		if adjusted := svgNames[string(name)]; adjusted != "" {
			name = []byte(adjusted)
		}
	case mathSpace:
		switch t.atom {
		case atom.Mi, atom.Mo, atom.Mn, atom.Ms, atom.Mtext:
			e.rules = barrier | scopeEnd | hostingText
		case atom.AnnotationXml:
			b.needTree("annotation-xml")
		}
	}
	b.values.set(t, true)
	b.push(e, name)
	if t.closesItself() {
		b.pop()
	}
}

// foreignStart handles a start tag in SVG or MathML. It tells whether that is
// done; otherwise the tag has ended them.
//
// Source: HTML Standard, 13.2.6.5.
func (b *builder) foreignStart(t *tag) (done bool) {
	if breaksOut(t) {
		i := len(b.open) - 1
		for b.open[i].space != htmlSpace && b.open[i].rules&(hosting|hostingText) == 0 {
			i--
		}
		b.popTo(i + 1)
		return false
	}
	switch t.atom {
	case atom.Title, atom.Script, atom.Style:
	default:
		if rulesOf(t.atom) != 0 {
			b.needTree("foreign element with the name of an HTML element")
			return true
		}
	}
	b.insertForeign(t, b.open.top().space)
	return true
}

// foreignEnd handles an end tag in SVG or MathML. It tells whether that is done.
func (b *builder) foreignEnd(a atom.Atom, name []byte) (done bool) {
	for i := len(b.open) - 1; b.open[i].space != htmlSpace; i-- {
		if bytes.EqualFold(b.open[i].name, name) {
			b.popTo(i)
			return true
		}
	}
	return false
}

// breaksOut tells whether a tag ends all of SVG or MathML.
func breaksOut(t *tag) bool {
	switch t.atom {
	case atom.B, atom.Big, atom.Blockquote, atom.Body, atom.Br, atom.Center, atom.Code, atom.Dd, atom.Div, atom.Dl,
		atom.Dt, atom.Em, atom.Embed, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Hr,
		atom.I, atom.Img, atom.Li, atom.Listing, atom.Menu, atom.Meta, atom.Nobr, atom.Ol, atom.P, atom.Pre,
		atom.Ruby, atom.S, atom.Small, atom.Span, atom.Strong, atom.Strike, atom.Sub, atom.Sup, atom.Table, atom.Tt,
		atom.U, atom.Ul, atom.Var:
		return true
	case atom.Font:
		for _, key := range []string{"color", "face", "size"} {
			if _, ok := t.attr(key); ok {
				return true
			}
		}
	}
	return false
}

// foreignHref is the raw value of the first attribute href or xlink:href.
func (t *tag) foreignHref() (raw []byte, ok bool) {
	for _, a := range t.attrs {
		switch key := t.src[a.key.start:a.key.end]; {
		case equalFold(key, []byte("href")), equalFold(key, []byte("xlink:href")):
			return t.src[a.value.start:a.value.end], true
		}
	}
	return nil, false
}

// svgNames are the names of SVG that are not in lower case, by their lower case.
//
// Source: HTML Standard, 13.2.6.5.
var svgNames = func() map[string]string {
	names := make(map[string]string)
	for name := range strings.FieldsSeq(`altGlyph altGlyphDef altGlyphItem animateColor animateMotion
		animateTransform clipPath feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix
		feDiffuseLighting feDisplacementMap feDistantLight feFlood feFuncA feFuncB feFuncG feFuncR
		feGaussianBlur feImage feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight
		feTile feTurbulence foreignObject glyphRef linearGradient radialGradient textPath`) {
		names[strings.ToLower(name)] = name
	}
	return names
}()
