package wire

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// Values read are those written, and nothing is left.
func TestRoundTrip(t *testing.T) {
	b := AppendString(nil, "bees")
	b = AppendFloat64s(b, []float64{0.1, -2})
	b = append(b, 7)
	b = AppendString(b, "")
	r := NewReader(b)
	if s := r.String(); s != "bees" {
		t.Errorf("a string: %q", s)
	}
	if f := r.Float64s(); !slices.Equal(f, []float64{0.1, -2}) {
		t.Errorf("floats: %v", f)
	}
	if x := r.Byte(); x != 7 {
		t.Errorf("a byte: %v", x)
	}
	if s := r.String(); s != "" {
		t.Errorf("an empty string: %q", s)
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
	small := make([]float64, 2)
	if f := AppendFloat32s(nil, []float64{0.5, -2}); len(f) != 8 || !ReadFloat32s(small, f) || !slices.Equal(small, []float64{0.5, -2}) {
		t.Errorf("floats of 4 bytes: %v from %v", small, f)
	}
}

// Each failure is told, the first one stays, and all values after it are zero.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		read func(*Reader)
		want string
	}{
		"a string that ends early":  {[]byte{3, 'b'}, func(r *Reader) { _ = r.String() }, "cut short"},
		"a count beyond the end":    {[]byte{200, 1}, func(r *Reader) { r.Count(1) }, "cut short"},
		"a count of larger items":   {[]byte{2, 0, 0, 0}, func(r *Reader) { r.Count(2) }, "cut short"},
		"no number":                 {nil, func(r *Reader) { r.Number(9) }, "cut short"},
		"a number too large":        {[]byte{10}, func(r *Reader) { r.Number(9) }, "10 where at most 9 can be"},
		"a float that is no number": {[]byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, func(r *Reader) { r.Float64() }, "a number that is NaN"},
		"floats that end early":     {[]byte{2, 0, 0, 0, 0, 0, 0, 0, 0}, func(r *Reader) { r.Float64s() }, "cut short"},
		"bytes left":                {[]byte{1, 2}, func(r *Reader) { r.Byte() }, "1 bytes too many"},
	} {
		r := NewReader(c.b)
		c.read(r)
		if err := r.End(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		r.Fail("another")
		if err := r.Err(); err.Error() != c.want {
			t.Errorf("%s: a later failure replaces the first: %v", name, err)
		}
		if r.Byte() != 0 || r.String() != "" || r.Float64() != 0 || r.Len() != 0 || r.Take(1) != nil {
			t.Errorf("%s: values after a failure", name)
		}
	}
	r := NewReader(nil)
	if r.Take(1); !errors.Is(r.Err(), ErrCut) {
		t.Errorf("too few bytes: %v", r.Err())
	}
}

func TestFloat32sRefused(t *testing.T) {
	dst := make([]float64, 1)
	for _, b := range [][]byte{nil, {1, 2, 3}, make([]byte, 8), AppendFloat32s(nil, []float64{math.NaN()}), AppendFloat32s(nil, []float64{math.Inf(-1)})} {
		if ReadFloat32s(dst, b) {
			t.Errorf("%v is read as %v", b, dst)
		}
	}
}
