package crawl

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// What sitemaps and feeds tell of pages that earlier rounds know:
//
//	sitemap.xml ──► an entry: a known page, and when it changed
//	                  ├── after its last visit: it comes sooner, as one that was left as well
//	                  └── not after it: it comes behind all links, and has its place before new
//	                      ones no more, which another page may take that is said to have changed
//
// How much that counts is learnt from what came of it: see DateWeight.

// Known is a page that earlier rounds of a collection know. Its Priority is what a visit is
// worth, in [0,1].
type Known struct {
	web.Candidate
	Last   time.Time // when it was there last; zero = what lists tell of it counts for nothing
	Worth  float64   // of a visit that finds it changed, in [0,1]
	Chance float64   // that it has changed since then, as far as no sitemap tells, in [0,1]
}

// DateWeight is the weight of the dates that sitemaps and feeds give of the pages of a host: by
// how much the odds change that a page has changed since its last visit.
//
//	odds(changed | told) = odds(changed) · weight        odds(p) = p / (1−p)
//
// A weight of 1 is that of a host whose dates tell nothing, as where all pages bear the date of
// today.
type DateWeight struct {
	Changed   float64 // of a page that is said to have changed
	Unchanged float64 // of one that is said not to have
}

// DefaultDateWeight is the weight of a host whose dates were never compared with what visits
// found. It was chosen, not fitted.
var DefaultDateWeight = DateWeight{Changed: 4, Unchanged: 1. / 4}

// Chance is the probability that a page has changed, in [0,1], given the one before anything
// was told.
func (w DateWeight) Chance(before float64, saysChanged bool) float64 {
	weight := w.Unchanged
	if saysChanged {
		weight = w.Changed
	}
	return before * weight / (1 - before + before*weight)
}

// ChangeTold tells whether a date says that a page has changed after its last visit, or that it
// has not; ok is false where it says neither: it is in the future, or the visit lies within it.
func ChangeTold(d web.Date, last, now time.Time) (changed, ok bool) {
	from, to := d.Span()
	switch {
	case from.IsZero() || last.IsZero() || from.After(now):
		return false, false
	case from.After(last):
		return true, true
	}
	return false, !to.After(last)
}

// Covers tells whether what a list tells of a page counts: that of the same registrable domain
// does. Anybody may write a list of the pages of others.
func Covers(list, page web.URL) bool {
	a, b := list.Host(), page.Host()
	return a == b || a.Domain() == b.Domain()
}

// known is a page of Again that was not visited yet.
type known struct {
	*Known
	place       int     // in Again.Left
	left        bool    // it is not asked for so far
	behind      bool    // it waits behind all links
	saidChanged bool    // a list said that it has changed: a second one counts no more
	value       float64 // of a visit, since something was told
}

// datesState is what became of known pages by the dates that sitemaps and feeds give.
type datesState struct {
	weights map[web.Host]DateWeight
	room    int  // how many of Again.Left may still be moved before links
	behind  int  // pages that wait behind all links
	moved   bool // some were put behind, and the frontier does not have their priorities yet
}

// setKnown takes in the pages of earlier rounds.
func (s *Step) setKnown(a *Again) {
	s.dates = datesState{weights: a.DateWeights, room: a.Room}
	if len(a.Due)+len(a.Left) == 0 {
		return
	}
	s.known = make(map[web.URL]*known, len(a.Due)+len(a.Left))
	for i := range a.Due {
		s.known[a.Due[i].URL] = &known{Known: &a.Due[i]}
	}
	for i := range a.Left {
		s.known[a.Left[i].URL] = &known{Known: &a.Left[i], place: i, left: true}
	}
}

// takeLeft has a page that was left be asked for; it tells whether it was left until then.
func (s *Step) takeLeft(u web.URL) bool {
	k := s.known[u]
	if k == nil || !k.left {
		return false
	}
	k.left = false
	return true
}

// visited forgets a page once this round has visited it.
func (s *Step) visited(u web.URL) {
	k := s.known[u]
	if k == nil {
		return
	}
	if k.behind {
		s.dates.behind--
	}
	delete(s.known, u)
}

// priorityBefore is the priority of a known page that is asked for before links, and
// priorityBehind that of one that is asked for after all links, by the value of a visit, in
// [0,1].
func priorityBefore(value float64) float64 { return SeedPriority * (1 + min(max(value, 0), 1)) }
func priorityBehind(value float64) float64 { return -SeedPriority * (2 - min(max(value, 0), 1)) }

// rankKnown is the priority of a candidate that waits, where only what is told of known pages
// changes it.
func (s *Step) rankKnown(c *web.Candidate) float64 {
	if k := s.known[c.URL]; k != nil && k.behind {
		return priorityBehind(k.value)
	}
	return c.Priority
}

// promotion is a known page that is moved before links, as a turn adds it and as its event
// tells it.
type promotion struct {
	page  web.Candidate
	found event.Found
}

// muchLess is the share of its Chance that a page keeps at most where it is moved behind all
// links. A page that was not visited for long is nearly certain to have changed: it keeps more
// than that whatever a list says, and stays in its place.
const muchLess = 0.5

// A datedPage is a known page of which a list gave a date: what its event will tell, and the
// candidate that it would be after its move.
type datedPage struct {
	known     *known
	dated     event.Dated
	candidate web.Candidate
}

