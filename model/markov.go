package model

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/hmm"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Markov is what the hidden Markov models learnt: hop distances as states,
// clusters of pages as what is seen of them.
//
// Symbols 0…K−1 are clusters, and symbol K a page that holds no word of the
// lexicon and so belongs to none. Kind hmm takes the targets for cluster 0
// (Batsakis, Petrakis & Milios 2009, section 3.3); kind hmm2 clusters all pages
// alike (Hu, Tu & Tong 2014, section 2.1).
type Markov struct {
	Words *feature.Lexicon
	First *hmm.Model // of kind hmm; nil for hmm2, which has it within Second
	// Second is the model of kind hmm2, nil for hmm.
	Second *hmm.Second
	// Centroids are the means of the clusters' pages, [K].
	Centroids []sparse.Vector
	// Pages are the training pages, as Words.Page gives them, and Clusters the
	// cluster of each, for kind hmm to find the nearest; hmm2 has none.
	Pages    []sparse.Vector
	Clusters []int
}

// Blank is the symbol of a page without a word of the lexicon.
func (m *Markov) Blank() int { return len(m.Centroids) }

// States is the number of hidden states.
func (m *Markov) States() int { return m.first().States }

func (m *Markov) first() *hmm.Model {
	if m.Second != nil {
		return m.Second.First
	}
	return m.First
}

// MarshalBinary writes a model as
//
//	order                              byte, 1 or 2
//	S, symbols                         count each
//	π [S], A [S][S], B [S][symbols]    floats each
//	of order 2: A [S][S][S], B [S][S][symbols]
//	lexicon                            string
//	centroids, pages                   vectors each
//	clusters [pages]                   count each
func (m *Markov) MarshalBinary() ([]byte, error) {
	if err := m.verify(); err != nil {
		return nil, err
	}
	f := m.first()
	b := []byte{1}
	if m.Second != nil {
		b[0] = 2
	}
	b = binary.AppendUvarint(b, uint64(f.States))
	b = binary.AppendUvarint(b, uint64(f.Symbols))
	rows := [][]float64{f.Pi, f.A, f.B}
	if m.Second != nil {
		rows = append(rows, m.Second.A, m.Second.B)
	}
	for _, row := range rows {
		b = wire.AppendFloat64s(b, row)
	}
	b, err := appendLexicon(b, m.Words)
	if err != nil {
		return nil, err
	}
	b = appendVectors(b, m.Centroids)
	b = appendVectors(b, m.Pages)
	for _, c := range m.Clusters {
		b = binary.AppendUvarint(b, uint64(c))
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (m *Markov) UnmarshalBinary(b []byte) error {
	r := reader{wire.NewReader(b)}
	order := r.Byte()
	if order != 1 && order != 2 {
		r.Fail("a Markov model of order %d", order)
	}
	f := &hmm.Model{States: r.Number(maxStates), Symbols: r.Number(maxSymbols)}
	f.Pi, f.A, f.B = r.Float64s(), r.Float64s(), r.Float64s()
	read := Markov{First: f}
	if order == 2 {
		read = Markov{Second: &hmm.Second{First: f, A: r.Float64s(), B: r.Float64s()}}
	}
	read.Words = r.lexicon()
	read.Centroids = r.vectors(read.Words.Len())
	read.Pages = r.vectors(read.Words.Len())
	for range read.Pages {
		read.Clusters = append(read.Clusters, r.Number(maxSymbols))
	}
	if err := r.End(); err != nil {
		return err
	}
	if err := read.verify(); err != nil {
		return err
	}
	*m = read
	return nil
}

const maxSymbols = 1 << 16

// verify says what makes a model useless.
func (m *Markov) verify() error {
	if (m.First == nil) == (m.Second == nil) || m.Words == nil {
		return errors.New("a Markov model of first or of second order, and its words, are needed")
	}
	f := m.first()
	err := f.Check()
	if m.Second != nil {
		err = m.Second.Check()
	}
	if err != nil {
		return err
	}
	if f.States < 2 || f.States > maxStates || f.Symbols < 2 || f.Symbols > maxSymbols {
		return fmt.Errorf("a Markov model of %d states and %d symbols", f.States, f.Symbols)
	}
	if len(m.Centroids) != f.Symbols-1 {
		return fmt.Errorf("%d clusters for %d symbols", len(m.Centroids), f.Symbols)
	}
	for i, c := range m.Centroids {
		if err := within(c, m.Words); err != nil {
			return fmt.Errorf("cluster %d: %w", i, err)
		}
	}
	if len(m.Clusters) != len(m.Pages) {
		return fmt.Errorf("%d pages in %d clusters", len(m.Pages), len(m.Clusters))
	}
	for i, p := range m.Pages {
		if err := within(p, m.Words); err != nil {
			return fmt.Errorf("page %d: %w", i, err)
		}
		if c := m.Clusters[i]; c < 0 || c > len(m.Centroids) {
			return fmt.Errorf("page %d in cluster %d of %d", i, c, len(m.Centroids))
		}
	}
	return nil
}

// fits says whether the model goes with the kind of its file.
func (m *Markov) fits(f *File) error {
	if f.Kind == HMM2 && m.Second == nil || f.Kind == HMM && m.First == nil {
		return fmt.Errorf("a Markov model of another order than kind %s has", f.Kind)
	}
	return nil
}

// within says whether v is a vector over words.
func within(v sparse.Vector, words *feature.Lexicon) error {
	if err := v.Check(); err != nil {
		return err
	}
	if n := len(v); n > 0 && int(v[n-1].ID) >= words.Len() {
		return fmt.Errorf("word %d of %d", v[n-1].ID, words.Len())
	}
	return nil
}
