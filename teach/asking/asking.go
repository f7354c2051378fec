// Package asking finds the pages whose label would teach a model of paths most,
// for a person to be asked about.
//
// The person has shown some paths. A model is made of them, looks at pages whose
// label it does not know, and asks about those of which it knows least:
//
//	shown ─► model ─► pages shown without a label, and pages one link away
//	                        │ doubt: is it a Goal?
//	                        ▼
//	                  the n most doubtful, no two alike
//
// Two members vote, as in committees (Argamon-Engelson & Dagan 1999, which
// Vydiswaran & Sarawagi 2005 name in section 1.2): the field along the path, and
// the classifier of the page alone. Doubt is the entropy of Goal or not under
// the mean of their distributions, so it is high where one of them does not
// know, and where they contradict each other. Doubt among the other labels does
// not count: what is asked about then is nearly always a wrong turn, and many
// wrong turns make a model that finds few goals.
package asking

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/teach"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// Asker is a teach.Suggester. It remembers nothing between calls.
type Asker struct {
	// Record is where pages are: at least those of the paths shown. Pages behind
	// links are read if it has them, and else judged by the link.
	Record paths.Record
	// Fit changes how models are made.
	Fit train.FitOptions
}

var _ teach.Suggester = (*Asker)(nil)

// maxLinks bounds the links of a page that are looked at.
const maxLinks = 300

// Suggest asks about n pages. It is an error, which says what to show first, if
// the paths shown teach nothing yet.
func (a *Asker) Suggest(ctx context.Context, shown, candidates []paths.Path, n int) ([]teach.Suggestion, error) {
	usable, _ := paths.Check(shown, a.Record)
	f, err := train.FitPaths(ctx, usable, a.Record, a.Fit)
	if err != nil {
		return nil, fmt.Errorf("no suggestion yet: %w. Show the way to a %s first, and a wrong turn as %s", err, paths.Goal, paths.Fail)
	}
	g, err := guide.New(f, guide.Options{})
	if err != nil {
		return nil, err
	}
	// Pages of labelled paths were looked at, and those asked about already.
	known := map[web.URL]bool{}
	for i := range shown {
		for _, s := range shown[i].Steps {
			known[s.URL] = true
		}
	}
	var all []doubt
	add := func(d doubt, ok bool) {
		if u := d.path.Steps[len(d.path.Steps)-1].URL; ok && !known[u] {
			known[u] = true
			all = append(all, d)
		}
	}
	for _, c := range candidates {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(c.Steps) > 0 {
			places := a.walk(g, c)
			add(a.judge(g, c, places[len(places)-1]))
		}
	}
	for _, p := range usable {
		places := a.walk(g, p)
		for k := range p.Steps {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if l := p.Steps[k].Label; l == paths.Goal || l == paths.Fail {
				break // a path ends there, and a second goal behind is refused
			}
			page, ok := a.Record.Page(p.Steps[k].URL)
			if !ok {
				continue
			}
			links := g.Links(page)
			for i := range links[:min(len(links), maxLinks)] {
				l := &page.Links[i]
				if l.URL == page.URL || l.URL.Host().Domain() != page.URL.Host().Domain() {
					continue
				}
				next := p
				next.Steps = append(slices.Clone(p.Steps[:k+1]), paths.Step{URL: l.URL, Link: paths.Click{Anchor: l.Anchor, Ordinal: l.Position + 1}})
				at := position{at: g.Ahead(places[k].at, links[i])}
				if behind, ok := a.Record.Page(l.URL); ok {
					at = position{at: g.Follow(places[k].at, links[i], behind), page: behind}
				}
				d, ok := a.judge(g, next, at)
				d.place = fmt.Sprint(page.URL, " ", l.TagPath) // its like on the page
				add(d, ok)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y doubt) int { return cmp.Compare(y.doubt, x.doubt) })
	// No two of one list: what tells about one line tells about the next.
	var out []teach.Suggestion
	places := map[string]bool{}
	for _, d := range all {
		if len(out) == n {
			break
		}
		if d.place != "" && places[d.place] {
			continue
		}
		places[d.place] = true
		out = append(out, teach.Suggestion{Path: d.path, Guess: d.guess, Why: d.why})
	}
	return out, nil
}

// position is the place of the last page of a path, and that page, nil if it is not
// in the record.
type position struct {
	at   guide.Place
	page *web.Page
}

// walk follows a path: one position for each step.
func (a *Asker) walk(g *guide.Guide, p paths.Path) []position {
	p.Steps = slices.Clone(p.Steps)
	paths.Resolve(&p, a.Record)
	out := make([]position, len(p.Steps))
	for k, s := range p.Steps {
		page, ok := a.Record.Page(s.URL)
		var features []byte
		if k > 0 {
			l := &web.Page{Links: []web.Link{{URL: s.URL, Anchor: s.Link.Anchor}}}
			if before := out[k-1].page; before != nil {
				for i := range before.Links {
					if before.Links[i].Position+1 == s.Link.Ordinal {
						l.Links[0] = before.Links[i]
					}
				}
			}
			features = g.Links(l)[0]
		}
		switch {
		case k == 0 && ok:
			out[k].at = g.Begin(page)
		case k > 0 && ok:
			out[k].at = g.Follow(out[k-1].at, features, page)
		case k > 0:
			out[k].at = g.Ahead(out[k-1].at, features)
		}
		if ok {
			out[k].page = page
		}
	}
	return out
}

type doubt struct {
	path       paths.Path
	guess, why string
	doubt      float64 // entropy of Goal or not, in bits, [0,1]
	place      string  // where its link stands; "" = no matter
}

// judge tells how much is in doubt at the end of a path; ok is false where
// nothing is known at all.
func (a *Asker) judge(g *guide.Guide, p paths.Path, s position) (d doubt, ok bool) {
	d.path = p
	if len(s.at.Alpha) == 0 {
		return d, false
	}
	names := g.Names()
	mean, path := slices.Clone(s.at.Alpha), s.at.Alpha
	var alone []float64
	if s.page != nil {
		alone = g.Alone(s.page)
		for y := range mean {
			mean[y] = (mean[y] + alone[y]) / 2
		}
	}
	goal := 0.
	for y, n := range names {
		if n.Label == paths.Goal && !n.Prefix {
			goal = mean[y]
		}
	}
	// H(g) = −g·log₂ g − (1−g)·log₂(1−g)
	for _, x := range []float64{goal, 1 - goal} {
		if x > 0 {
			d.doubt -= x * math.Log2(x)
		}
	}
	best, second := top(mean)
	if !names[best].Prefix {
		d.guess = names[best].Label
	}
	d.why = fmt.Sprintf("%s: %.0f%%, %s: %.0f%%", say(paths.State(names[best])), 100*mean[best], say(paths.State(names[second])), 100*mean[second])
	if alone != nil {
		byPath, _ := top(path)
		if byPage, _ := top(alone); byPage != byPath {
			d.why = fmt.Sprintf("by the way there: %s, by the page itself: %s", say(paths.State(names[byPath])), say(paths.State(names[byPage])))
		}
	}
	return d, true
}

// say names a state for people.
func say(s paths.State) string {
	if s.Prefix {
		return "on the way to " + s.Label
	}
	return s.Label
}

// top are the greatest and the next of some shares; of equals the first.
func top(x []float64) (best, second int) {
	second = 1
	if x[1] > x[0] {
		best, second = 1, 0
	}
	for i := 2; i < len(x); i++ {
		switch {
		case x[i] > x[best]:
			best, second = i, best
		case x[i] > x[second]:
			second = i
		}
	}
	return best, second
}
