package read

import (
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// leastMain is how many words a main part has at least: of one with fewer, the
// whole text of the page tells more.
const leastMain = 20

// Text is what a page says, for a reader without a browser: the first words of
// its main part or, where that is short, of all its text. It is one line without
// control characters. words bounds it; 0 = all.
func Text(p *web.Page, words int) string {
	all := strings.Fields(p.Main)
	if len(all) < leastMain {
		if whole := leaves(p); len(whole) > len(all) {
			all = whole
		}
	}
	if words > 0 && len(all) > words {
		all = append(all[:words:words], "…")
	}
	return event.Line(strings.Join(all, " "))
}

// leaves are the words of all text of a page.
func leaves(p *web.Page) (words []string) {
	for _, l := range p.Leaves {
		words = append(words, strings.Fields(l.Text)...)
	}
	return words
}

// Part is a piece of a page's text.
type Part struct {
	Text string `json:"text"`
	Main bool   `json:"main"` // of the main part, as the parser sees it
}

// Bounds of the text that is shown.
const (
	maxWords = 4000
	maxParts = 20_000 // words in which the main part is looked for
	maxAside = 120    // words of one piece outside the main part, from its beginning and its end together
)

// Parts are all the text of a page, in its order, parted into what belongs to
// its main part and what does not. A leaf of the page is shown whole: it is of the
// main part if most of it is. Texts are free of control characters; long pieces
// outside the main part are cut in their middle.
func Parts(p *web.Page) (out []Part) {
	leaves, left := inText(p.Leaves), maxParts
	for i := range leaves {
		if left -= len(strings.Fields(leaves[i].Text)); left < 0 {
			leaves = leaves[:i]
			break
		}
	}
	isMain, glued := mainLeaves(leaves, p.Main)
	left = maxWords
	for i := 0; i < len(leaves) && left > 0; {
		k := i
		var text strings.Builder
		for ; k < len(leaves) && isMain[k] == isMain[i]; k++ {
			if k > i && !glued[k] {
				text.WriteByte(' ')
			}
			text.WriteString(leaves[k].Text)
		}
		piece := strings.Fields(text.String())
		if !isMain[i] && len(piece) > maxAside {
			piece = slices.Concat(piece[:maxAside/2], []string{"…"}, piece[len(piece)-maxAside/2:])
		}
		if len(piece) > left {
			piece = append(piece[:left:left], "…")
		}
		left -= len(piece)
		if text := event.Line(strings.Join(piece, " ")); text != "" {
			out = append(out, Part{text, isMain[i]})
		}
		i = k
	}
	return out
}

// inText are the leaves that hold text.
func inText(all []web.Leaf) []web.Leaf {
	return slices.DeleteFunc(slices.Clone(all), func(l web.Leaf) bool { return strings.TrimSpace(l.Text) == "" })
}

// maxWithin is how many words of one leaf, such as the name of an image, may stand
// within a piece of the main text without parting it.
const maxWithin = 12

// mainLeaves tells which leaves are of the main text, and which follow the leaf
// before without a space in it. The main text is blocks of the leaves' text, in
// their order, with white space of its own: a word that begins in one leaf and ends
// in another is one there. So bytes that are no white space are compared. A piece
// begins with the first leaf, behind the piece before it, that begins as the next
// six words do; where there is none, as before a shorter piece, as the next three,
// or the next one. Shape: [leaf].
func mainLeaves(leaves []web.Leaf, main string) (is, glued []bool) {
	is, glued = make([]bool, len(leaves)), make([]bool, len(leaves))
	text := make([]string, len(leaves)) // without white space
	for i, l := range leaves {
		text[i] = strings.Join(strings.Fields(l.Text), "")
		glued[i] = i > 0 && strings.IndexAny(text[i], ".,;:!?)]}") == 0
	}
	words := strings.Fields(main)
	words = words[:min(len(words), maxParts)]
	at, j, skip := 0, 0, 0 // leaf, word, and bytes of the word that are in the leaves before
	for at < len(leaves) && j < len(words) {
		start := at
		if skip == 0 {
			if start = beginning(text[at:], words[j:]); start < 0 {
				j++ // a word that is nowhere
				continue
			}
			start += at
		} else if !touches(text[at], words[j][skip:]) {
			j, skip = j+1, 0
			continue
		}
		if start == at+1 && at > 0 && is[at-1] && len(strings.Fields(leaves[at].Text)) <= maxWithin {
			is[at] = true
		}
		glued[start] = skip > 0
		n, word, in := follow(text[start], words[j:], skip)
		is[start] = 2*n >= len(text[start])
		j, skip = j+word, in
		at = start + 1
	}
	return is, glued
}

// touches tells whether one text begins as the other does.
func touches(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// beginning is the first leaf that begins as words do, -1 for none.
func beginning(text, words []string) int {
	for _, n := range []int{6, 3, 1} {
		run := strings.Join(words[:min(n, len(words))], "")
		for i := range text {
			if begins(text[i:], run) {
				return i
			}
		}
	}
	return -1
}

// begins tells whether some leaves together begin with a run.
func begins(text []string, run string) bool {
	for _, s := range text {
		if len(s) >= len(run) {
			return strings.HasPrefix(s, run)
		}
		if !strings.HasPrefix(run, s) {
			return false
		}
		run = run[len(s):]
	}
	return run == ""
}

// follow is how many bytes of a leaf are the next words, the first of them from its
// byte skip on: with the words that end in it, and the bytes of the next one that
// begins in it.
func follow(leaf string, words []string, skip int) (n, word, in int) {
	for n < len(leaf) && word < len(words) {
		rest := words[word][skip:]
		if len(rest) > len(leaf)-n {
			if strings.HasPrefix(rest, leaf[n:]) {
				return len(leaf), word, skip + len(leaf) - n
			}
			return n, word, 0
		}
		if !strings.HasPrefix(leaf[n:], rest) {
			return n, word, 0
		}
		n += len(rest)
		word++
		skip = 0
	}
	return n, word, 0
}
