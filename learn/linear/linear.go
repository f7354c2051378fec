// Package linear learns linear classifiers of sparse binary features: Train
// returns a support vector machine with calibrated probabilities, trained from
// all examples at once; Logistic is logistic regression, trained one batch at a
// time. Random numbers come from a given seed only, so the same calls give the
// same bits.
package linear

import (
	"math"
	"math/rand/v2"
)

// Example is a set of features with a class. Features are numbers, each once.
type Example struct {
	Features []uint32
	Positive bool
}

// Options of Train.
type Options struct {
	C      float64 // weight of the loss against ½‖w‖²; 0 = 1
	Epochs int     // at most; 0 = 100
	Seed   uint64  // of the order of the examples in each epoch
}

// Model is a trained classifier. Its zero value gives every example a margin
// of 0 and a probability of ½.
type Model struct {
	weights []float64 // [dim]
	bias    float64
	a, b    float64 // P(positive) = 1/(1+exp(a·margin+b)), a ≤ 0
}

// Margin returns w·x + bias, which is ≥ 0 on the positive side. Features from
// dim on weigh nothing.
func (m *Model) Margin(features []uint32) float64 {
	s := m.bias
	for _, f := range features {
		if int(f) < len(m.weights) {
			s += m.weights[f]
		}
	}
	return s
}

// Probability returns the calibrated probability of the positive class.
func (m *Model) Probability(features []uint32) float64 {
	return sigmoid(-(m.a*m.Margin(features) + m.b))
}

// Parameters is the number of a model's parameters beside its weights.
const Parameters = 3

// Parameters returns all that the model is: the bias, the two numbers of its
// calibration, and the weights [dim].
func (m *Model) Parameters() []float64 {
	return append([]float64{m.bias, m.a, m.b}, m.weights...)
}

// NewModel is the inverse of Model.Parameters. It keeps the slice.
func NewModel(parameters []float64) *Model {
	return &Model{bias: parameters[0], a: parameters[1], b: parameters[2], weights: parameters[Parameters:]}
}

// Train fits a linear support vector machine with hinge loss to the examples,
// whose features are below dim:
//
//	min ½‖w‖² + C·Σ max(0, 1 − y·(w·x + bias))
//
// by dual coordinate descent, with the bias as a feature that every example has.
// It calibrates the margins by cross-validation with three folds. ok is false,
// and m is nil, if all examples are of one class.
//
// Source: Hsieh et al., A Dual Coordinate Descent Method for Large-scale
// Linear SVM, 2008, algorithm 1; Platt, Probabilistic Outputs for Support
// Vector Machines, 1999.
func Train(examples []Example, dim int, o Options) (m *Model, ok bool) {
	if o.C == 0 {
		o.C = 1
	}
	if o.Epochs == 0 {
		o.Epochs = 100
	}
	positive := 0
	for i := range examples {
		if examples[i].Positive {
			positive++
		}
	}
	if positive == 0 || positive == len(examples) {
		return nil, false
	}
	const folds = 3
	margins := make([]float64, len(examples))
	var part []Example
	for fold := range folds {
		part = part[:0]
		for i := range examples {
			if i%folds != fold {
				part = append(part, examples[i])
			}
		}
		partial := descend(part, dim, o)
		for i := fold; i < len(examples); i += folds {
			margins[i] = partial.Margin(examples[i].Features)
		}
	}
	m = descend(examples, dim, o)
	m.a, m.b = platt(margins, examples)
	return m, true
}

// descend is algorithm 1 without shrinking. alpha [examples], in [0,C].
func descend(examples []Example, dim int, o Options) *Model {
	m := &Model{weights: make([]float64, dim)}
	alpha := make([]float64, len(examples))
	order := make([]int, len(examples))
	for i := range order {
		order[i] = i
	}
	random := rand.New(rand.NewPCG(o.Seed, 0x6c696e656172))
	for range o.Epochs {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		low, high := math.Inf(1), math.Inf(-1) // projected gradients
		for _, i := range order {
			x, y := examples[i].Features, -1.
			if examples[i].Positive {
				y = 1
			}
			gradient := y*m.Margin(x) - 1
			projected := gradient
			if alpha[i] == 0 {
				projected = min(gradient, 0)
			} else if alpha[i] == o.C {
				projected = max(gradient, 0)
			}
			low, high = min(low, projected), max(high, projected)
			if projected == 0 {
				continue
			}
			old := alpha[i]
			alpha[i] = min(max(old-gradient/float64(len(x)+1), 0), o.C) // ‖x‖² with the bias
			step := y * (alpha[i] - old)
			for _, f := range x {
				m.weights[f] += step
			}
			m.bias += step
		}
		if high-low < 0.1 {
			break
		}
	}
	return m
}

