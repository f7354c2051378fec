package memm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/lattice/latticetest"
	"github.com/waggle-crawler/waggle/learn/optim"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

// problem returns a few walks over a small web, with random weights.
func problem(t *rapid.T) ([]lattice.Sequence, *lattice.Weights, []uint32) {
	seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
	sequences, shape, cuts := latticetest.Walks(seed, latticetest.Options{
		Sequences: rapid.IntRange(1, 8).Draw(t, "sequences"), Length: 3, States: rapid.IntRange(2, 4).Draw(t, "states"),
		Pages: 8, Words: 12, PerPage: 4, Links: 3,
	})
	w := lattice.NewWeights(shape)
	random := rand.New(rand.NewPCG(seed, 1))
	scale := rapid.SampledFrom([]float64{1, 500}).Draw(t, "scale")
	for i := range w.W {
		w.W[i] = scale * random.NormFloat64()
	}
	return sequences, w, cuts
}

// For all weights and observations, p(·|s_{t−1}, o_t) sums to 1 for each previous
// state, and is 0 for states that may not follow it.
func TestRowsSumToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sequences, w, _ := problem(t)
		S := w.States
		for _, q := range sequences {
			for _, o := range q.Obs {
				p := make([]float64, S*S)
				w.Potentials(p, o)
				Transitions(p, S)
				for i := range S {
					sum := 0.
					for j, x := range p[i*S:][:S] {
						sum += x
						if !w.Allowed[i*S+j] && x != 0 {
							t.Fatalf("p(%d|%d) = %v, an arc that is forbidden", j, i, x)
						}
					}
					if !near(sum, 1, 1e-14) {
						t.Fatalf("p(·|%d) sums to %v", i, sum)
					}
				}
			}
		}
	})
}

// z depends on the previous state (Liu & Milios 2010, equation 14, prints z(o_t)).
func TestNormalisedForEachStateBefore(t *testing.T) {
	p := []float64{math.Log(1), math.Log(3), math.Log(10), math.Log(30)}
	Transitions(p, 2)
	for i, want := range []float64{0.25, 0.75, 0.25, 0.75} {
		if !near(p[i], want, 1e-15) {
			t.Fatalf("%v", p)
		}
	}
}

func objective(sequences []lattice.Sequence, shape lattice.Shape, variance float64, cuts []uint32) func(w, grad []float64) float64 {
	d := lattice.NewDesign(shape, cuts)
	c := count(d, sequences, shape, 1)
	return d.Objective(variance, 1, c.logLikelihood)
}

// Training minimises −Σ log p(s_t|s_{t−1}, o_t) + Σ λ²/2σ²: the value equals that
// of the definition, position by position, and the gradient equals finite
// differences (Liu & Milios 2010, equation 17, corrected).
func TestGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sequences, w, cuts := problem(t)
		S := w.States
		const variance = 3
		want := 0.
		for _, q := range sequences {
			for k, o := range q.Obs {
				p := make([]float64, S*S)
				if k == 0 {
					w.Start(p[:S], o)
					want -= math.Log(share(p[:S], q.Labels[0]))
				} else {
					w.Potentials(p, o)
					want -= math.Log(share(p[q.Labels[k-1]*S:][:S], q.Labels[k]))
				}
			}
		}
		for _, x := range w.W {
			want += x * x / (2 * variance)
		}
		f := objective(sequences, w.Shape, variance, cuts)
		grad, unused := make([]float64, len(w.W)), make([]float64, len(w.W))
		value := f(w.W, grad)
		if !math.IsInf(want, 1) && !near(value, want, 1e-11) { // infinite: a share below 1e-308
			t.Fatalf("value %v, by the definition %v", value, want)
		}
		for i, x := range w.W {
			const h = 1e-4
			at := func(by float64) float64 {
				w.W[i] = x + by
				defer func() { w.W[i] = x }()
				return f(w.W, unused)
			}
			slope := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
			if math.Abs(slope-grad[i]) > 1e-6*max(1, math.Abs(grad[i]))+1e-11*math.Abs(value) {
				t.Fatalf("∂/∂λ_%d = %v, by differences %v", i, grad[i], slope)
			}
		}
	})
}

