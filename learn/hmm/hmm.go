// Package hmm learns hidden Markov models of first and second order, and carries
// a belief over their states from one observation to the next.
//
// In a crawl the hidden state of a page is the number of links to the nearest
// target: 0 is a target, the last state means "that many or more". The
// observation is one symbol, the cluster of the page's text. A model is counted
// from labelled walks (Count, Counts, CountSecond); Baum–Welch can then increase
// the likelihood of the walks. A crawler calls Step with each page's symbol for
// the belief over its state, and Predict for the belief over the state of the
// pages that it links to.
//
// Random numbers come from a given seed only, and training gives the same bits
// for any number of processors.
//
// Sources: Rabiner, A Tutorial on Hidden Markov Models, 1989; Liu, Janssen &
// Milios, Using HMM to Learn User Browsing Patterns for Focused Web Crawling,
// 2006; Batsakis, Petrakis & Milios, Improving the Performance of Focused Web
// Crawlers, 2009; Hu, Tu & Tong, A Model of Vertical Crawler using Hidden
// Markov Chain, 2014.
package hmm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// ErrImpossible is the error for a sequence that has probability zero.
var ErrImpossible = errors.New("hmm: the sequence has probability zero in the model; add smoothing to its counts")

// Sequence is one walk over pages.
type Sequence struct {
	Obs    []int // symbols, [T], 0 ≤ symbol < Symbols, T ≥ 1
	States []int // labels, [T], 0 ≤ state < States; nil = unknown
}

// Model is a hidden Markov model of first order. Rows sum to 1.
type Model struct {
	States  int       // S ≥ 1
	Symbols int       // K ≥ 1
	Pi      []float64 // [S]    P(q₁=i)
	A       []float64 // [S][S] P(q_t+1=j | q_t=i) at i·S+j
	B       []float64 // [S][K] P(o_t=k | q_t=j) at j·K+k
}

// HopArcs returns the arcs [S][S] that are possible between hop distances: a
// link leads at most one hop nearer to a target, so j ≥ i−1. The last state
// stands for all larger distances, so its links lead to it or to the last but
// one.
//
// Source: Liu & Milios 2010, section 3.2, "Edge Features".
func HopArcs(states int) []bool {
	arcs := make([]bool, states*states)
	for i := range states {
		for j := max(0, i-1); j < states; j++ {
			arcs[i*states+j] = true
		}
	}
	return arcs
}

// Random returns a start for walks without labels: π is uniform, the rows of A
// and B uniform with deviations of up to a tenth, drawn from seed. Without
// deviations Baum–Welch could not tell the states apart. arcs [S][S] are the
// possible arcs; nil = all.
//
// Source: Hu et al. 2014, section 2.2, where π is "generally evenly distributed"
// at the start; A and B are not specified.
func Random(states, symbols int, arcs []bool, seed uint64) (*Model, error) {
	if err := checkShape(states, symbols); err != nil {
		return nil, err
	}
	if err := checkArcs(arcs, states); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0x686d6d))
	m := &Model{states, symbols, slices.Repeat([]float64{1 / float64(states)}, states), make([]float64, states*states), make([]float64, states*symbols)}
	jitter(r, m.A, states, arcs)
	jitter(r, m.B, symbols, nil)
	return m, nil
}

// jitter fills a table with rows that are uniform with deviations of up to a
// tenth, and zero where no arc [width][width] is possible.
func jitter(r *rand.Rand, table []float64, width int, arcs []bool) {
	for i := range table {
		if table[i] = 1 + 0.1*r.Float64(); arcs != nil && !arcs[i%len(arcs)] {
			table[i] = 0
		}
	}
	normaliseRows(table, width, nil)
}

// Check returns an error if m cannot be used, for example after reading it from
// a file: wrong shapes, numbers that are no probabilities, rows that do not sum
// to 1.
func (m *Model) Check() error {
	if err := checkShape(m.States, m.Symbols); err != nil {
		return err
	}
	if err := checkRows("π", m.Pi, 1, m.States); err != nil {
		return err
	}
	if err := checkRows("A", m.A, m.States, m.States); err != nil {
		return err
	}
	return checkRows("B", m.B, m.States, m.Symbols)
}

// Forward fills alpha [T][S] with P(q_t=j | o₁…o_t), scaled so that each row
// sums to 1, and returns log P(O) in nats, or ErrImpossible. It panics if
// alpha has another length or a symbol is out of range.
//
//	α₁(j) = π_j b_j(o₁)/c₁,  α_t(j) = b_j(o_t) Σ_i α_{t−1}(i) a_ij / c_t,  log P(O) = Σ log c_t
//
// Source: Rabiner 1989, section V.A.
func (m *Model) Forward(alpha []float64, obs []int) (float64, error) {
	if len(alpha) != len(obs)*m.States {
		panic(fmt.Sprintf("hmm: alpha has %d numbers for %d observations in %d states", len(alpha), len(obs), m.States))
	}
	logP, ok := forward(m.Step, alpha, nil, obs)
	if !ok {
		return logP, ErrImpossible
	}
	return logP, nil
}

