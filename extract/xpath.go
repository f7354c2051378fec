package extract

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/event"
)

const (
	// maxSteps bounds the moves of an XPath over a page, and of a path of properties over
	// the things that it describes: some tenths of a second.
	maxSteps = 5_000_000
	// bytesPerStep is how many bytes of a text are looked at in the time of a move.
	bytesPerStep = 16
)

// errSteps ends an evaluation that takes too long.
var errSteps = errors.New("too many steps")

// compileXPath reads an expression and tries it on a small page.
func compileXPath(s string) (e *xpath.Expr, err error) {
	if e, err = parseXPath(s); err != nil {
		return nil, fmt.Errorf("%q: %w%s", s, err, understood(s))
	}
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("%q: %v", s, r)
		}
	}()
	doc, err := html.Parse(strings.NewReader(`<title>a</title><p class=b>c<a href=d>e</a>`))
	if err != nil {
		return nil, err
	}
	steps := maxSteps
	if it, ok := e.Evaluate(&navigator{root: doc, at: doc, attr: -1, steps: &steps}).(*xpath.NodeIterator); ok {
		for it.MoveNext() {
		}
	}
	return e, nil
}

// parseXPath reads an expression.
func parseXPath(s string) (e *xpath.Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("%v", r)
		}
	}()
	return xpath.Compile(s)
}

// understood says how far an expression with an error can be read, "" where not at all: the
// reader of expressions tells no place.
func understood(s string) string {
	for n := len(s) - 1; n > 0; n-- {
		if _, err := parseXPath(s[:n]); err == nil {
			return fmt.Sprintf("; it can be read up to %q", s[:n])
		}
	}
	return ""
}

// eachXPath gives what an expression finds. A page on which it takes too many steps, or
// fails, has no more values.
func eachXPath(p *Page, s *Selector, f func(candidate) bool) {
	steps := maxSteps
	var found any
	if !p.tried(func() { found = s.xpath.Evaluate(&navigator{root: p.root, at: p.root, attr: -1, steps: &steps}) }) {
		return
	}
	switch v := found.(type) {
	case string:
		f(candidate{event.Line(v), 0})
	case float64:
		f(candidate{strconv.FormatFloat(v, 'f', -1, 64), 0})
	case bool:
		f(candidate{strconv.FormatBool(v), 0})
	case *xpath.NodeIterator:
		at := p.byNode()
		for more := true; p.tried(func() { more = v.MoveNext() }) && more; {
			nav := v.Current().(*navigator)
			if nav.attr >= 0 {
				a := nav.at.Attr[nav.attr]
				if !f(candidate{p.resolved(a.Key, a.Val), p.elements[at[nav.at]].words}) {
					return
				}
				continue
			}
			i, ok := at[nav.at]
			switch {
			case ok && !s.taken(p, i, f):
				return
			case !ok && nav.at.Type == html.TextNode:
				k := p.textAt(at, nav.at)
				if !f(candidate{event.Line(nav.at.Data), k}) {
					return
				}
			}
		}
	}
}

// tried lets the library work, which panics where an expression does not fit the page,
// and tells whether it did not. A page that takes too many steps is marked.
func (p *Page) tried(work func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			p.short = p.short || r == any(errSteps)
			ok = false
		}
	}()
	work()
	return true
}

// byNode are the elements of a page by their nodes.
func (p *Page) byNode() map[*html.Node]int {
	at := make(map[*html.Node]int, len(p.elements))
	for i := range p.elements {
		at[p.elements[i].node] = i
	}
	return at
}

// textAt is how many words stand before a text node.
func (p *Page) textAt(at map[*html.Node]int, n *html.Node) int {
	i, ok := at[n.Parent]
	if !ok {
		return 0
	}
	line := event.Line(n.Data)
	for k := p.elements[i].texts.start; k < p.elements[i].texts.end; k++ {
		if p.texts[k].parent == i && p.texts[k].line == line {
			return p.texts[k].words
		}
	}
	return p.elements[i].words
}

