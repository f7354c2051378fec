package hmm_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/learn/hmm"
)

// Without tolerance Baum–Welch goes on to the last iteration, and the likelihood,
// which the trace records, never falls; zeros stay; one worker or three give the
// same bits (Hu et al. 2014, equations 1 to 4, and their second order).
func TestLikelihoodNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, symbols := rapid.IntRange(1, 3).Draw(t, "S"), rapid.IntRange(1, 3).Draw(t, "K")
		sequences := drawSequences(t, states, symbols)
		o := hmm.Options{Iterations: 8, Tolerance: 1e-300, Workers: 1}
		var trace hmm.Trace
		var logP func(obs []int) (float64, error)
		if rapid.Bool().Draw(t, "second") {
			start := drawSecond(t, states, symbols)
			m, tr, err := hmm.BaumWelchSecond(sequences, start, o)
			if errors.Is(err, hmm.ErrImpossible) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			if err := m.Check(); err != nil {
				t.Fatal(err)
			}
			for i, x := range start.A {
				if x == 0 && m.A[i] != 0 {
					t.Fatalf("an arc of probability 0 came to have %v", m.A[i])
				}
			}
			o.Workers = 3
			if m3, tr3, err := hmm.BaumWelchSecond(sequences, start, o); err != nil || !reflect.DeepEqual(m, m3) || !reflect.DeepEqual(tr, tr3) {
				t.Fatalf("three cores make another model, %v", err)
			}
			trace, logP = tr, func(obs []int) (float64, error) {
				return m.Forward(make([]float64, len(obs)*m.Belief()), obs)
			}
		} else {
			start := drawModel(t, states, symbols)
			m, tr, err := hmm.BaumWelch(sequences, start, o)
			if errors.Is(err, hmm.ErrImpossible) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			if err := m.Check(); err != nil {
				t.Fatal(err)
			}
			for i, x := range start.A {
				if x == 0 && m.A[i] != 0 {
					t.Fatalf("an arc of probability 0 came to have %v", m.A[i])
				}
			}
			o.Workers = 3
			if m3, tr3, err := hmm.BaumWelch(sequences, start, o); err != nil || !reflect.DeepEqual(m, m3) || !reflect.DeepEqual(tr, tr3) {
				t.Fatalf("three cores make another model, %v", err)
			}
			trace, logP = tr, func(obs []int) (float64, error) { return m.Forward(make([]float64, len(obs)*states), obs) }
		}
		for n := 1; n < len(trace.LogLikelihood); n++ {
			if trace.LogLikelihood[n] < trace.LogLikelihood[n-1]-1e-9*max(1, math.Abs(trace.LogLikelihood[n-1])) {
				t.Fatalf("the likelihood falls: %v", trace.LogLikelihood)
			}
		}
		sum := 0.
		for _, s := range sequences {
			l, err := logP(s.Obs)
			if err != nil {
				t.Fatal(err)
			}
			sum += l
		}
		if last := trace.LogLikelihood[len(trace.LogLikelihood)-1]; !near(sum, last) {
			t.Fatalf("the trace says %v, the model %v", last, sum)
		}
		agreement := 0.
		for _, x := range trace.Agreement {
			agreement += x
		}
		pages := 0
		for _, s := range sequences {
			pages += len(s.Obs)
		}
		if !near(agreement, float64(pages)) {
			t.Fatalf("beliefs about %d pages sum to %v", pages, agreement)
		}
	})
}

// With a prior, events that are in no sequence stay possible, and
// log P + Prior·Σ a⁰ log a never falls.
func TestPrior(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := drawSecond(t, 2, 3)
		sequences := drawSequences(t, 2, 3)
		prior := rapid.SampledFrom([]float64{.5, 10}).Draw(t, "prior")
		penalty := func(m *hmm.Second) (sum float64) {
			now := slices.Concat(m.First.Pi, m.First.A, m.First.B, m.A, m.B)
			for i, p := range slices.Concat(start.First.Pi, start.First.A, start.First.B, start.A, start.B) {
				if (p == 0) != (now[i] == 0) {
					t.Fatalf("probability %v came to be %v", p, now[i])
				}
				if p > 0 {
					sum += prior * p * math.Log(now[i])
				}
			}
			return sum
		}
		last := math.Inf(-1)
		for n := range 6 {
			o := hmm.Options{Iterations: n, Prior: prior, Tolerance: 1e-300}
			if n == 0 {
				o.Iterations = -1
			}
			m, trace, err := hmm.BaumWelchSecond(sequences, start, o)
			if errors.Is(err, hmm.ErrImpossible) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			value := trace.LogLikelihood[len(trace.LogLikelihood)-1] + penalty(m)
			if value < last-1e-9*max(1, math.Abs(last)) {
				t.Fatalf("%v after %v", value, last)
			}
			last = value
		}
	})
}

