package revisit

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/web"
)

// Constants of the choice. They were chosen, not fitted.
const (
	newShare   = 5    // one page in so many of a round's budget is for new ones
	oneInDays  = 30.0 // days to a change of a page of which nothing is known
	floorWorth = 0.02 // of a page without relevance
	leadsWorth = 0.5  // of a page on which relevant ones were found, at least
	mostFailed = 3    // failed visits in a row after which a page is not asked for
	listShare  = 10   // one page in so many of a round's budget is at most a list that goes first
)

// Choose sets Due of the pages that a round asks for which begins at now and has a budget
// of pages, 0 for none: the most valuable, of which there are at most four fifths of the
// budget. The rest is for new pages; where there are fewer, the next ones of those known,
// by Spare, have what is left.
//
// The value of a visit is what the page is worth, times the probability that it has changed
// since it was seen last:
//
//	value = worth · (1 − exp(−λ Δ))
//
// A page is worth its relevance, and half as much as a relevant one if such were found on
// it. Its changes are a Poisson process of rate λ, whose prior is a Gamma distribution with
// the mean of the section of its site (host and first folder), and that of a section has the
// mean of all pages:
//
//	λ page    = (changes + 1) / (days watched + 1/λ section)
//	λ section = (changes + 1) / (days watched + 1/λ all)
//	λ all     = (changes + 1) / (days watched + 30)
//
// More than one change between two visits counts once, so the rate of pages that change
// more often than they are visited is too low; the order is not hurt by that where all are
// visited alike.
//
// What sitemaps and feeds said after its last visit changes the probability: see crawl.DateWeight and
// Words. They go first, as what they tell changes which pages are asked for: those with the most
// dated entries, up to a tenth of the budget.
//
// A page that is no more, or has moved, is not asked for, nor is one whose last three
// visits failed; a link to it may bring it back.
func Choose(known []collection.Known, now time.Time, pages int) {
	rates, weights := ratesOf(known), DateWeights(known)
	leads := leadsOf(known)
	var order []int
	for i := range known {
		k := &known[i]
		k.Due, k.Spare, k.Chance = 0, 0, 0
		if !k.Gone.IsZero() || k.Failed >= mostFailed {
			continue
		}
		// Where no time has passed all have the same chance to have changed, nearly none.
		k.Chance = max(1e-9, -math.Expm1(-rates.of(k)*days(now.Sub(k.Last))))
		chance := k.Chance
		if changed, ok := crawl.ChangeTold(k.Said, k.Last, now); ok && changed {
			chance = weightOf(weights, k.URL.Host()).Chance(chance, true)
		}
		k.Due = min(1, worthOf(k, leads)*chance)
		order = append(order, i)
	}
	listsFirst(known, order, pages)
	most := min(len(order), mostKnown(pages))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(known[b].Due, known[a].Due) })
	for _, i := range order[most:] {
		known[i].Due, known[i].Spare = 0, known[i].Due
	}
}

// mostKnown is how many known pages a round asks for before new ones.
func mostKnown(pages int) int {
	if pages <= 0 {
		return math.MaxInt
	}
	return pages - (pages+newShare-1)/newShare
}

// worthOf is what a visit is worth that finds a page changed; leads are those on which relevant
// ones were found.
func worthOf(k *collection.Known, leads map[web.URL]bool) float64 {
	worth := max(floorWorth, k.Relevance/4)
	if k.Relevant {
		worth = k.Relevance
	}
	if leads[k.URL] {
		worth = max(worth, leadsWorth)
	}
	return worth
}

// leadsOf are the pages on which relevant ones were found.
func leadsOf(known []collection.Known) map[web.URL]bool {
	leads := map[web.URL]bool{}
	for i := range known {
		if k := &known[i]; k.Relevant && !k.From.IsZero() {
			leads[k.From] = true
		}
	}
	return leads
}

// listsFirst has sitemaps and feeds that tell dates come before all other pages.
func listsFirst(known []collection.Known, of []int, pages int) {
	var lists []int
	for _, i := range of {
		if known[i].Entries > 0 {
			lists = append(lists, i)
		}
	}
	slices.SortStableFunc(lists, func(a, b int) int { return cmp.Compare(known[b].Entries, known[a].Entries) })
	if pages > 0 {
		lists = lists[:min(len(lists), pages/listShare)]
	}
	for _, i := range lists {
		known[i].Due = 1
	}
}

func days(d time.Duration) float64 { return max(0, d.Hours()/24) }

// watch is how long pages were watched, and how often they changed.
type watch struct{ days, changes float64 }

// rate is the mean of the rate of changes a day, given its mean before anything was seen.
func (w watch) rate(before float64) float64 { return (w.changes + 1) / (w.days + 1/before) }

func (w *watch) add(k *collection.Known) {
	w.days += days(k.Last.Sub(k.First))
	w.changes += float64(k.Changes)
}

// rates are those of sections.
type rates struct {
	all      float64
	sections map[string]float64
}

func ratesOf(known []collection.Known) rates {
	var all watch
	sections := map[string]*watch{}
	for i := range known {
		k := &known[i]
		all.add(k)
		s := sections[Section(k.URL)]
		if s == nil {
			s = &watch{}
			sections[Section(k.URL)] = s
		}
		s.add(k)
	}
	r := rates{all.rate(1 / oneInDays), make(map[string]float64, len(sections))}
	for name, s := range sections {
		r.sections[name] = s.rate(r.all)
	}
	return r
}

// of is the rate of a page, in changes a day.
func (r rates) of(k *collection.Known) float64 {
	var own watch
	own.add(k)
	return own.rate(r.sections[Section(k.URL)])
}

// Section is the part of a site to which a page belongs: its host and its first folder.
func Section(u web.URL) string {
	first, _, folder := strings.Cut(strings.TrimPrefix(u.Path(), "/"), "/")
	if !folder {
		first = ""
	}
	return string(u.Host()) + "/" + first
}

// Again is what a crawl of a budget of pages is told of known pages, once Choose has chosen.
func Again(known []collection.Known, pages int) (a crawl.Again) {
	leads := leadsOf(known)
	for i := range known {
		k := &known[i]
		page := crawl.Known{
			Candidate: web.Candidate{URL: k.URL, Depth: k.Depth, Priority: k.Due},
			Last:      k.Last, Worth: worthOf(k, leads), Chance: k.Chance,
		}
		switch {
		case k.Due > 0:
			a.Due = append(a.Due, page)
		case k.Gone.IsZero() && k.Failed < mostFailed:
			page.Priority = k.Spare
			a.Left = append(a.Left, page)
		}
	}
	byValue := func(x, y crawl.Known) int { return cmp.Compare(y.Priority, x.Priority) }
	slices.SortStableFunc(a.Due, byValue)
	slices.SortStableFunc(a.Left, byValue)
	a.Room = max(0, mostKnown(pages)-len(a.Due))
	a.DateWeights = DateWeights(known)
	return a
}
