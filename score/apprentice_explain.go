package score

import (
	"cmp"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// Recall tells which links of the page led where before it was fetched, as the
// journal has it.
func (a *apprentice) Recall(_ *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	if !a.cocite {
		return nil
	}
	own, known := addressHash(p.URL), map[uint32]bool{}
	for e := range a.entries() {
		x := example{relevance: e.byte()}
		flags := e.byte()
		x.relevant = flags&flagRelevant != 0
		h := e.uint32()
		if known[h] = a.promises(x); h == own {
			break
		}
	}
	return citations(p, func(u web.URL) (high, ok bool) {
		high, ok = known[addressHash(u)]
		return high, ok
	})
}

// Explain names the words and offsets that raise or lower a link, those of the
// most weight first. Words that were never seen around a followed link say
// nothing and are left out.
func (a *apprentice) Explain(p *web.Page, link int, c *web.Candidate) []Reason {
	relevance, at, features, ok := a.read(c)
	if !ok || link < 0 || link >= len(p.Links) {
		return nil
	}
	if !a.ready {
		return []Reason{{Kind: ReasonPage, Times: 1, Weight: float64(relevance) / 255}}
	}
	place := map[Reason]int{} // without times and weight
	var out []Reason
	n := 0
	add := func(r Reason, id uint32) {
		o, ok := a.counts.odds(id)
		if !ok {
			return
		}
		n++
		i, again := place[r]
		if !again {
			i = len(out)
			place[r] = i
			out = append(out, r)
		}
		out[i].Times++
		out[i].Weight += o
	}
	// The same features in the same order as Extract, with their names.
	seen := 0
	for _, name := range a.topicNames(p) {
		add(Reason{Kind: ReasonClass, What: name}, featureID(xxh3.HashString(name), saltClass))
		seen++
	}
	r := reading{sight: &a.sight, p: p}
	r.around(&p.Links[link], func(w word, offset int) bool {
		if seen == apprenticeWords || seen == len(features)/4 {
			return false
		}
		id := a.wordFeature(w.hash, offset)
		if a.plain {
			offset = 0
		}
		add(Reason{Kind: ReasonWord, What: w.term, Offset: offset}, id)
		seen++
		return true
	})
	if a.cocite {
		a.citedAt(c, at, func(high bool, d int) {
			kind := ReasonLow
			if high {
				kind = ReasonHigh
			}
			add(Reason{Kind: kind, Offset: d}, citedFeature(high, d))
		})
	}
	scale := a.evidence * a.tempered(n)
	for i := range out {
		out[i].Weight *= scale
	}
	out = append(out, Reason{Kind: ReasonPrior, Times: 1, Weight: a.prior})
	if a.weights.page > 0 {
		out = append(out, Reason{Kind: ReasonPage, Times: 1, Weight: a.weights.page * oddsOf(relevance)})
	}
	slices.SortStableFunc(out, func(x, y Reason) int { return cmp.Compare(math.Abs(y.Weight), math.Abs(x.Weight)) })
	return out
}
