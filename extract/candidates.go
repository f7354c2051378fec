package extract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// maxOccurrences bounds the places of a value on a page that are looked at.
const maxOccurrences = 40

// occurrence is a place on a page where a value stands.
type occurrence struct {
	element int
	take    string
	text    string // v is text[start:end]
	start   int
	end     int
	words   int // of the page before the text
}

// occurrences are the places of a value, the first ones of the page.
func occurrences(p *Page, v string) (out []occurrence) {
	add := func(i int, take, t string, words int) bool {
		at := wordIndex(t, v)
		if at < 0 || len(out) >= maxOccurrences {
			return false
		}
		out = append(out, occurrence{i, take, t, at, at + len(v), words})
		return true
	}
	for i := range p.elements {
		e := &p.elements[i]
		single := false
		for k := e.texts.start; k < e.texts.end; k++ {
			t := &p.texts[k]
			if t.parent != i {
				continue
			}
			take := "own"
			if e.texts.end-e.texts.start == 1 {
				take = ""
			}
			single = add(i, take, t.line, t.words) || single
		}
		if n := e.texts.end - e.texts.start; !single && n > 1 && n <= 30 {
			if t := p.text(i); len(t) <= 4*len(v)+200 {
				add(i, "", t, e.words)
			}
		}
		for _, a := range e.node.Attr {
			switch a.Key {
			case "href", "content", "title", "alt", "value", "datetime", "src":
				add(i, "@"+a.Key, p.resolved(a.Key, a.Val), e.words)
			}
		}
	}
	return out
}

// wordIndex is where v stands in s with no letter or digit beside it, -1 = nowhere.
func wordIndex(s, v string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], v)
		if i < 0 {
			return -1
		}
		i += from
		before, after := lastRune(s[:i]), firstRune(s[i+len(v):])
		if !(inWord(before) && inWord(firstRune(v))) && !(inWord(after) && inWord(lastRune(v))) {
			return i
		}
		from = i + 1
	}
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

func lastRune(s string) rune {
	r := []rune(s[max(0, len(s)-4):])
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1]
}

// candidates are selectors that could find a value on a page, without a place.
func (l *learner) candidates(p *Page, v string) func(func(Selector) bool) {
	return func(yield func(Selector) bool) {
		for _, o := range occurrences(p, v) {
			if o.take == "own" || o.take == "" {
				for _, s := range l.wide(p, o) {
					if l.ready(&s) && !yield(s) {
						return
					}
				}
			}
			for _, path := range tagPaths(p, o.element) {
				for _, s := range l.cuts(p, o) {
					s.CSS = path
					if l.ready(&s) && !yield(s) {
						return
					}
				}
			}
		}
	}
}

// ready compiles a selector, as compile does, each path and pattern once; false where that
// is not possible.
func (l *learner) ready(s *Selector) bool {
	c, ok := l.compiled[s.CSS]
	if !ok {
		c, _ = compileCSS(s.CSS) // nil of a path with a name that CSS does not have
		l.compiled[s.CSS] = c
	}
	if s.css = c; c == nil || len(s.CSS) > maxSelector || len(s.Pattern) > maxSelector {
		return false
	}
	s.after = words(s.After)
	if s.Pattern == "" {
		return true
	}
	re, ok := l.expressions[s.Pattern]
	if !ok {
		re, _ = regexp.Compile(s.Pattern)
		l.expressions[s.Pattern] = re
	}
	s.pattern = re
	return re != nil
}

// cuts are the ways to cut a value out of the text that it stands in, by the words
// before it, what follows it, and its form.
func (l *learner) cuts(p *Page, o occurrence) (out []Selector) {
	before := words(o.text[:o.start])
	landmarks := []string{""}
	if len(before) == 0 && !strings.HasPrefix(o.take, "@") {
		before = nil
		for n := 1; n <= 3; n++ {
			if w := p.wordsBefore(o.words, n); w != nil {
				before = w
			}
		}
	} else if strings.HasPrefix(o.take, "@") {
		before = nil
	}
	for n := 1; n <= min(3, len(before)); n++ {
		last := before[len(before)-n:]
		if !slices.ContainsFunc(last, func(w string) bool { return strings.IndexFunc(w, unicode.IsDigit) >= 0 }) {
			landmarks = append(landmarks, strings.Join(last, " "))
		}
	}
	var untils []string
	rest := o.text[o.end:]
	if rest == "" {
		untils = []string{""}
	} else if u := delimiter(rest); !strings.Contains(o.text[o.start:o.end], u) {
		untils = []string{u}
	}
	for _, after := range landmarks {
		base := Selector{Take: o.take, After: after}
		for _, u := range untils {
			s := base
			s.Until = u
			s.whole = o.take == "" && o.start == 0 && rest == ""
			out = append(out, s)
		}
		for _, form := range l.patterns {
			s := base
			s.Pattern = form
			out = append(out, s)
		}
		if o.start > 0 && strings.HasPrefix(o.take, "@") {
			s := base
			s.Pattern = regexp.QuoteMeta(o.text[:o.start]) + "(" + everything(rest) + ")"
			out = append(out, s)
		}
	}
	return out
}

