package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/bayes"
)

// Classes is naive Bayes over words, with the worth of each class: what kinds
// contextgraph and rlspider learnt.
type Classes struct {
	Words *feature.Lexicon
	Bayes *bayes.Model
	// Values are the worth of each class, [classes]: of kind rlspider the mean
	// value of its training links; of kind contextgraph nothing, its classes
	// are the layers in their order.
	Values []float64
	// Top is how many words of a page count, those of the highest tf·idf; 0 for
	// kind rlspider, which reads links.
	Top int
}

// MarshalBinary writes a model as
//
//	lexicon    string
//	bayes      string
//	values     floats
//	top        count
func (c *Classes) MarshalBinary() ([]byte, error) {
	if err := c.verify(); err != nil {
		return nil, err
	}
	b, err := appendLexicon(nil, c.Words)
	if err != nil {
		return nil, err
	}
	b = wire.AppendString(b, string(c.Bayes.Append(nil)))
	b = wire.AppendFloat64s(b, c.Values)
	return binary.AppendUvarint(b, uint64(c.Top)), nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (c *Classes) UnmarshalBinary(b []byte) error {
	r := reader{wire.NewReader(b)}
	read := Classes{Words: r.lexicon()}
	if b := r.Take(r.Count(1)); r.Err() == nil {
		m, err := bayes.Decode(b)
		if err != nil {
			r.Fail("%w", err)
		}
		read.Bayes = m
	}
	read.Values = r.Float64s()
	read.Top = r.Number(math.MaxInt32)
	if err := r.End(); err != nil {
		return err
	}
	if err := read.verify(); err != nil {
		return err
	}
	*c = read
	return nil
}

// verify says what makes a model useless.
func (c *Classes) verify() error {
	if c.Words == nil || c.Bayes == nil {
		return errors.New("words, and what naive Bayes learnt of them, are needed")
	}
	if err := c.Bayes.Ready(); err != nil {
		return err
	}
	if v := c.Bayes.Vocabulary(); v > c.Words.Len() {
		return fmt.Errorf("naive Bayes over %d words with a vocabulary of %d", v, c.Words.Len())
	}
	if len(c.Values) != 0 && len(c.Values) != c.Bayes.Classes() {
		return fmt.Errorf("%d values of %d classes", len(c.Values), c.Bayes.Classes())
	}
	for _, v := range c.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("a class worth %v", v)
		}
	}
	return nil
}

// fits says whether the model goes with the kind of its file.
func (c *Classes) fits(f *File) error {
	switch {
	case f.Kind == RLSpider && len(c.Values) == 0:
		return errors.New("classes of links without their worth")
	case f.Kind == ContextGraph && c.Top == 0:
		return errors.New("no word of a page counts")
	}
	return nil
}
