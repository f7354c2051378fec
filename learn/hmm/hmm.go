// Package hmm learns hidden Markov models of first and second order, and
// follows a belief over their states from one observation to the next.
//
// A crawl is taken for a walk over hidden states, the numbers of hops to a
// target: 0 is the target, the last state "as far or farther". What is seen of
// a page is one symbol, the cluster of its text. A model comes from labelled
// walks by counting, and may then be bent by Baum–Welch towards what the walks
// make likely; a crawler asks with Step what a page's state may be, and with
// Predict what that of the page behind its links may be.
//
// Nothing here draws chance but from a given seed, and training gives the same
// bits on any number of cores.
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

// ErrImpossible tells that a sequence has probability zero.
var ErrImpossible = errors.New("hmm: the sequence has probability zero in the model; add smoothing to its counts")

// Sequence is one walk.
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

// HopArcs are the arcs [S][S] that hop distances allow: a link shortens the way
// to the nearest target by one hop at most, so j ≥ i−1, and from the last
// state, which stands for all that is farther, one comes to the last but one
// or stays.
//
// Source: Liu & Milios 2010, section 3.2.
func HopArcs(states int) []bool {
	arcs := make([]bool, states*states)
	for i := range states {
		for j := max(0, i-1); j < states; j++ {
			arcs[i*states+j] = true
		}
	}
	return arcs
}

// Random is a start for walks without labels: π uniform, the rows of A and B
// uniform but for up to a tenth, drawn from seed. Without that difference all
// states would stay alike for ever. Arcs [S][S] may be gone, others never are;
// nil = all.
//
// Source: Hu et al. 2014, section 2.2 (H1), where π is "generally evenly
// distributed" at first, and nothing is said of A and B.
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

// jitter fills a table with rows that are uniform but for up to a tenth, and
// zero off the arcs [width][width] of the states that its rows leave.
func jitter(r *rand.Rand, table []float64, width int, arcs []bool) {
	for i := range table {
		if table[i] = 1 + 0.1*r.Float64(); arcs != nil && !arcs[i%len(arcs)] {
			table[i] = 0
		}
	}
	normaliseRows(table, width, nil)
}

// Check tells what is wrong with a model that came from elsewhere: shapes,
// numbers that are no probabilities, rows that do not sum to 1.
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
	logP, last := 0., []float64(nil)
	for t, o := range obs {
		row := alpha[t*m.States : (t+1)*m.States]
		c := m.Step(row, last, o)
		if c == 0 {
			return math.Inf(-1), ErrImpossible
		}
		logP += math.Log(c)
		last = row
	}
	return logP, nil
}

// Step carries a belief over one observation: dst [S] = P(q_t=j | o₁…o_t) from
// alpha [S] = P(q_{t−1}=i | o₁…o_{t−1}), or from π where alpha is nil. It
// returns c = P(o_t | o₁…o_{t−1}). Where c is 0, which smoothing precludes,
// dst is the belief before the observation. dst must not overlap alpha.
//
//	α(L_j,t) = b_{j c_t} Σ_i α(L_i,t−1) a_ij / c
//
// Source: Batsakis et al. 2009, equation 5, normalised: left raw it decays
// with the length of a path, and deep links could not be compared to others.
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

// Predict carries a belief over a link whose page is not yet seen: dst [S] is
// P(q_{t+1}=j | o₁…o_t). dst must not overlap alpha [S].
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

// Viterbi returns the likeliest walk over the states, [T], and the logarithm
// of its probability together with the observations, or ErrImpossible. Of
// equals the lower state wins, from the last page backwards.
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

// normaliseRows makes each row of width numbers sum to 1. A row of zeros
// becomes old's, or uniform where old is nil.
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

// largest bounds each side of a model, so that no table of a model that came
// from elsewhere can overflow its length.
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
