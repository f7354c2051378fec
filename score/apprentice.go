package score

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// apprentice learns, while it crawls, which words around a link lead to relevant
// pages. The critic, which is the crawl's judge, gives R(u) = Pr(c*|u) of each
// fetched page u. A link (u,v) whose target was fetched after u is an example: the
// words around it on u, and how relevant v turned out (section 2.2).
//
//	u fetched ─► features of (u,v) wait with v in the frontier
//	v fetched ─► example: these features, Pr(c*|v)
//	enough examples ─► trained, all links that wait scored again (section 3.7)
//
// The features that wait are those of the in-link that gave v its priority. What
// they are is in apprentice_features.go.
//
// # What it learns (section 2.3, equation 1)
//
// Naive Bayes of two classes, of links to targets of high and of low relevance:
//
//	θ_{c,τ} = (1 + Σ_{u∈V_c} n(u,τ)) / (|T| + Σ_{u∈V_c,τ'} n(u,τ'))
//
// over the features T seen so far. High is from ½ on, or the upper of two
// intervals as equally probable as can be, or what the judge holds relevant.
//
// The priority is the logarithm of the odds of high: the same order as Pr(high),
// without rounding to 1. Before there are examples it is that of the model of an
// earlier crawl, if one is given (section 2.2), and else R(u), as in a crawl by the
// critic alone (section 2.1). A model that learns nothing more is the apprentice
// trained off-line (section 3.5).
//
// # Tempered
//
// As printed, a hundred words around a link count as a hundred independent
// observations, and R(u) is not used. apprentice-tempered counts them as ten at
// most and adds the odds of R(u):
//
//	ln odds = w₁·min(1, 10/n)·Σ_τ n(τ) ln θ_high,τ/θ_low,τ + ln |V_high|/|V_low| + w₂·ln R(u)/(1−R(u))
//
// The weights begin at 0 and 1, as in a crawl by the critic, and are then fitted to
// how well each predicted the links that were followed (see fit): words count as
// far as they predicted better than the page's relevance. With weigh = 0 both are
// always 1, and with a model of an earlier crawl they begin at 1.
//
// Source: Chakrabarti, Punera & Subramanyam, Accelerated Focused Crawling
// through Online Relevance Feedback, 2002; its equation 1 lacks u ∈ V_c below
// the line. Their on-line run trains once, after 5,200 pages (start = 5200).
type apprentice struct {
	journal
	sight
	page     func(*web.Page, web.Verdict) float64
	boundary int     // atHalf, even or judged
	inherit  float64 // weight of the odds of R(u)
	words    float64 // 0 = no limit
	online   bool
	start    int // pages before the first training
	every    int // pages from one training to the next

	visits  int       // pages
	waiting []example // since the last training
	counts  featureCounts
	// With the boundary even: all examples by the relevance of their targets,
	// and the least relevance that is high.
	by    [256][]example
	least int
	ready bool    // trained, with enough examples of both classes
	prior float64 // ln |V_high|/|V_low|
	weights
	begin  weights
	weighs bool
	trials []trial         // the last ones, with weigh only
	known  map[uint32]bool // fetched addresses, by hash: whether high; with cocitation only
}

// example is a link that was followed.
type example struct {
	relevance byte   // of its target, in 1/255
	relevant  bool   // by the judge
	features  []byte // uint32 LE each
}

// Boundaries between low and high.
const (
	atHalf = iota
	even
	judged
)

const leastExamples = 5 // of each class, before anything is believed

var (
	_ Scorer    = (*apprentice)(nil)
	_ Explainer = (*apprentice)(nil)
)

func apprenticeSettings(tempered bool) []Setting {
	boundary, inherit, words, weigh := 0., 0., 0., 0.
	if tempered {
		boundary, inherit, words, weigh = even, 1, 10, 1
	}
	return []Setting{
		{"dmax", 5, 0, 10, "how many leaves away from a link words count"},
		{"plain", 0, 0, 1, "1 takes words without their offsets"},
		{"topics", 2, 0, 2, "classes of the page, by a judge with a taxonomy: 0 none, 1 their names, 2 what stands above them too"},
		{"cocitation", 0, 0, 1, "1 takes the outcomes of links near by"},
		{"boundary", boundary, 0, 2, "targets are high 0: from ½ on, 1: in the upper of two intervals of equal probability, 2: where the judge says relevant"},
		{"inherit", inherit, 0, 100, "weight of the log odds of R(u), which the apprentice as printed does not look at"},
		{"words", words, 0, 1000, "words that a link's evidence counts at most as, 0 = as many as there are"},
		{"weigh", weigh, 0, 1, "1 weighs evidence and R(u) by how well they foretold R(v) so far; 0 keeps to their weights"},
		{"trust", 0, 0, 1, "with weigh = 1, the weight of evidence that has foretold nothing yet"},
		{"online", 1, 0, 1, "0 learns nothing: the model given is used as it is"},
		{"start", 50, 1, 1e6, "pages before it is trained first"},
		{"every", 25, 1, 1e6, "pages from one training to the next"},
		journalSetting(),
	}
}

