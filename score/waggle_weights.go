package score

import (
	"iter"
	"math"
	"slices"
)

// weight is the posterior of one weight of a logistic model: a normal distribution.
type weight struct {
	mean, variance float32
}

// posterior is that of the weights of a logistic model, with a diagonal covariance. Each
// weight begins at a prior mean and variance and is moved by every example, far
// while it is uncertain and little once it is not. Of an example x with the outcome y
// that counts as s examples:
//
//	p    = σ(Σ m_i·x_i)
//	h    = s·max(.01, p·(1−p))
//	d    = s·(y − p)/(1 + h·Σ v_i·x_i²)
//	m_i += v_i·x_i·d
//	v_i −= v_i²·x_i²·h/(1 + h·Σ v_i·x_i²)
//
// This is one step of assumed-density filtering with a diagonal covariance, after
// Spiegelhalter & Lauritzen, Sequential updating of conditional probabilities on
// directed graphical structures, 1990, and Graepel et al., Web-Scale Bayesian
// Click-Through Rate Prediction, 2010, there with a probit.
//
// Hashed weights share a table of a fixed size; two that fall on one place are
// one weight.
//
// Scores look at means alone, each at some 25 places at random. So these are a table of their own,
// of a size that a core's cache holds.
//
// Shapes: dense [number of inputs]; means, variances [1<<tableBits].
type posterior struct {
	dense     []weight
	means     []float32 // of the hashed weights
	variances []float32 // likewise; 0 = untouched: mean 0 and the variance of its kind
}

// tableBits is the logarithm of the number of hashed weights: 2 MiB a model.
const tableBits = 18

func newPosterior() *posterior {
	return &posterior{dense: make([]weight, denseInputs), means: make([]float32, 1<<tableBits), variances: make([]float32, 1<<tableBits)}
}

// clone is a copy that shares no memory.
func (b *posterior) clone() *posterior {
	return &posterior{slices.Clone(b.dense), slices.Clone(b.means), slices.Clone(b.variances)}
}

// hashed is the hashed weight at a place, and setHashed sets it.
func (b *posterior) hashed(place uint32) weight { return weight{b.means[place], b.variances[place]} }

func (b *posterior) setHashed(place uint32, w weight) {
	b.means[place], b.variances[place] = w.mean, w.variance
}

// met are the hashed weights that were met, in the order of their places.
func (b *posterior) met() iter.Seq2[uint32, weight] {
	return func(yield func(uint32, weight) bool) {
		for place, v := range b.variances {
			if v != 0 && !yield(uint32(place), b.hashed(uint32(place))) {
				return
			}
		}
	}
}

// example is the input of a model.
type example struct {
	dense  []float32
	hashed []hashedInput
}

// hashedInput is a hashed input other than 0.
type hashedInput struct {
	place    uint32 // < 1<<tableBits
	value    float32
	variance float32 // of its weight before anything was learnt
}

// logit is Σ m_i·x_i.
func (b *posterior) logit(x *example) float64 {
	sum := float32(0)
	for i, v := range x.dense {
		sum += b.dense[i].mean * v
	}
	for _, f := range x.hashed {
		sum += b.means[f.place] * f.value
	}
	return float64(sum)
}

// learn moves the weights by an example whose outcome was y, in [0,1], and that
// counts as share examples (s above), more than 0.
func (b *posterior) learn(x *example, y, share float64) {
	p := sigmoid(b.logit(x))
	spread := 0.
	for i, v := range x.dense {
		spread += float64(b.dense[i].variance * v * v)
	}
	for _, f := range x.hashed {
		v := &b.variances[f.place]
		if *v == 0 {
			*v = f.variance
		}
		spread += float64(*v * f.value * f.value)
	}
	h := share * max(0.01, p*(1-p))
	move := float32(share * (y - p) / (1 + h*spread))
	shrink := float32(h / (1 + h*spread))
	for i, v := range x.dense {
		b.dense[i].update(v, move, shrink)
	}
	for _, f := range x.hashed {
		w := b.hashed(f.place)
		w.update(f.value, move, shrink)
		b.setHashed(f.place, w)
	}
}

func (w *weight) update(x, move, shrink float32) {
	w.mean += w.variance * x * move
	w.variance -= w.variance * w.variance * x * x * shrink
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
