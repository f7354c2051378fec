package score

import (
	"encoding/binary"
	"math"

	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// pathLearner follows labelled paths: the priority of a link is what the page
// behind it is worth on the way to a goal, by the path that led to the link.
//
// α and δ of a page travel with its links. A page to which several paths lead
// waits with the best of them, which is what a frontier does with priorities:
// the maximum. The paper's sum, and the noisy-or that bounds it, need the worth of
// an address over all pages that link there: then it is kept, by a 64-bit hash
// of the address, within the bound of the journal.
//
// Source: Vydiswaran & Sarawagi, Learning to Extract Information from Large
// Websites using Sequential Models, 2005.
type pathLearner struct {
	journal
	guide *guide.Guide
	join  guide.Join
	links map[uint64]float64 // worth over all paths so far; nil for the maximum
}

var (
	_ Scorer    = (*pathLearner)(nil)
	_ Explainer = (*pathLearner)(nil)
)

func pathLearnerSettings() []Setting {
	return append(guideSettings(),
		Setting{Name: "join", Max: 2, Whole: true, Line: "worth of a page that several pages link to: 0 the maximum, 1 the sum, as printed, 2 noisy-or"},
		journalSetting())
}

// guideSettings are those of every scorer that follows a Guide.
func guideSettings() []Setting {
	return []Setting{
		{Name: "printed", Max: 1, Whole: true, Line: "1 takes the rewards as printed; 0 discounts them by the distance to the goal (vstd)"},
		{Name: "endless", Max: 1, Whole: true, Line: "1 ignores that paths end at goals and wrong turns, as printed rewards do; 0 counts how often they go on"},
	}
}

func guideOf(o Options) (*guide.Guide, error) {
	return guide.New(o.Model, guide.Options{Printed: o.set("printed") >= 0.5, Endless: o.set("endless") >= 0.5})
}

func newPathLearner(o Options) (Scorer, error) {
	g, err := guideOf(o)
	if err != nil {
		return nil, err
	}
	l := &pathLearner{journal: newJournal("pathlearner", o), guide: g, join: guide.Join(o.set("join"))}
	if l.join != guide.Max {
		l.links = make(map[uint64]float64)
	}
	return l, nil
}

// Extract gives what each link shows: the words of the model that it holds,
//
//	{ ID, less that of the one before uvarint }… · 0
func (l *pathLearner) Extract(p *web.Page, _ web.Verdict) [][]byte { return l.guide.Links(p) }

// Visit returns the place of the page, see Place. Where worths are joined it
// takes down those of its links; several links of one page to another are one
// path, the best of them. The entry is
//
//	{ hash of an address uint64 LE · worth float32 LE }…
func (l *pathLearner) Visit(c *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	if p == nil {
		return nil
	}
	memory, _ := l.guide.Visit(c.Features, c.Memory, p).AppendBinary(nil) // never fails
	if l.links == nil || len(p.Links) == 0 {
		return memory
	}
	at := l.guide.Place(memory)
	var line []byte
	where := make(map[uint64]int, len(p.Links)) // of an address in line
	for i, features := range l.guide.Links(p) {
		worth, hash := float32(l.guide.Rate(at, features)), graphHash(p.Links[i].URL)
		if k, twice := where[hash]; !twice {
			where[hash] = len(line)
			line = binary.LittleEndian.AppendUint64(line, hash)
			line = binary.LittleEndian.AppendUint32(line, math.Float32bits(worth))
		} else if worth > math.Float32frombits(binary.LittleEndian.Uint32(line[k+8:])) {
			binary.LittleEndian.PutUint32(line[k+8:], math.Float32bits(worth))
		}
	}
	if l.add(line) {
		l.apply(&entry{b: line})
	}
	return memory
}

func (l *pathLearner) apply(e *entry) {
	for len(e.b) > 0 {
		hash, worth := e.uint64(), float64(math.Float32frombits(e.uint32()))
		if !(worth >= 0 && worth <= 1) {
			e.err = errEntry
		}
		if e.err != nil || l.links == nil {
			return
		}
		l.links[hash] = l.join.Add(l.links[hash], worth)
	}
}

// Score is in [0,1], and for the sum at least 0. A seed goes first, where the
// paper has 0 for it: with several sites in one queue the next site would wait
// until the first one is through.
func (l *pathLearner) Score(c *web.Candidate) float64 {
	if len(c.Features) == 0 {
		if l.join == guide.Sum {
			return math.MaxFloat64
		}
		return 1
	}
	if worth, ok := l.links[graphHash(c.URL)]; ok {
		return worth
	}
	return l.guide.Rate(l.guide.Place(c.Memory), c.Features) // or a redirect's target
}

// Recall is the place of the page.
func (l *pathLearner) Recall(c *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	if p == nil {
		return nil
	}
	memory, _ := l.guide.Visit(c.Features, c.Memory, p).AppendBinary(nil) // never fails
	return memory
}

// Explain tells what a link without a known word would be worth here, what its words add, and what
// other paths to the same page do.
func (l *pathLearner) Explain(_ *web.Page, _ web.Verdict, _ int, c *web.Candidate) []Reason {
	if len(c.Features) == 0 {
		return nil
	}
	place := l.guide.Place(c.Memory)
	silent, own := l.guide.Rate(place, []byte{0}), l.guide.Rate(place, c.Features)
	out := []Reason{
		{Kind: ReasonSeen, What: "what a link without a word that the model knows is worth at this place of the path", Times: 1, Weight: silent},
		{Kind: ReasonSeen, What: "the words of the link and of its address", Times: 1, Weight: own - silent},
	}
	if others := l.Score(c) - own; others != 0 {
		out = append(out, Reason{Kind: ReasonSeen, What: "other paths that lead to the same page", Times: 1, Weight: others})
	}
	return out
}

// Rescores tells that a link grows with each path that leads there.
func (l *pathLearner) Rescores() bool { return l.links != nil }

func (l *pathLearner) Restore(state []byte) error { return l.restore(state, l.apply) }

// newApproximate makes the crawler that the paper compares with and calls
// accelerated focused crawler: maximum entropy over the labels by what the link
// shows, without the path, and the link that is likeliest to lead to a goal goes
// first (section 4.4.2). Chakrabarti's crawler is the scorer apprentice.
func newApproximate(o Options) (Scorer, error) {
	m, err := model.Of[*model.Paths](o.Model, model.PathLearner)
	if err != nil {
		return nil, err
	}
	return &constant{seed: 1, values: func(dst []float64, p *web.Page) {
		for i := range dst {
			dst[i] = leadsToGoal(m, m.Link(&p.Links[i]))
		}
	}}, nil
}

// leadsToGoal is Pr(Goal | what the link shows).
func leadsToGoal(m *model.Paths, link sparse.Vector) float64 {
	emit := make([]float64, len(m.States))
	m.Alone.Emit(emit, model.PathLink, link)
	most, sum := math.Inf(-1), 0.
	for _, x := range emit {
		most = max(most, x)
	}
	for _, x := range emit {
		sum += math.Exp(x - most)
	}
	return math.Exp(emit[m.Goal]-most) / sum
}
