package judge

import (
	"context"
	"maps"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// topicJudge is the judge "topic": one BM25 query made of all that a topic gives,
// whose score becomes a calibrated probability.
//
// # The query
//
// The weight of a stem is the sum of
//
//	fit·idf                for a stem of a keyword; a phrase of several stems gives
//	                       part of it to each, and more where all of them occur
//	description·fit·idf    for a stem of the description
//	examples·r·idf'        for a stem that the examples share
//	−negatives·r·idf'      for a stem that the negative examples share
//
// with constants named as in the type constants. fit grows from constants.fit to 1 with the share
// of the examples that hold the stem, so that a keyword which wanted pages do
// not use counts less. r is the weight of the stem in the examples, relative to
// the strongest; see exampleWords.
//
// idf is the information of a stem by the built-in frequencies of English: that
// a crawl is full of a keyword does not make it a lesser one. idf' goes by what
// is known of the web as well, whichever says that the stem is commoner: words
// of the furniture of pages are common beforehand, and so are, soon, those of
// the institution whose pages are crawled; see memory. No idf' is above
// constants.rare: a name that English does not know is rare, and tells nothing.
//
// # The page
//
// What belongs to the template of a site counts as length and not as text; see
// templates.
//
// # The probability
//
// The score s of a page is compared with a reference, that of a page which says
// each keyword a few times, and with the pages seen so far:
//
//	x         = ln((s + ε·reference)/reference),  ε = constants.floor
//	relevance = 1 / (1 + exp(−(slope·x + commonness·ln T(x) + offset + crawl·n/(n+N₀))))
//
// T(x) is the share of pages that are not wanted and score as high: where many
// do, a high score says little. It begins as what it is on other webs and topics
// and is blended with the first pages of the crawl; see background. n is the number
// of these pages and N₀ backgroundPrior: on a page that a crawl fetches, a score
// promises more than on any page of a web, as links led there. Of m examples and
// nothing that a person wrote, what they share is known the worse the fewer they
// are, and with u = 1/m
//
//	slope  → slope − aloneSlope·min(u, aloneMost)
//	offset → offset − aloneOffset·u²·(1−u)
//
// so that a single example alone tells a third of what keywords do. relevance grows with
// s, as T falls. γ is topicThreshold unless given.
//
// # What changes
//
// The view by which pages are judged is made anew after 1, 2, 4 … blendPages
// observed pages, and never again; templates are learnt from the first pages of
// every host. All else stays as it was made.
type topicJudge struct {
	identity
	constants        constants
	analyzer         text.Splitter
	otherLanguages   []text.Splitter // of the analyzer's other languages
	df               Frequencies
	furniture        map[string]struct{}
	keywords         []string
	phrases          [][]string
	descriptionStems []string // of the description
	examples         []*web.Page
	ofTopic          int                 // of examples, those that the topic gave: labelled ones follow
	negatives        []*web.Page         // negative examples
	ownSites         map[string]struct{} // stems that name the examples' sites
	keywordStems     map[string]struct{} // stems of keywords
	offered          []string            // offers of the topic's examples, before anything is learnt; nil where nothing is
	templates        *templates
	view             atomic.Pointer[view]
	memory           *memory // owned by the step; nil where nothing is learnt
}

var _ Judge = (*topicJudge)(nil)

// view is what judging needs; immutable.
type view struct {
	query      query
	reference  float64    // score of a page that says each keyword a few times, > 0
	fullText   float64    // weight of stems at which the similarity of a short text is 1, > 0
	background background // of pages that are not wanted
	pages      int        // n, pages of the crawl that it was made of
	crawl      float64    // constants.crawl·n/(n+N₀)
	slope      float64
	offset     float64
}

// constants are those of the judge. Of defaultConstants slope, commonness
// and offset were fitted on topics of campus, departments and manuals, crawl on walks
// there, and the threshold was chosen on such walks (docs/results/judge.md). aloneSlope,
// aloneMost and aloneOffset were set by hand to what the same topics show with examples
// alone. All others were set by hand; the few that were tried at other values on these webs, and
// what came out, stand in that document too.
type constants struct {
	bm25         bm25
	fit          float64 // least part of a keyword's weight that does not depend on the examples
	part         float64 // weight of a stem of a phrase, by that of a keyword of one stem
	phrase       float64 // weight of a whole phrase, by the sum of its stems' weights
	description  float64 // weight of a stem of the description, by that of a keyword
	examples     float64 // weight of stems of the examples, where a person wrote something as well
	examplesOnly float64 // likewise, where a person wrote nothing
	exampleTerms int     // stems taken from the examples
	exampleShare float64 // least share of the examples that hold such a stem
	offer        float64 // exponent of that share in the weight of the stem
	headTerm     float64 // what an occurrence in a heading counts more in examples
	linked       float64 // what an occurrence in the text of a link counts in examples
	single       float64 // weight of a stem that an example says once
	own          float64 // weight of a stem that names the site of an example
	rare         float64 // greatest idf of a stem of the examples
	prior        float64 // pages of the crawl that the table of English counts as
	negatives    float64 // weight of a stem of the negative examples
	says         float64 // how often the page says each keyword that gives the reference
	middling     float64 // share of its score that is the reference

	floor                     float64 // ε
	slope, commonness, offset float64
	crawl                     float64
	aloneSlope, aloneOffset   float64 // of examples alone
	aloneMost                 float64 // u of a single one, for the slope
}

func defaultConstants() constants {
	return constants{
		bm25:         bm25{k1: 3, b: 0.75, mean: 400, head: 3},
		fit:          0.25,
		part:         0.5,
		phrase:       0.5,
		description:  0.4,
		examples:     0.25,
		examplesOnly: 0.5,
		exampleTerms: 25,
		exampleShare: 1. / 3,
		offer:        1.5,
		headTerm:     3,
		linked:       0.5,
		single:       0.5,
		own:          0.2,
		rare:         5,
		prior:        32,
		negatives:    0.5,
		says:         3,
		middling:     1. / 3,
		floor:        0.02,
		slope:        1.82,
		commonness:   -0.48,
		offset:       -3.81,
		crawl:        0.9,
		aloneSlope:   1.7,
		aloneMost:    0.7,
		aloneOffset:  11,
	}
}

// topicThreshold is the default γ.
const topicThreshold = 0.3

func newTopic(o Options) (Judge, error) {
	return newTopicJudge("topic", o.Topic, o, defaultConstants()), nil
}

// newTopicJudge makes a judge with these constants.
func newTopicJudge(name string, t *topic.Topic, o Options, r constants) *topicJudge {
	j := &topicJudge{
		identity: identity{name, o.Threshold}, constants: r, analyzer: text.SplitterOf(o.Analyzer), df: o.DF,
		furniture: text.Furniture(text.SplitterOf(o.Analyzer)),
		keywords:  t.Keywords,
		examples:  t.Examples, negatives: t.Negatives,
		ownSites:  map[string]struct{}{},
		templates: newTemplates(),
	}
	for _, l := range j.analyzer.Languages()[1:] {
		j.otherLanguages = append(j.otherLanguages, j.analyzer.In(l))
	}
	j.phrases = inAll(j.analyzer, t.Phrases)
	j.descriptionStems = inAll(j.analyzer, t.DescriptionStems)
	if j.threshold == 0 {
		j.threshold = topicThreshold
	}
	j.ofTopic = len(j.examples)
	j.setKeywords(j.keywords, j.phrases)
	for _, p := range j.examples {
		j.nameSite(p)
		if p.URL.Host() != FileHost {
			j.templates.observe(p)
		}
	}
	if !o.Frozen {
		j.offered = j.offers()
		j.memory = newMemory(j.vocabulary())
	}
	j.view.Store(j.newView(nil))
	return j
}

// inAll are the parts of a topic by the rules of each language of an analyzer, those of
// the first language first and each once.
func inAll[T any](a text.Splitter, parts func(topic.Analyzer) []T) (out []T) {
	languages := a.Languages()
	if len(languages) == 1 {
		return parts(a)
	}
	for _, l := range languages {
		for _, part := range parts(a.In(l)) {
			if !slices.ContainsFunc(out, func(x T) bool { return reflect.DeepEqual(x, part) }) {
				out = append(out, part)
			}
		}
	}
	return out
}

// calibrate sets slope and offset of a view by what the topic gives.
func (j *topicJudge) calibrate(v *view) {
	v.slope, v.offset = j.constants.calibration(len(j.phrases)+len(j.descriptionStems) > 0, len(j.examples))
}

// calibration are slope and offset for a topic of which something was written or
// not, with n examples.
func (r *constants) calibration(written bool, n int) (slope, offset float64) {
	if written || n == 0 {
		return r.slope, r.offset
	}
	u := 1 / float64(n)
	return r.slope - r.aloneSlope*min(u, r.aloneMost), r.offset - r.aloneOffset*u*u*(1-u)
}

// FileHost is the host of examples that come from files, of whatever site. The path of
// such an address is the name of the file.
const FileHost = "example.invalid"

// exampleName is what people know an example by: its address, or the name of its file.
func exampleName(u web.URL) string {
	if u.Host() != FileHost {
		return u.String()
	}
	name, err := url.PathUnescape(strings.TrimPrefix(u.RequestPath(), "/"))
	if err != nil || name == "" {
		return "a file" // crawls of earlier versions did not keep the name
	}
	return name
}

// nameSite notes the words that name the site of an example: those of its host,
// and of the last part of a title that has several.
func (j *topicJudge) nameSite(p *web.Page) {
	note := func(s string) {
		for _, stem := range j.analyzer.In(p.TermLanguage).Words(s) {
			j.ownSites[stem] = struct{}{}
		}
	}
	note(p.URL.Host().Name())
	parts := slices.Collect(titleParts(p.Title))
	if n := len(parts); n > 1 {
		note(parts[n-1])
	}
}

// newView makes the view of what was remembered; nil is nothing.
func (j *topicJudge) newView(m *memory) *view {
	v := &view{}
	j.calibrate(v)
	v.query, v.reference = j.newQuery(m)
	v.fullText = j.fullTextWeight(&v.query)
	v.background = newBackground(&j.constants, v, m.scores(v, j.templates))
	if m != nil {
		v.pages = len(m.pages)
		v.crawl = j.constants.crawlOffset(v.pages)
	}
	return v
}

// crawlOffset is what n pages of a crawl add to the offset.
func (r *constants) crawlOffset(n int) float64 {
	return r.crawl * float64(n) / float64(n+backgroundPrior)
}

// newQuery makes the query of all that the topic gives, and the reference: the
// score of a page on which each word of the query occurs constants.says times, those
// of few examples counting less as few pages hold all that one example says, times
// constants.middling.
func (j *topicJudge) newQuery(m *memory) (q query, reference float64) {
	r := &j.constants
	var examples []map[string]counts
	for _, p := range j.examples {
		examples = append(examples, j.exampleCounts(p))
	}
	weights := map[string]float64{}
	for _, p := range j.phrases {
		part := r.part
		if len(p) == 1 {
			part = 1
		}
		for _, s := range p {
			weights[s] = max(weights[s], part*r.fitOf(s, examples)*j.df.IDF(s))
		}
	}
	for _, s := range j.descriptionStems {
		weights[s] += r.description * r.fitOf(s, examples) * j.df.IDF(s)
	}
	whole := make([]float64, len(j.phrases)) // weights of the phrases
	for i, p := range j.phrases {
		for _, s := range p {
			whole[i] += r.phrase * weights[s]
		}
	}
	scale := r.examples
	if len(weights) == 0 {
		scale = r.examplesOnly
	}
	wanted := j.wantedWords(examples, m)
	full := maps.Clone(weights)
	few := min(1, float64(len(examples)+1)/6)
	if spoken := len(byLanguage(j.examples)); spoken > 1 {
		few /= float64(spoken) // a page says the words of one language
	}
	for s, rel := range wanted {
		w := scale * rel * j.information(s, m)
		weights[s] += w
		full[s] += few * w
	}
	if len(j.negatives) > 0 {
		var against []map[string]counts
		for _, p := range j.negatives {
			against = append(against, j.exampleCounts(p))
		}
		for s, rel := range j.exampleWords(against, m) {
			if _, both := wanted[s]; !both {
				weights[s] -= r.negatives * rel * j.information(s, m)
			}
		}
	}
	build := func(weights map[string]float64) query {
		q := newQuery(weights, r.bm25)
		for i, p := range j.phrases {
			if len(p) > 1 {
				q.addPhrase(p, whole[i])
			}
		}
		return q
	}
	q, reference = build(weights), 1e-9
	if all := build(full); len(all.terms) > 0 {
		reference = max(reference, r.middling*all.scoreOfEach(r.says))
	}
	return q, reference
}

// fitOf is the part of a given stem's weight that the examples leave it, in
// [constants.fit, 1].
func (r *constants) fitOf(stem string, examples []map[string]counts) float64 {
	holders := 0.
	for _, e := range examples {
		if _, ok := e[stem]; ok {
			holders++
		}
	}
	return r.fit + (1-r.fit)*(holders+1)/float64(len(examples)+1)
}

// information is the idf' of a stem of the examples, in nats, > 0.
func (j *topicJudge) information(stem string, m *memory) float64 {
	share := j.df.Share(stem)
	if _, ok := j.furniture[stem]; ok {
		share = max(share, text.FurnitureShare)
	}
	if held, pages := m.share(stem); pages > 0 {
		share = max(share, (j.constants.prior*share+held)/(j.constants.prior+pages))
	}
	return min(j.constants.rare, -math.Log(min(share, 1-1e-4)))
}

// fullTextWeight is the weight of the strongest keyword, or of the three strongest
// stems if there are no keywords.
func (j *topicJudge) fullTextWeight(q *query) float64 {
	best := 0.
	for _, p := range j.phrases {
		best = max(best, q.textWeight(p))
	}
	if best > 0 {
		return best
	}
	var ws []float64
	for _, t := range q.terms {
		ws = append(ws, -t.weight)
	}
	slices.Sort(ws)
	for _, w := range ws[:min(3, len(ws))] {
		best += max(0, -w)
	}
	return max(best, 1e-9)
}

// Judge compares the page's score with the reference and with the pages seen so
// far. The similarity of the verdict is s/(s+reference).
func (j *topicJudge) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	v := j.view.Load()
	return j.verdictFor(v, v.score(p, j.templates.of(p.URL.Host()), j.analyzer.In(p.TermLanguage))), nil
}

