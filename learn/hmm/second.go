package hmm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Second is a hidden Markov model of second order: transitions and symbols
// depend on the states of the current and the previous page. The first page of a
// walk and the transition from it follow the model First. Rows sum to 1.
//
// The belief after a walk, [S+1][S], is over the states of the last two pages:
// at i·S+j is the probability that the last page is in state j and the previous
// one in state i. Row S is for walks of one page, which have no previous page. So
// beliefs have one shape and one update rule for walks of any length.
type Second struct {
	First *Model    // π, a_ij, b_j
	A     []float64 // [S][S][S] a_ijk = P(q_t+1=k | q_t=j, q_t−1=i) at (i·S+j)·S+k
	B     []float64 // [S][S][K] b_ij(l) = P(o_t=l | q_t−1=i, q_t=j) at (i·S+j)·K+l
}

// Check returns an error if m cannot be used; see Model.Check.
func (m *Second) Check() error {
	if m.First == nil {
		return errors.New("hmm: a model of second order needs a model of first order for the first page")
	}
	if err := m.First.Check(); err != nil {
		return err
	}
	S := m.First.States
	if S > 1<<8 {
		return fmt.Errorf("hmm: %d states; of second order there may be at most %d", S, 1<<8)
	}
	if err := checkRows("A of second order", m.A, S*S, S); err != nil {
		return err
	}
	return checkRows("B of second order", m.B, S*S, m.First.Symbols)
}

// Second is m as a model of second order that looks at one state before: a_ijk = a_jk,
// b_ij(l) = b_j(l). Every walk has the same probability under both. It panics above
// 256 states.
func (m *Model) Second() *Second {
	S, K := m.States, m.Symbols
	if S > 1<<8 {
		panic(fmt.Sprintf("hmm: %d states; of second order there may be at most %d", S, 1<<8))
	}
	return &Second{m, slices.Repeat(m.A, S), slices.Repeat(m.B[:S*K], S)}
}

// CountSecond returns the model of second order of labelled walks. First is the
// result of Count with the same options. A pair of states that is in no walk has
// uniform rows.
//
// Source: Hu et al. 2014, equations 7 and 8, of which 8 prints the condition
// "q_t=S_i, q_t=S_j". The paper starts from uniform probabilities without labels,
// so the numbering of its states is arbitrary; here hop distances are known.
func CountSecond(walks []Sequence, states, symbols int, o CountOptions) (*Second, error) {
	if states > 1<<8 {
		return nil, fmt.Errorf("hmm: %d states; of second order there may be at most %d", states, 1<<8)
	}
	first, err := Count(walks, states, symbols, o)
	if err != nil {
		return nil, err
	}
	S, K := states, symbols
	m := &Second{first, make([]float64, S*S*S), make([]float64, S*S*K)}
	links := make([]float64, S*S*S)
	for _, s := range walks {
		for t := 1; t < len(s.States); t++ {
			pair := s.States[t-1]*S + s.States[t]
			m.B[pair*K+s.Obs[t]]++
			if t+1 < len(s.States) {
				links[pair*S+s.States[t+1]]++
			}
		}
	}
	if err := smooth(m.A, links, S, o); err != nil {
		return nil, err
	}
	for i := range m.B {
		m.B[i] += o.Smoothing
	}
	normaliseRows(m.B, K, nil)
	return m, nil
}

// RandomSecond is Random of second order.
func RandomSecond(states, symbols int, arcs []bool, seed uint64) (*Second, error) {
	if states > 1<<8 {
		return nil, fmt.Errorf("hmm: %d states; of second order there may be at most %d", states, 1<<8)
	}
	first, err := Random(states, symbols, arcs, seed)
	if err != nil {
		return nil, err
	}
	S, K := states, symbols
	m := &Second{first, make([]float64, S*S*S), make([]float64, S*S*K)}
	r := rand.New(rand.NewPCG(seed, 0x686d6d32))
	jitter(r, m.A, S, arcs)
	jitter(r, m.B, K, nil)
	return m, nil
}

// Belief returns the length of a belief, (S+1)·S.
func (m *Second) Belief() int { return (m.First.States + 1) * m.First.States }

