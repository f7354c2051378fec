package tagger_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/learn/tagger"
)

// example returns random weights over two kinds that alternate, of 2 and 3
// states, and random sequences.
func example(seed uint64) (*tagger.Weights, []tagger.Sequence) {
	chance := rand.New(rand.NewPCG(seed, 1))
	s := tagger.Shape{Kinds: []int{2, 3}, Allowed: make([]bool, 25), Features: 4, ArcFeatures: 2}
	for i := range 5 {
		for j := range 5 {
			s.Allowed[i*5+j] = (i < 2) != (j < 2)
		}
	}
	s.Allowed[0*5+4] = false
	w := tagger.NewWeights(s)
	for i := range w.State {
		w.State[i] = chance.NormFloat64()
	}
	for i := range w.Arc {
		w.Arc[i] = chance.NormFloat64()
	}
	vector := func(n int) sparse.Vector {
		v := sparse.Vector{{ID: 0, Value: 1}}
		for id := 1; id < n; id++ {
			if chance.IntN(2) == 0 {
				v = append(v, sparse.Entry{ID: uint32(id), Value: 1 + chance.Float64()})
			}
		}
		return v
	}
	var seqs []tagger.Sequence
	for range 4 {
		var q tagger.Sequence
		for t := range 1 + 2*chance.IntN(3) {
			q.Positions = append(q.Positions, tagger.Position{Kind: t % 2, State: vector(4), Arc: vector(2)})
			if t%2 == 0 {
				q.States = append(q.States, chance.IntN(2))
			} else {
				q.States = append(q.States, 2+chance.IntN(2))
			}
		}
		seqs = append(seqs, q)
	}
	return w, seqs
}

// score is U·u + V·v of one labelling, −Inf where it takes a forbidden arc.
func score(w *tagger.Weights, positions []tagger.Position, states []int) float64 {
	n, sum := w.States(), 0.
	for t, p := range positions {
		for _, e := range p.State {
			sum += e.Value * w.State[int(e.ID)*n+states[t]]
		}
		if t == 0 {
			continue
		}
		if !w.Allowed[states[t-1]*n+states[t]] {
			return math.Inf(-1)
		}
		for _, e := range p.Arc {
			sum += e.Value * w.Arc[(int(e.ID)*n+states[t-1])*n+states[t]]
		}
	}
	return sum
}

// enumerate calls do with every labelling.
func enumerate(w *tagger.Weights, positions []tagger.Position, do func(states []int)) {
	states := make([]int, len(positions))
	var from func(t int)
	from = func(t int) {
		if t == len(positions) {
			do(states)
			return
		}
		low, high := w.Of(positions[t].Kind)
		for s := low; s < high; s++ {
			states[t] = s
			from(t + 1)
		}
	}
	from(0)
}

// Z, the labels and the forward probabilities equal those of enumerating every
// labelling (Vydiswaran & Sarawagi 2005, equations 2 and 6).
func TestEnumeration(t *testing.T) {
	for seed := range uint64(20) {
		w, seqs := example(seed)
		for _, q := range seqs {
			z, best := 0., math.Inf(-1)
			var likeliest []int
			ends := make([]float64, w.States())
			enumerate(w, q.Positions, func(states []int) {
				x := score(w, q.Positions, states)
				z += math.Exp(x)
				ends[states[len(states)-1]] += math.Exp(x)
				if x > best {
					best, likeliest = x, append([]int(nil), states...)
				}
			})
			want := score(w, q.Positions, q.States) - math.Log(z)
			if got := w.LogLikelihood(q); math.Abs(got-want) > 1e-9 {
				t.Errorf("seed %d: log p = %v, by enumeration %v", seed, got, want)
			}
			got := w.Label(q.Positions)
			for i := range got {
				if got[i] != likeliest[i] {
					t.Errorf("seed %d: labels %v, by enumeration %v", seed, got, likeliest)
					break
				}
			}
			var before []float64
			for i, p := range q.Positions {
				alpha, emit := make([]float64, w.Kinds[p.Kind]), make([]float64, w.Kinds[p.Kind])
				w.Emit(emit, p.Kind, p.State)
				var arcs []float64
				if i > 0 {
					arcs = make([]float64, len(before)*len(alpha))
					w.Cross(arcs, q.Positions[i-1].Kind, p.Kind, p.Arc)
				}
				tagger.Forward(alpha, before, arcs, emit)
				before = alpha
			}
			low, _ := w.Of(q.Positions[len(q.Positions)-1].Kind)
			for j, a := range before {
				if math.Abs(a-ends[low+j]/z) > 1e-9 {
					t.Errorf("seed %d: α(%d) = %v, by enumeration %v", seed, j, a, ends[low+j]/z)
				}
			}
		}
	}
}

