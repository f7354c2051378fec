package bayes_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

func vector(counts ...float64) (v sparse.Vector) {
	for id, x := range counts {
		if x != 0 {
			v = append(v, sparse.Entry{ID: uint32(id), Value: x})
		}
	}
	return v
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func posterior(t interface{ Fatal(...any) }, m *bayes.Model, d sparse.Vector) []float64 {
	p := make([]float64, m.Classes())
	if err := m.Posterior(p, d); err != nil {
		t.Fatal(err)
	}
	return p
}

// Four documents of "Chinese" and Tokyo, worked through in Manning, Raghavan &
// Schütze, Introduction to Information Retrieval, 2008, example 13.1, where
// the vocabulary has 6 words and P(c|d5) ∝ 3/4·(3/7)³·1/14·1/14 against
// 1/4·(2/9)³·2/9·2/9.
func TestTextbook(t *testing.T) {
	const chinese, beijing, shanghai, macao, tokyo, japan = 0, 1, 2, 3, 4, 5
	words := func(ids ...uint32) sparse.Vector {
		var e []sparse.Entry
		for _, id := range ids {
			e = append(e, sparse.Entry{ID: id, Value: 1})
		}
		return sparse.New(e)
	}
	m, err := bayes.Train([]sparse.Vector{
		words(chinese, beijing, chinese), words(chinese, chinese, shanghai), words(chinese, macao), words(tokyo, japan, chinese),
	}, []int{1, 1, 1, 0}, bayes.Options{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		class int
		word  uint32
		want  float64
	}{{1, chinese, 6. / 14}, {1, tokyo, 1. / 14}, {0, chinese, 2. / 9}, {0, japan, 2. / 9}, {0, beijing, 1. / 9}, {0, 17, 0}} {
		if got := m.Theta(c.class, c.word); !near(got, c.want) {
			t.Errorf("θ of word %d in class %d is %v, not %v", c.word, c.class, got, c.want)
		}
	}
	d := words(chinese, chinese, chinese, tokyo, japan)
	yes, no := 3./4*math.Pow(3./7, 3)/14/14, 1./4*math.Pow(2./9, 5)
	p, err := m.Probability(d)
	if err != nil || !near(p, yes/(yes+no)) {
		t.Errorf("%v instead of %v, %v", p, yes/(yes+no), err)
	}
	class, q, err := m.Classify(d)
	if err != nil || class != 1 || q != p {
		t.Errorf("class %d with %v, %v", class, q, err)
	}
	if p, err = m.Probability(words(99)); err != nil || !near(p, 3./4) {
		t.Errorf("a word never seen changes the prior to %v, %v", p, err)
	}
	if m.Vocabulary() != 6 || m.Documents(1) != 3 || m.Tokens(1) != 8 || m.Tokens(0) != 3 || !reflect.DeepEqual(m.Words(), []uint32{0, 1, 2, 3, 4, 5}) {
		t.Errorf("%d words, %d documents, %d and %d tokens", m.Vocabulary(), m.Documents(1), m.Tokens(1), m.Tokens(0))
	}
}

// The denominator of θ sums over the documents of the class. With a sum over all
// documents, as printed (Chakrabarti et al. 2002, equation 1), the shares of a
// class would not sum to 1.
func TestSharesOfWordsSumToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		documents, classes := drawDocuments(t, o.Classes)
		m := learn(t, o, documents, classes)
		for c := range o.Classes {
			sum := 0.
			for w := range uint32(12) {
				sum += m.Theta(c, w)
			}
			if m.Vocabulary() > 0 && !near(sum, 1) {
				t.Fatalf("the shares of class %d sum to %v", c, sum)
			}
		}
	})
}

func drawOptions(t *rapid.T) bayes.Options {
	return bayes.Options{
		Classes:    rapid.IntRange(1, 4).Draw(t, "classes"),
		Smoothing:  rapid.SampledFrom([]float64{0, .1, 2}).Draw(t, "smoothing"),
		Vocabulary: rapid.SampledFrom([]int{0, 5, 12}).Draw(t, "vocabulary"),
		Prior:      rapid.SampledFrom([]bayes.Prior{bayes.Documents, bayes.Uniform}).Draw(t, "prior"),
	}
}

func drawDocument(t *rapid.T) (v sparse.Vector) {
	for id := range uint32(8) {
		if n := rapid.IntRange(-2, 3).Draw(t, "count"); n >= 0 {
			v = append(v, sparse.Entry{ID: id, Value: float64(n)})
		}
	}
	return v
}

