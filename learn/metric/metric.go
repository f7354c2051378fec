// Package metric measures predictions against what came of them: how well scores put
// events in order (AUROC), and how far probabilities are from frequencies (ECE).
package metric

import (
	"cmp"
	"math"
	"slices"
)

// Prediction is a score that was given to an event, with what came of it.
type Prediction struct {
	Score    float64 // higher = likelier
	Positive bool    // whether the event took place
	Weight   float64 // number of events for which it stands, > 0
}

// AUROC is the probability that a positive has a higher score than a negative, ties
// counting half: the area under the ROC curve, in [0,1]. It is NaN without positives or
// without negatives. With weights w and scores s,
//
//	AUROC = Σ_{i positive} Σ_{j negative} w_i w_j ([s_i > s_j] + ½ [s_i = s_j]) / (w₊·w₋)
//
// Source: Hanley & McNeil, The Meaning and Use of the Area under a Receiver Operating
// Characteristic (ROC) Curve, 1982.
func AUROC(all []Prediction) float64 {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Prediction) int { return cmp.Compare(a.Score, b.Score) })
	var sum, positive, negative float64
	for i := 0; i < len(all); {
		var p, n float64 // of those with this score
		k := i
		for ; k < len(all) && all[k].Score == all[i].Score; k++ {
			if all[k].Positive {
				p += all[k].Weight
			} else {
				n += all[k].Weight
			}
		}
		if k == i { // NaN is equal to nothing
			k++
		}
		sum += p * (negative + n/2)
		positive += p
		negative += n
		i = k
	}
	if positive == 0 || negative == 0 {
		return math.NaN()
	}
	return sum / (positive * negative)
}

// Bin holds the predictions with a probability in one of several equal parts of [0,1].
type Bin struct {
	Count    int
	Weight   float64 // sum of the weights
	Score    float64 // sum of weight times probability
	Positive float64 // sum of the weights of positives
}

// Mean is the mean probability; NaN for an empty bin.
func (b Bin) Mean() float64 { return b.Score / b.Weight }

// Share is the share of positives; NaN for an empty bin.
func (b Bin) Share() float64 { return b.Positive / b.Weight }

// Bins are equal parts of [0,1] in ascending order; the last one holds 1.
type Bins []Bin

// Add puts a prediction, whose score is a probability, into its bin. A score that is none is put
// into the nearest, and NaN into the first.
func (b Bins) Add(p Prediction) {
	i := 0
	if at := p.Score * float64(len(b)); at > 0 {
		i = int(min(at, float64(len(b)-1)))
	}
	x := &b[i]
	x.Count++
	x.Weight += p.Weight
	x.Score += p.Weight * p.Score
	if p.Positive {
		x.Positive += p.Weight
	}
}

// Plus is the bins of two sets of predictions together. Either may be nil; both have the
// same number of bins otherwise.
func (b Bins) Plus(c Bins) Bins {
	out := make(Bins, max(len(b), len(c)))
	for _, list := range []Bins{b, c} {
		for i, x := range list {
			out[i].Count += x.Count
			out[i].Weight += x.Weight
			out[i].Score += x.Score
			out[i].Positive += x.Positive
		}
	}
	return out
}

// ECE is the expected calibration error, in [0,1]; NaN if all bins are empty. With
// weights w and probabilities s,
//
//	ECE = Σ_b |Σ_{i∈b} w_i s_i − Σ_{i∈b positive} w_i| / Σ_i w_i
//
// Source: Guo et al., On Calibration of Modern Neural Networks, 2017, eq 3.
func (b Bins) ECE() float64 {
	sum, weight := 0., 0.
	for _, x := range b {
		sum += math.Abs(x.Positive - x.Score)
		weight += x.Weight
	}
	return sum / weight
}
