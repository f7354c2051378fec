// Package bayes implements multinomial naive Bayes over word counts. Train learns
// a Model from many documents at once, New and Add learn one document at a time;
// Posterior and Classify then give the class of other documents. There may be two
// classes or many thousands.
//
// A model consists of integer counts. So the same documents in any order give the
// same model and the same bytes, and documents can be added at any time.
//
// A model stores the words that occurred in each class only. With θ the share of
// a word in a class, s the smoothing and V the size of the vocabulary,
//
//	log P(c|d) = log P(c) + Σ_w n(d,w) log θ_{c,w} − log P(d)
//	log θ_{c,w} = log s + log(1 + n(c,w)/s) − log(s·V + n(c))
//
// where the middle term is zero if n(c,w) is, and the others are the same for all
// words of a class.
//
// Sources: McCallum & Nigam, A Comparison of Event Models for Naive Bayes Text
// Classification, 1998; Chakrabarti, Punera & Subramanyam, Accelerated Focused
// Crawling through Online Relevance Feedback, 2002, equation 1, whose denominator
// must sum over the documents of the class only, which the print omits.
package bayes

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/learn/logsum"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Prior is the prior probability of the classes.
type Prior uint8

const (
	Documents Prior = iota // each class's share of the documents
	Uniform                // the same for all classes that have documents
)

// Options of New.
type Options struct {
	Classes    int     // 1…65536
	Smoothing  float64 // s, added to each count, 1e-9…1e9; 0 = 1, Laplace's
	Vocabulary int     // V: words are 0…V−1, others are ignored; 0 = the words learnt so far
	Prior      Prior
}

// Model is a naive Bayes classifier. It is safe for concurrent use as long as
// Add is not called.
type Model struct {
	options   Options
	documents []uint64          // [classes]
	tokens    []uint64          // [classes] n(c)
	columns   map[uint32]column // by word
	logs      []float64         // log(1 + n/s) for small n
}

// column holds the counts of one word by ascending class, without zeros.
type column []cell

type cell struct{ class, count uint32 }

const (
	mostClasses = 1 << 16
	mostLogs    = 1 << 12
)

// New returns a model without documents.
func New(o Options) (*Model, error) {
	if o.Smoothing == 0 {
		o.Smoothing = 1
	}
	switch {
	case o.Classes < 1 || o.Classes > mostClasses:
		return nil, fmt.Errorf("bayes: %d classes; there must be 1…%d", o.Classes, mostClasses)
	case !(o.Smoothing >= 1e-9 && o.Smoothing <= 1e9):
		return nil, fmt.Errorf("bayes: smoothing of %v; it must be in 1e-9…1e9, and 1 is Laplace's", o.Smoothing)
	case o.Vocabulary < 0 || o.Vocabulary > math.MaxUint32:
		return nil, fmt.Errorf("bayes: a vocabulary of %d words; it must be 0…%d", o.Vocabulary, uint32(math.MaxUint32))
	case o.Prior > Uniform:
		return nil, fmt.Errorf("bayes: prior %d is unknown", o.Prior)
	}
	m := &Model{
		options:   o,
		documents: make([]uint64, o.Classes),
		tokens:    make([]uint64, o.Classes),
		columns:   map[uint32]column{},
		logs:      make([]float64, mostLogs),
	}
	for n := range m.logs {
		m.logs[n] = math.Log1p(float64(n) / o.Smoothing)
	}
	return m, nil
}

// Train returns a model of documents with a class each. The errors are those of
// New, Add and Ready.
func Train(documents []sparse.Vector, classes []int, o Options) (*Model, error) {
	if len(documents) != len(classes) {
		return nil, fmt.Errorf("bayes: %d documents with %d classes", len(documents), len(classes))
	}
	m, err := New(o)
	if err != nil {
		return nil, err
	}
	for n, d := range documents {
		if err := m.Add(classes[n], d); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
	}
	return m, m.Ready()
}

