package score

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/linear"
	"github.com/waggle-crawler/waggle/web"
)

// ache is a link classifier that learns during the crawl: after a number of pages it
// is trained again on the links followed so far, positive when the page they led to
// was relevant, and all links that wait are scored again. Words are stemmed and
// tagged by where they stand: url_, anchor_, around_. The priority is
//
//	100·class + min(99, 100·P(positive)),   class 1 for positive, 0 otherwise
//
// so that the class outweighs any probability; before the first training it is
// 100·relevance of the page that holds the link. With hard focus the links of
// pages that are not relevant have 1,000 less: they are followed when nothing
// else is left, where ACHE drops them; so it is with the other links of a domain that
// gave as many pages as the setting domain says. ache_levels.go has the three levels.
//
// Source: Barbosa & Freire, An Adaptive Crawler for Locating Hidden-Web Entry
// Points, 2007, and the later program ACHE: linear machine with C = 1 and
// Platt's probabilities, every 500 pages, at most 5,000 examples of a class.
// Here these are a random sample of all so far (Vitter's reservoir). The program's
// bound of 100 pages a domain is off by default, since a recorded web may be one domain.
type ache struct {
	journal
	analyzer  text.Splitter
	page      func(*web.Page, web.Verdict) float64
	hard      bool
	every     int
	reservoir int
	c         float64
	seed      uint64

	domain int // pages, 0 for no bound

	visits  int
	models  [acheLevels]*linear.Model // of class 1 alone, or by level; nil before their first training
	samples [acheLevels]sample        // of negative and positive links, or by level
	ways    ways                      // nil without levels
	domains map[uint64]uint32         // pages by hash of the domain; nil without a bound
}

const (
	acheDim   = 1 << 16 // of hashed tagged words
	acheWords = 32      // that are kept of a link beside its address
	// acheAddressWords are read of an address at most: one of thousands would make each example as large.
	acheAddressWords = 64
	hardOffset       = 1000
	acheSigns        = 2 // classes without levels: negative and positive
)

// Tags of words, as seeds of their hashes: url_, anchor_, around_.
const (
	tagURL uint64 = iota
	tagAnchor
	tagAround
)

// sample is a uniform sample of what it was offered.
type sample struct {
	offered uint64
	held    [][]uint32
}

var _ Scorer = (*ache)(nil)

func acheSettings(hard bool) []Setting {
	focus := 0.
	if hard {
		focus = 1
	}
	return []Setting{
		{Name: "hard", Default: focus, Max: 1, Whole: true, Line: "1 holds back the links of pages that are not relevant"},
		{Name: "every", Default: 500, Min: 1, Max: 1e6, Whole: true, Line: "pages from one training to the next"},
		{Name: "reservoir", Default: 5000, Min: 1, Max: 1e6, Whole: true, Line: "examples of a class, at most"},
		{Name: "c", Default: 1, Min: 1e-6, Max: 1e6, Line: "C: weight of the examples in training"},
		{Name: "domain", Max: 1e6, Whole: true, Line: "pages of a domain after which its other links are held back; 0 sets no bound"},
	}
}

func newACHE(o Options) (Scorer, error) {
	a := makeACHE(o)
	a.journal = newSnapshotJournal("ache-like", o, a)
	return a, nil
}

// makeACHE makes all but the journal.
func makeACHE(o Options) *ache {
	a := &ache{
		analyzer: text.SplitterOf(o.Analyzer), page: o.Page, hard: o.set("hard") >= 0.5,
		every: int(o.set("every")), reservoir: int(o.set("reservoir")), c: o.set("c"), seed: o.Seed,
		domain: int(o.set("domain")),
	}
	if a.domain > 0 {
		a.domains = map[uint64]uint32{}
	}
	return a
}

// Extract hashes the tagged words of anchor and surroundings:
//
//	relevance of the page, in 1/255 byte · { word uint16 LE }…
func (a *ache) Extract(p *web.Page, v web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	relevance := byte(unit(a.page(p, v))*255 + 0.5)
	var words []uint16
	for i := range p.Links {
		l := &p.Links[i]
		words = a.tagged(words[:0], tagAnchor, l.Anchor)
		words = a.tagged(words, tagAround, l.Before)
		words = a.tagged(words, tagAround, l.After)
		words = words[:min(len(words), acheWords)]
		slices.Sort(words)
		f := make([]byte, 0, 1+2*len(words))
		f = append(f, relevance)
		for _, w := range slices.Compact(words) {
			f = binary.LittleEndian.AppendUint16(f, w)
		}
		out[i] = f
	}
	return out
}

