package score

import (
	"fmt"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/hmm"
	"github.com/waggle-crawler/waggle/learn/kmeans"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// secondOrder ranks links by a belief over the hop distances of the last two pages,
// which a hidden Markov model of second order follows along the path. What a
// page shows is the cluster whose centroid is nearest.
//
//	priority = Σ_{i,j} α̂_t(i,j) a_ij0,   α̂_t normalised
//
// On the first page of a path, which has none before it, it is Σ_j α̂_1(j) a_j0
// of first order. With viterbi max stands for Σ, along the path and in the
// priority, and the priorities of all states sum to 1.
//
// Source: Hu, Tu & Tong 2014, section 2.3. The paper gives the model, and for the
// score of a link only the "maximum probability link" from the root by Viterbi;
// this is the probability that the page behind the link is a target.
type secondOrder struct {
	stateless
	words    *feature.Lexicon
	hmm      *hmm.Second
	clusters *kmeans.Clusters
	blank    int
	step     func(dst, before []float64, symbol int) float64
	predict  func(dst, belief []float64)
}

var (
	_ Scorer    = (*secondOrder)(nil)
	_ Explainer = (*secondOrder)(nil)
)

func hmm2Settings() []Setting { return []Setting{viterbiSetting()} }

// markovOf is the model of second order that a scorer was given, and its clusters.
func markovOf(o Options) (*model.Markov, *kmeans.Clusters, error) {
	m, err := model.Of[*model.Markov](o.Model, model.HMM2)
	if err != nil {
		return nil, nil, err
	}
	clusters, err := kmeans.New(kmeans.Angle, m.Centroids)
	return m, clusters, err
}

func newHMM2(o Options) (Scorer, error) {
	m, clusters, err := markovOf(o)
	if err != nil {
		return nil, err
	}
	s := &secondOrder{words: m.Words, hmm: m.Second, clusters: clusters, blank: m.Blank(), step: m.Second.Step, predict: m.Second.Predict}
	if o.set("viterbi") >= 0.5 {
		s.step, s.predict = m.Second.StepBest, m.Second.PredictBest
	}
	return s, nil
}

// Extract tells what the page shows: symbol uint16 LE.
func (s *secondOrder) Extract(p *web.Page, _ web.Verdict) [][]byte {
	symbol := s.blank
	if page := s.words.Page(p); page != nil {
		symbol, _ = s.clusters.Nearest(page)
	}
	return symbols(symbol, len(p.Links))
}

// beliefOf fills dst [S+1][S] with the belief over the page that holds a link and
// the one before it.
func (s *secondOrder) beliefOf(dst []float64, symbol int, memory []byte) {
	var room scratch
	before := room.take(s.hmm.Belief())
	if !readBelief(before, memory) {
		before = nil // the page is a seed: π
	}
	s.step(dst, before, symbol)
}

// Visit returns the belief over the page that held the link c and the one
// before it, which the links of the new page carry. It is nil for a seed.
//
//	α̂_t float32 LE [S+1][S]
func (s *secondOrder) Visit(c *web.Candidate, _ *web.Page, _ web.Verdict) []byte {
	symbol, ok := readSymbol(c.Features, s.hmm.First.Symbols)
	if !ok {
		return nil
	}
	var room scratch
	alpha := room.take(s.hmm.Belief())
	s.beliefOf(alpha, symbol, c.Memory)
	return wire.AppendFloat32s(make([]byte, 0, 4*len(alpha)), alpha)
}

// Score is in [0,1]; a seed has 1.
func (s *secondOrder) Score(c *web.Candidate) float64 {
	symbol, ok := readSymbol(c.Features, s.hmm.First.Symbols)
	if !ok {
		return 1
	}
	var room scratch
	alpha, next := room.take(s.hmm.Belief()), room.take(s.hmm.First.States)
	s.beliefOf(alpha, symbol, c.Memory)
	s.predict(next, alpha)
	return unit(next[0])
}

// Recall is Visit, which changes nothing here.
func (s *secondOrder) Recall(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	return s.Visit(c, p, v)
}

// Explain begins with the priority of the same path to a page without a known word; which cluster
// the page that holds the link is in comes to it.
func (s *secondOrder) Explain(_ *web.Page, _ web.Verdict, _ int, c *web.Candidate) []Reason {
	symbol, ok := readSymbol(c.Features, s.hmm.First.Symbols)
	if !ok {
		return nil
	}
	blank := *c
	blank.Features = symbols(s.blank, 1)[0]
	unseen := s.Score(&blank)
	what := fmt.Sprintf("the page is like those of cluster %d of the training pages", symbol)
	if symbol == s.blank {
		what = "the page holds no word that the model knows"
	}
	return []Reason{
		{Kind: ReasonPath, Times: 1, Weight: unseen},
		{Kind: ReasonSeen, What: what, Times: 1, Weight: s.Score(c) - unseen},
	}
}

// newBayesCluster makes the crawler that asks of a page which cluster of training pages
// it is in, and how often pages of that cluster are targets, by Bayes' rule:
//
//	P(T_0|c) = π_0 b_0(c) / Σ_i π_i b_i(c)
//
// It is the model of first order without the path. A page is one observation, so that
// nothing is taken for independent; naive Bayes over words is newBayesPage. Hu, Tu &
// Tong 2014, table 1, compare with a "Bayesian probabilistic model" and a "Naïve Bayes
// model" and describe neither.
func newBayesCluster(o Options) (Scorer, error) {
	m, clusters, err := markovOf(o)
	if err != nil {
		return nil, err
	}
	targets := make([]float64, m.Second.First.Symbols) // P(T_0|c)
	belief := make([]float64, m.Second.First.States)
	for c := range targets {
		if m.Second.First.Step(belief, nil, c) > 0 { // or no page of training shows it
			targets[c] = belief[0]
		}
	}
	return &constant{seed: 1, values: ofPage(func(p *web.Page) float64 {
		if page := m.Words.Page(p); page != nil {
			c, _ := clusters.Nearest(page)
			return targets[c]
		}
		return targets[m.Blank()]
	})}, nil
}
