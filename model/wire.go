package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Payloads are written in these terms, numbers little-endian:
//
//	count   uvarint
//	string  count · bytes
//	floats  count · float64 each
//	vector  count · { ID uvarint, less that of the entry before · float64 }…

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFloats(b []byte, list []float64) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

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
	return appendString(b, string(words)), nil
}

// reader takes values off b; after a failure it gives zero values, and err
// tells the first.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

var errCut = errors.New("what was learnt is cut short")

// end is the error of reading, with what is left over as one.
func (r *reader) end() error {
	if len(r.b) > 0 {
		r.fail("%d bytes too many", len(r.b))
	}
	return r.err
}

// count reads a number of things that take at least so many bytes each, so
// that it is bounded by what is left.
func (r *reader) count(least int) int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64((len(r.b)-size)/least) {
		r.fail("%w", errCut)
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

// number reads a uvarint of at most most.
func (r *reader) number(most uint64) int {
	n, size := binary.Uvarint(r.b)
	switch {
	case size <= 0:
		r.fail("%w", errCut)
		return 0
	case n > most:
		r.fail("%d where at most %d can be", n, most)
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

// take takes n bytes off, nil if they are not there.
func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail("%w", errCut)
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// float reads a finite number.
func (r *reader) float() float64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if math.IsNaN(x) || math.IsInf(x, 0) {
		r.fail("a number that is %v", x)
		return 0
	}
	return x
}

func (r *reader) floats() []float64 {
	out := make([]float64, r.count(8))
	for i := range out {
		out[i] = r.float()
	}
	return out
}

// vectors reads vectors over IDs below dim.
func (r *reader) vectors(dim int) (out []sparse.Vector) {
	for range r.count(1) {
		entries := r.count(9)
		v := make(sparse.Vector, 0, entries)
		before := uint64(0)
		for i := range entries {
			d := r.number(math.MaxUint32)
			before += uint64(d)
			if i > 0 && d == 0 || before >= uint64(dim) {
				r.fail("an entry out of order or beyond the vocabulary")
			}
			v = append(v, sparse.Entry{ID: uint32(before), Value: r.float()})
			if r.err != nil {
				return nil
			}
		}
		if r.err != nil {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// lexicon reads words; after a failure they are none.
func (r *reader) lexicon() *feature.Lexicon {
	l := new(feature.Lexicon)
	if b := r.take(r.count(1)); r.err == nil {
		if err := l.UnmarshalBinary(b); err != nil {
			r.fail("%w", err)
		}
	}
	return l
}
