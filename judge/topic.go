package judge

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// fused is the judge "topic": one BM25 query made of all that a topic gives,
// and the score calibrated to a probability.
//
// The weight of a stem is its inverse document frequency times the sum of
//
//	fit               for a stem of a keyword; a phrase of several stems gives
//	                  part of it to each, and more where all of them occur
//	description·fit   for a stem of the description
//	examples·r        for a stem that the examples share
//	−negatives·r      for a stem that the negative examples share
//
// with the constants of recipe. fit grows from recipe.fit to 1 with the share
// of the examples that hold the stem, so that a keyword which wanted pages do
// not use counts less. r is the weight of the stem in the examples, relative
// to the strongest:
//
//	r ∝ (holders/examples)^offer · Σ_examples (1 + ln(body + headTerm·head))·idf / norm
//
// The score s of a page becomes a probability by comparison with a reference
// score, that of a wanted page of middling strength:
//
//	relevance = 1 / (1 + exp(−(slope·ln(s/reference) + offset)))
//
// The reference is the median of what the examples score when each is judged
// by a query made without it (so that no example praises itself) or, with
// fewer than two examples, a share of what a page scores that says each
// keyword a few times. At the reference the relevance is about 0.23; γ is 0.25
// unless given: a page is relevant that scores about as high as the median
// example does.
//
// The document frequencies are those of English at first, by which words of
// the site's menus look as rare as those of the topic. As pages are observed,
// the frequencies of those below the reference, the hay, are blended in for the
// stems taken from the examples. What a person wrote keeps the frequencies of
// English: that a crawl is full of a keyword does not make it a lesser one.
type fused struct {
	named
	recipe   recipe
	analyzer *text.Analyzer
	df       *text.DF // to start from
	phrases  [][]string
	words    []string     // of the description
	examples [][]web.Term // by page
	against  [][]web.Term // of the negative examples
	model    atomic.Pointer[model]

	// Owned by the step; counts is nil where nothing is blended.
	counts   *text.Counts
	observed int    // pages
	settled  []byte // the counts that model was made of, nil before the first
	changed  bool   // since State was last asked
}

var _ Judge = (*fused)(nil)

// model is what judging needs under given document frequencies; immutable.
type model struct {
	query     query
	reference float64 // score of a middling wanted page, > 0
	unit      float64 // weight of stems at which a short text is on topic, > 0
}

// recipe holds the constants of the judge. Those of defaultRecipe were chosen
// on the topics that TestQuality marks, and tested on the others.
type recipe struct {
	bm25          bm25
	fit           float64 // least part of a keyword's weight that does not depend on the examples
	part          float64 // weight of a stem of a phrase, by that of a keyword of one stem
	phrase        float64 // weight of a whole phrase, by the sum of its stems' weights
	description   float64
	examples      float64
	exampleTerms  int     // stems taken from the examples
	exampleShare  float64 // least share of the examples that hold such a stem
	offer         float64 // exponent of that share
	headTerm      float64 // what an occurrence in a heading counts more in examples
	negatives     float64
	slope, offset float64
	says          float64 // how often the page says each keyword that gives the reference
	middling      float64 // share of its score that is the reference
}

func defaultRecipe() recipe {
	return recipe{
		bm25:         bm25{k1: 1.2, b: 0.75, mean: 400, head: 3},
		fit:          0.25,
		part:         0.5,
		phrase:       0.5,
		description:  0.4,
		examples:     0.5,
		exampleTerms: 25,
		exampleShare: 1. / 3,
		offer:        1.5,
		headTerm:     3,
		negatives:    0.5,
		slope:        3,
		offset:       -1.2,
		says:         3,
		middling:     1. / 3,
	}
}

// topicThreshold is the default γ.
const topicThreshold = 0.25

func newTopic(t *topic.Topic, o Options) (Judge, error) {
	return newFused("topic", t, o, defaultRecipe()), nil
}