// share is exp(x_j) / Σ exp(x).
func share(x []float64, j int) float64 {
	sum := 0.
	for _, v := range x {
		sum += math.Exp(v - x[j])
	}
	return 1 / sum
}

// Three states, T2 → T0 forbidden, factors as below; α = (1/2, 1/4, 1/4). By
// hand, with rows normalised to sum to 1:
//
//	2 4 2      1/4 1/2 1/4      marginal  (1/8+1/16, 1/4+1/8+1/16, 1/8+1/16+3/16) = (3, 7, 6)/16
//	4 8 4      1/4 1/2 1/4      viterbi   (2, 4, 3)/16, sum 9/16
//	– 4 12     –   1/4 3/4
//
// and once more:
//
//	marginal  (3/4+7/4, 3/2+7/2+6/4, 3/4+7/4+18/4)/16 = (2.5, 6.5, 7)/16
//	viterbi   (max(2/4, 4/4), max(1, 2, 3/4), max(2/4, 4/4, 9/4))/9 = (1, 2, 2.25)/9, sum 5.25/9
func TestStepByHand(t *testing.T) {
	for _, c := range []struct {
		mode  lattice.Mode
		steps [2][3]float64
	}{
		{lattice.Marginal, [2][3]float64{{3. / 16, 7. / 16, 6. / 16}, {2.5 / 16, 6.5 / 16, 7. / 16}}},
		{lattice.Viterbi, [2][3]float64{{2. / 9, 4. / 9, 3. / 9}, {1 / 5.25, 2 / 5.25, 2.25 / 5.25}}},
	} {
		t.Run(c.mode.String(), func(t *testing.T) {
			p := []float64{2, 4, 2, 4, 8, 4, 0, 4, 12}
			for i, x := range p {
				p[i] = math.Log(x)
			}
			Transitions(p, 3)
			alpha, next := []float64{0.5, 0.25, 0.25}, make([]float64, 3)
			for k, want := range c.steps {
				Step(next, alpha, p, c.mode)
				for j := range want {
					if !near(next[j], want[j], 1e-14) {
						t.Errorf("step %d: %v, want %v", k+1, next, want)
						break
					}
				}
				alpha, next = next, alpha
			}
		})
	}
}

// Marginal steps equal the sum of the probabilities of all paths (Liu & Milios
// 2010, equation 18).
func TestStepsSumOverPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sequences, w, _ := problem(t)
		q, S := sequences[0], w.States
		alpha, next := make([]float64, S), make([]float64, S)
		w.Start(next, q.Obs[0])
		Start(alpha, next)
		paths := map[string]float64{} // of states as letters
		for j, p := range alpha {
			paths[string(rune('a'+j))] = p
		}
		for _, o := range q.Obs[1:min(4, len(q.Obs))] {
			p := make([]float64, S*S)
			w.Potentials(p, o)
			Transitions(p, S)
			longer := map[string]float64{}
			for path, before := range paths {
				for j := range S {
					longer[path+string(rune('a'+j))] = before * p[int(path[len(path)-1]-'a')*S+j]
				}
			}
			paths = longer
			Step(next, alpha, p, lattice.Marginal)
			alpha, next = next, alpha
		}
		want := make([]float64, S)
		for path, p := range paths {
			want[path[len(path)-1]-'a'] += p
		}
		for j := range S {
			if !near(alpha[j], want[j], 1e-12) {
				t.Fatalf("%v, by paths %v", alpha, want)
			}
		}
	})
}

func TestAnyNumberOfWorkers(t *testing.T) {
	sequences, shape, cuts := latticetest.Walks(3, latticetest.Options{Sequences: 2000, Pages: 400, Words: 100})
	train := func(workers int) []float64 {
		w, _, err := Train(t.Context(), sequences, shape, Options{Workers: workers, Cuts: cuts, Iterations: 12, Tolerance: -1})
		if err != nil {
			t.Fatal(err)
		}
		return w.W
	}
	one := train(1)
	for _, workers := range []int{2, 3, 8} {
		if !slices.Equal(one, train(workers)) {
			t.Errorf("%d workers find other weights than one", workers)
		}
	}
}