// Add learns a document, whose values are word counts: whole numbers below 2³².
// After an error the model is unchanged.
func (m *Model) Add(class int, document sparse.Vector) error {
	if class < 0 || class >= m.options.Classes {
		return fmt.Errorf("bayes: class %d is not in 0…%d", class, m.options.Classes-1)
	}
	length := 0.
	for i, e := range document {
		switch {
		case i > 0 && e.ID <= document[i-1].ID:
			return fmt.Errorf("bayes: word %d after word %d; make the vector with sparse.New", e.ID, document[i-1].ID)
		case !(e.Value >= 0) || e.Value != math.Trunc(e.Value) || e.Value > math.MaxUint32:
			return fmt.Errorf("bayes: word %d occurs %v times; counts must be whole numbers in 0…%d", e.ID, e.Value, uint32(math.MaxUint32))
		}
		length += e.Value
	}
	if float64(m.tokens[class])+length > math.MaxUint32 { // else no count can exceed it
		for _, e := range document {
			if uint64(m.count(uint32(class), e.ID))+uint64(e.Value) > math.MaxUint32 && !m.foreign(e.ID) {
				return fmt.Errorf("bayes: class %d has word %d more than %d times; train on fewer or shorter documents", class, e.ID, uint32(math.MaxUint32))
			}
		}
	}
	m.documents[class]++
	for _, e := range document {
		if e.Value == 0 || m.foreign(e.ID) {
			continue
		}
		c := m.columns[e.ID]
		at, found := c.find(uint32(class))
		if !found {
			c = slices.Insert(c, at, cell{class: uint32(class)})
			m.columns[e.ID] = c
		}
		c[at].count += uint32(e.Value)
		m.tokens[class] += uint64(e.Value)
	}
	return nil
}

// foreign reports whether a word is outside the vocabulary of the options.
func (m *Model) foreign(word uint32) bool {
	return m.options.Vocabulary > 0 && uint64(word) >= uint64(m.options.Vocabulary)
}

