package crf

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
	"github.com/waggle-crawler/waggle/learn/logsum"
	"github.com/waggle-crawler/waggle/learn/optim"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// near: equal to a relative and absolute tolerance.
func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

func genShape(t *rapid.T) lattice.Shape {
	s := rapid.IntRange(2, 4).Draw(t, "states")
	shape := lattice.Shape{States: s, Observations: rapid.IntRange(1, 6).Draw(t, "observations")}
	shape.Allowed = rapid.SliceOfN(rapid.Bool(), s*s, s*s).Draw(t, "allowed")
	for i := range s {
		shape.Allowed[i*s+rapid.IntRange(0, s-1).Draw(t, "at least")] = true
	}
	return shape
}

func genObs(t *rapid.T, shape lattice.Shape) sparse.Vector {
	entries := []sparse.Entry{{ID: 0, Value: 1}}
	for id := 1; id < shape.Observations; id++ {
		if v := rapid.SampledFrom([]float64{0, 0, 1, 1, -0.3, 2.5}).Draw(t, "value"); v != 0 {
			entries = append(entries, sparse.Entry{ID: uint32(id), Value: v})
		}
	}
	return entries
}

// genPath is a sequence whose labels take allowed arcs.
func genPath(t *rapid.T, shape lattice.Shape, least int) (q lattice.Sequence) {
	label := rapid.IntRange(0, shape.States-1).Draw(t, "first label")
	for range rapid.IntRange(least, 4).Draw(t, "length") {
		q.Obs, q.Labels = append(q.Obs, genObs(t, shape)), append(q.Labels, label)
		var next []int
		for j := range shape.States {
			if shape.Allowed[label*shape.States+j] {
				next = append(next, j)
			}
		}
		label = rapid.SampledFrom(next).Draw(t, "label")
	}
	return q
}

// genWeights draws weights; "extreme" ones are beyond what scaled recursions
// can hold, so that logarithms must take over.
func genWeights(t *rapid.T, shape lattice.Shape, extreme bool) *lattice.Weights {
	w := lattice.NewWeights(shape)
	scale := 1.
	if extreme {
		scale = 400
	}
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed of weights"), 0))
	for i := range w.W {
		w.W[i] = scale * (4*random.Float64() - 2)
	}
	return w
}

// score is Σ_t Σ_i λ_i f_i(s_{t−1}, s_t, o, t) straight from the definition of
// the features.
func score(w *lattice.Weights, obs []sparse.Vector, path []int) (sum float64) {
	for t, o := range obs {
		for _, e := range o {
			sum += e.Value * w.State(e.ID, path[t])
			if t > 0 && !w.Allowed[path[t-1]*w.States+path[t]] {
				return math.Inf(-1)
			}
			if t > 0 {
				sum += e.Value * w.Arc(e.ID, path[t-1], path[t])
			}
		}
	}
	return sum
}

// paths calls do with each of the S^T paths.
func paths(states, T int, do func(path []int)) {
	path := make([]int, T)
	for {
		do(path)
		t := T - 1
		for ; t >= 0; t-- {
			if path[t]++; path[t] < states {
				break
			}
			path[t] = 0
		}
		if t < 0 {
			return
		}
	}
}

// Z, the expectations and the likelihood of every path equal those of enumerating
// all paths, each with its own s_{t−1} (Liu & Milios 2010, equations 27 to 35,
// corrected).
func TestEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape(t)
		w, q := genWeights(t, shape, false), genPath(t, shape, 1)
		T, S := len(q.Obs), shape.States
		z := 0.
		start, arcs := make([]float64, S), make([][]float64, T)
		for k := range arcs {
			arcs[k] = make([]float64, S*S)
		}
		paths(S, T, func(path []int) {
			p := math.Exp(score(w, q.Obs, path))
			z += p
			start[path[0]] += p
			for k := 1; k < T; k++ {
				arcs[k][path[k-1]*S+path[k]] += p
			}
		})
		e := Expect(w, q.Obs)
		if !near(e.LogZ, math.Log(z), 1e-10) {
			t.Fatalf("log Z = %v, by enumeration %v", e.LogZ, math.Log(z))
		}
		for j, p := range start {
			if !near(e.Start[j], p/z, 1e-10) {
				t.Fatalf("p(s_1=%d) = %v, by enumeration %v", j, e.Start[j], p/z)
			}
		}
		for k := 1; k < T; k++ {
			for at, p := range arcs[k] {
				if !near(e.Arcs[k-1][at], p/z, 1e-10) {
					t.Fatalf("arc %d at position %d: %v, by enumeration %v", at, k, e.Arcs[k-1][at], p/z)
				}
			}
		}
		if got, want := LogLikelihood(w, q), score(w, q.Obs, q.Labels)-math.Log(z); !near(got, want, 1e-10) {
			t.Fatalf("log p = %v, by enumeration %v", got, want)
		}
	})
}

