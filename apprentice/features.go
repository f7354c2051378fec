package apprentice

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// Features are what is seen of a link (u,v) on the page u. They are immutable and
// safe for concurrent use.
//
// The leaves of u's tree are numbered from left to right, those without text
// too. Leaves ℓ…r of the anchor's subtree are at offset 0, a leaf μ left of it at
// μ−ℓ, one to its right at μ−r (section 2.2.1, figure 3):
//
//	leaf     3       4       5       6       7       8
//	         honey   (br)    [bees   dance]  (br)    steel
//	offset  −2      −1       0       0      +1      +2
//
// Every word t at an offset |d| ≤ dmax is a feature ⟨t,d⟩ (section 2.2.2). With a
// judge that knows a taxonomy, so are the names of the classes that u belongs to,
// and of all classes above them. With cocitation so is ⟨HIGH,d⟩ or ⟨LOW,d⟩ of links
// at most dmax away whose targets were fetched before u (section 3.8).
//
// With tree, a word at an offset other than 0 has a third part, ℓ: the length of the
// path in the tree from its text to the link, or the depth of the innermost element
// around both (section 4, as future work):
//
//	ul ─┬─ li ─── [bees dance]      offset 0
//	    └─ li ─── honey             path of 4: its text, li, ul, li, and the link's element
//	                                depth of ul
//
// The link's element is taken to be that around the nearest leaf of its anchor. In the
// anchor itself, and where the parser was not asked for nesting, ℓ is 0.
//
// A feature's number is 32 bits of a hash of what it is and where. Among a
// million features some hundred share theirs with another.
type Features struct {
	analyzer text.Splitter
	reach    int // dmax
	plain    bool
	topics   int
	cited    bool
	// Most words of a leaf, those nearest to the link, and most features of a link,
	// those at the least offsets.
	leafWords, linkWords int
	gap                  float64 // least |R(u)−R(v)| of an example
	tree                 int     // the setting
}

// Teaches tells whether a link from a page of relevance R(u) to one of R(v) is an
// example: if they are far enough apart.
//
// Source: section 4, "only those instances (u,v) with the largest |Pr(c*|u) − Pr(c*|v)|"
// as future work; here a bound takes the place of a rank, as links come one by one.
func (f *Features) Teaches(from, to byte) bool {
	return math.Abs(float64(from)-float64(to)) >= f.gap*255
}

// Kind says what a feature is about.
type Kind uint8

// The kinds of feature.
const (
	Word  Kind = iota // a word at an offset or, plain, anywhere near
	Class             // a class of the page that links, or one above it
	High              // a link near by that led to a highly relevant page
	Low               // a link near by that led to another
)

// Feature is one of a link, with its name.
type Feature struct {
	Kind   Kind
	Name   string // the word or the class; "" for others
	Offset int    // leaves from the link
	Tree   int    // ℓ, with the setting tree
	ID     uint32
}

// Cites tells whether features include the outcomes of links near by.
func (f *Features) Cites() bool { return f.cited }

const citedLinks = 64 // of a page, whose outcome its other links are told

// Salts of the hashes of features, beside offsets, which are −10…10.
const (
	saltPlain = 100 + iota
	saltClass
	saltHigh = 200  // + offset
	saltLow  = 300  // + offset
	saltTree = 1000 // · ℓ
)

