package extract

import (
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// maxVisits bounds the siblings, and the bytes of text, that a selector of CSS looks at on a page,
// over and over for each element: some tenths of a second.
const maxVisits = 500_000_000

// visits says what a compound looks at beside the element itself.
type visits struct {
	siblings bool
	ends     bool // the siblings before the first element of its parent, and after the last
	text     int  // all that is in it; the time a byte takes
	within   bool // the same of each element in it
	// alone is what the compound begins with and asks of the element alone, nil = nothing: the rest
	// is looked at only where this matches.
	alone cascadia.Sel
}

func visitsOf(compound string) visits {
	s := plain(compound)
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(s, name) })
	}
	v := visits{
		siblings: has("nth-", "only-", "-of-type", ":enabled", ":disabled"), ends: has("first-child", "last-child"), within: has(":has"),
	}
	switch {
	case has(":matches"):
		v.text = bytesPerStep // by a regular expression
	case has(":contains"):
		v.text = 1
	}
	if v != (visits{}) {
		v.alone, _ = cascadia.Parse(beforePseudo(compound)) // an error where it begins with a pseudo-class
	}
	return v
}

// beforePseudo is what of a compound stands before its first pseudo-class.
func beforePseudo(compound string) string {
	for i := 0; i < len(compound); i++ {
		switch compound[i] {
		case '\\':
			i++
		case '[':
			n, err := bracketed(compound[i:])
			if err != nil {
				return ""
			}
			i += n - 1
		case ':':
			return compound[:i]
		}
	}
	return compound
}

// costs is how much is looked at for each element, at most; nil for a compound that looks at
// the element alone.
func (v visits) costs(p *Page) []int {
	if v == (visits{}) {
		return nil
	}
	costs := make([]int, len(p.elements))
	texts := make([]int, len(p.elements))
	children := make([]int, len(p.elements))
	ends := make([]int, len(p.elements))
	for i := range p.elements {
		ends[i] = endsOf(p.elements[i].node)
		for c := p.elements[i].node.FirstChild; c != nil; c = c.NextSibling {
			children[i]++
			if c.Type == html.TextNode || opaque(p.elements[i].node) { // of which the elements are not the page's
				texts[i] += bytesIn(c)
			}
		}
	}
	for i := len(costs) - 1; i >= 0; i-- {
		parent := p.elements[i].parent
		switch {
		case parent < 0:
		case v.siblings:
			costs[i] += children[parent]
		case v.ends:
			costs[i] += ends[parent]
		}
		costs[i] += v.text * texts[i]
		if parent >= 0 {
			texts[parent] += texts[i]
			if v.within {
				costs[parent] = min(costs[parent]+costs[i]+1, maxVisits+1)
			}
		}
	}
	return costs
}

// endsOf are the nodes in n up to its first element, and from its last one on.
func endsOf(n *html.Node) (sum int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if sum++; c.Type == html.ElementNode {
			break
		}
	}
	for c := n.LastChild; c != nil; c = c.PrevSibling {
		if sum++; c.Type == html.ElementNode {
			break
		}
	}
	return sum
}

// bytesIn are the bytes of text in a node.
func bytesIn(n *html.Node) (sum int) {
	if n.Type == html.TextNode {
		return len(n.Data)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		sum += bytesIn(c)
	}
	return sum
}
