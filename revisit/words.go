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

// heardBefore is how many visits the weight of a host counts for before its word was compared
// with anything. It was chosen, not fitted.
const heardBefore = 5

// Words are the weights of what is said of the pages of each host, by all visits before which
// something was said. A weight is the odds that those pages had changed, by the odds that they
// would have as far as their visits tell:
//
//	           changes + n·c   visits − expected + n/2
//	weight = ─────────────── · ───────────────────────      c = w/(1+w), w that of crawl.Unheard
//	         unchanged + n(1−c)      expected + n/2
//
// with unchanged = visits − changes and n = heardBefore. So the word of a host whose pages all
// bear the date of today comes to count nothing, as its pages changed no more often than they do
// anyway.
func Words(known []collection.Known) map[web.Host]crawl.Word {
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
	words := make(map[web.Host]crawl.Word, len(hosts))
	for name, h := range hosts {
		words[name] = crawl.Word{
			Changed:   weight(h.claims, crawl.Unheard.Changed),
			Unchanged: weight(h.denials, crawl.Unheard.Unchanged),
		}
	}
	return words
}

func weight(t collection.Told, before float64) float64 {
	c := before / (1 + before)
	changed := float64(t.Changes) + heardBefore*c
	unchanged := float64(t.Visits-t.Changes) + heardBefore*(1-c)
	expected := t.Expected + heardBefore/2.
	not := float64(t.Visits) - t.Expected + heardBefore/2.
	return changed / unchanged * (not / expected)
}

// wordOf is the weight of a host.
func wordOf(words map[web.Host]crawl.Word, h web.Host) crawl.Word {
	if w, ok := words[h]; ok {
		return w
	}
	return crawl.Unheard
}
