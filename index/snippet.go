package index

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
)

// Span is a piece of a text that is shown, marked where it is a word of the query. It
// is as event.Line gives it, and never markup.
type Span struct {
	Text   string
	Marked bool
}

const (
	maxTitle    = 200 // characters of a title
	maxSnippet  = 240 // characters of a snippet
	lookedAt    = 64 << 10
	beforeMatch = 40 // bytes shown before the first match
)

// marks are the terms to mark.
type marks map[string]bool

func (p *phrases) marks() marks {
	m := marks{}
	for _, all := range p.want {
		for _, s := range all {
			for _, t := range s.terms {
				m[t] = true
			}
		}
	}
	return m
}

// match is a word of a text, [from,to) in bytes, that is one of the query.
type match struct {
	from, to int
	term     string
}

// matches finds the words of a text. A word is a run of letters, digits and marks; of
// scripts without spaces, each pair of characters is one.
func (m marks) matches(a *parse.Analyzer, text string) (out []match) {
	if len(m) == 0 {
		return nil
	}
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) }
	for from := 0; from < len(text); {
		r, n := utf8.DecodeRuneInString(text[from:])
		if !inWord(r) {
			from += n
			continue
		}
		to := from
		for to < len(text) {
			next, n := utf8.DecodeRuneInString(text[to:])
			if !inWord(next) || isKatakana(next) != isKatakana(r) {
				break
			}
			to += n
		}
		switch terms := a.Words(text[from:to]); {
		case len(terms) == 1 && m[terms[0]]:
			out = append(out, match{from, to, terms[0]})
		case len(terms) > 1:
			out = append(out, m.pairs(a, text, from, to)...)
		}
		from = to
	}
	return out
}

// isKatakana knows the letters in which Japanese writes words from abroad.
func isKatakana(r rune) bool { return r == 'ー' || unicode.Is(unicode.Katakana, r) }

// pairs finds the pairs of characters of a run.
func (m marks) pairs(a *parse.Analyzer, text string, from, to int) (out []match) {
	before := -1
	for i := from; i < to; {
		_, n := utf8.DecodeRuneInString(text[i:])
		if before >= 0 {
			if terms := a.Words(text[before : i+n]); len(terms) == 1 && m[terms[0]] {
				if k := len(out); k > 0 && out[k-1].to > before {
					out[k-1].to = i + n // pairs share characters
				} else {
					out = append(out, match{before, i + n, terms[0]})
				}
			}
		}
		before, i = i, i+n
	}
	return out
}

// spans is the beginning of a text with its matches marked.
func (m marks) spans(a *parse.Analyzer, text string, characters int) []Span {
	return m.cut(a, event.Line(text), characters)
}

func (m marks) cut(a *parse.Analyzer, text string, characters int) (out []Span) {
	cut := false
	if n := 0; utf8.RuneCountInString(text) > characters {
		for i := range text {
			if n++; n == characters {
				text, cut = text[:i], true
				break
			}
		}
	}
	at := 0
	for _, x := range m.matches(a, text) {
		if x.from > at {
			out = append(out, Span{text[at:x.from], false})
		}
		out = append(out, Span{text[x.from:x.to], true})
		at = x.to
	}
	if at < len(text) {
		out = append(out, Span{text[at:], false})
	}
	if cut {
		out = append(out, Span{"…", false})
	}
	return out
}

// snippet is the piece of a text in which the most words of the query stand.
func (m marks) snippet(a *parse.Analyzer, text string) []Span {
	text = head(text, lookedAt)
	list := m.matches(a, text)
	best, from := 0, 0
	for i, x := range list {
		seen := map[string]bool{}
		for _, y := range list[i:] {
			if y.to-x.from > maxSnippet-beforeMatch {
				break
			}
			seen[y.term] = true
		}
		if len(seen) > best {
			best, from = len(seen), x.from
		}
	}
	start := from - beforeMatch
	if start <= 0 {
		start = 0
	} else {
		for start < from && text[start] != ' ' {
			start++
		}
		for start < from && text[start] == ' ' {
			start++
		}
	}
	out := m.cut(a, event.Line(text[start:]), maxSnippet)
	if start > 0 {
		out = slices.Insert(out, 0, Span{"… ", false})
	}
	return out
}
