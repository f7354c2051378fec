package parse

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// finish fills the page from what the walk has gathered. declared is the language that
// the header tells.
func (w *walker) finish(declared string) {
	p := w.page
	all := string(w.text)
	for _, tag := range w.tags {
		p.Tags = append(p.Tags, cmp.Or(tag.String(), "other"))
	}
	p.Nesting = w.nesting
	p.PasswordAlone = w.formPassword && !w.scripts && w.outside <= maxOutside
	p.Leaves = make([]web.Leaf, len(w.leaves))
	for i, l := range w.leaves {
		if l.alt != "" {
			p.Leaves[i].Text = l.alt
		} else {
			p.Leaves[i].Text = all[l.start:l.end]
		}
	}
	if p.Main = all; !w.whole {
		p.Main = w.mainText(all)
	}
	w.language(declared)
	w.countTerms(all)
	w.finishLinks(all)
}

// language fills Language: what the page declares, or else the header, or else what its
// text is like; and TermLanguage, where terms depend on it.
func (w *walker) language(declared string) {
	p := w.page
	p.Language = cmp.Or(p.Language, languageOf(declared))
	several := len(w.opts.Analyzer.Languages()) > 1
	guess := ""
	if p.Language == "" || several {
		guess = text.Guess(p.Main)
	}
	p.Language = cmp.Or(p.Language, guess)
	if several {
		p.TermLanguage = languageOfTerms(guess, p.Language)
		w.counter.In(p.TermLanguage)
	}
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
		if base, err := w.opts.Canon.Resolve(p.URL, encodeQuery(w.baseRef, w.query)); err == nil {
			p.Base = base
		}
	}
	p.Links = make([]web.Link, 0, len(w.links))
	for i := range w.links {
		l := &w.links[i]
		if hasEncoding(l.Kind) {
			l.ref = encodeQuery(l.ref, w.query)
		}
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

// mainText joins the blocks of a page but its navigation (nav, footer, aside, menu, select and
// option, and the role navigation), what is not shown (hidden, aria-hidden, display:none), the buttons
// that copy code, and lists of links. These are blocks in a row, no headings, all of whose words
// are links: menuBlocks or more, or of more than shortText words together. It is the
// whole text when no more than shortText words are left, as below a page that is a list
// of links.
//
// The text features of Kohlschütter, Fankhauser, Nejdl: Boilerplate detection using
// shallow text features (2010), algorithm 2, which leave out short blocks as well, lose
// too much here: the ingredients of a recipe, the rows of a table, what a list of
// publications names.
func (w *walker) mainText(all string) string {
	blocks := w.blocks
	if n := len(blocks); n > 0 {
		blocks[n-1].end = len(all)
		if blocks[n-1].start == blocks[n-1].end {
			blocks = blocks[:n-1]
		}
	}
	// Kept blocks that follow one another are one piece of all.
	var pieces []span
	kept := 0 // words
	for i := 0; i < len(blocks); {
		end, words := i+1, blocks[i].words
		if blocks[i].isLinks() {
			for ; end < len(blocks) && blocks[end].isLinks(); end++ {
				words += blocks[end].words
			}
		}
		if blocks[i].aside || blocks[i].copies && w.code || blocks[i].isLinks() && (end-i >= menuBlocks || words > shortText) {
			i = end
			continue
		}
		kept += words
		if n := len(pieces); n > 0 && pieces[n-1].end == blocks[i].start {
			pieces[n-1].end = blocks[end-1].end
		} else {
			pieces = append(pieces, span{blocks[i].start, blocks[end-1].end})
		}
		i = end
	}
	if kept <= shortText {
		return all
	}
	if len(pieces) == 1 {
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

const (
	menuBlocks = 3  // blocks
	shortText  = 16 // words
)

// isLinks tells whether a block outside navigation, no heading, has words of links alone.
func (b *block) isLinks() bool {
	return !b.aside && !b.heading && b.words > 0 && b.linkWords == b.words
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
