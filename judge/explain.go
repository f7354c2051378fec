package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
	nb "github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/web"
)

// Explainer is implemented by judges that can tell what a page's relevance is
// made of, in words of the page.
type Explainer interface {
	// Explain judges a page and tells why. It is pure and safe for concurrent use.
	Explain(p *web.Page) Explanation
}

// Explanation is why a page is judged so. Its texts are untrusted.
type Explanation struct {
	Verdict web.Verdict
	// Measure names what the parts of Reasons add up to, and Sum is what they do.
	Measure string
	Sum     float64
	Reasons []Reason // by falling size of their parts
	Facts   []string // what else matters, a sentence each
	Ignored []string // texts of the page that count nothing: the template of its site
}

// Reason is a word or phrase of a page and its part in the measure.
type Reason struct {
	Words string  // as the page writes them first
	Times int     // that they occur, title and headings included
	Head  int     // of these, in title and headings
	Part  float64 // < 0 speaks against the page
}

var (
	_ Explainer = (*topicJudge)(nil)
	_ Explainer = (*cosine)(nil)
	_ Explainer = (*bayes)(nil)
	_ Explainer = (*critic)(nil)
)

// spelling is how a page writes its stems.
type spelling struct{ text.Spelling }

func spell(p *web.Page, a text.Splitter) spelling {
	out := spelling{text.Spelling{}}
	for _, l := range p.Leaves {
		out.Add(a, l.Text)
	}
	out.Add(a, p.Title)
	for _, alt := range p.Alts {
		out.Add(a, alt)
	}
	return out
}

// reasons makes reasons of the parts of stems, without those that are nothing.
func (s spelling) reasons(p *web.Page, parts []termWeight) []Reason {
	var out []Reason
	for _, t := range parts {
		if t.weight == 0 {
			continue
		}
		r := Reason{Words: s.Of(t.stem), Part: t.weight}
		if i, ok := slices.BinarySearchFunc(p.Terms, t.stem, func(t web.Term, s string) int { return strings.Compare(t.Text, s) }); ok {
			r.Times, r.Head = int(p.Terms[i].Body), int(p.Terms[i].Head)
		}
		out = append(out, r)
	}
	bySize(out)
	return out
}

func bySize(reasons []Reason) {
	slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(math.Abs(b.Part), math.Abs(a.Part)) })
}

// Explain parts the score.
func (j *topicJudge) Explain(p *web.Page) Explanation {
	v := j.view.Load()
	known := j.templates.of(p.URL.Host())
	tf, length := v.frequencies(nil, p, known, j.analyzer.In(p.TermLanguage))
	s := v.query.score(tf, length)
	x := Explanation{Verdict: j.verdictFor(v, s), Measure: "score", Sum: s}
	words := spell(p, j.analyzer.In(p.TermLanguage))
	var parts []termWeight
	for i, f := range tf {
		if f > 0 {
			t := v.query.terms[i]
			parts = append(parts, termWeight{t.stem, t.weight * v.query.bm25.saturate(f, length)})
		}
	}
	x.Reasons = words.reasons(p, parts)
	for _, phrase := range v.query.phrases {
		least := math.Inf(1)
		var stems []string
		for _, i := range phrase.at {
			least = min(least, tf[i])
			stems = append(stems, v.query.terms[i].stem)
		}
		if least > 0 {
			x.Reasons = append(x.Reasons, Reason{Words: words.Of(stems...) + " together", Part: phrase.weight * v.query.bm25.saturate(least, length)})
		}
	}
	bySize(x.Reasons)
	ignored := map[string]bool{}
	for piece := range known.pieces(p) {
		if !ignored[piece] {
			ignored[piece] = true
			x.Ignored = append(x.Ignored, piece)
		}
	}
	at := math.Log(s/v.reference + j.constants.floor)
	x.Facts = append(x.Facts,
		fmt.Sprintf("the score is %.2f times the reference, which is that of a page that says each %s a few times", s/v.reference, j.sought()),
		fmt.Sprintf("of the pages that are not wanted about %.1f%% have this score or a higher one, by what is usual and by %s", 100*math.Exp(v.background.logShare(at)), j.seen()))
	if j.isExample(p.URL) {
		x.Facts = append(x.Facts, "it is one of the examples")
	}
	if u, likeness := j.nearest(p); likeness > 0 {
		x.Facts = append(x.Facts, fmt.Sprintf("the example most like it is %s, with a cosine of %.2f from 0 to 1", exampleName(u), likeness))
	}
	return x
}

// sought names the words that make the reference.
func (j *topicJudge) sought() string {
	switch {
	case len(j.phrases) > 0:
		return "keyword"
	case len(j.descriptionStems) > 0:
		return "word of the description"
	}
	return "word that the examples share"
}

// seen tells how many pages of the crawl the view was made of.
func (j *topicJudge) seen() string {
	switch n := j.view.Load().pages; n {
	case 0:
		return "no page of this crawl"
	case 1:
		return "the first page of this crawl"
	default:
		return fmt.Sprintf("the first %d pages of this crawl", n)
	}
}

