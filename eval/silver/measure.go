package silver

import (
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/learn/metric"
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
		x := decision{metric.Prediction{Score: predictions[d].Partly, Positive: g >= from, Weight: 1}, predictions[d].Grade() >= from}
		if from == pool.Mainly {
			x.Score = predictions[d].Mainly
		}
		if weighted {
			x.Weight = weights[d]
		}
		all = append(all, x)
	}
	return measure(all)
}

// decision is whether a document is taken for relevant, with its probability and the
// truth.
type decision struct {
	metric.Prediction
	yes bool
}

// calibrationBins part probabilities for the expected calibration error.
const calibrationBins = 10

func measure(all []decision) Accuracy {
	var tp, fp, fn, tn float64
	bins := make(metric.Bins, calibrationBins)
	var predictions []metric.Prediction
	for _, x := range all {
		switch {
		case x.yes && x.Positive:
			tp += x.Weight
		case x.yes:
			fp += x.Weight
		case x.Positive:
			fn += x.Weight
		default:
			tn += x.Weight
		}
		bins.Add(x.Prediction)
		predictions = append(predictions, x.Prediction)
	}
	n := tp + fp + fn + tn
	a := Accuracy{
		N: len(all), Share: (tp + fn) / n, Accuracy: (tp + tn) / n, Precision: tp / (tp + fp), Recall: tp / (tp + fn),
		AUROC: metric.AUROC(predictions), Calibration: bins.ECE(),
	}
	chance := ((tp+fp)*(tp+fn) + (fn+tn)*(fp+tn)) / (n * n)
	a.Kappa = (a.Accuracy - chance) / (1 - chance)
	return a
}