// tagged appends the hashes of the words of s under a tag.
func (a *ache) tagged(dst []uint16, tag uint64, s string) []uint16 {
	var room [32]string
	for _, w := range a.analyzer.AppendWords(room[:0], s) {
		dst = append(dst, uint16(xxh3.HashStringSeed(w, tag)))
	}
	return dst
}

// features are all the words of a candidate, sorted, each once.
func (a *ache) features(c *web.Candidate) []uint32 {
	_, path, _ := strings.Cut(c.URL.String(), "://")
	var room [32]uint16
	words := a.tagged(room[:0], tagURL, path)
	words = words[:min(len(words), acheAddressWords)]
	out := make([]uint32, 0, len(words)+acheWords)
	for _, w := range words {
		out = append(out, uint32(w))
	}
	if len(c.Features) > 0 {
		for f := c.Features[1:]; len(f) >= 2; f = f[2:] {
			out = append(out, uint32(binary.LittleEndian.Uint16(f)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Visit records what the link led to, and returns for the links found there
//
//	1 if the page is relevant, else 0 byte · with levels: number of the visit uvarint
//
// The entry is, where a domain stands only with a bound and a parent only with levels,
//
//	1 if relevant, 2 if a seed, 3 both byte · hash of the domain uint64 LE · visit of the parent uvarint · { word uint16 LE }…
func (a *ache) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	line := []byte{0}
	if v.Relevant {
		line[0] |= 1
	}
	if c.Depth == 0 {
		line[0] |= 2
	}
	if a.domains != nil {
		line = binary.LittleEndian.AppendUint64(line, domainHash(c.URL))
	}
	if a.ways != nil {
		line = binary.AppendUvarint(line, parentOf(c))
	}
	if c.Depth > 0 {
		for _, w := range a.features(c) {
			line = binary.LittleEndian.AppendUint16(line, uint16(w))
		}
	}
	if a.add(line) {
		a.apply(&entry{b: line})
		trained := a.visits%a.every == 0 && a.models != [acheLevels]*linear.Model{}
		if trained || a.domains != nil && int(a.domains[domainHash(c.URL)]) == a.domain {
			a.requestRescore()
		}
	}
	memory := []byte{line[0] & 1}
	if a.ways != nil {
		memory = binary.AppendUvarint(memory, uint64(a.visits))
	}
	return memory
}

// Recall is what links of an irrelevant page carry, which is in no visit.
func (a *ache) Recall(*web.Candidate, *web.Page, web.Verdict) []byte { return []byte{0} }

// domainHash stands for the registered domain of an address.
func domainHash(u web.URL) uint64 { return xxh3.HashString(u.Host().Domain()) }

// parentOf is the visit in which the page that holds a link was fetched, 0 if none.
func parentOf(c *web.Candidate) uint64 {
	if len(c.Memory) < 2 {
		return 0
	}
	n, k := binary.Uvarint(c.Memory[1:])
	if k <= 0 {
		return 0
	}
	return n
}

// apply offers the link to the sample of its class or level, and trains when it is
// time. A seed is no link.
func (a *ache) apply(e *entry) {
	flags := e.byte()
	if a.domains != nil {
		a.domains[e.uint64()]++
	}
	link := way{number: uint64(a.visits) + 1}
	if a.ways != nil {
		link.parent = e.uvarint()
	}
	for b := e.rest(); len(b) >= 2; b = b[2:] {
		link.features = append(link.features, uint32(binary.LittleEndian.Uint16(b)))
	}
	switch {
	case flags&2 != 0 && link.features != nil:
		e.err = errors.New("score: a seed with words")
	case flags&2 != 0: // no link
	case a.ways != nil:
		a.follow(link, flags&1 != 0)
	default:
		a.offer(&a.samples[flags&1], link.features)
	}
	a.visits++
	if a.visits%a.every == 0 {
		a.learn(a.train)
	}
}

// train trains the machine of the positive links, or one for each level. A class without
// examples, or that alone has some, changes nothing.
func (a *ache) train() {
	models, _ := a.kept()
	for i := range models {
		class := i
		if a.ways == nil {
			class = 1
		}
		var examples []linear.Example
		for k := range a.samples {
			for _, f := range a.samples[k].held {
				examples = append(examples, linear.Example{Features: f, Positive: k == class})
			}
		}
		if m, ok := linear.Train(examples, acheDim, linear.Options{C: a.c, Seed: a.seed}); ok {
			models[i] = m
		}
	}
}

// kept are the models and samples that are in use.
func (a *ache) kept() ([]*linear.Model, []sample) {
	if a.ways != nil {
		return a.models[:], a.samples[:]
	}
	return a.models[:1], a.samples[:acheSigns]
}

// offer keeps each of n offered with the chance reservoir/n.
func (a *ache) offer(s *sample, features []uint32) {
	s.offered++
	if len(s.held) < a.reservoir {
		s.held = append(s.held, features)
	} else if i := draw(a.seed, uint64(a.visits)) % s.offered; i < uint64(a.reservoir) {
		s.held[i] = features
	}
}

// Score is in [0,199], with levels in [0,299]; 1,000 less for a link held back, and
// 1,000 less again for one of a domain that gave all its pages.
func (a *ache) Score(c *web.Candidate) float64 {
	score := 0.
	switch {
	case a.models != [acheLevels]*linear.Model{}:
		score = a.class(a.features(c))
	case len(c.Features) > 0:
		score = 100 * float64(c.Features[0]) / 255
	}
	if a.hard && len(c.Memory) > 0 && c.Memory[0] == 0 {
		score -= hardOffset
	}
	if a.domains != nil && int(a.domains[domainHash(c.URL)]) >= a.domain {
		score -= hardOffset
	}
	return score
}

// class is what the machines say of a link.
func (a *ache) class(f []uint32) float64 {
	if a.ways != nil {
		level, p := a.level(f)
		return 100*float64(acheLevels-1-level) + min(99, 100*p)
	}
	score := min(99, 100*a.models[0].Probability(f))
	if a.models[0].Margin(f) >= 0 {
		score += 100
	}
	return score
}

func (*ache) Rescores() bool               { return true }
func (a *ache) Restore(state []byte) error { return a.restore(state, a.apply) }

// draw gives a number for a purpose, the same for the same seed and purpose.
func draw(seed uint64, purpose ...uint64) uint64 {
	var b []byte
	for _, v := range purpose {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return xxh3.HashSeed(b, seed)
}

// fraction makes of a draw a number in [0,1).
func fraction(d uint64) float64 { return float64(d>>11) / (1 << 53) }

// appendSnapshot appends
//
//	pages uvarint · of the positive links, or of each level: weights as linear.Model.Parameters has them, none before the first training
//	for negative and positive links, or each level: offered uvarint · held uvarint, words as appendWords has them…
//	with levels: the ways · with a bound: domains uvarint, { hash uint64 LE · pages uvarint }… by hash
func (a *ache) appendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(a.visits))
	models, samples := a.kept()
	for _, m := range models {
		var parameters []float64
		if m != nil {
			parameters = m.Parameters()
		}
		b = wire.AppendFloat64s(b, parameters)
	}
	for _, s := range samples {
		b = binary.AppendUvarint(b, s.offered)
		b = binary.AppendUvarint(b, uint64(len(s.held)))
		for _, features := range s.held {
			b = appendWords(b, features)
		}
	}
	if a.ways != nil {
		b = a.ways.appendTo(b)
	}
	if a.domains != nil {
		b = binary.AppendUvarint(b, uint64(len(a.domains)))
		for _, d := range slices.Sorted(maps.Keys(a.domains)) {
			b = binary.LittleEndian.AppendUint64(b, d)
			b = binary.AppendUvarint(b, uint64(a.domains[d]))
		}
	}
	return b
}

func (a *ache) readSnapshot(r *wire.Reader) {
	a.visits = r.Number(math.MaxInt32)
	models, samples := a.kept()
	for i := range models {
		switch parameters := r.Float64s(); {
		case len(parameters) == linear.Parameters+acheDim:
			models[i] = linear.NewModel(parameters)
		case len(parameters) > 0:
			r.Fail("%d weights", len(parameters))
		}
	}
	for i := range samples {
		s := &samples[i]
		s.offered = uint64(r.Number(math.MaxInt64))
		s.held = make([][]uint32, r.Count(1))
		if uint64(len(s.held)) > s.offered {
			r.Fail("a sample larger than what it is of")
		}
		for k := range s.held {
			s.held[k] = readWords(r)
		}
	}
	if a.ways != nil {
		a.ways.read(r)
	}
	if a.domains != nil {
		for range r.Count(9) {
			d := r.Uint64()
			a.domains[d] = uint32(r.Number(math.MaxInt32))
		}
	}
}
