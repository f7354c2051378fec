package score

import (
	"math"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// newContextGraph makes the context-graph crawler: a page is taken for one of a
// layer around the targets, or for none, and its links wait in the queue of
// that layer. The next link is the first of the lowest layer that has one, and
// within a queue those of the pages that are likeliest there go first. As one
// number, with L layers, 0 for targets:
//
//	priority = L − layer + squash(ln p/(1−p)),   p = P(layer | page)
//	           0         + squash(ln p/(1−p))    where p < threshold: other
//	squash(x) = ½ + arctan(x)/π,  in (0,1)
//
// The squashed odds order as p does, and go on telling pages apart where p
// rounds to 1, as those of naive Bayes mostly do.
//
// Source: Diligenti, Coetzee, Lawrence, Giles & Gori, Focused Crawling Using
// Context Graphs, 2000. What it takes for the threshold is not known here.
func newContextGraph(o Options) (Scorer, error) {
	m, err := model.Of[*model.Classes](o.Model, model.ContextGraph)
	if err != nil {
		return nil, err
	}
	layers, threshold := m.Bayes.Classes(), o.set("threshold")
	return &constant{seed: float64(layers + 1), values: ofPage(func(p *web.Page) float64 {
		posterior := layersOf(m, p)
		best := 0
		for layer, lp := range posterior {
			if lp > posterior[best] {
				best = layer
			}
		}
		rest := math.Inf(-1)
		for layer, lp := range posterior {
			if layer != best {
				rest = addLog(rest, lp)
			}
		}
		within := 0.5 + math.Atan(posterior[best]-rest)/math.Pi
		if math.Exp(posterior[best]) < threshold {
			return within
		}
		return float64(layers-best) + within
	})}, nil
}

func contextGraphSettings() []Setting {
	return []Setting{{Name: "threshold", Default: 0.5, Max: 1, Line: "posterior of its layer below which a page belongs to none"}}
}

// newBayesPage makes the crawler that follows a page classifier: the priority
// of a link is the probability that its page is a target, by the naive Bayes of
// a context graph's model.
//
// Hu, Tu & Tong 2014 compare with "Bayes" and "naive Bayes" and define neither;
// this one stands for both.
func newBayesPage(o Options) (Scorer, error) {
	m, err := model.Of[*model.Classes](o.Model, model.ContextGraph)
	if err != nil {
		return nil, err
	}
	return &constant{seed: 1, values: ofPage(func(p *web.Page) float64 { return math.Exp(layersOf(m, p)[0]) })}, nil
}

// layersOf is log P(layer | page), [layers].
func layersOf(m *model.Classes, p *web.Page) []float64 {
	out := make([]float64, m.Bayes.Classes())
	if err := m.Bayes.LogPosterior(out, m.Words.Top(p, m.Top)); err != nil {
		// Counts of words are finite and not negative.
		panic("score: " + err.Error())
	}
	return out
}

// addLog is ln(e^a + e^b).
func addLog(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
