package linear

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func genExamples(t *rapid.T, dim int) []Example {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Example {
		f := rapid.SliceOfNDistinct(rapid.Uint32Range(0, uint32(dim-1)), 0, 5, rapid.ID).Draw(t, "features")
		return Example{f, rapid.Bool().Draw(t, "positive")}
	}), 2, 40).Draw(t, "examples")
}

// No small change of a weight lowers the primal value by more than the tolerance
// of the descent: projected gradients of .1 an example.
func TestDescendFindsTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 8
		examples, c := genExamples(t, dim), rapid.SampledFrom([]float64{0.1, 1}).Draw(t, "C")
		m := descend(examples, dim, Options{C: c, Epochs: 10000, Seed: 1})
		primal := func(w []float64, bias float64) float64 {
			sum := bias * bias / 2
			for _, x := range w {
				sum += x * x / 2
			}
			n := Model{weights: w, bias: bias}
			for _, e := range examples {
				y := -1.
				if e.Positive {
					y = 1
				}
				sum += c * max(0, 1-y*n.Margin(e.Features))
			}
			return sum
		}
		best := primal(m.weights, m.bias)
		tolerance := 0.1 * c * float64(len(examples))
		for i := range dim + 1 {
			for _, step := range []float64{-0.5, -0.1, 0.1, 0.5} {
				w, bias := append([]float64(nil), m.weights...), m.bias
				if i < dim {
					w[i] += step
				} else {
					bias += step
				}
				if v := primal(w, bias); v < best-tolerance {
					t.Fatalf("%v instead of %v by moving weight %d by %v", v, best, i, step)
				}
			}
		}
	})
}

// Two points, one feature each and C large: w = (1, −1), no bias, margins ±1.
func TestTwoPoints(t *testing.T) {
	m := descend([]Example{{[]uint32{0}, true}, {[]uint32{1}, false}}, 2, Options{C: 100, Epochs: 1000})
	if a, b := m.Margin([]uint32{0}), m.Margin([]uint32{1}); math.Abs(a-1) > 0.1 || math.Abs(b+1) > 0.1 {
		t.Errorf("margins %v and %v", a, b)
	}
}

func TestTrainNeedsBothClasses(t *testing.T) {
	for _, e := range [][]Example{nil, {{[]uint32{0}, true}}, {{[]uint32{0}, false}, {nil, false}}} {
		if m, ok := Train(e, 1, Options{}); ok || m != nil {
			t.Errorf("trained on %v", e)
		}
	}
	if m := new(Model); m.Margin([]uint32{3}) != 0 || m.Probability(nil) != 0.5 {
		t.Error("an empty model has an opinion")
	}
}

// noisy draws examples in which feature 0 makes a link positive with .9 and
// its absence with .2; features 1…9 mean nothing.
func noisy(n int) []Example {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]Example, n)
	for i := range out {
		p := 0.2
		if r.IntN(2) == 0 {
			out[i].Features, p = append(out[i].Features, 0), 0.9
		}
		out[i].Features = append(out[i].Features, 1+uint32(r.IntN(9)))
		out[i].Positive = r.Float64() < p
	}
	return out
}

// The probabilities are those by which the examples were drawn.
func TestCalibration(t *testing.T) {
	examples := noisy(4000)
	m, ok := Train(examples, 10, Options{Seed: 1})
	if !ok {
		t.Fatal("not trained")
	}
	// Of 2,000 each the shares deviate by .009 and .007; the machine uses the
	// features without meaning as well.
	for _, c := range []struct {
		features []uint32
		want     float64
	}{{[]uint32{0, 5}, 0.9}, {[]uint32{5}, 0.2}} {
		if p := m.Probability(c.features); math.Abs(p-c.want) > 0.05 {
			t.Errorf("%v has %v, want %v", c.features, p, c.want)
		}
	}
	if again, _ := Train(noisy(4000), 10, Options{Seed: 1}); !reflect.DeepEqual(again, m) {
		t.Error("the same training gave another model")
	}
}

// The step of Logistic is the gradient of the mean log-likelihood.
func TestLogisticGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 6
		l := NewLogistic(dim, 1, 0)
		for i := range l.weights {
			l.weights[i] = rapid.Float64Range(-2, 2).Draw(t, "weight")
		}
		l.bias = rapid.Float64Range(-2, 2).Draw(t, "bias")
		batch := genExamples(t, dim)
		value := func(l *Logistic) (sum float64) {
			for _, e := range batch {
				p := l.Probability(e.Features)
				if !e.Positive {
					p = 1 - p
				}
				sum += math.Log(p) / float64(len(batch))
			}
			return sum
		}
		slope := func(at *float64) float64 {
			const h = 1e-5
			old := *at
			*at = old + h
			up := value(l)
			*at = old - h
			down := value(l)
			*at = old
			return (up - down) / (2 * h)
		}
		want := make([]float64, dim)
		for i := range want {
			want[i] = slope(&l.weights[i])
		}
		bias := slope(&l.bias)
		before, beforeBias := append([]float64(nil), l.weights...), l.bias
		l.Learn(batch)
		for i := range want {
			if got := l.weights[i] - before[i]; math.Abs(got-want[i]) > 1e-6 {
				t.Fatalf("weight %d moved by %v, the slope is %v", i, got, want[i])
			}
		}
		if got := l.bias - beforeBias; math.Abs(got-bias) > 1e-6 {
			t.Fatalf("the bias moved by %v, the slope is %v", got, bias)
		}
	})
}

func TestLogisticLearns(t *testing.T) {
	l := NewLogistic(10, 1, 1e-4)
	examples := noisy(20000)
	for len(examples) > 0 {
		l.Learn(examples[:10])
		examples = examples[10:]
	}
	if a, b := l.Probability([]uint32{0, 5}), l.Probability([]uint32{5}); a < 0.8 || b > 0.35 {
		t.Errorf("probabilities %v and %v, drawn with .9 and .2", a, b)
	}
}

// BenchmarkTrain trains on 10,000 examples of 30 words among 65,536.
func BenchmarkTrain(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	examples := make([]Example, 10000)
	for i := range examples {
		examples[i].Positive = i%2 == 0
		for range 30 {
			w := uint32(r.ExpFloat64() * 2000)
			if examples[i].Positive {
				w += 500
			}
			examples[i].Features = append(examples[i].Features, w&0xffff)
		}
	}
	for b.Loop() {
		Train(examples, 1<<16, Options{Seed: 1})
	}
}
