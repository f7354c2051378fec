package score

import "github.com/waggle-crawler/waggle/web"

// pageRank orders by PageRank over the pages fetched and the addresses they link
// to. It is computed again after a number of pages, and then all links that wait are
// scored again:
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
		Setting{Name: "d", Default: 0.9, Max: 0.99, Line: "share of its rank that a page passes on"},
		Setting{Name: "every", Default: 100, Min: 1, Max: 1e6, Whole: true, Line: "pages from one computation to the next"},
		Setting{Name: "iterations", Default: 20, Min: 1, Max: 1000, Whole: true, Line: "of a computation, from the ranks of the last one"},
		journalSetting(),
	)
}

func newPageRank(o Options) (Scorer, error) {
	return &pageRank{
		journal: newJournal("pagerank", o), hot: newHotWords(o), d: o.set("d"), every: int(o.set("every")),
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
			r.requestRescore()
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
		r.learn(r.compute)
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
	return r.hot.priority(c, rank)
}

func (*pageRank) Rescores() bool               { return true }
func (r *pageRank) Restore(state []byte) error { return r.restore(state, r.apply) }
