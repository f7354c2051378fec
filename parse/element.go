package parse

import (
	"bytes"

	"golang.org/x/net/html/atom"
)

// rules say what tree construction asks of an open element. They are a set.
//
// Source: HTML Standard, 13.2.4.2, the stack of open elements, and 13.2.6.3,
// closing elements that have implied end tags, as x/net/html has them.
type rules uint16

const (
	barrier     rules = 1 << iota // "special": no end tag of an ordinary element reaches beyond it
	implied                       // its end tag can be left out
	scopeEnd                      // bounds every scope but that of tables
	listEnd                       // bounds the scope of list items too
	buttonEnd                     // bounds the scope of p too
	tableEnd                      // bounds the scope of tables
	outermost                     // html, template: bounds what is cleared in a table
	rowGroup                      // tbody, thead, tfoot
	row                           // tr
	cell                          // td, th
	numbered                      // h1 to h6
	transparent                   // a barrier that li, dd and dt reach beyond
	hosting                       // of SVG: what is in it is HTML
	hostingText                   // of MathML: text and most tags in it are HTML
)

// rulesOf are the rules of an HTML element.
func rulesOf(a atom.Atom) rules {
	switch a {
	case atom.P:
		return barrier | implied | transparent
	case atom.Address, atom.Div:
		return barrier | transparent
	case atom.Li, atom.Dd, atom.Dt:
		return barrier | implied
	case atom.Optgroup, atom.Option, atom.Rb, atom.Rp, atom.Rt, atom.Rtc:
		return implied
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return barrier | numbered
	case atom.Ul, atom.Ol:
		return barrier | listEnd
	case atom.Button:
		return barrier | buttonEnd
	case atom.Applet, atom.Caption, atom.Marquee, atom.Object, atom.Select:
		return barrier | scopeEnd
	case atom.Html, atom.Template:
		return barrier | scopeEnd | tableEnd | outermost
	case atom.Table:
		return barrier | scopeEnd | tableEnd
	case atom.Tbody, atom.Thead, atom.Tfoot:
		return barrier | rowGroup
	case atom.Tr:
		return barrier | row
	case atom.Td, atom.Th:
		return barrier | scopeEnd | cell
	case atom.Area, atom.Article, atom.Aside, atom.Base, atom.Basefont, atom.Bgsound, atom.Blockquote, atom.Body,
		atom.Br, atom.Center, atom.Col, atom.Colgroup, atom.Details, atom.Dir, atom.Dl, atom.Embed, atom.Fieldset,
		atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.Frame, atom.Frameset, atom.Head, atom.Header,
		atom.Hgroup, atom.Hr, atom.Iframe, atom.Img, atom.Input, atom.Keygen, atom.Link, atom.Listing, atom.Main,
		atom.Menu, atom.Meta, atom.Nav, atom.Noembed, atom.Noframes, atom.Noscript, atom.Param, atom.Plaintext,
		atom.Pre, atom.Script, atom.Section, atom.Source, atom.Style, atom.Summary, atom.Textarea, atom.Title,
		atom.Track, atom.Wbr, atom.Xmp:
		return barrier
	}
	return 0
}

// space is a namespace.
type space uint8

const (
	htmlSpace space = iota
	svgSpace
	mathSpace
)

// openElement is an element whose end has not been met.
type openElement struct {
	atom  atom.Atom
	rules rules
	space space
	id    int    // unique on the page, from 1 on
	name  []byte // in lower case, where atom is 0
}

// is tells whether it is the HTML element of that name.
func (e *openElement) is(a atom.Atom) bool { return e.atom == a && e.space == htmlSpace }

// named tells whether it is the HTML element that a tag names.
func (e *openElement) named(a atom.Atom, name []byte) bool {
	return e.is(a) && (a != 0 || len(name) > 0 && bytes.Equal(e.name, name))
}

// stack holds the open elements, html first. An element that was taken out of the
// middle is a zero openElement: nothing finds it, and it ends when it comes to
// be the innermost.
//
// Source: HTML Standard, 13.2.4.2.
type stack []openElement

// top is the current node. The stack is not empty.
func (s stack) top() *openElement { return &s[len(s)-1] }

// index is where the element with an id is, −1 if it is not open.
func (s stack) index(id int) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].id == id {
			return i
		}
	}
	return -1
}

// inScope is the index of the innermost HTML element with the given name that no
// element with one of the bounds lies within, −1 if there is none.
func (s stack) inScope(bounds rules, a atom.Atom) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].is(a) {
			return i
		}
		if s[i].rules&bounds != 0 {
			return -1
		}
	}
	return -1
}

// rulesInScope is like inScope, for any HTML element with one of the rules.
func (s stack) rulesInScope(bounds, r rules) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].rules&r != 0 && s[i].space == htmlSpace {
			return i
		}
		if s[i].rules&bounds != 0 {
			return -1
		}
	}
	return -1
}

// hasForeign tells whether an element of SVG or MathML is open.
func (s stack) hasForeign() bool {
	for i := range s {
		if s[i].space != htmlSpace {
			return true
		}
	}
	return false
}

// The scopes of the standard, by what bounds them.
const (
	anyScope    = scopeEnd
	listScope   = scopeEnd | listEnd
	buttonScope = scopeEnd | buttonEnd
	tableScope  = tableEnd
)
