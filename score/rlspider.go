package score

import (
	"math"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// newRLSpider makes the crawler that goes by what a link is worth: the targets
// that following it will bring, the later the less. The value is learnt from
// links whose value is known, as classes of a naive Bayes over the words of
// anchor, surroundings, heading and address, and is the posterior mean of what
// the classes are worth:
//
//	priority = Σ_b P(b | words)·Q_b
//
// Source: Rennie & McCallum, Using Reinforcement Learning to Spider the Web
// Efficiently, 1999, section 4.
func newRLSpider(o Options) (Scorer, error) {
	m, err := model.Of[*model.Classes](o.Model, model.RLSpider)
	if err != nil {
		return nil, err
	}
	most := 0.
	for _, q := range m.Values {
		most = max(most, q)
	}
	return &constant{seed: most, values: func(dst []float64, p *web.Page) {
		posterior := make([]float64, m.Bayes.Classes())
		for i := range dst {
			if err := m.Bayes.LogPosterior(posterior, m.Words.Link(o.Analyzer, &p.Links[i])); err != nil {
				// Counts of words are finite and not negative.
				panic("score: " + err.Error())
			}
			dst[i] = 0
			for b, lp := range posterior {
				dst[i] += math.Exp(lp) * m.Values[b]
			}
		}
	}}, nil
}
