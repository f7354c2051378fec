package train

import (
	"context"
	"slices"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/crf"
	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/memm"
	"github.com/waggle-crawler/waggle/learn/optim"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// chainFitters fit conditional random fields and maximum-entropy Markov models
// to labelled sequences.
//
// Source: Liu & Milios 2010, sections 4.2 and 5.2.
func chainFitters() []Fitter {
	return []Fitter{
		{Kind: model.CRF, Line: "hop distances along a path, as a conditional random field", Settings: chainSettings(), fit: fitChain(crf.Train)},
		{Kind: model.MEMM, Line: "the same, normalised at each step: a maximum-entropy Markov model", Settings: chainSettings(), fit: fitChain(memm.Train)},
	}
}

func chainSettings() []Setting {
	return []Setting{
		{Name: "self", Line: "1 compares targets with themselves too, as the paper does: then only they have a cosine of 1", Default: 0, Min: 0, Max: 1, Whole: true},
		{Name: "any-address", Line: "1 asks whether any address on the page holds a keyword, as the paper does; 0 asks it of the one link that leads on", Default: 0, Min: 0, Max: 1, Whole: true},
	}
}

// learner is crf.Train or memm.Train.
type learner func(context.Context, []lattice.Sequence, lattice.Shape, lattice.Options) (*lattice.Weights, lattice.Trace, error)

func fitChain(learn learner) func(context.Context, *Graph, []Sequence, FitOptions) (*model.File, error) {
	return func(ctx context.Context, g *Graph, sequences []Sequence, o FitOptions) (*model.File, error) {
		o.Features.AnyAddress = o.Set["any-address"] >= 0.5
		space, err := feature.Build(g.Topic, g.examples(sequences), o.Features)
		if err != nil {
			return nil, err
		}
		look := space.Others
		if o.Set["self"] >= 0.5 {
			look = space.Page
		}
		labelled, start := g.observe(space, look, sequences, o.States)
		weights, trace, err := learn(ctx, labelled, lattice.Hops(o.States, space.Len()), lattice.Options{
			Variance: o.Variance, Iterations: o.Iterations, Tolerance: o.Tolerance, Workers: o.Workers, Cuts: space.Cuts(),
			Progress: func(i optim.Iteration) { o.Progress(i.Iteration, -i.Value) },
		})
		if err != nil {
			return nil, err
		}
		// The file holds so many digits: a model just trained and the same one
		// read are to crawl alike.
		for i, w := range weights.W {
			weights.W[i] = float64(float32(w))
		}
		words, anchors := space.Vocabulary()
		f := &model.File{Space: space, Payload: &model.Chain{Weights: weights, Start: start, Moves: g.moves(o.States)}}
		f.Provenance = model.Provenance{
			Status: trace.Status.String(),
			Settings: map[string]float64{
				"variance": o.Variance, "min-pages": float64(space.MinPages()),
				"words": float64(words), "anchor-words": float64(anchors),
			},
			Texts: map[string]string{"features": string(space.Subset())},
		}
		for _, i := range trace.Iterations {
			f.Provenance.Curve = append(f.Provenance.Curve, -i.Value)
		}
		return f, nil
	}
}

// examples are the pages of sequences, each once, with the links that were
// followed from it.
func (g *Graph) examples(sequences []Sequence) []feature.Example {
	page, link := make([]bool, len(g.Nodes)), make([]bool, len(g.Edges))
	for _, s := range sequences {
		for _, n := range s.Nodes {
			page[n] = true
		}
		for _, e := range s.Edges {
			link[e] = true
		}
	}
	links := make([][]*web.Link, len(g.Nodes))
	for i, e := range g.Edges {
		if link[i] {
			links[e.From] = append(links[e.From], e.Link)
		}
	}
	var out []feature.Example
	for n, used := range page {
		if used {
			out = append(out, feature.Example{Page: g.Nodes[n].Page, Links: links[n]})
		}
	}
	return out
}

// observe turns sequences into what learners read, and tells the share of them
// that begins in each state, [states]. A page's observation is of three parts: the
// page, the link that led to it, absent at the first, and the link that leads on,
// absent at the last.
func (g *Graph) observe(space *feature.Space, look func(*web.Page) sparse.Vector, sequences []Sequence, states int) ([]lattice.Sequence, []float64) {
	pages := make([]sparse.Vector, len(g.Nodes))
	links := make([]*feature.Link, len(g.Edges))
	link := func(e int32) feature.Link {
		if links[e] == nil {
			l := space.Link(g.Edges[e].Link)
			links[e] = &l
		}
		return *links[e]
	}
	out := make([]lattice.Sequence, len(sequences))
	start := make([]float64, states)
	for i, s := range sequences {
		labels := g.Labels(s, states)
		start[labels[0]] += 1 / float64(len(sequences))
		obs := make([]sparse.Vector, len(s.Nodes))
		for t, n := range s.Nodes {
			if pages[n] == nil {
				pages[n] = look(g.Nodes[n].Page)
			}
			v := pages[n][:len(pages[n]):len(pages[n])]
			if t > 0 {
				v = append(v, space.Inlink(link(s.Edges[t-1]))...)
			}
			if t < len(s.Edges) {
				v = append(v, space.Outlink(link(s.Edges[t]))...)
			}
			obs[t] = v
		}
		out[i] = lattice.Sequence{Obs: obs, Labels: labels}
	}
	return out, start
}

// moves are the shares of links by the states of their two ends, [S*S]. A link
// that leads out of the graph counts as one to the last state, k−1 hops or
// more: nothing nearer is known of it. Half a link is added to each move that
// the definition of a state allows.
//
//	a_ij = (links from T_i to T_j + ½) / Σ_j' (…)
//
// Batsakis, Petrakis & Milios 2009, section 3.3, count moves in the same way.
func (g *Graph) moves(k int) []float64 {
	n := make([]float64, k*k)
	for i := range k {
		for j := max(0, i-1); j < k; j++ {
			n[i*k+j] = 0.5
		}
	}
	state := func(node int32) int { return min(g.Nodes[node].State, k-1) }
	inside := make([]int, len(g.Nodes))
	for _, e := range g.Edges {
		inside[e.From]++
		n[state(e.From)*k+state(e.To)]++
	}
	for i, node := range g.Nodes {
		targets := make(map[web.URL]bool, len(node.Page.Links))
		for l := range node.Page.Links {
			targets[node.Page.Links[l].URL] = true
		}
		n[state(int32(i))*k+k-1] += float64(max(0, len(targets)-inside[i]))
	}
	for row := range slices.Chunk(n, k) {
		sum := 0.
		for _, x := range row {
			sum += x
		}
		for j := range row {
			row[j] /= sum
		}
	}
	return n
}
