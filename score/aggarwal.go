package score

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// aggarwal is the intelligent crawler: it does not assume that relevant pages link
// to each other, but learns during the crawl what relevant pages have in common
// before they are fetched. With s = P(C), the share of relevant pages so far, a fact
// E about a link has the interest ratio I(C,E) = P(C|E)/P(C); the priority is the
// weighted sum of the logarithms of four:
//
//	content  the product over the words w of the page that holds the link
//	         with significance |P(C|w) − s| / √(s(1−s)/n_w) ≥ t
//	address  the same over the words of the link's address
//	links    p^m·q^n, with m relevant and n irrelevant pages known to hold
//	         the link; p = P(C|found on a relevant page)/s, q alike
//	sibling  relevant pages among those fetched from the same page, against
//	         their expected number
//
// Source: Aggarwal, Al-Garawi & Yu, Intelligent Crawling on the World Wide Web
// with Arbitrary Predicates, 2001; t = 2, all weights 1. Differences from the paper:
// of a page only the words with the highest tf·idf count, hashed; ratios are
// smoothed, (relevant+s)/(n+1)/s for words and parents and (relevant+1)/(s·n+1) for
// siblings, as those of the paper may be 0; siblings are links with the same page of
// first discovery. The pages that hold a link are kept as 64-bit hashes, within the
// bound of the journal.
type aggarwal struct {
	journal
	df           Frequencies
	analyzer     text.Splitter
	words, every int
	significance float64
	weights      [4]float64 // content, address, links, sibling

	all     tally            // pages fetched
	content [buckets]tally   // by word of the parent
	address [buckets]tally   // by word of the address
	parent  [2]tally         // found on an irrelevant, a relevant page
	links   map[uint64]tally // by address: pages that hold a link to it
	most    int              // of links
	brood   []tally          // by page fetched: pages fetched from it
}

const (
	buckets  = 1 << 15 // of hashed words
	linkSize = 16      // bytes of an entry of links
)

// tally counts pages, and the relevant ones among them.
type tally struct{ n, relevant uint32 }

func (t *tally) add(relevant bool) {
	t.n++
	if relevant {
		t.relevant++
	}
}

var _ Scorer = (*aggarwal)(nil)

func aggarwalSettings() []Setting {
	return []Setting{
		{Name: "content", Default: 1, Max: 100, Line: "weight of the words of the page that holds the link"},
		{Name: "address", Default: 1, Max: 100, Line: "weight of the words of the address"},
		{Name: "links", Default: 1, Max: 100, Line: "weight of the pages that hold the link"},
		{Name: "sibling", Default: 1, Max: 100, Line: "weight of what was fetched from the same page"},
		{Name: "significance", Default: 2, Max: 100, Line: "t: deviations from which a word counts"},
		{Name: "words", Default: 32, Min: 1, Max: 200, Whole: true, Line: "words of a page that count"},
		{Name: "every", Default: 50, Min: 1, Max: 1e6, Whole: true, Line: "pages after which all that waits is scored anew"},
		{Name: "journal", Default: 64, Min: 0.001, Max: 4096, Line: "MiB of links whose holders are counted; others are not"},
	}
}

func newAggarwal(o Options) (Scorer, error) {
	df := o.DF
	if df == nil {
		df = text.BackgroundOf(text.SplitterOf(o.Analyzer).Languages()...)
	}
	a := &aggarwal{
		df: df, analyzer: text.SplitterOf(o.Analyzer),
		words: int(o.set("words")), every: int(o.set("every")), significance: o.set("significance"),
		weights: [4]float64{o.set("content"), o.set("address"), o.set("links"), o.set("sibling")},
		links:   make(map[uint64]tally),
		most:    int(o.set("journal") * (1 << 20) / linkSize),
	}
	a.journal = newSnapshotJournal("aggarwal", o, a)
	return a, nil
}

// Extract gives each link its hash in the graph.
func (*aggarwal) Extract(p *web.Page, _ web.Verdict) [][]byte { return nodes(p, 0) }

// Visit learns from the outcome and returns what the links found there share:
//
//	1 if the page is relevant, else 0 byte · its number uint32 LE
//	{ bucket of a word uint16 LE }…
//
// The entry in the journal is
//
//	flags byte: 1 relevant, 2 found on a page · memory of c, its length first
//	words of c's address, their number first, uint16 LE each · links
func (a *aggarwal) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	number := len(a.brood)
	flags := byte(0)
	if v.Relevant {
		flags |= 1
	}
	line := append([]byte{flags}, binary.AppendUvarint(nil, uint64(len(c.Memory)))...)
	line = append(line, c.Memory...)
	tokens := a.tokens(c.URL)
	line = binary.AppendUvarint(line, uint64(len(tokens)))
	for _, w := range tokens {
		line = binary.LittleEndian.AppendUint16(line, w)
	}
	line = appendLinks(line, p, c)
	if a.add(line) {
		a.apply(&entry{b: line})
		if a.all.n%uint32(a.every) == 0 {
			a.requestRescore()
		}
	}
	memory := make([]byte, 0, 5+2*a.words)
	memory = append(memory, flags)
	memory = binary.LittleEndian.AppendUint32(memory, uint32(number))
	for _, w := range a.strongest(p) {
		memory = binary.LittleEndian.AppendUint16(memory, w)
	}
	return memory
}

