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
// its main part and what does not. Texts are free of control characters; long
// pieces outside the main part are cut in their middle.
func Parts(p *web.Page) (out []Part) {
	words, main := leaves(p), strings.Fields(p.Main)
	words, main = words[:min(len(words), maxParts)], main[:min(len(main), maxParts)]
	isMain := mainWords(words, main)
	left := maxWords
	for i := 0; i < len(words) && left > 0; {
		k := i
		for k < len(words) && isMain[k] == isMain[i] {
			k++
		}
		piece := words[i:k]
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

// mainWords tells of each word whether it is of the main text, which is pieces
// of the words in their order. A piece begins where its first six words stand
// for the first time behind the piece before it; where they stand nowhere, as
// those of a shorter piece, its first three, or its first.
func mainWords(words, main []string) []bool {
	is := make([]bool, len(words))
	i, j := 0, 0
	for j < len(main) {
		at := -1
		for _, n := range []int{6, 3, 1} {
			n = min(n, len(main)-j)
			if at = indexOf(words[i:], main[j:j+n]); at >= 0 {
				break
			}
		}
		if at < 0 {
			j++ // a word that is nowhere
			continue
		}
		for i += at; i < len(words) && j < len(main) && words[i] == main[j]; i++ {
			is[i] = true
			j++
		}
	}
	return is
}

// indexOf is the first place of a run of words in others, -1 for none.
func indexOf(words, run []string) int {
	for i := 0; i+len(run) <= len(words); i++ {
		if slices.Equal(words[i:i+len(run)], run) {
			return i
		}
	}
	return -1
}