func newApprentice(o Options) (Scorer, error) {
	if err := o.whole("dmax", "plain", "topics", "cocitation", "boundary", "online", "start", "every"); err != nil {
		return nil, err
	}
	a := &apprentice{
		journal: newJournal("apprentice", o),
		sight: sight{
			analyzer: o.Analyzer, classes: o.Classes, reach: int(o.set("dmax")), plain: o.set("plain") >= 0.5,
			topics: int(o.set("topics")), cocite: o.set("cocitation") >= 0.5,
		},
		page: o.Page, boundary: int(o.set("boundary")), inherit: o.set("inherit"), words: o.set("words"),
		online: o.set("online") >= 0.5, start: int(o.set("start")), every: int(o.set("every")),
		least: 128, weighs: o.set("weigh") >= 0.5,
	}
	if a.begin = (weights{1, a.inherit}); a.weighs {
		a.begin.evidence = o.set("trust")
	}
	a.weights = a.begin
	if a.cocite {
		a.known = make(map[uint32]bool)
	}
	if o.Model != nil {
		m, err := model.Of[*model.Surroundings](o.Model, model.Apprentice)
		if err != nil {
			return nil, err
		}
		if err := a.remember(m); err != nil {
			return nil, err
		}
	} else if !a.online {
		return nil, errors.New("it is to learn nothing (online = 0) and knows nothing: give it a model that waggle train apprentice wrote")
	}
	return a, nil
}

// remember begins with the model of an earlier crawl.
func (a *apprentice) remember(m *model.Surroundings) error {
	switch s := a.sight; {
	case m.Reach != s.reach:
		return fmt.Errorf("the model looks %d leaves away from a link and the scorer %d: set dmax to %[1]d", m.Reach, s.reach)
	case m.Plain != s.plain:
		return fmt.Errorf("the model and the scorer disagree about offsets: set plain to %d", digit(m.Plain))
	case m.Cited != s.cocite:
		return fmt.Errorf("the model and the scorer disagree about links near by: set cocitation to %d", digit(m.Cited))
	}
	// What was learned from another crawl is believed from the start.
	a.begin.evidence = 1
	a.weights = a.begin
	for class, n := range m.Links {
		a.counts.links[class] = int(n)
	}
	for _, f := range m.Features {
		a.counts.put(f.ID, f.Low, f.High)
	}
	a.settle()
	return nil
}

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Visit takes down an example, and with cocitation tells the links of the page
// which of them led where. The entry is
//
//	Pr(c*|v) in 1/255 byte · flags byte · [ hash of the address uint32 LE ] · [ R(u) in 1/255 byte ] · { feature uint32 LE }…
//
// flags: 1 an example, 2 with the hash, 4 relevant, 8 with R(u).
func (a *apprentice) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil || !a.online && !a.cocite {
		return nil
	}
	b := []byte{level(a.page(p, v)), 0}
	if v.Relevant {
		b[1] |= flagRelevant
	}
	if a.cocite {
		b[1] |= flagAddress
		b = binary.LittleEndian.AppendUint32(b, addressHash(c.URL))
	}
	if a.online && len(c.Features) > 0 {
		b[1] |= flagExample
		if a.weighs {
			b[1] |= flagPage
			b = append(b, c.Features[0])
		}
		a.each(c, func(id uint32) { b = binary.LittleEndian.AppendUint32(b, id) })
	}
	if a.add(b) {
		if a.apply(&entry{b: b}); a.batchEnds() && a.ready {
			a.ask()
		}
	}
	if !a.cocite {
		return nil
	}
	return citations(p, func(u web.URL) (high, known bool) {
		high, known = a.known[addressHash(u)]
		return high, known
	})
}

