package judge

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// counts are how often a stem occurs on an example: in all text, and in title
// and headings. What stands in the text of a link counts less, and what belongs
// to the template of the site not at all.
type counts struct{ body, head float64 }

// exampleCounts counts the stems of an example, without numbers, which are no
// subject.
func (j *topicJudge) exampleCounts(p *web.Page) map[string]counts {
	out := make(map[string]counts, len(p.Terms))
	for _, t := range p.Terms {
		if c := t.Text[0]; c < '0' || c > '9' {
			out[t.Text] = counts{float64(t.Body), float64(t.Head)}
		}
	}
	a := j.analyzer.In(p.TermLanguage)
	var words [64]string
	less := func(s string, body, head float64) {
		for _, stem := range a.AppendWords(words[:0], s) {
			if c, ok := out[stem]; ok {
				c.body, c.head = max(0, c.body-body), max(0, c.head-head)
				out[stem] = c
			}
		}
	}
	known := j.templates.of(p.URL.Host())
	for text, k := range known.pieces(p) {
		switch k {
		case titlePiece:
			less(text, 1, 1)
		case headingPiece:
			less(text, 0, 1)
		default:
			less(text, 1, 0)
		}
	}
	linked := make([]bool, len(p.Leaves))
	for i := range p.Links {
		for at := max(0, p.Links[i].First); at <= p.Links[i].Last && at < len(linked); at++ {
			linked[at] = true
		}
	}
	for i, is := range linked {
		if s := p.Leaves[i].Text; is && s != "" && !known.holds(pieceHash(s)) && !slices.Contains(p.Alts, s) {
			less(s, 1-j.constants.linked, 0)
		}
	}
	for stem, c := range out {
		if c.body+c.head == 0 {
			delete(out, stem)
		}
	}
	return out
}

// wantedWords are the exampleWords of the examples of each language.
func (j *topicJudge) wantedWords(examples []map[string]counts, m *memory) map[string]float64 {
	groups := byLanguage(j.examples)
	if len(groups) < 2 {
		return j.exampleWords(examples, m)
	}
	out := map[string]float64{}
	for _, group := range groups {
		var of []map[string]counts
		for _, i := range group {
			of = append(of, examples[i])
		}
		for stem, w := range j.exampleWords(of, m) {
			out[stem] = max(out[stem], w)
		}
	}
	return out
}

// byLanguage are the indices of pages whose terms were made alike.
func byLanguage(pages []*web.Page) (groups [][]int) {
	at := map[string]int{}
	for i, p := range pages {
		g, ok := at[p.TermLanguage]
		if !ok {
			g = len(groups)
			at[p.TermLanguage], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// exampleWords are the strongest stems of those that a sufficient share of the
// examples hold and that are not of the keywords, with their weights r relative to
// the strongest, in (0,1]:
//
//	r ∝ (holders/examples)^offer · Σ_examples (1 + ln f)·idf' / norm,   f = body + headTerm·head
//
// A stem that an example says once counts constants.single there, and one that
// names the site of an example constants.own.
func (j *topicJudge) exampleWords(examples []map[string]counts, m *memory) map[string]float64 {
	r := &j.constants
	weight, holders := map[string]float64{}, map[string]float64{}
	for _, e := range examples {
		v := make(vector, 0, len(e))
		for stem, c := range e {
			f := c.body + r.headTerm*c.head
			if _, given := j.keywordStems[stem]; given || f < 1 {
				continue
			}
			w := (1 + math.Log(max(1, f))) * j.information(stem, m)
			if f < 2 {
				w *= r.single
			}
			if _, own := j.ownSites[stem]; own {
				w *= r.own
			}
			v = append(v, termWeight{stem, w})
		}
		slices.SortFunc(v, func(a, b termWeight) int { return strings.Compare(a.stem, b.stem) })
		for _, t := range v.unit() {
			weight[t.stem] += t.weight
			holders[t.stem]++
		}
	}
	n := float64(len(examples))
	least := r.leastHolders(n)
	var list []termWeight
	for s, w := range weight {
		if holders[s] >= least {
			list = append(list, termWeight{s, w * math.Pow(holders[s]/n, r.offer)})
		}
	}
	sortByWeight(list)
	list = list[:min(len(list), r.exampleTerms)]
	out := make(map[string]float64, len(list))
	for _, t := range list {
		out[t.stem] = t.weight / list[0].weight
	}
	return out
}

// sortByWeight sorts a list by falling weight.
func sortByWeight(list []termWeight) {
	slices.SortFunc(list, func(a, b termWeight) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.stem, b.stem))
	})
}

// leastHolders is how many of n examples hold a stem that is taken from them.
func (r *constants) leastHolders(n float64) float64 {
	return max(min(2, n), r.exampleShare*n)
}

// vocabularySize bounds how many stems of the examples are remembered of pages.
const vocabularySize = 1000

// vocabulary holds, sorted, every stem that a query can have: those that a
// person wrote, and offered. It depends on nothing that was learnt: a judge that is
// made again has the same, by which the stored pages are read.
func (j *topicJudge) vocabulary() []string {
	out := slices.Concat(slices.Concat(j.phrases...), j.descriptionStems, j.offered)
	slices.Sort(out)
	return slices.Compact(out)
}

// offers are the strongest of the stems that can be taken from the examples, in no order.
func (j *topicJudge) offers() (out []string) {
	var alike [][]*web.Page // examples of one kind and one language
	for _, pages := range [][]*web.Page{j.examples, j.negatives} {
		for _, group := range byLanguage(pages) {
			var of []*web.Page
			for _, i := range group {
				of = append(of, pages[i])
			}
			alike = append(alike, of)
		}
	}
	for _, pages := range alike {
		var all []map[string]counts
		holders := map[string]float64{}
		for _, p := range pages {
			c := j.exampleCounts(p)
			all = append(all, c)
			for s := range c {
				holders[s]++
			}
		}
		var list []termWeight
		for s, n := range holders {
			if n >= j.constants.leastHolders(float64(len(pages))) {
				f := 0.
				for _, c := range all {
					f += math.Log1p(c[s].body + j.constants.headTerm*c[s].head)
				}
				list = append(list, termWeight{s, f * j.information(s, nil)})
			}
		}
		sortByWeight(list)
		for _, t := range list[:min(len(list), vocabularySize)] {
			out = append(out, t.stem)
		}
	}
	return out
}