// navigator walks over a tree for the library, which asks for each move by itself.
type navigator struct {
	root, at *html.Node
	attr     int  // index of an attribute of at, -1 = none
	steps    *int // that are left, of all copies
}

var _ xpath.NodeNavigator = (*navigator)(nil)

func (n *navigator) step() {
	if *n.steps--; *n.steps < 0 {
		panic(errSteps)
	}
}

func (n *navigator) NodeType() xpath.NodeType {
	switch {
	case n.attr >= 0:
		return xpath.AttributeNode
	case n.at.Type == html.TextNode:
		return xpath.TextNode
	case n.at.Type == html.CommentNode:
		return xpath.CommentNode
	case n.at.Type == html.ElementNode:
		return xpath.ElementNode
	}
	return xpath.RootNode
}

func (n *navigator) LocalName() string {
	switch {
	case n.attr >= 0:
		return n.at.Attr[n.attr].Key
	case n.at.Type == html.ElementNode:
		return n.at.Data
	}
	return ""
}

func (*navigator) Prefix() string { return "" }

// Value is a text or an attribute; of an element all text in it. It is at most maxText
// bytes.
func (n *navigator) Value() string {
	switch {
	case n.attr >= 0:
		return n.read(n.at.Attr[n.attr].Val, maxText)
	case n.at.Type == html.TextNode || n.at.Type == html.CommentNode:
		return n.read(n.at.Data, maxText)
	}
	var b strings.Builder
	for c := range n.at.Descendants() {
		if b.Len() == maxText {
			break
		}
		if n.step(); c.Type == html.TextNode {
			text := n.read(c.Data, maxText-b.Len())
			b.WriteString(text)
			if len(text) < len(c.Data) {
				break
			}
		}
	}
	return b.String()
}

// read is the start of s of at most size bytes, for which it takes steps.
func (n *navigator) read(s string, size int) string {
	if len(s) > size {
		for size > 0 && !utf8.RuneStart(s[size]) {
			size--
		}
		s = s[:size]
	}
	if *n.steps -= len(s) / bytesPerStep; *n.steps < 0 {
		panic(errSteps)
	}
	return s
}

func (n *navigator) Copy() xpath.NodeNavigator {
	n.step()
	own := *n
	return &own
}

func (n *navigator) MoveToRoot() { n.at, n.attr = n.root, -1 }

func (n *navigator) MoveToParent() bool {
	n.step()
	if n.attr >= 0 {
		n.attr = -1
		return true
	}
	return n.to(n.at.Parent)
}

func (n *navigator) to(next *html.Node) bool {
	if next == nil || n.attr >= 0 {
		return false
	}
	n.at = next
	return true
}

func (n *navigator) MoveToNextAttribute() bool {
	n.step()
	if n.at.Type != html.ElementNode || n.attr+1 >= len(n.at.Attr) {
		return false
	}
	n.attr++
	return true
}

func (n *navigator) MoveToChild() bool {
	n.step()
	return n.to(skipped(n.at.FirstChild))
}

// skipped is n, or what follows it, without document types.
func skipped(n *html.Node) *html.Node {
	for n != nil && n.Type == html.DoctypeNode {
		n = n.NextSibling
	}
	return n
}

func (n *navigator) MoveToFirst() bool {
	n.step()
	if n.attr >= 0 || n.at.Parent == nil || n.at.PrevSibling == nil {
		return false
	}
	n.at = n.at.Parent.FirstChild
	return true
}

func (n *navigator) MoveToNext() bool {
	n.step()
	return n.at != n.root && n.to(skipped(n.at.NextSibling))
}

func (n *navigator) MoveToPrevious() bool {
	n.step()
	return n.at != n.root && n.to(n.at.PrevSibling)
}

func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	n.step()
	o, ok := other.(*navigator)
	if !ok || o.root != n.root {
		return false
	}
	n.at, n.attr = o.at, o.attr
	return true
}
