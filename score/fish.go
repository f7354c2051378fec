package score

import (
	"encoding/binary"

	"github.com/waggle-crawler/waggle/web"
)

// fish is Fish-search: paths go on a few links beyond relevant pages, and end
// elsewhere. The priority of a link depends only on its page and on its position
// there:
//
//	parent relevant    the first ⌊1.5·width⌋ links   1
//	parent irrelevant  the first width links         ½
//	                   all others                    0
//
// A path ends depth links after its last relevant page: the counter is depth after a
// relevant page, and one less than that of the page before otherwise.
//
// Source: De Bra & Post, Information Retrieval in the World-Wide Web: Making
// Client-Based Searching Feasible, 1994; constants as commonly quoted. A scorer
// cannot drop links: where a path ends they have priority −1 and are followed when
// nothing else is left.
type fish struct {
	stateless
	width, depth int
}

var _ Scorer = (*fish)(nil)

func fishSettings() []Setting {
	return []Setting{
		{Name: "width", Default: 3, Max: 1e6, Whole: true, Line: "links that an irrelevant page passes on; a relevant one half as many again"},
		{Name: "depth", Default: 3, Min: 1, Max: 50, Whole: true, Line: "links from the last relevant page at which a path ends"},
	}
}

func newFish(o Options) (Scorer, error) {
	return &fish{width: int(o.set("width")), depth: int(o.set("depth"))}, nil
}

// Extract keeps the place of each link: position uvarint.
func (f *fish) Extract(p *web.Page, _ web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	buf := make([]byte, 0, 2*len(p.Links))
	for i := range p.Links {
		n := len(buf)
		buf = binary.AppendUvarint(buf, uint64(p.Links[i].Position))
		out[i] = buf[n:len(buf):len(buf)]
	}
	return out
}

// Visit returns what the page passes on:
//
//	1 if it is relevant, else 0 byte · links that a path may still go uvarint
func (f *fish) Visit(c *web.Candidate, _ *web.Page, v web.Verdict) []byte {
	if v.Relevant {
		return binary.AppendUvarint([]byte{1}, uint64(f.depth))
	}
	_, left := f.read(c.Memory)
	return binary.AppendUvarint([]byte{0}, uint64(max(left-1, 0)))
}

// Recall is Visit, which changes nothing here.
func (f *fish) Recall(c *web.Candidate, p *web.Page, v web.Verdict) []byte { return f.Visit(c, p, v) }

// read gives for a link what its parent passed on, for a seed (without memory)
// what a path begins with.
func (f *fish) read(memory []byte) (relevant bool, left int) {
	if len(memory) < 2 {
		return true, f.depth
	}
	n, _ := binary.Uvarint(memory[1:])
	return memory[0] == 1, int(min(n, uint64(f.depth)))
}

// Score is 1, ½ or 0, and −1 for links of a path that has ended.
func (f *fish) Score(c *web.Candidate) float64 {
	relevant, left := f.read(c.Memory)
	position, _ := binary.Uvarint(c.Features)
	switch {
	case left == 0:
		return -1
	case relevant && position < uint64(f.width*3/2):
		return 1
	case !relevant && position < uint64(f.width):
		return 0.5
	}
	return 0
}
