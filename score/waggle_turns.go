package score

import (
	"encoding/binary"
	"math"

	"github.com/waggle-crawler/waggle/internal/wire"
)

// alternation is the setting turns: the ranking by what was learnt takes turns with a second one, by
// the first dense weights, of which nothing that was learnt is a part. Where what was learnt holds a
// crawl at links that lead nowhere, the second ranking takes it elsewhere, and the weights learn of
// that. Such a turn is no web.Turn.
//
//	turn n, of turnPages pages, is by the first weights where n mod e = 0 and n > 0, else by what was learnt
//	e = rare, or ⌊rare/2⌋ where pages of the first weights' turns are at least as relevant of late as the others
//	of late: Σ relevance / number of pages, both × turnKeep with each page of such a turn
//
// All that waits is scored anew where the ranking changes. The zero value, without dense weights,
// has no such turns.
type alternation struct {
	rare    int              // as above: the setting
	dense   []weight         // the first ones; nil = no such turns
	byFirst bool             // the present turn goes by them
	left    int              // pages left in it
	number  int              // turns so far
	recent  [2]recentAverage // by what was learnt, by the first weights
}

// recentAverage is how relevant pages were of late: relevance / pages.
type recentAverage struct{ relevance, pages float64 }

// The first turn has twice as many pages: until then little was learnt.
const (
	turnPages = 10
	turnKeep  = 0.99
)

func newAlternation(rare int, first []weight) alternation {
	if rare == 0 {
		return alternation{}
	}
	return alternation{rare: rare, dense: first, left: 2 * turnPages}
}

// observe takes in the relevance of a page, in [0,1].
func (t *alternation) observe(relevance float64) {
	if t.dense == nil {
		return
	}
	of := &t.recent[0]
	if t.byFirst {
		of = &t.recent[1]
	}
	of.relevance = of.relevance*turnKeep + relevance
	of.pages = of.pages*turnKeep + 1
	if t.left--; t.left > 0 {
		return
	}
	t.left = turnPages
	t.number++
	every := t.rare
	if learnt, first := t.recent[0], t.recent[1]; first.pages > 0 && first.relevance/first.pages >= learnt.relevance/learnt.pages {
		every = max(1, every/2)
	}
	t.byFirst = t.number%every == 0
}

// alternationFollows is added to the number of the next rescoring in a snapshot where the turns follow the
// weights: a scorer without turns knows that way what to pass over. No crawl has as many visits.
const alternationFollows = 1 << 30

// appendState appends
//
//	flag byte, 1 in a turn by the first weights · pages left uvarint · turns uvarint
//	{ relevance, pages float64 LE } of what was learnt, of the first weights
func (t *alternation) appendState(b []byte) []byte {
	b = append(b, byte(indicator(t.byFirst)))
	b = binary.AppendUvarint(b, uint64(t.left))
	b = binary.AppendUvarint(b, uint64(t.number))
	for _, l := range t.recent {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(l.relevance))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(l.pages))
	}
	return b
}

// readState reads what appendState wrote, and passes over it where there are no turns.
func (t *alternation) readState(r *wire.Reader) {
	read := alternation{rare: t.rare, dense: t.dense}
	read.byFirst = r.Byte() == 1
	read.left = r.Number(2 * turnPages)
	read.number = r.Number(math.MaxInt32)
	for i := range read.recent {
		l := recentAverage{math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64())}
		if !(l.relevance >= 0 && l.pages >= 0 && l.relevance <= l.pages && l.pages < 1e6) {
			r.Fail("turns of %v of %v pages", l.relevance, l.pages)
			return
		}
		read.recent[i] = l
	}
	if t.dense != nil {
		*t = read
	}
}
