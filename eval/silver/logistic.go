package silver

import (
	"math"

	"github.com/waggle-crawler/waggle/learn/optim"
)

// example is a document of which the class is known. Package learn/linear has
// logistic regression too, but of features that are there or not; these are real
// numbers.
type example struct {
	features []float64
	positive bool
	weight   float64
}

// model is logistic regression over features brought to mean 0 and variance 1.
type model struct {
	mean, scale []float64 // [feature]
	w           []float64 // [feature], then the bias
}

// ridge is λ, in units of the mean loss of an example.
const ridge = 1e-3

// fit minimises
//
//	Σ_i v_i ln(1 + exp(−y_i(w·x_i + b))) / Σ v_i + ½λ‖w‖²
//
// Without an example every probability is ½.
func fit(examples []example) *model {
	m := &model{mean: make([]float64, dim), scale: make([]float64, dim), w: make([]float64, dim+1)}
	total := 0.
	for _, e := range examples {
		total += e.weight
		for f, x := range e.features {
			m.mean[f] += e.weight * x
		}
	}
	if total == 0 {
		return m
	}
	for f := range dim {
		m.mean[f] /= total
	}
	for _, e := range examples {
		for f, x := range e.features {
			m.scale[f] += e.weight * (x - m.mean[f]) * (x - m.mean[f]) / total
		}
	}
	for f, v := range m.scale {
		if v > 0 {
			m.scale[f] = 1 / math.Sqrt(v)
		}
	}
	optim.LBFGS(m.w, func(w, grad []float64) float64 {
		at := model{m.mean, m.scale, w}
		clear(grad)
		loss := 0.
		for f := range dim {
			loss += ridge / 2 * w[f] * w[f]
			grad[f] = ridge * w[f]
		}
		for _, e := range examples {
			z := at.margin(e.features)
			miss := sigmoid(z)
			if e.positive {
				miss--
				z = -z
			}
			loss += e.weight / total * (max(0, z) + math.Log1p(math.Exp(-math.Abs(z))))
			for f, x := range e.features {
				grad[f] += e.weight / total * miss * (x - m.mean[f]) * m.scale[f]
			}
			grad[dim] += e.weight / total * miss
		}
		return loss
	}, optim.Options{Tolerance: 1e-7})
	return m
}

func (m *model) margin(features []float64) float64 {
	z := m.w[dim]
	for f, x := range features {
		z += m.w[f] * (x - m.mean[f]) * m.scale[f]
	}
	return z
}

func (m *model) probability(features []float64) float64 { return sigmoid(m.margin(features)) }

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
