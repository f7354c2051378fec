package silver

import (
	"cmp"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/eval/pool"
)

// Accuracy is how far predictions agree with the grades of readers. What cannot be
// told is NaN, such as the precision where nothing is predicted.
type Accuracy struct {
	N           int     // documents with a gold grade
	Share       float64 // of relevant ones among them
	Accuracy    float64 // share of equal decisions
	Precision   float64
	Recall      float64
	Kappa       float64 // Cohen's: 0 = as often right as chance would be
	AUROC       float64
	Calibration float64 // expected calibration error in ten bins of probability
}

// Measure compares predictions of a topic with its gold grades; documents count
// that are at least of a grade, Partly or Mainly. Where weighted, each graded
// document counts as many as it stands for in its stratum, so that the figures are
// estimates for the whole web. Shape: predictions [document].
func (t *Topic) Measure(predictions []Prediction, from pool.Grade, weighted bool) Accuracy {
	var all []decision
	weights := t.weights()
	for d, g := range t.Gold {
		if g == pool.CannotTell {
			continue
		}
		x := decision{predictions[d].Partly, predictions[d].Grade() >= from, g >= from, 1}
		if from == pool.Mainly {
			x.probability = predictions[d].Mainly
		}
		if weighted {
			x.weight = weights[d]
		}
		all = append(all, x)
	}
	return measure(all)
}

// decision is a prediction with the truth.
type decision struct {
	probability float64
	yes, is     bool
	weight      float64
}

// calibrationBins part probabilities for the expected calibration error: Σ over
// bins of their share times |mean probability − share of relevant|.
const calibrationBins = 10

func measure(all []decision) Accuracy {
	var tp, fp, fn, tn float64
	var sum, hit [calibrationBins]float64
	for _, x := range all {
		switch {
		case x.yes && x.is:
			tp += x.weight
		case x.yes:
			fp += x.weight
		case x.is:
			fn += x.weight
		default:
			tn += x.weight
		}
		b := min(calibrationBins-1, int(x.probability*calibrationBins))
		sum[b] += x.weight * x.probability
		if x.is {
			hit[b] += x.weight
		}
	}
	n := tp + fp + fn + tn
	a := Accuracy{N: len(all), Share: (tp + fn) / n, Accuracy: (tp + tn) / n, Precision: tp / (tp + fp), Recall: tp / (tp + fn), AUROC: auroc(all)}
	chance := ((tp+fp)*(tp+fn) + (fn+tn)*(fp+tn)) / (n * n)
	a.Kappa = (a.Accuracy - chance) / (1 - chance)
	for b := range sum {
		a.Calibration += math.Abs(sum[b]-hit[b]) / n
	}
	return a
}

// auroc is the share of pairs of a relevant and an irrelevant document, by weight, in
// which the relevant one is more probable; equal ones count half. NaN without pairs.
func auroc(all []decision) float64 {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b decision) int { return cmp.Compare(a.probability, b.probability) })
	below, won, relevant := 0., 0., 0.
	for i := 0; i < len(all); {
		k, no, yes := i, 0., 0.
		for ; k < len(all) && all[k].probability == all[i].probability; k++ {
			if all[k].is {
				yes += all[k].weight
			} else {
				no += all[k].weight
			}
		}
		won += yes * (below + no/2)
		below += no
		relevant += yes
		i = k
	}
	return won / (below * relevant)
}
