package apprentice

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// LeastExamples is how many examples of each class there must be before a learner
// is ready.
const LeastExamples = 5

// Example is a link that was followed.
type Example struct {
	Level    byte   // relevance of its target, as of function Level
	Relevant bool   // by the judge
	Features []byte // their numbers, uint32 LE each
}

// NewExample is the example of a link to a page of that relevance and verdict; its
// features are still to be set.
func NewExample(relevance float64, v web.Verdict) Example {
	return Example{Level: Level(relevance), Relevant: v.Relevant}
}

// Learner is naive Bayes of two classes, of links to targets of high and of low
// relevance (section 2.3, equation 1, which lacks u ∈ V_c below the line):
//
//	θ_{c,τ} = (1 + Σ_{u∈V_c} n(u,τ)) / (|T| + Σ_{u∈V_c,τ'} n(u,τ'))
//
// over the features T seen so far. Examples wait until Train counts them; only
// then do odds change.
type Learner struct {
	boundary Boundary
	words    float64   // features that evidence counts at most as; 0 = no limit
	waiting  []Example // since the last training
	counts   counts
	// With the boundary even: examples counted so far by the relevance of their
	// targets; the features of the last ones, and the relevance of those in order;
	// the least relevance that is high.
	levels [256]int
	by     [256][][]byte
	recent []byte
	least  int
	ready  bool    // trained, with enough examples of both classes
	prior  float64 // ln |V_high|/|V_low|
}

// Resume begins with the model of an earlier crawl. The error says which setting
// disagrees with it.
func (l *Learner) Resume(f *Features, m *model.Surroundings) error {
	switch {
	case m.Reach != f.reach:
		return fmt.Errorf("the model looks %d leaves away from a link and the scorer %d: set dmax to %[1]d", m.Reach, f.reach)
	case m.Plain != f.plain:
		return fmt.Errorf("the model and the scorer disagree about offsets: set plain to %d", digit(m.Plain))
	case m.Tree != f.tree:
		return fmt.Errorf("the model and the scorer disagree about places in the tree: set tree to %d", m.Tree)
	case m.Cited != f.cited:
		return fmt.Errorf("the model and the scorer disagree about links near by: set cocitation to %d", digit(m.Cited))
	}
	for class, n := range m.Links {
		l.counts.links[class] = int(n)
	}
	for _, x := range m.Features {
		l.counts.put(x.ID, x.Low, x.High)
	}
	l.settle()
	return nil
}

// Model is what was counted so far, as a file holds it.
func (l *Learner) Model(f *Features) *model.Surroundings {
	m := &model.Surroundings{Reach: f.reach, Plain: f.plain, Cited: f.cited, Tree: f.tree}
	for class, n := range l.counts.links {
		m.Links[class] = uint64(n)
	}
	for _, s := range l.counts.slots {
		if s.n != [2]uint32{} {
			m.Features = append(m.Features, model.FeatureCount{ID: s.id, Low: s.n[0], High: s.n[1]})
		}
	}
	slices.SortFunc(m.Features, func(x, y model.FeatureCount) int { return cmp.Compare(x.ID, y.ID) })
	return m
}

// Add takes an example, whose features it keeps.
func (l *Learner) Add(x Example) { l.waiting = append(l.waiting, x) }

// Ready tells whether Train has counted enough examples of both classes.
func (l *Learner) Ready() bool { return l.ready }

// Prior is ln |V_high|/|V_low|, 0 unless ready.
func (l *Learner) Prior() float64 { return l.prior }

// Promises tells whether a fetched page counts as HIGH for the links beside
// that to it: from ½ on, as printed, and else where the judge holds it relevant.
func (l *Learner) Promises(x Example) bool {
	if l.boundary == Half {
		return int(x.Level) >= 128
	}
	return x.Relevant
}

// Class is that of an example: 0 for low, 1 for high.
func (l *Learner) Class(x Example) int {
	if l.boundary == Judged {
		return digit(x.Relevant)
	}
	return digit(int(x.Level) >= l.least)
}

// examplesKept is how many examples are kept to be moved with the boundary. It
// settles long before so many are seen; older ones stay in their class. That bounds
// the memory of a learner, at some 400 bytes an example.
const examplesKept = 1 << 14

// Train counts the examples that wait, and moves the boundary if it is Even:
// examples between the old one and the new change their class.
func (l *Learner) Train() {
	for _, x := range l.waiting {
		l.counts.add(x.Features, l.Class(x))
		if l.boundary == Even {
			l.keep(x)
		}
	}
	l.waiting = nil
	if l.boundary == Even {
		least := l.halves()
		for at := min(l.least, least); at < max(l.least, least); at++ {
			for _, features := range l.by[at] {
				l.counts.move(features, digit(at >= least))
			}
		}
		l.least = least
	}
	l.settle()
}

