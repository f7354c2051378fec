package score

import (
	"encoding/binary"
	"math"

	"github.com/waggle-crawler/waggle/internal/wire"
)

// turns are those of a second ranking: that by the first dense weights, of which nothing that was
// learnt is a part. Where what was learnt holds a crawl at links that lead nowhere, the second ranking
// takes it elsewhere, and the weights learn of that.
//
//	turn n, of turnPages pages, is by the first weights where n mod e = 0, else by what was learnt
//	e = rare, or ⌊rare/2⌋ where pages of the first weights' turns are at least as relevant of late as the others
//	of late: Σ relevance / number of pages, both × turnKeep with each page of such a turn
//
// All that waits is scored anew where the ranking changes. The zero value, without dense weights,
// has no such turns.
type turns struct {
	rare    int        // e above; even
	dense   []weight   // the first ones; nil = no such turns
	byFirst bool       // the present turn goes by them
	left    int        // pages left in it
	number  int        // turns so far
	late    [2]average // by what was learnt, by the first weights
}

// average is how relevant pages were of late: relevance / pages.
type average struct{ relevance, pages float64 }

// The first turn has twice as many pages: until then little was learnt.
const (
	turnPages = 10
	turnKeep  = 0.99
)

func newTurns(rare int, first []weight) turns {
	if rare == 0 {
		return turns{}
	}
	return turns{rare: rare, dense: first, left: 2 * turnPages}
}

// told takes in the relevance of a page, in [0,1].
func (t *turns) told(relevance float64) {
	if t.dense == nil {
		return
	}
	of := &t.late[0]
	if t.byFirst {
		of = &t.late[1]
	}
	of.relevance = of.relevance*turnKeep + relevance
	of.pages = of.pages*turnKeep + 1
	if t.left--; t.left > 0 {
		return
	}
	t.left = turnPages
	t.number++
	every := t.rare
	if learnt, first := t.late[0], t.late[1]; first.pages > 0 && first.relevance/first.pages >= learnt.relevance/learnt.pages {
		every = max(1, every/2)
	}
	t.byFirst = t.number%every == 0
}

// turnsFollow is added to the number of the next rescoring in a snapshot where the turns follow the
// weights: a scorer without turns knows that way what to pass over. No crawl has as many visits.
const turnsFollow = 1 << 30

// appendTurns appends
//
//	flag byte, 1 in a turn by the first weights · pages left uvarint · turns uvarint
//	{ relevance, pages float64 LE } of what was learnt, of the first weights
func (t *turns) appendTurns(b []byte) []byte {
	b = append(b, byte(yes(t.byFirst)))
	b = binary.AppendUvarint(b, uint64(t.left))
	b = binary.AppendUvarint(b, uint64(t.number))
	for _, l := range t.late {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(l.relevance))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(l.pages))
	}
	return b
}

// readTurns reads what appendTurns wrote, and passes over it where there are no turns.
func (t *turns) readTurns(r *wire.Reader) {
	read := turns{rare: t.rare, dense: t.dense}
	read.byFirst = r.Byte() == 1
	read.left = r.Number(2 * turnPages)
	read.number = r.Number(math.MaxInt32)
	for i := range read.late {
		l := average{math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64())}
		if !(l.relevance >= 0 && l.pages >= 0 && l.relevance <= l.pages && l.pages < 1e6) {
			r.Fail("turns of %v of %v pages", l.relevance, l.pages)
			return
		}
		read.late[i] = l
	}
	if t.dense != nil {
		*t = read
	}
}
