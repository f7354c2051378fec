package forage

import (
	"errors"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/web"
)

// pilot is the scorer of one site, which remembers the way: a site's budget
// bounds what it keeps.
type pilot struct {
	guide *guide.Guide
	join  guide.Join
	// links are the worths of addresses over all paths that led to them, with the
	// text of the best link.
	links map[web.URL]found
	steps map[web.URL]visited
	worth float64 // of the page fetched last
}

type found struct {
	worth, best float64
	anchor      string
}

type visited struct {
	from  web.URL // the page or redirect before
	label string  // "" for a redirect
	goal  bool
	sure  float64 // probability that it is one
}

var _ crawl.Scorer = (*pilot)(nil)

func newPilot(g *guide.Guide, j guide.Join) *pilot {
	return &pilot{guide: g, join: j, links: map[web.URL]found{}, steps: map[web.URL]visited{}}
}

// from remembers how the crawl came to an address.
func (p *pilot) from(l web.Lease) { p.steps[l.URL] = visited{from: l.From} }

// Extract gives what each link shows.
func (p *pilot) Extract(page *web.Page, _ web.Verdict) [][]byte { return p.guide.Links(page) }

// Visit takes α and δ one page on, labels the page and rates its links. Several
// links of one page to another are one path, the best of them.
func (p *pilot) Visit(c *web.Candidate, page *web.Page, _ web.Verdict) []byte {
	if page == nil {
		return nil
	}
	var at guide.Place
	if len(c.Features) == 0 {
		at = p.guide.Begin(page)
	} else {
		at = p.guide.Follow(p.guide.Place(c.Memory), c.Features, page)
	}
	step := p.steps[c.URL]
	_, state := p.guide.State(at)
	step.label, step.goal = state.String(), p.guide.Goal(at)
	step.sure = p.guide.Sure(at)
	p.steps[c.URL] = step
	p.worth = p.guide.Worth(at)

	// The bytes that travel are the place's, so that a link is worth the same
	// when it is looked at again.
	b, _ := at.AppendBinary(nil) // never fails
	at = p.guide.Place(b)
	here := map[web.URL]found{}
	for i, features := range p.guide.Links(page) {
		l := &page.Links[i]
		w := p.guide.Rate(at, features)
		if old, ok := here[l.URL]; !ok || w > old.best || w == old.best && old.anchor == "" {
			here[l.URL] = found{best: w, anchor: l.Anchor}
		}
	}
	for u, l := range here {
		old, ok := p.links[u]
		if !ok || l.best > old.best {
			old.best, old.anchor = l.best, l.anchor
		}
		old.worth = p.join.Add(old.worth, l.best)
		p.links[u] = old
	}
	return b
}

// Score is the worth of a link over all paths, ≥ 0. A start page comes first.
func (p *pilot) Score(c *web.Candidate) float64 {
	if len(c.Features) == 0 {
		return math.MaxFloat64
	}
	if l, ok := p.links[c.URL]; ok {
		return l.worth
	}
	return p.guide.Rate(p.guide.Place(c.Memory), c.Features) // a redirect's target
}

// Stale says no: a sum that has grown shows when its candidate is looked at.
func (p *pilot) Stale() bool { return false }

// Rescores tells that a link grows with each path that leads there.
func (p *pilot) Rescores() bool { return p.join != guide.Max }

func (p *pilot) State() []byte { return nil }

// Restore refuses: a site is not taken up in its middle.
func (p *pilot) Restore(state []byte) error {
	if len(state) > 0 {
		return errors.New("forage: a site begins anew")
	}
	return nil
}

// path is the way from the start page to an address, over pages alone: redirects
// are left out.
func (p *pilot) path(u web.URL) (steps []Step) {
	for range len(p.steps) {
		s, ok := p.steps[u]
		if !ok {
			break
		}
		anchor := p.links[u].anchor
		if s.from.IsZero() {
			anchor = "" // the start page, whatever links back to it
		}
		if s.label != "" {
			steps = append(steps, Step{URL: u, Label: s.label, Anchor: anchor})
		} else if n := len(steps); n > 0 && steps[n-1].Anchor == "" {
			steps[n-1].Anchor = anchor // the link was to the address that redirects
		}
		u = s.from
	}
	slices.Reverse(steps)
	return steps
}
