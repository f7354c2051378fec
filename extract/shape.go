package extract

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mailForm matches addresses of mail.
const mailForm = `[\w.+-]+@[\w-]+(?:\.[\w-]+)+`

// namesForm matches capitalised words, and those of scripts without capitals, with short ones in lower case between, and apostrophes
// before two letters or more: O'Hara and d'Arc, but not the end of Byron's.
const namesForm = nameWord + `(?:\s+(?:\p{Ll}{1,3}\s+){0,2}(?:\p{Ll}{1,4}['’])?` + nameWord + `)*`

const nameWord = `[\p{Lu}\p{Lo}](?:[\p{L}\p{M}.-]|['’]\p{L}{2})*`

// patterns are regular expressions that say what form the examples of a field have, the
// narrowest first; none where they have nothing in common.
func patterns(values []string) (out []string) {
	add := func(p string) {
		re, err := regexp.Compile(p)
		if err != nil || slices.Contains(out, p) {
			return
		}
		for _, v := range values {
			if re.FindString(v) != v {
				return
			}
		}
		out = append(out, p)
	}
	if len(values) == 0 {
		return nil
	}
	add(mailForm)
	if len(out) > 0 {
		return out
	}
	if runs := commonRuns(values); runs != nil {
		add(runsPattern(runs, true, false))
		add(runsPattern(runs, false, false))
		// Of codes that end with a number, others may end with a letter, and the reverse.
		last := &runs[len(runs)-1]
		letter := last.kind == 'U' && !slices.ContainsFunc(last.texts, func(t string) bool { return utf8.RuneCountInString(t) > 1 })
		tail := ""
		switch {
		case last.optional:
		case last.kind == '0':
			tail = `\p{Lu}?\b`
		case letter && len(runs) > 1 && runs[len(runs)-2].kind == '0':
			last.optional, tail = true, `\b`
		}
		if tail != "" {
			for _, literal := range []bool{true, false} {
				add(strings.TrimSuffix(runsPattern(runs, literal, false), `\b`) + tail)
			}
		}
		// A code is also written with a space before its number or without one, and a page of
		// two codes has both numbers: CS381, CS 381, CS 381/481.
		lettered := slices.ContainsFunc(runs, func(r run) bool { return r.kind == 'U' }) // others are numbers
		if lettered && (last.kind == '0' && !last.optional || last.optional && letter) {
			for _, literal := range []bool{true, false} {
				add(strings.TrimSuffix(runsPattern(runs, literal, true), `\b`) + cmp.Or(tail, `\b`) + `(?:/\p{Lu}*\d+\p{Lu}?\b)?`)
			}
		}
	}
	add(namesForm)
	return out
}

// run is a run of characters of one kind.
type run struct {
	kind     byte     // 'U' letters in upper case, 'L' letters, '0' digits, '.' another character
	texts    []string // of the examples
	space    bool     // an example has white space before it
	tight    bool     // an example has none
	optional bool     // an example lacks it
}

func runsOf(s string) (out []run) {
	space := false
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if unicode.IsSpace(r) {
			space, s = true, s[n:]
			continue
		}
		is, kind := func(rune) bool { return false }, byte('.')
		switch {
		case unicode.IsDigit(r):
			is, kind = unicode.IsDigit, '0'
		case unicode.IsLetter(r):
			is, kind = unicode.IsLetter, 'L'
		}
		for n < len(s) {
			r, k := utf8.DecodeRuneInString(s[n:])
			if !is(r) {
				break
			}
			n += k
		}
		if kind == 'L' && strings.ToUpper(s[:n]) == s[:n] {
			kind = 'U'
		}
		out = append(out, run{kind: kind, texts: []string{s[:n]}, space: space && len(out) > 0, tight: !space && len(out) > 0})
		s, space = s[n:], false
	}
	return out
}