const (
	flagExample = 1 << iota
	flagAddress
	flagRelevant
	flagPage
)

// level is a relevance in 1/255.
func level(relevance float64) byte { return byte(unit(relevance)*255 + 0.5) }

func addressHash(u web.URL) uint32 { return uint32(xxh3.HashString(u.String())) }

// apply learns from an entry of the journal, and trains when it is time.
func (a *apprentice) apply(e *entry) {
	relevance, flags := e.byte(), e.byte()
	x := example{relevance: relevance, relevant: flags&flagRelevant != 0}
	if flags&flagAddress != 0 {
		if h := e.uint32(); a.cocite {
			a.known[h] = a.promises(x)
		}
	}
	var page byte
	if flags&flagPage != 0 {
		page = e.byte()
	}
	features := e.rest()
	if flags > flagExample|flagAddress|flagRelevant|flagPage || len(features)%4 != 0 || flags&flagExample == 0 && len(features) > 0 {
		e.err = errors.New("score: an example that is none")
		return
	}
	if flags&flagExample != 0 {
		x.features = slices.Clone(features)
		if a.weighs && flags&flagPage != 0 && a.ready {
			sum, n := a.counts.evidence(x.features)
			a.trials = append(a.trials, trial{a.tempered(n) * sum, oddsOf(page), float64(relevance) / 255})
		}
		a.waiting = append(a.waiting, x)
	}
	a.visits++
	if a.online && a.batchEnds() {
		a.learn(a.train)
	}
}

// batchEnds tells whether the page last seen ends a batch.
func (a *apprentice) batchEnds() bool { return a.visits >= a.start && (a.visits-a.start)%a.every == 0 }

// promises tells whether a fetched page counts as HIGH for the links beside
// that to it: from ½ on, as printed, and else where the judge holds it relevant.
func (a *apprentice) promises(x example) bool {
	if a.boundary == atHalf {
		return int(x.relevance) >= 128
	}
	return x.relevant
}

// class is that of an example: 0 for low, 1 for high.
func (a *apprentice) class(x example) int {
	if a.boundary == judged {
		return digit(x.relevant)
	}
	return digit(int(x.relevance) >= a.least)
}

// train counts the examples that wait, and moves the boundary if it is to be
// even: examples between the old one and the new change their class.
func (a *apprentice) train() {
	for _, x := range a.waiting {
		a.counts.add(x.features, a.class(x))
		if a.boundary == even {
			a.by[x.relevance] = append(a.by[x.relevance], x)
		}
	}
	a.waiting = nil
	if a.boundary == even {
		least := a.halves()
		for l := min(a.least, least); l < max(a.least, least); l++ {
			for _, x := range a.by[l] {
				a.counts.move(x.features, digit(l >= least))
			}
		}
		a.least = least
	}
	a.settle()
	if a.weighs {
		if n := len(a.trials); n > 2*trialsKept { // seldom, and not page by page
			a.trials = slices.Clone(a.trials[n-trialsKept:])
		}
		a.weights = fit(a.trials[max(0, len(a.trials)-trialsKept):], a.begin)
	}
}

// halves is the boundary that parts the examples into two classes as equal in
// number as can be; of equals, the lowest.
func (a *apprentice) halves() int {
	total := 0
	for l := range a.by {
		total += len(a.by[l])
	}
	best, at, below := total+1, a.least, 0
	for l := 1; l < len(a.by); l++ {
		below += len(a.by[l-1])
		if d := total - 2*below; max(d, -d) < best {
			best, at = max(d, -d), l
		}
	}
	return at
}

// settle works out what is the same for all links.
func (a *apprentice) settle() {
	n := a.counts.links
	if a.ready = min(n[0], n[1]) >= leastExamples; a.ready {
		a.prior = math.Log(float64(n[1]) / float64(n[0]))
	}
	a.counts.settle()
}

