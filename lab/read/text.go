package read

import (
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