func (c column) find(class uint32) (int, bool) {
	low, high := 0, len(c)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if c[middle].class < class {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(c) && c[low].class == class
}

func (m *Model) count(class, word uint32) uint32 {
	c := m.columns[word]
	if at, found := c.find(class); found {
		return c[at].count
	}
	return 0
}

// Ready returns an error if the model cannot classify yet: it has learnt no
// document, or documents of one class only, or a class has none.
func (m *Model) Ready() error {
	var empty []int
	for c, n := range m.documents {
		if n == 0 {
			empty = append(empty, c)
		}
	}
	switch {
	case len(empty) == len(m.documents):
		return errors.New("bayes: no document was learnt")
	case len(m.documents) == 1 || len(empty) == len(m.documents)-1:
		return errors.New("bayes: all documents are of one class; add examples of another")
	case len(empty) > 5:
		return fmt.Errorf("bayes: %d classes have no document, the first are %v; add examples or drop them", len(empty), empty[:5])
	case len(empty) > 0:
		return fmt.Errorf("bayes: no document of classes %v; add examples or drop them", empty)
	}
	return nil
}

// LogPosterior fills dst [classes] with log P(c|d). A class without documents has
// −Inf; in a model without documents all classes are equally likely. The values
// of the document are weights; it is an error if one is negative or not finite.
// Words outside the vocabulary are ignored. It panics if dst has another length.
func (m *Model) LogPosterior(dst []float64, document sparse.Vector) error {
	if len(dst) != m.options.Classes {
		panic(fmt.Sprintf("bayes: %d numbers for %d classes", len(dst), m.options.Classes))
	}
	clear(dst)
	length := 0.
	for _, e := range document {
		if !(e.Value >= 0) || math.IsInf(e.Value, 1) {
			return fmt.Errorf("bayes: word %d weighs %v; weights must be numbers ≥ 0", e.ID, e.Value)
		}
		column := m.columns[e.ID]
		if m.foreign(e.ID) || len(column) == 0 && m.options.Vocabulary == 0 {
			continue
		}
		length += e.Value
		for _, c := range column {
			dst[c.class] += e.Value * m.log(c.count)
		}
	}
	if math.IsInf(length, 1) {
		return errors.New("bayes: the sum of the document's weights is too large for a float64")
	}
	size := m.options.Smoothing * float64(m.Vocabulary())
	any := false
	for c, n := range m.documents {
		any = any || n > 0
		if n == 0 {
			dst[c] = math.Inf(-1)
			continue
		}
		if length > 0 {
			dst[c] -= length * math.Log(size+float64(m.tokens[c]))
		}
		if m.options.Prior == Documents {
			dst[c] += math.Log(float64(n))
		}
	}
	if !any {
		for c := range dst {
			dst[c] = -math.Log(float64(len(dst)))
		}
		return nil
	}
	total := logsum.Of(dst)
	for c := range dst {
		dst[c] -= total
	}
	return nil
}

func (m *Model) log(count uint32) float64 {
	if int(count) < len(m.logs) {
		return m.logs[count]
	}
	return math.Log1p(float64(count) / m.options.Smoothing)
}

// Posterior fills dst [classes] with P(c|d); see LogPosterior.
func (m *Model) Posterior(dst []float64, document sparse.Vector) error {
	if err := m.LogPosterior(dst, document); err != nil {
		return err
	}
	for c, x := range dst {
		dst[c] = math.Exp(x)
	}
	return nil
}

// Classify returns the likeliest class, the lowest of equally likely ones, and
// its posterior.
func (m *Model) Classify(document sparse.Vector) (class int, p float64, err error) {
	dst := make([]float64, m.options.Classes)
	if err := m.LogPosterior(dst, document); err != nil {
		return 0, 0, err
	}
	for c, x := range dst {
		if x > dst[class] {
			class = c
		}
	}
	return class, math.Exp(dst[class]), nil
}

// Probability returns the posterior of class 1 in a model of two classes. It
// panics if there are more or fewer.
func (m *Model) Probability(document sparse.Vector) (float64, error) {
	if m.options.Classes != 2 {
		panic(fmt.Sprintf("bayes: Probability is of two classes, not of %d", m.options.Classes))
	}
	var dst [2]float64
	if err := m.LogPosterior(dst[:], document); err != nil {
		return 0, err
	}
	return math.Exp(dst[1]), nil
}

// Theta returns the smoothed share of a word in a class, 0 for a word outside
// the vocabulary.
//
//	θ_{c,τ} = (s + Σ_{u∈V_c} n(u,τ)) / (s·|T| + Σ_{u∈V_c,τ'} n(u,τ'))
//
// Source: Chakrabarti et al. 2002, equation 1, with s=1 and with u ∈ V_c in the
// denominator too.
func (m *Model) Theta(class int, word uint32) float64 {
	if m.foreign(word) || m.options.Vocabulary == 0 && len(m.columns[word]) == 0 {
		return 0
	}
	return (m.options.Smoothing + float64(m.count(uint32(class), word))) /
		(m.options.Smoothing*float64(m.Vocabulary()) + float64(m.tokens[class]))
}

// Classes returns the number of classes.
func (m *Model) Classes() int { return m.options.Classes }

// Options returns the options of New, with defaults filled in.
func (m *Model) Options() Options { return m.options }

// Documents returns the number of documents of a class.
func (m *Model) Documents(class int) uint64 { return m.documents[class] }

// Tokens returns the number of word occurrences in the documents of a class.
func (m *Model) Tokens(class int) uint64 { return m.tokens[class] }

// Vocabulary returns V: that of the options or the number of words learnt so far.
func (m *Model) Vocabulary() int {
	if m.options.Vocabulary > 0 {
		return m.options.Vocabulary
	}
	return len(m.columns)
}

// Words returns the words learnt so far, ascending.
func (m *Model) Words() []uint32 {
	words := make([]uint32, 0, len(m.columns))
	for w := range m.columns {
		words = append(words, w)
	}
	slices.Sort(words)
	return words
}
