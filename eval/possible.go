package eval

import (
	"math/rand/v2"

	"github.com/waggle-crawler/waggle/eval/pool"
)

// estimate completes a reference of a truth that was read: p is the problem with
// the read pages alone, and c its costs.
//
// U and G depend on which pages are relevant, and not only on how many. So of the
// unread pages that can be found some are drawn, each with the share of its stratum,
// and U and G are those with these as well (imputation: Rubin 1987). Which pages
// are relevant together is not known, so they are drawn one by one; real ones lie
// closer together. A second draw adds pages, with shares of which the total is
// larger by its standard error, along the way on which it grows fastest:
// Δp_h = u_h Var(p_h)/SE. By how much U is larger then is its standard error.
func (g *Graph) estimate(r *Reference, p *Problem, c []int32, truth Truth, budget int) {
	rd := truth.Reading
	r.BoundRead, r.GreedyRead = r.Bound, r.Greedy
	domain := g.domain(c, truth)
	r.Unread = make([]float64, len(rd.Strata))
	for from := pool.Partly; from <= pool.Mainly; from++ {
		r.Samples[from-1] = make([]pool.Sample, len(rd.Strata))
		for d, in := range domain {
			if !in {
				continue
			}
			s := &r.Samples[from-1][rd.Stratum[d]]
			s.Size++
			switch grade := rd.Grade[d]; {
			case grade == pool.CannotTell:
			case grade >= from:
				s.Relevant++
				fallthrough
			default:
				s.Read++
			}
		}
	}
	for h, s := range r.Samples[rd.From-1] {
		r.Known += float64(s.Relevant)
		r.Unread[h] = float64(s.Unread())
	}
	samples := r.Samples[rd.From-1]
	total := pool.Predict(r.Known, r.Unread, samples)
	r.Reachable = total.Value
	shares, more := make([]float64, len(samples)), make([]float64, len(samples))
	for h, s := range samples {
		_, variance := s.Spread()
		shares[h] = s.Share()
		more[h] = shares[h]
		if total.SE > 0 {
			more[h] = min(1, shares[h]+r.Unread[h]*variance/total.SE)
		}
	}
	own := g.imputed(p, domain, rd, shares)
	hits, _ := own.Greedy(budget)
	r.Bound, r.Greedy = floats(own.Bound(budget)), floats(hits)
	r.BoundSE = floats(g.imputed(p, domain, rd, more).Bound(budget))
	for n := range r.BoundSE {
		r.BoundSE[n] = max(0, r.BoundSE[n]-r.Bound[n])
	}
}

// domain marks the documents that a crawl can come to and that are no hits for
// having been shown. Shape: [document].
func (g *Graph) domain(c []int32, truth Truth) []bool {
	domain := make([]bool, len(truth.Reading.Grade))
	shown := make([]bool, len(domain))
	for i, u := range g.pages {
		d := g.body[i]
		domain[d] = domain[d] || c[i] < never
		shown[d] = shown[d] || truth.Shown.Has(u, g.digest[i])
	}
	for d := range domain {
		domain[d] = domain[d] && !shown[d]
	}
	return domain
}

// imputed is a problem in which unread pages are drawn as relevant, with the share
// of their stratum. Larger shares add to what smaller ones draw.
func (g *Graph) imputed(p *Problem, domain []bool, rd *Reading, shares []float64) *Problem {
	rng := rand.New(rand.NewPCG(0, 0)) // always the same draw
	relevant := make([]bool, len(domain))
	for d, in := range domain {
		if in && rd.Grade[d] == pool.CannotTell {
			relevant[d] = rng.Float64() < shares[rd.Stratum[d]]
		}
	}
	own := &Problem{To: p.To, Seeds: p.Seeds, Prize: make([]int32, len(p.Prize))}
	for i, k := range p.Prize {
		if own.Prize[i] = k; relevant[g.body[i]] {
			own.Prize[i] = g.body[i]
		}
	}
	return own
}
