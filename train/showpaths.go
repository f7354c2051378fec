package train

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// ShowOptions say which paths of a record are shown to a learner in a person's
// place.
type ShowOptions struct {
	// Starts are where sites begin, Goals what is sought. A path leads from a
	// start page to a goal of the same registrable domain.
	Starts, Goals []web.URL
	// Wrong is how many wrong turns are shown besides: pages that are no goal,
	// labelled Fail.
	Wrong int
	// Label names milestones, "" for a page without a label; nil = none has.
	Label func(u web.URL) string
	// IsGoal tells every goal there is, so that none is shown as a wrong turn;
	// nil = Goals are all.
	IsGoal func(u web.URL) bool
	// Keep tells whether paths may go to an address; nil = everywhere.
	Keep func(u web.URL) bool
	// Resolve follows redirects; nil = there are none.
	Resolve func(u web.URL) web.URL
	Task    string
	Seed    uint64 // of which wrong turns are drawn
}

// ShowPaths finds shortest ways from start pages to goals in a record, as a
// person who knows the site clicks them, and wrong turns of at most as many
// links. Of ways that are equally short it takes the one by the links that come
// first on their pages. Goals that no start page leads to have no path.
//
// The paths stand goal by goal, in the order given, then wrong turns, of each
// start page in turn.
func ShowPaths(ctx context.Context, rec paths.Record, o ShowOptions) ([]paths.Path, error) {
	if o.Resolve == nil {
		o.Resolve = func(u web.URL) web.URL { return u }
	}
	label := func(u web.URL) string {
		if o.Label == nil {
			return ""
		}
		return o.Label(u)
	}
	goals := map[web.URL]bool{}
	for _, u := range o.Goals {
		goals[o.Resolve(u)] = true
	}
	isGoal := func(u web.URL) bool { return goals[u] || o.IsGoal != nil && o.IsGoal(u) }
	var trees []*wayTree
	for _, s := range o.Starts {
		t, err := grow(ctx, rec, o.Resolve(s), o)
		if err != nil {
			return nil, err
		}
		if t != nil {
			trees = append(trees, t)
		}
	}
	var out []paths.Path
	deepest := 1
	for _, g := range o.Goals {
		g = o.Resolve(g)
		best := -1
		for i, t := range trees {
			if w, ok := t.ways[g]; ok && w.links > 0 && (best < 0 || w.links < trees[best].ways[g].links) {
				best = i
			}
		}
		if best < 0 {
			continue
		}
		deepest = max(deepest, trees[best].ways[g].links)
		out = append(out, trees[best].path(g, paths.Goal, o.Task, func(u web.URL) string {
			if isGoal(u) {
				return "" // another goal on the way is no milestone
			}
			return label(u)
		}))
	}
	// Wrong turns: leaves of the search, on a page without a name of its own.
	chance := rand.New(rand.NewPCG(o.Seed, 0x77726f6e67))
	var drawn [][]web.URL
	for _, t := range trees {
		var can []web.URL
		for _, u := range t.order {
			if w := t.ways[u]; w.links > 0 && w.links <= deepest && !isGoal(u) && label(u) == "" {
				can = append(can, u)
			}
		}
		chance.Shuffle(len(can), func(i, j int) { can[i], can[j] = can[j], can[i] })
		drawn = append(drawn, can)
	}
	for shown := 0; shown < o.Wrong; {
		before := shown
		for i, t := range trees {
			if shown < o.Wrong && len(drawn[i]) > 0 {
				out = append(out, t.path(drawn[i][0], paths.Fail, o.Task, func(u web.URL) string {
					if isGoal(u) {
						return ""
					}
					return label(u)
				}))
				drawn[i] = drawn[i][1:]
				shown++
			}
		}
		if shown == before {
			break
		}
	}
	return out, nil
}

// wayTree is the shortest ways from a start page.
type wayTree struct {
	ways  map[web.URL]way
	order []web.URL // as reached
}

type way struct {
	from    web.URL // the page before; zero for the start
	via     web.URL // address of the link
	anchor  string
	ordinal int
	links   int // from the start page
}

// grow searches breadth-first; nil if the start page is not there.
func grow(ctx context.Context, rec paths.Record, start web.URL, o ShowOptions) (*wayTree, error) {
	if _, ok := rec.Page(start); !ok || o.Keep != nil && !o.Keep(start) {
		return nil, nil
	}
	t := &wayTree{ways: map[web.URL]way{start: {}}, order: []web.URL{start}}
	for at := 0; at < len(t.order); at++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		u := t.order[at]
		p, ok := rec.Page(u)
		if !ok {
			continue
		}
		for i := range p.Links {
			l := &p.Links[i]
			to := o.Resolve(l.URL)
			if _, known := t.ways[to]; known || to.Host().Domain() != start.Host().Domain() || o.Keep != nil && !o.Keep(to) {
				continue
			}
			if _, ok := rec.Page(to); !ok {
				continue
			}
			w := way{from: u, anchor: l.Anchor, ordinal: l.Position + 1, links: t.ways[u].links + 1}
			if l.URL != to {
				w.via = l.URL
			}
			t.ways[to] = w
			t.order = append(t.order, to)
		}
	}
	return t, nil
}

// path is the way to a page, labelled at its end.
func (t *wayTree) path(u web.URL, end, task string, label func(web.URL) string) paths.Path {
	p := paths.Path{Task: task, Source: "record"}
	for at := u; ; {
		w := t.ways[at]
		s := paths.Step{URL: at, Label: label(at)}
		if at == u {
			s.Label = end
		}
		if !w.from.IsZero() {
			s.Link = paths.Click{Anchor: w.anchor, Ordinal: w.ordinal, Via: w.via}
		}
		p.Steps = append(p.Steps, s)
		if w.from.IsZero() {
			break
		}
		at = w.from
	}
	slices.Reverse(p.Steps)
	p.Site = p.Steps[0].URL.Host().Domain()
	return p
}

// SpreadGoals takes n goals, from as many domains in turn as there are, so that
// every site shows some; within a domain in the order given.
func SpreadGoals(goals []web.URL, n int) []web.URL {
	by := map[string][]web.URL{}
	var names []string
	for _, u := range goals {
		d := u.Host().Domain()
		if by[d] == nil {
			names = append(names, d)
		}
		by[d] = append(by[d], u)
	}
	slices.SortFunc(names, cmp.Compare[string])
	var out []web.URL
	for round := 0; len(out) < n && round < len(goals); round++ {
		for _, d := range names {
			if round < len(by[d]) && len(out) < n {
				out = append(out, by[d][round])
			}
		}
	}
	return out
}