// One iteration equals the expected counts from enumerating all walks.
func TestOneIterationEqualsEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const S, K = 2, 2
		second := drawSecond(t, S, K)
		first := second.First
		if rapid.Bool().Draw(t, "first order") {
			second = nil
		}
		sequences := drawSequences(t, S, K)[:1]
		if rapid.Bool().Draw(t, "two") {
			sequences = append(sequences, hmm.Sequence{Obs: drawObs(t, K, 4)})
		}
		pi, a, b := make([]float64, S), make([]float64, S*S), make([]float64, S*K)
		a2, b2 := make([]float64, S*S*S), make([]float64, S*S*K)
		for _, s := range sequences {
			total := 0.
			walks(S, len(s.Obs), func(q []int) { total += joint(first, second, s.Obs, q) })
			if total == 0 {
				return
			}
			walks(S, len(s.Obs), func(q []int) {
				p := joint(first, second, s.Obs, q) / total
				pi[q[0]] += p
				for n, o := range s.Obs {
					if second == nil || n == 0 {
						b[q[n]*K+o] += p
					}
					if n > 0 && (second == nil || n == 1) {
						a[q[n-1]*S+q[n]] += p
					}
					if n > 0 {
						b2[(q[n-1]*S+q[n])*K+o] += p
					}
					if n > 1 {
						a2[(q[n-2]*S+q[n-1])*S+q[n]] += p
					}
				}
			})
		}
		shares := func(counts, old []float64, width int) []float64 {
			for at := 0; at < len(counts); at += width {
				sum := 0.
				for _, x := range counts[at : at+width] {
					sum += x
				}
				for i := at; i < at+width; i++ {
					if sum == 0 {
						counts[i] = old[i]
					} else {
						counts[i] /= sum
					}
				}
			}
			return counts
		}
		want := hmm.Model{States: S, Symbols: K, Pi: shares(pi, first.Pi, S), A: shares(a, first.A, S), B: shares(b, first.B, K)}
		o := hmm.Options{Iterations: 1, Tolerance: 1e-300}
		var got *hmm.Model
		var err error
		if second == nil {
			got, _, err = hmm.BaumWelch(sequences, first, o)
		} else {
			var m *hmm.Second
			if m, _, err = hmm.BaumWelchSecond(sequences, second, o); err == nil {
				got = m.First
				if !allNear(m.A, shares(a2, second.A, S)) || !allNear(m.B, shares(b2, second.B, K)) {
					t.Fatalf("a_ijk %v, b_ij %v\ninstead of %v, %v", m.A, m.B, a2, b2)
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if !allNear(got.Pi, want.Pi) || !allNear(got.A, want.A) || !allNear(got.B, want.B) {
			t.Fatalf("%+v\ninstead of %+v", got, want)
		}
	})
}

// sample draws labelled walks over hop states from a known model: each state
// shows its own symbol with .7.
func sample(seed uint64, n, states int) []hmm.Sequence {
	r := rand.New(rand.NewPCG(seed, 0))
	var out []hmm.Sequence
	for range n {
		var s hmm.Sequence
		q := r.IntN(states)
		for range 2 + r.IntN(9) {
			o := q
			if r.Float64() > .7 {
				o = r.IntN(states)
			}
			s.States, s.Obs = append(s.States, q), append(s.Obs, o)
			q = max(0, q-1) + r.IntN(2)
			if r.Float64() < .1 {
				q = states - 1
			}
			q = min(q, states-1)
		}
		out = append(out, s)
	}
	return out
}

