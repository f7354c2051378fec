package score

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// shark is Shark-search: Fish-search with graded similarity, inherited along
// the path, and with the words in and around the anchor. With q the topic, p
// the page that holds the link:
//
//	inherited     = δ·sim(q,p) if sim(q,p) > floor, else δ·inherited(p)
//	context       = 1 if sim(q,anchor) > floor, else sim(q, words around it)
//	neighbourhood = β·sim(q,anchor) + (1−β)·context
//	priority      = γ·inherited + (1−γ)·neighbourhood
//
// A path ends depth links after its last page with a similarity above floor;
// links beyond have priority −1 and are followed when nothing else is left.
//
// Source: Hersovici et al., The Shark-Search Algorithm, 1998; δ = ½, β = .8,
// depth 3; for γ there is no agreed value. The paper's floor is 0, as fits a
// similarity that counts common words; with a judge that finds every page at
// least a little probable, 0 lets no path end.
type shark struct {
	stateless
	page                       func(*web.Page, web.Verdict) float64
	text                       func(string) float64
	delta, beta, gamma, bottom float64
	depth                      int
}

var (
	_ Scorer    = (*shark)(nil)
	_ Explainer = (*shark)(nil)
)

func sharkSettings(gamma float64) []Setting {
	return []Setting{
		{Name: "gamma", Default: gamma, Max: 1, Line: "γ: share of what is inherited in the priority"},
		{Name: "delta", Default: 0.5, Max: 1, Line: "δ: what is left of a similarity after one link"},
		{Name: "beta", Default: 0.8, Max: 1, Line: "β: share of the anchor against its surroundings"},
		{Name: "floor", Max: 1, Line: "similarities up to this count as none"},
		{Name: "depth", Default: 3, Min: 1, Max: 50, Whole: true, Line: "links from the last similar page at which a path ends"},
	}
}

func newShark(o Options) (Scorer, error) {
	return &shark{
		page: o.Page, text: o.Anchor, delta: o.set("delta"), beta: o.set("beta"),
		gamma: o.set("gamma"), bottom: o.set("floor"), depth: int(o.set("depth")),
	}, nil
}

// Extract measures page and neighbourhood, as similarities.
func (s *shark) Extract(p *web.Page, v web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	buf := make([]byte, 0, 8*len(p.Links))
	page := unit(s.page(p, v))
	for i := range p.Links {
		l := &p.Links[i]
		anchor, context := s.similarity(l.Anchor), 1.
		if anchor <= s.bottom {
			context = s.similarity(l.Before + " " + l.After)
		}
		buf = similarities{page: page, anchor: s.beta*anchor + (1-s.beta)*context}.append(buf)
		out[i] = buf[8*i : 8*i+8 : 8*i+8]
	}
	return out
}

func (s *shark) similarity(text string) float64 {
	if strings.TrimSpace(text) == "" {
		return 0
	}
	return unit(s.text(text))
}

// path tells what a link inherits, and how many links its path may still go;
// a seed inherits nothing.
func (s *shark) path(c *web.Candidate) (inherited float64, left int) {
	parts, ok := readSimilarities(c.Features)
	switch {
	case !ok:
		return 0, s.depth
	case parts.page > s.bottom:
		return s.delta * parts.page, s.depth
	case len(c.Memory) == 5:
		before := unit(float64(math.Float32frombits(binary.LittleEndian.Uint32(c.Memory))))
		return s.delta * before, max(0, min(int(c.Memory[4]), s.depth)-1)
	}
	return 0, s.depth
}

// Visit returns what the page itself inherited, for the case that it is not
// similar:
//
//	inherited float32 LE · links that its path may still go byte
func (s *shark) Visit(c *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	if p == nil {
		return nil
	}
	inherited, left := s.path(c)
	memory := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(inherited)))
	return append(memory, byte(left))
}

// Score is in [0,1], and −1 for links of a path that has ended.
func (s *shark) Score(c *web.Candidate) float64 {
	parts, ok := readSimilarities(c.Features)
	if !ok {
		return 1
	}
	inherited, left := s.path(c)
	if left == 0 {
		return -1
	}
	return s.gamma*inherited + (1-s.gamma)*parts.anchor
}

// Recall is Visit, which changes nothing here.
func (s *shark) Recall(c *web.Candidate, p *web.Page, v web.Verdict) []byte { return s.Visit(c, p, v) }

// Explain tells what the link inherits and what stands at it.
func (s *shark) Explain(_ *web.Page, _ web.Verdict, _ int, c *web.Candidate) []Reason {
	parts, ok := readSimilarities(c.Features)
	if !ok {
		return nil
	}
	inherited, left := s.path(c)
	if left == 0 {
		return []Reason{{Kind: ReasonSeen, What: fmt.Sprintf("no page among the last %d on the way is like the topic: its path has ended", s.depth), Times: 1, Weight: -1}}
	}
	from := "inherited from the page that links"
	if !(parts.page > s.bottom) {
		from = "inherited along the path: the page that links is not like the topic"
	}
	return []Reason{
		{Kind: ReasonSeen, What: from, Times: 1, Weight: s.gamma * inherited},
		{Kind: ReasonSeen, What: "likeness of the anchor, or of the words around it", Times: 1, Weight: (1 - s.gamma) * parts.anchor},
	}
}
