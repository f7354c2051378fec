package score

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// random gives each address a priority in [0,1) that is a hash of the run's
// seed and the address: the same at every scoring, whoever found it and when.
type random struct {
	stateless
	seed uint64
}

var _ Scorer = (*random)(nil)

func newRandom(o Options) (Scorer, error) { return &random{seed: o.Seed}, nil }

func (*random) Extract(p *web.Page, _ web.Verdict) [][]byte { return noFeatures(p) }

func (r *random) Score(c *web.Candidate) float64 {
	var seed [8]byte
	binary.LittleEndian.PutUint64(seed[:], r.seed)
	h := xxh3.HashString(string(seed[:]) + c.URL.String())
	return float64(h>>11) / (1 << 53)
}