// commonRuns are the runs that all values have in common, those that some lack at the
// end; nil where they differ otherwise, or are longer than a number or a code is.
func commonRuns(values []string) []run {
	var all []run
	for k, v := range values {
		own := runsOf(v)
		if len(own) > 8 {
			return nil
		}
		if k == 0 {
			all = own
			continue
		}
		for i := range max(len(all), len(own)) {
			switch {
			case i >= len(own):
				all[i].optional = true
			case i >= len(all):
				own[i].optional = true
				all = append(all, own[i])
			default:
				a, b := &all[i], own[i]
				switch {
				case a.kind == b.kind && (a.kind != '.' || a.texts[0] == b.texts[0]):
				case a.kind == 'U' && b.kind == 'L', a.kind == 'L' && b.kind == 'U':
					a.kind = 'L'
				default:
					return nil
				}
				a.texts, a.space, a.tight = append(a.texts, b.texts...), a.space || b.space, a.tight || b.tight
			}
		}
	}
	digits := false
	for _, r := range all {
		digits = digits || r.kind == '0'
	}
	if !digits {
		return nil // words have no form that tells them from others
	}
	return all
}

// runsPattern writes runs as a regular expression; literal keeps letters that are the
// same in all examples, and loose has letters and digits beside one another stand with white
// space between them and without.
func runsPattern(runs []run, literal, loose bool) string {
	var b strings.Builder
	closing := 0
	if runs[0].kind != '.' {
		b.WriteString(`\b`)
	}
	for i, r := range runs {
		if r.optional {
			b.WriteString("(?:")
			closing++
		}
		switch {
		case i == 0:
		case r.space && r.tight, loose && r.kind == '0' && runs[i-1].kind == 'U':
			b.WriteString(`\s*`)
		case r.space:
			b.WriteString(`\s+`)
		}
		least, most := utf8.RuneCountInString(r.texts[0]), 0
		for _, t := range r.texts {
			n := utf8.RuneCountInString(t)
			least, most = min(least, n), max(most, n)
		}
		same := !slices.ContainsFunc(r.texts, func(t string) bool { return t != r.texts[0] })
		count := "+"
		if r.kind == '0' && least == most && len(r.texts) > 1 || r.optional && most == 1 {
			count = fmt.Sprintf("{%d}", most)
		}
		switch {
		case r.kind == '.' || literal && same && len(r.texts) > 1 && r.kind != '0' && !r.optional:
			b.WriteString(regexp.QuoteMeta(r.texts[0]))
		case r.kind == '0':
			b.WriteString(`\d` + count)
		case r.kind == 'U':
			b.WriteString(`\p{Lu}` + count)
		default:
			b.WriteString(`\p{L}` + count)
		}
	}
	b.WriteString(strings.Repeat(")?", closing))
	if last := runs[len(runs)-1]; last.kind != '.' {
		b.WriteString(`\b`)
	}
	return b.String()
}

// likeness tells whether a value has the form of the examples, roughly: no kind of
// character that none of them has, and neither much shorter nor much longer.
type likeness struct {
	kinds       map[byte]bool
	least, most int // letters
	words       int // at most
	pattern     *regexp.Regexp
}

func likenessOf(values []string) likeness {
	l := likeness{kinds: map[byte]bool{}}
	for i, v := range values {
		n := letters(v)
		if i == 0 || n < l.least {
			l.least = n
		}
		l.most = max(l.most, n)
		l.words = max(l.words, len(strings.Fields(v)))
		for _, r := range v {
			l.kinds[kindOf(r)] = true
		}
	}
	if p := patterns(values); len(p) > 0 {
		l.pattern = regexp.MustCompile(p[len(p)-1])
	}
	return l
}

// letters is the number of letters that a value takes, or would take: a character of Chinese,
// Japanese or Korean stands for some three of an alphabet.
func letters(v string) (n int) {
	for _, r := range v {
		if n++; unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n += 2
		}
	}
	return n
}

func kindOf(r rune) byte {
	switch {
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return 'L'
	case unicode.IsDigit(r):
		return '0'
	case unicode.IsSpace(r), r == '-', r == '.', r == '\'', r == '’':
		return ' '
	case r < 0x80:
		return byte(r)
	}
	return 0xff
}

func (l likeness) has(v string) bool {
	n := letters(v)
	if n < (l.least+1)/2 || n > 2*l.most || len(strings.Fields(v)) > l.words+2 {
		return false
	}
	for _, r := range v {
		if k := kindOf(r); k != ' ' && !l.kinds[k] && (r != '/' || !l.kinds['0']) { // of two numbers
			return false
		}
	}
	return l.pattern == nil || l.pattern.FindString(v) != ""
}
