package judge

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
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
//	1                   for a stem of a keyword
//	recipe.description  for a stem of the description
//	recipe.examples·r   for a stem shared by the examples, r its tf-idf there
//	                    relative to the strongest one
//	−recipe.negatives·r for a stem of the negative examples, likewise
//
// The score s of a page becomes a probability by comparison with a reference
// score, that of a wanted page of middling strength:
//
//	relevance = 1 / (1 + exp(−(slope·ln(s/reference) + offset)))
//
// The reference is the median of what the examples score when each is judged
// by a query made without it (so an example does not praise itself), or with
// fewer than two examples, the score of a page that says each keyword a few
// times.
type fused struct {
	named
	recipe   recipe
	analyzer *text.Analyzer
	df       *text.DF
	full     coefficients   // from all examples
	without  []coefficients // [i]: from all examples but the i-th
	examples [][]web.Term
	phrases  [][]string
	model    atomic.Pointer[model]
	counts   *text.Counts // nil unless blending; owned by the step
	settled  []byte       // the counts that model was made of, nil before the first
	changed  bool         // counts moved since State was last asked
}

var _ Judge = (*fused)(nil)

// model is what judging needs under given document frequencies; immutable.
type model struct {
	query     query
	reference float64 // score of a middling wanted page, > 0
	unit      float64 // weight of stems at which a short text is on topic, > 0
}

// coefficients are the weights of stems before document frequencies.
type coefficients map[string]float64

// recipe holds the constants of the judge. Those of defaultRecipe were chosen
// on some topics and tested on others: see TestQuality.
type recipe struct {
	bm25          bm25
	phrase        float64 // weight of a whole phrase, by the sum of its stems' weights
	description   float64
	examples      float64
	exampleTerms  int     // stems taken from the examples
	exampleShare  float64 // least share of the examples that hold such a stem
	negatives     float64
	negativeTerms int
	slope, offset float64
	says          float64 // how often the saturated page says each keyword
}

func defaultRecipe() recipe {
	return recipe{
		bm25:          bm25{k1: 1.2, b: 0.75, mean: 400, head: 0.5},
		phrase:        0,
		description:   0.4,
		examples:      0.5,
		exampleTerms:  30,
		exampleShare:  1. / 3,
		negatives:     0.5,
		negativeTerms: 30,
		slope:         3,
		offset:        0,
		says:          3,
	}
}

func newTopic(t *topic.Topic, o Options) (Judge, error) {
	return newFused("topic", t, o, defaultRecipe()), nil
}

// newFused makes a judge by a recipe.
func newFused(name string, t *topic.Topic, o Options, r recipe) *fused {
	j := &fused{named: named{name, o.Threshold}, recipe: r, analyzer: o.Analyzer, df: o.DF, phrases: t.Phrases(o.Analyzer)}
	if j.threshold == 0 {
		j.threshold = 0.5
	}
	for _, p := range t.Examples {
		j.examples = append(j.examples, p.Terms)
	}
	var negatives [][]web.Term
	for _, p := range t.Negatives {
		negatives = append(negatives, p.Terms)
	}
	description := t.DescriptionStems(o.Analyzer)
	j.full = j.gather(description, j.examples, negatives)
	if len(j.examples) > 1 {
		for i := range j.examples {
			others := slices.Delete(slices.Clone(j.examples), i, i+1)
			j.without = append(j.without, j.gather(description, others, negatives))
		}
	}
	if o.Blend {
		stems := make([]string, 0, len(j.full))
		for s := range j.full {
			stems = append(stems, s)
		}
		j.counts = text.NewCounts(stems)
	}
	j.rebuild(j.df)
	return j
}

// gather adds up the coefficients of all stems.
func (j *fused) gather(description []string, examples, negatives [][]web.Term) coefficients {
	c := coefficients{}
	for _, p := range j.phrases {
		for _, s := range p {
			c[s] = 1
		}
	}
	for _, s := range description {
		c[s] += j.recipe.description
	}
	shared := j.shared(examples, j.recipe.exampleTerms)
	for s, r := range shared {
		c[s] += j.recipe.examples * r
	}
	for s, r := range j.shared(negatives, j.recipe.negativeTerms) {
		if _, both := shared[s]; !both {
			c[s] -= j.recipe.negatives * r
		}
	}
	return c
}