func objective(sequences []lattice.Sequence, shape lattice.Shape, variance float64, workers int, cuts []uint32) func(w, grad []float64) float64 {
	d := lattice.NewDesign(shape, cuts)
	c := newChains(d, sequences, shape, workers)
	return d.Objective(variance, workers, c.logLikelihood)
}

// Training minimises −Σ log p + Σ λ²/2σ²: the value equals that of the paper's
// recursions sequence by sequence, and the gradient Ẽ − E − λ/σ² equals finite
// differences of the value in each coordinate (Liu & Milios 2010, equation 36,
// corrected).
func TestGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape(t)
		extreme := rapid.Bool().Draw(t, "extreme")
		w := genWeights(t, shape, extreme)
		sequences := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lattice.Sequence { return genPath(t, shape, 1) }), 1, 4).Draw(t, "sequences")
		if rapid.Bool().Draw(t, "again") {
			sequences = append(sequences, sequences...) // rows recur
		}
		cuts := []uint32{uint32(rapid.IntRange(0, shape.Observations).Draw(t, "cut"))}
		const variance = 3
		f := objective(sequences, shape, variance, 1, cuts)
		grad := make([]float64, len(w.W))
		value := f(w.W, grad)

		want := 0.
		for _, q := range sequences {
			want -= LogLikelihood(w, q)
		}
		for _, x := range w.W {
			want += x * x / (2 * variance)
		}
		if !near(value, want, 1e-11) {
			t.Fatalf("value %v, by the definition %v", value, want)
		}

		unused := make([]float64, len(w.W))
		for i, x := range w.W {
			const h = 1e-4
			at := func(by float64) float64 {
				w.W[i] = x + by
				defer func() { w.W[i] = x }()
				return f(w.W, unused)
			}
			// Five points: the error is of the order of h⁴, and of rounding/h.
			slope := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
			if math.Abs(slope-grad[i]) > 1e-6*max(1, math.Abs(grad[i]))+1e-11*math.Abs(value) {
				t.Fatalf("∂/∂λ_%d = %v, by differences %v", i, grad[i], slope)
			}
		}
	})
}

// Scaled and logarithmic recursions give the same numbers, unless the scaled ones
// leave their bounds and say so.
func TestScaledAndLogarithmicAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape(t)
		q := genPath(t, shape, 1)
		d := lattice.NewDesign(shape, nil)
		c := newChains(d, []lattice.Sequence{q}, shape, 1)
		x := rapid.SliceOfN(rapid.Float64Range(-30, 30), d.Potentials(), d.Potentials()).Draw(t, "potentials")
		for r := range d.Rows() {
			low, high := d.Row(int32(r))
			c.highest[r] = logsum.Shift(c.factors[low:high], x[low:high])
		}
		var s space
		value, ok := c.scaled(0, x, &s)
		if !ok {
			t.Skip("lost") // an arc that must be taken is 100 nats below another
		}
		residual := slices.Clone(c.residual)
		if want := c.logarithmic(0, x, &s); !near(value, want, 1e-12) {
			t.Fatalf("%v scaled, %v in logarithms", value, want)
		}
		for i, want := range c.residual {
			if !near(residual[i], want, 1e-12) {
				t.Fatalf("residual %d: %v scaled, %v in logarithms", i, residual[i], want)
			}
		}
	})
}