// nearest is the example most like a page, other than itself, by the cosine of their
// words without the template; 0 if there is none.
func (j *topicJudge) nearest(p *web.Page) (u web.URL, likeness float64) {
	weigh := func(p *web.Page) vector {
		var v vector
		for stem, c := range j.exampleCounts(p) {
			v = append(v, termWeight{stem, (1 + math.Log(max(1, c.body+j.constants.headTerm*c.head))) * j.information(stem, j.memory)})
		}
		slices.SortFunc(v, func(a, b termWeight) int { return strings.Compare(a.stem, b.stem) })
		return v.unit()
	}
	own := weigh(p)
	for _, e := range j.examples {
		if s := own.dot(weigh(e)); s > likeness && e.URL != p.URL {
			u, likeness = e.URL, s
		}
	}
	return u, likeness
}

// Explain parts the cosine.
func (c *cosine) Explain(p *web.Page) Explanation {
	v := tfidfVector(p.Terms, c.df)
	best := 0
	for i, m := range c.models {
		if v.dot(m) > v.dot(c.models[best]) {
			best = i
		}
	}
	s := v.dot(c.models[best])
	x := Explanation{Verdict: c.verdict(s, s), Measure: "cosine", Sum: s}
	var parts []termWeight
	for _, t := range v {
		if i, ok := slices.BinarySearchFunc(c.models[best], t.stem, func(w termWeight, s string) int { return strings.Compare(w.stem, s) }); ok {
			parts = append(parts, termWeight{t.stem, t.weight * c.models[best][i].weight})
		}
	}
	x.Reasons = spell(p, c.analyzer.In(p.TermLanguage)).reasons(p, parts)
	switch {
	case len(c.sources) == 0:
		x.Facts = append(x.Facts, "there is no example: keywords and description stand for one")
	case len(c.models) == 1 && len(c.sources) > 1:
		x.Facts = append(x.Facts, fmt.Sprintf("it is compared with the mean of %d examples", len(c.sources)))
	case c.sources[best] == p.URL:
		x.Facts = append(x.Facts, "it is one of the examples, and compared with itself")
	default:
		x.Facts = append(x.Facts, fmt.Sprintf("the nearest example is %s", c.sources[best]))
	}
	return x
}

// Explain parts the logarithm of the odds. Words that the examples do not tell
// apart are one reason.
func (b *bayes) Explain(p *web.Page) Explanation {
	r := b.probability(p.Terms)
	x := Explanation{Verdict: b.verdict(r, r), Measure: "log odds"}
	n := 0.
	for _, t := range p.Terms {
		n += float64(t.Body)
	}
	scale := 1.
	if n > b.words {
		scale = b.words / n
	}
	var parts []termWeight
	rest := Reason{Words: "other words, together"}
	for _, t := range p.Terms {
		i, ok := slices.BinarySearchFunc(b.odds, t.Text, func(w termWeight, s string) int { return strings.Compare(w.stem, s) })
		if !ok {
			rest.Times += int(t.Body)
			rest.Part += scale * float64(t.Body) * b.other
			continue
		}
		part := scale * float64(t.Body) * b.odds[i].weight
		parts = append(parts, termWeight{t.Text, part})
	}
	x.Reasons = spell(p, b.analyzer.In(p.TermLanguage)).reasons(p, parts)
	if rest.Part != 0 {
		x.Reasons = append(x.Reasons, rest)
		bySize(x.Reasons)
	}
	for _, r := range x.Reasons {
		x.Sum += r.Part
	}
	if scale < 1 {
		x.Facts = append(x.Facts, fmt.Sprintf("the page has %.0f words and counts as if it had %.0f", n, b.words))
	}
	return x
}

// Explain parts the logarithm of the odds of the likeliest class in focus against
// the likeliest other one.
func (c *critic) Explain(p *web.Page) Explanation {
	posterior := c.posteriorOf(p)
	r := c.relevance(posterior)
	in, out := -1, -1
	for i, x := range posterior {
		switch {
		case c.good[i] && (in < 0 || x > posterior[in]):
			in = i
		case !c.good[i] && (out < 0 || x > posterior[out]):
			out = i
		}
	}
	names := c.Record.Classes
	x := Explanation{Verdict: c.verdict(r, r), Measure: fmt.Sprintf("log odds of %s against %s", names[in], names[out])}
	x.Verdict.Classes = paths(top(names, posterior))
	_, n := termVector(c.stems, p.Terms)
	scale := 1.
	if c.words > 0 && n > c.words {
		scale = c.words / n
	}
	var parts []termWeight
	for _, t := range p.Terms {
		id, ok := c.stems[t.Text]
		if !ok {
			continue
		}
		if a, b := c.model.Theta(in, id), c.model.Theta(out, id); a > 0 && b > 0 {
			parts = append(parts, termWeight{t.Text, scale * float64(t.Body) * math.Log(a/b)})
		}
	}
	x.Reasons = spell(p, c.analyzer.In(p.TermLanguage)).reasons(p, parts)
	if a, b := c.model.Documents(in), c.model.Documents(out); c.model.Options().Prior == nb.Documents && min(a, b) > 0 {
		x.Reasons = append(x.Reasons, Reason{Words: "how common the two classes are", Part: scale * math.Log(float64(a)/float64(b))})
		bySize(x.Reasons)
	}
	for _, r := range x.Reasons {
		x.Sum += r.Part
	}
	for _, class := range c.Classes(p) {
		x.Facts = append(x.Facts, fmt.Sprintf("%s: %.2f", class.Path, class.P))
	}
	return x
}