// Starting from counts, Baum–Welch keeps state 0 the target: it converges, and
// its states still agree best with the labels of the same number.
func TestOrderIsKept(t *testing.T) {
	sequences := sample(1, 400, 4)
	start, err := hmm.CountSecond(sequences, 4, 4, hmm.CountOptions{Smoothing: hmm.SecondSmoothing, Arcs: hmm.HopArcs(4)})
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= 5; n++ {
		o := hmm.Options{Iterations: n, KeepOrder: true}
		if n == 0 {
			o.Iterations = -1
		}
		m, trace, err := hmm.BaumWelchSecond(sequences, start, o)
		if err != nil || trace.Status == hmm.OrderLost || len(trace.LogLikelihood) > n+1 {
			t.Fatalf("%d iterations: %+v, %v", n, trace, err)
		}
		if n == 0 && !reflect.DeepEqual(m, start) {
			t.Error("no iteration changes the model")
		}
		for i := range 4 {
			for j := range 4 {
				if i != j && trace.Agreement[i*4+i] <= trace.Agreement[i*4+j] {
					t.Errorf("%d iterations: pages of state %d are believed to be in %d: %v", n, i, j, trace.Agreement)
				}
			}
		}
	}
	first, err := hmm.Count(sequences, 4, 4, hmm.CountOptions{Smoothing: hmm.FirstSmoothing})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	_, trace, err := hmm.BaumWelch(sequences, first, hmm.Options{Progress: func(n int, l float64) { calls++ }})
	L := trace.LogLikelihood
	if err != nil || trace.Status != hmm.Converged || calls != len(L) {
		t.Fatalf("%+v after %d calls, %v", trace, calls, err)
	}
	for n := 1; n < len(L); n++ {
		if small := math.Abs(L[n]-L[n-1]) <= 1e-4*math.Abs(L[n-1]); small != (n == len(L)-1) {
			t.Errorf("iteration %d of %d: %v after %v", n, len(L)-1, L[n], L[n-1])
		}
	}
}

// A start whose states are in another order than the labels is returned
// unchanged, and a training ends before it comes to such an order.
func TestOrderLost(t *testing.T) {
	sequences := sample(2, 200, 2)
	right, err := hmm.Count(sequences, 2, 2, hmm.CountOptions{Smoothing: hmm.FirstSmoothing})
	if err != nil {
		t.Fatal(err)
	}
	wrong := &hmm.Model{States: 2, Symbols: 2, Pi: []float64{.5, .5}, A: []float64{.5, .5, .5, .5}, B: append(append([]float64(nil), right.B[2:]...), right.B[:2]...)}
	m, trace, err := hmm.BaumWelch(sequences, wrong, hmm.Options{KeepOrder: true})
	if err != nil || trace.Status != hmm.OrderLost || m != wrong || len(trace.LogLikelihood) != 1 {
		t.Errorf("%+v, %v", trace, err)
	}
	if _, trace, err = hmm.BaumWelch(sequences, wrong, hmm.Options{}); err != nil || trace.Status == hmm.OrderLost {
		t.Errorf("nobody asked for the order: %+v, %v", trace, err)
	}
	// Half of the pages labelled 1 show the symbol of state 0: the start agrees
	// with the labels by little, and after some iterations the symbols win.
	lure := []hmm.Sequence{{Obs: []int{0, 1, 1, 0, 0}, States: []int{0, 0, 1, 1, 1}}}
	hair := &hmm.Model{States: 2, Symbols: 2, Pi: []float64{.5, .5}, A: []float64{.6, .4, .3, .7}, B: []float64{.2, .8, .6, .4}}
	o := hmm.Options{KeepOrder: true, Tolerance: 1e-12, Iterations: 500}
	m, trace, err = hmm.BaumWelch(lure, hair, o)
	if err != nil || trace.Status != hmm.OrderLost || len(trace.LogLikelihood) < 2 || m == hair {
		t.Fatalf("%+v, %v", trace, err)
	}
	o.Iterations = -1
	if _, trace, err = hmm.BaumWelch(lure, m, o); err != nil || trace.Status == hmm.OrderLost {
		t.Errorf("the model returned has lost the order: %+v, %v", trace, err)
	}
	o.Iterations = 1
	if _, trace, err = hmm.BaumWelch(lure, m, o); err != nil || trace.Status != hmm.OrderLost {
		t.Errorf("the next model has not: %+v, %v", trace, err)
	}
}

