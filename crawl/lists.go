package crawl

import (
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// lists count what the entries of each sitemap and feed brought, beside what other links did. A
// scorer goes by what an entry says, and a list may say anything of pages that are gone or are
// of something else. So a list has to bring at least half of what other links bring:
//
//	shortfall = half · tried · rate − brought       rate = (brought + 1) / (tried + prior) of other links
//
// Once it has brought shortfallLast less, its other entries go behind all links, in their own
// order. They come back where the shortfall falls to shortfallBack: as one that was fetched after
// all brought something, or as other links turn out to be no better.
//
// Two things are counted so: whether a page came at all, and whether it was relevant. Only
// recent ones count. All of it follows from the events of a crawl.
type lists struct {
	of      map[web.URL]*list   // by the address of the sitemap or feed
	order   ring[web.URL]       // of those
	entries int                 // of any list
	moved   map[web.URL]web.URL // where an entry redirects to → its list, until that is fetched
	others  outcomes            // of links that are no entries
	behind  map[web.URL]*list   // those whose entries wait behind all links
}

// list is a sitemap or a feed.
type list struct {
	outcomes
	last   int // of lists.entries, when the last entry came
	behind bool
}

// outcomes are what fetches brought.
type outcomes struct{ pages, relevant yield }

type yield struct{ tried, brought float64 }

const (
	listPlace     = 1e10 // subtracted from the priority of an entry that waits behind all links
	listShare     = 0.5  // of what other links bring, that a list has to
	shortfallLast = 3.   // by chance less than 1 in 20 times: e⁻³
	shortfallBack = 2.
	mostLists     = 1000 // of which is counted what they bring: those whose entries come, and those behind
	recentEntries = 256  // of a list: at so many what came before counts half
	recentOthers  = 1024
)

// count adds a fetch; of those before it at most most count.
func (y *yield) count(brought bool, most float64) {
	if y.tried >= most {
		y.tried, y.brought = y.tried/2, y.brought/2
	}
	if y.tried++; brought {
		y.brought++
	}
}

// count adds a fetch, of a page unless p is nil.
func (o *outcomes) count(p *event.Fetched, most float64) {
	o.pages.count(p != nil, most)
	if p == nil || p.Reason != web.ReasonLinksOnly {
		o.relevant.count(p != nil && p.Relevant, most)
	}
}

// shortfall is by how much a list brought less than its share of what other links did.
func (o *outcomes) shortfall(others *outcomes) float64 {
	of := func(y, others yield, prior float64) float64 {
		return listShare*y.tried*(others.brought+1)/(others.tried+prior) - y.brought
	}
	return max(of(o.pages, others.pages, 1), of(o.relevant, others.relevant, 2))
}

// note takes in an event, and tells whether entries that wait go elsewhere by it.
func (l *lists) note(e event.Event) (changed bool) {
	var v *event.Visit
	var page *event.Fetched
	switch e := e.(type) {
	case event.Fetched:
		v, page = &e.Visit, &e
	case event.Failed:
		if e.Retry {
			return false
		}
		if v = &e.Visit; e.Reason == web.ReasonRedirect {
			l.follow(v, e.To)
			return false
		}
	default:
		return false
	}
	from, told := l.listOf(v.URL, v.From, v.Link)
	delete(l.moved, v.URL)
	switch {
	case told:
		l.entries++
		x := l.of[from]
		if x == nil {
			old, ok := l.order.add(from, mostLists, func(o web.URL) bool { return !l.of[o].behind && l.entries-l.of[o].last > idleAfter*mostLists })
			if !ok {
				return false
			}
			delete(l.of, old)
			if l.of == nil {
				l.of = make(map[web.URL]*list)
			}
			x = &list{}
			l.of[from] = x
		}
		x.last = l.entries
		x.count(page, recentEntries)
		changed = l.place(from, x)
	case v.Priority >= SeedPriority || v.Link == web.LinkSeed || v.Link == web.LinkAgain || v.Link == web.LinkSitemap || v.Link == web.LinkFeed:
		return false // a person, an earlier round or a site told of it
	default:
		l.others.count(page, recentOthers)
	}
	for u, x := range l.behind {
		changed = l.place(u, x) || changed
	}
	return changed
}

// listOf is the sitemap or feed of which a link, or what redirected to it, is an entry.
func (l *lists) listOf(u, from web.URL, by web.LinkKind) (list web.URL, ok bool) {
	if by == web.LinkEntry {
		return from, true
	}
	list, ok = l.moved[u]
	return list, ok && by == web.LinkRedirect
}

// isEntry tells whether a link is an entry of a sitemap or a feed, or what one redirected to.
func (l *lists) isEntry(c *web.Candidate) bool {
	_, ok := l.listOf(c.URL, c.From, c.Kind)
	return ok
}

// follow has what an entry redirects to count for its list.
func (l *lists) follow(v *event.Visit, to web.URL) {
	from, ok := l.listOf(v.URL, v.From, v.Link)
	delete(l.moved, v.URL)
	if !ok || to.IsZero() || len(l.moved) >= mostLists {
		return
	}
	if l.moved == nil {
		l.moved = make(map[web.URL]web.URL)
	}
	l.moved[to] = from
}

// place puts the entries of a list behind all links, or back, and tells whether it did.
func (l *lists) place(u web.URL, x *list) bool {
	switch s := x.shortfall(&l.others); {
	case !x.behind && s >= shortfallLast:
		if l.behind == nil {
			l.behind = make(map[web.URL]*list)
		}
		l.behind[u] = x
	case x.behind && s < shortfallBack:
		delete(l.behind, u)
	default:
		return false
	}
	x.behind = !x.behind
	return true
}

// rank is the priority of a link, given what it would be otherwise.
func (l *lists) rank(c *web.Candidate, priority float64) float64 {
	if len(l.behind) == 0 {
		return priority
	}
	if from, ok := l.listOf(c.URL, c.From, c.Kind); ok && l.behind[from] != nil {
		return priority - listPlace
	}
	return priority
}

// noteInLists counts an arrival by its event. What waits is scored anew where entries of a list
// go elsewhere by it.
func (s *Step) noteInLists(e event.Event) {
	if s.lists.note(e) {
		s.count.SweepDue = true
	}
}
