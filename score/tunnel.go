package score

import (
	"encoding/binary"
	"math"

	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// tunnel goes on through pages that are not relevant, up to a cut-off that it
// decides on the way. A link that lies k pages without a relevant one behind the last relevant
// page has
//
//	priority = relevance of its page      while k ≤ cut-off
//	priority = that − 1                   beyond
//
// The cut-off is the least k such that a share of the relevant pages met so far were
// found with at most k other pages before them; until ten were met it is as set.
//
// Source: Bergmark, Lagoze & Sbityakov, Focused Crawls, Tunneling, and Digital
// Libraries, 2002, where most relevant pages lie 1 to 12, commonly 5, irrelevant pages
// apart. "Like": that the cut-off is decided on the fly is known here from the abstract
// alone, and the rule is another; a scorer cannot drop links, so those beyond the cut-off
// come last.
type tunnel struct {
	journal
	page  func(*web.Page, web.Verdict) float64
	share float64
	first int
	most  int

	found [tunnelMost + 1]uint32 // relevant pages, by how many others lay before
	total int
}

const (
	tunnelMost = 50 // pages in a row that are told apart
	tunnelFew  = 10 // relevant pages before which nothing is decided
)

var _ Scorer = (*tunnel)(nil)

func tunnelSettings() []Setting {
	return []Setting{
		{Name: "share", Default: 0.95, Min: 0.01, Max: 1, Line: "share of the relevant pages met that the cut-off would have kept"},
		{Name: "first", Default: 5, Max: tunnelMost, Whole: true, Line: "cut-off until ten relevant pages were met"},
		{Name: "most", Default: 12, Max: tunnelMost, Whole: true, Line: "cut-off at most"},
	}
}

func newTunnel(o Options) (Scorer, error) {
	t := &tunnel{page: o.Page, share: o.set("share"), first: int(o.set("first")), most: int(o.set("most"))}
	t.journal = newSnapshotJournal("tunnel-like", o, t)
	return t, nil
}

// Extract keeps the relevance of the page: float32 LE.
func (t *tunnel) Extract(p *web.Page, v web.Verdict) [][]byte {
	b := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(unit(t.page(p, v)))))
	out := make([][]byte, len(p.Links))
	for i := range out {
		out[i] = b
	}
	return out
}

// Visit returns how many pages without a relevant one the links found lie behind the
// last: byte. The entry of a relevant page is that number of its own link, byte.
func (t *tunnel) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	before := pagesSinceRelevant(c)
	if !v.Relevant {
		return []byte{byte(min(before+1, tunnelMost))}
	}
	if line := []byte{byte(before)}; p != nil && c.Depth > 0 && t.add(line) {
		was := t.cutOff()
		t.apply(&entry{b: line})
		if t.cutOff() != was {
			t.requestRescore()
		}
	}
	return []byte{0}
}

// pagesSinceRelevant is how many pages without a relevant one a link lies behind the last.
func pagesSinceRelevant(c *web.Candidate) int {
	if len(c.Memory) != 1 {
		return 0
	}
	return min(int(c.Memory[0]), tunnelMost)
}

func (t *tunnel) apply(e *entry) {
	t.found[min(int(e.byte()), tunnelMost)]++
	t.total++
}

func (t *tunnel) cutOff() int {
	if t.total < tunnelFew {
		return min(t.first, t.most)
	}
	kept := 0
	for k, n := range t.found[:t.most] {
		if kept += int(n); float64(kept) >= t.share*float64(t.total) {
			return k
		}
	}
	return t.most
}

// Score is in [0,1], and in [−1,0] beyond the cut-off. A seed has 1.
func (t *tunnel) Score(c *web.Candidate) float64 {
	if len(c.Features) != 4 {
		return 1
	}
	score := unit(float64(math.Float32frombits(binary.LittleEndian.Uint32(c.Features))))
	if pagesSinceRelevant(c) > t.cutOff() {
		score--
	}
	return score
}

func (*tunnel) Rescores() bool               { return true }
func (t *tunnel) Restore(state []byte) error { return t.restore(state, t.apply) }

// appendSnapshot appends
//
//	relevant pages uvarint [tunnelMost+1], by how many others lay before
func (t *tunnel) appendSnapshot(b []byte) []byte {
	for _, n := range t.found {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func (t *tunnel) readSnapshot(r *wire.Reader) {
	for i := range t.found {
		t.found[i] = uint32(r.Number(math.MaxInt32))
		t.total += int(t.found[i])
	}
}
