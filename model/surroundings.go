package model

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/waggle-crawler/waggle/internal/wire"
)

// Surroundings counts what stood around links that led to pages of high and of
// low relevance: what an apprentice learnt of a crawl.
type Surroundings struct {
	Reach    int            // how many leaves away from a link words count
	Plain    bool           // words without their offsets
	Cited    bool           // with the outcomes of links near by
	Tree     int            // words with their place in the tree: 0 without, 1 by path length, 2 by depth
	Links    [2]uint64      // examples: low, high
	Features []FeatureCount // by ID, ascending
}

// FeatureCount is how often a feature stood around links of each class. One
// count at least is above 0.
type FeatureCount struct {
	ID        uint32 // as the scorer numbers it
	Low, High uint32
}

const maxReach = 1000

const (
	flagPlain = 1 << iota
	flagCited
	flagPaths  // Tree 1
	flagDepths // Tree 2
)

// MarshalBinary writes a model as
//
//	reach      uvarint
//	flags      byte        1 plain, 2 cited, 4 words by path length, 8 by depth in the tree
//	links      uvarint · uvarint
//	features   count · { ID uvarint, less that of the one before · low uvarint · high uvarint }…
func (s *Surroundings) MarshalBinary() ([]byte, error) {
	if err := s.verify(); err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(s.Reach))
	flags := byte(0)
	if s.Plain {
		flags |= flagPlain
	}
	if s.Cited {
		flags |= flagCited
	}
	switch s.Tree {
	case 1:
		flags |= flagPaths
	case 2:
		flags |= flagDepths
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, s.Links[0])
	b = binary.AppendUvarint(b, s.Links[1])
	b = binary.AppendUvarint(b, uint64(len(s.Features)))
	before := uint32(0)
	for _, f := range s.Features {
		b = binary.AppendUvarint(b, uint64(f.ID-before))
		b = binary.AppendUvarint(b, uint64(f.Low))
		b = binary.AppendUvarint(b, uint64(f.High))
		before = f.ID
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (s *Surroundings) UnmarshalBinary(b []byte) error {
	r := reader{wire.NewReader(b)}
	read := Surroundings{Reach: r.Number(maxReach)}
	flags := r.Byte()
	if flags > flagPlain|flagCited|flagDepths {
		r.Fail("flags that this program does not know")
	}
	read.Plain, read.Cited, read.Tree = flags&flagPlain != 0, flags&flagCited != 0, int(flags>>2)
	for class := range read.Links {
		read.Links[class] = uint64(r.Number(math.MaxUint32))
	}
	id := uint64(0)
	if n := r.Count(3); n > 0 {
		read.Features = make([]FeatureCount, 0, n)
		for range n {
			if id += uint64(r.Number(math.MaxUint32)); id > math.MaxUint32 {
				r.Fail("a feature beyond 32 bits")
			}
			read.Features = append(read.Features, FeatureCount{uint32(id), uint32(r.Number(math.MaxUint32)), uint32(r.Number(math.MaxUint32))})
			if r.Err() != nil {
				return r.Err()
			}
		}
	}
	if err := r.End(); err != nil {
		return err
	}
	if err := read.verify(); err != nil {
		return err
	}
	*s = read
	return nil
}

// verify says what makes a model useless.
func (s *Surroundings) verify() error {
	if s.Reach < 0 || s.Reach > maxReach {
		return errors.New("words from farther than a page is long")
	}
	if s.Tree < 0 || s.Tree > 2 {
		return errors.New("places in the tree of a kind that is not known")
	}
	if max(s.Links[0], s.Links[1]) > math.MaxUint32 {
		return errors.New("more links than can be counted")
	}
	for i, f := range s.Features {
		if i > 0 && f.ID <= s.Features[i-1].ID {
			return errors.New("features out of order")
		}
		if f.Low == 0 && f.High == 0 {
			return errors.New("a feature that never was")
		}
	}
	return nil
}
