package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/hmm"
	"github.com/waggle-crawler/waggle/learn/kmeans"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// ErrNoWords says that pages hold no words that a model could compare.
var ErrNoWords = errors.New("the training pages share no words: none is on as many pages as the vocabulary asks for; collect more pages, or lower the setting words")

// markovFitters fit hidden Markov models of first and second order: states are
// hop distances, and what is seen of a page is the cluster of its words.
func markovFitters() []Fitter {
	words := Setting{Name: "words", Line: "training pages a word must be on to count", Default: 3, Min: 1, Max: 1e6, Whole: true}
	clusters := []Setting{
		{Name: "clusters", Line: "clusters of pages; 0 = chosen by the data (X-means)", Default: 10, Max: 1000, Whole: true},
		{Name: "most-clusters", Line: "when the data choose", Default: 50, Min: 1, Max: 1000, Whole: true},
		words,
	}
	return []Fitter{
		{
			Kind: model.HMM, Line: "hop distances by counting, over targets and clusters of other pages", Pages: true, fit: fitHMM,
			Settings: append(clusters[:3:3],
				Setting{Name: "smoothing", Line: "added to each count", Default: hmm.FirstSmoothing, Max: 1000}),
		},
		{
			Kind: model.HMM2, Line: "each hop distance by the two before it, or by one, over clusters of all pages", fit: fitHMM2,
			Settings: append(clusters[:3:3],
				Setting{Name: "smoothing", Line: "added to each count", Default: hmm.SecondSmoothing, Max: 1000},
				Setting{Name: "order", Line: "states that a state and its symbol depend on: 2, or 1 as in the primitive model that the paper compares with", Default: 2, Min: 1, Max: 2, Whole: true},
				Setting{Name: "start", Line: "of Baum–Welch: 0 the counts; 1 the counts with π even, as printed; 2 all even but for a tenth by chance, so that states bear any name", Max: 2, Whole: true},
				Setting{Name: "keep-order", Line: "1 ends Baum–Welch before states change their meaning; 0 lets it, as printed", Default: 1, Max: 1, Whole: true},
				Setting{Name: "baum-welch", Line: "iterations of Baum–Welch after counting, at most", Default: 5, Max: 100, Whole: true}),
		},
	}
}

