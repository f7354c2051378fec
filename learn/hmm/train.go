package hmm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/learn/parallel"
)

var errNothing = errors.New("hmm: no sequence to learn from")

// Status says how Baum–Welch ended.
type Status int

const (
	Converged       Status = iota // the likelihood rose by less than the tolerance
	OutOfIterations               // Options.Iterations were spent
	OrderLost                     // the states of the next model no longer match the labels; see Options.KeepOrder
)

func (s Status) String() string {
	return [...]string{"converged", "out of iterations", "order of states lost"}[s]
}

// Options of BaumWelch and BaumWelchSecond.
type Options struct {
	Iterations int     // at most; 0 = 100; negative = none: only the start is evaluated
	Tolerance  float64 // of |log P(O|θ) − log P(O|θ₀)| relative to |log P(O|θ₀)|, θ₀ the previous model; 0 = 1e-4
	Workers    int     // 0 = as many as there are processors; the result does not depend on it

	// Prior is the number of observations that each row of the start counts
	// for; 0 = none, as in the papers. Without a prior the likelihood never
	// falls, and events that are in no sequence become impossible, whatever the
	// smoothing of the start. With one, the likelihood times that of the prior
	// never falls:
	//
	//	a_ij = (Σ φ_t(i,j) + Prior·a⁰_ij) / (Σ r_t(i) + Prior)
	Prior float64

	// KeepOrder ends the training before a model whose states no longer match
	// the labels, which is when another numbering of the states would agree
	// better with the labels. All sequences must be labelled. Baum–Welch itself
	// may permute states, and a crawler ranks by state 0.
	KeepOrder bool

	Progress func(iteration int, logLikelihood float64) // may be nil

	// Context ends the training with its error; nil = none. It is checked
	// between sequences.
	Context context.Context
}