// verdictFor is the verdict for a score.
func (j *topicJudge) verdictFor(v *view, s float64) web.Verdict {
	return j.verdict(j.relevance(v, s), s/(s+v.reference))
}

// relevance is the probability that a page of that score is wanted, 0 for a
// score of 0. It grows with s.
func (j *topicJudge) relevance(v *view, s float64) float64 {
	if !(s > 0) {
		return 0
	}
	x := math.Log(s/v.reference + j.constants.floor)
	return logistic(v.slope*x + j.constants.commonness*v.background.logShare(x) + v.offset + v.crawl)
}

// score is the BM25 score of a page without its template, ≥ 0.
func (v *view) score(p *web.Page, t template, a text.Splitter) float64 {
	var buf [256]float64
	tf, length := v.frequencies(buf[:], p, t, a)
	return v.query.score(tf, length)
}

// frequencies are those of the terms of the query on a page without its
// template. The memory of buf is used if it is enough.
//
// Shape: tf [len(query.terms)].
func (v *view) frequencies(buf []float64, p *web.Page, t template, a text.Splitter) (tf []float64, length float64) {
	n := len(v.query.terms)
	if n > len(buf) {
		buf = make([]float64, n)
	}
	tf = buf[:n]
	length = v.query.frequencies(tf, p.Terms)
	if len(t) == 0 {
		return tf, length
	}
	var words [64]string
	for text, k := range t.pieces(p) {
		weight := k.weight(v.query.bm25.head)
		for _, stem := range a.AppendWords(words[:0], text) {
			if i, ok := v.query.at[stem]; ok {
				tf[i] = max(0, tf[i]-weight)
			}
		}
	}
	return tf, length
}

