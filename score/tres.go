package score

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// tres learns in the course of the crawl what a link is worth by double deep Q-learning:
// a network of layers of 30, 15 and 1 gives the worth of six features, and is trained
// after each page on examples drawn from the last ones,
//
//	worth of the link → r + γ·Q'(best link of the page, by Q)
//
// with r = 1 for a relevant page, 0 for another, Q the network and Q' a copy of it that is renewed now
// and then. The features: the page that holds the link is relevant; 1/links since the last
// relevant page; relevant pages on the path, as a share; a keyword in the address; one in
// the anchor; the relevance of the page. The first pages are fetched in random order.
//
// Source: Kontogiannis, Kelesis, Pollatos, Giannakopoulos & Paliouras, Tree-based Focused
// Web Crawling with Reinforcement Learning, 2021, and its program TRES. "Like": its
// classifier of pages, a trained network, is the judge here; all links that wait are
// scored anew every so many pages, where the program scores one link of each leaf of a
// regression tree; domains are not features. The random pages at the start
// count in the budget.
type tres struct {
	journal
	page     func(*web.Page, web.Verdict) float64
	splitter text.Splitter
	keywords map[string]bool

	gamma, rate        float64
	warm, every, renew int
	examples, kept     int
	seed               uint64
	visits             int
	net, target        *network
	replay             [][]byte // entries, the oldest at visits % kept once it is full
}

const (
	tresInputs = 6
	tresNext   = 16 // links of a page that count as its next ones
	tresLayer1 = 30
	tresLayer2 = 15
)

var _ Scorer = (*tres)(nil)

func tresSettings() []Setting {
	return []Setting{
		{Name: "warm-up", Default: 300, Max: 1e6, Whole: true, Line: "pages in random order at the start"},
		{Name: "gamma", Default: 0.99, Max: 0.999, Line: "γ: what a page is worth that is one link later"},
		{Name: "rate", Default: 0.001, Min: 1e-6, Max: 0.1, Line: "step of the training"},
		{Name: "batch", Default: 16, Min: 1, Max: 1024, Whole: true, Line: "examples that are learnt from after a page"},
		{Name: "memory", Default: 2000, Min: 1, Max: 1e6, Whole: true, Line: "last pages from which they are drawn"},
		{Name: "renew", Default: 100, Min: 1, Max: 1e6, Whole: true, Line: "pages after which the copy of the network is renewed"},
		{Name: "every", Default: 25, Min: 1, Max: 1e6, Whole: true, Line: "pages after which all that waits is scored anew"},
	}
}

func newTRES(o Options) (Scorer, error) {
	t := &tres{
		page: o.Page, splitter: text.SplitterOf(o.Analyzer), keywords: map[string]bool{},
		gamma: o.set("gamma"), rate: o.set("rate"), warm: int(o.set("warm-up")), every: int(o.set("every")), renew: int(o.set("renew")),
		examples: int(o.set("batch")), kept: int(o.set("memory")), seed: o.Seed,
		net: newNetwork(o.Seed, tresInputs, tresLayer1, tresLayer2, 1),
	}
	for _, k := range o.Keywords {
		for _, w := range o.Analyzer.Words(k) {
			t.keywords[w] = true
		}
	}
	t.target = t.net.clone()
	t.journal = newSnapshotJournal("tres-like", o, t)
	return t, nil
}

// Extract keeps what a link shows by itself:
//
//	relevance of the page, in 1/255 byte · keyword in the address, in the anchor byte, bits 1 and 2
func (t *tres) Extract(p *web.Page, v web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	for i := range p.Links {
		out[i] = t.shown(p, v, i)
	}
	return out
}

func (t *tres) shown(p *web.Page, v web.Verdict, i int) []byte {
	b := []byte{byte(unit(t.page(p, v))*255 + 0.5), 0}
	_, address, _ := strings.Cut(p.Links[i].URL.String(), "://")
	if t.names(address) {
		b[1] |= 1
	}
	if t.names(p.Links[i].Anchor) {
		b[1] |= 2
	}
	return b
}

// names tells whether s holds a word of the keywords.
func (t *tres) names(s string) bool {
	var room [32]string
	for _, w := range t.splitter.AppendWords(room[:0], s) {
		if t.keywords[w] {
			return true
		}
	}
	return false
}

// input is what the network is given of a link: each feature in 1/255, byte [6].
func input(features, memory []byte) (x [tresInputs]byte) {
	if len(features) == 2 {
		x[3], x[4], x[5] = 255*(features[1]&1), 255*(features[1]>>1&1), features[0]
	}
	if len(memory) == 4 && memory[3] > 0 {
		if memory[0] == 1 {
			x[0] = 255
		}
		x[1] = byte(255 / (1 + int(memory[1])))
		x[2] = byte(255 * int(min(memory[2], memory[3])) / int(memory[3]))
	}
	return x
}

// numbers are the bytes of an input as the network takes them.
func numbers(x []byte) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v) / 255
	}
	return out
}

