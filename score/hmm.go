package score

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/hmm"
	"github.com/waggle-crawler/waggle/learn/knn"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// markov ranks links by a belief over hop distances that a hidden Markov model
// follows along the path. What a page shows is a cluster, c_t: the one that most
// of its nearest neighbours among the training pages have, 0 for the targets.
//
//	α(L_j,t) ∝ b_{j c_t} Σ_i α(L_i,t−1) a_ij      (equation 5, normalised)
//	α(L_j,t+1) = Σ_i α(L_i,t) a_ij                (equation 6)
//
// hmm ranks by α(L_0,t+1), among equals by α(L_1,t+1) and so on (order). The
// other two add how similar the page is to the targets, so that pages reached
// through the same clusters differ:
//
//	hmm-centroid-page   w·α(L_0,t+1) + (1−w)·cos(page, C0),  w = ½
//	hmm-centroid-both   w·α(L_0,t+1) + (1−w)·[(1−v)·cos(page, C0) + v·cos(anchor, C0)],  v = ½
//
// with C0 the mean of the targets. The paper states neither w nor v.
//
// With raw, α is as printed, not normalised: it shrinks with every page of a path,
// so that deep links come last whatever they show, and its mean with a cosine is
// nearly half the cosine. hmm then ranks by α(L_0,t+1) alone.
//
// Source: Batsakis, Petrakis & Milios 2009, section 3.3, after Liu, Janssen &
// Milios 2006.
type markov struct {
	stateless
	words    *feature.Lexicon
	hmm      *hmm.Model
	blank    int
	near     *knn.Index
	k        int // neighbours
	order    beliefOrder
	targets  []float64 // [words] C0, of length 1; nil for hmm
	belief   float64   // w
	anchor   float64   // v
	raw      bool
	analyzer text.Splitter
}

var (
	_ Scorer    = (*markov)(nil)
	_ Explainer = (*markov)(nil)
)

func neighboursSetting() Setting {
	return Setting{Name: "neighbours", Default: 5, Min: 1, Max: 1000, Whole: true, Line: "nearest training pages that tell what a page is like"}
}

func hmmSettings(centroid, anchor bool) []Setting {
	s := []Setting{neighboursSetting(), {Name: "raw", Max: 1, Whole: true, Line: "1 lets the belief fade along a path, as printed, and ranks without ε; 0 makes it sum to 1 at each page"}}
	switch {
	case !centroid:
		return append(s, orderSetting())
	case anchor:
		s = append(s, Setting{Name: "anchor", Default: 0.5, Max: 1, Line: "v: share of the anchor in the likeness to the targets"})
	}
	return append(s, Setting{Name: "weight", Default: 0.5, Max: 1, Line: "w: share of the belief against the likeness to the targets"})
}

func newHMM(centroid, anchor bool) func(Options) (Scorer, error) {
	return func(o Options) (Scorer, error) {
		m, err := model.Of[*model.Markov](o.Model, model.HMM)
		if err != nil {
			return nil, err
		}
		near, err := knn.New(m.Pages, m.Clusters)
		if err != nil {
			return nil, err
		}
		s := &markov{words: m.Words, hmm: m.First, blank: m.Blank(), near: near, k: int(o.set("neighbours")), raw: o.set("raw") >= 0.5, analyzer: text.SplitterOf(o.Analyzer)}
		if !centroid {
			s.order = newBeliefOrder(o.set("epsilon"))
			return s, nil
		}
		s.belief, s.targets = o.set("weight"), make([]float64, m.Words.Len())
		length := m.Centroids[0].Norm()
		for _, e := range m.Centroids[0] {
			s.targets[e.ID] = e.Value / length
		}
		if anchor {
			s.anchor = o.set("anchor")
		}
		return s, nil
	}
}

// Extract tells what the page shows, and how near its links are to the targets:
//
//	symbol uint16 LE [ · likeness float32 LE, in [0,1], with a centroid ]
func (m *markov) Extract(p *web.Page, _ web.Verdict) [][]byte {
	page := m.words.Page(p)
	symbol := m.blank
	if label, _, ok := m.near.Classify(page, m.k); ok {
		symbol = label
	}
	if m.targets == nil {
		return symbols(symbol, len(p.Links))
	}
	out := make([][]byte, len(p.Links))
	buf := make([]byte, 0, 6*len(out))
	content := m.likeness(page)
	var words []string
	for i := range p.Links {
		likeness := content
		if m.anchor > 0 {
			words = m.analyzer.AppendWords(words[:0], p.Links[i].Anchor)
			likeness = (1-m.anchor)*content + m.anchor*m.likeness(m.words.Text(words))
		}
		buf = binary.LittleEndian.AppendUint16(buf, uint16(symbol))
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(float32(unit(likeness))))
		out[i] = buf[6*i : 6*i+6 : 6*i+6]
	}
	return out
}

// likeness is the cosine of v, of length 1 or nothing, to the mean of the
// targets.
func (m *markov) likeness(v sparse.Vector) float64 {
	dot := 0.
	for _, e := range v {
		dot += e.Value * m.targets[e.ID]
	}
	return dot
}

// symbols are n features that each hold a symbol, uint16 LE.
func symbols(symbol, n int) [][]byte {
	out := make([][]byte, n)
	buf := make([]byte, 0, 2*n)
	for i := range out {
		buf = binary.LittleEndian.AppendUint16(buf, uint16(symbol))
		out[i] = buf[2*i : 2*i+2 : 2*i+2]
	}
	return out
}