// fitHMM learns the model of hidden Markov crawlers. Targets are cluster 0, and
// the other pages clusters 1…K by k-means. Pages and links of the graph are
// counted once each:
//
//	a_ij = |links L_i→L_j| / |links from L_i|,  b_ij = |pages in L_i∩C_j| / |L_i|,  π_i = |L_i| / |pages|
//
// with the smoothing added, except for moves that hop distances forbid: no page is
// two links nearer to a target than a page that links to it. A page without a word
// of the vocabulary has a symbol of its own, which the paper does not have. The
// paper counts π without saying how; here it is the probability that a random walk
// starts in each state.
//
// Source: Batsakis, Petrakis & Milios 2009, section 3.3, after Liu, Janssen &
// Milios 2006.
func fitHMM(ctx context.Context, g *Graph, _ []Sequence, o FitOptions) (*model.File, error) {
	words, vectors, err := g.vectors(int(o.Set["words"]))
	if err != nil {
		return nil, err
	}
	var targets, others []sparse.Vector
	for i, n := range g.Nodes {
		switch {
		case vectors[i] == nil:
		case n.Target:
			targets = append(targets, vectors[i])
		default:
			others = append(others, vectors[i])
		}
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("%w: no target holds one", ErrNoWords)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	first, _, err := kmeans.Train(targets, kmeans.Options{K: 1, Workers: o.Workers, Context: ctx})
	if err != nil {
		return nil, err
	}
	m := &model.Markov{Words: words, Centroids: []sparse.Vector{first.Centroid(0)}}
	var labels []int
	if len(others) > 0 {
		clusters, fit, err := kmeans.Train(others, clustering(ctx, o, len(others)))
		if err != nil {
			return nil, err
		}
		for k := range clusters.K() {
			m.Centroids = append(m.Centroids, clusters.Centroid(k))
		}
		labels = fit.Labels
	}

	counts, err := hmm.NewCounts(o.States, m.Blank()+1)
	if err != nil {
		return nil, err
	}
	blank := 0
	for i, n := range g.Nodes {
		state := min(n.State, o.States-1)
		symbol := m.Blank()
		switch {
		case vectors[i] == nil:
			blank++
		case n.Target:
			symbol = 0
		default:
			symbol, labels = 1+labels[0], labels[1:]
		}
		if vectors[i] != nil {
			m.Pages, m.Clusters = append(m.Pages, vectors[i]), append(m.Clusters, symbol)
		}
		counts.Start(state)
		counts.Page(state, symbol)
	}
	for _, e := range g.Edges {
		counts.Link(min(g.Nodes[e.From].State, o.States-1), min(g.Nodes[e.To].State, o.States-1))
	}
	m.First, err = counts.Model(hmm.CountOptions{Smoothing: o.Set["smoothing"], Arcs: hmm.HopArcs(o.States)})
	if err != nil {
		return nil, err
	}
	return &model.File{Payload: m, Provenance: model.Provenance{
		Settings: map[string]float64{"symbols": float64(m.First.Symbols), "vocabulary": float64(words.Len()), "blank-pages": float64(blank), "clusters-found": float64(len(m.Centroids) - 1)},
	}}, nil
}

// fitHMM2 learns the model of second order or, with order = 1, the primitive one of
// first order, by the same steps. Targets are clustered with the other
// pages. The counts of labelled sequences are the initial values; a few iterations
// of Baum–Welch follow, as long as the states keep their meaning.
//
// In the paper π is "generally evenly distributed" at the start, and there are no
// labels to count. The setting start takes π even and the rest counted (1), or
// everything by chance (2): then it is chance as well which state is called 0, by
// which a crawler ranks. The share of the belief that lies on the pages' own labels
// is kept in the model's provenance as agreement.
//
// Source: Hu, Tu & Tong 2014, sections 2.1 to 2.3.
func fitHMM2(ctx context.Context, g *Graph, sequences []Sequence, o FitOptions) (*model.File, error) {
	words, vectors, err := g.vectors(int(o.Set["words"]))
	if err != nil {
		return nil, err
	}
	var points []sparse.Vector
	for _, v := range vectors {
		if v != nil {
			points = append(points, v)
		}
	}
	clusters, fit, err := kmeans.Train(points, clustering(ctx, o, len(points)))
	if err != nil {
		return nil, err
	}
	m := &model.Markov{Words: words}
	for k := range clusters.K() {
		m.Centroids = append(m.Centroids, clusters.Centroid(k))
	}
	symbols := make([]int, len(vectors))
	labels := fit.Labels
	blank := 0
	for i, v := range vectors {
		if v == nil {
			symbols[i] = m.Blank()
			blank++
		} else {
			symbols[i], labels = labels[0], labels[1:]
		}
	}
	walks := make([]hmm.Sequence, len(sequences))
	for i, s := range sequences {
		walks[i].States = g.Labels(s, o.States)
		for _, n := range s.Nodes {
			walks[i].Obs = append(walks[i].Obs, symbols[n])
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	second, trace, err := baumWelch(ctx, o, walks, m.Blank()+1)
	if errors.Is(err, hmm.ErrImpossible) {
		return nil, fmt.Errorf("%w: give the setting smoothing above 0", err)
	}
	if err != nil {
		return nil, err
	}
	m.Second = second
	own, all := 0., 0.
	for at, p := range trace.Agreement {
		if all += p; at%(o.States+1) == 0 {
			own += p
		}
	}
	return &model.File{Payload: m, Provenance: model.Provenance{
		Curve: trace.LogLikelihood, Status: trace.Status.String(),
		Settings: map[string]float64{
			"symbols": float64(m.Blank() + 1), "vocabulary": float64(words.Len()), "blank-pages": float64(blank), "agreement": own / all,
			"clusters-found": float64(clusters.K()),
		},
	}}, nil
}

// baumWelch trains on walks from the start, and of the order, that the settings say. A
// model of first order is one of second order that looks at one state before.
func baumWelch(ctx context.Context, o FitOptions, walks []hmm.Sequence, symbols int) (*hmm.Second, hmm.Trace, error) {
	arcs, from := hmm.HopArcs(o.States), math.Round(o.Set["start"])
	count := hmm.CountOptions{Smoothing: o.Set["smoothing"], Arcs: arcs}
	options := hmm.Options{
		Iterations: int(o.Set["baum-welch"]), Tolerance: o.Tolerance, Workers: o.Workers, Progress: o.Progress, Context: ctx,
		KeepOrder: o.Set["keep-order"] >= 0.5 && from < 2,
	}
	if o.Iterations > 0 {
		options.Iterations = o.Iterations
	}
	if options.Iterations == 0 {
		options.Iterations = -1 // measured only
	}
	even := func(m *hmm.Model) {
		if from == 1 {
			m.Pi = slices.Repeat([]float64{1 / float64(o.States)}, o.States)
		}
	}
	if math.Round(o.Set["order"]) == 1 {
		var start *hmm.Model
		var err error
		if from == 2 {
			start, err = hmm.Random(o.States, symbols, arcs, o.Seed)
		} else {
			start, err = hmm.Count(walks, o.States, symbols, count)
		}
		if err != nil {
			return nil, hmm.Trace{}, err
		}
		even(start)
		first, trace, err := hmm.BaumWelch(walks, start, options)
		if err != nil {
			return nil, trace, err
		}
		return first.Second(), trace, nil
	}
	var start *hmm.Second
	var err error
	if from == 2 {
		start, err = hmm.RandomSecond(o.States, symbols, arcs, o.Seed)
	} else {
		start, err = hmm.CountSecond(walks, o.States, symbols, count)
	}
	if err != nil {
		return nil, hmm.Trace{}, err
	}
	even(start.First)
	return hmm.BaumWelchSecond(walks, start, options)
}

// clustering is how n pages are clustered.
func clustering(ctx context.Context, o FitOptions, n int) kmeans.Options {
	return kmeans.Options{
		K: min(int(o.Set["clusters"]), n), MaxK: min(int(o.Set["most-clusters"]), n), Seed: o.Seed, Workers: o.Workers, Context: ctx,
	}
}

// vectors are the pages of the graph over the words of least of them or more;
// nil for a page that holds none. The error is ErrNoWords when all are.
func (g *Graph) vectors(least int) (*feature.Lexicon, []sparse.Vector, error) {
	words := feature.CountTerms(g.pages(), least, nil)
	out := make([]sparse.Vector, len(g.Nodes))
	some := false
	for i, n := range g.Nodes {
		out[i] = words.Page(n.Page)
		some = some || out[i] != nil
	}
	if !some {
		return nil, nil, ErrNoWords
	}
	return words, out, nil
}

func (g *Graph) pages() []*web.Page {
	out := make([]*web.Page, len(g.Nodes))
	for i, n := range g.Nodes {
		out[i] = n.Page
	}
	return out
}
