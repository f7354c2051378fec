package frontier

import (
	"math"

	"github.com/waggle-crawler/waggle/web"
)

// histogram counts the waiting candidates by priority. Its bins are a 256th of a
// power of two wide, so a priority is known to one part in 256.
//
// A bin is the first 20 bits of a priority: sign, exponent and 8 bits of the
// mantissa, turned so that bins are in the order of priorities. They are counted in
// two levels, of which few parts are ever made: priorities of one crawl lie within
// a few powers of two.
type histogram struct {
	parts [1 << 12]*part
	sums  [1 << 12]int // of the bins of a part
	top   int          // the last part that counts any, or 0
}

type part [1 << 8]int

// add counts n more candidates of a priority.
func (g *histogram) add(priority float64, n int) {
	at := bin(priority)
	p := g.parts[at>>8]
	if p == nil {
		p = new(part)
		g.parts[at>>8] = p
	}
	p[at&0xff] += n
	g.sums[at>>8] += n
	g.top = max(g.top, int(at>>8))
	for g.top > 0 && g.sums[g.top] == 0 {
		g.top--
	}
}

// floor is the lower end of the bin of the n-th best candidate of two histograms, of
// which other may be nil; −Inf where fewer wait.
func (g *histogram) floor(n int, other *histogram) float64 {
	top := g.top
	if other != nil {
		top = max(top, other.top)
	}
	for i := top; i >= 0; i-- {
		sum := g.sums[i]
		if other != nil {
			sum += other.sums[i]
		}
		if sum < n {
			n -= sum
			continue
		}
		for j := len(part{}) - 1; j >= 0; j-- {
			if n -= g.in(i, j) + other.in(i, j); n <= 0 {
				return lowerEnd(uint32(i)<<8 | uint32(j))
			}
		}
	}
	return math.Inf(-1)
}

// in is the count of bin j of part i, 0 of a nil histogram.
func (g *histogram) in(i, j int) int {
	if g == nil || g.parts[i] == nil {
		return 0
	}
	return g.parts[i][j]
}

// best counts the best n candidates by bin, best first; of the last bin all are counted.
func (g *histogram) best(n int) (out []web.Rung) {
	for i := g.top; i >= 0 && n > 0; i-- {
		if g.sums[i] == 0 {
			continue
		}
		for j := len(part{}) - 1; j >= 0 && n > 0; j-- {
			if c := g.in(i, j); c > 0 {
				out = append(out, web.Rung{Priority: lowerEnd(uint32(i)<<8 | uint32(j)), Links: c})
				n -= c
			}
		}
	}
	return out
}

func bin(priority float64) uint32 {
	b := math.Float64bits(priority + 0) // -0 becomes 0
	if b>>63 == 1 {
		return uint32(^b >> 44)
	}
	return uint32((b | 1<<63) >> 44)
}

func lowerEnd(bin uint32) float64 {
	b := uint64(bin) << 44
	if b>>63 == 1 {
		return math.Float64frombits(b &^ (1 << 63))
	}
	return math.Float64frombits(^b)
}
