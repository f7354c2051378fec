package read

import (
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// leastMain is the number of words below which a main part is not shown alone: the
// whole text of the page tells more.
const leastMain = 20

// Text is the text of a page for a reader without a browser: the first words of its
// main part or, where that has fewer than 20 words, of all its text. It is one line
// without control characters. words is the most words; 0 = all.
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
	maxParts = 20_000 // words that are compared with the main part
	maxAside = 120    // words of a piece outside the main part: half from its beginning, half from its end
)

// Parts are the text of a page, in its order, divided into pieces of the main part and
// pieces of the rest. A leaf is never divided: it is of the main part if at least half
// of its bytes are. Texts hold no control characters. At most 4,000 words are returned;
// a piece outside the main part of more than 120 words loses its middle.
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

// maxWithin is the most words of a leaf between two leaves of the main text, such as the
// name of an image, that is taken for main text as well.
const maxWithin = 12

// mainLeaves tells of each leaf whether it is of the main text (is), and whether it
// follows the leaf before it without a space (glued). Shapes: [len(leaves)].
//
// The main text holds texts of leaves, in their order, with other white space: a word
// may begin in one leaf and end in the next. So white space is left out of the
// comparison. The leaf of the next word is the first one, behind the leaves found so
// far, that begins with the next six words; if there is none, with the next three, or
// with the next one. A word that no leaf begins with is skipped.
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
				j++ // no leaf begins with this word
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

// touches tells whether one of two texts is a prefix of the other.
func touches(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// beginning is the index of the first leaf that begins with these words, -1 for none.
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

// begins tells whether leaves, put together, begin with run.
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

// follow compares a leaf with the next words, of the first of which skip bytes are in
// leaves before. n is the number of bytes of the leaf that are those words, word how
// many words end in it, and in how many bytes of the word after those it holds.
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
