package judge

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/learn/metric"
	"github.com/waggle-crawler/waggle/web"
)

var _ Doubter = (*topicJudge)(nil)

// heldOutExamples bounds how many examples are judged by what the others teach.
const heldOutExamples = 30

// Doubts are what can be said before the first page: that there is little to
// judge by, and which examples are unlike the others.
func (j *topicJudge) Doubts() (notes []string, err error) {
	written := len(j.phrases) > 0 || len(j.descriptionStems) > 0
	if len(j.examples) == 1 && !written {
		notes = append(notes, "the judge has one example page and no keywords: it cannot tell what of that page is wanted; give keywords, or more examples")
	}
	if j.memory == nil {
		return notes, nil
	}
	if j.strange() {
		notes = append(notes, "no word of the keywords stands on an example page: if the examples show something else, leave them out")
	}
	if unlike := j.unlike(); len(unlike) > 0 {
		list := make([]string, 0, 3)
		for _, u := range unlike[:min(3, len(unlike))] {
			list = append(list, exampleName(u))
		}
		if n := len(unlike) - len(list); n > 0 {
			list = append(list, fmt.Sprintf("%d more", n))
		}
		of := strconv.Itoa(len(j.examples))
		if len(j.examples) > heldOutExamples {
			of = fmt.Sprintf("the first %d", heldOutExamples)
		}
		notes = append(notes, fmt.Sprintf("%d of %s example pages look unlike the others, and unlike the keywords: %s; leave out what shows something else",
			len(unlike), of, strings.Join(list, ", ")))
	}
	return notes, nil
}

// strange tells whether the keywords and all examples have no word in common. Examples in
// another language than the keywords cannot have any.
func (j *topicJudge) strange() bool {
	for _, p := range j.examples {
		if p.TermLanguage != "" && p.TermLanguage != j.analyzer.Languages()[0] {
			return false
		}
		for stem := range j.exampleCounts(p) {
			if _, ok := j.keywordStems[stem]; ok {
				return false
			}
		}
	}
	return len(j.examples) > 0 && len(j.keywordStems) > 0
}

// unlike are the examples that score less than a quarter of what the median does,
// each by a query that does not know it. Of fewer than three nothing can be said.
func (j *topicJudge) unlike() []web.URL {
	scores := j.heldOut()
	if len(scores) < 3 {
		return nil
	}
	var out []web.URL
	middle := quantile(scores, 0.5)
	for i, s := range scores {
		if s < middle/4 {
			out = append(out, j.examples[i].URL)
		}
	}
	return out
}

// heldOut are the scores of examples, each by a query made without it.
func (j *topicJudge) heldOut() []float64 {
	n := min(len(j.examples), heldOutExamples)
	if n < 2 {
		return nil
	}
	scores := make([]float64, n)
	for i := range scores {
		others := *j.shallow()
		others.examples = slices.Delete(slices.Clone(j.examples[:n]), i, i+1)
		v := &view{}
		v.query, v.reference = others.newQuery(j.memory)
		p := j.examples[i]
		scores[i] = v.score(p, j.templates.of(p.URL.Host()), j.analyzer.In(p.TermLanguage))
	}
	return scores
}

// shallow is a judge with what queries are made of, and nothing that changes.
func (j *topicJudge) shallow() *topicJudge {
	return &topicJudge{
		identity: j.identity, constants: j.constants, analyzer: j.analyzer, otherLanguages: j.otherLanguages, df: j.df, furniture: j.furniture,
		phrases: j.phrases, descriptionStems: j.descriptionStems, examples: j.examples, negatives: j.negatives, ownSites: j.ownSites, keywordStems: j.keywordStems, templates: j.templates,
	}
}

// Bounds of doubts about the pages seen so far.
const (
	doubtPages   = 64  // after which and after blendPages they are looked at
	fewestPages  = 5   // at the end of a crawl, of which it is said that none is relevant
	muchRelevant = 0.6 // share of relevant pages: either the seeds lie amid the topic, or all is taken for it
	commonShare  = 0.5 // share of the other pages that hold a keyword which tells little then
	fewestOthers = 8   // pages of which such a share is told
	fewRelevant  = 10  // one page in so many, or fewer, is taken for relevant where its language is no matter
	poorOrder    = 0.8 // share of pairs of an example and a page in the right order
)

// Notes are what the first pages of a crawl show of how well the judge can tell
// wanted pages from others, each told once: nil when there is nothing to say.
func (j *topicJudge) Notes() []string {
	m := j.memory
	if m == nil {
		return nil
	}
	n := len(m.pages) // other workers may have told of several since
	if !(m.looked < doubtPages && n >= doubtPages || m.looked < blendPages && n >= blendPages) {
		return nil
	}
	m.looked = n
	m.notes = j.pageNotes(false)
	return m.notes
}

