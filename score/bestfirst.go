package score

import (
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// bestFirst follows the links first that are most similar to the topic:
//
//	page     priority = similarity of the page that holds the link
//	anchor   priority = similarity of the link's anchor text
//	both     priority = w·page + (1−w)·anchor, w = ½              (equation 3)
//
// A link without anchor text, such as a frame, has an anchor similarity of 0. A
// seed has priority 1.
//
// Source: Batsakis, Petrakis & Milios 2009, section 3.1. With the judge's graded
// relevance as the similarity of a page, best-first-page is the baseline crawler
// of Chakrabarti, Punera & Subramanyam 2002, section 2.1.
type bestFirst struct {
	stateless
	page   func(*web.Page, web.Verdict) float64
	anchor func(string) float64 // nil for page
	weight float64              // w: share of the page, [0,1]
}

var (
	_ Scorer    = (*bestFirst)(nil)
	_ Explainer = (*bestFirst)(nil)
)

// parts are the parts of a link that best-first looks at.
type parts int

const (
	pageAlone parts = iota
	anchorAlone
	pageAndAnchor
)

func weightSettings() []Setting {
	return []Setting{{Name: "weight", Default: 0.5, Max: 1, Line: "w: share of the page in the priority, against the anchor"}}
}

func newBestFirst(of parts) func(Options) (Scorer, error) {
	return func(o Options) (Scorer, error) { return makeBestFirst(of, o), nil }
}

func makeBestFirst(of parts, o Options) *bestFirst {
	b := &bestFirst{page: o.Page, anchor: o.Anchor}
	switch of {
	case pageAlone:
		b.anchor, b.weight = nil, 1
	case anchorAlone:
		b.weight = 0
	case pageAndAnchor:
		b.weight = o.set("weight")
	}
	return b
}

// Extract measures the page once and each anchor.
func (b *bestFirst) Extract(p *web.Page, v web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	memory := make([]byte, 0, 8*len(p.Links))
	page := unit(b.page(p, v))
	for i := range p.Links {
		s := similarities{page: page}
		if text := p.Links[i].Anchor; b.anchor != nil && strings.TrimSpace(text) != "" {
			s.anchor = unit(b.anchor(text))
		}
		memory = s.append(memory)
		out[i] = memory[8*i : 8*i+8 : 8*i+8]
	}
	return out
}

// Score is in [0,1].
func (b *bestFirst) Score(c *web.Candidate) float64 {
	s, ok := readSimilarities(c.Features)
	if !ok {
		return 1
	}
	return b.weight*s.page + (1-b.weight)*s.anchor
}

// Explain tells the parts of page and anchor.
func (b *bestFirst) Explain(_ *web.Page, _ web.Verdict, _ int, c *web.Candidate) []Reason {
	s, ok := readSimilarities(c.Features)
	if !ok {
		return nil
	}
	var out []Reason
	if b.weight > 0 {
		out = append(out, Reason{Kind: ReasonPage, Times: 1, Weight: b.weight * s.page})
	}
	if b.weight < 1 {
		out = append(out, Reason{Kind: ReasonAnchor, Times: 1, Weight: (1 - b.weight) * s.anchor})
	}
	return out
}

// unit cuts a similarity to [0,1]; what is no number counts as 0.
func unit(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(1, x)
}
