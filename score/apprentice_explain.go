package score

import (
	"cmp"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/apprentice"
	"github.com/waggle-crawler/waggle/web"
)

// Recall tells which links of the page led where before it was fetched, as the
// journal has it.
func (a *apprenticeScorer) Recall(_ *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	if a.known == nil {
		return nil
	}
	own, known := a.known[addressHash(p.URL)]
	return apprentice.Citations(p, func(u web.URL) (high, ok bool) {
		cited, ok := a.known[addressHash(u)]
		return cited.high, ok && (!known || cited.visit <= own.visit)
	})
}

// Explain names the words and offsets that raise or lower a link, those of the
// most weight first. Words that were never seen around a followed link say
// nothing and are left out.
func (a *apprenticeScorer) Explain(p *web.Page, v web.Verdict, link int, c *web.Candidate) []Reason {
	relevance, ok := a.features.Relevance(c)
	if !ok || link < 0 || link >= len(p.Links) {
		return nil
	}
	if !a.learner.Ready() {
		return []Reason{{Kind: ReasonPage, Times: 1, Weight: float64(relevance) / 255}}
	}
	place := map[Reason]int{} // without times and weight
	var out []Reason
	n := 0
	a.features.Named(p, v.Classes, link, c, func(f apprentice.Feature) {
		o, ok := a.learner.Odds(f.ID)
		if !ok {
			return
		}
		n++
		r := Reason{Kind: reasonOf(f.Kind), What: f.Name, Offset: f.Offset}
		i, again := place[r]
		if !again {
			i = len(out)
			place[r] = i
			out = append(out, r)
		}
		out[i].Times++
		out[i].Weight += o
	})
	scale := a.evidence * a.learner.Tempered(n)
	for i := range out {
		out[i].Weight *= scale
	}
	out = append(out, Reason{Kind: ReasonPrior, Times: 1, Weight: a.learner.Prior()})
	if a.weights.page > 0 {
		out = append(out, Reason{Kind: ReasonPage, Times: 1, Weight: a.weights.page * oddsOf(relevance)})
	}
	slices.SortStableFunc(out, func(x, y Reason) int { return cmp.Compare(math.Abs(y.Weight), math.Abs(x.Weight)) })
	return out
}

// reasonOf is the kind of reason that a feature of a kind gives.
func reasonOf(k apprentice.Kind) ReasonKind {
	switch k {
	case apprentice.Class:
		return ReasonClass
	case apprentice.High:
		return ReasonHigh
	case apprentice.Low:
		return ReasonLow
	}
	return ReasonWord
}
