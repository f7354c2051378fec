package score

import (
	"encoding/binary"
	"errors"
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
// else is left, where ACHE drops them.
//
// Source: Barbosa & Freire, An Adaptive Crawler for Locating Hidden-Web Entry
// Points, 2007, and the later program ACHE: linear machine with C = 1 and
// Platt's probabilities, every 500 pages, at most 5,000 examples of a class.
// Here these are a random sample of all so far (Vitter's reservoir); the three
// levels (a link that leads to a relevant page in two or three steps) and the
// bound of 100 pages a domain are left out: the first needs the way back from
// a page to the link that led to its parent, the second is a matter of policy.
type ache struct {
	journal
	analyzer  text.Splitter
	page      func(*web.Page, web.Verdict) float64
	hard      bool
	every     int
	reservoir int
	c         float64
	seed      uint64

	visits  int
	model   *linear.Model // nil before the first training
	samples [2]sample     // of negative and positive links
}

const (
	acheDim    = 1 << 16 // of hashed tagged words
	acheWords  = 32      // that are kept of a link beside its address
	hardOffset = 1000
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
		{Name: "hard", Default: focus, Max: 1, Line: "1 holds back the links of pages that are not relevant"},
		{Name: "every", Default: 500, Min: 1, Max: 1e6, Line: "pages from one training to the next"},
		{Name: "reservoir", Default: 5000, Min: 1, Max: 1e6, Line: "examples of a class, at most"},
		{Name: "c", Default: 1, Min: 1e-6, Max: 1e6, Line: "C: weight of the examples in training"},
	}
}

func newACHE(o Options) (Scorer, error) {
	a := &ache{
		analyzer: text.SplitterOf(o.Analyzer), page: o.Page, hard: o.set("hard") >= 0.5,
		every: int(o.set("every")), reservoir: int(o.set("reservoir")), c: o.set("c"), seed: o.Seed,
	}
	a.journal = newEndlessJournal("ache-like", o, a)
	return a, nil
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

// Visit records what the link led to, and returns a byte for the links
// found there: 1 if the page is relevant, else 0. The entry is
//
//	1 if relevant, 2 if a seed, 3 both byte · { word uint16 LE }…
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
	} else {
		for _, w := range a.features(c) {
			line = binary.LittleEndian.AppendUint16(line, uint16(w))
		}
	}
	if a.add(line) {
		a.apply(&entry{b: line})
		if a.visits%a.every == 0 && a.model != nil {
			a.ask()
		}
	}
	return []byte{line[0] & 1}
}

// apply offers the link to the sample of its class, and trains when it is
// time. A seed is no link.
func (a *ache) apply(e *entry) {
	flags := e.byte()
	if flags&2 == 0 {
		var features []uint32
		for b := e.rest(); len(b) >= 2; b = b[2:] {
			features = append(features, uint32(binary.LittleEndian.Uint16(b)))
		}
		a.offer(&a.samples[flags&1], features)
	} else if len(e.b) > 0 {
		e.err = errors.New("score: a seed with words")
	}
	a.visits++
	if a.visits%a.every != 0 {
		return
	}
	var examples []linear.Example
	for class := range a.samples {
		for _, f := range a.samples[class].held {
			examples = append(examples, linear.Example{Features: f, Positive: class == 1})
		}
	}
	a.learn(func() {
		if m, ok := linear.Train(examples, acheDim, linear.Options{C: a.c, Seed: a.seed}); ok {
			a.model = m
		}
	})
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

// Score is in [0,199], or in [−1000,−801] for a link held back.
func (a *ache) Score(c *web.Candidate) float64 {
	score := 0.
	switch {
	case a.model != nil:
		f := a.features(c)
		score = min(99, 100*a.model.Probability(f))
		if a.model.Margin(f) >= 0 {
			score += 100
		}
	case len(c.Features) > 0:
		score = 100 * float64(c.Features[0]) / 255
	}
	if a.hard && len(c.Memory) > 0 && c.Memory[0] == 0 {
		score -= hardOffset
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
//	pages uvarint · weights of the model, as linear.Model.Parameters has them; none before the first training
//	for negative and positive links: offered uvarint · held uvarint, { features uvarint, { uint16 LE }… }…
func (a *ache) appendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(a.visits))
	var parameters []float64
	if a.model != nil {
		parameters = a.model.Parameters()
	}
	b = wire.AppendFloat64s(b, parameters)
	for _, s := range a.samples {
		b = binary.AppendUvarint(b, s.offered)
		b = binary.AppendUvarint(b, uint64(len(s.held)))
		for _, features := range s.held {
			b = binary.AppendUvarint(b, uint64(len(features)))
			for _, f := range features {
				b = binary.LittleEndian.AppendUint16(b, uint16(f))
			}
		}
	}
	return b
}

func (a *ache) readSnapshot(r *wire.Reader) {
	a.visits = r.Number(math.MaxInt32)
	switch parameters := r.Float64s(); {
	case len(parameters) == linear.Parameters+acheDim:
		a.model = linear.NewModel(parameters)
	case len(parameters) > 0:
		r.Fail("%d weights", len(parameters))
	}
	for i := range a.samples {
		s := &a.samples[i]
		s.offered = uint64(r.Number(math.MaxInt64))
		s.held = make([][]uint32, r.Count(1))
		if uint64(len(s.held)) > s.offered {
			r.Fail("a sample larger than what it is of")
		}
		for k := range s.held {
			s.held[k] = make([]uint32, r.Count(2))
			for n := range s.held[k] {
				s.held[k][n] = uint32(r.Uint16())
			}
		}
	}
}
