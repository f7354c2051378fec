package forage

import (
	"errors"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/web"
)

// order is the scorer of one site. It keeps how each address was reached; a site's
// budget bounds that.
type order struct {
	guide *guide.Guide
	join  guide.Join
	// links are the worths of addresses over all paths that led to them, with the
	// text of the best link.
	links map[web.URL]rating
	steps map[web.URL]visit
	worth float64 // of the page fetched last
}

type rating struct {
	worth, best float64
	anchor      string
}

type visit struct {
	from  web.URL // the page or redirect before
	label string  // "" for a redirect
	goal  bool
	sure  float64 // probability that it is one
	claim float64 // the same by all its words too, see guide.Claim; 1 = not known
}

var _ crawl.Scorer = (*order)(nil)

func newOrder(g *guide.Guide, j guide.Join) *order {
	return &order{guide: g, join: j, links: map[web.URL]rating{}, steps: map[web.URL]visit{}}
}

// from remembers how the crawl came to an address.
func (o *order) from(l web.Lease) { o.steps[l.URL] = visit{from: l.From} }

// Extract gives what each link shows.
func (o *order) Extract(page *web.Page, _ web.Verdict) [][]byte { return o.guide.Links(page) }

// Visit takes α and δ one page on, labels the page and rates its links. Several
// links of one page to another are one path, the best of them.
func (o *order) Visit(c *web.Candidate, page *web.Page, _ web.Verdict) []byte {
	if page == nil {
		return nil
	}
	var at guide.Place
	if len(c.Features) == 0 {
		at = o.guide.Begin(page)
	} else {
		at = o.guide.Follow(o.guide.Place(c.Memory), c.Features, page)
	}
	step := o.steps[c.URL]
	_, state := o.guide.State(at)
	step.label, step.goal = state.String(), o.guide.Goal(at)
	step.sure = o.guide.Sure(at)
	step.claim = 1
	if p, ok := o.guide.Claim(at, page); ok {
		step.claim = p
	}
	o.steps[c.URL] = step
	o.worth = o.guide.Worth(at)

	// The bytes that travel are the place's, so that a link is worth the same
	// when it is looked at again.
	b, _ := at.AppendBinary(nil) // never fails
	at = o.guide.Place(b)
	here := map[web.URL]rating{}
	for i, features := range o.guide.Links(page) {
		l := &page.Links[i]
		w := o.guide.Rate(at, features)
		if old, ok := here[l.URL]; !ok || w > old.best || w == old.best && old.anchor == "" {
			here[l.URL] = rating{best: w, anchor: l.Anchor}
		}
	}
	for u, l := range here {
		old, ok := o.links[u]
		if !ok || l.best > old.best {
			old.best, old.anchor = l.best, l.anchor
		}
		old.worth = o.join.Add(old.worth, l.best)
		o.links[u] = old
	}
	return b
}

// Score is the worth of a link over all paths, ≥ 0. A start page comes first.
func (o *order) Score(c *web.Candidate) float64 {
	if len(c.Features) == 0 {
		return math.MaxFloat64
	}
	if l, ok := o.links[c.URL]; ok {
		return l.worth
	}
	return o.guide.Rate(o.guide.Place(c.Memory), c.Features) // a redirect's target
}

// Stale says no: a sum that has grown shows when its candidate is looked at.
func (o *order) Stale() bool { return false }

// Rescores tells that a link grows with each path that leads there.
func (o *order) Rescores() bool { return o.join != guide.Max }

func (o *order) State() (state []byte, anew bool) { return nil, false }

// Restore refuses: a site is not taken up in its middle.
func (o *order) Restore(state []byte) error {
	if len(state) > 0 {
		return errors.New("forage: a site begins anew")
	}
	return nil
}

// path is the way from the start page to an address, over pages alone: redirects
// are left out.
func (o *order) path(u web.URL) (steps []Step) {
	for range len(o.steps) {
		s, ok := o.steps[u]
		if !ok {
			break
		}
		anchor := o.links[u].anchor
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
