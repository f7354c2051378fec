package parse

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
	"github.com/waggle-crawler/waggle/web"
	"golang.org/x/text/language"
)

// finish fills the page from what the walk has gathered.
func (w *walker) finish() {
	p := w.page
	all := string(w.text)
	for _, tag := range w.tags {
		p.Tags = append(p.Tags, cmp.Or(tag.String(), "other"))
	}
	p.Nesting = w.nesting
	p.Leaves = make([]web.Leaf, len(w.leaves))
	for i, l := range w.leaves {
		if l.alt != "" {
			p.Leaves[i].Text = l.alt
		} else {
			p.Leaves[i].Text = all[l.start:l.end]
		}
	}
	w.countTerms(all)
	if p.Main = all; !w.whole {
		p.Main = w.mainText(all)
	}
	w.finishLinks(all)
}

// countTerms fills Terms and Headings.
func (w *walker) countTerms(all string) {
	p := w.page
	w.counter.Add(p.Title, true)
	done := 0
	for i := range w.headings {
		h := &w.headings[i]
		if h.end < 0 {
			h.end = len(all)
		}
		w.counter.Add(all[done:h.start], false)
		w.counter.Add(all[h.start:h.end], true)
		done = h.end
		if t := head(strings.TrimSpace(all[h.start:h.end]), maxHeading); t != "" {
			p.Headings = append(p.Headings, t)
		}
	}
	w.counter.Add(all[done:], false)
	p.Terms = w.counter.Terms()
}

// finishLinks resolves the links and gives them their surroundings.
func (w *walker) finishLinks(all string) {
	p := w.page
	if w.baseRef != "" {
		if base, err := w.opts.Canon.Resolve(p.URL, w.baseRef); err == nil {
			p.Base = base
		}
	}
	p.Links = make([]web.Link, 0, len(w.links))
	for i := range w.links {
		l := &w.links[i]
		u := w.resolve(l.ref)
		if u.IsZero() || u == p.URL {
			continue
		}
		l.URL = u
		l.Position = len(p.Links)
		l.Anchor = head(strings.TrimSpace(all[l.text.start:l.text.end]), maxAnchor)
		if l.Anchor == "" {
			l.Anchor = l.alt
		}
		if l.First <= l.Last {
			l.Before = lastWords(all[:l.text.start])
			l.After = firstWords(all[l.text.end:])
			for h := l.heading - 1; h >= 0; h-- {
				if t := head(strings.TrimSpace(all[w.headings[h].start:w.headings[h].end]), maxHeading); t != "" {
					l.Heading = t
					break
				}
			}
		}
		p.Links = append(p.Links, l.Link)
	}
}

// resolve is the address of a reference, zero if it has none.
func (w *walker) resolve(ref string) web.URL {
	ref, _, _ = strings.Cut(ref, "#")
	u, ok := w.seen[ref]
	if !ok {
		u, _ = w.opts.Canon.Resolve(w.page.Base, ref)
		w.seen[ref] = u
	}
	return u
}

// lastWords is the end of s: up to ten words, up to maxAround bytes.
func lastWords(s string) string {
	s = strings.TrimSuffix(s, " ")
	words := 0
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == ' ' {
			if words++; words == around {
				return s[i+1:]
			}
		}
		if len(s)-i >= maxAround {
			for i < len(s) && !utf8.RuneStart(s[i]) {
				i++
			}
			return strings.TrimPrefix(s[i:], " ")
		}
	}
	return s
}

// firstWords is the start of s: up to ten words, up to maxAround bytes.
func firstWords(s string) string {
	s = strings.TrimPrefix(s, " ")
	words := 0
	for i := 0; i < len(s) && i < maxAround; i++ {
		if s[i] == ' ' {
			if words++; words == around {
				return s[:i]
			}
		}
	}
	return strings.TrimSuffix(head(s, maxAround), " ")
}