func drawDocuments(t *rapid.T, classes int) ([]sparse.Vector, []int) {
	documents := rapid.SliceOfN(rapid.Custom(drawDocument), 1, 12).Draw(t, "documents")
	return documents, rapid.SliceOfN(rapid.IntRange(0, classes-1), len(documents), len(documents)).Draw(t, "labels")
}

func learn(t *rapid.T, o bayes.Options, documents []sparse.Vector, classes []int) *bayes.Model {
	m, err := bayes.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for n, d := range documents {
		if err := m.Add(classes[n], d); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// The posterior equals the formula written out with every class and word.
func TestPosteriorEqualsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		documents, classes := drawDocuments(t, o.Classes)
		m := learn(t, o, documents, classes)
		query := drawDocument(t)
		s, counts, all := o.Smoothing, make([]map[uint32]float64, o.Classes), map[uint32]bool{}
		if s == 0 {
			s = 1
		}
		tokens, docs := make([]float64, o.Classes), make([]float64, o.Classes)
		for c := range counts {
			counts[c] = map[uint32]float64{}
		}
		for n, d := range documents {
			docs[classes[n]]++
			for _, e := range d {
				if e.Value > 0 && (o.Vocabulary == 0 || int(e.ID) < o.Vocabulary) {
					counts[classes[n]][e.ID] += e.Value
					tokens[classes[n]] += e.Value
					all[e.ID] = true
				}
			}
		}
		V := float64(len(all))
		if o.Vocabulary > 0 {
			V = float64(o.Vocabulary)
		}
		want, sum := make([]float64, o.Classes), 0.
		for c := range want {
			if docs[c] == 0 {
				continue
			}
			want[c] = 1
			if o.Prior == bayes.Documents {
				want[c] = docs[c]
			}
			for _, e := range query {
				if o.Vocabulary == 0 && all[e.ID] || int(e.ID) < o.Vocabulary {
					want[c] *= math.Pow((s+counts[c][e.ID])/(s*V+tokens[c]), e.Value)
				}
			}
			sum += want[c]
		}
		for c, got := range posterior(t, m, query) {
			if !near(got, want[c]/sum) {
				t.Fatalf("class %d: %v instead of %v", c, got, want[c]/sum)
			}
		}
	})
}

// Documents in any order give the same model, posterior and bytes, and a model
// that is saved and read again learns on as if it had not been.
func TestAnyOrderAndAfterARestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		documents, classes := drawDocuments(t, o.Classes)
		m := learn(t, o, documents, classes)
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for n := range documents {
				if !yield(n) {
					return
				}
			}
		})).Draw(t, "order")
		other, err := bayes.New(o)
		if err != nil {
			t.Fatal(err)
		}
		pause := rapid.IntRange(0, len(order)-1).Draw(t, "pause")
		for i, n := range order {
			if i == pause {
				if other, err = bayes.Decode(other.Append(nil)); err != nil {
					t.Fatal(err)
				}
			}
			if err := other.Add(classes[n], documents[n]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(m.Append([]byte("x"))[1:], other.Append(nil)) {
			t.Fatal("another order makes other bytes")
		}
		query := drawDocument(t)
		if a, b := posterior(t, m, query), posterior(t, other, query); !reflect.DeepEqual(a, b) {
			t.Fatalf("%v and %v", a, b)
		}
	})
}

// Documents of hundreds of thousands of words do not underflow, and counts outside
// the table of logarithms are as exact as those in it.
func TestLongDocuments(t *testing.T) {
	m, err := bayes.Train([]sparse.Vector{vector(300000, 100000), vector(100000, 300000)}, []int{0, 1}, bayes.Options{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]float64, 2)
	if err := m.LogPosterior(p, vector(200001, 200000)); err != nil || !near(p[0]-p[1], math.Log(300001./100001)) {
		t.Errorf("%v, %v", p, err)
	}
	if err := m.LogPosterior(p, vector(1e6)); err != nil || p[0] != 0 || !near(p[1], -1e6*math.Log(300001./100001)) {
		t.Errorf("%v, %v", p, err)
	}
}

