package revisit

import (
	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/web"
)

// What sitemaps and feeds say of known pages, compared with what visits found.

// Said counts the visits of a round before which a sitemap or a feed said that the page had
// changed, or that it had not.
type Said struct {
	Changed, Came   int // said to have changed, and of those the pages that had
	Unchanged, Kept int // said not to have, and of those the pages that had not
}

// learn takes in a visit of a page of which something was said.
func (r *Round) learn(k *collection.Known, saidChanged bool) {
	changed := r.fates[k.URL] == Changed
	told := &k.Denials
	if saidChanged {
		told = &k.Claims
		r.said.Changed++
		if changed {
			r.said.Came++
		}
	} else if r.said.Unchanged++; !changed {
		r.said.Kept++
	}
	told.Visits++
	told.Expected += k.Chance
	if changed {
		told.Changes++
	}
}

// priorVisits is how many visits crawl.DefaultDateWeight counts for. It was chosen, not fitted.
const priorVisits = 5

// DateWeights are the weights of what is said of the pages of each host, by all visits before which
// something was said. A weight is the odds that those pages had changed, by the odds that they
// would have as far as their visits tell:
//
//	           changes + n·c   visits − expected + n/2
//	weight = ─────────────── · ───────────────────────      c = w/(1+w), w that of crawl.DefaultDateWeight
//	         unchanged + n(1−c)      expected + n/2
//
// with unchanged = visits − changes and n = priorVisits. So the dates of a host whose pages all
// bear that of today come to count nothing, as its pages changed no more often than they do
// anyway.
func DateWeights(known []collection.Known) map[web.Host]crawl.DateWeight {
	type both struct{ claims, denials collection.Told }
	hosts := map[web.Host]*both{}
	add := func(to *collection.Told, t collection.Told) {
		to.Visits += t.Visits
		to.Changes += t.Changes
		to.Expected += t.Expected
	}
	for i := range known {
		k := &known[i]
		if k.Claims.Visits+k.Denials.Visits == 0 {
			continue
		}
		h := hosts[k.URL.Host()]
		if h == nil {
			h = &both{}
			hosts[k.URL.Host()] = h
		}
		add(&h.claims, k.Claims)
		add(&h.denials, k.Denials)
	}
	weights := make(map[web.Host]crawl.DateWeight, len(hosts))
	for name, h := range hosts {
		weights[name] = crawl.DateWeight{
			Changed:   weight(h.claims, crawl.DefaultDateWeight.Changed),
			Unchanged: weight(h.denials, crawl.DefaultDateWeight.Unchanged),
		}
	}
	return weights
}

func weight(t collection.Told, before float64) float64 {
	c := before / (1 + before)
	changed := float64(t.Changes) + priorVisits*c
	unchanged := float64(t.Visits-t.Changes) + priorVisits*(1-c)
	expected := t.Expected + priorVisits/2.
	not := float64(t.Visits) - t.Expected + priorVisits/2.
	return changed / unchanged * (not / expected)
}

// weightOf is the weight of a host.
func weightOf(weights map[web.Host]crawl.DateWeight, h web.Host) crawl.DateWeight {
	if w, ok := weights[h]; ok {
		return w
	}
	return crawl.DefaultDateWeight
}