// newFused makes a judge by a recipe.
func newFused(name string, t *topic.Topic, o Options, r recipe) *fused {
	j := &fused{named: named{name, o.Threshold}, recipe: r, analyzer: o.Analyzer, df: o.DF, phrases: t.Phrases(o.Analyzer)}
	if j.threshold == 0 {
		j.threshold = topicThreshold
	}
	for _, p := range t.Examples {
		j.examples = append(j.examples, p.Terms)
	}
	for _, p := range t.Negatives {
		j.against = append(j.against, p.Terms)
	}
	j.words = t.DescriptionStems(o.Analyzer)
	if len(j.examples) > 0 && !o.Frozen {
		j.counts = text.NewCounts(j.vocabulary())
	}
	j.rebuild(j.df)
	return j
}

// vocabulary holds every stem that can be taken from the examples.
func (j *fused) vocabulary() []string {
	set := map[string]struct{}{}
	for _, terms := range slices.Concat(j.examples, j.against) {
		for _, t := range terms {
			set[t.Text] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// query makes the query that learns from the given examples.
func (j *fused) query(examples [][]web.Term, df *text.DF) query {
	r := &j.recipe
	given := j.df // for what a person wrote
	weights := map[string]float64{}
	for _, p := range j.phrases {
		part := r.part
		if len(p) == 1 {
			part = 1
		}
		for _, s := range p {
			weights[s] = max(weights[s], part*j.fit(s, examples)*given.IDF(s))
		}
	}
	for _, s := range j.words {
		weights[s] += r.description * j.fit(s, examples) * given.IDF(s)
	}
	whole := make([]float64, len(j.phrases)) // weights of the phrases
	for i, p := range j.phrases {
		for _, s := range p {
			whole[i] += r.phrase * weights[s]
		}
	}
	wanted := j.shared(examples, df)
	for s, rel := range wanted {
		weights[s] += r.examples * rel * df.IDF(s)
	}
	for s, rel := range j.shared(j.against, df) {
		if _, both := wanted[s]; !both {
			weights[s] -= r.negatives * rel * df.IDF(s)
		}
	}
	q := newQuery(weights, r.bm25)
	for i, p := range j.phrases {
		if len(p) > 1 {
			q.addPhrase(p, whole[i])
		}
	}
	return q
}

// fit is the part of a given stem's weight that the examples leave it, in
// [recipe.fit, 1].
func (j *fused) fit(stem string, examples [][]web.Term) float64 {
	holders := 0.
	for _, terms := range examples {
		if hasTerm(terms, stem) {
			holders++
		}
	}
	return j.recipe.fit + (1-j.recipe.fit)*(holders+1)/float64(len(examples)+1)
}

// shared are the strongest stems of those that a sufficient share of the pages
// hold, with their weights r relative to the strongest, in (0,1].
func (j *fused) shared(pages [][]web.Term, df *text.DF) map[string]float64 {
	weight, holders := map[string]float64{}, map[string]float64{}
	for _, terms := range pages {
		v := make(vector, 0, len(terms))
		for _, t := range terms {
			tf := 1 + math.Log(max(1, float64(t.Body)+j.recipe.headTerm*float64(t.Head)))
			v = append(v, weighted{t.Text, tf * df.IDF(t.Text)})
		}
		for _, t := range v.unit() {
			weight[t.stem] += t.weight
			holders[t.stem]++
		}
	}
	n := float64(len(pages))
	least := max(min(2, n), j.recipe.exampleShare*n)
	var list []weighted
	for s, w := range weight {
		if holders[s] >= least {
			list = append(list, weighted{s, w * math.Pow(holders[s]/n, j.recipe.offer)})
		}
	}
	slices.SortFunc(list, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.stem, b.stem))
	})
	list = list[:min(len(list), j.recipe.exampleTerms)]
	out := make(map[string]float64, len(list))
	for _, t := range list {
		out[t.stem] = t.weight / list[0].weight
	}
	return out
}

// rebuild makes the model anew under document frequencies.
func (j *fused) rebuild(df *text.DF) {
	m := &model{query: j.query(j.examples, df)}
	if len(j.examples) > 1 {
		var scores []float64
		for i, terms := range j.examples {
			others := slices.Delete(slices.Clone(j.examples), i, i+1)
			q := j.query(others, df)
			scores = append(scores, q.score(terms))
		}
		m.reference = quantile(scores, 0.5)
	}
	if m.reference <= 0 {
		m.reference = j.recipe.middling * m.query.saturated(j.mainStems(&m.query), j.recipe.says)
	}
	m.reference = max(m.reference, 1e-9)
	m.unit = j.unit(&m.query)
	j.model.Store(m)
}