// LastNotes are all doubts that hold when a crawl ends, those of before the first page
// included, and whether they are others than those that Notes told last.
func (j *topicJudge) LastNotes() (notes []string, others bool) {
	m := j.memory
	if m == nil {
		return nil, false
	}
	notes, err := j.Doubts()
	if err != nil {
		notes = nil // a crawl that began with them was told
	}
	if notes = append(notes, j.pageNotes(true)...); slices.Equal(notes, m.notes) {
		return nil, false
	}
	m.notes = notes
	return notes, true
}

// pageNotes are the doubts that the remembered pages raise, at the end of a crawl or before.
func (j *topicJudge) pageNotes(end bool) (notes []string) {
	m := j.memory
	n := len(m.pages)
	if n < fewestPages {
		return nil
	}
	scores := m.scores(j.view.Load(), j.templates)
	relevant := make([]bool, n)
	taken := 0
	for i, s := range scores {
		is := float64(m.pages[i].said)
		if math.IsNaN(is) {
			is = j.verdictFor(j.view.Load(), s).Relevance
		}
		if relevant[i] = is >= j.threshold; relevant[i] {
			taken++
		}
	}
	if note := j.languageNote(n, taken); note != "" && (end || n >= doubtPages) {
		notes = append(notes, note)
	} else if taken == 0 && (end || n == blendPages) {
		notes = append(notes, fmt.Sprintf("none of the first %d pages is taken for relevant: other seeds, more keywords or a lower threshold would help", n))
	}
	if n < doubtPages {
		return notes
	}
	if common := j.commonKeywords(relevant, n-taken); len(common) > 0 && taken > 0 {
		notes = append(notes, fmt.Sprintf("of the first %d pages more than half of those that are not taken for relevant hold each of these keywords too, which tell little then: %s; more special ones, or examples, would help", n, strings.Join(common, ", ")))
	}
	if float64(taken) > muchRelevant*float64(n) {
		notes = append(notes, fmt.Sprintf("%d of the first %d pages are taken for relevant: unless the crawl began amid its topic, the judge takes too much for it; negative examples, or a higher threshold, would help", taken, n))
	}
	if order := rightOrder(j.heldOut(), scores); order < poorOrder {
		notes = append(notes, fmt.Sprintf("the judge hardly tells its own examples from the first %d pages: held out, they score higher in %.0f of 100 pairs; more examples that are alike, negative examples or keywords would help", n, 100*order))
	}
	return notes
}

// languageNote tells that no page is in a language of the topic, where most of the n pages are known
// not to be, and next to none is taken for relevant; "" otherwise.
func (j *topicJudge) languageNote(n, taken int) string {
	topics, known, most := j.analyzer.Languages(), 0, ""
	for l, pages := range j.memory.spoken {
		if slices.Contains(topics, l) {
			return ""
		}
		known += pages
		if most == "" || pages > j.memory.spoken[most] || pages == j.memory.spoken[most] && l < most {
			most = l
		}
	}
	if 2*known < n || fewRelevant*taken > n {
		return ""
	}
	return fmt.Sprintf("none of the first %d pages is in a language of the topic (%s), most are in another one (%s): give seeds that lead to pages in it, or keywords in the language of the pages, which topic.language adds", n, strings.Join(topics, ", "), most)
}

// commonKeywords are the keywords that more than commonShare of the pages hold which are not taken
// for relevant: others in number. That those which are relevant hold them is as it
// should be.
func (j *topicJudge) commonKeywords(relevant []bool, others int) (out []string) {
	if others < fewestOthers {
		return nil
	}
	for _, k := range j.keywords {
		held := make([]int, 0, 4) // of the words of the keyword, by how many of the others
		for _, s := range j.analyzer.Words(k) {
			held = append(held, j.memory.holders(s, func(i int) bool { return !relevant[i] }))
		}
		if len(held) > 0 && float64(slices.Min(held)) > commonShare*float64(others) {
			out = append(out, "“"+k+"”")
		}
	}
	return out
}

// rightOrder is the share of pairs in which an example scores higher than a page,
// ties counting half; 1 with fewer than three examples, of which it says nothing.
func rightOrder(examples, pages []float64) float64 {
	if len(examples) < 3 || len(pages) == 0 {
		return 1
	}
	var all []metric.Prediction
	for _, e := range examples {
		all = append(all, metric.Prediction{Score: e, Positive: true, Weight: 1})
	}
	for _, p := range pages {
		all = append(all, metric.Prediction{Score: p, Weight: 1})
	}
	return metric.AUROC(all)
}
