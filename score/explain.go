package score

import (
	"github.com/waggle-crawler/waggle/web"
)

// Explainer is implemented by scorers that can tell what a priority is made of.
// Neither method changes the scorer.
type Explainer interface {
	// Recall is what Visit gave the links of a page for a memory when c led
	// there, whatever was learned since.
	Recall(c *web.Candidate, p *web.Page, v web.Verdict) (memory []byte)
	// Explain splits the priority of a candidate that was found as that link of
	// the page with that verdict: the weights of the reasons add up to Score(c).
	// nil where there is nothing to tell.
	Explain(p *web.Page, v web.Verdict, link int, c *web.Candidate) []Reason
}

// Historian is implemented by explainers that can go back to what they knew when a
// link was taken.
type Historian interface {
	// RestoreBefore restores the part of a state that the scorer had when it gave a link
	// that priority: at is that moment. Where no moment gives it that priority, it restores
	// all up to the outcome of fetching the link. places are the candidates for the link, one
	// for each place of a page at which it was found; place is the index of the one by which
	// it was taken, whose Features and Memory are set to those that it had then. place is -1
	// where the state does not tell: then all of the state is restored.
	RestoreBefore(state []byte, places []web.Candidate, priority float64) (place int, at Moment, err error)
}

// Moment is one at which a link was taken.
type Moment struct {
	Known int  // fetches of which the outcome was known
	Exact bool // it is that of the priority, and not a later one
}

// Reason is one part of a priority.
type Reason struct {
	Kind   ReasonKind
	What   string // the word, the class or what else was seen, untrusted; "" for others
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
	ReasonClass                    // a class of the page that links, or a topic above it
	ReasonHigh                     // a link near by that led to a relevant page
	ReasonLow                      // a link near by that led to another
	// Of beliefs over hop distances:
	ReasonPath   // that the page is a target, by the path and before the link is looked at
	ReasonSeen   // what else a model saw, in words of its own
	ReasonTarget // the likeness to the targets
	ReasonHops   // how probable the farther distances are, which decide among equals
)
