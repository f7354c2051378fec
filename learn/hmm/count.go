package hmm

import (
	"fmt"
	"math"
	"slices"
)

// Defaults of CountOptions.Smoothing. The papers give no number.
const (
	FirstSmoothing  = 0.1 // first order
	SecondSmoothing = 1   // second order
)

// CountOptions are the options of Counts.Model and CountSecond.
type CountOptions struct {
	// Smoothing is added to the count of each possible event, ≥ 0. With 0, a
	// row without counts is uniform.
	Smoothing float64

	// Arcs [S][S] says which arcs are possible, see HopArcs; the others have
	// probability 0 with any smoothing. nil = all are possible. At least one
	// must leave each state.
	Arcs []bool
}

func (o CountOptions) check(states int) error {
	if !(o.Smoothing >= 0) || math.IsInf(o.Smoothing, 1) {
		return fmt.Errorf("hmm: smoothing of %v; it must be a number ≥ 0", o.Smoothing)
	}
	return checkArcs(o.Arcs, states)
}

// checkArcs returns an error unless some arc of arcs [S][S] leaves every state;
// nil stands for all arcs.
func checkArcs(arcs []bool, states int) error {
	if arcs == nil {
		return nil
	}
	if len(arcs) != states*states {
		return fmt.Errorf("hmm: %d arcs for %d states, not %d", len(arcs), states, states*states)
	}
	for i := range states {
		if !slices.Contains(arcs[i*states:(i+1)*states], true) {
			return fmt.Errorf("hmm: no arc leaves state %d; allow at least the arc to itself", i)
		}
	}
	return nil
}

// Counts counts labelled pages and links, once each, or those of whole walks.
// The counts are integers below 2⁵³, so their order does not matter.
type Counts struct {
	states, symbols int
	pi, a, b        []float64 // as in Model
}

// NewCounts returns counts of zero.
func NewCounts(states, symbols int) (*Counts, error) {
	if err := checkShape(states, symbols); err != nil {
		return nil, err
	}
	return &Counts{states, symbols, make([]float64, states), make([]float64, states*states), make([]float64, states*symbols)}, nil
}

// Start counts a walk that begins in a state.
func (c *Counts) Start(state int) { c.pi[state]++ }

// Link counts a link from a page in one state to a page in another.
func (c *Counts) Link(from, to int) {
	if to < 0 || to >= c.states {
		panic(fmt.Sprintf("hmm: state %d of %d", to, c.states))
	}
	c.a[from*c.states+to]++
}

// Page counts a page in a state that shows a symbol.
func (c *Counts) Page(state, symbol int) {
	if symbol < 0 || symbol >= c.symbols {
		panic(fmt.Sprintf("hmm: symbol %d of %d", symbol, c.symbols))
	}
	c.b[state*c.symbols+symbol]++
}

// Walk counts the start, the links and the pages of a labelled walk.
func (c *Counts) Walk(s Sequence) error {
	if err := s.check(c.states, c.symbols, true); err != nil {
		return err
	}
	c.Start(s.States[0])
	for t, j := range s.States {
		c.Page(j, s.Obs[t])
		if t > 0 {
			c.Link(s.States[t-1], j)
		}
	}
	return nil
}

// Model returns the model whose probabilities are the relative counts. It is an
// error if a link was counted on an arc that the options forbid.
//
//	a_ij = |links L_i→L_j| / |links from L_i|,  b_ij = |pages in L_i∩C_j| / |L_i|
//
// Source: Batsakis et al. 2009, section 3.3; the smoothing is ours.
func (c *Counts) Model(o CountOptions) (*Model, error) {
	if err := o.check(c.states); err != nil {
		return nil, err
	}
	m := &Model{c.states, c.symbols, make([]float64, len(c.pi)), make([]float64, len(c.a)), make([]float64, len(c.b))}
	if err := smooth(m.A, c.a, c.states, o); err != nil {
		return nil, err
	}
	for i, n := range c.pi {
		m.Pi[i] = n + o.Smoothing
	}
	for i, n := range c.b {
		m.B[i] = n + o.Smoothing
	}
	normaliseRows(m.Pi, c.states, nil)
	normaliseRows(m.B, c.symbols, nil)
	return m, nil
}

// smooth fills dst [...][S][S] with relative counts of links, zero where no arc
// is possible.
func smooth(dst, counts []float64, S int, o CountOptions) error {
	for at := 0; at < len(dst); at += S {
		j := at / S % S // the state that the row's links leave
		sum, open := 0., 0.
		for k := range S {
			if o.Arcs != nil && !o.Arcs[j*S+k] {
				if counts[at+k] > 0 {
					return fmt.Errorf("hmm: %v links from state %d to state %d, an arc that is not allowed: label the states anew or allow it", counts[at+k], j, k)
				}
				continue
			}
			open++
			dst[at+k] = counts[at+k] + o.Smoothing
			sum += dst[at+k]
		}
		for k := range S {
			switch {
			case o.Arcs != nil && !o.Arcs[j*S+k]:
			case sum > 0:
				dst[at+k] /= sum
			default:
				dst[at+k] = 1 / open
			}
		}
	}
	return nil
}

// Count returns the model of labelled walks. A page on two walks counts twice.
func Count(walks []Sequence, states, symbols int, o CountOptions) (*Model, error) {
	c, err := NewCounts(states, symbols)
	if err != nil {
		return nil, err
	}
	if len(walks) == 0 {
		return nil, errNothing
	}
	for n, s := range walks {
		if err := c.Walk(s); err != nil {
			return nil, fmt.Errorf("hmm: sequence %d: %w", n, err)
		}
	}
	return c.Model(o)
}
