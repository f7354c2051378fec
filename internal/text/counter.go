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
	present  *Analyzer // of the language of the document
	terms    []web.Term
	// table finds terms: an open hash table of indices in terms plus one, 0 =
	// free. Its size is a power of two and more than twice that of terms.
	table []int32
}

// NewCounter makes a counter of the terms that a makes.
func NewCounter(a *Analyzer) *Counter {
	return &Counter{analyzer: a, present: a, table: make([]int32, 1024)}
}

// In counts by the rules of a language that the analyzer has, until Reset.
func (c *Counter) In(language string) { c.present = c.analyzer.In(language) }

// Add counts the terms of s in Body and, for text of a title or heading, in
// Head as well.
func (c *Counter) Add(s string, head bool) {
	h := int32(0)
	if head {
		h = 1
	}
	c.present.each(s, func(e *entry) {
		t := c.find(e)
		t.Body++
		t.Head += h
	})
}

// find returns the count of a term, a new one if need be.
func (c *Counter) find(e *entry) *web.Term {
	mask := uint32(len(c.table) - 1)
	at := mix(e.hash) & mask
	for ; c.table[at] != 0; at = (at + 1) & mask {
		if t := &c.terms[c.table[at]-1]; t.Text == e.term {
			return t
		}
	}
	c.terms = append(c.terms, web.Term{Text: e.term})
	c.table[at] = int32(len(c.terms))
	if 2*len(c.terms) >= len(c.table) {
		c.grow()
	}
	return &c.terms[len(c.terms)-1]
}

func (c *Counter) grow() {
	c.table = make([]int32, 2*len(c.table))
	mask := uint32(len(c.table) - 1)
	for i, t := range c.terms {
		at := mix(hashOf(t.Text)) & mask
		for c.table[at] != 0 {
			at = (at + 1) & mask
		}
		c.table[at] = int32(i + 1)
	}
}

// mix spreads a hash over its low bits.
func mix(h uint32) uint32 { return h ^ h>>15 }

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
	clear(c.table)
	clear(c.terms)
	c.present = c.analyzer
	c.terms = c.terms[:0]
}
