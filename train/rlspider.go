package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// spiderFitters fit the crawler that learns what a link is worth.
func spiderFitters() []Fitter {
	return []Fitter{{
		Kind: model.RLSpider, Line: "what a link is worth in targets to come, by naive Bayes over its words", Pages: true, Stateless: true, fit: fitSpider,
		Settings: []Setting{
			{Name: "gamma", Line: "γ: what a target is worth one fetch later", Default: 0.5, Max: 0.95},
			{Name: "bins", Line: "classes of links by what they are worth", Default: 3, Min: 2, Max: 100, Whole: true},
			{Name: "words", Line: "training links a word must be on to count", Default: 3, Min: 1, Max: 1e6, Whole: true},
			{Name: "outside", Line: "1 learns from links out of the graph too, as worth nothing; for graphs that hold whole sites", Max: 1, Whole: true},
			{Name: "uniform", Line: "1 holds all bins equally likely before a link is read, 0 by their links", Max: 1, Whole: true},
		},
	}}
}

// fitSpider learns the value of a link from its words: anchor, surroundings,
// heading above and address. Values fall into bins of about as many links each;
// a bin is worth the mean of its links.
//
// The paper has whole training sites, where a link that is not worth anything
// is known to be so. A graph found by going back from its targets, with so many
// pages a layer, leaves out pages that lead to targets as well as those that do
// not, so links out of it teach nothing unless the setting outside says that
// they are worth nothing.
//
// Source: Rennie & McCallum 1999, sections 4 and 5: γ = ½, three bins.
func fitSpider(ctx context.Context, g *Graph, _ []Sequence, o FitOptions) (*model.File, error) {
	links, values := g.valuedLinks(o.Set["gamma"], o.Set["outside"] >= 0.5)
	if len(links) == 0 {
		return nil, fmt.Errorf("%w: no page links to another", ErrOneClass)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	classes, worth := bins(values, int(o.Set["bins"]))
	if len(worth) < 2 {
		return nil, fmt.Errorf("%w: each of its %d links is worth %v; collect more layers, or learn from links out of the graph too", ErrOneClass, len(links), worth[0])
	}
	var tagged []string
	words := feature.CountWords(len(links), int(o.Set["words"]), func(i int) []string {
		tagged = feature.LinkWords(tagged[:0], o.Analyzer, links[i])
		return tagged
	}, nil)
	if words.Len() == 0 {
		return nil, fmt.Errorf("the words of links: %w", ErrNoWords)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	documents := make([]sparse.Vector, len(links))
	for i, l := range links {
		documents[i] = words.Link(o.Analyzer, l)
	}
	prior := bayes.Documents
	if o.Set["uniform"] >= 0.5 {
		prior = bayes.Uniform
	}
	learnt, err := bayes.Train(documents, classes, bayes.Options{Classes: len(worth), Vocabulary: words.Len(), Prior: prior})
	if err != nil {
		return nil, err
	}
	return &model.File{
		Payload: &model.Classes{Words: words, Bayes: learnt, Values: worth},
		Provenance: model.Provenance{
			Settings: map[string]float64{"vocabulary": float64(words.Len()), "links": float64(len(links))},
		},
	}, nil
}

// valuedLinks are the links of the graph with their values and, if outside, the
// first link of each page to each address that is not in the graph, worth 0.
func (g *Graph) valuedLinks(gamma float64, outside bool) (links []*web.Link, values []float64) {
	values = linkValues(g, gamma)
	for _, e := range g.Edges {
		links = append(links, e.Link)
	}
	if !outside {
		return links, values
	}
	inside := make(map[web.URL]bool, len(g.Nodes))
	for _, n := range g.Nodes {
		inside[n.URL] = true
	}
	for from := range g.moved {
		inside[from] = true
	}
	for _, n := range g.Nodes {
		seen := make(map[web.URL]bool)
		for i := range n.Page.Links {
			if l := &n.Page.Links[i]; !inside[l.URL] && !seen[l.URL] {
				seen[l.URL] = true
				links, values = append(links, l), append(values, 0)
			}
		}
	}
	return links, values
}

// bins splits values into at most n classes of about as many each, lowest
// first, and tells the mean of each. Equal values are in one class, however
// many they are; the others then share what is left.
//
// Shapes: class [len(values)]; worth [classes], ascending.
func bins(values []float64, n int) (class []int, worth []float64) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	class = make([]int, len(values))
	for begin := 0; begin < len(order); n-- {
		end := begin + max(1, (len(order)-begin)/max(1, n))
		for end < len(order) && (n <= 1 || values[order[end]] == values[order[end-1]]) {
			end++
		}
		sum := 0.
		for _, i := range order[begin:end] {
			class[i] = len(worth)
			sum += values[i]
		}
		worth = append(worth, sum/float64(end-begin))
		begin = end
	}
	return class, worth
}

// linkValues returns Q of each edge of a graph: the discounted sum of rewards
// of a crawl that follows the link and then, from what it finds there, goes
// for targets in the best order. A target is worth 1 when it is fetched, and
// each fetch after the link's own takes one step:
//
//	Q(u→v) = Σ_t γ^t·[the page fetched at step t is a target],   t = 0 for v
//
// The page u has been fetched, so it is worth nothing, and nothing is found
// there: its other links have values of their own.
//
// The best order is a walk that spans the targets, and as hard to find. The
// approximation goes for the nearest target that is left, counted in links
// from anything fetched so far, and takes in the pages on the way; with γ = ½
// a target one step later is worth half, so nearest first is close. Steps
// worth less than a thousandth are left out.
//
// Source: Rennie & McCallum, Using Reinforcement Learning to Spider the Web
// Efficiently, 1999, section 4.
//
// Shape: [len(g.Edges)], in [0, 1/(1−γ)].
func linkValues(g *Graph, gamma float64) []float64 {
	w := newWalker(g, gamma)
	// The order from v is the same for all links that lead to it, but where it
	// would use the page that holds the link.
	type known struct {
		value   float64
		fetched []int32
	}
	from := make(map[int32]known)
	out := make([]float64, len(g.Edges))
	for i, e := range g.Edges {
		k, ok := from[e.To]
		if !ok {
			k.value = w.value(-1, e.To)
			k.fetched = append(k.fetched, w.fetched...)
			from[e.To] = k
		}
		out[i] = k.value
		for _, n := range k.fetched {
			if n == e.From {
				out[i] = w.value(e.From, e.To)
				break
			}
		}
	}
	return out
}

// leastStep is what a step must be worth at least.
const leastStep = 1e-3

// walker plays the order of one link at a time.
type walker struct {
	g       *Graph
	gamma   float64
	steps   int     // that are worth leastStep
	targets int     // in g
	first   []int32 // [nodes+1]: edges of a node are g.Edges[first[n]:first[n+1]]

	fetched []int32
	is      []bool  // [nodes] fetched
	seen    []int32 // [nodes] number of the search that last met a node
	back    []int32 // [nodes] where that search came from
	search  int32
	queue   []int32
}

func newWalker(g *Graph, gamma float64) *walker {
	w := &walker{g: g, gamma: gamma, first: make([]int32, len(g.Nodes)+1)}
	for _, e := range g.Edges {
		w.first[e.From+1]++
	}
	for n := range g.Nodes {
		w.first[n+1] += w.first[n]
		if g.Nodes[n].Target {
			w.targets++
		}
	}
	if gamma > 0 {
		w.steps = int(math.Log(leastStep) / math.Log(gamma))
	}
	w.is = make([]bool, len(g.Nodes))
	w.seen = make([]int32, len(g.Nodes))
	w.back = make([]int32, len(g.Nodes))
	return w
}

// value is Q of a link from u to v; u is −1 for none.
func (w *walker) value(u, v int32) float64 {
	for _, n := range w.fetched {
		w.is[n] = false
	}
	w.fetched = w.fetched[:0]
	w.take(v)
	q, t, left := 0., 0, w.targets
	if w.g.Nodes[v].Target {
		q, left = 1, left-1
	}
	if u >= 0 && w.g.Nodes[u].Target {
		left--
	}
	for ; left > 0; left-- {
		target, hops := w.nearest(u, w.steps-t)
		if target < 0 {
			return q
		}
		t += hops
		q += math.Pow(w.gamma, float64(t))
		for n := target; !w.is[n]; n = w.back[n] {
			w.take(n)
		}
	}
	return q
}

func (w *walker) take(n int32) {
	w.is[n] = true
	w.fetched = append(w.fetched, n)
}

// nearest finds the target not yet fetched that is fewest links, most at most,
// from anything fetched, not by way of u; −1 when there is none.
func (w *walker) nearest(u int32, most int) (target int32, hops int) {
	w.search++
	w.queue = append(w.queue[:0], w.fetched...)
	for _, n := range w.queue {
		w.seen[n] = w.search
	}
	if u >= 0 {
		w.seen[u] = w.search
	}
	for begin := 0; begin < len(w.queue) && hops < most; {
		end := len(w.queue)
		hops++
		for ; begin < end; begin++ {
			n := w.queue[begin]
			for _, e := range w.g.Edges[w.first[n]:w.first[n+1]] {
				if w.seen[e.To] == w.search {
					continue
				}
				w.seen[e.To], w.back[e.To] = w.search, n
				if w.g.Nodes[e.To].Target {
					return e.To, hops
				}
				w.queue = append(w.queue, e.To)
			}
		}
	}
	return -1, 0
}