// mainText joins the blocks that are content rather than navigation and
// boilerplate; it is the whole text when no block is.
//
// Source: Kohlschütter, Fankhauser, Nejdl: Boilerplate detection using shallow
// text features (2010), algorithm 2, with nav, footer, aside, menu and select
// never content, and headings content where what follows them is.
func (w *walker) mainText(all string) string {
	blocks := w.blocks
	if n := len(blocks); n > 0 {
		blocks[n-1].end = len(all)
		if blocks[n-1].start == blocks[n-1].end {
			blocks = blocks[:n-1]
		}
	}
	keep := make([]bool, len(blocks))
	var none block
	for i := range blocks {
		prev, next := &none, &none
		if i > 0 {
			prev = &blocks[i-1]
		}
		if i+1 < len(blocks) {
			next = &blocks[i+1]
		}
		keep[i] = isContent(prev, &blocks[i], next)
	}
	for i := len(blocks) - 2; i >= 0; i-- {
		if blocks[i].heading && !blocks[i].aside && keep[i+1] {
			keep[i] = true
		}
	}
	// Kept blocks that follow one another are one piece of all.
	var pieces []span
	for i, k := range keep {
		switch n := len(pieces); {
		case !k:
		case n > 0 && pieces[n-1].end == blocks[i].start:
			pieces[n-1].end = blocks[i].end
		default:
			pieces = append(pieces, blocks[i].span)
		}
	}
	switch len(pieces) {
	case 0:
		return all
	case 1:
		return strings.TrimSpace(all[pieces[0].start:pieces[0].end])
	}
	var b strings.Builder
	b.Grow(len(all))
	for _, s := range pieces {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimSpace(all[s.start:s.end]))
	}
	return b.String()
}

func isContent(prev, b, next *block) bool {
	switch {
	case b.aside || b.linkDensity() > 0.333333:
		return false
	case prev.linkDensity() <= 0.555556:
		return b.words > 16 || next.words > 15 || prev.words > 4
	default:
		return b.words > 40 || next.words > 17
	}
}

func (b *block) linkDensity() float64 {
	return float64(b.linkWords) / float64(max(1, b.words))
}

// languageOf reads the ISO 639-1 code from a language tag or a list of them,
// "" if it has none.
func languageOf(tag string) string {
	tag = strings.TrimSpace(tag)
	if i := strings.IndexAny(tag, "-_,; "); i >= 0 {
		tag = tag[:i]
	}
	if len(tag) != 2 && len(tag) != 3 {
		return ""
	}
	base, err := language.ParseBase(tag)
	if code := base.String(); err == nil && len(code) == 2 {
		return code
	}
	return ""
}

const (
	minGuess = 60  // bytes: with less, a guess of the language is often wrong
	maxGuess = 400 // bytes a guess looks at: more would cost more and tell no more
)

// guessLanguage tells the language by the statistics of a text, "" when that
// is not certain. English is known by its commonest words, which costs a
// hundredth of asking whatlanggo.
func guessLanguage(s string) string {
	if len(s) < minGuess {
		return ""
	}
	if isEnglish(head(s, 5*maxGuess)) {
		return "en"
	}
	sample := head(s, maxGuess)
	if !isProse(sample) {
		return ""
	}
	info := whatlanggo.Detect(sample)
	if info.Lang < 0 || !info.IsReliable() {
		return ""
	}
	return info.Lang.Iso6391()
}

// isProse tells whether nine of ten characters of s are letters or spaces, as
// they are in sentences and not in code, tables or lists of dates.
func isProse(s string) bool {
	all, letters := 0, 0
	for _, r := range s {
		all++
		if r == ' ' || unicode.IsLetter(r) || unicode.IsMark(r) {
			letters++
		}
	}
	return letters*10 >= all*9
}

// isEnglish tells whether at least every tenth word of s is one of a few that
// English uses all the time and its neighbours do not, and three of them occur.
func isEnglish(s string) bool {
	words, hits := 0, 0
	var seen uint16
	for word := range strings.FieldsSeq(s) {
		words++
		if i := slices.Index(english[:], word); i >= 0 {
			hits++
			seen |= 1 << i
		}
	}
	return hits*10 >= words && bits.OnesCount16(seen) >= 3
}

// english holds words that mark a text as English. It is a table, never changed.
var english = [...]string{"the", "and", "to", "this", "that", "with", "from", "are", "by", "be", "for", "of", "The", "This", "you", "it"}