// readSymbol reads what the page of a link shows; ok is false for a seed.
func readSymbol(features []byte, symbols int) (symbol int, ok bool) {
	if len(features) < 2 {
		return 0, false
	}
	symbol = int(binary.LittleEndian.Uint16(features))
	return symbol, symbol < symbols
}

// beliefOf fills dst [S] with the belief over the page that holds a link: α_t.
func (m *markov) beliefOf(dst []float64, symbol int, memory []byte) {
	var room scratch
	before := room.take(m.hmm.States)
	if m.raw {
		if !readRaw(before, memory) {
			before = nil
		}
		c := m.hmm.Step(dst, before, symbol)
		for j := range dst {
			dst[j] *= c
		}
		return
	}
	if !readBelief(before, memory) {
		before = nil // the page is a seed: π
	}
	m.hmm.Step(dst, before, symbol)
}

// readRaw fills dst from as many float64 LE in [0,1]; ok is false if b holds
// something else.
func readRaw(dst []float64, b []byte) (ok bool) {
	if len(b) != 8*len(dst) {
		return false
	}
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		if !(dst[i] >= 0 && dst[i] <= 1) {
			return false
		}
	}
	return true
}

// Visit returns the belief over the page that held the link c, which the links
// of the new page carry. It is nil for a seed.
//
//	α_t float32 LE [S], or float64 LE [S] for raw, which 50 pages make small
func (m *markov) Visit(c *web.Candidate, _ *web.Page, _ web.Verdict) []byte {
	symbol, ok := readSymbol(c.Features, m.hmm.Symbols)
	if !ok {
		return nil
	}
	var room scratch
	alpha := room.take(m.hmm.States)
	m.beliefOf(alpha, symbol, c.Memory)
	if m.raw {
		b := make([]byte, 0, 8*len(alpha))
		for _, p := range alpha {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p))
		}
		return b
	}
	return wire.AppendFloat32s(make([]byte, 0, 4*len(alpha)), alpha)
}

// Score is in [0,1], up to ε more for hmm; a seed has 1.
func (m *markov) Score(c *web.Candidate) float64 {
	symbol, ok := readSymbol(c.Features, m.hmm.Symbols)
	if !ok {
		return 1
	}
	var room scratch
	alpha, next := room.take(m.hmm.States), room.take(m.hmm.States)
	m.beliefOf(alpha, symbol, c.Memory)
	m.hmm.Predict(next, alpha)
	if m.targets == nil {
		if m.raw {
			return unit(next[0])
		}
		return m.order.priority(next)
	}
	likeness := 0.
	if len(c.Features) == 6 {
		likeness = unit(float64(math.Float32frombits(binary.LittleEndian.Uint32(c.Features[2:]))))
	}
	return m.belief*next[0] + (1-m.belief)*likeness
}

// Recall is Visit, which changes nothing here.
func (m *markov) Recall(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	return m.Visit(c, p, v)
}

// Explain begins with the probability of a target by the path alone, as if
// nothing were known of the page that holds the link; what that page shows
// comes to it, and the likeness to the targets.
func (m *markov) Explain(_ *web.Page, _ web.Verdict, _ int, c *web.Candidate) []Reason {
	symbol, ok := readSymbol(c.Features, m.hmm.Symbols)
	if !ok {
		return nil
	}
	alpha, next := make([]float64, m.hmm.States), make([]float64, m.hmm.States)
	read := readBelief
	if m.raw {
		read = readRaw
	}
	if read(next, c.Memory) {
		m.hmm.Predict(alpha, next)
	} else {
		copy(alpha, m.hmm.Pi)
	}
	m.hmm.Predict(next, alpha)
	unseen := next[0]
	m.beliefOf(alpha, symbol, c.Memory)
	m.hmm.Predict(next, alpha)
	what := fmt.Sprintf("the page is like those of cluster %d of the training pages", symbol)
	switch symbol {
	case 0:
		what = "the page is like the targets of the training pages"
	case m.blank:
		what = "the page holds no word that the model knows"
	}
	w := 1.
	if m.targets != nil {
		w = m.belief
	}
	out := []Reason{
		{Kind: ReasonPath, Times: 1, Weight: w * unseen},
		{Kind: ReasonSeen, What: what, Times: 1, Weight: w * (next[0] - unseen)},
	}
	switch {
	case m.targets == nil && m.raw:
		return out
	case m.targets == nil:
		return append(out, m.order.reason(next))
	}
	return append(out, Reason{Kind: ReasonTarget, Times: 1, Weight: m.Score(c) - w*next[0]})
}

// newNearestPage makes the crawler that follows a page classifier: the priority
// of a link is how much of the likeness of its page's nearest training pages is
// to targets,
//
//	Σ cos(page, target) / Σ cos(page, neighbour)   over the k nearest
//
// and 0 for a page that is near to none. Hu, Tu & Tong 2014, table 1, compare with
// a crawler by k-nearest neighbours and do not describe it.
func newNearestPage(o Options) (Scorer, error) {
	m, err := model.Of[*model.Markov](o.Model, model.HMM)
	if err != nil {
		return nil, err
	}
	near, err := knn.New(m.Pages, m.Clusters)
	if err != nil {
		return nil, err
	}
	k := int(o.set("neighbours"))
	return &constant{seed: 1, values: ofPage(func(p *web.Page) float64 {
		targets, all := 0., 0.
		for _, n := range near.Nearest(m.Words.Page(p), k) {
			all += n.Cosine
			if n.Label == 0 {
				targets += n.Cosine
			}
		}
		if all <= 0 {
			return 0
		}
		return targets / all
	})}, nil
}
