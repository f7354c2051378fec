package model

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/waggle-crawler/waggle/internal/wire"
)

// Weights are those of the logistic model that the scorer waggle learns while it crawls:
// a normal distribution of each. What the inputs are is the scorer's to say.
type Weights struct {
	Fetches int      // whose outcome the scorer knew, also of those that brought no page
	Dense   []Weight // [number of inputs that mean the same on every web]; a variance of 0 is one that learns nothing
	Hashed  []Hashed // those that an example had, by place, ascending
}

// Weight is what is believed of one weight.
type Weight struct{ Mean, Variance float32 }

// Hashed is the weight of hashed inputs that fall on one place of a table.
type Hashed struct {
	Place uint32
	Weight
}

// Bounds of what is read.
const (
	mostDense = 1 << 10
	mostPlace = 1 << 24
)

// MarshalBinary writes a model as
//
//	fetches   uvarint
//	dense     count · { mean, variance float32 LE }…
//	hashed    count · { place uvarint, less that of the one before · mean, variance float32 LE }…
func (w *Weights) MarshalBinary() ([]byte, error) {
	if err := w.verify(); err != nil {
		return nil, err
	}
	put := func(b []byte, x Weight) []byte {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x.Mean))
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(x.Variance))
	}
	b := binary.AppendUvarint(nil, uint64(w.Fetches))
	b = binary.AppendUvarint(b, uint64(len(w.Dense)))
	for _, x := range w.Dense {
		b = put(b, x)
	}
	b = binary.AppendUvarint(b, uint64(len(w.Hashed)))
	before := uint32(0)
	for _, x := range w.Hashed {
		b = put(binary.AppendUvarint(b, uint64(x.Place-before)), x.Weight)
		before = x.Place
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (w *Weights) UnmarshalBinary(b []byte) error {
	r := wire.NewReader(b)
	get := func() Weight {
		return Weight{math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())}
	}
	read := Weights{Fetches: r.Number(math.MaxInt32)}
	for range r.Count(8) {
		read.Dense = append(read.Dense, get())
	}
	place := uint64(0)
	for range r.Count(9) {
		if place += uint64(r.Number(mostPlace)); place > mostPlace {
			r.Fail("a place behind the table")
			break
		}
		read.Hashed = append(read.Hashed, Hashed{uint32(place), get()})
	}
	if err := r.End(); err != nil {
		return err
	}
	if err := read.verify(); err != nil {
		return err
	}
	*w = read
	return nil
}

// verify says what makes a model useless.
func (w *Weights) verify() error {
	if w.Fetches < 0 || len(w.Dense) > mostDense {
		return errors.New("more weights than a model has")
	}
	usable := func(x Weight) bool {
		return math.Abs(float64(x.Mean)) < 1e6 && x.Variance >= 0 && x.Variance < 1e6
	}
	for _, x := range w.Dense {
		if !usable(x) {
			return errors.New("a weight that is no number")
		}
	}
	for i, x := range w.Hashed {
		if !usable(x.Weight) || x.Variance == 0 { // the scorer takes 0 for a place that was not met
			return errors.New("a weight that is no number")
		}
		if x.Place > mostPlace || i > 0 && x.Place <= w.Hashed[i-1].Place {
			return errors.New("places out of order")
		}
	}
	return nil
}