// The gradient equals finite differences of the objective.
func TestGradient(t *testing.T) {
	w, seqs := example(7)
	x := append(append([]float64(nil), w.State...), w.Arc...)
	value, grad := tagger.Objective(seqs, w.Shape, 10, x)
	want := 0.
	for _, q := range seqs {
		want -= w.LogLikelihood(q)
	}
	for _, v := range x {
		want += v * v / 20
	}
	if math.Abs(value-want) > 1e-9 {
		t.Errorf("objective %v, by its definition %v", value, want)
	}
	const h = 1e-6
	for i := range x {
		old := x[i]
		x[i] = old + h
		up, _ := tagger.Objective(seqs, w.Shape, 10, x)
		x[i] = old - h
		down, _ := tagger.Objective(seqs, w.Shape, 10, x)
		x[i] = old
		if d := (up - down) / (2 * h); math.Abs(d-grad[i]) > 1e-6*math.Max(1, math.Abs(d)) {
			t.Errorf("weight %d: gradient %v, by differences %v", i, grad[i], d)
		}
	}
}

// A field learnt from samples of another labels as well as that one; the
// objective never falls; the same set gives the same weights.
func TestTrain(t *testing.T) {
	truth, _ := example(3)
	chance := rand.New(rand.NewPCG(9, 9))
	var seqs []tagger.Sequence
	for seed := range uint64(150) {
		_, more := example(seed)
		for _, q := range more {
			// A draw by enumeration.
			z := 0.
			enumerate(truth, q.Positions, func(s []int) { z += math.Exp(score(truth, q.Positions, s)) })
			u, done := chance.Float64()*z, false
			enumerate(truth, q.Positions, func(s []int) {
				if u -= math.Exp(score(truth, q.Positions, s)); u <= 0 && !done {
					q.States, done = append([]int(nil), s...), true
				}
			})
			seqs = append(seqs, q)
		}
	}
	w, trace, err := tagger.Train(context.Background(), seqs, truth.Shape, tagger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(trace.Curve); i++ {
		if trace.Curve[i] < trace.Curve[i-1]-1e-9 {
			t.Errorf("iteration %d: the objective fell from %v to %v", i, trace.Curve[i-1], trace.Curve[i])
		}
	}
	learnt, real := 0., 0.
	for _, q := range seqs {
		learnt += w.LogLikelihood(q)
		real += truth.LogLikelihood(q)
	}
	if learnt < real {
		t.Errorf("likelihood %v of what was learnt, %v of what it was drawn from", learnt, real)
	}
	again, _, err := tagger.Train(context.Background(), seqs, truth.Shape, tagger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.State {
		if w.State[i] != again.State[i] {
			t.Fatal("the same training gives other weights")
		}
	}
}

// Without arc features each position is classified by itself: maximum entropy,
// the baseline of Vydiswaran & Sarawagi 2005, section 4.2.
func TestMaximumEntropy(t *testing.T) {
	w, seqs := example(4)
	s := w.Shape
	s.ArcFeatures = 0
	for i := range s.Allowed {
		s.Allowed[i] = true
	}
	m, _, err := tagger.Train(context.Background(), seqs, s, tagger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range seqs {
		sum := 0.
		for i := range q.Positions {
			sum += m.LogLikelihood(tagger.Sequence{Positions: q.Positions[i : i+1], States: q.States[i : i+1]})
		}
		if got := m.LogLikelihood(q); math.Abs(got-sum) > 1e-9 {
			t.Errorf("log p %v of a sequence, %v of its positions alone", got, sum)
		}
	}
}

func TestBadSequences(t *testing.T) {
	w, seqs := example(1)
	if _, _, err := tagger.Train(context.Background(), nil, w.Shape, tagger.Options{}); !errors.Is(err, tagger.ErrNone) {
		t.Errorf("no sequence: %v", err)
	}
	for name, spoil := range map[string]func(*tagger.Sequence){
		"no position":   func(q *tagger.Sequence) { *q = tagger.Sequence{} },
		"a state short": func(q *tagger.Sequence) { q.States = nil },
		"no such kind":  func(q *tagger.Sequence) { q.Positions = []tagger.Position{{Kind: 5}}; q.States = []int{0} },
		"another kind's state": func(q *tagger.Sequence) {
			q.Positions, q.States = []tagger.Position{{Kind: 1}}, []int{0}
		},
		"a forbidden arc": func(q *tagger.Sequence) {
			q.Positions, q.States = []tagger.Position{{Kind: 0}, {Kind: 1}}, []int{0, 4}
		},
		"NaN": func(q *tagger.Sequence) {
			q.Positions = []tagger.Position{{State: sparse.Vector{{ID: 1, Value: math.NaN()}}}}
			q.States = []int{0}
		},
	} {
		bad := append([]tagger.Sequence(nil), seqs...)
		spoil(&bad[2])
		if _, _, err := tagger.Train(context.Background(), bad, w.Shape, tagger.Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := tagger.Train(ctx, seqs, w.Shape, tagger.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