// keep keeps an example, in place of the oldest one when there are too many.
func (l *Learner) keep(x Example) {
	l.levels[x.Level]++
	l.by[x.Level] = append(l.by[x.Level], x.Features)
	if l.recent = append(l.recent, x.Level); len(l.recent) > examplesKept {
		oldest := l.recent[0]
		l.by[oldest][0] = nil
		l.by[oldest] = l.by[oldest][1:]
		l.recent = l.recent[1:]
	}
}

// halves is the boundary that splits the examples into two classes as equal in
// number as can be; of equals, the lowest.
func (l *Learner) halves() int {
	total := 0
	for _, n := range l.levels {
		total += n
	}
	best, least, below := total+1, l.least, 0
	for at := 1; at < len(l.by); at++ {
		below += l.levels[at-1]
		if d := total - 2*below; max(d, -d) < best {
			best, least = max(d, -d), at
		}
	}
	return least
}

// settle computes what is the same for all links.
func (l *Learner) settle() {
	n := l.counts.links
	if l.ready = min(n[0], n[1]) >= LeastExamples; l.ready {
		l.prior = math.Log(float64(n[1]) / float64(n[0]))
	}
	l.counts.settle()
}

// Odds are ln θ_high,τ/θ_low,τ of a feature; ok is false for one outside T.
func (l *Learner) Odds(id uint32) (ln float64, ok bool) { return l.counts.odds(id) }

// Evidence is Σ n(τ) ln θ_high,τ/θ_low,τ over the features of a candidate, and how
// many of them are in T; the others say nothing.
func (l *Learner) Evidence(f *Features, c *web.Candidate) (sum float64, n int) {
	_, at, ids, ok := f.read(c)
	if !ok {
		return 0, 0
	}
	sum, n = l.counts.evidence(ids)
	if f.cited {
		f.citedAt(c, at, func(high bool, d int) {
			if o, ok := l.counts.odds(citedFeature(high, d)); ok {
				sum += o
				n++
			}
		})
	}
	return sum, n
}

// EvidenceOf is Evidence of the features of an example.
func (l *Learner) EvidenceOf(x Example) (sum float64, n int) { return l.counts.evidence(x.Features) }

// Tempered is what each of n features counts: 1 or, above the limit of the setting
// words, that limit divided by n.
func (l *Learner) Tempered(n int) float64 {
	if l.words > 0 && float64(n) > l.words {
		return l.words / float64(n)
	}
	return 1
}

// AppendBinary appends what was learnt and the examples that wait. Lengths and counts
// are uvarints, an example is its level, 1 if it is relevant, and its features:
//
//	examples low · high · least byte · examples by level [256]
//	slots of the table of counts · those taken · { gap · feature uint32 LE · n low · n high }…
//	examples kept · { example }… · examples that wait · { example }…
//
// A gap is the number of free slots before one that is taken: the table is read as
// it was, so that it is written as the same bytes.
func (l *Learner) AppendBinary(b []byte) []byte {
	number := func(n int) { b = binary.AppendUvarint(b, uint64(n)) }
	number(l.counts.links[0])
	number(l.counts.links[1])
	b = append(b, byte(l.least))
	for _, n := range l.levels {
		number(n)
	}
	number(len(l.counts.slots))
	number(l.counts.size)
	gap := 0
	for _, s := range l.counts.slots {
		if s.n == [2]uint32{} {
			gap++
			continue
		}
		number(gap)
		b = binary.LittleEndian.AppendUint32(b, s.id)
		number(int(s.n[0]))
		number(int(s.n[1]))
		gap = 0
	}
	example := func(x Example) {
		b = append(b, x.Level, byte(digit(x.Relevant)))
		b = wire.AppendString(b, string(x.Features))
	}
	number(len(l.recent))
	var next [256]int
	for _, level := range l.recent {
		example(Example{Level: level, Features: l.by[level][next[level]]})
		next[level]++
	}
	number(len(l.waiting))
	for _, x := range l.waiting {
		example(x)
	}
	return b
}

// ReadBinary sets what AppendBinary wrote of a learner of the same settings. The
// error is kept by the reader.
func (l *Learner) ReadBinary(r *wire.Reader) {
	most := uint64(math.MaxInt32)
	l.counts = counts{links: [2]int{r.Number(most), r.Number(most)}}
	l.least = int(r.Byte())
	for i := range l.levels {
		l.levels[i] = r.Number(most)
	}
	l.counts.read(r)
	example := func() Example {
		x := Example{Level: r.Byte(), Relevant: r.Byte() == 1}
		if x.Features = slices.Clone(r.Take(r.Count(1))); len(x.Features)%4 != 0 {
			r.Fail("%d bytes of features", len(x.Features))
		}
		return x
	}
	l.recent, l.by = nil, [256][][]byte{}
	for range r.Count(3) {
		x := example()
		l.recent = append(l.recent, x.Level)
		l.by[x.Level] = append(l.by[x.Level], x.Features)
	}
	l.waiting = nil
	for range r.Count(3) {
		l.waiting = append(l.waiting, example())
	}
	if r.Err() == nil {
		l.settle()
	}
}
