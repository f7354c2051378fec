package hmm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

var errNothing = errors.New("hmm: no sequence to learn from")

// Status tells how Baum–Welch ended.
type Status int

const (
	Converged       Status = iota // the likelihood hardly rose any more
	OutOfIterations               // as many as were asked for
	OrderLost                     // the next model would have renamed its states; see Options.KeepOrder
)

func (s Status) String() string {
	return [...]string{"converged", "out of iterations", "order of states lost"}[s]
}

// Options of BaumWelch and BaumWelchSecond.
type Options struct {
	Iterations int     // at most; 0 = 100; negative = none, the start is only measured
	Tolerance  float64 // of |log P(O|θ) − log P(O|θ₀)| relative to |log P(O|θ₀)|; 0 = 1e-4
	Workers    int     // 0 = all cores; the result does not depend on it

	// Prior holds each row of the model to that of the start as if it had been
	// seen so often; 0 = not at all, as in the papers. Then what no sequence
	// shows comes to be impossible, however the start was smoothed, and the
	// likelihood never falls; with a prior it is the likelihood times the
	// prior's that never falls:
	//
	//	a_ij = (Σ φ_t(i,j) + Prior·a⁰_ij) / (Σ r_t(i) + Prior)
	Prior float64

	// KeepOrder stops before a model whose states mean something else than the
	// labels: where the pages' posteriors would agree better with their labels
	// if some states swapped names. All sequences must be labelled. Baum–Welch
	// knows no names, and a crawler ranks by the one called 0.
	KeepOrder bool

	Progress func(iteration int, logLikelihood float64) // may be nil

	// Context ends the training with its error; nil = it is not interrupted.
	// It is looked at between sequences.
	Context context.Context
}

// Trace is the course of a training.
type Trace struct {
	LogLikelihood []float64 // nats over all sequences, of the start and after each iteration
	Status        Status

	// Agreement [S][S] holds for the labelled pages of state i how much belief
	// the model returned gives to state j.
	Agreement []float64
}

func (s Sequence) check(states, symbols int, labelled bool) error {
	if len(s.Obs) == 0 {
		return errors.New("no observation in it")
	}
	for t, o := range s.Obs {
		if o < 0 || o >= symbols {
			return fmt.Errorf("symbol %d at %d is not in 0…%d", o, t, symbols-1)
		}
	}
	if s.States == nil && !labelled {
		return nil
	}
	if len(s.States) != len(s.Obs) {
		return fmt.Errorf("%d labels for %d observations", len(s.States), len(s.Obs))
	}
	for t, q := range s.States {
		if q < 0 || q >= states {
			return fmt.Errorf("state %d at %d is not in 0…%d", q, t, states-1)
		}
	}
	return nil
}

// BaumWelch climbs from a model to one that makes the sequences likelier,
// until the likelihood rises by less than the tolerance. What is zero stays
// zero. A row of which the sequences show nothing stays as it was. start is
// not changed.
//
//	φ_t(i,j) = α_t(i) a_ij b_j(o_{t+1}) β_{t+1}(j) / P(O),  r_t(i) = α_t(i) β_t(i) / P(O)
//	π_i = r₁(i),  a_ij = Σ_{t<T} φ_t(i,j) / Σ_{t<T} r_t(i),  b_j(k) = Σ_{t: o_t=k} r_t(j) / Σ_t r_t(j)
//
// with numerators and denominators summed over the sequences.
//
// Source: Hu et al. 2014, equations 1–4, where π_i is printed r_i(i), and r_T
// is needed beside the sums over φ, which end at T−1.
func BaumWelch(sequences []Sequence, start *Model, o Options) (*Model, Trace, error) {
	if err := start.Check(); err != nil {
		return nil, Trace{}, err
	}
	S, K := start.States, start.Symbols
	model := start
	trace, err := climb(sequences, S, K, S+S*S+S*K, o,
		func(w *work, s Sequence, sums, agreement []float64) (float64, bool) {
			return model.expect(w, s, sums, agreement)
		},
		func(sums []float64) (undo func()) {
			before := model
			for i, p := range slices.Concat(start.Pi, start.A, start.B) {
				sums[i] += o.Prior * p
			}
			pi, rest := sums[:S], sums[S:]
			a, b := rest[:S*S], rest[S*S:]
			normaliseRows(pi, S, before.Pi)
			normaliseRows(a, S, before.A)
			normaliseRows(b, K, before.B)
			model = &Model{S, K, pi, a, b}
			return func() { model = before }
		})
	if err != nil {
		return nil, Trace{}, err
	}
	return model, trace, nil
}

// work is what one core needs for one sequence; its slices grow.
type work struct{ alpha, beta, scale, cell []float64 }

func grown(s *[]float64, n int) []float64 {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}

// expect adds to sums [S + S·S + S·K] what π, A and B are made of, and to
// agreement [S][S], if the sequence is labelled; it returns log P(O).
//
//	β_T = 1,  β_t(i) = Σ_j a_ij b_j(o_{t+1}) β_{t+1}(j) / c_{t+1}
//
// α and β are scaled by the same c_t, so α_t(i)β_t(i) = r_t(i).
func (m *Model) expect(w *work, s Sequence, sums, agreement []float64) (float64, bool) {
	S, K, T := m.States, m.Symbols, len(s.Obs)
	alpha, scale := grown(&w.alpha, T*S), grown(&w.scale, T)
	logP, last := 0., []float64(nil)
	for t, o := range s.Obs {
		row := alpha[t*S : (t+1)*S]
		scale[t] = m.Step(row, last, o)
		if scale[t] == 0 {
			return 0, false
		}
		logP += math.Log(scale[t])
		last = row
	}
	pi, a, b := sums[:S], sums[S:S+S*S], sums[S+S*S:]
	beta, before := grown(&w.beta, S), grown(&w.cell, S)
	for j := range beta {
		beta[j] = 1
	}
	for t := T - 1; ; t-- {
		row := alpha[t*S : (t+1)*S]
		for j, p := range row {
			r := p * beta[j]
			b[j*K+s.Obs[t]] += r
			if t == 0 {
				pi[j] += r
			}
			if s.States != nil {
				agreement[s.States[t]*S+j] += r
			}
		}
		if t == 0 {
			return logP, true
		}
		for j := range beta { // b_j(o_t) β_t(j) / c_t
			beta[j] *= m.B[j*K+s.Obs[t]] / scale[t]
		}
		row = alpha[(t-1)*S : t*S]
		for i, p := range row {
			sum := 0.
			for j, v := range beta {
				v *= m.A[i*S+j]
				a[i*S+j] += p * v
				sum += v
			}
			before[i] = sum
		}
		beta, before = before, beta
	}
}

