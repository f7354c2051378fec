package judge

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	nb "github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/metric"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/web"
)

// Sample is a page with its class.
type Sample struct {
	Class string // the path of a topic
	Key   string // what tells the sample from the others: its address
	Terms []web.Term
}

// Training directs TrainCritic. The zero Training will do.
type Training struct {
	// MinPages is how many pages a class needs; those with fewer are left out.
	// 0 = 5.
	MinPages int
	// MinHolders is in how many pages, held-out ones apart, a stem must occur
	// for the critic to know it; 0 = 2.
	MinHolders int
	// Seed of what is held out.
	Seed uint64
	// Trained says where the pages are from, for people.
	Trained string
}

// heldOut is one in how many pages of a class is held out.
const heldOut = 5

// minFit is the least number of held-out pages by which W is fitted, and
// guessed what it is with fewer.
const (
	minFit  = 30
	guessed = 50
)

// TrainCritic makes a critic of samples. They may come in any order: the same
// samples give the same critic.
//
// Of each class, one page in five is held out, by chance. The critic learns
// from the others; one half of the held-out pages fits W, and the other half
// gives LogLoss, ECE and Bins (accuracy and confusion are those of all of
// them). Then the critic learns the held-out pages as well, so it is somewhat
// better than its figures. The stems it knows are those of the pages it learned
// first.
//
// The pages are kept in some three bytes for each of their different words. It
// is an error if less than two classes have enough pages.
func TrainCritic(samples iter.Seq2[Sample, error], o Training) (*Critic, error) {
	minPages, minHolders := cmp.Or(o.MinPages, 5), cmp.Or(o.MinHolders, 2)
	t := &trainer{ids: map[string]uint32{}, classes: map[string][]page{}}
	for s, err := range samples {
		if err != nil {
			return nil, err
		}
		t.take(s, o.Seed)
	}
	c := &Critic{Record: Record{Seed: o.Seed, Trained: o.Trained}}
	rec := &c.Record
	for _, path := range slices.Sorted(maps.Keys(t.classes)) {
		if pages := t.classes[path]; len(pages) < minPages {
			rec.Thin = append(rec.Thin, path)
		} else {
			rec.Classes = append(rec.Classes, path)
			rec.Pages = append(rec.Pages, len(pages))
		}
	}
	if len(rec.Classes) < 2 {
		return nil, fmt.Errorf("%d of %d topics have at least %d pages with text, and a critic needs two: get more of the examples, fold small topics with waggle topic prune, or lower the number of pages that are asked for", len(rec.Classes), len(t.classes), minPages)
	}
	if len(rec.Classes) > math.MaxUint16 {
		return nil, fmt.Errorf("%d classes are more than the %d that a critic can have: fold small topics with waggle topic prune", len(rec.Classes), math.MaxUint16)
	}

	// What is held out: every fifth by the lots that the pages drew.
	var learned, fit, test []sample
	for class, path := range rec.Classes {
		pages := t.classes[path]
		slices.SortFunc(pages, func(a, b page) int { return cmp.Or(cmp.Compare(a.lot, b.lot), slices.Compare(a.words, b.words)) })
		for i, p := range pages {
			s := sample{class, p.words}
			switch {
			case i%heldOut != heldOut-1:
				learned = append(learned, s)
			case (i/heldOut+class)%2 == 0: // classes with one held-out page take turns
				fit = append(fit, s)
			default:
				test = append(test, s)
			}
		}
	}
	t.classes = nil
	c.stems = t.vocabulary(learned, minHolders)
	rec.Vocabulary = len(c.stems)
	if len(c.stems) == 0 {
		return nil, errors.New("no word occurs in two of the pages: they cannot be learned from")
	}
	rank := t.ranks(c.stems)
	var err error
	if c.model, err = nb.New(nb.Options{Classes: len(rec.Classes), Vocabulary: len(c.stems)}); err != nil {
		return nil, err
	}
	learn := func(samples []sample) error {
		for _, s := range samples {
			v, _ := s.vector(rank)
			if err := c.model.Add(s.class, v); err != nil {
				return err
			}
		}
		return nil
	}
	if err := learn(learned); err != nil {
		return nil, err
	}
	c.examine(rank, fit, test)
	return c, errors.Join(learn(fit), learn(test))
}

