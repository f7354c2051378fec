package judge

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// bayes is the multinomial naive Bayes classifier of CPS02 (A1, A2) with two
// classes: the examples and the negative examples. Without negative examples
// the background table stands for them.
//
//	θ_{c,t} = (1 + n(c,t)) / (|T| + Σ_t' n(c,t'))                       (A6)
//
// The sum of the log odds is taken as if the page had at most bayesWords
// words, or else every probability would be 0 or 1. The prior of both classes
// is ½; γ is ½ unless given.
type bayes struct {
	named
	analyzer *text.Analyzer
	odds     []weighted // ln(θ_+/θ_-) of known stems, sorted by stem
}

var _ Judge = (*bayes)(nil)

// bayesWords is the number of words that a page counts at most as.
const bayesWords = 50

func newBayes(t *topic.Topic, o Options) (Judge, error) {
	if len(t.Examples) == 0 {
		return nil, errors.New("it learns from example pages: give some, or choose the judge topic")
	}
	count := func(pages []*web.Page) (map[string]float64, float64) {
		n, sum := map[string]float64{}, 0.
		for _, p := range pages {
			for _, t := range p.Terms {
				n[t.Text] += float64(t.Body)
				sum += float64(t.Body)
			}
		}
		return n, sum
	}
	pos, posSum := count(t.Examples)
	neg, negSum := count(t.Negatives)
	if len(t.Negatives) == 0 {
		// The examples' stems at the rates of the background, in as many
		// words; what else the background holds is the rest of negSum.
		for s := range pos {
			neg[s] = posSum * -math.Log1p(-o.DF.Share(s)) / 400
		}
		negSum = posSum
	}
	vocabulary := float64(len(pos))
	for s := range neg {
		if _, ok := pos[s]; !ok {
			vocabulary++
		}
	}
	b := &bayes{named: named{"bayes", o.Threshold}, analyzer: o.Analyzer}
	if b.threshold == 0 {
		b.threshold = 0.5
	}
	add := func(s string) {
		p := (1 + pos[s]) / (vocabulary + posSum)
		n := (1 + neg[s]) / (vocabulary + negSum)
		b.odds = append(b.odds, weighted{s, math.Log(p / n)})
	}
	for s := range pos {
		add(s)
	}
	for s := range neg {
		if _, ok := pos[s]; !ok {
			add(s)
		}
	}
	slices.SortFunc(b.odds, func(x, y weighted) int { return strings.Compare(x.stem, y.stem) })
	return b, nil
}

// probability of the wanted class for the terms, sorted by text.
func (b *bayes) probability(terms []web.Term) float64 {
	sum, n, i := 0., 0., 0
	for _, t := range terms {
		for i < len(b.odds) && b.odds[i].stem < t.Text {
			i++
		}
		if i < len(b.odds) && b.odds[i].stem == t.Text {
			sum += float64(t.Body) * b.odds[i].weight
		}
		n += float64(t.Body)
	}
	if n > bayesWords {
		sum *= bayesWords / n
	}
	return logistic(sum)
}

func (b *bayes) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	r := b.probability(p.Terms)
	return b.verdict(r, r), nil
}

func (b *bayes) Text(s string) float64 {
	sum := 0.
	for _, stem := range b.analyzer.Words(s) {
		if i, ok := slices.BinarySearchFunc(b.odds, stem, func(w weighted, s string) int { return strings.Compare(w.stem, s) }); ok {
			sum += b.odds[i].weight
		}
	}
	return logistic(sum)
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