// Without labels the start is nearly uniform, and Baum–Welch separates walks of
// two kinds of page (Hu et al. 2014, section 2.2).
func TestRandom(t *testing.T) {
	random := func(seed uint64) *hmm.Model {
		m, err := hmm.Random(2, 2, nil, seed)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	start := random(1)
	if err := start.Check(); err != nil || !allNear(start.Pi, []float64{.5, .5}) {
		t.Fatalf("%+v, %v", start, err)
	}
	if !reflect.DeepEqual(start, random(1)) || reflect.DeepEqual(start, random(2)) {
		t.Error("the seed does not decide")
	}
	var sequences []hmm.Sequence
	for range 20 {
		sequences = append(sequences, hmm.Sequence{Obs: []int{0, 0, 0, 1, 1, 1}}, hmm.Sequence{Obs: []int{1, 1, 1, 1, 0, 0}})
	}
	m, trace, err := hmm.BaumWelch(sequences, start, hmm.Options{Tolerance: 1e-9, Iterations: 500})
	if err != nil {
		t.Fatal(err)
	}
	if d := math.Abs(m.B[0] - m.B[2]); d < .9 {
		t.Errorf("the states stay alike: %v after %d iterations", m.B, len(trace.LogLikelihood)-1)
	}
}

// The start of second order: every row is uniform within a tenth over the arcs of
// hop distances, and Baum–Welch raises the likelihood from there without labels.
func TestRandomSecond(t *testing.T) {
	arcs := hmm.HopArcs(4)
	start, err := hmm.RandomSecond(4, 4, arcs, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := start.Check(); err != nil || !allNear(start.First.Pi, []float64{.25, .25, .25, .25}) {
		t.Fatalf("%+v, %v", start, err)
	}
	for at, p := range start.A {
		ways := []float64{4, 4, 3, 2}[at/4%4]
		if allowed := arcs[at%16]; allowed && math.Abs(p*ways-1) > .1 || !allowed && p != 0 {
			t.Errorf("a_%d%d%d is %v of %v ways", at/16, at/4%4, at%4, p, ways)
		}
	}
	m, trace, err := hmm.BaumWelchSecond(sample(1, 200, 4), start, hmm.Options{Iterations: 20})
	L := trace.LogLikelihood
	if err != nil || L[len(L)-1] <= L[0] {
		t.Fatalf("%+v, %v", trace, err)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	for _, x := range []struct {
		states int
		arcs   []bool
	}{{0, nil}, {2, arcs}, {2, make([]bool, 4)}, {257, nil}} {
		if _, err := hmm.RandomSecond(x.states, 2, x.arcs, 1); err == nil {
			t.Errorf("%d states and %d arcs are no error", x.states, len(x.arcs))
		}
	}
}

// Viterbi: the belief over the last two pages and over the next one is that of
// the best walk to each, from enumerating all walks.
func TestBestWalksEqualEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		S, symbols := rapid.IntRange(1, 3).Draw(t, "S"), rapid.IntRange(1, 3).Draw(t, "K")
		m := drawSecond(t, S, symbols)
		o := drawObs(t, symbols, 5)
		now, next := make([]float64, m.Belief()), make([]float64, S)
		walks(S, len(o)+1, func(q []int) {
			p := joint(m.First, m, o, q[:len(o)])
			before, last, behind := S, q[len(o)-1], q[len(o)]
			a := m.First.A[last*S+behind]
			if len(o) > 1 {
				before = q[len(o)-2]
				a = m.A[(before*S+last)*S+behind]
			}
			now[before*S+last] = max(now[before*S+last], p)
			next[behind] = max(next[behind], p*a)
		})
		sums := func(list []float64) (sum float64) {
			for _, p := range list {
				sum += p
			}
			return sum
		}
		delta, to := make([]float64, m.Belief()), make([]float64, m.Belief())
		possible := true
		for t, symbol := range o {
			before := delta
			if t == 0 {
				before = nil
			}
			if possible = m.StepBest(to, before, symbol) > 0; !possible {
				break
			}
			delta, to = to, delta
		}
		if possible != (sums(now) > 0) {
			t.Fatalf("possible: %v, and the best walks have %v", possible, now)
		}
		if !possible {
			return
		}
		got := make([]float64, S)
		m.PredictBest(got, delta)
		for at, p := range now {
			if !near(delta[at]*sums(now), p) {
				t.Fatalf("pair %d: %v, want %v", at, delta, now)
			}
		}
		for k, p := range next {
			if !near(got[k]*sums(next), p) {
				t.Fatalf("state %d behind: %v, want %v", k, got, next)
			}
		}
	})
}