// Text is the share of the strongest keyword's weight that the text holds, at
// most 1; of several languages, by that which gives most.
func (j *topicJudge) Text(s string) float64 {
	v := j.view.Load()
	var words [32]string
	best := v.query.textWeight(j.analyzer.AppendWords(words[:0], s))
	for _, other := range j.otherLanguages {
		best = max(best, v.query.textWeight(other.AppendWords(words[:0], s)))
	}
	return min(1, best/v.fullText)
}

// Link is the same of a link by the words of its anchor and of its address, an
// address's at addressWeight unless the anchor says them too.
func (j *topicJudge) Link(l *web.Link) float64 {
	v := j.view.Load()
	best := v.link(l, j.analyzer)
	for _, other := range j.otherLanguages {
		best = max(best, v.link(l, other))
	}
	return min(1, best/v.fullText)
}

// link is the weight of the stems of a link, by the rules of a language.
func (v *view) link(l *web.Link, a text.Splitter) float64 {
	var words [64]string
	stems := a.AppendWords(words[:0], l.Anchor)
	anchor := len(stems)
	s := v.query.textWeight(stems)
	stems = a.AppendWords(stems, addressText(l.URL))
	return max(0, s+addressWeight*(v.query.textWeight(stems)-v.query.textWeight(stems[:anchor])))
}

// addressWeight is what a word of an address counts, by one of an anchor.
const addressWeight = 0.5

// addressText is the path and query of an address as text: escapes are spaces,
// and capitals after small letters begin a word.
func addressText(u web.URL) string {
	path := u.RequestPath()
	var b strings.Builder
	b.Grow(len(path) + 8)
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c == '%' && i+2 < len(path):
			b.WriteByte(' ')
			i += 2
		case 'A' <= c && c <= 'Z' && i > 0 && 'a' <= path[i-1] && path[i-1] <= 'z':
			b.WriteByte(' ')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
