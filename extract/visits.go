package extract

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// maxVisits bounds the siblings, and the bytes of text, that a selector of CSS looks at on a page,
// over and over for each element: some tenths of a second.
const maxVisits = 500_000_000

// visits says what a compound looks at beside the element itself.
type visits struct {
	siblings bool
	text     int  // all that is in it; the time a byte takes
	within   bool // the same of each element in it
}

func visitsOf(compound string) visits {
	s := plain(compound)
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(s, name) })
	}
	v := visits{siblings: has("-child", "-of-type", ":enabled", ":disabled"), within: has(":has")}
	switch {
	case has(":matches"):
		v.text = bytesPerStep // by a regular expression
	case has(":contains"):
		v.text = 1
	}
	return v
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
	for i := range p.elements {
		for c := p.elements[i].node.FirstChild; c != nil; c = c.NextSibling {
			children[i]++
			if c.Type == html.TextNode || opaque(p.elements[i].node) { // of which the elements are not the page's
				texts[i] += bytesIn(c)
			}
		}
	}
	for i := len(costs) - 1; i >= 0; i-- {
		parent := p.elements[i].parent
		if v.siblings && parent >= 0 {
			costs[i] += children[parent]
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
