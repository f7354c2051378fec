package eval

import (
	"math"

	"github.com/waggle-crawler/waggle/eval/pool"
)

// readMeasures are those of a truth that was read. They are NaN for any other.
func readMeasures() []Measure {
	const spec = "waggle, evaluation"
	list := []Measure{
		{Name: "unread", Line: "share of the places whose page may be a hit and was not read: counted by estimate", Source: spec,
			Of: func(r *Run, _ Reference, n int) float64 {
				_, by := r.unread(n)
				return ratio(total(by), float64(n))
			}},
		{Name: "hits-se", Line: "standard error of hits, from what was not read", Source: "Cochran 1977", Count: true,
			Of: func(r *Run, _ Reference, n int) float64 { return r.estimatedHits(n).SE }},
		{Name: "recall-se", Line: "standard error of recall, from what was not read", Source: "Cochran 1977",
			Of: func(r *Run, ref Reference, n int) float64 {
				_, by := r.unread(n)
				shares := make([]pool.Share, len(by))
				for h, whole := range ref.Samples[r.From-1] {
					shares[h] = pool.Share{Whole: whole, Unread: by[h]}
					if own := r.samples[r.From-1][h]; own != whole {
						shares[h].Part = own
					}
				}
				return min(ignorance, pool.RatioSE(r.Hits(n)/ref.Reachable, ref.Reachable, shares))
			}},
		{Name: "of-bound-se", Line: "standard error of H/U, from what was not read", Source: spec,
			Of: func(r *Run, ref Reference, n int) float64 {
				h, u := r.Hits(n), at(ref.Bound, n)
				se := r.estimatedHits(n).SE
				return min(ignorance, ratio(math.Hypot(se, h/u*at(ref.BoundSE, n)), u))
			}},
		{Name: "of-bound-read", Line: "hits that were read over U of the pages that were read: nothing is estimated", Source: spec, Better: +1,
			Of: func(r *Run, ref Reference, n int) float64 {
				return ratio(float64(r.count(n, Hit)), at(ref.BoundRead, n))
			}},
		{Name: "of-greedy-read", Line: "hits that were read over G of the pages that were read", Source: spec, Better: +1,
			Of: func(r *Run, ref Reference, n int) float64 {
				return ratio(float64(r.count(n, Hit)), at(ref.GreedyRead, n))
			}},
		{Name: "harvest-1", Line: "share of the fetched pages that are hits of grade 1 or 2, in part or mainly about the topic", Source: spec, Better: +1,
			Of: func(r *Run, _ Reference, n int) float64 { return ratio(r.graded(n, pool.Partly), float64(n)) }},
		{Name: "harvest-2", Line: "share of the fetched pages that are hits of grade 2, mainly about the topic", Source: spec, Better: +1,
			Of: func(r *Run, _ Reference, n int) float64 { return ratio(r.graded(n, pool.Mainly), float64(n)) }},
		{Name: "harvest-condensed", Line: "share of hits among the places whose page is known: what was not read is taken out", Source: "condensed lists, Sakai 2007", Better: +1,
			Of: func(r *Run, _ Reference, n int) float64 {
				known, by := r.unread(n)
				return ratio(known, float64(n)-total(by))
			}},
		{Name: "bpref", Line: "how seldom pages read as irrelevant come before relevant ones; what was not read does not count", Source: "Buckley & Voorhees 2004", Better: +1, Of: bpref},
		{Name: "inf-ap", Line: "average precision of the order of pages, inferred from those read", Source: "Yilmaz & Aslam 2006; by strata Yilmaz, Kanoulas & Aslam 2008", Better: +1, Of: infAP},
	}
	for i := range list {
		of := list[i].Of
		list[i].Read = true
		list[i].Of = func(r *Run, ref Reference, n int) float64 {
			if r.From == 0 || r.samples[0] == nil {
				return math.NaN()
			}
			return of(r, ref, n)
		}
	}
	return list
}

// ignorance is the standard error of a share of which nothing is known: the standard
// deviation of what lies anywhere between 0 and 1.
const ignorance = .28867513459481287 // 1/√12

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// estimatedHits is H(n) with its standard error and 95 % interval.
func (r *Run) estimatedHits(n int) pool.Estimate {
	known, by := r.unread(n)
	return pool.Predict(known, by, r.samples[r.From-1])
}

// graded is the number of hits from a grade on among the first n.
func (r *Run) graded(n int, from pool.Grade) (sum float64) {
	for _, p := range r.first(n) {
		sum += r.counted(p, from)
	}
	return sum
}

// bpref is
//
//	(1/R) Σ_r ( 1 − min(|irrelevant pages before r|, min(R, N)) / min(R, N) )
//
// over the relevant pages r that were found, of R that were read and can be
// reached, and N irrelevant ones likewise. Pages that can be no hits, and those
// that nobody read, do not count. With N = 0 each term is 1.
//
// Source: Buckley & Voorhees, Retrieval Evaluation with Incomplete Information
// (2004), in the form of trec_eval.
func bpref(r *Run, ref Reference, n int) float64 {
	relevant, irrelevant := 0, 0
	for _, s := range ref.Samples[r.From-1] {
		relevant += s.Relevant
		irrelevant += s.Read - s.Relevant
	}
	most := float64(min(relevant, irrelevant))
	sum, before := 0., 0.
	for _, p := range r.first(n) {
		switch {
		case p.Mark&Hit != 0 && most == 0:
			sum++
		case p.Mark&Hit != 0:
			sum += 1 - min(before, most)/most
		case p.Worth >= Grade0 && p.Worth <= Grade2:
			before++
		}
	}
	return ratio(sum, float64(relevant))
}

// smoothing is ε of inferred average precision: trec_eval's.
const smoothing = 1e-5

// infAP is inferred average precision. The expected precision at the k-th place,
// which holds a relevant page, is
//
//	E[P@k] = 1/k + (1/k) Σ_h d_h (r_h + ε) / (r_h + n_h + 2ε)
//
// where of the pages of stratum h before k that may be hits d_h are all, r_h those
// read as relevant and n_h those read as irrelevant; all others before k are no
// hits. With one stratum that is the formula of Yilmaz & Aslam (2006), equation 3,
// in which d_h is |d100|. The mean over relevant pages is estimated as totals are,
// by the weight W_h = N_h/n_h of a read page of its stratum:
//
//	infAP = Σ_h W_h Σ_{k read as relevant} E[P@k] / Σ_h W_h R_h
//
// with R_h relevant pages among those read of the stratum, found or not (Yilmaz,
// Kanoulas & Aslam 2008). Where all is read it is average precision, but for ε.
func infAP(r *Run, ref Reference, n int) float64 {
	samples := ref.Samples[r.From-1]
	weight := func(h uint8) float64 { return float64(samples[h].Size) / float64(max(1, samples[h].Read)) }
	all := 0.
	for h, s := range samples {
		all += weight(uint8(h)) * float64(s.Relevant)
	}
	depth, relevant, irrelevant := make([]float64, len(samples)), make([]float64, len(samples)), make([]float64, len(samples))
	sum := 0.
	for i, p := range r.first(n) {
		if p.Worth < Grade0 || p.Worth > Unread {
			continue
		}
		h := p.Stratum
		if p.Mark&Hit != 0 {
			expected := 1.
			for s := range samples {
				expected += depth[s] * (relevant[s] + smoothing) / (relevant[s] + irrelevant[s] + 2*smoothing)
			}
			sum += weight(h) * expected / float64(i+1)
			relevant[h]++
		} else if p.Worth != Unread {
			irrelevant[h]++
		}
		depth[h]++
	}
	return ratio(sum, all)
}
