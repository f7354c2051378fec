package apprentice

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
	// With the boundary even: all examples by the relevance of their targets,
	// and the least relevance that is high.
	by    [256][]Example
	least int
	ready bool    // trained, with enough examples of both classes
	prior float64 // ln |V_high|/|V_low|
}

// Resume begins with the model of an earlier crawl. The error says which setting
// disagrees with it.
func (l *Learner) Resume(f *Features, m *model.Surroundings) error {
	switch {
	case m.Reach != f.reach:
		return fmt.Errorf("the model looks %d leaves away from a link and the scorer %d: set dmax to %[1]d", m.Reach, f.reach)
	case m.Plain != f.plain:
		return fmt.Errorf("the model and the scorer disagree about offsets: set plain to %d", digit(m.Plain))
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
	m := &model.Surroundings{Reach: f.reach, Plain: f.plain, Cited: f.cited}
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

// Train counts the examples that wait, and moves the boundary if it is Even:
// examples between the old one and the new change their class.
func (l *Learner) Train() {
	for _, x := range l.waiting {
		l.counts.add(x.Features, l.Class(x))
		if l.boundary == Even {
			l.by[x.Level] = append(l.by[x.Level], x)
		}
	}
	l.waiting = nil
	if l.boundary == Even {
		least := l.halves()
		for at := min(l.least, least); at < max(l.least, least); at++ {
			for _, x := range l.by[at] {
				l.counts.move(x.Features, digit(at >= least))
			}
		}
		l.least = least
	}
	l.settle()
}

// halves is the boundary that splits the examples into two classes as equal in
// number as can be; of equals, the lowest.
func (l *Learner) halves() int {
	total := 0
	for at := range l.by {
		total += len(l.by[at])
	}
	best, least, below := total+1, l.least, 0
	for at := 1; at < len(l.by); at++ {
		below += len(l.by[at-1])
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