// Trace records the course of training.
type Trace struct {
	LogLikelihood []float64 // nats over all sequences, of the start and after each iteration
	Status        Status

	// Agreement [S][S] is the belief in state j under the returned model, summed
	// over the pages labelled i.
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

// BaumWelch returns a model under which the sequences are likelier than under
// start: it repeats the estimation below until the likelihood rises by less than
// the tolerance. Probabilities that are zero stay zero. A row of which the
// sequences show nothing keeps its values. start is not changed.
//
//	φ_t(i,j) = α_t(i) a_ij b_j(o_{t+1}) β_{t+1}(j) / P(O),  r_t(i) = α_t(i) β_t(i) / P(O)
//	π_i = r₁(i),  a_ij = Σ_{t<T} φ_t(i,j) / Σ_{t<T} r_t(i),  b_j(k) = Σ_{t: o_t=k} r_t(j) / Σ_t r_t(j)
//
// with numerators and denominators summed over the sequences. The errors are
// those of Model.Check, one that names a sequence which does not fit the model or
// is impossible in it, and that of the context.
//
// Source: Hu et al. 2014, equations 1 to 4, which print r_i(i) for π_i. r_T is
// needed besides the sums over φ, which end at T−1.
func BaumWelch(sequences []Sequence, start *Model, o Options) (*Model, Trace, error) {
	return baumWelch(sequences, start, o)
}

// markov is a model of either order, as Baum–Welch needs it.
type markov[M any] interface {
	Check() error
	shape() (states, symbols int)

	// tables are π and all tables of transitions and symbols.
	tables() []table

	// of returns a model of the same shape with other probabilities, in the
	// order of tables.
	of(cells []float64) M

	// expect adds to sums, in the order of tables, the expected counts of a
	// sequence, and to agreement [S][S], if the sequence is labelled, its
	// posteriors; it returns log P(O), or false if that is −Inf.
	expect(w *work, s Sequence, sums, agreement []float64) (float64, bool)
}

// table is a table of probabilities whose rows, of that width, sum to 1.
type table struct {
	cells []float64
	width int
}

// work is the work space for one sequence; its slices grow.
type work struct{ alpha, beta, scale, cell []float64 }

func grown(s *[]float64, n int) []float64 {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}

func (m *Model) shape() (states, symbols int) { return m.States, m.Symbols }

func (m *Model) tables() []table {
	return []table{{m.Pi, m.States}, {m.A, m.States}, {m.B, m.Symbols}}
}

func (m *Model) of(cells []float64) *Model {
	S := m.States
	return &Model{S, m.Symbols, cells[:S:S], cells[S : S+S*S : S+S*S], cells[S+S*S:]}
}

// expect is described in markov.
//
//	β_T = 1,  β_t(i) = Σ_j a_ij b_j(o_{t+1}) β_{t+1}(j) / c_{t+1}
//
// α and β are scaled by the same c_t, so α_t(i)β_t(i) = r_t(i).
func (m *Model) expect(w *work, s Sequence, sums, agreement []float64) (float64, bool) {
	S, K, T := m.States, m.Symbols, len(s.Obs)
	alpha, scale := grown(&w.alpha, T*S), grown(&w.scale, T)
	logP, ok := forward(m.Step, alpha, scale, s.Obs)
	if !ok {
		return 0, false
	}
	sum := m.of(sums)
	beta, before := grown(&w.beta, S), grown(&w.cell, S)
	for j := range beta {
		beta[j] = 1
	}
	for t := T - 1; ; t-- {
		row := alpha[t*S : (t+1)*S]
		for j, p := range row {
			r := p * beta[j]
			sum.B[j*K+s.Obs[t]] += r
			if t == 0 {
				sum.Pi[j] += r
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
			total := 0.
			for j, v := range beta {
				v *= m.A[i*S+j]
				sum.A[i*S+j] += p * v
				total += v
			}
			before[i] = total
		}
		beta, before = before, beta
	}
}

// forward fills alpha [T][len(alpha)/T] with the beliefs after each observation
// and scale [T], which may be nil, with their divisors. It returns log P(O), or
// false if that is −Inf.
func forward(step func(dst, alpha []float64, symbol int) float64, alpha, scale []float64, obs []int) (float64, bool) {
	logP, last := 0., []float64(nil)
	for t, o := range obs {
		size := len(alpha) / len(obs)
		belief := alpha[t*size : (t+1)*size]
		c := step(belief, last, o)
		if c == 0 {
			return math.Inf(-1), false
		}
		if scale != nil {
			scale[t] = c
		}
		logP += math.Log(c)
		last = belief
	}
	return logP, true
}

// defaults returns the options with their zero values filled in, or an error if
// they or the sequences cannot be used.
func (o Options) defaults(sequences []Sequence, states, symbols int) (Options, error) {
	if len(sequences) == 0 {
		return o, errNothing
	}
	if !(o.Tolerance >= 0) || !(o.Prior >= 0) || math.IsInf(o.Prior, 1) {
		return o, fmt.Errorf("hmm: tolerance of %v and prior of %v; both must be numbers ≥ 0", o.Tolerance, o.Prior)
	}
	for n, s := range sequences {
		if err := s.check(states, symbols, o.KeepOrder); err != nil {
			if o.KeepOrder && s.States == nil {
				err = errors.New("it has no labels, without which the order of states cannot be kept")
			}
			return o, fmt.Errorf("hmm: sequence %d: %w", n, err)
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
	if o.Context == nil {
		o.Context = context.Background()
	}
	return o, nil
}

// baumWelch is Baum–Welch for either order.
func baumWelch[M markov[M]](sequences []Sequence, start M, o Options) (M, Trace, error) {
	var none M
	if err := start.Check(); err != nil {
		return none, Trace{}, err
	}
	S, K := start.shape()
	o, err := o.defaults(sequences, S, K)
	if err != nil {
		return none, Trace{}, err
	}
	model, before := start, start
	var trace Trace
	for n := 0; ; n++ {
		e, err := expectations(sequences, model, o)
		if err != nil {
			return none, Trace{}, err
		}
		if o.KeepOrder && !inOrder(e.agreement, S) {
			trace.Status = OrderLost
			if n == 0 {
				trace.Agreement, trace.LogLikelihood = e.agreement, []float64{e.logP}
			}
			return before, trace, nil
		}
		trace.LogLikelihood = append(trace.LogLikelihood, e.logP)
		trace.Agreement = e.agreement
		if o.Progress != nil {
			o.Progress(n, e.logP)
		}
		if n > 0 {
			last := trace.LogLikelihood[n-1]
			rise := e.logP - last // below 0 by rounding only
			if o.Prior > 0 {
				rise = math.Abs(rise)
			}
			if rise <= o.Tolerance*math.Abs(last) {
				trace.Status = Converged
				return model, trace, nil
			}
		}
		if n == o.Iterations {
			trace.Status = OutOfIterations
			return model, trace, nil
		}
		before, model = model, maximise(e.sums, model, start, o.Prior)
	}
}

// maximise returns the model of expected counts. It uses the memory of sums.
func maximise[M markov[M]](sums []float64, model, start M, prior float64) M {
	rest, starting := sums, start.tables()
	for i, t := range model.tables() {
		part := rest[:len(t.cells)]
		for k, p := range starting[i].cells {
			part[k] += prior * p
		}
		normaliseRows(part, t.width, t.cells)
		rest = rest[len(part):]
	}
	return model.of(sums)
}

// expectation is the expected counts of all sequences.
type expectation struct {
	sums      []float64 // in the order of a model's tables
	agreement []float64 // [S][S], see Trace
	logP      float64   // nats
}

// expectations returns the expected counts of all sequences under a model, or
// ErrImpossible with the number of a sequence.
//
// Sequences are divided into parts by their number only. Each part is summed in
// order by one goroutine, and the parts are added in order, so the sums are the
// same for any number of workers.
func expectations[M markov[M]](sequences []Sequence, model M, o Options) (expectation, error) {
	S, _ := model.shape()
	size := 0
	for _, t := range model.tables() {
		size += len(t.cells)
	}
	type part struct {
		expectation
		impossible int // number of a sequence, or −1
	}
	parts := make([]part, min(64, len(sequences)))
	parallel.For(parallel.Workers(o.Workers), len(parts), func(n int) {
		var w work
		p := part{expectation{sums: make([]float64, size), agreement: make([]float64, S*S)}, -1}
		for q := len(sequences) * n / len(parts); q < len(sequences)*(n+1)/len(parts) && o.Context.Err() == nil; q++ {
			logP, ok := model.expect(&w, sequences[q], p.sums, p.agreement)
			if !ok && p.impossible < 0 {
				p.impossible = q
			}
			p.logP += logP
		}
		parts[n] = p
	})
	if err := o.Context.Err(); err != nil {
		return expectation{}, err
	}
	total := expectation{sums: make([]float64, size), agreement: make([]float64, S*S)}
	for _, p := range parts {
		if p.impossible >= 0 {
			return expectation{}, fmt.Errorf("hmm: sequence %d: %w", p.impossible, ErrImpossible)
		}
		for i, x := range p.sums {
			total.sums[i] += x
		}
		for i, x := range p.agreement {
			total.agreement[i] += x
		}
		total.logP += p.logP
	}
	return total, nil
}

// inOrder reports whether no other numbering of the states agrees better with
// the labels. Any renumbering consists of cycles, so that is whether the graph
// whose arc i→j costs C_ii − C_ij has no cycle of negative cost.
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
