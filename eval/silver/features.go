package silver

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words that are looked at of a text, from its beginning. Readers saw the first
// 150 to 220.
const (
	maxTitle = 30
	maxHeads = 60
	maxBody  = 400
)

// Web is the texts of the documents of a web. Documents are numbered in the order
// in which they are added.
type Web struct {
	number map[string]int32 // of each word
	df     []int32          // [word] documents that hold it
	docs   []document
	made   [][]entry // see vectors; nil until asked for
}

// document is the words of a text, by number. body may be empty.
type document struct{ title, heads, body []int32 }

// NewWeb returns a web without documents.
func NewWeb() *Web { return &Web{number: map[string]int32{}} }

// Add adds a document: its title, its headings and its main text.
func (w *Web) Add(title string, headings []string, text string) {
	d := document{w.words(title, maxTitle), w.words(strings.Join(headings, " "), maxHeads), w.words(text, maxBody)}
	seen := map[int32]bool{}
	for _, part := range [][]int32{d.title, d.heads, d.body} {
		for _, x := range part {
			if !seen[x] {
				seen[x] = true
				w.df[x]++
			}
		}
	}
	w.docs = append(w.docs, d)
	w.made = nil
}

// Len is the number of documents.
func (w *Web) Len() int { return len(w.docs) }

func (w *Web) words(s string, most int) (out []int32) {
	for word := range split(s) {
		if len(out) == most {
			break
		}
		n, ok := w.number[word]
		if !ok {
			n = int32(len(w.df))
			w.number[strings.Clone(word)] = n
			w.df = append(w.df, 0)
		}
		out = append(out, n)
	}
	return out
}

// stem is how many letters of a word count: “compile” and “compiler” are one.
const stem = 6

// split yields the words of a text: runs of two or more letters, in lower case, of
// which the first letters count; one with + or # behind it, as C++, is a word too.
func split(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool {
			return !unicode.IsLetter(r) && r != '+' && r != '#'
		}) {
			if len(word) < 2 {
				continue
			}
			if word[len(word)-1] == 's' && len(word) > 3 {
				word = word[:len(word)-1]
			}
			if utf8.RuneCountInString(word) > stem {
				word = string([]rune(word)[:stem])
			}
			if !yield(word) {
				return
			}
		}
	}
}

// common is in how many narratives a word may be: those in more, such as “page”,
// tell of no topic.
const common = 3

