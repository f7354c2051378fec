package judge

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// bayes is the multinomial naive Bayes classifier of Chakrabarti, Punera &
// Subramanyam 2002, section 2.1, with two classes: the examples and the negative
// examples. Without negative examples the background table stands for them, in as
// many words. θ is their equation 2:
//
//	θ_{c,t} = (1 + n(c,t)) / (|T| + Σ_t' n(c,t'))
//
// T are the stems which at least two of the given pages hold (one, if there
// is one example alone) and one more, other, that stands for all the rest: a
// word new to the class is then as likely as new words were among its pages.
//
// The sum of the log odds is taken as if the page had at most bayesWords
// words, or else every probability would be 0 or 1. The prior of both classes
// is ½; γ is ½ unless given. The probability is not calibrated.
type bayes struct {
	identity
	analyzer text.Splitter
	odds     []termWeight // ln(θ_+/θ_-) of the stems of T, sorted by stem
	other    float64      // the same of other
	words    float64      // that a page counts at most as
}

var _ Judge = (*bayes)(nil)

const (
	bayesWords     = 50  // words that a page counts at most as
	backgroundPage = 400 // words of the page that the background's shares speak of
)

func newBayes(o Options) (Judge, error) {
	t := o.Topic
	holders := map[string]int{}
	count := func(pages []*web.Page) (map[string]float64, float64) {
		n, sum := map[string]float64{}, 0.
		for _, p := range pages {
			for _, t := range p.Terms {
				n[t.Text] += float64(t.Body)
				sum += float64(t.Body)
				holders[t.Text]++
			}
		}
		return n, sum
	}
	pos, posSum := count(t.Examples)
	neg, negSum := count(t.Negatives)
	if len(t.Negatives) == 0 {
		negSum = posSum
		for s := range pos {
			neg[s] = negSum * -math.Log1p(-o.DF.Share(s)) / backgroundPage
		}
	}
	var known []string
	for s, n := range holders {
		if n > 1 || len(t.Examples)+len(t.Negatives) == 1 {
			known = append(known, s)
		}
	}
	slices.Sort(known)
	b := &bayes{identity: identity{"bayes", o.Threshold}, analyzer: text.SplitterOf(o.Analyzer), words: bayesWords}
	if b.threshold == 0 {
		b.threshold = 0.5
	}
	size := float64(len(known) + 1) // |T|
	odds := func(p, n float64) float64 {
		return math.Log((1 + p) / (size + posSum) * (size + negSum) / (1 + n))
	}
	posOther, negOther := posSum, negSum
	for _, s := range known {
		b.odds = append(b.odds, termWeight{s, odds(pos[s], neg[s])})
		posOther -= pos[s]
		negOther -= neg[s]
	}
	b.other = odds(posOther, max(0, negOther))
	return b, nil
}

// probability of the wanted class for the terms, sorted by text.
func (b *bayes) probability(terms []web.Term) float64 {
	sum, n, i := 0., 0., 0
	for _, t := range terms {
		for i < len(b.odds) && b.odds[i].stem < t.Text {
			i++
		}
		odds := b.other
		if i < len(b.odds) && b.odds[i].stem == t.Text {
			odds = b.odds[i].weight
		}
		sum += float64(t.Body) * odds
		n += float64(t.Body)
	}
	if n > b.words {
		sum *= b.words / n
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
		odds := b.other
		if i, ok := slices.BinarySearchFunc(b.odds, stem, func(w termWeight, s string) int { return strings.Compare(w.stem, s) }); ok {
			odds = b.odds[i].weight
		}
		sum += odds
	}
	return logistic(sum)
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
