package apprentice

import (
	"errors"
	"math"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/setting"
	"github.com/waggle-crawler/waggle/web"
)

// Trainer makes a model of a crawl that has ended, whatever strategy drove it
// (section 3.5). Pages may come in any order.
type Trainer struct {
	*Features
	learner *Learner
}

// Outcome is what became of the target of a link.
type Outcome struct {
	Verdict web.Verdict
	Fetched bool // it is a page
	Later   bool // and was fetched after the page that links to it
}

// NewTrainer makes a trainer of the apprentice as published or of the tempered one.
// In o.Set a setting that is absent has its default; in contrast to New, other names
// are errors. Relevances are those of verdicts.
func NewTrainer(tempered bool, o Options) (*Trainer, error) {
	set, err := setting.Complete(Settings(tempered), o.Set)
	if err != nil {
		return nil, err
	}
	o.Set = set
	f, l := New(o)
	return &Trainer{f, l}, nil
}

// Examples calls do with each example on a fetched page, and the number of its
// link. Each target that was fetched later is an example once, by the first link to
// it (section 2.2). Targets fetched before are the outcomes that links near by are
// told (section 3.8).
func (t *Trainer) Examples(p *web.Page, v web.Verdict, outcome func(web.URL) Outcome, do func(link int, x Example)) {
	var features [][]byte
	var memory []byte
	seen := make(map[web.URL]bool)
	for i := range p.Links {
		l := &p.Links[i]
		o := outcome(l.URL)
		if !o.Fetched || !o.Later || seen[l.URL] || !t.Teaches(Level(v.Relevance), Level(o.Verdict.Relevance)) {
			continue
		}
		seen[l.URL] = true
		if features == nil {
			features = t.Extract(p, v.Relevance, v.Classes)
			if t.cited {
				memory = Citations(p, func(u web.URL) (high, known bool) {
					o := outcome(u)
					return t.learner.Promises(NewExample(o.Verdict.Relevance, o.Verdict)), o.Fetched && !o.Later
				})
			}
		}
		x := NewExample(o.Verdict.Relevance, o.Verdict)
		x.Features = t.AppendIDs(nil, &web.Candidate{Features: features[i], Memory: memory})
		do(i, x)
	}
}

// Learn takes an example.
func (t *Trainer) Learn(x Example) {
	// Where the boundary stays, counts are all that is kept.
	if t.learner.Add(x); t.learner.boundary != Even && len(t.learner.waiting) >= 1000 {
		t.learner.Train()
	}
}

// Surroundings calls do with each word that is seen of a link, and its offset.
func (t *Trainer) Surroundings(p *web.Page, link int, do func(term string, offset int)) {
	n := 0
	t.Words(p, link, func(term string, _ uint64, offset, _ int) bool {
		n++
		do(term, offset)
		return n < t.linkWords
	})
}

// High tells on which side of the boundary an example lies, as it is after
// Model was made.
func (t *Trainer) High(x Example) bool { return t.learner.Class(x) == 1 }

// Predict is Pr(high) of an example's link under the model last made, ½ where
// nothing can be told yet. R(u) has no part in it.
func (t *Trainer) Predict(x Example) float64 {
	if !t.learner.ready {
		return 0.5
	}
	sum, n := t.learner.EvidenceOf(x)
	return 1 / (1 + math.Exp(-(t.learner.prior + t.learner.Tempered(n)*sum)))
}

// Model is what was learnt so far.
func (t *Trainer) Model() *model.Surroundings {
	t.learner.Train()
	return t.learner.Model(t.Features)
}

// Tempered tells whether a scorer of that name is the tempered apprentice; the
// error is for names of other scorers.
func Tempered(scorer string) (bool, error) {
	switch scorer {
	case "apprentice":
		return false, nil
	case "apprentice-tempered":
		return true, nil
	}
	return false, errors.New("scorer " + scorer + " learns otherwise: only apprentice and apprentice-tempered are trained in this way")
}
