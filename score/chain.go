package score

import (
	"cmp"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// chain ranks links by a belief over hop distances that a conditional random
// field or a maximum-entropy Markov model follows along the path: first what
// is likeliest to be a target, among equals what is likeliest to be one link
// away from one, and so on (beliefOrder).
//
// literal ranks as section 3.3.1 and figure 9 have it, by the belief over the page
// that holds the link; its links then differ by their anchors and addresses alone.
// Without it the belief is carried over the link, to the page that would be
// fetched.
//
// The parent of a page is the one whose link the frontier holds; a further link to
// a page that waits replaces it if its belief ranks higher, as frontiers do with
// priorities. With shortest the pages behind a belief are those "along the shortest
// path from the seed", as section 3.3.1 has it: the frontier holds the link of the
// least depth (Shortest).
//
// Source: Liu & Milios, Probabilistic Models for Focused Web Crawling, 2010. The
// limit of 500 links in the queue (section 7) is a setting of the frontier, for
// every strategy: frontier.Options.Max.
type chain struct {
	stateless
	path    *Path
	order   beliefOrder
	literal bool
}

var (
	_ Scorer    = (*chain)(nil)
	_ Explainer = (*chain)(nil)
)

func chainSettings() []Setting {
	return []Setting{
		viterbiSetting(),
		{Name: "literal", Max: 1, Whole: true, Line: "1 ranks a link by the belief over its page, as printed; 0 by that over the page it leads to"},
		{Name: "bias", Max: 1, Whole: true, Line: "1 predicts by the weights of what every page shows, 0 by the share of training links from state to state"},
		{Name: "shortest", Max: 1, Whole: true, Line: "1 goes by the shortest of the paths to a page that waits, as printed; 0 by the one whose belief ranks highest"},
		{Name: "observe", Max: 1, Whole: true, Line: "1 begins with what the model says of the seed page; 0 with the start distribution of training"},
		orderSetting(),
	}
}

func viterbiSetting() Setting {
	return Setting{Name: "viterbi", Max: 1, Whole: true, Line: "1 follows the best path alone; 0 joins all paths (marginal)"}
}

func newChain(kind model.Kind) func(Options) (Scorer, error) {
	return func(o Options) (Scorer, error) {
		p, err := newPath(o.Model, PathOptions{Viterbi: o.set("viterbi") >= 0.5, Observe: o.set("observe") >= 0.5, Bias: o.set("bias") >= 0.5}, kind)
		if err != nil {
			return nil, err
		}
		return &chain{path: p, order: newBeliefOrder(o.set("epsilon")), literal: o.set("literal") >= 0.5}, nil
	}
}

// Extract gives what each link shows, see feature.Link.
func (c *chain) Extract(p *web.Page, _ web.Verdict) [][]byte { return c.path.Links(p) }

// Visit returns the belief that the page's links carry, see Path.Follow.
func (c *chain) Visit(link *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	if p == nil {
		return nil
	}
	return c.path.Follow(link.Features, link.Memory, p)
}

// Score is in [0, 1+ε); its first digits are the probability that the page is a
// target. A seed has 1.
func (c *chain) Score(link *web.Candidate) float64 {
	if len(link.Features) == 0 {
		return 1
	}
	var room scratch
	belief := room.take(c.path.States())
	c.rankingBelief(belief, c.path.link(link.Features), link.Memory)
	return c.order.priority(belief)
}

// rankingBelief fills dst [S] with the belief by which a link is ranked.
func (c *chain) rankingBelief(dst []float64, link feature.Link, memory []byte) {
	if c.literal {
		c.path.belief(dst, link, memory)
	} else {
		c.path.predict(dst, link, memory)
	}
}

// Recall is Visit, which changes nothing here.
func (c *chain) Recall(link *web.Candidate, p *web.Page, v web.Verdict) []byte {
	return c.Visit(link, p, v)
}

// Explain begins with the probability of a target by the path alone, as if the
// link showed nothing, and adds what the link shows, thing by thing: first what
// alone would change that probability most. What a thing adds depends on those
// before it. What is left to the priority is told by the farther hop distances.
func (c *chain) Explain(_ *web.Page, _ web.Verdict, _ int, link *web.Candidate) []Reason {
	if len(link.Features) == 0 {
		return nil
	}
	belief := make([]float64, c.path.States())
	target := func(l feature.Link) float64 {
		c.rankingBelief(belief, l, link.Memory)
		return belief[0]
	}
	shown := c.path.link(link.Features)
	before := target(feature.Link{})
	out := []Reason{{Kind: ReasonPath, Times: 1, Weight: before}}
	type thing struct {
		link  feature.Link
		alone float64 // by how much it changes the probability
	}
	var things []thing
	// Where O3 is of the page, a keyword in the address bears on the page alone that the link leads to.
	if shown.Keyword && (!c.literal || len(c.path.space.Outlink(feature.Link{Keyword: true})) > 0) {
		things = append(things, thing{link: feature.Link{Keyword: true}})
	}
	for _, w := range shown.Words {
		things = append(things, thing{link: feature.Link{Words: []uint32{w}}})
	}
	for i := range things {
		things[i].alone = target(things[i].link) - before
	}
	slices.SortStableFunc(things, func(a, b thing) int { return cmp.Compare(math.Abs(b.alone), math.Abs(a.alone)) })
	var sofar feature.Link
	for _, t := range things {
		sofar.Keyword = sofar.Keyword || t.link.Keyword
		sofar.Words = append(sofar.Words, t.link.Words...)
		slices.Sort(sofar.Words)
		after := target(sofar)
		out = append(out, Reason{Kind: ReasonSeen, What: c.path.name(t.link, c.literal), Times: 1, Weight: after - before})
		before = after
	}
	return append(out, c.order.reason(belief))
}
