package score

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/apprentice"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// apprenticeScorer learns, while it crawls, which words around a link lead to relevant
// pages. The critic, which is the crawl's judge, gives R(u) = Pr(c*|u) of each
// fetched page u. A link (u,v) whose target was fetched after u is an example: the
// words around it on u, and how relevant v turned out (section 2.2).
//
//	u fetched ─► features of (u,v) wait with v in the frontier
//	v fetched ─► example: these features, Pr(c*|v)
//	enough examples ─► trained, all links that wait scored again (section 3.7)
//
// The features that wait are those of the in-link that gave v its priority.
// Features and learner are those of package apprentice.
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
// through Online Relevance Feedback, 2002. Their on-line run trains once, after
// 5,200 pages (start = 5200).
type apprenticeScorer struct {
	journal
	features *apprentice.Features
	learner  *apprentice.Learner
	page     func(*web.Page, web.Verdict) float64
	online   bool
	start    int // pages before the first training
	every    int // pages from one training to the next

	visits int // pages
	weights
	begin  weights
	weighs bool
	trials []trial             // the last ones, with weigh only
	known  map[uint32]citation // fetched addresses, by hash; with cocitation only
}

var (
	_ Scorer    = (*apprenticeScorer)(nil)
	_ Explainer = (*apprenticeScorer)(nil)
)

func apprenticeSettings(tempered bool) []Setting {
	inherit, weigh := 0., 0.
	if tempered {
		inherit, weigh = 1, 1
	}
	return append(apprentice.Settings(tempered), []Setting{
		{Name: "inherit", Default: inherit, Max: 100, Line: "weight of the log odds of R(u), which the apprentice as printed does not look at"},
		{Name: "weigh", Default: weigh, Max: 1, Whole: true, Line: "1 fits the weights of evidence and of R(u) to how well they predicted R(v) so far; 0 keeps their weights"},
		{Name: "trust", Max: 1, Line: "with weigh = 1, the weight of evidence that has predicted nothing yet"},
		{Name: "online", Default: 1, Max: 1, Whole: true, Line: "0 learns nothing: the model given is used as it is"},
		{Name: "start", Default: 50, Min: 1, Max: 1e6, Whole: true, Line: "pages before it is trained first"},
		{Name: "every", Default: 25, Min: 1, Max: 1e6, Whole: true, Line: "pages from one training to the next"},
	}...)
}

func newApprentice(o Options) (Scorer, error) {
	features, learner := apprentice.New(apprentice.Options{Set: o.Set, Analyzer: o.Analyzer})
	a := &apprenticeScorer{
		features: features, learner: learner, page: o.Page,
		online: o.set("online") >= 0.5, start: int(o.set("start")), every: int(o.set("every")), weighs: o.set("weigh") >= 0.5,
	}
	a.journal = newSnapshotJournal("apprentice", o, a)
	if a.begin = (weights{1, o.set("inherit")}); a.weighs {
		a.begin.evidence = o.set("trust")
	}
	a.weights = a.begin
	if features.Cites() {
		a.known = make(map[uint32]citation)
	}
	if o.Model != nil {
		m, err := model.Of[*model.Surroundings](o.Model, model.Apprentice)
		if err != nil {
			return nil, err
		}
		if err := learner.Resume(features, m); err != nil {
			return nil, err
		}
		// What was learned from another crawl is believed from the start.
		a.begin.evidence = 1
		a.weights = a.begin
	} else if !a.online {
		return nil, errors.New("it learns before the crawl alone (online = 0) and has no model: give the file that `waggle train apprentice` wrote, of the scorer that is asked for (--scorer)")
	}
	return a, nil
}

// Extract gives what each link shows, see apprentice.Features.
func (a *apprenticeScorer) Extract(p *web.Page, v web.Verdict) [][]byte {
	return a.features.Extract(p, a.page(p, v), v.Classes)
}

// Visit writes an example to the journal, and with cocitation tells the links of
// the page which of them led where. The entry is
//
//	Pr(c*|v) in 1/255 byte · flags byte · [ hash of the address uint32 LE ] · [ R(u) in 1/255 byte ] · { feature uint32 LE }…
//
// flags: 1 an example, 2 with the hash, 4 relevant, 8 with R(u).
func (a *apprenticeScorer) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil || !a.online && a.known == nil {
		return nil
	}
	return a.visit(c, p, v, a.page(p, v))
}

// visit is Visit of a page of such a relevance.
func (a *apprenticeScorer) visit(c *web.Candidate, p *web.Page, v web.Verdict, relevance float64) []byte {
	b := []byte{apprentice.Level(relevance), 0}
	if v.Relevant {
		b[1] |= flagRelevant
	}
	if a.known != nil {
		b[1] |= flagAddress
		b = binary.LittleEndian.AppendUint32(b, addressHash(c.URL))
	}
	if from, ok := a.features.Relevance(c); ok && a.online && a.features.Teaches(from, b[0]) {
		b[1] |= flagExample
		if a.weighs {
			b[1] |= flagPage
			b = append(b, from)
		}
		b = a.features.AppendIDs(b, c)
	}
	if a.add(b) {
		if a.apply(&entry{b: b}); a.batchEnds() && a.learner.Ready() {
			a.requestRescore()
		}
	}
	if a.known == nil {
		return nil
	}
	return apprentice.Citations(p, func(u web.URL) (high, known bool) {
		cited, known := a.known[addressHash(u)]
		return cited.high, known
	})
}

