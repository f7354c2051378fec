package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/learn/lattice"
)

// Chain is what a conditional random field or a maximum-entropy Markov model
// learnt: the weights of features over hop distances.
type Chain struct {
	Weights *lattice.Weights
	// Start is the share of training sequences that begin in each state, [S],
	// summing to 1: what the belief of a crawl begins with.
	Start []float64
	// Moves[i*S+j] is the share, among links of training pages in state i, of
	// those to pages in state j, [S*S]; its rows sum to 1.
	Moves []float64
}

// MarshalBinary writes a chain as
//
//	S                     uint32
//	observations          uint32
//	allowed [S*S]         byte each
//	start [S]             float64 each
//	moves [S*S]           float64 each
//	weights               float32 each, as lattice.Weights.W
//
// Weights lose what a float32 does not hold: seven decimal digits of a weight
// outlast the tolerance of every training.
func (c *Chain) MarshalBinary() ([]byte, error) {
	if err := c.verify(); err != nil {
		return nil, err
	}
	w := c.Weights
	b := make([]byte, 0, 8+len(w.Allowed)+8*len(c.Start)+4*len(w.W))
	b = binary.LittleEndian.AppendUint32(b, uint32(w.States))
	b = binary.LittleEndian.AppendUint32(b, uint32(w.Observations))
	for _, ok := range w.Allowed {
		if ok {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	for _, p := range slices.Concat(c.Start, c.Moves) {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p))
	}
	for _, x := range w.W {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return b, nil
}

// maxStates bounds the hidden states of a model that is read.
const maxStates = 64

// UnmarshalBinary reads what MarshalBinary wrote.
func (c *Chain) UnmarshalBinary(b []byte) error {
	if len(b) < 8 {
		return errors.New("the chain is cut short")
	}
	s := int(binary.LittleEndian.Uint32(b))
	observations := int(binary.LittleEndian.Uint32(b[4:]))
	b = b[8:]
	if s < 2 || s > maxStates {
		return fmt.Errorf("a chain of %d states", s)
	}
	if len(b) < s*s+8*s+8*s*s {
		return errors.New("the chain is cut short")
	}
	w := &lattice.Weights{Shape: lattice.Shape{States: s, Observations: observations, Allowed: make([]bool, s*s)}}
	for i := range w.Allowed {
		w.Allowed[i] = b[i] == 1
	}
	b = b[s*s:]
	start := make([]float64, s)
	for i := range start {
		start[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	b = b[8*s:]
	moves := make([]float64, s*s)
	for i := range moves {
		moves[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	b = b[8*s*s:]
	if len(b)%4 != 0 {
		return errors.New("the chain is cut short")
	}
	w.W = make([]float64, len(b)/4)
	for i := range w.W {
		w.W[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	*c = Chain{w, start, moves}
	return c.verify()
}

// verify says what makes a chain useless.
func (c *Chain) verify() error {
	if c.Weights == nil {
		return errors.New("a chain without weights")
	}
	if err := c.Weights.Check(); err != nil {
		return err
	}
	n := c.Weights.States
	if len(c.Start) != n || len(c.Moves) != n*n {
		return fmt.Errorf("%d shares of states and %d of moves for %d states", len(c.Start), len(c.Moves), n)
	}
	rows := [][]float64{c.Start}
	for row := range slices.Chunk(c.Moves, n) {
		rows = append(rows, row)
	}
	for _, row := range rows {
		sum := 0.
		for _, p := range row {
			if !(p >= 0) {
				return fmt.Errorf("a share of %v", p)
			}
			sum += p
		}
		if !(math.Abs(sum-1) < 1e-6) {
			return fmt.Errorf("shares with the sum %v", sum)
		}
	}
	return nil
}

// fits says whether a chain weighs the observations of the file's space.
func (c *Chain) fits(f *File) error {
	switch {
	case c.Weights == nil:
		return errors.New("a chain without weights")
	case f.Space == nil:
		return errors.New("a chain without the words it weighs")
	case f.Space.Len() != c.Weights.Observations:
		return fmt.Errorf("a chain of %d observations with a vocabulary of %d", c.Weights.Observations, f.Space.Len())
	}
	return nil
}
