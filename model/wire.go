package model

import (
	"encoding/binary"
	"math"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Payloads are written in these terms, numbers little-endian:
//
//	count   uvarint
//	string  count · bytes
//	floats  count · float64 each
//	vector  count · { ID uvarint, less that of the entry before · float64 }…

func appendVectors(b []byte, list []sparse.Vector) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = binary.AppendUvarint(b, uint64(len(v)))
		before := uint32(0)
		for _, e := range v {
			b = binary.AppendUvarint(b, uint64(e.ID-before))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.Value))
			before = e.ID
		}
	}
	return b
}

func appendLexicon(b []byte, l *feature.Lexicon) ([]byte, error) {
	words, err := l.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return wire.AppendString(b, string(words)), nil
}

// reader reads what payloads have in common.
type reader struct{ *wire.Reader }

// vectors reads vectors over IDs below dim.
func (r *reader) vectors(dim int) (out []sparse.Vector) {
	for range r.Count(1) {
		entries := r.Count(9)
		v := make(sparse.Vector, 0, entries)
		before := uint64(0)
		for i := range entries {
			d := r.Number(math.MaxUint32)
			before += uint64(d)
			if i > 0 && d == 0 || before >= uint64(dim) {
				r.Fail("an entry out of order or beyond the vocabulary")
			}
			v = append(v, sparse.Entry{ID: uint32(before), Value: r.Float64()})
			if r.Err() != nil {
				return nil
			}
		}
		if r.Err() != nil {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// lexicon reads words; after a failure they are none.
func (r *reader) lexicon() *feature.Lexicon {
	l := new(feature.Lexicon)
	if b := r.Take(r.Count(1)); r.Err() == nil {
		if err := l.UnmarshalBinary(b); err != nil {
			r.Fail("%w", err)
		}
	}
	return l
}
