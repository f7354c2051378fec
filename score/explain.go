package score

import (
	"github.com/waggle-crawler/waggle/web"
)

// Explainer is implemented by scorers that can tell what a priority is made of.
type Explainer interface {
	// Explain parts the priority of a candidate that was found as that link of
	// the page, which it was fetched from: the weights of the reasons add up to
	// Score(c). nil where there is nothing to tell.
	Explain(p *web.Page, link int, c *web.Candidate) []Reason
}

// Reason is one part of a priority.
type Reason struct {
	Kind   ReasonKind
	What   string // the word or the class, untrusted; "" for others
	Offset int    // leaves from the link, of words and of links near by; 0 = in its anchor
	Times  int    // that it occurs there, at least 1
	Weight float64
}

// ReasonKind says what a reason is about.
type ReasonKind uint8

// The kinds of reason.
const (
	ReasonPage   ReasonKind = iota // the relevance of the page that links
	ReasonAnchor                   // that of the anchor's text
	ReasonPrior                    // what links of this crawl are worth on average
	ReasonWord                     // a word at an offset, or anywhere near
	ReasonClass                    // a class of the page that links
	ReasonHigh                     // a link near by that led to a relevant page
	ReasonLow                      // a link near by that led to another
)
