package text

import (
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Counter counts the terms of one document. It is for one goroutine; Reset
// makes it ready for the next document and keeps its memory.
type Counter struct {
	analyzer *Analyzer
	index    map[string]int32 // term → index in terms
	terms    []web.Term
}

// NewCounter makes a counter of the terms that a makes.
func NewCounter(a *Analyzer) *Counter {
	return &Counter{analyzer: a, index: make(map[string]int32, 256)}
}

// Add counts the terms of s in Body and, for text of a title or heading, in
// Head as well.
func (c *Counter) Add(s string, head bool) {
	c.analyzer.each(s, func(term string) {
		i, ok := c.index[term]
		if !ok {
			i = int32(len(c.terms))
			c.index[term] = i
			c.terms = append(c.terms, web.Term{Text: term})
		}
		c.terms[i].Body++
		if head {
			c.terms[i].Head++
		}
	})
}

// Terms returns what was counted since the last Reset, sorted by Text; nil if
// that is nothing. The slice is the caller's.
func (c *Counter) Terms() []web.Term {
	if len(c.terms) == 0 {
		return nil
	}
	terms := slices.Clone(c.terms)
	slices.SortFunc(terms, func(x, y web.Term) int { return strings.Compare(x.Text, y.Text) })
	return terms
}

// Reset forgets all counts.
func (c *Counter) Reset() {
	clear(c.index)
	clear(c.terms)
	c.terms = c.terms[:0]
}