// Step updates a belief with one observation: dst [S+1][S] from alpha [S+1][S],
// or from π if alpha is nil. It returns c = P(o_t | o₁…o_{t−1}). If c is 0, which
// smoothing excludes, dst is the belief before the observation. dst must not
// overlap alpha.
//
//	α₁(−,j) = π_j b_j(o₁) / c₁
//	α₂(i,j) = α₁(−,i) a_ij b_ij(o₂) / c₂
//	α_{t+1}(j,k) = [Σ_i α_t(i,j) a_ijk] b_jk(o_{t+1}) / c_{t+1}
//
// Source: Hu et al. 2014 name the forward algorithm without its recursions; these
// follow from equations 9 and 10. Equation 11 omits b_{q₁q₂}(o₂).
func (m *Second) Step(dst, alpha []float64, symbol int) float64 {
	return m.step(dst, alpha, symbol, false)
}

// StepBest is Step with the maximum over the previous states instead of the sum:
// of all walks that end in two states it keeps the likeliest. dst is normalised
// to sum to 1, unless no state shows the symbol: the result is 0 then, and dst is that of the
// walks to the page, as figures of docs/results/htt14.md have it.
//
//	δ₁(−,j) ∝ π_j b_j(o₁),  δ₂(i,j) ∝ δ₁(−,i) a_ij b_ij(o₂)
//	δ_{t+1}(j,k) ∝ max_i [δ_t(i,j) a_ijk] b_jk(o_{t+1})
//
// Source: Rabiner 1989, section III.B, over pairs of states. Hu et al. 2014 name
// the Viterbi algorithm without its recursions.
func (m *Second) StepBest(dst, delta []float64, symbol int) float64 {
	return m.step(dst, delta, symbol, true)
}

// step is StepBest if best, else Step.
func (m *Second) step(dst, alpha []float64, symbol int, best bool) float64 {
	S, K := m.First.States, m.First.Symbols
	if symbol < 0 || symbol >= K {
		panic(fmt.Sprintf("hmm: symbol %d of %d", symbol, K))
	}
	if len(dst) != m.Belief() || alpha != nil && len(alpha) != len(dst) {
		panic(fmt.Sprintf("hmm: beliefs of %d and %d numbers, not %d", len(dst), len(alpha), m.Belief()))
	}
	clear(dst)
	if alpha == nil {
		return m.First.Step(dst[S*S:], nil, symbol)
	}
	for j := range S {
		next := dst[j*S : (j+1)*S]
		for i := range S + 1 {
			if p := alpha[i*S+j]; p != 0 {
				join(next, p, m.row(i, j), best)
			}
		}
	}
	c := 0.
	for pair, p := range dst[:S*S] {
		c += p * m.B[pair*K+symbol]
	}
	if c == 0 {
		return 0
	}
	for pair := range dst[:S*S] {
		dst[pair] *= m.B[pair*K+symbol] / c
	}
	return c
}

// join adds p·row to dst, or takes the maximum of both if best.
func join(dst []float64, p float64, row []float64, best bool) {
	if best {
		for k, a := range row {
			dst[k] = max(dst[k], p*a)
		}
		return
	}
	for k, a := range row {
		dst[k] += p * a
	}
}

// row returns a_ij·, or a_j· if i is S: no previous page.
func (m *Second) row(i, j int) []float64 {
	S := m.First.States
	if i == S {
		return m.First.A[j*S : (j+1)*S]
	}
	return m.A[(i*S+j)*S : (i*S+j+1)*S]
}

// Current writes to dst [S] the belief over the state of the last page, from
// alpha [S+1][S].
func (m *Second) Current(dst, alpha []float64) {
	S := m.First.States
	if len(dst) != S || len(alpha) != m.Belief() {
		panic(fmt.Sprintf("hmm: %d states from a belief of %d numbers, not %d from %d", len(dst), len(alpha), S, m.Belief()))
	}
	clear(dst)
	for at, p := range alpha {
		dst[at%S] += p
	}
}

// Predict writes to dst [S] the belief over the state of a page that the last one
// links to, before it is fetched, from alpha [S+1][S].
//
//	P(q_{t+1}=k | o₁…o_t) = Σ_{i,j} α_t(i,j) a_ijk
//
// The crawler's priority is dst[0]; Hu et al. 2014 define none.
func (m *Second) Predict(dst, alpha []float64) { m.predict(dst, alpha, false) }

// PredictBest is Predict with the maximum instead of the sum, for a belief from
// StepBest. dst is normalised to sum to 1.
//
//	δ'(k) ∝ max_{i,j} δ_t(i,j) a_ijk
func (m *Second) PredictBest(dst, delta []float64) {
	m.predict(dst, delta, true)
	normaliseRows(dst, len(dst), nil)
}