// The gradient at the end bounds the distance from the optimum (the objective
// less ‖λ‖²/2σ² is convex), and the trace records it.
func TestTrainFindsTheOptimum(t *testing.T) {
	sequences, shape, _ := latticetest.Walks(2, latticetest.Options{Sequences: 300, Pages: -1, Words: 60})
	w, trace, err := Train(t.Context(), sequences, shape, Options{Variance: 2, Iterations: 2000, Tolerance: 1e-12})
	if err != nil {
		t.Fatal(err)
	}
	grad := make([]float64, len(w.W))
	value := objective(sequences, shape, 2, nil)(w.W, grad)
	squares := 0.
	for _, g := range grad {
		squares += g * g
	}
	if last := trace.Iterations[len(trace.Iterations)-1]; squares > 1e-6*value || !near(last.Value, value, 1e-9) {
		t.Errorf("a gradient of length %v is left at %v nats; the trace ends with %+v (%v)", math.Sqrt(squares), value, last, trace.Status)
	}
	if trace.Sequences != 300 || trace.Positions < 600 {
		t.Errorf("trained on %d positions of %d sequences", trace.Positions, trace.Sequences)
	}
}

// The defaults are at most 100 iterations and σ² = 10. With a negative tolerance
// the number of iterations ends the training.
func TestDefaultsOfTraining(t *testing.T) {
	sequences, shape, _ := latticetest.Walks(2, latticetest.Options{Sequences: 300, Words: 60})
	fit := func(o Options) ([]float64, Trace) {
		o.Tolerance = -1
		w, trace, err := Train(t.Context(), sequences, shape, o)
		if err != nil {
			t.Fatal(err)
		}
		return w.W, trace
	}
	unsaid, trace := fit(Options{})
	if n := len(trace.Iterations) - 1; n != 100 || trace.Status == optim.Converged {
		t.Errorf("%v after %d iterations", trace.Status, n)
	}
	if said, _ := fit(Options{Variance: 10, Iterations: 100}); !slices.Equal(said, unsaid) {
		t.Error("σ² = 10 and 100 iterations are not the default")
	}
	if other, _ := fit(Options{Variance: 9}); slices.Equal(other, unsaid) {
		t.Error("σ² changes nothing")
	}
}

func TestCancel(t *testing.T) {
	sequences, shape, _ := latticetest.Walks(2, latticetest.Options{Sequences: 300, Words: 60})
	ctx, cancel := context.WithCancel(t.Context())
	w, trace, err := Train(ctx, sequences, shape, Options{Progress: func(i optim.Iteration) {
		if i.Iteration == 2 {
			cancel()
		}
	}})
	if w != nil || !errors.Is(err, context.Canceled) || len(trace.Iterations) != 3 {
		t.Errorf("%v after %d iterations", err, len(trace.Iterations)-1)
	}
}

// Sequences that lattice.Check refuses are refused; the tests of package crf have
// the whole list.
func TestBadInput(t *testing.T) {
	bias := sparse.Vector{{ID: 0, Value: 1}}
	for want, q := range map[string]lattice.Sequence{
		"component 0 is NaN":            {Obs: []sparse.Vector{bias, {{ID: 0, Value: math.NaN()}}}, Labels: []int{1, 0}},
		"all positions are in state 1":  {Obs: []sparse.Vector{bias, bias}, Labels: []int{1, 1}},
		"an arc that the shape forbids": {Obs: []sparse.Vector{bias, bias}, Labels: []int{2, 0}},
		"observations are too large":    {Obs: []sparse.Vector{bias, {{ID: 0, Value: 1e300}}}, Labels: []int{1, 0}},
	} {
		if w, _, err := Train(t.Context(), []lattice.Sequence{q}, lattice.Hops(3, 1), Options{}); w != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}