// Calibrate fits probabilities to margins of examples that had no part in the training
// of the classifier: P(positive | margin) = 1/(1+exp(a·margin+b)). It needs one of each
// class.
//
// Source: Platt, Probabilistic Outputs for Support Vector Machines, 1999.
func Calibrate(margins []float64, positive []bool) (a, b float64) {
	examples := make([]Example, len(positive))
	for i := range examples {
		examples[i].Positive = positive[i]
	}
	return platt(margins, examples)
}

// platt fits P(positive | margin) = 1/(1+exp(a·margin+b)) by Newton's method
// on the smoothed targets of Platt, with the safeguards of Lin, Lin & Weng, A
// Note on Platt's Probabilistic Outputs for Support Vector Machines, 2007.
func platt(margins []float64, examples []Example) (a, b float64) {
	var positive, negative float64
	for i := range examples {
		if examples[i].Positive {
			positive++
		} else {
			negative++
		}
	}
	high, low := (positive+1)/(positive+2), 1/(negative+2)
	target := func(i int) float64 {
		if examples[i].Positive {
			return high
		}
		return low
	}
	loss := func(a, b float64) (sum float64) {
		for i, f := range margins {
			z := a*f + b
			if z >= 0 {
				sum += target(i)*z + math.Log1p(math.Exp(-z))
			} else {
				sum += (target(i)-1)*z + math.Log1p(math.Exp(z))
			}
		}
		return sum
	}
	b = math.Log((negative + 1) / (positive + 1))
	value := loss(a, b)
	for range 100 {
		// Hessian with a small ridge, and gradient.
		haa, hbb, hab, ga, gb := 1e-12, 1e-12, 0., 0., 0.
		for i, f := range margins {
			p := sigmoid(-(a*f + b))
			d1, d2 := target(i)-p, p*(1-p)
			haa += f * f * d2
			hbb += d2
			hab += f * d2
			ga += f * d1
			gb += d1
		}
		if math.Abs(ga) < 1e-5 && math.Abs(gb) < 1e-5 {
			break
		}
		det := haa*hbb - hab*hab
		da, db := -(hbb*ga-hab*gb)/det, -(-hab*ga+haa*gb)/det
		slope, step := ga*da+gb*db, 1.
		for ; step >= 1e-10; step /= 2 {
			if v := loss(a+step*da, b+step*db); v < value+1e-4*step*slope {
				a, b, value = a+step*da, b+step*db, v
				break
			}
		}
		if step < 1e-10 {
			break
		}
	}
	if a > 0 { // larger margins would mean smaller probabilities: use the class shares alone
		return 0, math.Log((negative + 1) / (positive + 1))
	}
	return a, b
}

func sigmoid(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}

// Logistic is logistic regression with a bias, learnt by gradient descent one
// batch at a time. It is not safe for concurrent use with Learn.
type Logistic struct {
	weights []float64
	bias    float64
	rate    float64
	decay   float64
}

// NewLogistic returns a model over features below dim that gives every example a
// probability of ½. rate is the step size of a batch; decay is the share by which
// each weight shrinks at a step.
func NewLogistic(dim int, rate, decay float64) *Logistic {
	return &Logistic{weights: make([]float64, dim), rate: rate, decay: decay}
}

// Probability returns the probability of the positive class. A feature listed
// twice counts twice; the sum of weights is divided by the square root of the
// number of features.
func (l *Logistic) Probability(features []uint32) float64 {
	s := 0.
	for _, f := range features {
		s += l.weights[f]
	}
	return sigmoid(s/norm(features) + l.bias)
}

// Parameters returns what was learnt: the bias and the weights [dim].
func (l *Logistic) Parameters() []float64 { return append([]float64{l.bias}, l.weights...) }

// SetParameters sets what Parameters returned of a model of the same dim.
func (l *Logistic) SetParameters(parameters []float64) {
	l.bias = parameters[0]
	copy(l.weights, parameters[1:])
}

// Learn takes one step along the mean gradient of a batch.
func (l *Logistic) Learn(batch []Example) {
	if len(batch) == 0 {
		return
	}
	errors := make([]float64, len(batch))
	for i, e := range batch {
		errors[i] = -l.Probability(e.Features)
		if e.Positive {
			errors[i]++
		}
	}
	if l.decay > 0 {
		for i := range l.weights {
			l.weights[i] *= 1 - l.decay
		}
	}
	for i, e := range batch {
		step := l.rate * errors[i] / float64(len(batch))
		l.bias += step
		step /= norm(e.Features)
		for _, f := range e.Features {
			l.weights[f] += step
		}
	}
}

func norm(features []uint32) float64 { return math.Sqrt(float64(max(1, len(features)))) }