// wide are selectors that look for the form of the examples anywhere on a page: its
// first, or the first behind the words that stand before the value.
func (l *learner) wide(p *Page, o occurrence) (out []Selector) {
	for _, form := range l.patterns {
		if form == namesForm {
			continue
		}
		out = append(out, Selector{CSS: "body", Pattern: form})
		for _, s := range l.cuts(p, o) {
			if s.Pattern == form && s.After != "" {
				out = append(out, Selector{CSS: "body", After: s.After, Pattern: form})
			}
		}
	}
	return out
}

// everything is a pattern up to what follows a value.
func everything(rest string) string {
	if rest == "" {
		return ".+"
	}
	return "[^" + regexp.QuoteMeta(string(firstRune(rest))) + "]+"
}

// delimiter is what follows a value: the punctuation, or else the next word.
func delimiter(rest string) string {
	end := 0
	for i, r := range rest {
		if inWord(r) && strings.TrimSpace(rest[:i]) != "" {
			break
		}
		end = i + len(string(r))
		if inWord(r) && (i+len(string(r)) == len(rest) || !inWord(firstRune(rest[i+len(string(r)):]))) {
			break
		}
		if end > 24 {
			break
		}
	}
	if p := strings.TrimRightFunc(rest[:end], unicode.IsSpace); p != "" {
		return p
	}
	return rest[:end]
}

// tagPaths are selectors along the tag path of an element: suffixes of it of several
// lengths, with and without the first class of each element, and with places among
// siblings.
func tagPaths(p *Page, i int) (out []string) {
	var chain []int // from the element outwards
	for k := i; k >= 0 && len(chain) < 12; k = p.elements[k].parent {
		if n := p.elements[k].node; n.Data == "html" {
			break
		}
		chain = append(chain, k)
	}
	add := func(n int, seg func(k, depth int) string) {
		if n > len(chain) {
			n = len(chain)
		}
		parts := make([]string, 0, n)
		for d := n - 1; d >= 0; d-- {
			parts = append(parts, seg(chain[d], d))
		}
		if s := strings.Join(parts, " > "); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	classes := func(k, _ int) string { return segment(p.elements[k].node, true) }
	plain := func(k, _ int) string { return segment(p.elements[k].node, false) }
	for _, n := range []int{1, 2, 3, 4, 6, 12} {
		add(n, classes)
		add(n, plain)
	}
	for _, deep := range []int{0, 1} {
		for _, n := range []int{1, 2, 3} {
			if n <= deep {
				continue
			}
			add(n, func(k, d int) string {
				s := segment(p.elements[k].node, false)
				if d == deep {
					s += fmt.Sprintf(":nth-of-type(%d)", p.ordinal(k))
				}
				return s
			})
		}
	}
	return out
}

// ordinal is the place of an element among its siblings of that name, from 1.
func (p *Page) ordinal(i int) int {
	n := 1
	for k := p.elements[i].previous; k >= 0 && n < 1000; k = p.elements[k].previous {
		if p.elements[k].node.Data == p.elements[i].node.Data {
			n++
		}
	}
	return n
}

var plainForm = regexp.MustCompile(`^[A-Za-z][A-Za-z-]*$`)

var tagForm = regexp.MustCompile(`^[a-z]+[1-6]?$`)

// segment is an element in a tag path.
func segment(n *html.Node, classes bool) string {
	name := n.Data
	if !tagForm.MatchString(name) {
		name = "*"
	}
	if name == "meta" {
		for _, key := range []string{"name", "property", "itemprop"} {
			if v, ok := attribute(n, key); ok && v != "" && !strings.ContainsAny(v, "\"\\\n\r\f") && len(v) < 64 {
				return fmt.Sprintf("meta[%s=%q]", key, v)
			}
		}
	}
	if !classes {
		return name
	}
	if v, ok := attribute(n, "itemprop"); ok && plainForm.MatchString(v) {
		return name + `[itemprop="` + v + `"]`
	}
	if v, ok := attribute(n, "id"); ok && plainForm.MatchString(v) {
		return name + "#" + v
	}
	if v, ok := attribute(n, "class"); ok {
		if f := strings.Fields(v); len(f) > 0 && plainForm.MatchString(f[0]) {
			return name + "." + f[0]
		}
	}
	return name
}
