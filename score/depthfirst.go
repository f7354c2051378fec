package score

import (
	"encoding/binary"
	"errors"

	"github.com/waggle-crawler/waggle/web"
)

// depthFirst follows the links of the page fetched last, in the order of the page, and
// goes back to those of earlier pages when it has no more: the crawler without a focus
// that goes deep first, as breadthFirst goes wide. An address that is found again waits
// with its last page. Seeds go after all links, in the order given.
//
// The priority is the number of the visit that found the link, 1 for the first one.
type depthFirst struct {
	stateless
	visits  uint64
	changed bool
}

var _ Scorer = (*depthFirst)(nil)

func newDepthFirst(Options) (Scorer, error) { return &depthFirst{}, nil }

func (*depthFirst) Extract(p *web.Page, _ web.Verdict) [][]byte { return noFeatures(p) }

// Visit returns the number of the visit, a uvarint.
func (d *depthFirst) Visit(_ *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	if p == nil {
		return nil
	}
	d.visits++
	d.changed = true
	return binary.AppendUvarint(nil, d.visits)
}

func (*depthFirst) Score(c *web.Candidate) float64 {
	n, _ := binary.Uvarint(c.Memory)
	return float64(n)
}

// State is the number of visits, a uvarint.
func (d *depthFirst) State() (state []byte, snapshot bool) {
	if !d.changed {
		return nil, false
	}
	d.changed = false
	return binary.AppendUvarint(nil, d.visits), true
}

func (d *depthFirst) Restore(state []byte) error {
	if len(state) == 0 {
		return nil
	}
	n, k := binary.Uvarint(state)
	if k <= 0 || k != len(state) {
		return errors.New("scorer depth-first: the state is that of another scorer; resume with the one of the first run")
	}
	d.visits = n
	return nil
}