// query are the words of a topic: those of its name, and of what its narrative calls
// mainly about it but for the common ones of all narratives. They are sorted.
func query(topics []Topic, i int) (words []string) {
	in := map[string]int{}
	for _, t := range topics {
		seen := map[string]bool{}
		for word := range split(t.Narrative.Mainly + " " + t.Narrative.Partly + " " + t.Narrative.No) {
			if !seen[word] {
				seen[word] = true
				in[word]++
			}
		}
	}
	t := topics[i]
	for word := range split(strings.ReplaceAll(t.Topic, "-", " ")) {
		words = append(words, word)
	}
	for word := range split(t.Narrative.Mainly) {
		if in[word] <= common && len(word) > 2 {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// The features of a document. W are the words of the query that the web holds;
// shares are sums of idf over that of the four rarest of W, which no text need
// hold all at once, and at most 2.
//
//	0  share of W in the title
//	1  share of W in the headings
//	2  share of W in the first 50 words
//	3  share of W in all words looked at
//	4  share of W in the best window of 30 words
//	5  Σ idf·occurrences / words
//	6  BM25 of W, over its largest value in the web
//	7  words of W that occur: ln(1+n)
//	8  length: ln(1+words)
//	9  cosine to what the best documents share, see feedback
//	10 the same once more, with the best documents by it
//	11 −ln of the document's place by all these, over all documents
const dim = 12

const (
	opening = 50
	window  = 30
	rarest  = 4
)

// idf is ln((N+1)/(df+½)).
func (w *Web) idf(word int32) float64 {
	return math.Log((float64(len(w.docs)) + 1) / (float64(w.df[word]) + .5))
}

// features are those of all documents for the words of a topic. Shape:
// [document][dim].
func (w *Web) features(words []string) [][]float64 {
	q := map[int32]float64{} // idf
	var order []float64
	for _, word := range words {
		if n, ok := w.number[word]; ok {
			q[n] = max(.1, w.idf(n))
			order = append(order, q[n])
		}
	}
	slices.Sort(order)
	z := 0.
	for _, x := range order[max(0, len(order)-rarest):] {
		z += x
	}
	z = max(z, .1)
	mean := 1.
	for _, d := range w.docs {
		mean += float64(len(d.body)) / float64(len(w.docs))
	}
	out := make([][]float64, len(w.docs))
	score := make([]float64, len(w.docs))
	best := 0.
	for i, d := range w.docs {
		x := make([]float64, dim)
		out[i] = x
		if len(q) == 0 {
			continue
		}
		x[0], x[1] = share(q, d.title)/z, share(q, d.heads)/z
		x[2], x[3] = share(q, d.body[:min(opening, len(d.body))])/z, share(q, d.body)/z
		for at := 0; at < len(d.body); at += window / 2 {
			x[4] = max(x[4], share(q, d.body[at:min(at+window, len(d.body))])/z)
		}
		for f := range 5 {
			x[f] = min(x[f], 2)
		}
		x[5], x[6], x[7] = matches(q, d.body, mean)
		x[8] = math.Log1p(float64(len(d.body)))
		best = max(best, x[6])
		score[i] = x[0] + .5*x[1] + x[2] + .5*x[3] + x[5]
	}
	for i := range out {
		if best > 0 {
			out[i][6] /= best
		}
	}
	vectors := w.vectors()
	for _, f := range []int{9, 10} {
		for i, c := range feedback(vectors, score, len(w.df)) {
			out[i][f] = c
			score[i] += 2 * c
		}
	}
	for rank, i := range ranked(score) {
		out[i][11] = -math.Log(float64(rank+1) / float64(len(out)))
	}
	return out
}

// share is the sum of idf of the words of a query that some words hold.
func share(q map[int32]float64, words []int32) (sum float64) {
	for i, x := range words {
		if idf, ok := q[x]; ok && !slices.Contains(words[:i], x) {
			sum += idf
		}
	}
	return sum
}

// matches are Σ idf·tf / words, BM25 and ln(1+n) for the n words of a query that
// occur among words. mean is the mean length of a document.
//
// Source: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and
// Beyond, 2009, equation 3.15, with k₁ = 1.2, b = .75.
func matches(q map[int32]float64, words []int32, mean float64) (density, bm25, occur float64) {
	var found []int32
	for _, x := range words {
		if _, ok := q[x]; ok {
			found = append(found, x)
		}
	}
	slices.Sort(found)
	length, distinct := float64(len(words)), 0.
	for i := 0; i < len(found); {
		k := i
		for k < len(found) && found[k] == found[i] {
			k++
		}
		tf, idf := float64(k-i), q[found[i]]
		density += idf * tf / (length + 20)
		bm25 += idf * tf * 2.2 / (tf + 1.2*(.25+.75*length/mean))
		distinct++
		i = k
	}
	return density, bm25, math.Log1p(distinct)
}

// entry is a word of a document with its weight; vectors have the length 1.
type entry struct {
	word   int32
	weight float64
}

// vectors are the documents as (1+ln tf)·idf, a word of the title counting three
// times more. They are made once. Shape: [document], sorted by word.
func (w *Web) vectors() [][]entry {
	if w.made != nil {
		return w.made
	}
	out := make([][]entry, len(w.docs))
	for i, d := range w.docs {
		all := slices.Concat(d.title, d.title, d.title, d.body)
		slices.Sort(all)
		sum := 0.
		for a := 0; a < len(all); {
			b := a
			for b < len(all) && all[b] == all[a] {
				b++
			}
			v := (1 + math.Log(float64(b-a))) * max(0, w.idf(all[a]))
			out[i] = append(out[i], entry{all[a], v})
			sum += v * v
			a = b
		}
		for k := range out[i] {
			out[i][k].weight /= math.Sqrt(max(sum, 1e-12))
		}
	}
	w.made = out
	return out
}

// top is how many documents tell what the documents of a topic share.
const top = 12

// feedback is the cosine of each document to the mean of the best by score, less
// the mean of all, where that is above 0: pseudo-relevance feedback. No label is
// looked at.
//
// Source: Rocchio, Relevance Feedback in Information Retrieval, 1971, with β = γ = 1.
func feedback(vectors [][]entry, score []float64, words int) []float64 {
	best := ranked(score)
	best = best[:min(top, len(best))]
	centre := make([]float64, words)
	for _, i := range best {
		for _, e := range vectors[i] {
			centre[e.word] += e.weight / float64(len(best))
		}
	}
	for _, v := range vectors {
		for _, e := range v {
			centre[e.word] -= e.weight / float64(len(vectors))
		}
	}
	sum := 0.
	for k, x := range centre {
		centre[k] = max(0, x)
		sum += centre[k] * centre[k]
	}
	out := make([]float64, len(vectors))
	for i, v := range vectors {
		for _, e := range v {
			out[i] += e.weight * centre[e.word] / math.Sqrt(max(sum, 1e-12))
		}
	}
	return out
}

// ranked are the documents by falling score, of equal ones the first before.
func ranked(score []float64) []int {
	out := make([]int, len(score))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return -cmp.Compare(score[a], score[b]) })
	return out
}
