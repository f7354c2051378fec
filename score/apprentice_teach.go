package score

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// Teacher makes an apprentice's model of a crawl that has ended, whatever
// strategy drove it (Chakrabarti, Punera & Subramanyam 2002, section 3.5). Pages
// may come in any order.
type Teacher struct {
	a *apprentice
}

// Outcome is what became of the target of a link.
type Outcome struct {
	Verdict web.Verdict
	Fetched bool // it is a page
	Later   bool // and was fetched after the page that links to it
}

// NewTeacher makes a teacher of an apprentice of that name and those options:
// those that say what is seen of a link and where high begins. Relevances are
// those of verdicts.
func NewTeacher(name string, o Options) (*Teacher, error) {
	o.Model, o.Page = nil, nil
	if _, set := o.Set["online"]; set {
		o.Set = maps.Clone(o.Set)
		delete(o.Set, "online")
	}
	s, err := New(name, o)
	if err != nil {
		return nil, err
	}
	a, ok := s.(*apprentice)
	if !ok {
		return nil, cannotTeach(name)
	}
	return &Teacher{a}, nil
}

type cannotTeach string

func (name cannotTeach) Error() string {
	return "scorer " + string(name) + " learns otherwise: apprentice and apprentice-tempered are taught so"
}

// Teach learns from the links of a fetched page. Each target that was fetched
// later is an example once, by the first link to it (section 2.2). Targets fetched
// before are the outcomes that links near by are told (section 3.8).
func (t *Teacher) Teach(p *web.Page, v web.Verdict, outcome func(web.URL) Outcome) {
	t.Examples(p, v, outcome, func(_ int, x Example) { t.Learn(x) })
}

// Example is a link with what is known of its target.
type Example struct {
	x example
	// Target is the relevance of the target, in [0,1].
	Target float64
}

// Examples calls do with each example on a page, and the number of its link.
func (t *Teacher) Examples(p *web.Page, v web.Verdict, outcome func(web.URL) Outcome, do func(link int, x Example)) {
	a := t.a
	var features [][]byte
	var memory []byte
	seen := make(map[web.URL]bool)
	for i := range p.Links {
		l := &p.Links[i]
		o := outcome(l.URL)
		if !o.Fetched || !o.Later || seen[l.URL] {
			continue
		}
		seen[l.URL] = true
		if features == nil {
			features = a.Extract(p, v)
			if a.cocite {
				memory = citations(p, func(u web.URL) (high, known bool) {
					o := outcome(u)
					return a.promises(exampleOf(o.Verdict.Relevance, o.Verdict)), o.Fetched && !o.Later
				})
			}
		}
		relevance := a.page(nil, o.Verdict)
		x := exampleOf(relevance, o.Verdict)
		a.each(&web.Candidate{Features: features[i], Memory: memory}, func(id uint32) {
			x.features = binary.LittleEndian.AppendUint32(x.features, id)
		})
		do(i, Example{x, relevance})
	}
}

func exampleOf(relevance float64, v web.Verdict) example {
	return example{relevance: level(relevance), relevant: v.Relevant}
}

// Learn takes an example in.
func (t *Teacher) Learn(x Example) {
	// Where the boundary stays, counts are all that is kept.
	if t.a.waiting = append(t.a.waiting, x.x); t.a.boundary != even && len(t.a.waiting) >= 1000 {
		t.a.train()
	}
}

// Words calls do with each word that is seen of a link, and its offset.
func (t *Teacher) Words(p *web.Page, link int, do func(term string, offset int)) {
	r := reading{sight: &t.a.sight, p: p}
	n := 0
	r.around(&p.Links[link], func(w word, offset int) bool {
		n++
		do(w.term, offset)
		return n < apprenticeWords
	})
}

// High tells on which side of the boundary an example lies, as it is after
// Model was made.
func (t *Teacher) High(x Example) bool { return t.a.class(x.x) == 1 }

// Predict is Pr(high) of an example's link under the model last made, ½ where
// nothing can be told yet. R(u) has no part in it.
func (t *Teacher) Predict(x Example) float64 {
	if !t.a.ready {
		return 0.5
	}
	sum, n := t.a.counts.evidence(x.x.features)
	return 1 / (1 + math.Exp(-(t.a.prior + t.a.tempered(n)*sum)))
}

// Model is what was learnt so far.
func (t *Teacher) Model() *model.Surroundings {
	a := t.a
	a.train()
	m := &model.Surroundings{Reach: a.reach, Plain: a.plain, Cited: a.cocite}
	for class, n := range a.counts.links {
		m.Links[class] = uint64(n)
	}
	for _, s := range a.counts.slots {
		if s.n != [2]uint32{} {
			m.Features = append(m.Features, model.FeatureCount{ID: s.id, Low: s.n[0], High: s.n[1]})
		}
	}
	slices.SortFunc(m.Features, func(x, y model.FeatureCount) int { return cmp.Compare(x.ID, y.ID) })
	return m
}
