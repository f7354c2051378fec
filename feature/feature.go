// Package feature computes what trained models observe of pages and links: how
// similar a page is to the targets, which words of the vocabulary it holds, what
// the link that led to it says and what the link that leads on says.
//
// The life of a Space: Build chooses its vocabulary from the pages of a
// training graph; training and crawling then ask the same Space for the same
// observations; a model file carries it along (AppendBinary, Read).
//
// Source: Liu & Milios, Probabilistic Models for Focused Web Crawling, 2010,
// section 3.2 and table 1. O1 to O6 are the observations of that section.
package feature

import (
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Subset says which of the observations a model looks at, as in sections 6.2 and
// 6.4 of the paper.
type Subset string

// The subsets of the paper.
const (
	All        Subset = "all"
	Words      Subset = "words"      // O_w alone: the paper's "word"
	Similarity Subset = "similarity" // all but O_w: the paper's "sim-meta-T"
)

// Options say how a Space is built.
type Options struct {
	// Subset "" is All.
	Subset Subset
	// MinPages is the number of training pages in which a word must occur to
	// be observed; 0 = 3. The paper gives no limit.
	MinPages int
	// Counts makes the value of a word on a page the number of its
	// occurrences; the default is 1. The paper has both.
	Counts bool
	// Surroundings takes the words before and after an anchor for words of the
	// anchor: table 1 of the paper speaks of "anchor surrounding text", its
	// equations of the anchor alone.
	Surroundings bool
	// AnyAddress computes O3 as printed: whether the address of any link on the
	// page holds a keyword. That is equal for all links of a page, which by section
	// 3.3.1 shall differ through it; so the default is whether the address of the
	// one link that leads on does.
	AnyAddress bool
	// Analyzer makes terms of texts, as the parser's does; nil = a new one.
	Analyzer *text.Analyzer
}

// Example is a training page with the links that were followed from it.
type Example struct {
	Page  *web.Page
	Links []*web.Link
}

// Observations by id: what the page shows, what the link that led to it shows,
// what the link that leads on shows, with W words of pages and A of anchors.
//
//	0          bias, always 1
//	1          O1: greatest cosine of the page to a target, term frequencies
//	2          O2: cosine of the meta description to the topic's description
//	3 …        O_w: word w is in title, headings, meta data or image texts
//	3+W        O4: the address of the page holds a keyword
//	4+W …      O5_w: word w is in the anchor of the link that led here
//	4+W+A      O3: the address that the next link leads to holds a keyword
//	5+W+A …    O6_w: word w is in the anchor of the link that leads on
//
// With Options.AnyAddress O3 is of the page, has the id 3+W, and O4 and O5 come
// one later.
const (
	Bias = iota
	TargetCosine
	DescriptionCosine
	firstWord
)

// inlink and outlink are the first ids of what the link that led to a page shows
// and of what the link that leads on shows; afterwards is the first id of O6.
func (s *Space) inlink() uint32 {
	id := uint32(firstWord + len(s.words))
	if s.anyAddress {
		id++
	}
	return id
}
func (s *Space) outlink() uint32    { return s.inlink() + 1 + uint32(len(s.anchors)) }
func (s *Space) afterwards() uint32 { return uint32(s.Len() - len(s.anchors)) }

// address is the id of O3.
func (s *Space) address() uint32 {
	if s.anyAddress {
		return s.inlink() - 1
	}
	return s.outlink()
}

// Cuts are the ids before which an observation vector falls into its three
// parts, for lattice.Options.
func (s *Space) Cuts() []uint32 { return []uint32{s.inlink(), s.outlink()} }

// maxWords bounds the words looked at in one anchor or image text, and
// maxImportant those of the important texts of a page beside its headings.
const (
	maxWords     = 32
	maxImportant = 400
)

// Space holds what observing pages and links for one topic needs. It is
// immutable and safe for concurrent use.
type Space struct {
	subset       Subset
	minPages     int
	counts       bool
	surroundings bool
	anyAddress   bool
	keywords     []keyword
	// targets are the terms of the target pages, and those of the topic's
	// description, as vectors of length 1.
	targets     []terms
	description terms
	words       []string // of pages, sorted
	anchors     []string // of anchors, sorted

	analyzer *text.Analyzer
	index    map[string]entry
}

// terms are weights of stems, sorted by stem.
type terms []term

type term struct {
	stem   string
	weight float64
}

// entry is all that a Space knows of a stem. Numbers are 0 for no, else one
// more than the place in the list.
type entry struct {
	word, anchor uint32
	description  float64
	postings     []posting
}

// posting is the weight of a stem in a target.
type posting struct {
	target uint32
	weight float64
}

// keyword is a word to look for in addresses.
type keyword struct {
	text  string
	whole bool // it must stand between characters that are no letters or digits
}

// Build makes the space of a topic from the pages of a training graph. The
// topic's examples are the targets. It returns an error that says what to do
// when nothing could ever be observed.
func Build(t *topic.Topic, pages []Example, o Options) (*Space, error) {
	if o.Subset == "" {
		o.Subset = All
	}
	if o.Subset != All && o.Subset != Words && o.Subset != Similarity {
		return nil, fmt.Errorf("features: there is no subset %q; give %s, %s or %s", o.Subset, All, Words, Similarity)
	}
	if o.MinPages <= 0 {
		o.MinPages = 3
	}
	if o.Analyzer == nil {
		o.Analyzer = text.NewAnalyzer()
	}
	s := &Space{subset: o.Subset, minPages: o.MinPages, counts: o.Counts, surroundings: o.Surroundings, anyAddress: o.AnyAddress, analyzer: o.Analyzer}

	// How many training pages hold each word.
	words, anchors := map[string]int{}, map[string]int{}
	var room []string
	for _, x := range pages {
		if x.Page == nil {
			continue
		}
		if s.subset != Similarity {
			s.important(x.Page, &room, func(stem string, _ int32, first bool) {
				if first {
					words[stem]++
				}
			})
		}
		if s.subset != Words {
			var of []string
			for _, l := range x.Links {
				of = s.anchorWords(of, l)
			}
			slices.Sort(of)
			for _, w := range slices.Compact(of) {
				anchors[w]++
			}
		}
	}
	s.words, s.anchors = frequent(words, o.MinPages), frequent(anchors, o.MinPages)

	if s.subset != Words {
		for _, p := range t.Examples {
			if v := pageTerms(p.Terms); len(v) > 0 {
				s.targets = append(s.targets, v)
			}
		}
		s.description = textTerms(s.analyzer.Words(t.Description))
		s.keywords = s.keywordsOf(t)
	}
	switch {
	case s.subset == Similarity && len(s.targets) == 0:
		return nil, fmt.Errorf("features: no target page has text, so no page can be like one; give other targets or take the subset %s", Words)
	case s.subset != Similarity && len(s.words) == 0:
		return nil, fmt.Errorf("features: no word occurs in the titles, headings or meta data of %d of the %d training pages; "+
			"collect more pages, lower the number of pages a word needs, or take the subset %s", o.MinPages, len(pages), Similarity)
	}
	s.reindex()
	return s, nil
}

// frequent are the words that occur in n pages or more, sorted.
func frequent(pages map[string]int, n int) (out []string) {
	for w, c := range pages {
		if c >= n {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

// keywordsOf are the words of the topic's keywords, as they are looked for in
// addresses. An address writes words together ("linuxjournal"), so a word of
// four letters or more is found anywhere, in the letters that it shares with
// its stem; a shorter one only between other characters.
func (s *Space) keywordsOf(t *topic.Topic) (out []keyword) {
	for _, phrase := range t.Keywords {
		for _, w := range strings.FieldsFunc(strings.ToLower(phrase), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			stems := s.analyzer.Words(w)
			if len(stems) == 0 {
				continue
			}
			shared := 0
			for i, r := range w {
				if !strings.HasPrefix(stems[0], w[:i]+string(r)) {
					break
				}
				shared = i + utf8.RuneLen(r)
			}
			// The stem of hobby and hobbies is hobbi.
			stem := strings.TrimSuffix(w[:shared], "i")
			found := []keyword{{text: escaped(stem)}}
			if utf8.RuneCountInString(stem) < 4 {
				found = []keyword{{text: escaped(w), whole: true}, {text: escaped(stems[0]), whole: true}}
			}
			for _, k := range found {
				if !slices.Contains(out, k) {
					out = append(out, k)
				}
			}
		}
	}
	return out
}

// escaped is a word as addresses write it, in lower case.
func escaped(word string) string { return strings.ToLower(url.PathEscape(word)) }

// reindex makes the index of what the lists hold.
func (s *Space) reindex() {
	s.index = make(map[string]entry, len(s.words)+len(s.anchors))
	set := func(stem string, f func(*entry)) {
		e := s.index[stem]
		f(&e)
		s.index[stem] = e
	}
	for i, w := range s.words {
		set(w, func(e *entry) { e.word = uint32(i) + 1 })
	}
	for i, w := range s.anchors {
		set(w, func(e *entry) { e.anchor = uint32(i) + 1 })
	}
	for i, target := range s.targets {
		for _, t := range target {
			set(t.stem, func(e *entry) { e.postings = append(e.postings, posting{uint32(i), t.weight}) })
		}
	}
	for _, t := range s.description {
		set(t.stem, func(e *entry) { e.description = t.weight })
	}
}

// Len is the number of observations, for lattice.Shape.
func (s *Space) Len() int { return firstWord + len(s.words) + 2*(1+len(s.anchors)) }

// Subset is the one it was built with.
func (s *Space) Subset() Subset { return s.subset }

// MinPages is the number of training pages in which its words had to occur.
func (s *Space) MinPages() int { return s.minPages }

// Vocabulary counts the words of pages and those of anchors.
func (s *Space) Vocabulary() (pages, anchors int) { return len(s.words), len(s.anchors) }

// Targets is the number of target pages that O1 compares with.
func (s *Space) Targets() int { return len(s.targets) }

// Name tells people what an observation is; id is below Len.
func (s *Space) Name(id uint32) string {
	switch id {
	case Bias:
		return "always"
	case TargetCosine:
		return "like a target"
	case DescriptionCosine:
		return "described like the topic"
	case s.inlink():
		return "its address holds a keyword"
	case s.address():
		if s.anyAddress {
			return "an address on the page holds a keyword"
		}
		return "the next address holds a keyword"
	}
	switch {
	case id < s.inlink():
		return "“" + s.words[id-firstWord] + "” on the page"
	case id < s.outlink():
		return "“" + s.anchors[id-s.inlink()-1] + "” in the anchor that led here"
	case id < uint32(s.Len()):
		return "“" + s.anchors[id-s.afterwards()] + "” in the anchor that leads on"
	}
	return "observation " + strconv.Itoa(int(id))
}

// Page is what a page itself shows: bias, O1, O2, O_w and, as printed, O3.
func (s *Space) Page(p *web.Page) sparse.Vector { return s.page(p, false) }

// Others is Page, but O1 leaves out the targets that have the same words as the
// page. Training uses it: a target has a cosine of 1 to itself, and a model must
// not learn to recognise targets by that.
func (s *Space) Others(p *web.Page) sparse.Vector { return s.page(p, true) }

func (s *Space) page(p *web.Page, others bool) sparse.Vector {
	v := make(sparse.Vector, 0, 64)
	v = append(v, sparse.Entry{ID: Bias, Value: 1})
	if s.subset != Words {
		if c := s.nearest(p.Terms, others); c > 0 {
			v = append(v, sparse.Entry{ID: TargetCosine, Value: c})
		}
		if c := s.described(p.Description); c > 0 {
			v = append(v, sparse.Entry{ID: DescriptionCosine, Value: c})
		}
	}
	if s.subset != Similarity {
		first := len(v)
		var room []string
		s.important(p, &room, func(stem string, n int32, _ bool) {
			if at := s.index[stem].word; at > 0 {
				v = append(v, sparse.Entry{ID: firstWord + at - 1, Value: float64(n)})
			}
		})
		v = v[:first+len(s.merge(v[first:]))]
	}
	if s.anyAddress && slices.ContainsFunc(p.Links, func(l web.Link) bool { return s.holdsKeyword(l.URL) }) {
		v = append(v, sparse.Entry{ID: s.address(), Value: 1})
	}
	return v
}

// merge sorts words and adds up those that occur more than once: to 1, or to
// the number of occurrences.
func (s *Space) merge(v sparse.Vector) sparse.Vector {
	sort.Slice(v, func(i, j int) bool { return v[i].ID < v[j].ID })
	out := v[:0]
	for _, e := range v {
		if n := len(out); n > 0 && out[n-1].ID == e.ID {
			out[n-1].Value += e.Value
			continue
		}
		out = append(out, e)
	}
	if !s.counts {
		for i := range out {
			out[i].Value = 1
		}
	}
	return out
}

// important calls yield with the words of title and headings, each once with
// the number of its occurrences, and then with those of meta data and image
// texts; first tells whether a word was not named before for this page.
func (s *Space) important(p *web.Page, room *[]string, yield func(stem string, n int32, first bool)) {
	for i := range p.Terms {
		if t := &p.Terms[i]; t.Head > 0 {
			yield(t.Text, t.Head, true)
		}
	}
	words := s.analyzer.AppendWords((*room)[:0], p.Description)
	words = s.analyzer.AppendWords(words, p.Keywords)
	for _, alt := range p.Alts {
		if len(words) > maxImportant {
			break
		}
		words = s.analyzer.AppendWords(words, alt)
	}
	words = words[:min(len(words), maxImportant)]
	*room = words
	slices.Sort(words)
	for i, w := range words {
		first := i == 0 || words[i-1] != w
		if first {
			at := sort.Search(len(p.Terms), func(k int) bool { return p.Terms[k].Text >= w })
			first = at == len(p.Terms) || p.Terms[at].Text != w || p.Terms[at].Head == 0
		}
		yield(w, 1, first)
	}
}

// nearest is O1, in [0,1]:
//
//	max_d Σ_k w_pk·w_dk / √(Σ_k w_pk² · Σ_k w_dk²),   w = term frequency
func (s *Space) nearest(page []web.Term, others bool) float64 {
	if len(s.targets) == 0 {
		return 0
	}
	var few [64]float64
	dots := few[:0]
	if len(s.targets) > len(few) {
		dots = make([]float64, 0, len(s.targets))
	}
	dots = dots[:len(s.targets)]
	square := 0.
	for i := range page {
		n := float64(page[i].Body)
		square += n * n
		for _, p := range s.index[page[i].Text].postings {
			dots[p.target] += n * p.weight
		}
	}
	best := 0.
	for _, dot := range dots {
		if c := cosine(dot, square); c > best && !(others && c > itself) {
			best = c
		}
	}
	return best
}

// itself is the cosine from which two pages have the same words equally often.
const itself = 1 - 1e-9

// described is O2, in [0,1].
func (s *Space) described(description string) float64 {
	if len(s.description) == 0 || description == "" {
		return 0
	}
	dot, square := 0., 0.
	for _, t := range textTerms(s.analyzer.Words(description)) {
		square += t.weight * t.weight
		dot += t.weight * s.index[t.stem].description
	}
	return cosine(dot, square)
}

// BiasAlone is the observation vector of a page that shows nothing but the bias.
func BiasAlone() sparse.Vector { return sparse.Vector{{ID: Bias, Value: 1}} }
