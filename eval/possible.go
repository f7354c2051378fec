package eval

import (
	"math"
	"math/rand/v2"

	"github.com/waggle-crawler/waggle/eval/pool"
)

// imputations is in how many ways unread pages are taken for relevant or not, to
// estimate what was possible.
const imputations = 3

// estimate completes a reference of a truth that was read: p is the problem with
// the read pages alone, and c its costs.
//
// U and G depend on which pages are relevant, and not only on how many. So the
// unread pages that can be found are drawn, several times, each relevant with the
// share of its stratum, which is drawn as well, from Beta(y+½, n−y+½): the
// posterior under Jeffreys' prior. U and G are the means over these draws (multiple
// imputation: Rubin 1987). Which pages are relevant together is not known, so they
// are drawn one by one; real ones lie closer together.
func (g *Graph) estimate(r *Reference, p *Problem, c []int32, truth Truth, budget int) {
	rd := truth.Reading
	r.BoundRead, r.GreedyRead = r.Bound, r.Greedy
	r.Bound, r.Greedy, r.BoundSE = make([]float64, budget+1), make([]float64, budget+1), make([]float64, budget+1)
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
	r.Reachable = pool.Predict(r.Known, r.Unread, r.Samples[rd.From-1]).Value
	for k := range imputations {
		u, v := g.imputed(p, domain, rd, r.Samples[rd.From-1], budget, uint64(k))
		for n := range u {
			r.Bound[n] += float64(u[n]) / imputations
			r.BoundSE[n] += float64(u[n]) * float64(u[n]) / imputations
			r.Greedy[n] += float64(v[n]) / imputations
		}
	}
	for n := range r.BoundSE {
		r.BoundSE[n] = math.Sqrt(max(0, r.BoundSE[n]-r.Bound[n]*r.Bound[n]) * imputations / (imputations - 1))
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

// imputed are U and G with unread pages drawn as relevant or not.
func (g *Graph) imputed(p *Problem, domain []bool, rd *Reading, samples []pool.Sample, budget int, seed uint64) (u, v []int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	share := make([]float64, len(samples))
	for h, s := range samples {
		share[h] = beta(rng, float64(s.Relevant)+.5, float64(s.Read-s.Relevant)+.5)
	}
	relevant := make([]bool, len(domain))
	for d, in := range domain {
		relevant[d] = in && rd.Grade[d] == pool.CannotTell && rng.Float64() < share[rd.Stratum[d]]
	}
	own := &Problem{To: p.To, Seeds: p.Seeds, Prize: make([]int32, len(p.Prize))}
	for i, k := range p.Prize {
		if own.Prize[i] = k; relevant[g.body[i]] {
			own.Prize[i] = g.body[i]
		}
	}
	v, _ = own.Greedy(budget)
	return own.Bound(budget), v
}

// beta draws from the beta distribution, as a ratio of gammas.
func beta(rng *rand.Rand, a, b float64) float64 {
	x, y := gamma(rng, a), gamma(rng, b)
	return x / (x + y)
}

// gamma draws from the gamma distribution of shape a > 0 and scale 1.
//
// Source: Marsaglia & Tsang, A Simple Method for Generating Gamma Variables (2000),
// with U^(1/a) for a < 1.
func gamma(rng *rand.Rand, a float64) float64 {
	if a < 1 {
		return gamma(rng, a+1) * math.Pow(1-rng.Float64(), 1/a) // 1−U is never 0
	}
	d := a - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
