package score

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// backlink, pageRank and opic order addresses by the links between the pages
// fetched so far. They need a link graph, and keep it by 64-bit hashes of
// addresses within the bound that the journal sets: a link costs 8 bytes
// there, so that 64 MiB hold about 8 million. Two addresses with one hash
// count as one; with 10⁷ addresses that has a chance of 3 in a million.
//
// A link carries its hash with it, so that the target of a redirect has the
// place of the address that led there.
//
// A page that links to itself gives nothing for it, and one that links twice
// to another does it once.

func graphHash(u web.URL) uint64 { return xxh3.HashString(u.String()) }

// nodeOf is the hash that a candidate stands for in the graph.
func nodeOf(c *web.Candidate) uint64 {
	if len(c.Features) >= 8 {
		return binary.LittleEndian.Uint64(c.Features)
	}
	return graphHash(c.URL)
}

// nodes gives each link its hash, and room for extra bytes behind it:
//
//	hash uint64 LE · extra bytes
func nodes(p *web.Page, extra int) [][]byte {
	out := make([][]byte, len(p.Links))
	size := 8 + extra
	buf := make([]byte, size*len(p.Links))
	for i := range p.Links {
		out[i] = buf[size*i : size*i+size : size*i+size]
		binary.LittleEndian.PutUint64(out[i], graphHash(p.Links[i].URL))
	}
	return out
}

// appendLinks appends the entry of a page fetched: its own hash and those of
// the addresses it links to, in the order of their first link.
//
//	page uint64 LE · { link uint64 LE }…
func appendLinks(b []byte, p *web.Page, c *web.Candidate) []byte {
	self := nodeOf(c)
	b = binary.LittleEndian.AppendUint64(b, self)
	seen := make(map[uint64]struct{}, len(p.Links))
	seen[self] = struct{}{}
	for i := range p.Links {
		h := graphHash(p.Links[i].URL)
		if _, twice := seen[h]; !twice {
			seen[h] = struct{}{}
			b = binary.LittleEndian.AppendUint64(b, h)
		}
	}
	return b
}

func readLinks(e *entry) (page uint64, links []uint64) {
	page = e.uint64()
	links = make([]uint64, 0, len(e.b)/8)
	for len(e.b) > 0 {
		links = append(links, e.uint64())
	}
	return page, links
}

// hotWords is the hot queue that Cho et al. put before an order by importance,
// to make a focused crawl of it: first go links with a word of the topic in
// anchor or address, and links of pages within so many links of a hot page, a
// page with the relevance that the judge asks for.
type hotWords struct {
	on     bool
	within int
	words  map[string]struct{}
	terms  func(dst []string, s string) []string
}

func hotSettings() []Setting {
	return []Setting{
		{Name: "hot", Max: 1, Whole: true, Line: "1 puts links with words of the topic, and those near relevant pages, before all others"},
		{Name: "within", Default: 3, Max: 50, Whole: true, Line: "links from a relevant page at which a link is hot"},
	}
}

func newHotWords(o Options) hotWords {
	h := hotWords{on: o.set("hot") >= 0.5, within: int(o.set("within")), terms: text.SplitterOf(o.Analyzer).AppendWords}
	h.words = make(map[string]struct{})
	for _, k := range o.Keywords {
		for _, w := range o.Analyzer.Words(k) {
			h.words[w] = struct{}{}
		}
	}
	return h
}

// extract gives each link its hash and, when on, a byte: 1 if it holds a word
// of the topic.
func (h *hotWords) extract(p *web.Page) [][]byte {
	if !h.on {
		return nodes(p, 0)
	}
	out := nodes(p, 1)
	var words []string
	holds := func(s string) bool {
		words = h.terms(words[:0], s)
		return slices.ContainsFunc(words, func(w string) bool { _, ok := h.words[w]; return ok })
	}
	for i := range p.Links {
		if holds(p.Links[i].Anchor) || holds(p.Links[i].URL.String()) {
			out[i][8] = 1
		}
	}
	return out
}

// visit returns the links since the last relevant page: a byte, 255 for never.
func (h *hotWords) visit(c *web.Candidate, v web.Verdict) []byte {
	switch {
	case !h.on:
		return nil
	case v.Relevant:
		return []byte{0}
	case len(c.Memory) == 1 && c.Memory[0] < 254:
		return []byte{c.Memory[0] + 1}
	}
	return []byte{255}
}

// priority puts hot links above all others: a priority x ≥ 0 becomes x/(1+x), and
// one more for hot links.
func (h *hotWords) priority(c *web.Candidate, x float64) float64 {
	if !h.on {
		return x
	}
	x = x / (1 + x)
	if len(c.Features) == 9 && c.Features[8] == 1 || len(c.Memory) == 1 && int(c.Memory[0]) < h.within {
		x++
	}
	return math.Min(x, 2)
}