// Step updates a belief with one observation: dst [S] = P(q_t=j | o₁…o_t) from
// alpha [S] = P(q_{t−1}=i | o₁…o_{t−1}), or from π if alpha is nil. It returns
// c = P(o_t | o₁…o_{t−1}). If c is 0, which smoothing excludes, dst is the belief
// before the observation. dst must not overlap alpha.
//
//	α(L_j,t) = b_{j c_t} Σ_i α(L_i,t−1) a_ij / c
//
// Source: Batsakis et al. 2009, equation 5, normalised: without that the values
// decay with the length of the path, and links at different depths could not be
// compared.
func (m *Model) Step(dst, alpha []float64, symbol int) float64 {
	if alpha == nil {
		if len(dst) != m.States {
			panic(fmt.Sprintf("hmm: a belief of %d numbers in %d states", len(dst), m.States))
		}
		copy(dst, m.Pi)
	} else {
		m.Predict(dst, alpha)
	}
	if symbol < 0 || symbol >= m.Symbols {
		panic(fmt.Sprintf("hmm: symbol %d of %d", symbol, m.Symbols))
	}
	c := 0.
	for j, p := range dst {
		c += p * m.B[j*m.Symbols+symbol]
	}
	if c == 0 {
		return 0
	}
	for j := range dst {
		dst[j] *= m.B[j*m.Symbols+symbol] / c
	}
	return c
}

// Predict returns in dst [S] the belief over the state of a page before it is
// fetched, P(q_{t+1}=j | o₁…o_t), from alpha [S], the belief over the page that
// links to it. dst must not overlap alpha.
//
//	α(L_j,t+1) = Σ_i α(L_i,t) a_ij
//
// Source: Batsakis et al. 2009, equation 6. The crawler's priority is dst[0].
func (m *Model) Predict(dst, alpha []float64) {
	if len(dst) != m.States || len(alpha) != m.States {
		panic(fmt.Sprintf("hmm: beliefs of %d and %d numbers in %d states", len(dst), len(alpha), m.States))
	}
	clear(dst)
	for i, p := range alpha {
		for j, a := range m.A[i*m.States : (i+1)*m.States] {
			dst[j] += p * a
		}
	}
}

// Viterbi returns the likeliest walk over the states, [T], and the logarithm of
// its joint probability with the observations, or ErrImpossible. Among equally
// likely walks it chooses the lower state, from the last page backwards.
//
//	δ₁(j) = log π_j b_j(o₁),  δ_t(j) = max_i [δ_{t−1}(i) + log a_ij] + log b_j(o_t)
//
// Source: Rabiner 1989, section III.B.
func (m *Model) Viterbi(obs []int) ([]int, float64, error) {
	if len(obs) == 0 {
		return nil, 0, nil
	}
	S := m.States
	from := make([]int, len(obs)*S) // [T][S]
	delta, next := make([]float64, S), make([]float64, S)
	for j := range delta {
		delta[j] = math.Log(m.Pi[j]) + math.Log(m.B[j*m.Symbols+obs[0]])
	}
	for t := 1; t < len(obs); t++ {
		for j := range next {
			best, arg := math.Inf(-1), 0
			for i, d := range delta {
				if v := d + math.Log(m.A[i*S+j]); v > best {
					best, arg = v, i
				}
			}
			next[j] = best + math.Log(m.B[j*m.Symbols+obs[t]])
			from[t*S+j] = arg
		}
		delta, next = next, delta
	}
	arg := 0
	for j, d := range delta {
		if d > delta[arg] {
			arg = j
		}
	}
	if math.IsInf(delta[arg], -1) {
		return nil, delta[arg], ErrImpossible
	}
	path, logP := make([]int, len(obs)), delta[arg]
	for t := len(obs) - 1; t >= 0; t-- {
		path[t] = arg
		arg = from[t*S+arg]
	}
	return path, logP, nil
}

// normaliseRows scales each row of width numbers to sum to 1. A row of zeros is
// replaced by that of old, or by a uniform one if old is nil.
func normaliseRows(table []float64, width int, old []float64) {
	for at := 0; at < len(table); at += width {
		row, sum := table[at:at+width], 0.
		for _, x := range row {
			sum += x
		}
		switch {
		case sum > 0:
			for k := range row {
				row[k] /= sum
			}
		case old != nil:
			copy(row, old[at:at+width])
		default:
			for k := range row {
				row[k] = 1 / float64(width)
			}
		}
	}
}

// largest bounds the numbers of states and of symbols, so that the length of a
// table in a damaged file cannot overflow.
const largest = 1 << 16

func checkShape(states, symbols int) error {
	if states < 1 || symbols < 1 || states > largest || symbols > largest {
		return fmt.Errorf("hmm: %d states and %d symbols; each must be in 1…%d", states, symbols, largest)
	}
	return nil
}

func checkRows(name string, table []float64, rows, width int) error {
	if len(table) != rows*width {
		return fmt.Errorf("hmm: %s has %d numbers, not %d rows of %d", name, len(table), rows, width)
	}
	for r := range rows {
		sum := 0.
		for _, p := range table[r*width : (r+1)*width] {
			if !(p >= 0 && p <= 1+1e-9) {
				return fmt.Errorf("hmm: row %d of %s holds %v, which is no probability", r, name, p)
			}
			sum += p
		}
		if math.Abs(sum-1) > 1e-6 {
			return fmt.Errorf("hmm: row %d of %s sums to %v, not 1", r, name, sum)
		}
	}
	return nil
}
