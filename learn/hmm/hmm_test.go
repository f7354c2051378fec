package hmm_test

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/learn/hmm"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func allNear(a, b []float64) bool {
	for i := range a {
		if !near(a[i], b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// small is a model of two states and two symbols, to compute by hand.
func small() *hmm.Model {
	return &hmm.Model{
		States: 2, Symbols: 2,
		Pi: []float64{.5, .5},
		A:  []float64{.75, .25, .5, .5},
		B:  []float64{.8, .2, .25, .75},
	}
}

// By hand, for the symbols 0, 1; (5) and (6) are equations of Batsakis et al.
// 2009:
//
//	t=1  π b(0)        .4, .125             c = .525
//	     α             16/21, 5/21
//	(6)  α A           29/42, 13/42
//	(5)  · b(1)        29/210, 13/56        c = 311/840
//	     α             116/311, 195/311
//	Viterbi            .4·.25·.75 = .075 for 0,1; .4·.75·.2 = .06 for 0,0; .125·.5·.75 = .047 for 1,1
func TestTwoStatesByHand(t *testing.T) {
	m := small()
	alpha, predicted, next := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	if c := m.Step(alpha, nil, 0); !near(c, .525) || !allNear(alpha, []float64{16. / 21, 5. / 21}) {
		t.Errorf("first page: %v, c %v", alpha, c)
	}
	m.Predict(predicted, alpha)
	if !allNear(predicted, []float64{29. / 42, 13. / 42}) {
		t.Errorf("behind its links: %v", predicted)
	}
	if c := m.Step(next, alpha, 1); !near(c, 311./840) || !allNear(next, []float64{116. / 311, 195. / 311}) {
		t.Errorf("second page: %v, c %v", next, c)
	}
	path, logP, err := m.Viterbi([]int{0, 1})
	if err != nil || !reflect.DeepEqual(path, []int{0, 1}) || !near(logP, math.Log(.075)) {
		t.Errorf("Viterbi %v, %v, %v", path, math.Exp(logP), err)
	}
	rows := make([]float64, 4)
	logP, err = m.Forward(rows, []int{0, 1})
	if err != nil || !near(logP, math.Log(.525*311/840)) || !allNear(rows[2:], next) {
		t.Errorf("Forward %v, %v, %v", rows, math.Exp(logP), err)
	}
}

// Three states of hops, by hand, for the symbols 1, 0, 0:
//
//	t=1  π b(1)   0, .25, .375        c = .625       α = 0, .4, .6
//	t=2  α A      .2, .4, .4          c = .46        α = 8/23, 10/23, 5/23
//	t=3  α A      9/23, 9/23, 5/23    c = 12.95/23   α = 144/259, 90/259, 25/259
//	(6)  α A      117/259 for the target
//	Viterbi       .25·.5·.8·.5·.8 = .04 for 1,0,0, next .0375 for 2,1,0
//
// At t=2 state 1 is likelier by itself and state 0 on the best walk.
func TestThreeStatesByHand(t *testing.T) {
	m := &hmm.Model{
		States: 3, Symbols: 2,
		Pi: []float64{0, .5, .5},
		A:  []float64{.5, .5, 0, .5, .25, .25, 0, .5, .5},
		B:  []float64{.8, .2, .5, .5, .25, .75},
	}
	alpha, next := make([]float64, 9), make([]float64, 3)
	logP, err := m.Forward(alpha, []int{1, 0, 0})
	want := []float64{0, .4, .6, 8. / 23, 10. / 23, 5. / 23, 144. / 259, 90. / 259, 25. / 259}
	if err != nil || !allNear(alpha, want) || !near(logP, math.Log(.625*.46*12.95/23)) {
		t.Errorf("%v, P %v, %v", alpha, math.Exp(logP), err)
	}
	if m.Predict(next, alpha[6:]); !near(next[0], 117./259) {
		t.Errorf("the target is next with %v", next[0])
	}
	path, logP, err := m.Viterbi([]int{1, 0, 0})
	if err != nil || !reflect.DeepEqual(path, []int{1, 0, 0}) || !near(logP, math.Log(.04)) {
		t.Errorf("Viterbi %v, %v, %v", path, math.Exp(logP), err)
	}
}

// drawModel returns a random model with some zeros, but no row of zeros.
func drawModel(t *rapid.T, states, symbols int) *hmm.Model {
	rows := func(n, width int) (table []float64) {
		for range n {
			sum, row := 0., make([]float64, width)
			for i := range row {
				row[i] = float64(rapid.IntRange(0, 9).Draw(t, "weight"))
				sum += row[i]
			}
			if sum == 0 {
				row[0], sum = 1, 1
			}
			for _, x := range row {
				table = append(table, x/sum)
			}
		}
		return table
	}
	return &hmm.Model{States: states, Symbols: symbols, Pi: rows(1, states), A: rows(states, states), B: rows(states, symbols)}
}

func drawSecond(t *rapid.T, states, symbols int) *hmm.Second {
	m := &hmm.Second{First: drawModel(t, states, symbols)}
	for range states {
		block := drawModel(t, states, symbols)
		m.A, m.B = append(m.A, block.A...), append(m.B, block.B...)
	}
	return m
}

func drawObs(t *rapid.T, symbols, longest int) []int {
	return rapid.SliceOfN(rapid.IntRange(0, symbols-1), 1, longest).Draw(t, "obs")
}

// walks calls f with every walk of T pages over the states.
func walks(states, T int, f func(q []int)) {
	q := make([]int, T)
	for {
		f(q)
		at := 0
		for ; at < T; at++ {
			if q[at]++; q[at] < states {
				break
			}
			q[at] = 0
		}
		if at == T {
			return
		}
	}
}

// joint is P(O,Q) of Hu et al. 2014, equations 9 and 10; second is nil for a
// model of first order.
func joint(first *hmm.Model, second *hmm.Second, o, q []int) float64 {
	S, K := first.States, first.Symbols
	p := first.Pi[q[0]] * first.B[q[0]*K+o[0]]
	for t := 1; t < len(o); t++ {
		if second == nil {
			p *= first.A[q[t-1]*S+q[t]] * first.B[q[t]*K+o[t]]
			continue
		}
		if t == 1 {
			p *= first.A[q[0]*S+q[1]]
		} else {
			p *= second.A[(q[t-2]*S+q[t-1])*S+q[t]]
		}
		p *= second.B[(q[t-1]*S+q[t])*K+o[t]]
	}
	return p
}

// P(O), the belief over the last page and over the next, and the best walk equal
// those from enumerating all walks, for first order and for second (Hu et al.
// 2014, whose recursions are derived here).
func TestEqualsEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, symbols := rapid.IntRange(1, 3).Draw(t, "S"), rapid.IntRange(1, 3).Draw(t, "K")
		first := drawModel(t, states, symbols)
		var second *hmm.Second
		if rapid.Bool().Draw(t, "second") {
			second = drawSecond(t, states, symbols)
			first = second.First
			if err := second.Check(); err != nil {
				t.Fatal(err)
			}
		}
		o := drawObs(t, symbols, 5)
		total, best := 0., 0.
		now, next := make([]float64, states), make([]float64, states)
		walks(states, len(o), func(q []int) {
			p := joint(first, second, o, q)
			total += p
			now[q[len(q)-1]] += p
			best = max(best, p)
		})
		longer := append(append([]int(nil), o...), 0)
		walks(states, len(longer), func(q []int) { // P(q_{t+1}) by all symbols that may follow
			for k := range symbols {
				longer[len(o)] = k
				next[q[len(o)]] += joint(first, second, longer, q)
			}
		})
		gotNow, gotNext := make([]float64, states), make([]float64, states)
		var logP float64
		var err error
		if second == nil {
			alpha := make([]float64, len(o)*states)
			if logP, err = first.Forward(alpha, o); err == nil {
				copy(gotNow, alpha[len(alpha)-states:])
				first.Predict(gotNext, gotNow)
			}
			path, bestP, vErr := first.Viterbi(o)
			if (vErr == nil) != (total > 0) || vErr == nil && (!near(math.Exp(bestP), best) || !near(joint(first, nil, o, path), best)) {
				t.Fatalf("best walk %v with %v instead of %v, %v", path, math.Exp(bestP), best, vErr)
			}
		} else {
			alpha := make([]float64, len(o)*second.Belief())
			if logP, err = second.Forward(alpha, o); err == nil {
				last := alpha[len(alpha)-second.Belief():]
				second.Current(gotNow, last)
				second.Predict(gotNext, last)
			}
		}
		if total == 0 {
			if !errors.Is(err, hmm.ErrImpossible) {
				t.Fatalf("an impossible sequence: %v, %v", logP, err)
			}
			return
		}
		if err != nil || math.Abs(math.Exp(logP)/total-1) > 1e-9 {
			t.Fatalf("P(O) = %v instead of %v, %v", math.Exp(logP), total, err)
		}
		for j := range states {
			if !near(gotNow[j]*total, now[j]) || !near(gotNext[j]*total, next[j]) {
				t.Fatalf("state %d: now %v, next %v, instead of %v, %v", j, gotNow[j], gotNext[j], now[j]/total, next[j]/total)
			}
		}
	})
}

