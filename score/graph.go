package score

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// The scorers of this file order addresses by the links between the pages
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

// backlink orders by the number of fetched pages that link to an address. A
// link that is found once more rises at once, because each page that raises
// the count holds the link itself.
//
// Source: Cho, Garcia-Molina & Page, Efficient Crawling through URL Ordering,
// 1998, section 3.1: IB'(p).
type backlink struct {
	journal
	hot   hotWords
	count map[uint64]uint32
}

var _ Scorer = (*backlink)(nil)

func backlinkSettings() []Setting { return append(hotSettings(), journalSetting()) }

func newBacklink(o Options) (Scorer, error) {
	hot, err := newHotWords(o)
	if err != nil {
		return nil, err
	}
	return &backlink{journal: newJournal("backlink", o), hot: hot, count: make(map[uint64]uint32)}, nil
}

func (b *backlink) Extract(p *web.Page, _ web.Verdict) [][]byte { return b.hot.extract(p) }

func (b *backlink) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	if line := appendLinks(nil, p, c); b.add(line) {
		b.apply(&entry{b: line})
	}
	return b.hot.visit(c, v)
}

func (b *backlink) apply(e *entry) {
	_, links := readLinks(e)
	for _, l := range links {
		b.count[l]++
	}
}

// Score is the number of pages that link there, and hot links come first.
func (b *backlink) Score(c *web.Candidate) float64 {
	return b.hot.lift(c, float64(b.count[nodeOf(c)]))
}

func (*backlink) Rescores() bool               { return true }
func (b *backlink) Restore(state []byte) error { return b.restore(state, b.apply) }

// pageRank orders by PageRank over the pages fetched and the addresses they
// link to, computed anew every so many pages; then all that waits is scored
// anew:
//
//	IR(p) = (1−d) + d·Σ IR(t)/c(t)    over the pages t that link to p
//
// with c(t) the number of links of t. Between two computations an address has
// the IR that its parents of that time gave it, and each page that links to it
// since adds its share at once.
//
// Source: Cho, Garcia-Molina & Page 1998, section 3.1, d = .9.
type pageRank struct {
	journal
	hot        hotWords
	d          float64
	every      int
	iterations int

	node  map[uint64]int32 // number of an address
	rank  []float64        // [nodes] IR
	pages []int32          // [pages] number of the page
	first []int32          // [pages+1] where its links begin in to
	to    []int32          // numbers of the addresses linked to
}

var _ Scorer = (*pageRank)(nil)

func pageRankSettings() []Setting {
	return append(hotSettings(),
		Setting{"d", 0.9, 0, 0.99, "share of its rank that a page passes on"},
		Setting{"every", 100, 1, 1e6, "pages from one computation to the next"},
		Setting{"iterations", 20, 1, 1000, "of a computation, from the ranks of the last one"},
		journalSetting(),
	)
}

func newPageRank(o Options) (Scorer, error) {
	hot, err := newHotWords(o)
	if err != nil {
		return nil, err
	}
	return &pageRank{
		journal: newJournal("pagerank", o), hot: hot, d: o.set("d"), every: int(o.set("every")),
		iterations: int(o.set("iterations")), node: make(map[uint64]int32), first: []int32{0},
	}, nil
}

func (r *pageRank) Extract(p *web.Page, _ web.Verdict) [][]byte { return r.hot.extract(p) }

func (r *pageRank) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	if line := appendLinks(nil, p, c); r.add(line) {
		r.apply(&entry{b: line})
		if len(r.pages)%r.every == 0 {
			r.ask()
		}
	}
	return r.hot.visit(c, v)
}

func (r *pageRank) apply(e *entry) {
	page, links := readLinks(e)
	p := r.number(page)
	r.pages = append(r.pages, p)
	share := 0.
	if len(links) > 0 {
		share = r.d * r.rank[p] / float64(len(links))
	}
	for _, l := range links {
		n := r.number(l)
		r.rank[n] += share
		r.to = append(r.to, n)
	}
	r.first = append(r.first, int32(len(r.to)))
	if len(r.pages)%r.every == 0 {
		r.compute()
	}
}