// shared are the n strongest stems by mean tf-idf of those that a sufficient
// share of the pages hold, with their weights relative to the strongest.
func (j *fused) shared(pages [][]web.Term, n int) map[string]float64 {
	weight, holders := map[string]float64{}, map[string]int{}
	for _, terms := range pages {
		for _, t := range tfVector(terms, j.df) {
			weight[t.stem] += t.weight
			holders[t.stem]++
		}
	}
	least := max(1, int(math.Ceil(j.recipe.exampleShare*float64(len(pages)))))
	if len(pages) > 1 {
		least = max(2, least)
	}
	var list []weighted
	for s, w := range weight {
		if holders[s] >= least {
			list = append(list, weighted{s, w})
		}
	}
	slices.SortFunc(list, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.stem, b.stem))
	})
	out := map[string]float64{}
	for i := range min(n, len(list)) {
		out[list[i].stem] = list[i].weight / list[0].weight
	}
	return out
}

// rebuild makes the model anew under document frequencies.
func (j *fused) rebuild(df *text.DF) {
	m := &model{query: j.query(j.full, df)}
	if len(j.without) > 0 {
		var scores []float64
		for i, c := range j.without {
			q := j.query(c, df)
			scores = append(scores, q.score(j.examples[i]))
		}
		m.reference = quantile(scores, 0.5)
	}
	if m.reference <= 0 {
		m.reference = m.query.saturated(j.mainStems(), j.recipe.says)
	}
	m.reference = max(m.reference, 1e-9)
	m.unit = j.unit(&m.query)
	j.model.Store(m)
}

func (j *fused) query(c coefficients, df *text.DF) query {
	weights := make(map[string]float64, len(c))
	for s, w := range c {
		weights[s] = w * df.IDF(s)
	}
	q := newQuery(weights, j.recipe.bm25)
	if j.recipe.phrase > 0 {
		for _, p := range j.phrases {
			if len(p) > 1 {
				q.addPhrase(p, j.recipe.phrase*q.short(p))
			}
		}
	}
	return q
}

// mainStems are the stems of the keywords, or of the whole query if there are
// none.
func (j *fused) mainStems() []string {
	var out []string
	for _, p := range j.phrases {
		out = append(out, p...)
	}
	if len(out) == 0 {
		for s := range j.full {
			out = append(out, s)
		}
		sort.Strings(out)
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
	x := j.recipe.slope*math.Log(s/m.reference) + j.recipe.offset
	return j.verdict(logistic(x), s/(s+m.reference)), nil
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

// Observe counts the page into the document frequencies, which judging takes
// up after 1, 2, 4 … blendPages pages.
func (j *fused) Observe(p *web.Page) {
	if j.counts == nil || j.counts.N() >= blendPages {
		return
	}
	j.counts.Add(func(stem string) bool {
		_, ok := slices.BinarySearchFunc(p.Terms, stem, func(t web.Term, s string) int { return strings.Compare(t.Text, s) })
		return ok
	})
	j.changed = true
	if n := j.counts.N(); n&(n-1) == 0 {
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
//	length uvarint · settled counts · present counts      as text.Counts writes
func (j *fused) State() []byte {
	if !j.changed {
		return nil
	}
	j.changed = false
	b := binary.AppendUvarint(nil, uint64(len(j.settled)))
	b = append(b, j.settled...)
	b, _ = j.counts.AppendBinary(b)
	return b
}

// Restore goes on from what State returned, for a judge of the same topic and
// options.
func (j *fused) Restore(state []byte) error {
	if len(state) == 0 {
		return nil
	}
	if j.counts == nil {
		return errors.New("judge: a state of blended document frequencies, but blending is off: resume with the options of the first run")
	}
	n, k := binary.Uvarint(state)
	if k <= 0 || n > uint64(len(state)-k) {
		return errors.New("judge: the state is cut short")
	}
	settled, present := state[k:k+int(n)], state[k+int(n):]
	if n > 0 {
		if err := j.counts.UnmarshalBinary(settled); err != nil {
			return fmt.Errorf("judge: %w", err)
		}
		j.settle()
	}
	if err := j.counts.UnmarshalBinary(present); err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	return nil
}