// featureID is the number of a feature of that hash at an offset or with a salt.
func featureID(hash uint64, salt int) uint32 {
	hash = (hash ^ uint64(int64(salt))*0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
	return uint32(hash >> 32)
}

func (f *Features) wordFeature(hash uint64, offset, tree int) uint32 {
	if f.plain {
		offset = saltPlain
	}
	return featureID(hash, offset+tree*saltTree)
}

func citedFeature(high bool, d int) uint32 {
	if high {
		return featureID(0, saltHigh+d)
	}
	return featureID(0, saltLow+d)
}

// topicNames are the names of classes that are features: the classes themselves,
// and with topics = 2 every prefix of their paths, each once.
func (f *Features) topicNames(classes []string) (names []string) {
	if f.topics == 0 {
		return nil
	}
	for _, path := range classes {
		for path != "" && !slices.Contains(names, path) {
			names = append(names, path)
			if f.topics < 2 {
				break
			}
			path = path[:max(0, strings.LastIndexByte(path, '/'))]
		}
	}
	return names
}

// Extract gives the features of each link of a page of that relevance R(u) and of
// those classes, as web.Verdict has them:
//
//	R(u) in 1/255 byte · [ first leaf uint32 LE · last leaf uint32 LE ] · { feature uint32 LE }…
//
// The leaves are there with cocitation alone. Classes come first, then words by
// offset, nearest first, with their repetitions.
func (f *Features) Extract(p *web.Page, relevance float64, classes []string) [][]byte {
	out := make([][]byte, len(p.Links))
	level := Level(relevance)
	var topics []uint32
	for _, name := range f.topicNames(classes) {
		topics = append(topics, featureID(xxh3.HashString(name), saltClass))
	}
	r := leafReader{Features: f, p: p}
	ids := make([]uint32, 0, min(f.linkWords, 160))
	for i := range p.Links {
		l := &p.Links[i]
		ids = append(ids[:0], topics...)
		r.around(l, func(w word, offset, tree int) bool {
			if len(ids) == f.linkWords {
				return false
			}
			ids = append(ids, f.wordFeature(w.hash, offset, tree))
			return true
		})
		b := make([]byte, 0, 1+8*digit(f.cited)+4*len(ids))
		b = append(b, level)
		if f.cited {
			b = binary.LittleEndian.AppendUint32(b, uint32(l.First))
			b = binary.LittleEndian.AppendUint32(b, uint32(l.Last))
		}
		for _, id := range ids {
			b = binary.LittleEndian.AppendUint32(b, id)
		}
		out[i] = b
	}
	return out
}

// Named calls do with the features of a candidate that was found as that link of
// a page of those classes, in the order of Extract, and then those of links near by.
func (f *Features) Named(p *web.Page, classes []string, link int, c *web.Candidate, do func(Feature)) {
	_, at, ids, ok := f.read(c)
	if !ok {
		return
	}
	seen := 0
	for _, name := range f.topicNames(classes) {
		do(Feature{Kind: Class, Name: name, ID: featureID(xxh3.HashString(name), saltClass)})
		seen++
	}
	f.Words(p, link, func(w string, hash uint64, offset, tree int) bool {
		if seen == f.linkWords || seen == len(ids)/4 {
			return false
		}
		x := Feature{Kind: Word, Name: w, Offset: offset, Tree: tree, ID: f.wordFeature(hash, offset, tree)}
		if f.plain {
			x.Offset = 0
		}
		do(x)
		seen++
		return true
	})
	if f.cited {
		f.citedAt(c, at, func(high bool, d int) {
			kind := Low
			if high {
				kind = High
			}
			do(Feature{Kind: kind, Offset: d, ID: citedFeature(high, d)})
		})
	}
}

// leafReader reads the words of a page's leaves, each leaf once.
type leafReader struct {
	*Features
	p     *web.Page
	terms []string
	words []word
	of    []span // [leaves], made at the first leaf read
}

// word is a term with its hash.
type word struct {
	term string
	hash uint64
}

// span is a part of words; to is 0 for a leaf that was not read yet.
type span struct{ from, to int32 }

func (r *leafReader) leaf(i int) []word {
	if r.of == nil {
		r.words = make([]word, 1, 512) // a word that is none, so that no span ends at 0
		r.of = make([]span, len(r.p.Leaves))
	}
	if r.of[i].to == 0 {
		from := len(r.words)
		r.take(r.p.Leaves[i].Text)
		r.of[i] = span{int32(from), int32(len(r.words))}
	}
	return r.words[r.of[i].from:r.of[i].to]
}

// take appends the words of a text.
func (r *leafReader) take(s string) {
	if s == "" {
		return
	}
	r.terms = r.analyzer.AppendWords(r.terms[:0], s)
	for _, t := range r.terms {
		r.words = append(r.words, word{t, xxh3.HashString(t)})
	}
}

// around gives the words of a link by offset, 0, −1, 1, −2, …, and ℓ, until take wants
// no more. A link that has no place among the leaves has its anchor's words.
func (r *leafReader) around(l *web.Link, take func(w word, offset, tree int) bool) {
	all := func(words []word, offset, tree int) bool {
		for _, w := range words {
			if !take(w, offset, tree) {
				return false
			}
		}
		return true
	}
	if l.First < 0 || l.First > l.Last || l.Last >= len(r.p.Leaves) {
		from := len(r.words)
		r.take(l.Anchor)
		all(r.words[from:], 0, 0)
		return
	}
	for i := l.First; i <= l.Last; i++ {
		words := r.leaf(i)
		if !all(words[:min(len(words), r.leafWords)], 0, 0) {
			return
		}
	}
	left, right := r.climb(l.First), r.climb(l.Last)
	for d := 1; d <= r.reach; d++ {
		if i := l.First - d; i >= 0 {
			words := r.leaf(i)
			if !all(words[max(0, len(words)-r.leafWords):], -d, left.to(i)) {
				return
			}
		}
		if i := l.Last + d; i < len(r.p.Leaves) {
			words := r.leaf(i)
			if !all(words[:min(len(words), r.leafWords)], d, right.to(i)) {
				return
			}
		}
	}
}

// climb is the way from a leaf of an anchor to leaves on one side of it, one after
// another: which elements are around both.
type climb struct {
	*leafReader
	from, at int // leaves
	shared   int // elements around all leaves from…at
}

func (r *leafReader) climb(from int) climb {
	c := climb{leafReader: r, from: from, at: from}
	if r.tree > 0 && len(r.p.Nesting) == len(r.p.Leaves) {
		c.shared = int(r.p.Nesting[from].Depth)
	}
	return c
}

// to goes on to the next leaf, and is ℓ of its words.
func (c *climb) to(leaf int) int {
	nest := c.p.Nesting
	if c.tree == 0 || len(nest) != len(c.p.Leaves) {
		return 0
	}
	c.shared = min(c.shared, int(nest[max(leaf, c.at)].Shared))
	c.at = leaf
	if c.tree == 2 {
		return c.shared
	}
	return int(nest[c.from].Depth) + int(nest[leaf].Depth) - 2*c.shared + 1
}

// Words calls do with each word that is seen of a link, its hash, its offset and ℓ,
// nearest first, until do wants no more.
func (f *Features) Words(p *web.Page, link int, do func(term string, hash uint64, offset, tree int) bool) {
	r := leafReader{Features: f, p: p}
	r.around(&p.Links[link], func(w word, offset, tree int) bool { return do(w.term, w.hash, offset, tree) })
}

// place is where a link stands among the leaves of its page.
type place struct{ first, last int }

// offset is that of o seen from l, 0 where they overlap.
func (l place) offset(o place) int {
	switch {
	case o.last < l.first:
		return o.last - l.first
	case o.first > l.last:
		return o.first - l.last
	}
	return 0
}

// Citations is the memory of a page's links under cocitation: those of them
// that led somewhere already,
//
//	{ first leaf uint32 LE · last leaf uint32 LE · 1 if high byte }…
func Citations(p *web.Page, outcome func(web.URL) (high, known bool)) (memory []byte) {
	for i := range p.Links {
		l := &p.Links[i]
		if l.First > l.Last || len(memory) == 9*citedLinks {
			continue
		}
		high, known := outcome(l.URL)
		if !known {
			continue
		}
		memory = binary.LittleEndian.AppendUint32(memory, uint32(l.First))
		memory = binary.LittleEndian.AppendUint32(memory, uint32(l.Last))
		memory = append(memory, byte(digit(high)))
	}
	return memory
}

// read takes a candidate's features apart; ok is false where there are none, as for
// a seed.
func (f *Features) read(c *web.Candidate) (relevance byte, at place, ids []byte, ok bool) {
	b := c.Features
	if len(b) == 0 {
		return 0, place{}, nil, false
	}
	relevance, b = b[0], b[1:]
	if f.cited {
		if len(b) < 8 {
			return 0, place{}, nil, false
		}
		at = place{int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))}
		b = b[8:]
	}
	return relevance, at, b, true
}

// Relevance is R(u) of the page that holds a candidate, in 1/255; ok is false for
// one without features, such as a seed.
func (f *Features) Relevance(c *web.Candidate) (level byte, ok bool) {
	level, _, _, ok = f.read(c)
	return level, ok
}

// citedAt calls do with the outcomes of links near by; the link's own place is none
// of them.
func (f *Features) citedAt(c *web.Candidate, at place, do func(high bool, d int)) {
	for m := c.Memory; len(m) >= 9; m = m[9:] {
		o := place{int(binary.LittleEndian.Uint32(m)), int(binary.LittleEndian.Uint32(m[4:]))}
		if d := at.offset(o); d != 0 && max(d, -d) <= f.reach {
			do(m[8] == 1, d)
		}
	}
}

// AppendIDs appends the numbers of a candidate's features, uint32 LE each.
func (f *Features) AppendIDs(dst []byte, c *web.Candidate) []byte {
	_, at, ids, ok := f.read(c)
	if !ok {
		return dst
	}
	dst = append(dst, ids[:len(ids)/4*4]...)
	if f.cited {
		f.citedAt(c, at, func(high bool, d int) {
			dst = binary.LittleEndian.AppendUint32(dst, citedFeature(high, d))
		})
	}
	return dst
}
