package train

import (
	"context"
	"fmt"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
)

// contextFitters fit the classifier of context-graph crawlers.
func contextFitters() []Fitter {
	return []Fitter{{
		Kind: model.ContextGraph, Line: "the layer of a page, by naive Bayes over its words", Pages: true, Stateless: true, fit: fitContextGraph,
		Settings: []Setting{
			{Name: "layers", Line: "beyond the targets", Default: 4, Min: 1, Max: 49, Whole: true},
			{Name: "nodes", Line: "of a layer that are learnt from, the first found", Default: 300, Min: 1, Max: 1e6, Whole: true},
			{Name: "top", Line: "words of a page that count, those of highest tf·idf", Default: 40, Min: 1, Max: 1e6, Whole: true},
			{Name: "words", Line: "training pages a word must be on to count", Default: 3, Min: 1, Max: 1e6, Whole: true},
			{Name: "background", Line: "1 takes idf from the table of English, 0 from the training pages", Default: 1, Max: 1, Whole: true},
			{Name: "states", Line: "1 learns hops to the nearest target in the place of the layer in which a page was found", Max: 1, Whole: true},
			{Name: "uniform", Line: "1 holds all layers equally likely before a page is read, 0 by their pages", Max: 1, Whole: true},
		},
	}}
}

// fitContextGraph learns to which layer around the targets a page belongs, from
// the words of each that have the highest tf·idf.
//
// Source: Diligenti, Coetzee, Lawrence, Giles & Gori, Focused Crawling Using
// Context Graphs, 2000: 4 layers, 300 pages a layer, 40 words a page, idf of a
// reference collection.
func fitContextGraph(ctx context.Context, g *Graph, _ []Sequence, o FitOptions) (*model.File, error) {
	var df *text.DF
	if o.Set["background"] >= 0.5 {
		df = text.BackgroundOf(text.SplitterOf(o.Analyzer).Languages()...)
	}
	deepest, nodes := int(o.Set["layers"]), int(o.Set["nodes"])
	learnt := make([]int, deepest+1) // pages of each layer
	var use []Node
	for _, n := range g.Nodes {
		layer := n.Layer
		if o.Set["states"] >= 0.5 {
			layer = n.State
		}
		if layer > deepest {
			if o.Set["states"] < 0.5 {
				continue
			}
			layer = deepest // that many hops or more
		}
		if learnt[layer] < nodes {
			learnt[layer]++
			n.Layer = layer
			use = append(use, n)
		}
	}
	// A graph that ends early has fewer layers.
	for len(learnt) > 0 && learnt[len(learnt)-1] == 0 {
		learnt = learnt[:len(learnt)-1]
	}

	words := feature.CountTerms((&Graph{Nodes: use}).pages(), int(o.Set["words"]), df)
	if words.Len() == 0 {
		return nil, ErrNoWords
	}
	m := &model.Classes{Words: words, Top: int(o.Set["top"])}
	var documents []sparse.Vector
	var classes []int
	seen := make([]int, len(learnt))
	for _, n := range use {
		if v := words.Top(n.Page, m.Top); len(v) > 0 {
			documents, classes = append(documents, v), append(classes, n.Layer)
			seen[n.Layer]++
		}
	}
	for layer, n := range seen {
		if n == 0 {
			return nil, fmt.Errorf("%w: layer %d has none of them", ErrNoWords, layer)
		}
	}
	if len(seen) < 2 {
		return nil, ErrOneClass
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	prior := bayes.Documents
	if o.Set["uniform"] >= 0.5 {
		prior = bayes.Uniform
	}
	var err error
	m.Bayes, err = bayes.Train(documents, classes, bayes.Options{Classes: len(seen), Vocabulary: words.Len(), Prior: prior})
	if err != nil {
		return nil, err
	}
	return &model.File{Payload: m, Provenance: model.Provenance{
		Settings: map[string]float64{"vocabulary": float64(words.Len()), "learnt-pages": float64(len(documents))},
	}}, nil
}