// Walks of one page determine π and b, walks of two pages one link as well.
func TestShortWalks(t *testing.T) {
	one := []hmm.Sequence{{Obs: []int{1}, States: []int{1}}}
	start, err := hmm.CountSecond(one, 2, 2, hmm.CountOptions{Smoothing: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !allNear(start.First.Pi, []float64{1. / 3, 2. / 3}) || !allNear(start.First.B, []float64{.5, .5, 1. / 3, 2. / 3}) {
		t.Errorf("counts %+v", start.First)
	}
	m, _, err := hmm.BaumWelchSecond(one, start, hmm.Options{Iterations: 1})
	// P(state|symbol 1) ∝ 1/3·1/2, 2/3·2/3 = 3/11, 8/11
	if err != nil || !allNear(m.First.Pi, []float64{3. / 11, 8. / 11}) || !allNear(m.A, start.A) || !allNear(m.B, start.B) || !allNear(m.First.A, start.First.A) {
		t.Errorf("one page: %+v, %v", m.First, err)
	}
	two := []hmm.Sequence{{Obs: []int{1, 0}}}
	m, trace, err := hmm.BaumWelchSecond(two, start, hmm.Options{Iterations: 3})
	if err != nil || !allNear(m.A, start.A) || allNear(m.B, start.B) || trace.LogLikelihood[1] < trace.LogLikelihood[0] {
		t.Errorf("two pages: %+v, %+v, %v", m, trace, err)
	}
}

// A walk of 10,000 pages, whose probability is far below the smallest float64,
// has an exact log-likelihood, and normalised beliefs stay comparable.
func TestLongWalk(t *testing.T) {
	m := small()
	obs := make([]int, 10000)
	for i := range obs {
		obs[i] = i * i % 7 % 2
	}
	alpha := make([]float64, len(obs)*2)
	logP, err := m.Forward(alpha, obs)
	if err != nil || logP > -5000 || math.IsInf(logP, 0) || !near(alpha[len(alpha)-1]+alpha[len(alpha)-2], 1) {
		t.Errorf("%v, %v", logP, err)
	}
	if path, best, err := m.Viterbi(obs); err != nil || best > logP || len(path) != len(obs) {
		t.Errorf("best %v of %v, %v", best, logP, err)
	}
}

func TestErrors(t *testing.T) {
	good := []hmm.Sequence{{Obs: []int{0, 1}, States: []int{1, 0}}}
	counted := func(s []hmm.Sequence, o hmm.CountOptions) error {
		_, err := hmm.Count(s, 2, 2, o)
		if _, err2 := hmm.CountSecond(s, 2, 2, o); (err == nil) != (err2 == nil) {
			t.Errorf("first order says %v, second %v", err, err2)
		}
		return err
	}
	trained := func(s []hmm.Sequence, m *hmm.Model, o hmm.Options) error {
		_, _, err := hmm.BaumWelch(s, m, o)
		return err
	}
	broken := func(change func(m *hmm.Model)) error {
		m := small()
		change(m)
		return m.Check()
	}
	for _, c := range []struct {
		want string
		err  error
	}{
		{"no sequence", counted(nil, hmm.CountOptions{})},
		{"sequence 0: no observation", counted([]hmm.Sequence{{}}, hmm.CountOptions{})},
		{"0 labels for 1", counted([]hmm.Sequence{{Obs: []int{0}}}, hmm.CountOptions{})},
		{"symbol 2 at 0", counted([]hmm.Sequence{{Obs: []int{2}, States: []int{0}}}, hmm.CountOptions{})},
		{"symbol -1", counted([]hmm.Sequence{{Obs: []int{-1}, States: []int{0}}}, hmm.CountOptions{})},
		{"state 2 at 0", counted([]hmm.Sequence{{Obs: []int{1}, States: []int{2}}}, hmm.CountOptions{})},
		{"smoothing", counted(good, hmm.CountOptions{Smoothing: -1})},
		{"smoothing", counted(good, hmm.CountOptions{Smoothing: math.NaN()})},
		{"smoothing", counted(good, hmm.CountOptions{Smoothing: math.Inf(1)})},
		{"3 arcs", counted(good, hmm.CountOptions{Arcs: make([]bool, 3)})},
		{"no arc leaves", counted(good, hmm.CountOptions{Arcs: make([]bool, 4)})},
		{"1 links from state 1 to state 0", counted(good, hmm.CountOptions{Arcs: []bool{true, true, false, true}})},
		{"no sequence", trained(nil, small(), hmm.Options{})},
		{"tolerance", trained(good, small(), hmm.Options{Tolerance: math.NaN()})},
		{"prior", trained(good, small(), hmm.Options{Prior: -1})},
		{"prior", trained(good, small(), hmm.Options{Prior: math.NaN()})},
		{"symbol 7", trained([]hmm.Sequence{{Obs: []int{7}}}, small(), hmm.Options{})},
		{"no labels", trained([]hmm.Sequence{{Obs: []int{1}}}, small(), hmm.Options{KeepOrder: true})},
		{"sequence 0: hmm: the sequence has probability zero", trained([]hmm.Sequence{{Obs: []int{1}}}, &hmm.Model{States: 1, Symbols: 2, Pi: []float64{1}, A: []float64{1}, B: []float64{1, 0}}, hmm.Options{})},
		{"0 states", broken(func(m *hmm.Model) { m.States = 0 })},
		{"states", broken(func(m *hmm.Model) { m.States = 1 << 40 })},
		{"π has", broken(func(m *hmm.Model) { m.Pi = m.Pi[:1] })},
		{"no probability", broken(func(m *hmm.Model) { m.A[1] = math.NaN() })},
		{"no probability", broken(func(m *hmm.Model) { m.A[1] = -.25 })},
		{"row 1 of B sums to", broken(func(m *hmm.Model) { m.B[3] = .5 })},
		{"first order", (&hmm.Second{}).Check()},
		{"A of second order", (&hmm.Second{First: small()}).Check()},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, without %q", c.err, c.want)
		}
	}
	if err := counted(good, hmm.CountOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := hmm.NewCounts(0, 1); err == nil {
		t.Error("counts of no state")
	}
}

// As many walks and states as the papers' training sets have.
func BenchmarkBaumWelch(b *testing.B) {
	sequences := sample(1, 12000, 5)
	o := hmm.Options{Iterations: 5, Tolerance: 1e-12}
	b.Run("first/walks=12000/iterations=5", func(b *testing.B) {
		start, err := hmm.Count(sequences, 5, 5, hmm.CountOptions{Smoothing: .1})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, _, err := hmm.BaumWelch(sequences, start, o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("second/walks=12000/iterations=5", func(b *testing.B) {
		start, err := hmm.CountSecond(sequences, 5, 5, hmm.CountOptions{Smoothing: 1})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, _, err := hmm.BaumWelchSecond(sequences, start, o); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkStepSecond(b *testing.B) {
	m, err := hmm.CountSecond(sample(1, 100, 5), 5, 5, hmm.CountOptions{Smoothing: 1})
	if err != nil {
		b.Fatal(err)
	}
	belief, next, score := make([]float64, m.Belief()), make([]float64, m.Belief()), make([]float64, 5)
	m.Step(belief, nil, 1)
	m.Step(next, belief, 1)
	for b.Loop() {
		m.Step(belief, next, 0)
		m.Predict(score, belief)
	}
}
