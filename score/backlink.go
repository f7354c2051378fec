package score

import "github.com/waggle-crawler/waggle/web"

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
	return &backlink{journal: newJournal("backlink", o), hot: newHotWords(o), count: make(map[uint64]uint32)}, nil
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
	return b.hot.priority(c, float64(b.count[nodeOf(c)]))
}

func (*backlink) Rescores() bool               { return true }
func (b *backlink) Restore(state []byte) error { return b.restore(state, b.apply) }
