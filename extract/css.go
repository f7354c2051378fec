package extract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// css is a group of selectors, any of which may match. cascadia matches the compounds
// (h1.title[lang]:first-child); what stands between them is followed here, in one pass
// over the page for each compound: backtracking over a page that nests 500 elements
// could take hours, and pages are not trusted.
type css [][]step

// step is a compound and how an element that matches it is found from one that matched
// the step before.
type step struct {
	by       byte // 0 = the first step, ' ', '>', '+', '~'
	compound cascadia.Sel
	visits   visits
}

// compileCSS reads a group of selectors.
func compileCSS(s string) (css, error) {
	if hasInHas(s) {
		return nil, fmt.Errorf("%q: no :has() stands in the brackets of another: write it as xpath", s)
	}
	var out css
	var chain []step
	by := byte(0)
	begin, from := 0, 0 // of the compound, and of what follows the last combinator
	end := func(at int) error {
		text := strings.TrimSpace(s[begin:at])
		if text == "" {
			return fmt.Errorf("%q: a selector is missing at character %d", s, at+1)
		}
		sel, err := cascadia.Parse(text)
		if err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		chain = append(chain, step{by, sel, visitsOf(text)})
		return nil
	}
	for i := 0; ; i++ {
		if i == len(s) {
			if err := end(i); err != nil {
				return nil, err
			}
			return append(out, chain), nil
		}
		switch c := s[i]; {
		case c == '\\':
			i++
			if i == len(s) {
				return nil, errors.New(`it ends with "\"`)
			}
		case c == '[' || c == '(' || c == '"' || c == '\'':
			n, err := bracketed(s[i:])
			if err != nil {
				return nil, fmt.Errorf("%q: %w at character %d", s, err, i+1)
			}
			if c == '(' && combined(s[begin:i], s[i+1:i+n-1]) {
				return nil, fmt.Errorf("%q: in brackets stands one selector without spaces, > + ~ between parts: write it as xpath", s)
			}
			i += n - 1
		case c == ',':
			if err := end(i); err != nil {
				return nil, err
			}
			out, chain, by = append(out, chain), nil, 0
			begin, from = i+1, i+1
		case strings.IndexByte(" \t\r\n\f>+~", c) >= 0:
			k := i
			next := byte(' ')
			for ; k < len(s) && strings.IndexByte(" \t\r\n\f>+~", s[k]) >= 0; k++ {
				if strings.IndexByte(">+~", s[k]) >= 0 {
					if next != ' ' {
						return nil, fmt.Errorf("%q: %q follows %q at character %d", s, s[k], next, k+1)
					}
					next = s[k]
				}
			}
			switch {
			case i == from && next != ' ':
				return nil, fmt.Errorf("%q: a selector is missing before %q", s, next)
			case i == from: // space before a selector
				begin, from = k, k
			case next == ' ' && (k == len(s) || s[k] == ','): // and behind one
			default:
				if err := end(i); err != nil {
					return nil, err
				}
				by, begin, from = next, k, k
			}
			i = k - 1
		}
	}
}

// bracketed is the length of what s begins with, up to the bracket or quote that ends it.
func bracketed(s string) (int, error) {
	var stack []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		quoted := len(stack) > 0 && (stack[len(stack)-1] == '"' || stack[len(stack)-1] == '\'')
		switch {
		case c == '\\':
			i++
		case len(stack) > 0 && c == stack[len(stack)-1]:
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return i + 1, nil
			}
		case quoted:
		case c == '(':
			stack = append(stack, ')')
		case c == '[':
			stack = append(stack, ']')
		case c == '"' || c == '\'':
			stack = append(stack, c)
		}
	}
	return 0, fmt.Errorf("%q has no end", s[0])
}

var escape = regexp.MustCompile(`\\([0-9A-Fa-f]{1,6})[ \t\r\n\f]?|\\(.)`)