// A model of second order that does not depend on the previous page is one of
// first order.
func TestSecondOrderThatForgetsIsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := drawModel(t, 3, 3)
		second := &hmm.Second{First: first}
		for range 3 {
			second.A, second.B = append(second.A, first.A...), append(second.B, first.B...)
		}
		o := drawObs(t, 3, 8)
		a, err := first.Forward(make([]float64, len(o)*3), o)
		b, err2 := second.Forward(make([]float64, len(o)*second.Belief()), o)
		if (err == nil) != (err2 == nil) || err == nil && !near(a, b) {
			t.Fatalf("%v and %v, %v and %v", a, b, err, err2)
		}
	})
}

// Seven links and nine pages counted by hand.
//
//	walks    0:2 1:1 2:0   2:2 2:2 1:1   0:0     (state:symbol)
func labelled() []hmm.Sequence {
	return []hmm.Sequence{
		{States: []int{2, 1, 0}, Obs: []int{2, 1, 0}},
		{States: []int{2, 2, 1}, Obs: []int{2, 2, 1}},
		{States: []int{0}, Obs: []int{0}},
		{States: []int{1, 0}, Obs: []int{2, 0}},
	}
}

func TestCounting(t *testing.T) {
	for _, c := range []struct {
		name      string
		o         hmm.CountOptions
		pi, a, bs []float64
	}{
		{"shares", hmm.CountOptions{}, []float64{1. / 4, 1. / 4, 2. / 4},
			[]float64{1. / 3, 1. / 3, 1. / 3 /* no link from 0 */, 1, 0, 0, 0, 2. / 3, 1. / 3},
			[]float64{1, 0, 0, 0, 2. / 3, 1. / 3, 0, 0, 1}},
		{"add 0.1", hmm.CountOptions{Smoothing: hmm.FirstSmoothing}, []float64{1.1 / 4.3, 1.1 / 4.3, 2.1 / 4.3},
			[]float64{1. / 3, 1. / 3, 1. / 3, 2.1 / 2.3, .1 / 2.3, .1 / 2.3, .1 / 3.3, 2.1 / 3.3, 1.1 / 3.3},
			[]float64{3.1 / 3.3, .1 / 3.3, .1 / 3.3, .1 / 3.3, 2.1 / 3.3, 1.1 / 3.3, .1 / 3.3, .1 / 3.3, 3.1 / 3.3}},
		{"add 0.1 on arcs of hops", hmm.CountOptions{Smoothing: hmm.FirstSmoothing, Arcs: hmm.HopArcs(3)}, []float64{1.1 / 4.3, 1.1 / 4.3, 2.1 / 4.3},
			[]float64{1. / 3, 1. / 3, 1. / 3, 2.1 / 2.3, .1 / 2.3, .1 / 2.3, 0, 2.1 / 3.2, 1.1 / 3.2},
			[]float64{3.1 / 3.3, .1 / 3.3, .1 / 3.3, .1 / 3.3, 2.1 / 3.3, 1.1 / 3.3, .1 / 3.3, .1 / 3.3, 3.1 / 3.3}},
	} {
		m, err := hmm.Count(labelled(), 3, 3, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if !allNear(m.Pi, c.pi) || !allNear(m.A, c.a) || !allNear(m.B, c.bs) {
			t.Errorf("%s: π %v\nA %v\nB %v", c.name, m.Pi, m.A, m.B)
		}
		if err := m.Check(); err != nil {
			t.Error(err)
		}
	}
	// Links and pages of a graph are counted once each.
	n, err := hmm.NewCounts(2, 2)
	if err != nil {
		t.Fatal(err)
	}
	n.Link(1, 0)
	n.Link(1, 1)
	n.Link(1, 1)
	n.Page(0, 1)
	n.Page(1, 0)
	m, err := n.Model(hmm.CountOptions{})
	if err != nil || !allNear(m.A, []float64{.5, .5, 1. / 3, 2. / 3}) || !allNear(m.B, []float64{0, 1, 1, 0}) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestHopArcs(t *testing.T) {
	want := []bool{
		true, true, true, true,
		true, true, true, true,
		false, true, true, true,
		false, false, true, true,
	}
	if got := hmm.HopArcs(4); !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
}

// A model of second order counts by pairs; pairs without counts are uniform over
// the possible arcs, and zeros stay (Hu et al. 2014, equations 7 and 8).
func TestCountingSecond(t *testing.T) {
	m, err := hmm.CountSecond(labelled(), 3, 3, hmm.CountOptions{Smoothing: hmm.SecondSmoothing, Arcs: hmm.HopArcs(3)})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		pair string
		got  []float64
		want []float64
	}{
		{"2→1 goes on to", m.A[(2*3+1)*3:][:3], []float64{2. / 4, 1. / 4, 1. / 4}},
		{"2→2 goes on to", m.A[(2*3+2)*3:][:3], []float64{0, 2. / 3, 1. / 3}},
		{"0→2 goes on to", m.A[(0*3+2)*3:][:3], []float64{0, 1. / 2, 1. / 2}},
		{"2→1 shows", m.B[(2*3+1)*3:][:3], []float64{1. / 5, 3. / 5, 1. / 5}},
		{"1→0 shows", m.B[(1*3+0)*3:][:3], []float64{3. / 5, 1. / 5, 1. / 5}},
		{"1→1 shows", m.B[(1*3+1)*3:][:3], []float64{1. / 3, 1. / 3, 1. / 3}},
		{"the first link from 2 leads to", m.First.A[2*3:][:3], []float64{0, 3. / 5, 2. / 5}},
	} {
		if !allNear(c.got, c.want) {
			t.Errorf("%s %v, not %v", c.pair, c.got, c.want)
		}
	}
}

func drawSequences(t *rapid.T, states, symbols int) []hmm.Sequence {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hmm.Sequence {
		o := drawObs(t, symbols, 6)
		q := rapid.SliceOfN(rapid.IntRange(0, states-1), len(o), len(o)).Draw(t, "states")
		return hmm.Sequence{Obs: o, States: q}
	}), 1, 80).Draw(t, "sequences")
}
