package crawl

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// What becomes of the links of a page.

// ofCopy are the links of a page that is not followed, as it only repeats another.
func ofCopy(p *web.Page) (refused []event.Skipped) {
	met := make(map[web.URL]bool, len(p.Links))
	for i := range p.Links {
		if u := p.Links[i].URL; !met[u] {
			met[u] = true
			refused = append(refused, event.Skipped{URL: u, Reason: web.ReasonDuplicate, Link: foundBy(p.Links[i].Kind)})
		}
	}
	return refused
}

// link is a found candidate with what only its report needs.
type link struct {
	web.Candidate
	anchor  string // at most 80 bytes
	changed web.Date
	tried   bool // its priority is that of the page that holds it; see leads.tries
}

// linkBuffers are used again for each page: what is in them is of no use after admit.
type linkBuffers struct {
	place map[web.URL]int // in found
	found []link
	asked []web.Candidate
}

// links scores the links of a page. A link that occurs more than once goes by
// its best occurrence, in the place of its first.
func (s *Step) links(a *Arrival, memory []byte) (found []link, refused []event.Skipped) {
	p, parent := a.Page, &a.Lease.Candidate
	if p.Directives.NoFollow && !s.policy.IgnoreDirectives {
		return nil, nil
	}
	if s.place == nil || len(s.place) > 1000 { // emptying a large map would cost every page after
		s.linkBuffers = linkBuffers{place: make(map[web.URL]int)}
	}
	place := s.place
	clear(place)
	clear(s.found) // what the page before carried is not to be held for long
	clear(s.asked)
	found = s.found[:0]
	var c web.Candidate // one for all: a scorer is given its address
	for i := range p.Links {
		l := &p.Links[i]
		if l.NoFollow && s.policy.HonourNoFollow {
			refused = append(refused, event.Skipped{URL: l.URL, Reason: web.ReasonNoFollow, Link: foundBy(l.Kind)})
			continue
		}
		c = web.Candidate{
			URL:      l.URL,
			From:     parent.URL,
			Kind:     l.Kind,
			Depth:    parent.Depth + 1,
			Features: a.Features[i],
			Memory:   memory,
		}
		c.Priority = s.rank(&c, s.score(&c))
		at := parent.Priority
		tried := at < SeedPriority && at > c.Priority && s.leads.tries(l.URL) && s.isDocument(l.URL)
		if tried {
			c.Priority = at
		}
		if j, twice := place[l.URL]; !twice {
			place[l.URL] = len(found)
			found = append(found, link{c, clip(l.Anchor, 80), l.Changed, tried})
		} else if c.Priority > found[j].Priority {
			found[j] = link{c, clip(l.Anchor, 80), l.Changed, tried}
		}
	}
	s.found = found
	return found, refused
}

// isDocument tells by its name that an address leads to a document that is asked for.
func (s *Step) isDocument(u web.URL) bool {
	ext := path.Ext(u.Path())
	return len(ext) > 1 && s.files[strings.ToLower(ext[1:])]
}

// farPriority is the priority by a scorer from which on larger ones are brought closer. It is well
// below firstPlace, by which links go ahead, and below that of seeds.
const farPriority = 1e8

// score is the priority by the scorer, in ±1.7·farPriority: the crawl has ranges of its own beyond.
// Priorities beyond farPriority come closer and keep their order. What is no number is the least.
func (s *Step) score(c *web.Candidate) float64 {
	v := s.scorer.Score(c)
	if math.IsNaN(v) {
		v = -math.MaxFloat64
	}
	size := min(math.Abs(v), math.MaxFloat64)
	if size <= farPriority {
		return v
	}
	return math.Copysign(farPriority*(1+math.Log(size/farPriority)/1000), v)
}

// admit sorts found links into those the frontier takes and those it never
// will. A link that is refused by its address is marked done, so that it is
// reported once; one refused for the path that led to it may come again.
func (s *Step) admit(found []link, refused []event.Skipped, preview Preview) (
	queued []event.Found, skipped []event.Skipped, turn web.Turn, err error,
) {
	if len(found)+len(refused) == 0 {
		return nil, nil, web.Turn{}, nil
	}
	fate, err := s.fates(found, refused, preview)
	if err != nil {
		return nil, nil, web.Turn{}, err
	}
	fresh := 0
	for _, f := range fate[:len(found)] {
		if f != web.Known {
			fresh++
		}
	}
	if fresh > 0 {
		turn.Add, queued = make([]web.Candidate, 0, fresh), make([]event.Found, 0, fresh)
	}
	for i := range found {
		c := &found[i]
		if fate[i] == web.Known {
			continue
		}
		reason, forGood := s.refuse(&c.Candidate)
		switch {
		case reason != "":
			if fate[i] != web.Raised { // one that waits was found on a better path
				skipped = append(skipped, event.Skipped{URL: c.URL, Reason: reason, Link: foundBy(c.Kind)})
			}
			if reason == web.ReasonMuted && fate[i] != web.Raised {
				if err := s.keepMuted(&c.Candidate, true); err != nil {
					return nil, nil, web.Turn{}, err
				}
			}
			if forGood {
				turn.Done = append(turn.Done, c.URL)
			}
		case s.foreign(c.URL.Host()):
			s.send(&c.Candidate)
		case fate[i] == web.Refused:
			skipped = append(skipped, event.Skipped{URL: c.URL, Reason: web.ReasonHostQueue, Link: foundBy(c.Kind)})
		case fate[i] == web.Crowded:
			skipped = append(skipped, event.Skipped{URL: c.URL, Reason: web.ReasonSiteQueue, Link: foundBy(c.Kind)})
		default:
			turn.Add = append(turn.Add, c.Candidate)
			if c.tried {
				s.leads.try(&c.Candidate)
			}
			if c.Kind == web.LinkSitemap && fate[i] == web.Queued {
				s.leads.sitemaps[c.URL.Host()]++
			}
			queued = append(queued, event.Found{
				URL: c.URL, Priority: c.Priority, Raised: fate[i] == web.Raised, Link: foundBy(c.Kind),
				Anchor:  strings.Clone(c.anchor), // it would hold all text of the page
				Changed: c.changed,
			})
		}
	}
	for i, r := range refused {
		if fate[len(found)+i] != web.Known {
			skipped = append(skipped, r)
		}
	}
	return queued, skipped, turn, nil
}