func TestReady(t *testing.T) {
	m, err := bayes.New(bayes.Options{Classes: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		class int
		want  string
		p     []float64
	}{
		{-1, "no document", []float64{1. / 3, 1. / 3, 1. / 3}},
		{2, "all documents are of one class", []float64{0, 0, 1}},
		{0, "no document of classes [1]", []float64{.5, 0, .5}},
		{1, "", []float64{1. / 3, 1. / 3, 1. / 3}},
	} {
		if step.class >= 0 {
			if err := m.Add(step.class, nil); err != nil {
				t.Fatal(err)
			}
		}
		err := m.Ready()
		if (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("%v, without %q", err, step.want)
		}
		for c, p := range posterior(t, m, vector(1, 2)) {
			if !near(p, step.p[c]) {
				t.Errorf("class %d has %v instead of %v", c, p, step.p[c])
			}
		}
	}
}

func TestErrors(t *testing.T) {
	with := func(o bayes.Options) error { _, err := bayes.New(o); return err }
	add := func(class int, d sparse.Vector) error {
		m, err := bayes.New(bayes.Options{Classes: 2})
		if err != nil {
			t.Fatal(err)
		}
		empty := m.Append(nil)
		if err = m.Add(class, d); err != nil && !bytes.Equal(m.Append(nil), empty) {
			t.Errorf("something was learnt of %v", d)
		}
		return err
	}
	train := func(n int, classes ...int) error {
		_, err := bayes.Train(make([]sparse.Vector, n), classes, bayes.Options{Classes: 8})
		return err
	}
	ask := func(d sparse.Vector) error {
		m, err := bayes.Train([]sparse.Vector{vector(1), vector(0, 1)}, []int{0, 1}, bayes.Options{Classes: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Probability(d)
		if _, _, err2 := m.Classify(d); (err == nil) != (err2 == nil) {
			t.Errorf("%v and %v", err, err2)
		}
		return err
	}
	for _, c := range []struct {
		want string
		err  error
	}{
		{"0 classes", with(bayes.Options{})},
		{"classes", with(bayes.Options{Classes: 1 << 20})},
		{"smoothing", with(bayes.Options{Classes: 2, Smoothing: -1})},
		{"smoothing", with(bayes.Options{Classes: 2, Smoothing: math.NaN()})},
		{"smoothing", with(bayes.Options{Classes: 2, Smoothing: 5e-324})},
		{"vocabulary", with(bayes.Options{Classes: 2, Vocabulary: -1})},
		{"prior", with(bayes.Options{Classes: 2, Prior: 7})},
		{"class 2", add(2, nil)},
		{"class -1", add(-1, nil)},
		{"whole numbers", add(0, vector(1, .5))},
		{"whole numbers", add(0, vector(1, -1))},
		{"whole numbers", add(0, vector(1, math.NaN()))},
		{"whole numbers", add(0, vector(1, math.Inf(1)))},
		{"word 3 after word 3", add(0, sparse.Vector{{ID: 3, Value: 1}, {ID: 3, Value: 1}})},
		{"2 documents with 1", train(2, 1)},
		{"document 1: bayes: class 9", train(2, 0, 9)},
		{"no document was learnt", train(0)},
		{"all documents are of one class", train(2, 3, 3)},
		{"6 classes have no document, the first are [2 3 4 5 6]", train(2, 0, 1)},
		{"numbers ≥ 0", ask(vector(math.NaN()))},
		{"numbers ≥ 0", ask(vector(0, math.Inf(1)))},
		{"numbers ≥ 0", ask(vector(-1))},
		{"too large", ask(vector(math.MaxFloat64, math.MaxFloat64))},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, without %q", c.err, c.want)
		}
	}
	m, err := bayes.New(bayes.Options{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Add(0, vector(math.MaxUint32)); err != nil {
		t.Fatal(err)
	}
	if err := m.Add(0, vector(1)); err == nil || m.Documents(0) != 1 {
		t.Errorf("a count overflowed: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	m, err := bayes.Train([]sparse.Vector{vector(1, 0, 300), vector(0, 2)}, []int{0, 1}, bayes.Options{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	good := m.Append(nil)
	if back, err := bayes.Decode(good); err != nil || !bytes.Equal(back.Append(nil), good) {
		t.Fatal(err)
	}
	for n := range good {
		if _, err := bayes.Decode(good[:n]); err == nil {
			t.Errorf("%d of %d bytes are a model", n, len(good))
		}
		bad := slices.Clone(good)
		bad[n] ^= 0x40
		if _, err := bayes.Decode(bad); err == nil {
			t.Errorf("a model with another byte %d", n)
		}
	}
	newer := slices.Clone(good)
	newer[8] = 2
	if _, err := bayes.Decode(newer); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Error(err)
	}
	if _, err := bayes.Decode(append(slices.Clone(good), 0)); err == nil {
		t.Error("a byte too many")
	}
}

// pages draws documents of about 200 different words each, whose class has 50
// words of its own, from a vocabulary of 50,000.
func pages(seed uint64, n, classes int) ([]sparse.Vector, []int) {
	r := rand.New(rand.NewPCG(seed, 5))
	documents, labels := make([]sparse.Vector, n), make([]int, n)
	for i := range documents {
		labels[i] = i % classes
		words := make([]sparse.Entry, 300)
		for j := range words {
			id := uint32(math.Exp(r.Float64()*math.Log(50000))) - 1
			if j%5 == 0 {
				id = uint32(2000 + labels[i]*50 + r.IntN(50))
			}
			words[j] = sparse.Entry{ID: id, Value: 1}
		}
		documents[i] = sparse.New(words)
	}
	return documents, labels
}

// A small taxonomy is told apart by the words of its classes.
func TestTellsClassesApart(t *testing.T) {
	documents, labels := pages(1, 400, 20)
	m, err := bayes.Train(documents[:200], labels[:200], bayes.Options{Classes: 20})
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for n := 200; n < 400; n++ {
		class, _, err := m.Classify(documents[n])
		if err != nil {
			t.Fatal(err)
		}
		if class == labels[n] {
			right++
		}
	}
	if right < 190 {
		t.Errorf("%d of 200 pages are in their class", right)
	}
}

// The judge of a taxonomy: 480 classes of 250 pages each, training and queries.
func BenchmarkCritic(b *testing.B) {
	const classes, batch = 480, 12000
	documents, labels := pages(2, batch, classes)
	b.Run("learn 120000 pages", func(b *testing.B) {
		for b.Loop() {
			m, err := bayes.New(bayes.Options{Classes: classes})
			if err != nil {
				b.Fatal(err)
			}
			for n := range 120000 { // a tenth of the pages ten times, shifted
				d := documents[n%batch]
				if err := m.Add((labels[n%batch]+n/batch)%classes, d); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	m, err := bayes.New(bayes.Options{Classes: classes})
	if err != nil {
		b.Fatal(err)
	}
	for n := range 120000 {
		if err := m.Add((labels[n%batch]+n/batch)%classes, documents[n%batch]); err != nil {
			b.Fatal(err)
		}
	}
	words := 0
	for _, d := range documents {
		words += len(d)
	}
	b.Run("classify a page", func(b *testing.B) {
		n, dst := 0, make([]float64, classes)
		for b.Loop() {
			if err := m.LogPosterior(dst, documents[n%batch]); err != nil {
				b.Fatal(err)
			}
			n++
		}
		b.ReportMetric(float64(words)/batch, "words/page")
	})
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(len(m.Append(nil)))/1e6, "MB")
		}
	})
	encoded := m.Append(nil)
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := bayes.Decode(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The apprentice: two classes, 100 features a link.
func BenchmarkApprentice(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	links := make([]sparse.Vector, 10000)
	for n := range links {
		features := make([]sparse.Entry, 100)
		for j := range features {
			features[j] = sparse.Entry{ID: uint32(math.Exp(r.Float64() * math.Log(100000))), Value: 1}
		}
		links[n] = sparse.New(features)
	}
	m, err := bayes.New(bayes.Options{Classes: 2})
	if err != nil {
		b.Fatal(err)
	}
	for n, l := range links {
		if err := m.Add(n%2, l); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range []string{"learn", "score"} {
		b.Run(fmt.Sprintf("%s a link", name), func(b *testing.B) {
			n := 0
			for b.Loop() {
				var err error
				if n++; name == "learn" {
					err = m.Add(n%2, links[n%len(links)])
				} else {
					_, err = m.Probability(links[n%len(links)])
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Decode of any bytes neither panics nor takes much memory, and Append writes
// back the bytes that Decode accepts.
func FuzzDecode(f *testing.F) {
	for _, o := range []bayes.Options{{Classes: 1}, {Classes: 3, Smoothing: .5, Prior: bayes.Uniform}, {Classes: 2, Vocabulary: 4}} {
		m, err := bayes.New(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m.Append(nil))
		if err := m.Add(0, vector(1, 0, 200)); err != nil {
			f.Fatal(err)
		}
		f.Add(m.Append(nil))
	}
	f.Add([]byte("waggleNB"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, bayes.Sealed(b)} { // as it is, and past the checksum
			m, err := bayes.Decode(b)
			if err != nil {
				continue
			}
			if got := m.Append(nil); !bytes.Equal(got, b) {
				t.Fatalf("%x was read as %x", b, got)
			}
			p := posterior(t, m, vector(1, 1, 1))
			sum := 0.
			for _, x := range p {
				sum += x
			}
			if !near(sum, 1) {
				t.Fatalf("posterior %v", p)
			}
		}
	})
}