// The only path takes an arc that is 2000 nats below another: exp(−2000)
// underflows, and yet the likelihood is 0 nats.
func TestBeyondTheRangeOfNumbers(t *testing.T) {
	shape := lattice.Shape{States: 2, Observations: 2, Allowed: []bool{true, false, true, true}}
	w := lattice.NewWeights(shape)
	// State 0 at the first position by 2000, and then the arc 1→1 by 2000.
	bias := sparse.Vector{{ID: 0, Value: 1}}
	w.W[3] = 2000  // L2^(0)·bias
	w.W[2] = 1e4   // L1^(1,1)·bias: never taken from state 0
	w.W[0] = -4000 // L1^(0,0)·bias
	f := objective([]lattice.Sequence{{Obs: []sparse.Vector{bias, bias}, Labels: []int{0, 0}}}, shape, 1e300, 1, nil)
	grad := make([]float64, len(w.W))
	got := f(w.W, grad)
	// Paths: 00 2000−4000+2000 = 0; 10 0+0+2000; 11 0+10000+0.
	if !near(got, 10000, 1e-12) {
		t.Errorf("−log p = %v, want 10000", got)
	}
	for i, g := range grad {
		if math.IsNaN(g) {
			t.Errorf("∂/∂λ_%d is NaN", i)
		}
	}
}

// byHand is one of three states T0, T1, T2 with T2 → T0 forbidden; the factors
// are the numbers of which these are the logarithms.
var byHand = func() []float64 {
	m := []float64{
		2, 4, 2,
		4, 8, 4,
		0, 4, 12,
	}
	for i, x := range m {
		m[i] = math.Log(x)
	}
	return m
}

// α = (1/2, 1/4, 1/4), then twice the same factors. By hand, the marginal and
// the Viterbi step, which are alternatives in Liu & Milios 2010, figure 9:
//
//	marginal  (1/2·2+1/4·4, 1/2·4+1/4·8+1/4·4, 1/2·2+1/4·4+1/4·12) = (2, 5, 5), sum 12
//	again     (2·2+5·4, 2·4+5·8+5·4, 2·2+5·4+5·12)/12 = (24, 68, 84)/12, sum 176/12
//	viterbi   (1, 2, 3), sum 6;   again (8, 16, 36)/6, sum 60/6
func TestStepByHand(t *testing.T) {
	for _, c := range []struct {
		mode  lattice.Mode
		steps [2][3]float64
		sums  [2]float64
	}{
		{lattice.Marginal, [2][3]float64{{2. / 12, 5. / 12, 5. / 12}, {24. / 176, 68. / 176, 84. / 176}}, [2]float64{12, 176. / 12}},
		{lattice.Viterbi, [2][3]float64{{1. / 6, 2. / 6, 3. / 6}, {8. / 60, 16. / 60, 36. / 60}}, [2]float64{6, 60. / 6}},
	} {
		t.Run(c.mode.String(), func(t *testing.T) {
			alpha, next := []float64{0.5, 0.25, 0.25}, make([]float64, 3)
			for k, want := range c.steps {
				log := Step(next, alpha, byHand(), c.mode)
				for j := range want {
					if !near(next[j], want[j], 1e-14) {
						t.Errorf("step %d: %v, want %v", k+1, next, want)
						break
					}
				}
				if !near(log, math.Log(c.sums[k]), 1e-14) {
					t.Errorf("step %d: log of the sum %v, want %v", k+1, log, math.Log(c.sums[k]))
				}
				alpha, next = next, alpha
			}
		})
	}
}

// Steps from page to page give the marginal of the last state of the path so far,
// as if it were the whole chain, and the logarithms of their divisors add up to
// its log Z (Liu & Milios 2010, equations 37 and 38).
func TestStepsAreTheMarginalOfThePrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape(t)
		w, q := genWeights(t, shape, false), genPath(t, shape, 2)
		S := shape.States
		alpha, next, first := make([]float64, S), make([]float64, S), make([]float64, S)
		w.Start(first, q.Obs[0])
		sum := Start(alpha, nil, first)
		for k := 1; k < len(q.Obs); k++ {
			potentials := make([]float64, S*S)
			w.Potentials(potentials, q.Obs[k])
			sum += Step(next, alpha, potentials, lattice.Marginal)
			alpha, next = next, alpha
			prefix := Expect(w, q.Obs[:k+1])
			if !near(sum, prefix.LogZ, 1e-9) {
				t.Fatalf("the divisors of %d steps have the logarithm %v, log Z is %v", k, sum, prefix.LogZ)
			}
			for j := range S {
				want := 0.
				for i := range S {
					want += prefix.Arcs[k-1][i*S+j]
				}
				if !near(alpha[j], want, 1e-9) {
					t.Fatalf("p(s_%d=%d) = %v after steps, %v in the chain so far", k+1, j, alpha[j], want)
				}
			}
		}
	})
}