// fates asks the frontier what would become of found links and of refused ones: one known is not news. A link that
// may not enter, or is for another worker, takes no place: where places are short, the others are asked about alone.
func (s *Step) fates(found []link, refused []event.Skipped, preview Preview) ([]web.Admission, error) {
	asked := s.asked[:0]
	for i := range found {
		asked = append(asked, found[i].Candidate)
	}
	for _, r := range refused {
		asked = append(asked, web.Candidate{URL: r.URL, Priority: -math.MaxFloat32})
	}
	s.asked = asked
	fate, err := preview(asked)
	short := func(f web.Admission) bool { return f == web.Refused || f == web.Crowded }
	if err != nil || !slices.ContainsFunc(fate[:len(found)], short) {
		return fate, err
	}
	asked = asked[:0]
	var at []int // in found
	stay := 0    // links that would take a place and may not
	for i := range found {
		c := &found[i].Candidate
		if fate[i] == web.Known {
			continue
		}
		if reason, _ := s.refuse(c); reason != "" || s.foreign(c.URL.Host()) {
			stay++
			continue
		}
		asked, at = append(asked, *c), append(at, i)
	}
	if stay == 0 || len(asked) == 0 {
		return fate, nil
	}
	alone, err := preview(asked)
	if err != nil {
		return nil, err
	}
	for j, i := range at {
		fate[i] = alone[j]
	}
	return fate, nil
}

// mostSitemaps bounds the sitemaps followed of a host: an index may name more without end.
const mostSitemaps = 200

// foundBy is the kind of a link as its event tells it: "" for the usual one.
func foundBy(k web.LinkKind) web.LinkKind {
	if k == web.LinkA || k == web.LinkSeed {
		return ""
	}
	return k
}

// OfRobots is the web.Link.TagPath of a link that robots.txt names and the page does not.
const OfRobots = "robots.txt"

// WithSitemaps is a page with links to the sitemaps of its host, as its robots.txt names them,
// behind its own: what the crawl makes of it where sitemaps are a source of links. One that repeated a secret,
// which is concealed in that file, is left out.
func WithSitemaps(p *web.Page, sitemaps []string) *web.Page {
	const most = 20
	var links []web.Link
	telling := p.Telling
	for _, s := range sitemaps[:min(len(sitemaps), most)] {
		if u, err := (web.Canon{}).Resolve(p.URL, s); err == nil && u != p.URL {
			if web.IsConcealed(u.String()) {
				telling++
				continue
			}
			links = append(links, web.Link{URL: u, Kind: web.LinkSitemap, TagPath: OfRobots, Position: len(p.Links) + len(links), First: 0, Last: -1})
		}
	}
	if len(links) == 0 && telling == p.Telling {
		return p
	}
	more := *p
	more.Telling = telling
	more.Links = append(p.Links[:len(p.Links):len(p.Links)], links...)
	return &more
}

// refuse says why a link may not enter the frontier, "" if it may, and whether
// that is so whatever path leads to it.
func (s *Step) refuse(c *web.Candidate) (reason web.Reason, forGood bool) {
	if r := s.policy.Scope.check(c.URL); r != "" {
		// Where a seed has yet to move to is not known before it was fetched.
		return r, s.count.Seeds <= 0
	}
	if c.Kind == web.LinkSitemap && s.leads.sitemaps[c.URL.Host()] >= mostSitemaps {
		return web.ReasonTrap, true
	}
	if c.Kind != web.LinkSeed && c.Kind != web.LinkAgain {
		if c.Kind != web.LinkFeed && c.Kind != web.LinkSitemap && isOtherFile(c.URL, s.files) {
			return web.ReasonExtension, true
		}
		if isTrap(c.URL) || s.traps.fate(c.URL) == shapeTrap {
			return web.ReasonTrap, true
		}
	}
	if r, ok := s.closed[c.URL.Host()]; ok {
		return r, true
	}
	if c.Depth > s.policy.MaxDepth {
		return web.ReasonDepth, false
	}
	if s.steering.mutes(c.URL) {
		return web.ReasonMuted, false // until that is undone
	}
	return "", false
}
