package score

import (
	"strings"
	"unicode"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// Thesaurus tells which words are related to a word: those of the same
// meaning, and those of a wider or narrower one. A word may be a phrase; what
// it does not know has none. It is read while a scorer is made.
type Thesaurus interface {
	Related(word string) (synonyms, wider []string)
}

// semantic is best-first-both with words that count by their meaning:
//
//	sim(topic, text) = Σ_k Σ_l sim(k,l)·w_k·w_l / Σ_k Σ_l w_k·w_l
//	priority         = w·sim(topic, page) + (1−w)·sim(topic, anchor),  w = ½
//
// k runs over the words of the keywords, w_k how often they hold it; l over
// the words of the text, w_l its tf, times idf where the setting says so.
//
//	synonym    sim(k,l) = 1 if k = l or they share a synonym set, else 0
//	hypernym   the same, else ½ if one is a hypernym of the other, else 0
//
// Source: Batsakis, Petrakis & Milios 2009, section 3.2. Equation 4 is lost in the
// text that was available; this is the form that is commonly given.
//
// Words are compared as stems. A synonym of several words stands for none, as
// the words of a text are single; a keyword of several words gives its words,
// and the synonyms of the phrase and of each word to all of them.
type semantic struct {
	stateless
	// row holds by the stem l its Σ_k sim(k,l)·w_k / Σ_k w_k, in (0,1]; what
	// is absent has 0.
	row      map[string]float64
	analyzer text.Splitter
	df       Frequencies // nil without idf
	weight   float64     // w
}

var _ Scorer = (*semantic)(nil)

func semanticSettings(wider bool) []Setting {
	s := []Setting{
		{Name: "weight", Default: 0.5, Max: 1, Line: "share of the page in the priority"},
		{Name: "idf", Max: 1, Line: "1 weighs the words of texts with idf too"},
	}
	if wider {
		s = append(s, Setting{Name: "related", Default: 0.5, Max: 1, Line: "similarity of a wider or narrower word"})
	}
	return s
}

func newSemantic(wider bool) func(Options) (Scorer, error) {
	return func(o Options) (Scorer, error) {
		s := &semantic{row: make(map[string]float64), analyzer: text.SplitterOf(o.Analyzer), weight: o.set("weight")}
		if o.set("idf") >= 0.5 {
			if s.df = o.DF; s.df == nil {
				s.df = text.BackgroundOf(text.SplitterOf(o.Analyzer).Languages()...)
			}
		}
		related := 0.
		if wider {
			related = o.set("related")
		}
		total := 0.
		for _, phrase := range o.Keywords {
			for _, k := range o.Analyzer.Words(phrase) {
				total++
				for l, sim := range alike(o, phrase, k, related) {
					s.row[l] += sim
				}
			}
		}
		for l := range s.row {
			s.row[l] /= total
		}
		return s, nil
	}
}

// alike returns sim(k,·) for the stem k, a word of phrase, by stem.
func alike(o Options, phrase, k string, related float64) map[string]float64 {
	sim := map[string]float64{k: 1}
	add := func(words []string, value float64) {
		for _, w := range words {
			if stems := o.Analyzer.Words(w); len(stems) == 1 && value > sim[stems[0]] {
				sim[stems[0]] = value
			}
		}
	}
	look := func(word string) {
		synonyms, wider := o.Thesaurus.Related(word)
		add(synonyms, 1)
		add(wider, related)
	}
	look(phrase)
	for _, word := range fields(phrase) {
		if stems := o.Analyzer.Words(word); len(stems) == 1 && stems[0] == k {
			look(word)
		}
	}
	return sim
}

// Extract measures the page once and each anchor.
func (s *semantic) Extract(p *web.Page, _ web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	buf := make([]byte, 0, 8*len(p.Links))
	var sum, all float64
	for _, t := range p.Terms {
		w := float64(t.Body) * s.idf(t.Text)
		sum += s.row[t.Text] * w
		all += w
	}
	page := ratio(sum, all)
	var words []string
	for i := range p.Links {
		sum, all = 0, 0
		words = s.analyzer.AppendWords(words[:0], p.Links[i].Anchor)
		for _, l := range words {
			w := s.idf(l)
			sum += s.row[l] * w
			all += w
		}
		buf = similarities{page: page, anchor: ratio(sum, all)}.append(buf)
		out[i] = buf[8*i : 8*i+8 : 8*i+8]
	}
	return out
}

func (s *semantic) idf(stem string) float64 {
	if s.df == nil {
		return 1
	}
	return s.df.IDF(stem)
}

// fields are the words of a phrase as they stand.
func fields(phrase string) []string {
	return strings.FieldsFunc(phrase, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// ratio is a/b, 0 for 0/0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Score is in [0,1].
func (s *semantic) Score(c *web.Candidate) float64 {
	parts, ok := readSimilarities(c.Features)
	if !ok {
		return 1
	}
	return s.weight*parts.page + (1-s.weight)*parts.anchor
}
