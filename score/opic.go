package score

import "github.com/waggle-crawler/waggle/web"

// opic is on-line page importance computation: an address holds cash; a page
// that is fetched distributes its cash evenly over the addresses it links to; the
// address with the most cash goes first. Each seed starts with 1. As in backlink, the
// priority of a link rises at once with its cash.
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