// Label teaches the relevance that a person gave a page, or the similarity that Visit would, as one
// more visit of it.
func (a *apprenticeScorer) Label(c *web.Candidate, p *web.Page, v web.Verdict, judged bool) {
	switch {
	case judged:
		a.Visit(c, p, v)
	case p != nil && (a.online || a.known != nil):
		a.visit(c, p, v, v.Relevance)
	}
}

const (
	flagExample = 1 << iota
	flagAddress
	flagRelevant
	flagPage
)

// citation is what a fetched page tells the links beside that to it.
type citation struct {
	visit int // its number among the pages fetched
	high  bool
}

func addressHash(u web.URL) uint32 { return uint32(xxh3.HashString(u.String())) }

// apply learns from an entry of the journal, and trains when it is time.
func (a *apprenticeScorer) apply(e *entry) {
	relevance, flags := e.byte(), e.byte()
	x := apprentice.Example{Level: relevance, Relevant: flags&flagRelevant != 0}
	if flags&flagAddress != 0 {
		if h := e.uint32(); a.known != nil {
			a.known[h] = citation{a.visits, a.learner.Promises(x)}
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
		x.Features = slices.Clone(features)
		if a.weighs && flags&flagPage != 0 && a.learner.Ready() {
			sum, n := a.learner.EvidenceOf(x)
			a.trials = append(a.trials, trial{a.learner.Tempered(n) * sum, oddsOf(page), float64(relevance) / 255})
		}
		a.learner.Add(x)
	}
	a.visits++
	if a.online && a.batchEnds() {
		a.learn(a.train)
	}
}

// batchEnds tells whether the page last seen ends a batch.
func (a *apprenticeScorer) batchEnds() bool {
	return a.visits >= a.start && (a.visits-a.start)%a.every == 0
}

// train counts the examples that wait, and fits the weights.
func (a *apprenticeScorer) train() {
	a.learner.Train()
	if a.weighs {
		if n := len(a.trials); n > 2*trialsKept { // seldom, and not page by page
			a.trials = slices.Clone(a.trials[n-trialsKept:])
		}
		a.weights = fit(a.trials[max(0, len(a.trials)-trialsKept):], a.begin)
	}
}

// Score is R(u) in [0,1] before it is trained, and then
//
//	ln Pr(high|link)/Pr(low|link) = ln |V_high|/|V_low| + Σ_τ n(τ) ln θ_high,τ/θ_low,τ
//
// or as the tempered variant says. A feature outside T says nothing. A seed has 0.
func (a *apprenticeScorer) Score(c *web.Candidate) float64 {
	relevance, ok := a.features.Relevance(c)
	if !ok {
		return 0
	}
	if !a.learner.Ready() {
		return float64(relevance) / 255
	}
	sum, n := a.learner.Evidence(a.features, c)
	return a.learner.Prior() + a.evidence*a.learner.Tempered(n)*sum + a.weights.page*oddsOf(relevance)
}

// oddsOf is the logarithm of the odds of R(u), kept finite.
func oddsOf(relevance byte) float64 {
	r := (float64(relevance) + 0.5) / 256
	return math.Log(r / (1 - r))
}

// Steady tells that several goroutines may call Score at a time.
func (*apprenticeScorer) Steady()                      {}
func (*apprenticeScorer) Rescores() bool               { return true }
func (a *apprenticeScorer) Restore(state []byte) error { return a.restore(state, a.apply) }

// appendSnapshot appends
//
//	pages uvarint · weights of evidence and page float64 LE
//	the last trials: number uvarint, { evidence, page, relevance float64 LE }…
//	addresses by hash: number uvarint, { hash uint32 LE · visit uvarint · 1 if high byte }…
//	what was learnt, as apprentice.Learner.AppendBinary has it
func (a *apprenticeScorer) appendSnapshot(b []byte) []byte {
	float := func(x float64) { b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x)) }
	b = binary.AppendUvarint(b, uint64(a.visits))
	float(a.evidence)
	float(a.weights.page)
	trials := a.trials[max(0, len(a.trials)-trialsKept):]
	b = binary.AppendUvarint(b, uint64(len(trials)))
	for _, t := range trials {
		float(t.evidence)
		float(t.page)
		float(t.relevance)
	}
	b = binary.AppendUvarint(b, uint64(len(a.known)))
	for _, hash := range slices.Sorted(maps.Keys(a.known)) {
		b = binary.LittleEndian.AppendUint32(b, hash)
		b = binary.AppendUvarint(b, uint64(a.known[hash].visit))
		b = append(b, digit(a.known[hash].high))
	}
	return a.learner.AppendBinary(b)
}

func (a *apprenticeScorer) readSnapshot(r *wire.Reader) {
	a.visits = r.Number(math.MaxInt32)
	a.weights = weights{r.Float64(), r.Float64()}
	a.trials = make([]trial, r.Count(24))
	for i := range a.trials {
		a.trials[i] = trial{r.Float64(), r.Float64(), r.Float64()}
	}
	for range r.Count(6) {
		hash := r.Uint32()
		cited := citation{r.Number(math.MaxInt32), r.Byte() == 1}
		if a.known == nil {
			r.Fail("addresses, where none are kept")
			return
		}
		a.known[hash] = cited
	}
	a.learner.ReadBinary(r)
}