// trainer keeps the pages as they come.
type trainer struct {
	ids     map[string]uint32 // stem → id, in the order they came
	classes map[string][]page
}

type page struct {
	lot   uint64
	words []byte // for each word its id and its count, uvarints
}

type sample struct {
	class int
	words []byte
}

func (t *trainer) take(s Sample, seed uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	h := xxh3.New()
	h.Write(b[:])
	h.WriteString(s.Key)
	p := page{lot: h.Sum64()}
	for _, term := range s.Terms {
		if term.Body <= 0 {
			continue
		}
		id, ok := t.ids[term.Text]
		if !ok {
			id = uint32(len(t.ids))
			t.ids[strings.Clone(term.Text)] = id
		}
		p.words = binary.AppendUvarint(p.words, uint64(id))
		p.words = binary.AppendUvarint(p.words, uint64(term.Body))
	}
	if len(p.words) > 0 {
		p.words = slices.Clip(p.words)
		t.classes[s.Class] = append(t.classes[s.Class], p)
	}
}

// each calls do for every word of a page, in the order of its stems.
func each(words []byte, do func(id uint32, count float64)) {
	for len(words) > 0 {
		id, n := binary.Uvarint(words)
		count, m := binary.Uvarint(words[n:])
		words = words[n+m:]
		do(uint32(id), float64(count))
	}
}

// vocabulary ranks the stems that enough samples hold.
func (t *trainer) vocabulary(samples []sample, holders int) map[string]uint32 {
	held := make([]uint32, len(t.ids))
	for _, s := range samples {
		each(s.words, func(id uint32, _ float64) { held[id]++ })
	}
	var stems []string
	for s, id := range t.ids {
		if int(held[id]) >= holders {
			stems = append(stems, s)
		}
	}
	slices.Sort(stems)
	out := make(map[string]uint32, len(stems))
	for i, s := range stems {
		out[s] = uint32(i)
	}
	return out
}

// unknown is the rank of a stem that is not in the vocabulary.
const unknown = math.MaxUint32

// ranks tells by a stem's id its rank in the vocabulary, or unknown.
func (t *trainer) ranks(stems map[string]uint32) []uint32 {
	out := make([]uint32, len(t.ids))
	for s, id := range t.ids {
		if rank, ok := stems[s]; ok {
			out[id] = rank
		} else {
			out[id] = unknown
		}
	}
	return out
}

// vector is the sample as the model reads it, and its number of known words.
func (s sample) vector(rank []uint32) (sparse.Vector, float64) {
	var v sparse.Vector
	n := 0.
	each(s.words, func(id uint32, count float64) { // by stem, as ranks are
		if r := rank[id]; r != unknown {
			v = append(v, sparse.Entry{ID: r, Value: count})
			n += count
		}
	})
	return v, n
}

// examine fits W and measures the critic on held-out pages.
func (c *Critic) examine(rank []uint32, fit, test []sample) {
	rec := &c.Record
	// Candidates for W: 2, 3, … by half steps up to 8192, and infinity.
	var grid []float64
	for w := 2.; w <= 8192; w *= 2 {
		grid = append(grid, w, w*1.5)
	}
	grid = append(grid, math.Inf(1))
	loss := make([]float64, len(grid)) // Σ −ln Pr(own class), of fit
	for _, s := range fit {
		e := c.evidence(s, rank)
		for i, w := range grid {
			loss[i] -= e.logs(w)[s.class]
		}
	}
	w := float64(guessed)
	if rec.Guessed = len(fit) < minFit; !rec.Guessed {
		w = grid[0]
		best := loss[0]
		for i, l := range loss {
			if l <= best { // of equals the largest, which is the nearest to the print
				w, best = grid[i], l
			}
		}
	}
	if !math.IsInf(w, 1) {
		rec.Words = w
	}
	confusion := map[[2]int]int{}
	own, printed := newExam(), newExam()
	for i, s := range slices.Concat(test, fit) {
		e := c.evidence(s, rank)
		taken := own.add(e.logs(w), s.class, i < len(test))
		printed.add(e.logs(math.Inf(1)), s.class, i < len(test))
		confusion[[2]int{s.class, taken}]++
	}
	rec.HeldOut, rec.Printed = own.result(), printed.result()
	for k, n := range confusion {
		rec.Confusion = append(rec.Confusion, Confusion{k[0], k[1], n})
	}
	slices.SortFunc(rec.Confusion, func(a, b Confusion) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.For, b.For))
	})
}

