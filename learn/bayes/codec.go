package bayes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// The bytes of a model. Numbers without a size are unsigned varints:
//
//	"waggleNB"  8 bytes
//	version     1 byte, 1
//	prior       1 byte
//	smoothing   8 bytes, IEEE 754, little endian
//	vocabulary, classes
//	per class:  documents
//	words
//	per word:   word − the word before − 1 (the first: word), cells
//	  per cell: class − the class before − 1 (the first: class), count − 1
//	checksum    4 bytes, CRC-32C of all before, little endian
//
// There is one way to write a model: equal models have equal bytes.
const (
	magic   = "waggleNB"
	version = 1
)

// Append adds the model to bytes.
func (m *Model) Append(b []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = append(b, version, byte(m.options.Prior))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(m.options.Smoothing))
	b = binary.AppendUvarint(b, uint64(m.options.Vocabulary))
	b = binary.AppendUvarint(b, uint64(m.options.Classes))
	for _, n := range m.documents {
		b = binary.AppendUvarint(b, n)
	}
	words := m.Words()
	b = binary.AppendUvarint(b, uint64(len(words)))
	next := uint32(0)
	for _, w := range words {
		column := m.columns[w]
		b = binary.AppendUvarint(b, uint64(w-next))
		b = binary.AppendUvarint(b, uint64(len(column)))
		next = w + 1
		class := uint32(0)
		for _, c := range column {
			b = binary.AppendUvarint(b, uint64(c.class-class))
			b = binary.AppendUvarint(b, uint64(c.count-1))
			class = c.class + 1
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], crc32.MakeTable(crc32.Castagnoli)))
}

// Decode is a model from the bytes of Append, all of them. It takes memory in
// proportion to the bytes, whatever they say.
func Decode(b []byte) (*Model, error) {
	const head = len(magic) + 2 + 8
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, errors.New("bayes: these bytes are not a model; train it again")
	}
	if len(b) > len(magic) && b[len(magic)] != version {
		return nil, fmt.Errorf("bayes: the model is of version %d, this program reads %d; train it again", b[len(magic)], version)
	}
	if len(b) < head+4 {
		return nil, errShort
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != sum {
		return nil, errShort
	}
	r := reader{rest: body[head:]}
	o := Options{
		Prior:      Prior(b[len(magic)+1]),
		Smoothing:  math.Float64frombits(binary.LittleEndian.Uint64(b[len(magic)+2:])),
		Vocabulary: int(r.number(math.MaxUint32)),
		Classes:    int(r.number(mostClasses)),
	}
	if r.bad || o.Classes > len(r.rest) || o.Smoothing == 0 {
		return nil, errForm
	}
	m, err := New(o)
	if err != nil {
		return nil, err
	}
	for c := range m.documents {
		m.documents[c] = r.number(1 << 53)
	}
	words := r.number(1 << 32)
	next := uint64(0)
	for range words {
		w := next + r.number(math.MaxUint32)
		cells := r.number(uint64(o.Classes))
		if r.bad || w > math.MaxUint32 || cells == 0 || cells > uint64(len(r.rest))/2 || m.foreign(uint32(w)) {
			return nil, errForm
		}
		next = w + 1
		column, class := make(column, cells), uint64(0)
		for i := range column {
			class += r.number(mostClasses)
			count := r.number(math.MaxUint32-1) + 1
			if r.bad || class >= uint64(o.Classes) || m.documents[class] == 0 {
				return nil, errForm
			}
			column[i] = cell{uint32(class), uint32(count)}
			m.tokens[class] += count
			class++
		}
		m.columns[uint32(w)] = column
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errForm
	}
	return m, nil
}

var (
	errShort = errors.New("bayes: the model is damaged or cut short; train it again")
	errForm  = errors.New("bayes: the model has a sound checksum and impossible contents; train it again")
)

// reader takes numbers from bytes until one is bad.
type reader struct {
	rest []byte
	bad  bool
}

// number is the next one, at most most, written in the fewest bytes.
func (r *reader) number(most uint64) uint64 {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 || x > most || n > 1 && r.rest[n-1] == 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return x
}
