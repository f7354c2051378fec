package score

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// spiders is a population of agents, each of which chooses among the links it has
// found. The inputs of a link are, for each keyword k, how near it is:
//
//	in_k = Σ 1/dist(k, link)     over its occurrences within ±5 links
//
// The agent rates the link by λ = σ(Σ w_k·in_k + w_0), and takes one of its links
// with probability e^{βλ}/Σ e^{βλ}. It learns from the page: λ moves towards
// e(page) + μ·max λ of the links there, at most 1. Its energy grows by e(page) less
// a fixed cost. Above θ it splits into two agents, each with half of the energy,
// the new one with changed weights; below 0 it is removed.
//
// Source: Menczer & Belew, Adaptive Retrieval Agents, 2000; Menczer, Pant &
// Srinivasan, Topical Web Crawlers: Evaluating Adaptive Algorithms, 2004; μ =
// ½, the other constants are chosen here. The scorer differs from the papers in
// these points, hence "like" in its name. A crawl has one frontier: a link belongs
// to the agent that found it, agents take turns because the priority falls with each
// move of its agent, and the random choice is made once for each link, by the largest
// βλ + G with G of a Gumbel distribution, which is the same choice. When an agent
// splits, the new one gets every second link of the page. Links of removed agents
// are followed when nothing else is left. The number of agents is bounded, and
// keywords are single words.
//
// Visit looks at the words of a page a second time, since what Extract found
// there is not handed to it.
type spiders struct {
	journal
	analyzer text.Splitter
	page     func(*web.Page, web.Verdict) float64
	keyword  map[string]int
	seed     uint64

	beta, mu, rate, theta, cost, mutation float64
	maxAgents, every                      int

	pages  int
	agents []agent
}

// agent is one spider. weights [1+keywords], the first that of nothing.
type agent struct {
	weights []float64
	energy  float64
	moves   int
}

const (
	spiderReach    = 5 // links
	spiderKeywords = 64
	spiderInputs   = 7 // keywords of a link that are kept, the nearest
	inputStep      = 1. / 16
	moveOffset     = 1e3
	deadOffset     = 1e12
)

var _ Scorer = (*spiders)(nil)

func spidersSettings() []Setting {
	return []Setting{
		{Name: "beta", Default: 5, Max: 1000, Line: "β: how much an agent keeps to the best link"},
		{Name: "mu", Default: 0.5, Max: 1, Line: "μ: worth of the best link of a page against the page itself"},
		{Name: "rate", Default: 0.1, Max: 10, Line: "step of learning"},
		{Name: "theta", Default: 2, Min: 0.01, Max: 1e6, Line: "θ: energy at which an agent splits; it begins with half of it"},
		{Name: "cost", Default: 0.1, Max: 1e6, Line: "energy that a page costs"},
		{Name: "mutation", Default: 0.25, Max: 10, Line: "weights of a young agent differ by up to this"},
		{Name: "agents", Default: 64, Min: 1, Max: 10000, Whole: true, Line: "at most"},
		{Name: "every", Default: 100, Min: 1, Max: 1e6, Whole: true, Line: "pages after which all that waits is scored anew"},
	}
}

func newSpiders(o Options) (Scorer, error) {
	s := &spiders{
		analyzer: text.SplitterOf(o.Analyzer), page: o.Page, keyword: make(map[string]int), seed: o.Seed,
		beta: o.set("beta"), mu: o.set("mu"), rate: o.set("rate"), theta: o.set("theta"), cost: o.set("cost"),
		mutation: o.set("mutation"), maxAgents: int(o.set("agents")), every: int(o.set("every")),
	}
	s.journal = newSnapshotJournal("infospiders-like", o, s)
	for _, k := range o.Keywords {
		for _, w := range o.Analyzer.Words(k) {
			if _, twice := s.keyword[w]; !twice && len(s.keyword) < spiderKeywords {
				s.keyword[w] = len(s.keyword)
			}
		}
	}
	return s, nil
}

