package optim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/optimize/functions"
	"pgregory.net/rapid"
)

type problem interface {
	Func(x []float64) float64
	Grad(grad, x []float64)
}

func both(p problem) func(x, grad []float64) float64 {
	return func(x, grad []float64) float64 {
		p.Grad(grad, x)
		return p.Func(x)
	}
}

// The functions of Moré, Garbow & Hillstrom 1981 have known minima and known
// difficulties: narrow valleys, flat bottoms, bad scaling. LBFGS must find values
// as low as gonum's.
func TestAgainstGonum(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     problem
		start []float64
	}{
		{"Rosenbrock", functions.ExtendedRosenbrock{}, []float64{-1.2, 1, -1.2, 1}},
		{"Rosenbrock 100", functions.ExtendedRosenbrock{}, slices.Repeat([]float64{-1.2, 1}, 50)},
		{"Powell singular", functions.ExtendedPowellSingular{}, []float64{3, -1, 0, 3}},
		{"Beale", functions.Beale{}, []float64{1, 1}},
		{"Wood", functions.Wood{}, []float64{-3, -1, -3, -1}},
		{"Trigonometric", functions.Trigonometric{}, slices.Repeat([]float64{0.5}, 2)},
		{"Variably dimensioned", functions.VariablyDimensioned{}, []float64{0.75, 0.5, 0.25, 0}},
		{"Brown badly scaled", functions.BrownBadlyScaled{}, []float64{1, 1}},
		{"Biggs EXP2", functions.BiggsEXP2{}, []float64{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			theirs, err := optimize.Minimize(optimize.Problem{Func: c.p.Func, Grad: c.p.Grad}, c.start,
				&optimize.Settings{MajorIterations: 2000, Converger: optimize.NeverTerminate{}}, &optimize.LBFGS{})
			if theirs == nil {
				t.Fatal(err)
			}
			x := slices.Clone(c.start)
			ours := LBFGS(x, both(c.p), Options{Iterations: 2000, Tolerance: -1})
			if got := c.p.Func(x); got != ours.Last.Value {
				t.Errorf("x has the value %v, the result says %v", got, ours.Last.Value)
			}
			if ours.Last.Value > theirs.F+1e-9*max(1, math.Abs(theirs.F)) {
				t.Errorf("%v (%v, %d iterations), gonum %v (%v, %d iterations)", ours.Last.Value, ours.Status, ours.Last.Iteration, theirs.F, theirs.Status, theirs.MajorIterations)
			}
		})
	}
}

// A convex quadratic ½Σ d_i(x_i−c_i)² has its minimum at c. The tolerance in x is
// larger where the quadratic is flat.
func TestQuadratics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		d := rapid.SliceOfN(rapid.Float64Range(0.01, 100), n, n).Draw(t, "d")
		c := rapid.SliceOfN(rapid.Float64Range(-10, 10), n, n).Draw(t, "c")
		x := rapid.SliceOfN(rapid.Float64Range(-10, 10), n, n).Draw(t, "start")
		var trace []Iteration
		LBFGS(x, func(x, grad []float64) float64 {
			sum := 0.
			for i := range x {
				grad[i] = d[i] * (x[i] - c[i])
				sum += grad[i] * (x[i] - c[i]) / 2
			}
			return sum
		}, Options{Iterations: 1000, Tolerance: -1, Progress: func(i Iteration) bool { trace = append(trace, i); return true }})
		for i := range x {
			if math.Abs(x[i]-c[i]) > 1e-5 {
				t.Fatalf("x[%d] = %v, the minimum is at %v", i, x[i], c[i])
			}
		}
		for i, it := range trace {
			if it.Iteration != i || i > 0 && (it.Value > trace[i-1].Value || it.Evaluations <= trace[i-1].Evaluations) {
				t.Fatalf("iteration %d is %+v after %+v", i, it, trace[max(0, i-1)])
			}
		}
	})
}

func square(x, grad []float64) float64 {
	grad[0] = 2 * x[0]
	return x[0] * x[0]
}

