package index

import (
	"iter"
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

// marks are the terms to mark, with the number of the word of the query that each is: it
// may have several spellings.
type marks struct {
	word  map[string]int
	words int
}

func (p *phrases) marks() marks {
	m := marks{word: map[string]int{}}
	for _, all := range p.want {
		longest := 0
		for _, s := range all {
			for i, t := range s.terms {
				if _, ok := m.word[t]; !ok {
					m.word[t] = m.words + i
				}
			}
			longest = max(longest, len(s.terms))
		}
		m.words += longest
	}
	return m
}

// match is a word of a text, [from,to) in bytes, that is one of the query.
type match struct {
	from, to int
	word     int // its number
}

// matches finds the words of a text. A word is a run of letters, digits and marks; of
// scripts without spaces, each pair of characters is one.
func (m marks) matches(a *parse.Analyzer, text string) iter.Seq[match] {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) }
	return func(yield func(match) bool) {
		for from := 0; from < len(text) && len(m.word) > 0; {
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
			terms := a.Words(text[from:to])
			if len(terms) == 1 {
				if w, ok := m.word[terms[0]]; ok && !yield(match{from, to, w}) {
					return
				}
			}
			if len(terms) > 1 {
				for _, x := range m.pairs(a, text, from, to) {
					if !yield(x) {
						return
					}
				}
			}
			from = to
		}
	}
}

// isKatakana knows the letters in which Japanese writes words from abroad.
func isKatakana(r rune) bool { return r == 'ー' || unicode.Is(unicode.Katakana, r) }

// pairs finds the pairs of characters of a run.
func (m marks) pairs(a *parse.Analyzer, text string, from, to int) (out []match) {
	before := -1
	for i := from; i < to; {
		_, n := utf8.DecodeRuneInString(text[i:])
		if before >= 0 {
			terms := a.Words(text[before : i+n])
			word, ok := 0, false
			if len(terms) == 1 {
				word, ok = m.word[terms[0]]
			}
			if ok {
				if k := len(out); k > 0 && out[k-1].to > before {
					out[k-1].to = i + n // pairs share characters
				} else {
					out = append(out, match{before, i + n, word})
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
	for x := range m.matches(a, text) {
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
	best, from := 0, 0
	var list []match
	for y := range m.matches(a, text) {
		list = append(list, y)
		for y.to-list[0].from > maxSnippet-beforeMatch && len(list) > 1 {
			list = list[1:]
		}
		var seen []int
		for _, x := range list {
			if !slices.Contains(seen, x.word) {
				seen = append(seen, x.word)
			}
		}
		if len(seen) > best {
			best, from = len(seen), list[0].from
		}
		if best == m.words {
			break
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
