package score

import "github.com/waggle-crawler/waggle/web"

// breadthFirst is the crawler without a focus: the priority is
// minus the number of links from a seed, and equal ones leave in the order
// found.
type breadthFirst struct{ stateless }

var _ Scorer = (*breadthFirst)(nil)

func newBreadthFirst(Options) (Scorer, error) { return &breadthFirst{}, nil }

func (*breadthFirst) Extract(p *web.Page, _ web.Verdict) [][]byte { return noFeatures(p) }

func (*breadthFirst) Score(c *web.Candidate) float64 { return -float64(c.Depth) }