// number gives an address its number, and a new one the rank of a page that
// nothing links to.
func (r *pageRank) number(h uint64) int32 {
	n, ok := r.node[h]
	if !ok {
		n = int32(len(r.rank))
		r.node[h] = n
		r.rank = append(r.rank, 1-r.d)
	}
	return n
}

// compute iterates the equation from the present ranks.
func (r *pageRank) compute() {
	next := make([]float64, len(r.rank))
	for range r.iterations {
		for i := range next {
			next[i] = 1 - r.d
		}
		for i, p := range r.pages {
			links := r.to[r.first[i]:r.first[i+1]]
			share := r.d * r.rank[p] / float64(len(links))
			for _, n := range links {
				next[n] += share
			}
		}
		r.rank, next = next, r.rank
	}
}

// Score is the rank of an address, and hot links come first.
func (r *pageRank) Score(c *web.Candidate) float64 {
	rank := 1 - r.d
	if n, ok := r.node[nodeOf(c)]; ok {
		rank = r.rank[n]
	}
	return r.hot.lift(c, rank)
}

func (*pageRank) Rescores() bool               { return true }
func (r *pageRank) Restore(state []byte) error { return r.restore(state, r.apply) }

// opic is on-line page importance computation: an address holds cash; a page
// that is fetched spreads what it holds evenly over the addresses it links to;
// the most cash goes first. Cash starts as 1 with each seed. As in backlink, a
// link rises at once when it is paid.
//
// Source: Abiteboul, Preda & Cobena, Adaptive On-Line Page Importance
// Computation, 2003. Pages are fetched once here, so cash paid to a page that
// has been fetched, or that was spent on a fetch that brought none, is gone;
// the paper's virtual page, which pays it back to all alike, would not change
// the order.
type opic struct {
	journal
	cash map[uint64]float64
}

var _ Scorer = (*opic)(nil)

func opicSettings() []Setting { return []Setting{journalSetting()} }

func newOPIC(o Options) (Scorer, error) {
	return &opic{journal: newJournal("opic", o), cash: make(map[uint64]float64)}, nil
}

func (*opic) Extract(p *web.Page, _ web.Verdict) [][]byte { return nodes(p, 0) }

func (o *opic) Visit(c *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	if p == nil {
		return nil
	}
	// The entry is a byte, 1 for a seed or where one redirected to, else 0,
	// and the links.
	seed := byte(0)
	if c.Depth == 0 {
		seed = 1
	}
	if line := appendLinks([]byte{seed}, p, c); o.add(line) {
		o.apply(&entry{b: line})
	}
	return nil
}

func (o *opic) apply(e *entry) {
	seed := e.byte()
	page, links := readLinks(e)
	cash := o.cash[page] + float64(seed)
	delete(o.cash, page)
	for _, l := range links {
		o.cash[l] += cash / float64(len(links))
	}
}

// Score is the address's cash.
func (o *opic) Score(c *web.Candidate) float64 { return o.cash[nodeOf(c)] }

func (*opic) Rescores() bool               { return true }
func (o *opic) Restore(state []byte) error { return o.restore(state, o.apply) }

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
		{"hot", 0, 0, 1, "1 puts links with words of the topic, and those near relevant pages, before all others"},
		{"within", 3, 0, 50, "links from a relevant page at which a link is hot"},
	}
}

func newHotWords(o Options) (hotWords, error) {
	h := hotWords{on: o.set("hot") >= 0.5, within: int(o.set("within")), terms: o.Analyzer.AppendWords}
	h.words = make(map[string]struct{})
	for _, k := range o.Keywords {
		for _, w := range o.Analyzer.Words(k) {
			h.words[w] = struct{}{}
		}
	}
	if h.on && len(h.words) == 0 {
		return h, errors.New("hot links are those with words of the keywords: give Options.Keywords")
	}
	return h, nil
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

// lift puts hot links above all others: a priority x ≥ 0 becomes x/(1+x), and
// one more for hot links.
func (h *hotWords) lift(c *web.Candidate, x float64) float64 {
	if !h.on {
		return x
	}
	x = x / (1 + x)
	if len(c.Features) == 9 && c.Features[8] == 1 || len(c.Memory) == 1 && int(c.Memory[0]) < h.within {
		x++
	}
	return math.Min(x, 2)
}
