package model

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/hmm"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// lexicon holds bee, honey and steel, IDs 0…2.
func lexicon() *feature.Lexicon {
	return feature.CountWords(1, 1, func(int) []string { return []string{"steel", "bee", "honey"} }, nil)
}

// firstOrder is a model of two states, two clusters and the symbol of pages in
// none.
func firstOrder() *Markov {
	return &Markov{
		Words: lexicon(),
		First: &hmm.Model{
			States: 2, Symbols: 3, Pi: []float64{0.5, 0.5},
			A: []float64{0.5, 0.5, 0.25, 0.75}, B: []float64{0.2, 0.8, 0, 0.7, 0.3, 0},
		},
		Centroids: []sparse.Vector{{{ID: 0, Value: 0.6}, {ID: 2, Value: 0.8}}, {{ID: 1, Value: 1}}},
		Pages:     []sparse.Vector{{{ID: 0, Value: 1. / 3}}, {{ID: 1, Value: 0.1}, {ID: 2, Value: 1}}, nil},
		Clusters:  []int{0, 1, 2},
	}
}

func secondOrder() *Markov {
	m := firstOrder()
	m.Second = &hmm.Second{
		First: m.First,
		A:     []float64{0.9, 0.1, 0.2, 0.8, 0.6, 0.4, 0.1, 0.9},
		B:     []float64{0.1, 0.9, 0, 0.6, 0.4, 0, 0.3, 0.7, 0, 0.8, 0.2, 0},
	}
	m.First, m.Pages, m.Clusters = nil, nil, nil
	return m
}

func layers(t testing.TB) *Classes {
	learnt, err := bayes.Train([]sparse.Vector{{{ID: 0, Value: 2}}, {{ID: 2, Value: 1}}}, []int{0, 1}, bayes.Options{Classes: 2, Vocabulary: 3})
	if err != nil {
		t.Fatal(err)
	}
	return &Classes{Words: lexicon(), Bayes: learnt, Values: []float64{0.25, 1.5}, Top: 40}
}

// Counted are models of the kinds that learn by counting, for tests from outside the package.
func Counted(t testing.TB) []*File {
	return []*File{
		{Kind: HMM, Payload: firstOrder()}, {Kind: HMM2, Payload: secondOrder()},
		{Kind: ContextGraph, Payload: layers(t)}, {Kind: RLSpider, Payload: layers(t)},
	}
}

// Payloads come back whole: every number to the bit, since what was just
// trained and what was read are to crawl alike.
func TestPayloadsComeBack(t *testing.T) {
	for name, p := range map[string]Payload{"hmm": firstOrder(), "hmm2": secondOrder(), "classes": layers(t)} {
		b, err := p.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		read := reflect.New(reflect.TypeOf(p).Elem()).Interface().(Payload)
		if err := read.UnmarshalBinary(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := read.MarshalBinary()
		if err != nil || string(again) != string(b) {
			t.Errorf("%s: written again %x (%v)\nfirst %x", name, again, err, b)
		}
		for n := range b {
			if err := read.UnmarshalBinary(b[:n]); err == nil {
				t.Fatalf("%s: %d of %d bytes were taken", name, n, len(b))
			}
		}
		if err := read.UnmarshalBinary(append(b, 0)); err == nil {
			t.Errorf("%s: a byte too many was taken", name)
		}
	}
	read := new(Markov)
	b, _ := firstOrder().MarshalBinary()
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	want := firstOrder()
	if !reflect.DeepEqual(read.First, want.First) || !reflect.DeepEqual(read.Clusters, want.Clusters) || !reflect.DeepEqual(read.Centroids, want.Centroids) {
		t.Errorf("read %+v", read)
	}
}

// What cannot be used is neither written nor read.
func TestPayloadsThatAreOfNoUse(t *testing.T) {
	for what, spoil := range map[string]func(*Markov){
		"of first or of second order": func(m *Markov) { m.Second = secondOrder().Second },
		"its words":                   func(m *Markov) { m.Words = nil },
		"clusters for 3 symbols":      func(m *Markov) { m.Centroids = m.Centroids[:1] },
		"cluster 0: word 3 of 3":      func(m *Markov) { m.Centroids[0] = sparse.Vector{{ID: 3, Value: 1}} },
		"page 1: component 0 is NaN":  func(m *Markov) { m.Pages[1] = sparse.Vector{{ID: 0, Value: math.NaN()}} },
		"2 states and 1 symbols": func(m *Markov) {
			m.First.Symbols, m.First.B, m.Centroids, m.Pages, m.Clusters = 1, []float64{1, 1}, nil, nil, nil
		},
		"page 2 in cluster 3 of 2": func(m *Markov) { m.Clusters[2] = 3 },
		"3 pages in 2 clusters":    func(m *Markov) { m.Clusters = m.Clusters[:2] },
		"hmm":                      func(m *Markov) { m.First.A[0] = 0.6 },
	} {
		m := firstOrder()
		spoil(m)
		if _, err := m.MarshalBinary(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, spoil := range map[string]func(*Classes){
		"words, and what naive Bayes": func(c *Classes) { c.Bayes = nil },
		"1 values of 2 classes":       func(c *Classes) { c.Values = c.Values[:1] },
		"a class worth NaN":           func(c *Classes) { c.Values[0] = math.NaN() },
		"over 3 words with a vocabulary of 1": func(c *Classes) {
			c.Words = feature.CountWords(1, 1, func(int) []string { return []string{"bee"} }, nil)
		},
	} {
		c := layers(t)
		spoil(c)
		if _, err := c.MarshalBinary(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A payload of another kind than the file names is refused, though whole.
func TestPayloadOfAnotherKind(t *testing.T) {
	pages := layers(t)
	pages.Values = nil
	links := layers(t)
	links.Top = 0
	for _, f := range []*File{
		{Kind: HMM, Payload: secondOrder()}, {Kind: HMM2, Payload: firstOrder()},
		{Kind: RLSpider, Payload: pages}, {Kind: ContextGraph, Payload: links},
	} {
		b, err := f.Marshal()
		if err != nil {
			continue
		}
		if _, err := Unmarshal(b, nil); err == nil {
			t.Errorf("kind %s with %T was taken", f.Kind, f.Payload)
		}
	}
}

func FuzzMarkov(f *testing.F) {
	for _, m := range []*Markov{firstOrder(), secondOrder()} {
		b, err := m.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := new(Markov)
		if m.UnmarshalBinary(b) != nil {
			return
		}
		if _, err := m.MarshalBinary(); err != nil {
			t.Fatalf("read, and not written: %v", err)
		}
	})
}

func FuzzClasses(f *testing.F) {
	b, err := layers(f).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		c := new(Classes)
		if c.UnmarshalBinary(b) != nil {
			return
		}
		if _, err := c.MarshalBinary(); err != nil {
			t.Fatalf("read, and not written: %v", err)
		}
	})
}
