// Package wire writes and reads the numbers and texts of which the binary files
// and features of models consist. Integers and floats of fixed size are
// little-endian; lengths are unsigned varints.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrCut is the error of a Reader that has fewer bytes than it was asked for.
var ErrCut = errors.New("cut short")

// AppendString appends the length of a string as uvarint, and its bytes.
func AppendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendFloat64s appends the number of floats as uvarint, and each as 8 bytes.
func AppendFloat64s(b []byte, list []float64) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// AppendFloat32s appends floats rounded to 4 bytes each, without their number.
func AppendFloat32s(b []byte, list []float64) []byte {
	for _, x := range list {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return b
}

// ReadFloat32s fills dst from exactly as many floats of 4 bytes; ok is false if b
// has another length or one of them is not finite.
func ReadFloat32s(dst []float64, b []byte) (ok bool) {
	if len(b) != 4*len(dst) {
		return false
	}
	for i := range dst {
		dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		if math.IsNaN(dst[i]) || math.IsInf(dst[i], 0) {
			return false
		}
	}
	return true
}

// Reader takes values off the front of bytes. After the first failure, which Err
// tells, every value is zero. Nothing it returns takes more memory than a few
// times the bytes it was made of, whatever they hold.
type Reader struct {
	b   []byte
	err error
}

// NewReader reads b, which must not change meanwhile.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err is the first failure, nil if there was none.
func (r *Reader) Err() error { return r.err }

// Len is the number of bytes left, 0 after a failure.
func (r *Reader) Len() int { return len(r.b) }

// Fail records a failure unless there was one before. Its arguments are those of
// fmt.Errorf.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

// End is Err, and a failure if bytes are left.
func (r *Reader) End() error {
	if len(r.b) > 0 {
		r.Fail("%d bytes too many", len(r.b))
	}
	return r.err
}

// Take returns the next n bytes, nil if there are fewer.
func (r *Reader) Take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.b) {
		r.Fail("%w", ErrCut)
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Uint16 reads 2 bytes.
func (r *Reader) Uint16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// Uint32 reads 4 bytes.
func (r *Reader) Uint32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads 8 bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Count reads the number of items that follow, each of at least so many bytes:
// a number that the bytes left cannot hold is a failure.
func (r *Reader) Count(least int) int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64((len(r.b)-size)/least) {
		r.Fail("%w", ErrCut)
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

// Number reads a uvarint of at most most.
func (r *Reader) Number(most uint64) int {
	n, size := binary.Uvarint(r.b)
	switch {
	case size <= 0:
		r.Fail("%w", ErrCut)
		return 0
	case n > most:
		r.Fail("%d where at most %d can be", n, most)
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

// String reads what AppendString wrote.
func (r *Reader) String() string { return string(r.Take(r.Count(1))) }

// Float64 reads a finite number of 8 bytes.
func (r *Reader) Float64() float64 {
	b := r.Take(8)
	if b == nil {
		return 0
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if math.IsNaN(x) || math.IsInf(x, 0) {
		r.Fail("a number that is %v", x)
		return 0
	}
	return x
}

// Float64s reads what AppendFloat64s wrote.
func (r *Reader) Float64s() []float64 {
	out := make([]float64, r.Count(8))
	for i := range out {
		out[i] = r.Float64()
	}
	return out
}