// Visit learns from the page, and returns what its links know of their path:
//
//	1 if the page is relevant, else 0 byte · links since the last relevant page byte
//	relevant pages byte, pages byte on the path, both at most 255
//
// The entry is
//
//	1 if relevant, else 0 byte · input of the link · inputs of the links of the page, byte [6] each
//
// with no input of the link for a seed.
func (t *tres) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	memory := []byte{0, 255, 0, 0}
	if len(c.Memory) == 4 {
		copy(memory, c.Memory)
	}
	relevant := byte(0)
	if v.Relevant {
		relevant = 1
	}
	next := []byte{relevant, byte(min(int(memory[1])+1, 255)), memory[2], memory[3]}
	if relevant == 1 {
		next[1] = 0
	}
	if next[3] < 255 {
		next[2], next[3] = next[2]+relevant, next[3]+1
	}
	line := []byte{relevant}
	if len(c.Features) == 2 {
		x := input(c.Features, c.Memory)
		line = append(line, x[:]...)
		for i := range p.Links[:min(len(p.Links), tresNext)] {
			x := input(t.shown(p, v, i), next)
			line = append(line, x[:]...)
		}
	}
	if t.add(line) {
		t.apply(&entry{b: line})
		if t.visits == t.warm || t.visits > t.warm && t.visits%t.every == 0 {
			t.requestRescore()
		}
	}
	return next
}

func (t *tres) apply(e *entry) {
	line := e.rest()
	t.visits++
	if len(line) > 1 && len(line)%tresInputs == 1 {
		if len(t.replay) < t.kept {
			t.replay = append(t.replay, line)
		} else {
			t.replay[t.visits%t.kept] = line
		}
	}
	if len(t.replay) == 0 {
		return
	}
	t.learn(t.train)
	if t.visits%t.renew == 0 {
		t.target = t.net.clone()
	}
}

// train learns from a batch of examples.
func (t *tres) train() {
	grad := make([]float64, len(t.net.weights))
	for i := range t.examples {
		line := t.replay[draw(t.seed, 0, uint64(t.visits), uint64(i))%uint64(len(t.replay))]
		t.net.gradient(numbers(line[1:1+tresInputs]), t.goal(line), grad)
	}
	for i := range grad {
		grad[i] /= float64(t.examples)
	}
	t.net.step(grad, t.rate)
}

// goal is what the network is to say of the link of an entry: the best of the next links
// by the network is worth what the copy says.
func (t *tres) goal(line []byte) float64 {
	reward := float64(line[0])
	best, worth := math.Inf(-1), 0.
	for next := line[1+tresInputs:]; len(next) >= tresInputs; next = next[tresInputs:] {
		x := numbers(next[:tresInputs])
		if q := t.net.value(x); q > best {
			best, worth = q, t.target.value(x)
		}
	}
	return reward + t.gamma*worth
}

// Score is random in [0,1) during the warm-up, then what the network says, at most
// 1/(1−γ) in size. A seed has that.
func (t *tres) Score(c *web.Candidate) float64 {
	most := 1 / (1 - t.gamma)
	switch {
	case len(c.Features) != 2:
		return most
	case t.visits < t.warm:
		return fraction(draw(t.seed, 1, graphHash(c.URL)))
	}
	x := input(c.Features, c.Memory)
	return max(-most, min(most, t.net.value(numbers(x[:]))))
}

func (*tres) Rescores() bool               { return true }
func (t *tres) Restore(state []byte) error { return t.restore(state, t.apply) }

// appendSnapshot appends
//
//	pages uvarint · steps uvarint · weights, means, squares, weights of the copy as wire.AppendFloat64s has them
//	pages that are drawn from: number uvarint, each as its entry
func (t *tres) appendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(t.visits))
	b = binary.AppendUvarint(b, uint64(t.net.steps))
	for _, w := range [][]float64{t.net.weights, t.net.mean, t.net.square, t.target.weights} {
		b = wire.AppendFloat64s(b, w)
	}
	b = binary.AppendUvarint(b, uint64(len(t.replay)))
	for _, line := range t.replay {
		b = wire.AppendString(b, string(line))
	}
	return b
}

func (t *tres) readSnapshot(r *wire.Reader) {
	t.visits = r.Number(math.MaxInt32)
	t.net.steps = r.Number(math.MaxInt32)
	for _, w := range [][]float64{t.net.weights, t.net.mean, t.net.square, t.target.weights} {
		all := r.Float64s()
		if len(all) != len(w) {
			r.Fail("%d weights", len(all))
			return
		}
		for i, v := range all {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				r.Fail("a weight of %v", v)
				return
			}
			w[i] = v
		}
	}
	for range r.Count(1) {
		line := []byte(r.String())
		if len(line) < 1+tresInputs || len(line)%tresInputs != 1 || len(t.replay) == t.kept {
			r.Fail("a page that cannot be learnt from")
			return
		}
		t.replay = append(t.replay, line)
	}
}