// The marginal of a page in the middle of a chain differs from that of the prefix
// which ends there. Here the next page can only follow state 1.
func TestThePrefixIsNotTheWholeChain(t *testing.T) {
	shape := lattice.Shape{States: 2, Observations: 2, Allowed: []bool{true, false, true, true}}
	w := lattice.NewWeights(shape)
	w.W[5+2] = 5 // L1^(1,1)·(observation 1)
	bias, other := sparse.Vector{{ID: 0, Value: 1}}, sparse.Vector{{ID: 0, Value: 1}, {ID: 1, Value: 1}}
	prefix, whole := Expect(w, []sparse.Vector{bias, bias}), Expect(w, []sparse.Vector{bias, bias, other})
	// Prefix: paths 00, 10, 11 weigh 1: p(s_2=1) = 1/3. Whole: 11→1 weighs e⁵
	// of e⁵ + 3, by 11→0, 10→0, 00→0.
	if p := prefix.Arcs[0][1] + prefix.Arcs[0][3]; !near(p, 1./3, 1e-14) {
		t.Errorf("prefix: p(s_2=1) = %v, want 1/3", p)
	}
	want := (math.Exp(5) + 1) / (math.Exp(5) + 3)
	if p := whole.Arcs[0][1] + whole.Arcs[0][3]; !near(p, want, 1e-14) {
		t.Errorf("whole: p(s_2=1) = %v, want %v", p, want)
	}
}

// Viterbi steps weigh each state by the best path that ends there.
func TestViterbiStepsAreBestPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := genShape(t)
		w, q := genWeights(t, shape, false), genPath(t, shape, 2)
		S := shape.States
		best := make([]float64, S)
		paths(S, len(q.Obs), func(path []int) {
			last := path[len(path)-1]
			best[last] = max(best[last], math.Exp(score(w, q.Obs, path)))
		})
		sum := 0.
		for _, p := range best {
			sum += p
		}
		alpha, next := make([]float64, S), make([]float64, S)
		w.Start(next, q.Obs[0])
		Start(alpha, nil, next)
		for _, o := range q.Obs[1:] {
			potentials := make([]float64, S*S)
			w.Potentials(potentials, o)
			Step(next, alpha, potentials, lattice.Viterbi)
			alpha, next = next, alpha
		}
		for j := range S {
			if !near(alpha[j], best[j]/sum, 1e-10) {
				t.Fatalf("state %d: %v, the best paths say %v", j, alpha[j], best[j]/sum)
			}
		}
	})
}

// Beliefs sum to 1 for paths of any length and potentials of any size; if no state
// is possible, the divisor's logarithm is −Inf.
func TestBeliefs(t *testing.T) {
	alpha, next := make([]float64, 3), make([]float64, 3)
	if log := Start(alpha, []float64{0.5, 0, 0.5}, []float64{math.Log(2), 9, math.Log(6)}); !near(log, math.Log(4), 1e-14) || !near(alpha[0], 0.25, 1e-14) || alpha[1] != 0 {
		t.Errorf("start %v with a divisor of e^%v, want [.25 0 .75] and 4", alpha, log)
	}
	if Start(alpha, []float64{0.2, 0.3, 0.5}, nil); !near(alpha[1], 0.3, 1e-15) {
		t.Errorf("the prior alone gives %v", alpha)
	}
	m := byHand()
	for i := range m {
		m[i] += 5000
	}
	for range 100000 {
		Step(next, alpha, m, lattice.Marginal)
		alpha, next = next, alpha
	}
	if sum := alpha[0] + alpha[1] + alpha[2]; !near(sum, 1, 1e-12) {
		t.Errorf("%v after 100000 steps", alpha)
	}
	none := math.Inf(-1)
	if log := Step(next, []float64{1, 0, 0}, []float64{none, none, none, 0, 0, 0, 0, 0, 0}, lattice.Marginal); log != none || next[0]+next[1]+next[2] != 0 {
		t.Errorf("nothing is possible, and %v with e^%v is believed", next, log)
	}
}

