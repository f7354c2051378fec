package score

import (
	"math"
	"math/rand/v2"
	"slices"
)

// network is a small feed-forward network: dense layers with rectifiers between them, and
// one number at the end. Its weights are trained by Adam on squared errors.
//
// Source: Kingma & Ba, Adam: A Method for Stochastic Optimization, 2015, algorithm 1.
type network struct {
	sizes   []int     // of the layers, the input first, 1 last
	weights []float64 // by layer: rows of the inputs' weights and a bias
	mean    []float64 // of gradients
	square  []float64 // of their squares
	steps   int
}

// newNetwork draws weights as He et al. 2015 do: normal, with a variance of 2 over the
// number of inputs.
func newNetwork(seed uint64, sizes ...int) *network {
	n := &network{sizes: sizes}
	r := rand.New(rand.NewPCG(seed, 1))
	for l := 1; l < len(sizes); l++ {
		for range sizes[l] {
			for range sizes[l-1] {
				n.weights = append(n.weights, r.NormFloat64()*math.Sqrt(2/float64(sizes[l-1])))
			}
			n.weights = append(n.weights, 0)
		}
	}
	n.mean, n.square = make([]float64, len(n.weights)), make([]float64, len(n.weights))
	return n
}

// clone is a copy with the weights alone.
func (n *network) clone() *network {
	return &network{sizes: n.sizes, weights: slices.Clone(n.weights)}
}

// layers are the outputs of each layer for an input, which is the first.
func (n *network) layers(x []float64) [][]float64 {
	out := [][]float64{x}
	w := n.weights
	for l := 1; l < len(n.sizes); l++ {
		in, y := out[l-1], make([]float64, n.sizes[l])
		for i := range y {
			sum := w[len(in)]
			for k, v := range in {
				sum += w[k] * v
			}
			w = w[len(in)+1:]
			if l+1 < len(n.sizes) {
				sum = max(0, sum)
			}
			y[i] = sum
		}
		out = append(out, y)
	}
	return out
}

// value is the number for an input.
func (n *network) value(x []float64) float64 {
	all := n.layers(x)
	return all[len(all)-1][0]
}

// gradient adds that of ½(value−want)² by the weights to grad.
func (n *network) gradient(x []float64, want float64, grad []float64) {
	all := n.layers(x)
	back := []float64{all[len(all)-1][0] - want}
	end := len(n.weights)
	for l := len(n.sizes) - 1; l > 0; l-- {
		in := all[l-1]
		begin := end - n.sizes[l]*(len(in)+1)
		w, g := n.weights[begin:end], grad[begin:end]
		before := make([]float64, len(in))
		for i, d := range back {
			if l+1 < len(n.sizes) && all[l][i] <= 0 {
				d = 0
			}
			row := i * (len(in) + 1)
			for k, v := range in {
				g[row+k] += d * v
				before[k] += d * w[row+k]
			}
			g[row+len(in)] += d
		}
		back, end = before, begin
	}
}

// step moves the weights against a gradient.
func (n *network) step(grad []float64, rate float64) {
	const β1, β2, ε = 0.9, 0.999, 1e-8
	n.steps++
	c1, c2 := 1-math.Pow(β1, float64(n.steps)), 1-math.Pow(β2, float64(n.steps))
	for i, g := range grad {
		n.mean[i] = β1*n.mean[i] + (1-β1)*g
		n.square[i] = β2*n.square[i] + (1-β2)*g*g
		n.weights[i] -= rate * n.mean[i] / c1 / (math.Sqrt(n.square[i]/c2) + ε)
	}
}
