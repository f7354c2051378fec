package score

import (
	"encoding/binary"
	"errors"

	"github.com/waggle-crawler/waggle/web"
)

// bestN is Best-N-First: take the N best links, fetch them all, and only then
// let the links found on them compete. A greater N explores more.
//
// Source: Pant, Srinivasan & Menczer, Exploration versus Exploitation in Topic
// Driven Crawlers, 2002 (N = 1 is best-first; N = 256 was the best there).
//
// A crawl adds the links of a page at once, so holding back is done by
// priority. Fetches are counted in batches of N; the memory of a link says in
// which batch it was found. Until that batch is over its priority is lowered
// by 2, below that of every link that may go; then Stale asks for all to be
// scored anew. Two things differ from the paper: a batch is the next N fetches
// that end, where the paper fixes its N links at the start (the same unless
// hosts make some of them wait); and where nothing else is left, the links
// held back are followed before their batch is over, best first.
//
// Rescoring everything each N pages costs time in proportion to the frontier:
// a small N is for small frontiers.
type bestN struct {
	*bestFirst
	n       uint64
	visits  uint64 // fetches ended
	held    bool   // links were found in the present batch
	stale   bool
	changed bool
}

var _ Scorer = (*bestN)(nil)

func bestNSettings() []Setting {
	return append(weightSettings(), Setting{Name: "batch", Default: 256, Min: 1, Max: 256, Whole: true, Line: "N: pages fetched before the links found on them compete"})
}

func newBestN(o Options) (Scorer, error) {
	return &bestN{bestFirst: makeBestFirst(pageAndAnchor, o), n: uint64(o.set("batch"))}, nil
}

// Visit counts the fetch, and returns its batch for the links found:
//
//	batch uvarint
func (b *bestN) Visit(_ *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	batch := b.visits / b.n
	b.visits++
	b.changed = true
	over := b.visits/b.n > batch
	if over && b.held {
		b.stale, b.held = true, false
	}
	if p == nil {
		return nil
	}
	if !over && len(p.Links) > 0 {
		b.held = true
	}
	return binary.AppendUvarint(nil, batch)
}

// Score is in [0,1] for a link that may go and in [−2,−1] for one held back.
func (b *bestN) Score(c *web.Candidate) float64 {
	s := b.bestFirst.Score(c)
	if batch, k := binary.Uvarint(c.Memory); k > 0 && batch >= b.visits/b.n {
		return s - 2
	}
	return s
}

// Explain tells nothing of a link that is held back.
func (b *bestN) Explain(p *web.Page, v web.Verdict, link int, c *web.Candidate) []Reason {
	if b.Score(c) < 0 {
		return nil
	}
	return b.bestFirst.Explain(p, v, link, c)
}

func (b *bestN) Stale() bool {
	if !b.stale {
		return false
	}
	b.stale, b.changed = false, true
	return true
}

func (b *bestN) Rescores() bool { return true }

// State is
//
//	fetches ended uvarint · flags byte: 1 links are held, 2 a rescoring is due
func (b *bestN) State() (state []byte, snapshot bool) {
	if !b.changed {
		return nil, false
	}
	b.changed = false
	flags := byte(0)
	if b.held {
		flags |= 1
	}
	if b.stale {
		flags |= 2
	}
	return append(binary.AppendUvarint(nil, b.visits), flags), true
}

func (b *bestN) Restore(state []byte) error {
	if len(state) == 0 {
		return nil
	}
	visits, k := binary.Uvarint(state)
	if k <= 0 || len(state) != k+1 || state[k] > 3 {
		return errors.New("scorer best-n-first: the state is that of another scorer; resume with the one of the first run")
	}
	b.visits, b.held, b.stale = visits, state[k]&1 != 0, state[k]&2 != 0
	return nil
}