func (m *Second) predict(dst, alpha []float64, best bool) {
	S := m.First.States
	if len(dst) != S || len(alpha) != m.Belief() {
		panic(fmt.Sprintf("hmm: %d states from a belief of %d numbers, not %d from %d", len(dst), len(alpha), S, m.Belief()))
	}
	clear(dst)
	for at, p := range alpha {
		if p != 0 {
			join(dst, p, m.row(at/S, at%S), best)
		}
	}
}

// Forward fills alpha [T][S+1][S] with the beliefs after each observation and
// returns log P(O) in nats, or ErrImpossible. It panics if alpha has another
// length or a symbol is out of range.
func (m *Second) Forward(alpha []float64, obs []int) (float64, error) {
	size := m.Belief()
	if len(alpha) != len(obs)*size {
		panic(fmt.Sprintf("hmm: alpha has %d numbers for %d beliefs of %d", len(alpha), len(obs), size))
	}
	logP, ok := forward(m.Step, alpha, nil, obs)
	if !ok {
		return logP, ErrImpossible
	}
	return logP, nil
}

// BaumWelchSecond is BaumWelch for a model of second order. With
// β_T(i,j) = 1, β_t(i,j) = Σ_k a_ijk b_jk(o_{t+1}) β_{t+1}(j,k),
// γ_t = α_t β_t / P(O) and
// ξ_t(i,j,k) = α_t(i,j) a_ijk b_jk(o_{t+1}) β_{t+1}(j,k) / P(O):
//
//	a_ijk = Σ_{t=2}^{T−1} ξ_t(i,j,k) / Σ_{t=2}^{T−1} γ_t(i,j)
//	b_ij(l) = Σ_{t≥2, o_t=l} γ_t(i,j) / Σ_{t≥2} γ_t(i,j)
//
// and π, b_j and a_ij from the first pages and the links from them, with
// numerators and denominators summed over the sequences.
//
// Source: derived from Hu et al. 2014, which does not print these equations.
func BaumWelchSecond(sequences []Sequence, start *Second, o Options) (*Second, Trace, error) {
	return baumWelch(sequences, start, o)
}

func (m *Second) shape() (states, symbols int) { return m.First.States, m.First.Symbols }

func (m *Second) tables() []table {
	return append(m.First.tables(), table{m.A, m.First.States}, table{m.B, m.First.Symbols})
}

func (m *Second) of(cells []float64) *Second {
	S, K := m.shape()
	first, links := S+S*S+S*K, S*S*S
	return &Second{m.First.of(cells[:first:first]), cells[first : first+links : first+links], cells[first+links:]}
}

// expect is described in markov. With row S of alpha and beta, "no previous
// page", the first position needs no special case.
func (m *Second) expect(w *work, s Sequence, sums, agreement []float64) (float64, bool) {
	S, K, T, size := m.First.States, m.First.Symbols, len(s.Obs), m.Belief()
	alpha, scale := grown(&w.alpha, T*size), grown(&w.scale, T)
	logP, ok := forward(m.Step, alpha, scale, s.Obs)
	if !ok {
		return 0, false
	}
	total := m.of(sums)
	beta, before := grown(&w.beta, size), grown(&w.cell, size)
	for i := range beta {
		beta[i] = 1
	}
	for t := T - 1; ; t-- {
		for at, p := range alpha[t*size : (t+1)*size] {
			gamma := p * beta[at]
			if at < S*S {
				total.B[at*K+s.Obs[t]] += gamma
			} else {
				total.First.Pi[at-S*S] += gamma
				total.First.B[(at-S*S)*K+s.Obs[t]] += gamma
			}
			if s.States != nil {
				agreement[s.States[t]*S+at%S] += gamma
			}
		}
		if t == 0 {
			return logP, true
		}
		for pair := range S * S { // b_jk(o_t) β_t(j,k) / c_t
			beta[pair] *= m.B[pair*K+s.Obs[t]] / scale[t]
		}
		for at, p := range alpha[(t-1)*size : t*size] {
			i, j, sum := at/S, at%S, 0.
			links := total.First.A[j*S : (j+1)*S]
			if i < S {
				links = total.A[at*S : (at+1)*S]
			}
			for k, v := range m.row(i, j) {
				v *= beta[j*S+k]
				links[k] += p * v
				sum += v
			}
			before[at] = sum
		}
		beta, before = before, beta
	}
}