// mainStems are the stems of the keywords, or of the whole query if there are
// none.
func (j *fused) mainStems(q *query) []string {
	out := slices.Concat(j.phrases...)
	if len(out) == 0 {
		for _, t := range q.terms {
			out = append(out, t.stem)
		}
	}
	return out
}

// unit is the weight of the strongest keyword, or of the three strongest stems
// if there are no keywords.
func (j *fused) unit(q *query) float64 {
	best := 0.
	for _, p := range j.phrases {
		best = max(best, q.short(p))
	}
	if best > 0 {
		return best
	}
	var ws []float64
	for _, t := range q.terms {
		ws = append(ws, t.weight)
	}
	slices.SortFunc(ws, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, w := range ws[:min(3, len(ws))] {
		best += max(0, w)
	}
	return max(best, 1e-9)
}

// Judge compares the page's score with the reference. The similarity of the
// verdict is s/(s+reference).
func (j *fused) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	m := j.model.Load()
	s := m.query.score(p.Terms)
	if s == 0 {
		return j.verdict(0, 0), nil
	}
	relevance := logistic(j.recipe.slope*math.Log(s/m.reference) + j.recipe.offset)
	return j.verdict(relevance, s/(s+m.reference)), nil
}

// Text is the share of the strongest keyword's weight that the text holds, at
// most 1.
func (j *fused) Text(s string) float64 {
	m := j.model.Load()
	return min(1, m.query.short(j.analyzer.Words(s))/m.unit)
}

// blendPages is the number of pages after which the document frequencies are
// frozen.
const blendPages = 256

// Observe counts a page of hay into the document frequencies, which judging
// takes up after 1, 2, 4 … blendPages pages.
func (j *fused) Observe(p *web.Page) {
	if j.counts == nil || j.observed == blendPages {
		return
	}
	j.observed++
	j.changed = true
	if m := j.model.Load(); m.query.score(p.Terms) < m.reference {
		j.counts.Add(func(stem string) bool { return hasTerm(p.Terms, stem) })
	}
	if n := j.observed; n&(n-1) == 0 {
		j.settle()
	}
}

// settle makes a model of the counts so far.
func (j *fused) settle() {
	j.settled, _ = j.counts.AppendBinary(nil)
	j.rebuild(j.df.Blend(j.counts))
}

// State holds the counts that the model was made of and those of now:
//
//	pages observed uvarint · length uvarint · settled counts · present counts
//
// the counts as text.Counts writes them.
func (j *fused) State() []byte {
	if !j.changed {
		return nil
	}
	j.changed = false
	b := binary.AppendUvarint(nil, uint64(j.observed))
	b = binary.AppendUvarint(b, uint64(len(j.settled)))
	b = append(b, j.settled...)
	b, _ = j.counts.AppendBinary(b)
	return b
}

// Restore goes on from what State returned, for a judge of the same topic and
// options. After an error the judge is as before.
func (j *fused) Restore(state []byte) error {
	if len(state) == 0 {
		return nil
	}
	if j.counts == nil {
		return fmt.Errorf("judge %s: a state of document frequencies, but they are frozen here: resume with the options of the first run", j.name)
	}
	errShape := fmt.Errorf("judge %s: the state is not one of this topic: resume with the topic of the first run", j.name)
	observed, k := binary.Uvarint(state)
	if k <= 0 || observed > blendPages {
		return errShape
	}
	state = state[k:]
	n, k := binary.Uvarint(state)
	if k <= 0 || n > uint64(len(state)-k) {
		return errShape
	}
	settled, present := state[k:k+int(n)], state[k+int(n):]
	old, now := text.NewCounts(j.vocabulary()), text.NewCounts(j.vocabulary())
	if n > 0 && old.UnmarshalBinary(settled) != nil || now.UnmarshalBinary(present) != nil {
		return errShape
	}
	if n > 0 {
		j.counts = old
		j.settle()
	}
	j.counts, j.observed = now, int(observed)
	return nil
}

// hasTerm tells whether terms, sorted by text, hold a stem.
func hasTerm(terms []web.Term, stem string) bool {
	_, ok := slices.BinarySearchFunc(terms, stem, func(t web.Term, s string) int { return strings.Compare(t.Text, s) })
	return ok
}
