// Package silver extends the grades that readers gave to some pages of a web to
// all others, by a classifier. Such grades are called silver, those of readers
// gold.
//
//	texts of a web's documents ─► Web ─┐
//	narratives ────────────────────────┼─► features of each document ─► Extend ─► Prediction
//	gold grades of all other topics ───┘    that name no word               │
//	gold grades of the topic itself ───────────────────────────► Measure ◄──┘
//
// The classifier of a topic is logistic regression, trained on the gold grades of
// all other topics. No grade of the topic itself is used, so those that there are
// test it. That works across topics as its features name no word: they tell how
// well a text fits the words of the topic's narrative, see features.go. Nothing
// here is shared with the judges of package judge, not even how texts become
// words, so that judges can be measured by silver grades.
package silver

import (
	"context"
	"math"

	"github.com/waggle-crawler/waggle/eval/pool"
)

// Topic is a topic of a web with what readers said of its documents.
type Topic struct {
	pool.Key
	Narrative pool.Narrative
	Web       *Web
	// Gold holds the grades of readers; CannotTell = none. Shape: [document of Web].
	Gold []pool.Grade
	// Stratum is that of each document, as drawn for readers. Shape: [document].
	// nil = one stratum.
	Stratum []uint8
}

// Prediction is what the classifier says of a document: the probability that its
// grade is Partly or Mainly, and that it is Mainly.
type Prediction struct{ Partly, Mainly float64 }

// Grade is the highest grade that is at least as probable as not. It is Mainly only
// where Partly is as probable too.
func (p Prediction) Grade() pool.Grade {
	switch {
	case p.Partly < .5:
		return pool.No
	case p.Mainly < .5:
		return pool.Partly
	}
	return pool.Mainly
}

// Options of Extend.
type Options struct {
	// Balance is the exponent of the weight of a graded page in training: (N/n)^Balance
	// for a stratum of N documents of which n are graded. 0 = all graded pages weigh
	// the same; 1 = as many documents as they stand for.
	Balance float64
}

// Extend predicts the grades of all documents of each topic, from the gold grades
// of all other topics. The same input gives the same bits. The error is that of
// ctx. Shape: [topic][document].
func Extend(ctx context.Context, topics []Topic, o Options) ([][]Prediction, error) {
	all := make([][][]float64, len(topics)) // [topic][document][feature]
	for i, t := range topics {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		all[i] = t.Web.features(query(topics, i))
	}
	out := make([][]Prediction, len(topics))
	for i := range topics {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var partly, mainly []example
		for k, t := range topics {
			if k == i {
				continue
			}
			weights := t.weights()
			for d, g := range t.Gold {
				if g == pool.CannotTell {
					continue
				}
				w := math.Pow(weights[d], o.Balance)
				partly = append(partly, example{all[k][d], g >= pool.Partly, w})
				mainly = append(mainly, example{all[k][d], g >= pool.Mainly, w})
			}
		}
		one, two := fit(partly), fit(mainly)
		out[i] = make([]Prediction, len(all[i]))
		for d, x := range all[i] {
			out[i][d] = Prediction{one.probability(x), two.probability(x)}
		}
	}
	return out, nil
}

// weights are how many documents a graded document stands for: N/n of its
// stratum, 0 for those without a grade. Shape: [document].
func (t *Topic) weights() []float64 {
	var size, graded [256]float64
	stratum := func(d int) uint8 {
		if t.Stratum == nil {
			return 0
		}
		return t.Stratum[d]
	}
	for d, g := range t.Gold {
		size[stratum(d)]++
		if g != pool.CannotTell {
			graded[stratum(d)]++
		}
	}
	out := make([]float64, len(t.Gold))
	for d, g := range t.Gold {
		if g != pool.CannotTell {
			out[d] = size[stratum(d)] / graded[stratum(d)]
		}
	}
	return out
}