func TestHowItEnds(t *testing.T) {
	valley := both(functions.ExtendedRosenbrock{})
	for _, c := range []struct {
		name  string
		f     func(x, grad []float64) float64
		start []float64
		o     Options
		want  Status
		least int // iterations
	}{
		{"small change", valley, []float64{-1.2, 1}, Options{}, Converged, 10},
		{"at the minimum", square, []float64{0}, Options{}, Converged, 0},
		{"limit", valley, []float64{-1.2, 1}, Options{Iterations: 3}, IterationLimit, 3},
		{"told to", valley, []float64{-1.2, 1}, Options{Progress: func(i Iteration) bool { return i.Iteration < 2 }}, Stopped, 2},
		{"told to at once", valley, []float64{-1.2, 1}, Options{Progress: func(Iteration) bool { return false }}, Stopped, 0},
		{"rounding", func(x, grad []float64) float64 { return 1e9 + square(x, grad) }, []float64{1e-5}, Options{Tolerance: -1}, Exhausted, 0},
		{"NaN at the start", func(x, grad []float64) float64 { return math.NaN() }, []float64{1}, Options{}, Undefined, 0},
		{"infinite gradient", func(x, grad []float64) float64 { grad[0] = math.Inf(1); return 0 }, []float64{1}, Options{}, Undefined, 0},
		{"no downhill where the gradient says", func(x, grad []float64) float64 { grad[0] = -1; return x[0] }, []float64{0}, Options{}, Exhausted, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := LBFGS(slices.Clone(c.start), c.f, c.o)
			if r.Status != c.want || r.Last.Iteration < c.least {
				t.Errorf("%v after %d iterations, want %v after at least %d", r.Status, r.Last.Iteration, c.want, c.least)
			}
		})
	}
}

// −log x + x is defined for x > 0 only, and a first step of the gradient's length
// leads below 0.
func TestStepsBackFromWhereNothingIsDefined(t *testing.T) {
	x := []float64{1e-3}
	r := LBFGS(x, func(x, grad []float64) float64 {
		grad[0] = 1 - 1/x[0]
		return x[0] - math.Log(x[0])
	}, Options{Tolerance: -1})
	if math.Abs(x[0]-1) > 1e-6 {
		t.Errorf("%v (%v), the minimum is at 1", x[0], r.Status)
	}
	x = []float64{30}
	LBFGS(x, func(x, grad []float64) float64 {
		grad[0] = 1 - 1/x[0]
		return x[0] - math.Log(x[0])
	}, Options{Tolerance: -1})
	if math.Abs(x[0]-1) > 1e-6 {
		t.Errorf("%v, the minimum is at 1", x[0])
	}
}

func TestSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	start := make([]float64, 40)
	for i := range start {
		start[i] = r.NormFloat64()
	}
	a, b := slices.Clone(start), slices.Clone(start)
	LBFGS(a, both(functions.ExtendedRosenbrock{}), Options{})
	LBFGS(b, both(functions.ExtendedRosenbrock{}), Options{})
	if !slices.Equal(a, b) {
		t.Error("two searches from one start end apart")
	}
}

// BenchmarkLBFGS is the cost of the method itself beside gonum's, on 50,000
// variables of a function that costs nearly nothing.
func BenchmarkLBFGS(b *testing.B) {
	start := slices.Repeat([]float64{-1.2, 1}, 25000)
	p := functions.ExtendedRosenbrock{}
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			r := LBFGS(slices.Clone(start), both(p), Options{Iterations: 30, Tolerance: -1})
			b.ReportMetric(r.Last.Value, "value")
			b.ReportMetric(float64(r.Last.Evaluations), "evaluations")
		}
	})
	b.Run("gonum", func(b *testing.B) {
		for b.Loop() {
			r, _ := optimize.Minimize(optimize.Problem{Func: p.Func, Grad: p.Grad}, start,
				&optimize.Settings{MajorIterations: 30, Converger: optimize.NeverTerminate{}}, &optimize.LBFGS{Store: 10})
			b.ReportMetric(r.F, "value")
			b.ReportMetric(float64(r.FuncEvaluations), "evaluations")
		}
	})
}