// near fills for each link of a page [links][keywords] the sums of 1/dist. The
// text between two links has distance 1 to both, and so has the text of an
// anchor to its link.
func (s *spiders) near(p *web.Page) [][]float64 {
	k := len(s.keyword)
	in := make([][]float64, len(p.Links))
	buf := make([]float64, k*len(p.Links))
	var order []int // links with a place in the text, as they stand
	for i := range p.Links {
		in[i] = buf[k*i : k*i+k]
		if p.Links[i].First <= p.Links[i].Last {
			order = append(order, i)
		}
	}
	var words []string
	at := 0 // the first link that does not end before the leaf
	for x := range p.Leaves {
		for at < len(order) && p.Links[order[at]].Last < x {
			at++
		}
		words = s.analyzer.AppendWords(words[:0], p.Leaves[x].Text)
		for _, w := range words {
			key, ok := s.keyword[w]
			if !ok {
				continue
			}
			inside := 0 // 1 for the text of link at itself
			if at < len(order) && p.Links[order[at]].First <= x {
				inside = 1
			}
			for d := 1; d <= spiderReach; d++ {
				if i := at - d + inside; i >= 0 && i < at {
					in[order[i]][key] += 1 / float64(d)
				}
				if i := at + d - 1; i < len(order) {
					in[order[i]][key] += 1 / float64(d)
				}
			}
		}
	}
	return in
}

// Extract keeps whether the link is an odd one, and its strongest inputs:
//
//	0 or 1 byte · { keyword byte · in_k in 1/16, at most 255 byte }…
func (s *spiders) Extract(p *web.Page, _ web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	for i, in := range s.near(p) {
		out[i] = append([]byte{byte(i & 1)}, strongestInputs(in)...)
	}
	return out
}

func strongestInputs(in []float64) (b []byte) {
	var taken [spiderKeywords]bool
	for range spiderInputs {
		best := -1
		for k, v := range in {
			if !taken[k] && v >= inputStep/2 && (best < 0 || v > in[best]) {
				best = k
			}
		}
		if best < 0 {
			break
		}
		taken[best] = true
		b = append(b, byte(best), byte(min(255, math.Round(in[best]/inputStep))))
	}
	return b
}

// lambda is what an agent expects of a link with these inputs.
func (a *agent) lambda(inputs []byte) float64 {
	z := a.weights[0]
	for ; len(inputs) >= 2; inputs = inputs[2:] {
		if k := int(inputs[0]) + 1; k < len(a.weights) {
			z += a.weights[k] * float64(inputs[1]) * inputStep
		}
	}
	return 1 / (1 + math.Exp(-z))
}

// learn moves λ towards target by one step along the gradient.
func (a *agent) learn(inputs []byte, target, rate float64) {
	l := a.lambda(inputs)
	step := rate * (target - l) * l * (1 - l)
	a.weights[0] += step
	for ; len(inputs) >= 2; inputs = inputs[2:] {
		if k := int(inputs[0]) + 1; k < len(a.weights) {
			a.weights[k] += step * float64(inputs[1]) * inputStep
		}
	}
}

// Visit is a move of the link's agent. It returns the agent that the even
// links of the page belong to, and that of the odd ones:
//
//	agent uint16 LE · agent uint16 LE
//
// The entry is
//
//	1 for a seed, else 0 byte · agent uint16 LE · e(page) float64 · max λ float64
//	inputs of the link, as in its features
func (s *spiders) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	n, known := s.agentOf(c)
	line := []byte{1}
	inputs := c.Features
	if known {
		line[0], inputs = 0, inputs[1:]
	} else {
		n, inputs = len(s.agents)%s.maxAgents, nil
	}
	mother := len(s.agents)
	best := 0.
	if known {
		for _, in := range s.near(p) {
			best = max(best, s.agents[n].lambda(strongestInputs(in)))
		}
	}
	line = binary.LittleEndian.AppendUint16(line, uint16(n))
	line = binary.LittleEndian.AppendUint64(line, math.Float64bits(unit(s.page(p, v))))
	line = binary.LittleEndian.AppendUint64(line, math.Float64bits(best))
	line = append(line, inputs...)
	if s.add(line) {
		s.apply(&entry{b: line})
		if s.pages%s.every == 0 {
			s.requestRescore()
		}
	}
	young := n
	if known && len(s.agents) > mother {
		young = mother
	}
	return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(n)), uint16(young))
}

