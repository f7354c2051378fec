package score

import (
	"encoding/binary"
	"math"

	"github.com/waggle-crawler/waggle/web"
)

// constant is the part of scorers whose priorities depend on a model and the page
// alone, so that they never change once the page is read. The features of a link
// are its priority, a float64 LE.
type constant struct {
	stateless
	// seed is the priority of what has no features: no link is above it.
	seed float64
	// values fills dst [links] with the priorities of a page's links, finite
	// numbers. It is pure and safe for concurrent use.
	values func(dst []float64, p *web.Page)
}

var _ Scorer = (*constant)(nil)

// Extract computes the priorities.
func (s *constant) Extract(p *web.Page, _ web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	if len(out) == 0 {
		return out
	}
	values := make([]float64, len(p.Links))
	s.values(values, p)
	buf := make([]byte, 0, 8*len(out))
	for i, v := range values {
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(v))
		out[i] = buf[8*i : 8*i+8 : 8*i+8]
	}
	return out
}

// Score reads what Extract computed; a seed goes first.
func (s *constant) Score(c *web.Candidate) float64 {
	if len(c.Features) != 8 {
		return s.seed
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(c.Features))
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// ofPage makes priorities of links that all have the one of their page.
func ofPage(grade func(p *web.Page) float64) func([]float64, *web.Page) {
	return func(dst []float64, p *web.Page) {
		v := grade(p)
		for i := range dst {
			dst[i] = v
		}
	}
}
