package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// cosine judges by the cosine to the examples: to the nearest one (Liu & Milios 2010,
// section 3.4: relevant if max cos ≥ γ) or to their mean (Batsakis, Petrakis & Milios
// 2009, section 3.3). For the likeness to keywords these stand for one.
//
// Its relevance is the cosine itself and no probability. The default γ is the
// cosine that three quarters of the examples reach to the other ones; with
// fewer than two examples it is 0.2.
type cosine struct {
	identity
	analyzer text.Splitter
	df       Frequencies // nil for term frequencies
	models   []vector
	weights  map[string][]float64 // of the stems of the models, in each of them
	sources  []web.URL            // of the examples
	texts    textCache
	stems    [stemPlaces]atomic.Pointer[stemValue]
}

// stemPlaces is how many stems a judge keeps what it knows of: each has one place, by its hash, and takes
// that of another one. It is 1 MB at most.
const stemPlaces = 1 << 14

// stemValue is what matters of a stem.
type stemValue struct {
	stem    string
	idf     float64
	weights []float64 // nil = none of the models has it
}

var _ Judge = (*cosine)(nil)

func newCosine(idf, centroid bool) func(Options) (Judge, error) {
	return func(o Options) (Judge, error) {
		t := o.Topic
		name := map[[2]bool]string{
			{false, false}: "cosine-tf-max", {false, true}: "cosine-tf-centroid",
			{true, false}: "cosine-tfidf-max", {true, true}: "cosine-tfidf-centroid",
		}[[2]bool{idf, centroid}]
		c := &cosine{identity: identity{name, o.Threshold}, analyzer: text.SplitterOf(o.Analyzer)}
		if idf {
			c.df = o.DF
		}
		var examples []vector
		for _, p := range t.Examples {
			examples = append(examples, tfidfVector(p.Terms, c.df))
			c.sources = append(c.sources, p.URL)
		}
		if len(examples) == 0 {
			words := c.analyzer.Words(t.Description)
			for _, k := range t.Keywords {
				words = c.analyzer.AppendWords(words, k)
			}
			examples = []vector{textVector(words, c.df)}
		}
		if len(examples[0]) == 0 {
			return nil, errors.New("the examples hold no words")
		}
		combine := func(vs []vector) []vector {
			if centroid {
				return []vector{mean(vs)}
			}
			return vs
		}
		c.models = combine(examples)
		c.weights = make(map[string][]float64)
		for i, m := range c.models {
			for _, t := range m {
				if c.weights[t.stem] == nil {
					c.weights[t.stem] = make([]float64, len(c.models))
				}
				c.weights[t.stem][i] = t.weight
			}
		}
		if c.threshold == 0 {
			c.threshold = 0.2
			if len(examples) > 1 {
				var left []float64
				for i, v := range examples {
					others := combine(slices.Delete(slices.Clone(examples), i, i+1))
					left = append(left, nearest(v, others))
				}
				c.threshold = max(0.01, quantile(left, 0.25))
			}
		}
		return c, nil
	}
}

func nearest(v vector, models []vector) float64 {
	best := 0.
	for _, m := range models {
		best = max(best, v.dot(m))
	}
	return best
}

func (c *cosine) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	s := c.nearest(p.Terms)
	return c.verdict(s, s), nil
}

// nearest is nearest(tfidfVector(terms, c.df), c.models), with the same sums in the same order.
func (c *cosine) nearest(terms []web.Term) float64 {
	v := make(vector, 0, len(terms))
	known := make([]*stemValue, 0, len(terms))
	for _, t := range terms {
		s := c.stem(t.Text)
		v = append(v, termWeight{t.Text, float64(t.Body) * s.idf})
		known = append(known, s)
	}
	v.unit()
	best := 0.
	for i := range c.models {
		sum := 0.
		for k, s := range known {
			if s.weights != nil {
				sum += v[k].weight * s.weights[i]
			}
		}
		best = max(best, min(1, sum))
	}
	return best
}

