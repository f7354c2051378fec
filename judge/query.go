package judge

import (
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// query is a weighted list of stems and phrases to score pages by; immutable.
type query struct {
	terms   []termWeight   // sorted by stem, each once
	at      map[string]int // index in terms
	phrases []phrase
	bm25    bm25
}

// termWeight is a stem with its weight, which may be negative.
type termWeight struct {
	stem   string
	weight float64
}

// phrase is a keyword of several stems, which counts where all of them occur.
type phrase struct {
	at     []int // indices in query.terms
	weight float64
}

// bm25 are the constants of
//
//	score = Σ_q weight_q · tf·(k1+1) / (tf + k1·(1 − b + b·length/mean))
//	tf    = body + head·(occurrences in title and headings)
//
// Source: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25
// and Beyond, 2009.
type bm25 struct {
	k1, b float64
	mean  float64 // length of a common page, in terms
	head  float64 // what an occurrence in title or headings counts more
}

func (m bm25) saturate(tf, length float64) float64 {
	return tf * (m.k1 + 1) / (tf + m.k1*(1-m.b+m.b*length/m.mean))
}

// newQuery sorts the terms and leaves out those without weight.
func newQuery(weights map[string]float64, m bm25) query {
	q := query{bm25: m}
	for s, w := range weights {
		if w != 0 {
			q.terms = append(q.terms, termWeight{s, w})
		}
	}
	slices.SortFunc(q.terms, func(a, b termWeight) int { return strings.Compare(a.stem, b.stem) })
	q.index()
	return q
}

func (q *query) index() {
	q.at = make(map[string]int, len(q.terms))
	for i, t := range q.terms {
		q.at[t.stem] = i
	}
}

// addPhrase adds a phrase all stems of which are terms of q.
func (q *query) addPhrase(stems []string, weight float64) {
	var at []int
	for _, s := range stems {
		i, ok := q.at[s]
		if !ok {
			return
		}
		at = append(at, i)
	}
	q.phrases = append(q.phrases, phrase{at, weight})
}

// frequencies fills tf with the frequencies of the terms of q among those of a
// page, which are sorted by text, and returns the length of the page in terms.
//
// Shape: tf [len(q.terms)].
func (q *query) frequencies(tf []float64, terms []web.Term) (length float64) {
	clear(tf)
	i := 0
	for k := range terms {
		t := &terms[k]
		length += float64(t.Body)
		for i < len(q.terms) && q.terms[i].stem < t.Text {
			i++
		}
		if i < len(q.terms) && q.terms[i].stem == t.Text {
			tf[i] = float64(t.Body) + q.bm25.head*float64(t.Head)
		}
	}
	return length
}

// score is the BM25 score for the frequencies tf of the terms of q on a page of that
// length.
//
// Shape: tf [len(q.terms)].
func (q *query) score(tf []float64, length float64) float64 {
	s := 0.
	for i, f := range tf {
		if f > 0 {
			s += q.terms[i].weight * q.bm25.saturate(f, length)
		}
	}
	for _, p := range q.phrases {
		least := math.Inf(1)
		for _, i := range p.at {
			least = min(least, tf[i])
		}
		if least > 0 {
			s += p.weight * q.bm25.saturate(least, length)
		}
	}
	return max(0, s)
}

// scoreOfEach is the score of a page of the mean length on which each term of q with a
// positive weight occurs n times.
func (q *query) scoreOfEach(n float64) float64 {
	tf := make([]float64, len(q.terms))
	for i, t := range q.terms {
		if t.weight > 0 {
			tf[i] = n
		}
	}
	return q.score(tf, q.bm25.mean)
}

// textWeight is the sum of the weights of the stems of a short text, each counted once,
// ≥ 0.
func (q *query) textWeight(stems []string) float64 {
	s := 0.
	for i, stem := range stems {
		if slices.Contains(stems[:i], stem) {
			continue
		}
		if at, ok := q.at[stem]; ok {
			s += q.terms[at].weight
		}
	}
	return max(0, s)
}

// vector is a page or a text as weights of stems, of length 1 (or 0).
type vector []termWeight

// tfidfVector weighs the terms of a page by their frequency and information, or by
// their frequency alone where df is nil. Source: Batsakis, Petrakis & Milios 2009, eq
// 1; a cosine does not notice that its tf is divided by the greatest one.
func tfidfVector(terms []web.Term, df Frequencies) vector {
	v := make(vector, 0, len(terms))
	for _, t := range terms {
		w := float64(t.Body)
		if df != nil {
			w *= df.IDF(t.Text)
		}
		v = append(v, termWeight{t.Text, w})
	}
	return v.unit()
}

// textVector does the same for the stems of a text, which it sorts.
func textVector(stems []string, df Frequencies) vector { return tfidfVector(counted(stems), df) }

// counted counts the stems of a text, which it sorts.
func counted(stems []string) []web.Term {
	slices.Sort(stems)
	terms := make([]web.Term, 0, len(stems))
	for _, s := range stems {
		if n := len(terms); n > 0 && terms[n-1].Text == s {
			terms[n-1].Body++
			continue
		}
		terms = append(terms, web.Term{Text: s, Body: 1})
	}
	return terms
}

// unit scales v to length 1, in place.
func (v vector) unit() vector {
	sum := 0.
	for _, t := range v {
		sum += t.weight * t.weight
	}
	if sum > 0 {
		norm := 1 / math.Sqrt(sum)
		for i := range v {
			v[i].weight *= norm
		}
	}
	return v
}

// dot is the cosine of two vectors of length 1.
func (v vector) dot(w vector) float64 {
	sum := 0.
	if len(v) < len(w)/8 {
		// The few words of an anchor are looked up in the many of an example.
		for _, t := range v {
			i, found := slices.BinarySearchFunc(w, t.stem, func(x termWeight, stem string) int { return strings.Compare(x.stem, stem) })
			if found {
				sum += t.weight * w[i].weight
			}
			w = w[i:]
		}
		return min(1, max(0, sum))
	}
	for i, j := 0, 0; i < len(v) && j < len(w); {
		switch c := strings.Compare(v[i].stem, w[j].stem); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			sum += v[i].weight * w[j].weight
			i++
			j++
		}
	}
	return min(1, max(0, sum))
}

// mean is the vector of length 1 along the sum of vs.
func mean(vs []vector) vector {
	sum := map[string]float64{}
	for _, v := range vs {
		for _, t := range v {
			sum[t.stem] += t.weight
		}
	}
	out := make(vector, 0, len(sum))
	for s, w := range sum {
		out = append(out, termWeight{s, w})
	}
	slices.SortFunc(out, func(a, b termWeight) int { return strings.Compare(a.stem, b.stem) })
	return out.unit()
}