// applyDates moves known pages by the dates that the entries of p, a sitemap or a feed, give
// of them. entries counts the entries with a date, of pages that p covers, known or not; with
// follow false they change nothing. A page whose Chance is 0 is not moved: a round that was
// begun by an older version has none.
func (s *Step) applyDates(now time.Time, p *web.Page, follow bool, preview Preview) (entries int, dated []event.Dated, sooner []promotion, err error) {
	entries, pages := s.datedPages(now, p, follow)
	if len(pages) == 0 {
		return entries, nil, nil, nil
	}
	asked := make([]web.Candidate, len(pages))
	for i := range pages {
		asked[i] = pages[i].candidate
	}
	fates, err := preview(asked) // which of them wait
	if err != nil {
		return 0, nil, nil, err
	}
	s.moveLast(pages, fates) // which frees places for those that come sooner
	sooner = s.moveSooner(pages, fates)
	for i := range pages {
		dated = append(dated, pages[i].dated)
	}
	return entries, dated, sooner, nil
}

// datedPages are the known pages that the dates of p would move, in the order of their first
// entries. Of two entries of a page that one counts which says that it has changed.
func (s *Step) datedPages(now time.Time, p *web.Page, follow bool) (entries int, pages []datedPage) {
	place := map[*known]int{} // in pages
	for i := range p.Links {
		l := &p.Links[i]
		if l.Changed == "" || !Covers(p.URL, l.URL) {
			continue
		}
		entries++
		k := s.known[l.URL]
		if !follow || k == nil || k.saidChanged || k.Chance <= 0 {
			continue
		}
		changed, ok := ChangeTold(l.Changed, k.Last, now)
		if !ok || !changed && (k.behind || l.Published) {
			continue
		}
		d := s.datedPage(p.URL, l, k, changed)
		switch at, twice := place[k]; {
		case !twice:
			place[k] = len(pages)
			pages = append(pages, d)
		case changed:
			pages[at] = d
		}
	}
	return entries, pages
}

// datedPage notes what a link of list tells of a known page, and where it would move.
func (s *Step) datedPage(list web.URL, l *web.Link, k *known, changed bool) datedPage {
	weight, ok := s.dates.weights[l.URL.Host()]
	if !ok {
		weight = DefaultDateWeight
	}
	chance := weight.Chance(k.Chance, changed)
	k.saidChanged, k.value = changed, min(1, k.Worth*chance)
	d := datedPage{k, event.Dated{URL: l.URL, Changed: l.Changed, Value: k.value}, k.Candidate}
	d.candidate.Kind, d.candidate.From, d.candidate.Priority = web.LinkAgain, list, priorityBefore(k.value)
	switch {
	case changed:
		d.dated.Then = event.MoveSooner
	case chance <= muchLess*k.Chance && !k.left:
		d.dated.Then, d.candidate.Priority = event.MoveLast, 3*SeedPriority // so that the preview tells whether it waits
	}
	return d
}

// moveLast moves behind all links the pages that are to go there, and wait.
func (s *Step) moveLast(pages []datedPage, fates []web.Admission) {
	for i := range pages {
		d := &pages[i]
		switch {
		case d.dated.Then != event.MoveLast:
		case fates[i] != web.Raised:
			d.dated.Then = ""
		default:
			s.move(d.known, event.MoveLast)
			s.count.Seeds--
		}
	}
}

// moveSooner moves before links the pages that are to come there, those of the highest value
// first, as long as there is room for those that were left.
func (s *Step) moveSooner(pages []datedPage, fates []web.Admission) (out []promotion) {
	order := make([]int, len(pages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pages[b].dated.Value, pages[a].dated.Value) })
	for _, i := range order {
		d := &pages[i]
		if d.dated.Then != event.MoveSooner {
			continue
		}
		k, c := d.known, d.candidate
		reason, _ := s.refuse(&c)
		if reason != "" || k.left && s.dates.room <= 0 || !k.left && fates[i] != web.Raised {
			d.dated.Then = ""
			continue
		}
		if k.left || k.behind {
			s.count.Seeds++
		}
		found := event.Found{URL: c.URL, Priority: c.Priority, Raised: !k.left, Link: web.LinkAgain, Changed: d.dated.Changed}
		s.move(k, event.MoveSooner)
		out = append(out, promotion{c, found})
	}
	return out
}

// move notes that a known page was moved.
func (s *Step) move(k *known, to event.Move) {
	switch {
	case to == event.MoveLast && !k.behind:
		k.behind, s.dates.moved = true, true
		s.dates.behind++
		s.dates.room++
	case to == event.MoveSooner && k.behind:
		k.behind = false
		s.dates.behind--
		s.dates.room--
	case to == event.MoveSooner && k.left:
		k.left = false
		s.dates.room--
	}
}

// replayDates repeats, by the log of an earlier run, the moves that a page caused, and notes
// that it was visited.
func (s *Step) replayDates(e event.Fetched) {
	s.visited(e.URL)
	for _, d := range e.Dated {
		if k := s.known[d.URL]; k != nil {
			changed, _ := ChangeTold(d.Changed, k.Last, e.At.At)
			k.saidChanged, k.value = k.saidChanged || changed, d.Value
			s.move(k, d.Then)
		}
	}
}

// moveBehind gives the frontier the priorities of known pages that were moved behind all links
// since the last call. It follows every arrival and every beginning, as sweep does: Lease asks
// for few priorities anew before it gives a link out. The priorities of other links stay, so
// that a second call changes nothing.
func (d *driver) moveBehind(ctx context.Context) error {
	if !d.movesBehind() {
		return nil
	}
	for from, more := []byte(nil), true; more; more = from != nil {
		var err error
		from, err = d.Frontier.Rescore(ctx, from, sweepSlice, d.step.rankKnown)
		if err != nil {
			return ofFrontier(err)
		}
	}
	d.step.dates.moved = false
	return nil
}

// movesBehind tells whether moveBehind has something to do.
func (d *driver) movesBehind() bool { return d.step.dates.moved && d.step.dates.behind > 0 }