// plain is a selector in lower case, with letters for their escapes.
func plain(s string) string {
	s = escape.ReplaceAllStringFunc(s, func(e string) string {
		c, _ := utf8.DecodeRuneInString(e[1:])
		if n, err := strconv.ParseUint(strings.TrimSpace(e[1:]), 16, 32); err == nil {
			c = rune(n)
		}
		if unicode.IsLetter(c) {
			return string(c)
		}
		return "x" // a bracket that is written so is none
	})
	return strings.ToLower(s)
}

// hasInHas tells whether a :has() may stand in another, whose time grows with the power of how
// deep they stand: of a page that nests 500 elements, three would take hours.
func hasInHas(s string) bool {
	s = plain(s)
	for {
		_, after, ok := strings.Cut(s, ":has")
		open := strings.IndexByte(after, '(')
		if !ok || open < 0 {
			return false
		}
		n, err := bracketed(after[open:])
		if err != nil {
			n = len(after) - open
		}
		if strings.Contains(after[open:open+n], ":has") {
			return true
		}
		s = after
	}
}

// combined tells whether the argument of a pseudo-class joins selectors.
func combined(before, inside string) bool {
	i := strings.LastIndexByte(before, ':')
	if i < 0 || !slices.Contains([]string{"not", "has", "haschild"}, strings.ToLower(before[i+1:])) {
		return false
	}
	inside = strings.TrimSpace(inside)
	for i := 0; i < len(inside); i++ {
		switch c := inside[i]; {
		case c == '\\':
			i++
		case c == '[' || c == '(' || c == '"' || c == '\'':
			n, err := bracketed(inside[i:])
			if err != nil || c == '(' && strings.ContainsAny(inside[i:i+n], "(") && combined(inside[:i], inside[i+1:i+n-1]) {
				return true
			}
			i += n - 1
		case strings.IndexByte(" \t\r\n\f>+~", c) >= 0:
			return true
		}
	}
	return false
}

// match are the elements of a page that a group matches, in document order.
func (g css) match(p *Page) []int {
	any := make([]bool, len(p.elements))
	left := maxVisits
	for _, chain := range g {
		var in []bool
		for _, st := range chain {
			in = st.advance(p, in, &left)
		}
		for i, ok := range in {
			any[i] = any[i] || ok
		}
	}
	var out []int
	for i, ok := range any {
		if ok {
			out = append(out, i)
		}
	}
	return out
}

// advance tells of each element whether it matches the step, given those that matched
// the step before. Elements are in document order: what is around one, or before it,
// is known already. Once more was visited than is left, no element matches.
func (st step) advance(p *Page, before []bool, left *int) []bool {
	out := make([]bool, len(p.elements))
	costs := st.visits.costs(p)
	var reached []bool // an element around this one matched, or one before it with the same parent
	if st.by == ' ' || st.by == '~' {
		reached = make([]bool, len(p.elements))
	}
	for i := range p.elements {
		e := &p.elements[i]
		ok := true
		switch st.by {
		case ' ':
			ok = e.parent >= 0 && (before[e.parent] || reached[e.parent])
			reached[i] = ok
		case '>':
			ok = e.parent >= 0 && before[e.parent]
		case '+':
			ok = e.previous >= 0 && before[e.previous]
		case '~':
			ok = e.previous >= 0 && (before[e.previous] || reached[e.previous])
			reached[i] = ok
		}
		if ok && st.visits.alone != nil {
			ok = st.visits.alone.Match(e.node)
		}
		if ok && costs != nil {
			if *left -= costs[i]; *left < 0 {
				p.short, ok = true, false
			}
		}
		out[i] = ok && st.compound.Match(e.node)
	}
	return out
}

// find are the elements that a selector of CSS matches. A page remembers it.
func (p *Page) find(text string, c css) []int {
	found, ok := p.found[text]
	if !ok {
		found = c.match(p)
		p.found[text] = found
	}
	return found
}

func attribute(n *html.Node, key string) (string, bool) {
	for i := range n.Attr {
		if n.Attr[i].Namespace == "" && n.Attr[i].Key == key {
			return n.Attr[i].Val, true
		}
	}
	return "", false
}
