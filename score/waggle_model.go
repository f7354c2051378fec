package score

import (
	"fmt"

	"github.com/waggle-crawler/waggle/model"
)

// beginWith has the scorer begin with what it learnt in an earlier crawl: the mean of each
// weight and how sure it was of it. Which hosts were asked, and how much was visited, is
// of that crawl and begins anew.
func (w *waggle) beginWith(f *model.File) error {
	learnt, err := model.Of[*model.Weights](f, model.Waggle)
	if err != nil {
		return err
	}
	if len(learnt.Dense) != len(w.weights.dense) {
		return fmt.Errorf("a model of %d inputs, where waggle has %d: make it anew with `%s`", len(learnt.Dense), len(w.weights.dense), model.Waggle.Command())
	}
	for _, x := range learnt.Hashed {
		if x.Place >= 1<<tableBits {
			return fmt.Errorf("a model with a larger table than waggle has: make it anew with `%s`", model.Waggle.Command())
		}
	}
	for i, x := range learnt.Dense {
		w.first.dense[i] = weight{x.Mean, x.Variance}
	}
	w.first.hashed = learnt.Hashed
	return nil
}

// Learnt is what was learnt so far, for another crawl of the topic.
func (w *waggle) Learnt() *model.Weights {
	out := &model.Weights{Fetches: w.visits}
	for _, x := range w.weights.dense {
		out.Dense = append(out.Dense, model.Weight{Mean: x.mean, Variance: x.variance})
	}
	for place, x := range w.weights.met() {
		out.Hashed = append(out.Hashed, model.Hashed{Place: place, Weight: model.Weight{Mean: x.mean, Variance: x.variance}})
	}
	return out
}