// Training gives the same bits for any number of workers, and the same optimum
// for any cuts of the vectors.
func TestAnyNumberOfWorkers(t *testing.T) {
	sequences, shape, cuts := latticetest.Walks(3, latticetest.Options{Sequences: 2000, Pages: 400, Words: 100})
	train := func(workers int, cuts []uint32) []float64 {
		w, _, err := Train(t.Context(), sequences, shape, Options{Workers: workers, Cuts: cuts, Iterations: 12, Tolerance: -1})
		if err != nil {
			t.Fatal(err)
		}
		return w.W
	}
	one := train(1, cuts)
	for _, workers := range []int{2, 3, 8} {
		if !slices.Equal(one, train(workers, cuts)) {
			t.Errorf("%d workers find other weights than one", workers)
		}
	}
	for i, x := range train(2, nil) {
		if !near(x, one[i], 1e-6) {
			t.Fatalf("weight %d is %v uncut, %v cut", i, x, one[i])
		}
	}
}

// Training ends where the gradient vanishes. The objective less ‖λ‖²/2σ² is
// convex, so with a gradient g the optimum is lower by at most σ²‖g‖²/2.
func TestTrainFindsTheOptimum(t *testing.T) {
	sequences, shape, cuts := latticetest.Walks(2, latticetest.Options{Sequences: 300, Pages: -1, Words: 60})
	w, trace, err := Train(t.Context(), sequences, shape, Options{Variance: 2, Iterations: 2000, Tolerance: 1e-12, Cuts: cuts})
	if err != nil {
		t.Fatal(err)
	}
	grad := make([]float64, len(w.W))
	value := objective(sequences, shape, 2, 1, nil)(w.W, grad)
	squares := 0.
	for _, g := range grad {
		squares += g * g
	}
	if squares > 1e-6*value {
		t.Errorf("a gradient of length %v is left at %v nats after %d iterations (%v)", math.Sqrt(squares), value, trace.Iterations[len(trace.Iterations)-1].Iteration, trace.Status)
	}
	if last := trace.Iterations[len(trace.Iterations)-1]; !near(last.Value, value, 1e-9) {
		t.Errorf("the trace ends at %v nats, the weights have %v", last.Value, value)
	}
}

// A trace has an entry for each iteration, which Progress is given too, and its
// values fall. Training stops by the paper's rule (Liu & Milios 2010, section
// 7): convergence or 100 iterations.
func TestTrace(t *testing.T) {
	sequences, shape, _ := latticetest.Walks(2, latticetest.Options{Sequences: 300, Words: 60})
	var heard []optim.Iteration
	_, trace, err := Train(t.Context(), sequences, shape, Options{Progress: func(i optim.Iteration) { heard = append(heard, i) }})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(heard, trace.Iterations) {
		t.Error("Progress heard of other iterations than the trace holds")
	}
	for i, now := range trace.Iterations[1:] {
		if now.Value > trace.Iterations[i].Value || now.Iteration != i+1 {
			t.Errorf("%+v comes after %+v", now, trace.Iterations[i])
		}
	}
	n := len(trace.Iterations) - 1
	a, b := trace.Iterations[n-1].Value, trace.Iterations[n].Value
	if small := (a-b)/a <= 1e-5; n > 100 || small != (trace.Status == optim.Converged) {
		t.Errorf("%v after %d iterations, the last of which gained %v of %v", trace.Status, n, a-b, a)
	}
	if trace.Sequences != 300 || trace.Positions < 600 || trace.Weights != shape.Observations*24 {
		t.Errorf("trained %d weights on %d positions of %d sequences", trace.Weights, trace.Positions, trace.Sequences)
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
		if i.Iteration == 3 {
			cancel()
		}
	}})
	if w != nil || !errors.Is(err, context.Canceled) || len(trace.Iterations) != 4 {
		t.Errorf("%v after %d iterations", err, len(trace.Iterations)-1)
	}
}