// Recall is the agent of the link alone: a page that is no move of it has no offspring.
func (s *spiders) Recall(c *web.Candidate, _ *web.Page, _ web.Verdict) []byte {
	n, ok := s.agentOf(c)
	if !ok {
		return nil
	}
	return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(n)), uint16(n))
}

// agentOf is the agent that a link belongs to; a seed belongs to none.
func (s *spiders) agentOf(c *web.Candidate) (n int, ok bool) {
	if len(c.Memory) != 4 || len(c.Features) == 0 {
		return 0, false
	}
	n = int(binary.LittleEndian.Uint16(c.Memory[2*(c.Features[0]&1):]))
	return n, n < len(s.agents)
}

func (s *spiders) apply(e *entry) {
	seed, n := e.byte() == 1, int(e.uint16())
	value, best := e.float64(), e.float64()
	inputs := e.rest()
	s.pages++
	if seed && len(s.agents) < s.maxAgents {
		n = len(s.agents)
		a := agent{weights: make([]float64, 1+len(s.keyword)), energy: s.theta / 2}
		for k := range a.weights {
			a.weights[k] = fraction(draw(s.seed, 0, uint64(n), uint64(k))) - 0.5
		}
		s.agents = append(s.agents, a)
	}
	if n >= len(s.agents) {
		e.fail()
		return
	}
	a := &s.agents[n]
	if !seed {
		a.learn(inputs, min(1, value+s.mu*best), s.rate)
	}
	a.moves++
	a.energy += value - s.cost
	if a.energy > s.theta && len(s.agents) < s.maxAgents {
		a.energy /= 2
		young := agent{weights: make([]float64, len(a.weights)), energy: a.energy, moves: a.moves}
		for k, w := range a.weights {
			young.weights[k] = w + s.mutation*(2*fraction(draw(s.seed, 1, uint64(len(s.agents)), uint64(k)))-1)
		}
		s.agents = append(s.agents, young)
	}
}

// Score is −1,000 for each move that the link's agent has made, and what the
// agent expects of the link with its share of chance.
func (s *spiders) Score(c *web.Candidate) float64 {
	n, ok := s.agentOf(c)
	if !ok {
		return 0
	}
	a := &s.agents[n]
	u := fraction(draw(s.seed, 2, xxh3.HashString(c.URL.String())))
	score := s.beta*a.lambda(c.Features[1:]) - math.Log(-math.Log(u+1e-17)) - moveOffset*float64(a.moves)
	if a.energy < 0 {
		score -= deadOffset
	}
	return score
}

func (*spiders) Rescores() bool               { return true }
func (s *spiders) Restore(state []byte) error { return s.restore(state, s.apply) }

// appendSnapshot appends
//
//	pages uvarint · agents: number uvarint, { weights float64 [1+keywords] · energy float64 · moves uvarint }…
func (s *spiders) appendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(s.pages))
	b = binary.AppendUvarint(b, uint64(len(s.agents)))
	for _, a := range s.agents {
		for _, x := range append(a.weights[:len(a.weights):len(a.weights)], a.energy) {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		b = binary.AppendUvarint(b, uint64(a.moves))
	}
	return b
}

func (s *spiders) readSnapshot(r *wire.Reader) {
	s.pages = r.Number(math.MaxInt32)
	s.agents = make([]agent, r.Count(8*(2+len(s.keyword))))
	if len(s.agents) > s.maxAgents {
		r.Fail("%d agents", len(s.agents))
	}
	for i := range s.agents {
		a := &s.agents[i]
		a.weights = make([]float64, 1+len(s.keyword))
		for k := range a.weights {
			a.weights[k] = r.Float64()
		}
		a.energy, a.moves = r.Float64(), r.Number(math.MaxInt32)
	}
}