// climb is Baum–Welch of any order. expect adds to sums what one sequence
// shows and returns its log-likelihood, or false if it is impossible; update
// makes the next model of the sums, which it may keep, and can undo it.
//
// Sequences are cut into parts that depend on their number alone; each part is
// summed in order by one core and the parts are added in order, so that the
// sums are the same on any number of cores.
func climb(sequences []Sequence, S, K, size int, o Options,
	expect func(w *work, s Sequence, sums, agreement []float64) (float64, bool),
	update func(sums []float64) (undo func()),
) (Trace, error) {
	if len(sequences) == 0 {
		return Trace{}, errNothing
	}
	if !(o.Tolerance >= 0) || !(o.Prior >= 0) || math.IsInf(o.Prior, 1) {
		return Trace{}, fmt.Errorf("hmm: tolerance of %v and prior of %v; both must be numbers ≥ 0", o.Tolerance, o.Prior)
	}
	for n, s := range sequences {
		if err := s.check(S, K, o.KeepOrder); err != nil {
			if o.KeepOrder && s.States == nil {
				err = errors.New("no labels, without which the order of states cannot be kept")
			}
			return Trace{}, fmt.Errorf("hmm: sequence %d: %w", n, err)
		}
	}
	switch {
	case o.Iterations == 0:
		o.Iterations = 100
	case o.Iterations < 0:
		o.Iterations = 0
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-4
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	const parts = 64
	count := min(parts, len(sequences))
	type part struct {
		sums       []float64 // [size + S·S + 1], the last the log-likelihood
		impossible int       // number of a sequence, or −1
	}
	all := make([]part, count)
	for p := range all {
		all[p].sums = make([]float64, size+S*S+1)
	}
	cores := make([]work, min(o.Workers, count))
	look := func() (sums, agreement []float64, logP float64, err error) {
		var next atomic.Int64
		var wait sync.WaitGroup
		for c := range cores {
			wait.Go(func() {
				for p := int(next.Add(1)) - 1; p < count; p = int(next.Add(1)) - 1 {
					sums := all[p].sums
					clear(sums)
					all[p].impossible = -1
					for n := len(sequences) * p / count; n < len(sequences)*(p+1)/count && o.Context.Err() == nil; n++ {
						logP, ok := expect(&cores[c], sequences[n], sums[:size], sums[size:size+S*S])
						if !ok && all[p].impossible < 0 {
							all[p].impossible = n
						}
						sums[size+S*S] += logP
					}
				}
			})
		}
		wait.Wait()
		if err := o.Context.Err(); err != nil {
			return nil, nil, 0, err
		}
		total := make([]float64, size+S*S+1)
		for _, p := range all {
			if p.impossible >= 0 {
				return nil, nil, 0, fmt.Errorf("hmm: sequence %d: %w", p.impossible, ErrImpossible)
			}
			for i, x := range p.sums {
				total[i] += x
			}
		}
		return total[:size:size], total[size : size+S*S], total[size+S*S], nil
	}
	var trace Trace
	undo := func() {}
	for n := 0; ; n++ {
		sums, agreement, logP, err := look()
		if err != nil {
			return Trace{}, err
		}
		if o.KeepOrder && !inOrder(agreement, S) {
			undo()
			trace.Status = OrderLost
			if n == 0 {
				trace.Agreement, trace.LogLikelihood = agreement, []float64{logP}
			}
			return trace, nil
		}
		trace.LogLikelihood = append(trace.LogLikelihood, logP)
		trace.Agreement = agreement
		if o.Progress != nil {
			o.Progress(n, logP)
		}
		if n > 0 {
			last := trace.LogLikelihood[n-1]
			rise := logP - last // below 0 by rounding only
			if o.Prior > 0 {
				rise = math.Abs(rise)
			}
			if rise <= o.Tolerance*math.Abs(last) {
				trace.Status = Converged
				return trace, nil
			}
		}
		if n == o.Iterations {
			trace.Status = OutOfIterations
			return trace, nil
		}
		undo = update(sums)
	}
}

// inOrder tells whether no renaming of the states agrees better with the
// labels: whether in the graph whose arc i→j costs C_ii − C_ij no cycle has a
// negative cost, since any renaming is made of cycles.
func inOrder(agreement []float64, S int) bool {
	cost, total := make([]float64, S*S), 0.
	for i := range S {
		for j := range S {
			cost[i*S+j] = agreement[i*S+i] - agreement[i*S+j]
			total += agreement[i*S+j]
		}
	}
	for via := range S { // Floyd & Warshall
		for i := range S {
			for j := range S {
				cost[i*S+j] = min(cost[i*S+j], cost[i*S+via]+cost[via*S+j])
			}
		}
	}
	for i := range S {
		if cost[i*S+i] < -1e-9*total {
			return false
		}
	}
	return true
}
