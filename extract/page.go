package extract

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Page is a page in the form in which values are looked for. It is for one goroutine.
type Page struct {
	url  web.URL
	base web.URL
	root *html.Node

	elements []element // in document order
	texts    []text    // texts that are shown, in document order
	words    []string  // of the texts, in lower case

	found map[string][]int // elements by CSS
	items *items           // what JSON-LD and microdata say; nil = not read yet
	short bool             // a selector ended for want of steps
}

// element is an element of a page, with the texts and words in it.
type element struct {
	node     *html.Node
	parent   int // index in elements, -1 = none
	previous int // of the sibling before it, -1 = none
	texts    span
	words    int // of the page before it
}

// text is a text node.
type text struct {
	line   string // as event.Line gives it
	parent int    // the element
	words  int    // of the page before it
	space  bool   // it is apart from the text before it
}

type span struct{ start, end int }

// URL is the address of the page.
func (p *Page) URL() web.URL { return p.url }

// Short tells whether a selector took more steps than are permitted, so that values of
// the page may be missing.
func (p *Page) Short() bool { return p.short }

// NewPage reads the document tree of a page. The tree must not change any more.
func NewPage(u web.URL, root *html.Node) *Page {
	p := &Page{url: u, base: u, root: root, found: map[string][]int{}}
	type level struct {
		element  int // index of the parent
		previous int // of its last child so far
	}
	stack := []level{{-1, -1}}
	apart := false // a block began or ended since the last text
	for n := root.FirstChild; n != nil; {
		top := &stack[len(stack)-1]
		down := false
		switch n.Type {
		case html.TextNode:
			p.addText(n.Data, top.element, &apart)
		case html.ElementNode:
			p.elements = append(p.elements, element{node: n, parent: top.element, previous: top.previous, texts: span{len(p.texts), 0}, words: len(p.words)})
			top.previous = len(p.elements) - 1
			apart = apart || parts(n)
			if n.DataAtom == atom.Base && p.base == u {
				if href, ok := attribute(n, "href"); ok {
					if b, err := (web.Canon{}).Resolve(u, href); err == nil {
						p.base = b
					}
				}
			}
			down = !opaque(n)
		}
		if down && n.FirstChild != nil {
			stack = append(stack, level{len(p.elements) - 1, -1})
			n = n.FirstChild
			continue
		}
		if n.Type == html.ElementNode {
			p.elements[len(p.elements)-1].texts.end = len(p.texts)
		}
		for n.NextSibling == nil {
			if n = n.Parent; n == nil || n == root {
				return p
			}
			e := &p.elements[stack[len(stack)-1].element]
			e.texts.end = len(p.texts)
			apart = apart || parts(n)
			stack = stack[:len(stack)-1]
		}
		n = n.NextSibling
	}
	return p
}

func (p *Page) addText(data string, parent int, apart *bool) {
	line := event.Line(data)
	if line == "" {
		*apart = *apart || data != ""
		return
	}
	first, last := data[0], data[len(data)-1]
	p.texts = append(p.texts, text{line, parent, len(p.words), *apart || isSpace(first)})
	*apart = isSpace(last)
	p.words = append(p.words, words(line)...)
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// opaque tells elements whose text is not shown.
func opaque(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Noframes, atom.Noembed, atom.Iframe:
		return true
	}
	return false
}

// parts tells elements that stand apart from the text around them.
func parts(n *html.Node) bool {
	switch n.DataAtom {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn, atom.Em, atom.Font,
		atom.I, atom.Ins, atom.Kbd, atom.Mark, atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub,
		atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr, atom.Nobr:
		return false
	}
	return true
}

// text is all text in an element, in one line; at most maxText bytes.
func (p *Page) text(i int) string {
	e := &p.elements[i]
	switch e.texts.end - e.texts.start {
	case 0:
		return ""
	case 1:
		return cutText(p.texts[e.texts.start].line)
	}
	var b strings.Builder
	for k := e.texts.start; k < e.texts.end && b.Len() < maxText; k++ {
		if k > e.texts.start && p.texts[k].space {
			b.WriteByte(' ')
		}
		b.WriteString(p.texts[k].line)
	}
	return cutText(b.String())
}

// cutText cuts a text to maxText bytes, between letters.
func cutText(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "")
}

// wordsBefore are the last n words before word number at; nil if there are fewer.
func (p *Page) wordsBefore(at, n int) []string {
	if at < n {
		return nil
	}
	return p.words[at-n : at]
}

// words are those of a text, in lower case: runs of letters, marks and digits.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !inWord(r) })
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// isJoint tells what stands between a label and its value.
func isJoint(r rune) bool {
	return r == ':' || r == '-' || r == '=' || r == '–' || unicode.IsSpace(r)
}

// behind is what of s follows the words of a label for the first time, without what
// joins them; false if s does not hold them.
func behind(s string, label []string) (rest string, ok bool) {
	var ends []int // of the words of s
	var all []string
	start := -1
	for i, r := range s {
		switch {
		case inWord(r) && start < 0:
			start = i
		case !inWord(r) && start >= 0:
			all, ends, start = append(all, strings.ToLower(s[start:i])), append(ends, i), -1
		}
	}
	if start >= 0 {
		all, ends = append(all, strings.ToLower(s[start:])), append(ends, len(s))
	}
	for i := 0; i+len(label) <= len(all); i++ {
		if slices.Equal(all[i:i+len(label)], label) {
			return strings.TrimLeftFunc(s[ends[i+len(label)-1]:], isJoint), true
		}
	}
	return "", false
}

// each gives the texts that a selector looks at, in document order, until f returns
// false.
func (s *Selector) each(p *Page, f func(candidate) bool) {
	switch {
	case s.css != nil:
		for _, i := range p.find(s.CSS, s.css) {
			if !s.taken(p, i, f) {
				return
			}
		}
	case s.xpath != nil:
		eachXPath(p, s, f)
	case s.JSONLD != "":
		p.readItems().values(p.items.linked, s.JSONLD, s.Property, f)
	case s.Microdata != "":
		p.readItems().values(p.items.micro, s.Microdata, s.Property, f)
	}
}

// taken gives what is taken of an element; false ends it.
func (s *Selector) taken(p *Page, i int, f func(candidate) bool) bool {
	e := &p.elements[i]
	switch s.Take {
	case "", "text":
		return f(candidate{p.text(i), e.words})
	case "own":
		for k := e.texts.start; k < e.texts.end; k++ {
			if p.texts[k].parent == i && !f(candidate{p.texts[k].line, p.texts[k].words}) {
				return false
			}
		}
		return true
	}
	v, ok := attribute(e.node, strings.ToLower(s.Take[1:]))
	return !ok || f(candidate{p.resolved(s.Take[1:], v), e.words})
}

// resolved is the value of an attribute, made absolute where it is an address of a page.
func (p *Page) resolved(key, v string) string {
	v = cutText(v)
	switch strings.ToLower(key) {
	case "href", "src", "action", "data", "poster", "longdesc", "cite", "background":
		if u, err := (web.Canon{}).Resolve(p.base, v); err == nil {
			return u.String()
		}
	}
	return event.Line(v)
}