// strongest are the words of a page with the highest tf·idf, without
// repetition, sorted.
func (a *aggarwal) strongest(p *web.Page) []uint16 {
	type candidate struct {
		weight float64
		term   int
	}
	all := make([]candidate, len(p.Terms))
	for i, t := range p.Terms {
		all[i] = candidate{float64(t.Body) * a.df.IDF(t.Text), i}
	}
	slices.SortFunc(all, func(x, y candidate) int {
		if x.weight != y.weight {
			if x.weight > y.weight {
				return -1
			}
			return 1
		}
		return x.term - y.term
	})
	var out []uint16
	for _, w := range all[:min(len(all), a.words)] {
		out = append(out, bucket(p.Terms[w.term].Text))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tokens are the words of an address, without repetition, sorted.
func (a *aggarwal) tokens(u web.URL) []uint16 {
	var room [32]string
	words := a.analyzer.AppendWords(room[:0], u.String())
	out := make([]uint16, 0, len(words))
	for _, w := range words {
		out = append(out, bucket(w))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func bucket(word string) uint16 { return uint16(xxh3.HashString(word) % buckets) }

func (a *aggarwal) apply(e *entry) {
	relevant := e.byte()&1 != 0
	memory := e.bytes(e.count(1))
	a.all.add(relevant)
	if from, number, words, ok := readParent(memory); ok {
		a.parent[from].add(relevant)
		if number < len(a.brood) {
			a.brood[number].add(relevant)
		}
		for ; len(words) > 0; words = words[2:] {
			a.content[binary.LittleEndian.Uint16(words)%buckets].add(relevant)
		}
	}
	for range e.count(2) {
		a.address[e.uint16()%buckets].add(relevant)
	}
	_, links := readLinks(e)
	for _, l := range links {
		if t, ok := a.links[l]; ok || len(a.links) < a.most {
			t.add(relevant)
			a.links[l] = t
		}
	}
	a.brood = append(a.brood, tally{})
}

// readParent reads a link's memory; ok is false for that of a seed.
func readParent(memory []byte) (relevant, number int, words []byte, ok bool) {
	if len(memory) < 5 {
		return 0, 0, nil, false
	}
	number = int(binary.LittleEndian.Uint32(memory[1:]))
	return int(memory[0] & 1), number, memory[5 : 5+(len(memory)-5)&^1], true
}

// Score is the sum of the weighted logarithms, 0 while nothing is known.
func (a *aggarwal) Score(c *web.Candidate) float64 {
	if a.all.relevant == 0 || a.all.relevant == a.all.n {
		return 0
	}
	s := float64(a.all.relevant) / float64(a.all.n)
	deviation := math.Sqrt(s * (1 - s))
	ratio := func(t tally) float64 {
		return math.Log((float64(t.relevant) + s) / (float64(t.n) + 1) / s)
	}
	word := func(t tally) float64 {
		n := float64(t.n)
		if n == 0 || math.Abs(float64(t.relevant)/n-s) < a.significance*deviation/math.Sqrt(n) {
			return 0
		}
		return ratio(t)
	}
	var sum [4]float64
	if _, number, words, ok := readParent(c.Memory); ok {
		for ; len(words) > 0; words = words[2:] {
			sum[0] += word(a.content[binary.LittleEndian.Uint16(words)%buckets])
		}
		if number < len(a.brood) {
			t := a.brood[number]
			sum[3] = math.Log((float64(t.relevant) + 1) / (s*float64(t.n) + 1))
		}
	}
	for _, w := range a.tokens(c.URL) {
		sum[1] += word(a.address[w])
	}
	holders := a.links[nodeOf(c)]
	sum[2] = float64(holders.relevant)*ratio(a.parent[1]) + float64(holders.n-holders.relevant)*ratio(a.parent[0])
	total := 0.
	for i, w := range a.weights {
		total += w * sum[i]
	}
	return total
}

func (*aggarwal) Rescores() bool               { return true }
func (a *aggarwal) Restore(state []byte) error { return a.restore(state, a.apply) }

// appendSnapshot appends tallies, n and relevant uvarint each: by word of the parent
// and of the address [buckets]; of an irrelevant and a relevant parent; by address
// linked to, number uvarint, { hash uint64 LE · tally }…; by page fetched, number
// uvarint first; of all pages.
func (a *aggarwal) appendSnapshot(b []byte) []byte {
	put := func(t tally) {
		b = binary.AppendUvarint(b, uint64(t.n))
		b = binary.AppendUvarint(b, uint64(t.relevant))
	}
	for _, list := range a.tallies() {
		for _, t := range list {
			put(t)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(a.links)))
	for _, hash := range slices.Sorted(maps.Keys(a.links)) {
		b = binary.LittleEndian.AppendUint64(b, hash)
		put(a.links[hash])
	}
	b = binary.AppendUvarint(b, uint64(len(a.brood)))
	for _, t := range a.brood {
		put(t)
	}
	put(a.all)
	return b
}

// tallies are those of fixed number.
func (a *aggarwal) tallies() [][]tally { return [][]tally{a.content[:], a.address[:], a.parent[:]} }

func (a *aggarwal) readSnapshot(r *wire.Reader) {
	get := func() tally { return tally{uint32(r.Number(math.MaxUint32)), uint32(r.Number(math.MaxUint32))} }
	for _, list := range a.tallies() {
		for i := range list {
			list[i] = get()
		}
	}
	for range r.Count(10) {
		hash := r.Uint64()
		a.links[hash] = get()
	}
	a.brood = make([]tally, r.Count(2))
	for i := range a.brood {
		a.brood[i] = get()
	}
	a.all = get()
}
