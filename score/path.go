package score

import (
	"errors"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/crf"
	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/memm"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// Path follows a belief over hop distances along the links of a crawl, by a
// trained chain. It is immutable and safe for concurrent use, and a scorer can
// take its beliefs as a feature beside others of its own.
//
// A belief travels with a link, as bytes of two kinds: what the link itself
// shows (Links) and what its page brings along (Follow), which all links of the
// page share. From both come the belief over the page that holds the link
// (Belief) and over the page that it leads to (Predict). When the link is
// followed, Follow takes both one page on:
//
//	page 1         page 2         page 3
//	  └─ link ───────┘└─ link ──────┘
//	α_1            α_2 of page 2 from α_1, what led here,    α_3 …
//	               what it shows and the link that leads on
//
// Source: Liu & Milios 2010, sections 3.3.1, 4.3 and 5.3. The belief of a path
// of a conditional random field is that of the path so far, taken for a whole
// chain (equations 8 and 9); it is not a posterior of the whole field.
type Path struct {
	space   *feature.Space
	weights *lattice.Weights
	start   []float64 // [S], positive where possible
	moves   []float64 // [S*S]: log potentials of a link that shows nothing
	arcs    int
	mode    lattice.Mode
	local   bool // normalised at each step
	observe bool
}

// PathOptions are those of NewPath.
type PathOptions struct {
	// Viterbi follows the best path alone, where the default joins all.
	Viterbi bool
	// Observe begins with what the model says of the first page; the default is
	// the share of training sequences that begin in each state, whatever that
	// page shows.
	Observe bool
	// Bias predicts by the weights of what every page shows; the default is by
	// the share of training links from state to state.
	Bias bool
}

// NewPath makes a path of a model of kind CRF or MEMM.
func NewPath(m *model.File, o PathOptions) (*Path, error) {
	return newPath(m, o, model.CRF, model.MEMM)
}

func newPath(m *model.File, o PathOptions, kinds ...model.Kind) (*Path, error) {
	c, err := model.Of[*model.Chain](m, kinds...)
	if err != nil {
		return nil, err
	}
	w := c.Weights
	if m.Space == nil || m.Space.Len() != w.Observations || len(c.Start) != w.States {
		return nil, errors.New("the model and its vocabulary disagree: train it anew")
	}
	if err := w.Check(); err != nil {
		return nil, fmt.Errorf("the model cannot be used: %w; train it anew", err)
	}
	p := &Path{
		space: m.Space, weights: w, start: c.Start, moves: make([]float64, w.States*w.States), arcs: w.Arcs(),
		local: m.Kind == model.MEMM, observe: o.Observe,
	}
	if o.Viterbi {
		p.mode = lattice.Viterbi
	}
	if o.Bias {
		w.Potentials(p.moves, feature.BiasAlone())
		return p, nil
	}
	for at, share := range c.Moves {
		p.moves[at] = math.Log(share) // −Inf where there is no move
	}
	return p, nil
}

// States is the number of hop distances: 0, 1, … and "that many or more".
func (p *Path) States() int { return p.weights.States }

// Links are the features of each link of a page. It is what a scorer's Extract
// returns, or puts beside features of its own.
func (p *Path) Links(page *web.Page) [][]byte {
	out := make([][]byte, len(page.Links))
	buf := make([]byte, 0, 4*len(page.Links))
	for i := range page.Links {
		at := len(buf)
		buf, _ = p.space.Link(&page.Links[i]).AppendBinary(buf) // never fails
		out[i] = buf[at:len(buf):len(buf)]
	}
	return out
}

// Follow takes the belief one page on: features and memory are those of the
// link that was followed to the page, and what it returns is the memory of the
// page's own links. A seed has no features. Memory is nil for a path that
// begins with the prior alone, and otherwise, numbers float32 LE,
//
//	first page:  log potentials of the page [S]
//	any other:   belief over the page before [S] · log potentials of the page
//	             and of the link that led to it, of each allowed arc
func (p *Path) Follow(features, memory []byte, page *web.Page) []byte {
	shown := p.space.Page(page)
	if len(features) == 0 {
		if !p.observe {
			return nil
		}
		first := make([]float64, p.weights.States)
		p.weights.Start(first, shown)
		return wire.AppendFloat32s(make([]byte, 0, 4*len(first)), first)
	}
	var room scratch
	s := p.weights.States
	alpha, potentials := room.take(s), room.take(s*s)
	link := p.link(features)
	p.belief(alpha, link, memory)
	p.weights.Potentials(potentials, shown)
	p.weights.Potentials(potentials, p.space.Inlink(link))
	b := wire.AppendFloat32s(make([]byte, 0, 4*(s+p.arcs)), alpha)
	for at, ok := range p.weights.Allowed {
		if ok {
			b = wire.AppendFloat32s(b, potentials[at:at+1])
		}
	}
	return b
}

// Belief fills dst [S] with the belief over the page that holds a link, as this
// link shows it: α_t of equations 7 to 9, with the features of the link that
// leads on. It sums to 1.
func (p *Path) Belief(dst []float64, features, memory []byte) {
	p.belief(dst, p.link(features), memory)
}

func (p *Path) belief(dst []float64, link feature.Link, memory []byte) {
	var room scratch
	s := p.weights.States
	switch len(memory) {
	case 4 * s: // of a first page
		if p.observe {
			first := room.take(s)
			if wire.ReadFloat32s(first, memory) {
				p.weights.Start(first, p.space.Outlink(link))
				memm.Start(dst, first)
				return
			}
		}
	case 4 * (s + p.arcs):
		alpha, arcs, potentials := room.take(s), room.take(p.arcs), room.take(s*s)
		if readBelief(alpha, memory[:4*s]) && wire.ReadFloat32s(arcs, memory[4*s:]) {
			for at, ok := range p.weights.Allowed {
				if ok {
					potentials[at], arcs = arcs[0], arcs[1:]
				}
			}
			p.weights.Potentials(potentials, p.space.Outlink(link))
			if p.local {
				memm.Transitions(potentials, s)
				memm.Step(dst, alpha, potentials, p.mode)
			} else {
				crf.Step(dst, alpha, potentials, p.mode)
			}
			return
		}
	}
	copy(dst, p.start)
}

// Predict fills dst [S] with the belief over the page that a link leads to,
// before anything is known of that page but this link:
//
//	α'(T_j) = Σ_i α_t(T_i)·p(T_j|T_i, O4, O5),   max for Σ with Viterbi
//	p(T_j|T_i, O4, O5) ∝ a_ij·exp Σ λ f(T_i, T_j, O4, O5)
//
// with p normalised for each T_i, whatever the model's own normalisation, and
// a_ij the share of moves in training or, by PathOptions.Bias, exp of the
// weights of the bias. Those were learnt beside all that a page shows: alone
// they say little. It sums to 1. The paper prints no such step; hidden Markov
// crawlers have it (Batsakis, Petrakis & Milios 2009, equation 6).
func (p *Path) Predict(dst []float64, features, memory []byte) {
	p.predict(dst, p.link(features), memory)
}

func (p *Path) predict(dst []float64, link feature.Link, memory []byte) {
	var room scratch
	s := p.weights.States
	alpha, potentials := room.take(s), room.take(s*s)
	p.belief(alpha, link, memory)
	copy(potentials, p.moves)
	p.weights.Potentials(potentials, p.space.Inlink(link))
	memm.Transitions(potentials, s)
	memm.Step(dst, alpha, potentials, p.mode)
}

// name names the one thing that a link shows, as it bears on the page that it
// leads to or, with on, on the page that holds it.
func (p *Path) name(one feature.Link, on bool) string {
	seen := p.space.Inlink(one)
	if on {
		seen = p.space.Outlink(one)
	}
	return p.space.Name(seen[0].ID)
}

// link reads the features of a link. Those of another model show nothing.
func (p *Path) link(features []byte) feature.Link {
	l, err := p.space.ReadLink(features)
	if err != nil {
		return feature.Link{}
	}
	return l
}

// scratch is room for the numbers of one step, on the stack for usual models.
type scratch struct {
	room [128]float64
	used int
}

func (s *scratch) take(n int) []float64 {
	if s.used+n > len(s.room) {
		return make([]float64, n)
	}
	s.used += n
	return s.room[s.used-n : s.used : s.used]
}