// evidence is what a page says of its classes, before W.
type evidence struct {
	n       float64   // known words
	printed []float64 // [classes] ln Pr(c|u) as printed
	buf     []float64 // [classes]
}

func (c *Critic) evidence(s sample, rank []uint32) *evidence {
	v, n := s.vector(rank)
	k := len(c.Record.Classes)
	e := &evidence{n: n, printed: make([]float64, k), buf: make([]float64, k)}
	_ = c.model.LogPosterior(e.printed, v) // it refuses weights that are no numbers
	return e
}

// logs is ln Pr(c|u) [classes] for one W, valid until the next call.
func (e *evidence) logs(words float64) []float64 {
	temper(e.buf, e.printed, e.n, words)
	return e.buf
}

// exam adds up how pages were judged.
type exam struct {
	pages, right, among5 int
	tested               int // of pages, those not used for fitting
	loss                 float64
	bins                 metric.Bins // of the probability of the likeliest class
}

func newExam() *exam { return &exam{bins: make(metric.Bins, 15)} }

// add takes in ln Pr(c|u) [classes] of a page of a class and returns the
// likeliest class.
func (x *exam) add(logs []float64, class int, tested bool) int {
	best, above := 0, 0
	for i, l := range logs {
		if l > logs[best] {
			best = i
		}
		if l > logs[class] {
			above++
		}
	}
	x.pages++
	if best == class {
		x.right++
	}
	if above < 5 {
		x.among5++
	}
	if tested {
		x.tested++
		x.loss -= logs[class]
		x.bins.Add(metric.Prediction{Score: math.Exp(logs[best]), Positive: best == class, Weight: 1})
	}
	return best
}

// result is how the pages of the exam were judged.
func (x *exam) result() HeldOutResult {
	h := HeldOutResult{Pages: x.pages}
	if x.pages > 0 {
		h.Accuracy = float64(x.right) / float64(x.pages)
		h.Top5 = float64(x.among5) / float64(x.pages)
	}
	for _, b := range x.bins {
		if b.Count > 0 {
			h.Bins = append(h.Bins, Bin{Pages: b.Count, Mean: b.Mean(), Accuracy: b.Share()})
		}
	}
	if x.tested > 0 {
		h.ECE = x.bins.ECE()
		h.LogLoss = x.loss / float64(x.tested)
	}
	return h
}

// MajorityAccuracy is the accuracy of always naming the class with the most held-out
// pages.
func (r *Record) MajorityAccuracy() float64 {
	held := make([]int, len(r.Classes))
	for _, t := range r.Confusion {
		held[t.Class] += t.Pages
	}
	return float64(slices.Max(held)) / float64(max(1, r.HeldOut.Pages))
}

// ConfusedPair is two classes that a critic takes for one another.
type ConfusedPair struct {
	A, B   string
	AtoB   int     // held-out pages of A taken for B
	BtoA   int     // and the other way round
	Shared float64 // both, as a share of the held-out pages of A and B
}

// WorstPairs are the classes most often taken for one another, the worst
// first, at most n.
func (r *Record) WorstPairs(n int) []ConfusedPair {
	held := make([]int, len(r.Classes))
	both := map[[2]int]*ConfusedPair{}
	for _, t := range r.Confusion {
		held[t.Class] += t.Pages
		if t.Class == t.For {
			continue
		}
		a, b := min(t.Class, t.For), max(t.Class, t.For)
		p := both[[2]int{a, b}]
		if p == nil {
			p = &ConfusedPair{A: r.Classes[a], B: r.Classes[b]}
			both[[2]int{a, b}] = p
		}
		if t.Class == a {
			p.AtoB += t.Pages
		} else {
			p.BtoA += t.Pages
		}
	}
	var out []ConfusedPair
	for k, p := range both {
		p.Shared = float64(p.AtoB+p.BtoA) / float64(held[k[0]]+held[k[1]])
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b ConfusedPair) int {
		return cmp.Or(cmp.Compare(b.AtoB+b.BtoA, a.AtoB+a.BtoA), cmp.Compare(b.Shared, a.Shared), strings.Compare(a.A, b.A), strings.Compare(a.B, b.B))
	})
	return out[:min(n, len(out))]
}