// A trained field gives a forbidden arc no belief.
func TestForbiddenArcsStayForbidden(t *testing.T) {
	sequences, shape, _ := latticetest.Walks(2, latticetest.Options{Sequences: 300, Words: 60})
	w, _, err := Train(t.Context(), sequences, shape, Options{Iterations: 10})
	if err != nil {
		t.Fatal(err)
	}
	potentials, next := make([]float64, 25), make([]float64, 5)
	w.Potentials(potentials, sequences[0].Obs[1])
	Step(next, []float64{0, 0, 0, 0, 1}, potentials, lattice.Marginal)
	if next[0] != 0 || next[1] != 0 || next[2] != 0 || next[3] == 0 {
		t.Errorf("one hop from T4 believes in %v", next)
	}
}

func TestBadInput(t *testing.T) {
	bias := sparse.Vector{{ID: 0, Value: 1}}
	good := lattice.Sequence{Obs: []sparse.Vector{bias, bias}, Labels: []int{1, 0}}
	with := func(change func(q *lattice.Sequence)) []lattice.Sequence {
		q := lattice.Sequence{Obs: slices.Clone(good.Obs), Labels: slices.Clone(good.Labels)}
		change(&q)
		return []lattice.Sequence{good, q}
	}
	shape := lattice.Hops(3, 2)
	for _, c := range []struct {
		name      string
		sequences []lattice.Sequence
		shape     lattice.Shape
		o         Options
		want      string
	}{
		{"none", nil, shape, Options{}, "no sequences"},
		{"length 1 only", []lattice.Sequence{{Obs: []sparse.Vector{bias}, Labels: []int{0}}, {Obs: []sparse.Vector{bias}, Labels: []int{1}}}, shape, Options{}, "none of 2 sequences is longer than 1"},
		{"length 0", with(func(q *lattice.Sequence) { *q = lattice.Sequence{} }), shape, Options{}, "sequence 1 has 0 observations"},
		{"a label too few", with(func(q *lattice.Sequence) { q.Labels = q.Labels[:1] }), shape, Options{}, "sequence 1 has 2 observations and 1 labels"},
		{"one class", []lattice.Sequence{{Obs: []sparse.Vector{bias, bias}, Labels: []int{1, 1}}}, shape, Options{}, "all positions are in state 1"},
		{"forbidden arc", with(func(q *lattice.Sequence) { q.Labels = []int{2, 0} }), shape, Options{}, "sequence 1 goes from state 2 to state 0 at position 1"},
		{"unknown state", with(func(q *lattice.Sequence) { q.Labels[1] = 3 }), shape, Options{}, "sequence 1, position 1 is labelled 3: states are 0 to 2"},
		{"NaN", with(func(q *lattice.Sequence) { q.Obs[1] = sparse.Vector{{ID: 1, Value: math.NaN()}} }), shape, Options{}, "sequence 1, position 1: component 1 is NaN"},
		{"infinite", with(func(q *lattice.Sequence) { q.Obs[0] = sparse.Vector{{ID: 1, Value: math.Inf(1)}} }), shape, Options{}, "component 1 is +Inf"},
		{"out of order", with(func(q *lattice.Sequence) { q.Obs[0] = sparse.Vector{{ID: 1, Value: 1}, {ID: 0, Value: 1}} }), shape, Options{}, "IDs must ascend"},
		{"unknown observation", with(func(q *lattice.Sequence) { q.Obs[0] = sparse.Vector{{ID: 2, Value: 1}} }), shape, Options{}, "has observation 2: the shape has 2"},
		{"too large", with(func(q *lattice.Sequence) { q.Obs[0] = sparse.Vector{{ID: 1, Value: 1e300}} }), shape, Options{}, "observations are too large"},
		{"variance", []lattice.Sequence{good}, shape, Options{Variance: -1}, "a variance of -1"},
		{"no way on", []lattice.Sequence{good}, lattice.Shape{States: 2, Allowed: []bool{true, true, false, false}, Observations: 1}, Options{}, "no state may follow state 1"},
		{"flags of arcs", []lattice.Sequence{good}, lattice.Shape{States: 2, Allowed: []bool{true}, Observations: 1}, Options{}, "4 are needed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _, err := Train(t.Context(), c.sequences, c.shape, c.o)
			if err == nil || w != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
	// Length 1 beside others, or an empty observation, is no fault.
	fine := with(func(q *lattice.Sequence) { q.Obs, q.Labels = []sparse.Vector{nil}, []int{2} })
	if _, _, err := Train(t.Context(), fine, shape, Options{}); err != nil {
		t.Error(err)
	}
}