// Score is R(u) in [0,1] before it is trained, and then
//
//	ln Pr(high|link)/Pr(low|link) = ln |V_high|/|V_low| + Σ_τ n(τ) ln θ_high,τ/θ_low,τ
//
// or as the tempered variant says. A feature outside T says nothing.
func (a *apprentice) Score(c *web.Candidate) float64 {
	relevance, at, features, ok := a.read(c)
	if !ok {
		return 0
	}
	if !a.ready {
		return float64(relevance) / 255
	}
	sum, n := a.counts.evidence(features)
	if a.cocite {
		a.cited(c, at, func(id uint32) {
			if o, ok := a.counts.odds(id); ok {
				sum += o
				n++
			}
		})
	}
	return a.prior + a.evidence*a.tempered(n)*sum + a.weights.page*oddsOf(relevance)
}

// tempered is what each of n features counts.
func (a *apprentice) tempered(n int) float64 {
	if a.words > 0 && float64(n) > a.words {
		return a.words / float64(n)
	}
	return 1
}

// oddsOf is the logarithm of the odds of R(u), kept finite.
func oddsOf(relevance byte) float64 {
	r := (float64(relevance) + 0.5) / 256
	return math.Log(r / (1 - r))
}

func (*apprentice) Rescores() bool               { return true }
func (a *apprentice) Restore(state []byte) error { return a.restore(state, a.apply) }

// featureCounts counts features of links by class, low first. Numbers of features are
// hashes already, so the table takes their low bits for a place and goes on to
// the next free one.
type featureCounts struct {
	links [2]int // examples
	sum   [2]int // Σ n of all features
	size  int    // |T|
	slots []slot // a power of two, at most half of them taken
	sums  float64
}

// slot is a feature; of an empty one both counts are 0, and in the table no
// other.
type slot struct {
	id   uint32
	odds float32 // ln (1+n_high)/(1+n_low)
	n    [2]uint32
}

func (t *featureCounts) at(id uint32) *slot {
	mask := len(t.slots) - 1
	for i := int(id) & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.id == id || s.n == [2]uint32{} {
			return s
		}
	}
}

// slot is that of a feature, taken if it was free.
func (t *featureCounts) slot(id uint32) *slot {
	if 2*t.size >= len(t.slots) {
		old := t.slots
		t.slots = make([]slot, max(1024, 2*len(old)))
		for _, s := range old {
			if s.n != [2]uint32{} {
				*t.at(s.id) = s
			}
		}
	}
	s := t.at(id)
	if s.n == [2]uint32{} {
		s.id = id
		t.size++
	}
	return s
}

func (s *slot) count() {
	s.odds = float32(math.Log(float64(1+uint64(s.n[1])) / float64(1+uint64(s.n[0]))))
}

// put sets the counts of a new feature, of which one at least is above 0.
func (t *featureCounts) put(id, low, high uint32) {
	s := t.slot(id)
	s.n = [2]uint32{low, high}
	s.count()
	t.sum[0] += int(low)
	t.sum[1] += int(high)
}

// add counts an example.
func (t *featureCounts) add(features []byte, class int) {
	t.links[class]++
	t.sum[class] += len(features) / 4
	for ; len(features) >= 4; features = features[4:] {
		s := t.slot(binary.LittleEndian.Uint32(features))
		s.n[class]++
		s.count()
	}
}

// move takes an example of the other class into class.
func (t *featureCounts) move(features []byte, class int) {
	t.links[class]++
	t.links[1-class]--
	t.sum[class] += len(features) / 4
	t.sum[1-class] -= len(features) / 4
	for ; len(features) >= 4; features = features[4:] {
		s := t.at(binary.LittleEndian.Uint32(features))
		s.n[class]++
		s.n[1-class]--
		s.count()
	}
}

// settle works out the part of the odds that all features share.
func (t *featureCounts) settle() {
	t.sums = math.Log(float64(t.size+t.sum[0]) / float64(t.size+t.sum[1]))
}

// evidence is Σ n(τ) ln θ_high,τ/θ_low,τ over features uint32 LE each, and how
// many of them are in T.
func (t *featureCounts) evidence(features []byte) (sum float64, n int) {
	for ; len(features) >= 4; features = features[4:] {
		if o, ok := t.odds(binary.LittleEndian.Uint32(features)); ok {
			sum += o
			n++
		}
	}
	return sum, n
}

// odds are ln θ_high,τ/θ_low,τ; ok is false for a feature outside T.
//
//	θ_{c,τ} = (1 + n_c(τ)) / (|T| + Σ_τ' n_c(τ'))
func (t *featureCounts) odds(id uint32) (ln float64, ok bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	s := t.at(id)
	return float64(s.odds) + t.sums, s.n != [2]uint32{}
}