// stem is what matters of a stem. Most of a page's were on pages before it.
func (c *cosine) stem(stem string) *stemValue {
	place := &c.stems[xxh3.HashString(stem)%stemPlaces]
	if s := place.Load(); s != nil && s.stem == stem {
		return s
	}
	s := &stemValue{stem: strings.Clone(stem), idf: 1, weights: c.weights[stem]}
	if c.df != nil {
		s.idf = c.df.IDF(stem)
	}
	place.Store(s)
	return s
}

func (c *cosine) Text(s string) float64 { return c.texts.get(s, c.textOf) }

func (c *cosine) textOf(s string) float64 {
	words := c.analyzer.Words(s)
	if !slices.ContainsFunc(words, func(w string) bool { return c.stem(w).weights != nil }) {
		return 0 // as most anchors of most pages
	}
	return c.nearest(counted(words))
}

// quantile is the q-quantile of xs, q in [0,1], by linear interpolation.
func quantile(xs []float64, q float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	at := q * float64(len(xs)-1)
	i := int(at)
	if i+1 >= len(xs) {
		return xs[len(xs)-1]
	}
	return xs[i] + (at-float64(i))*(xs[i+1]-xs[i])
}

// SimilarityKinds are the kinds of Similarities.
func SimilarityKinds() []string {
	return []string{"tf", "tfidf", "tf-max", "tfidf-max", "keywords", "keywords-idf"}
}

// CheckSimilarity tells what a topic lacks for a kind of Similarities: examples, or
// keywords that hold words.
func CheckSimilarity(kind string, t *topic.Topic, a Analyzer) error {
	switch kind {
	case "keywords", "keywords-idf":
		if !slices.ContainsFunc(t.Keywords, func(k string) bool { return len(text.SplitterOf(a).Words(k)) > 0 }) {
			return fmt.Errorf("similarity %s: it is the likeness to the keywords: give keywords that hold words", kind)
		}
	case "tf", "tfidf", "tf-max", "tfidf-max":
		if len(t.Examples) == 0 {
			return fmt.Errorf("similarity %s: it is the likeness to example pages: give some, or choose the similarity judge or keywords", kind)
		}
	}
	return nil
}

// Similarities returns the cosine to the topic as scorers take it: of a page
// and of a short text, both in [0,1]. kind is "tf" or "tfidf", to the mean of
// the examples, "tf-max" or "tfidf-max", to the nearest of them, or "keywords" or
// "keywords-idf", to the keywords alone whatever else is known of the topic
// (Batsakis, Petrakis & Milios 2009, sections 3.1 and 4.1).
func Similarities(kind string, t *topic.Topic, a Analyzer) (page func(*web.Page, web.Verdict) float64, anchor func(string) float64, err error) {
	if err := CheckSimilarity(kind, t, a); err != nil {
		return nil, nil, err
	}
	switch kind {
	case "keywords", "keywords-idf":
		t = &topic.Topic{Name: t.Name, Keywords: t.Keywords}
		kind = map[string]string{"keywords": "tf-centroid", "keywords-idf": "tfidf-centroid"}[kind]
	case "tf", "tfidf":
		kind += "-centroid"
	}
	d, ok := Describe("cosine-" + kind)
	if !ok {
		return nil, nil, fmt.Errorf("similarity %q is none of %s", strings.TrimSuffix(kind, "-centroid"), strings.Join(SimilarityKinds(), ", "))
	}
	d.Needs = []Need{NeedTopic()} // keywords stand for an example
	j, err := d.New(Options{Topic: t, Analyzer: a})
	if err != nil {
		return nil, nil, err
	}
	return func(p *web.Page, _ web.Verdict) float64 {
		v, err := j.Judge(context.Background(), p)
		if err != nil {
			return 0
		}
		return v.Similarity
	}, j.Text, nil
}
