// Package guide leads along paths through a site, as a model of labelled paths has
// learnt them: it says what each page is taken for and what each link is worth.
// Scorers, foragers and those who ask for labels share it.
package guide

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/learn/tagger"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// Guide follows paths through a site by a model of labelled paths: it says which
// page a path has reached, and what each link from there is worth. It is immutable
// and safe for concurrent use.
//
//	page      link                page           link
//	Begin ─►  Links, Rate  ─►  Follow ─►  Links, Rate …
//	α, δ of   worth of what       α, δ, label
//	the page  it leads to
//
// Source: Vydiswaran & Sarawagi 2005, section 3.
type Guide struct {
	paths *model.Paths
	worth []float64 // of states of links, [P]; in model A of those of pages
	pages []float64 // worth of states of pages, [P]
	on    []float64 // share of paths that go on from states of pages, [P]; nil = not asked
	arcs  [2][]float64
}

// Options say by which rewards a guide goes.
type Options struct {
	// Printed takes rewards as the paper prints them, equations 3 to 5; the default
	// are rewards discounted by the distance to the goal.
	Printed bool
	// Endless takes the worth of a link as in equation 7; the default is that times
	// the probability that a path goes on from its page, see model.Paths. Printed
	// rewards are always Endless.
	Endless bool
}

// New makes a guide of a model of kind paths.
func New(f *model.File, o Options) (*Guide, error) {
	m, err := model.Of[*model.Paths](f, model.PathLearner)
	if err != nil {
		return nil, err
	}
	g := &Guide{paths: m}
	worth := m.Discounted
	if o.Printed {
		worth = m.Printed
	}
	if !o.Printed && !o.Endless {
		g.on = m.Onward
	}
	n := len(m.States)
	g.pages, g.worth = worth[:n], worth[len(worth)-n:]
	if m.Dual() {
		// Arcs weigh the same everywhere.
		for from := range g.arcs {
			g.arcs[from] = make([]float64, n*n)
			m.Field.Cross(g.arcs[from], from, 1-from, sparse.Vector{{ID: 0, Value: 1}}) // the bias
		}
	}
	return g, nil
}

// Place is a position on a path: the belief over the states of the page, by all
// paths of states together (α, sums to 1) and by the best one (δ, at most 0, which
// is the best). The zero Place is before the first page, where nothing is known.
type Place struct {
	Alpha, Delta []float64 // [P]
}

// Begin is the place of the first page of a path.
func (g *Guide) Begin(p *web.Page) Place { return g.arrive(Place{}, nil, p) }

// Links are the features of each link of a page, with which it can be rated and
// followed.
func (g *Guide) Links(p *web.Page) [][]byte {
	out := make([][]byte, len(p.Links))
	var buf []byte
	ends := make([]int, len(p.Links))
	for i := range p.Links {
		buf = g.appendLink(buf, &p.Links[i])
		ends[i] = len(buf)
	}
	at := 0
	for i, end := range ends {
		out[i] = buf[at:end:end]
		at = end
	}
	return out
}

// Link are the features of one link.
func (g *Guide) Link(l *web.Link) []byte { return g.appendLink(nil, l) }

func (g *Guide) appendLink(buf []byte, l *web.Link) []byte {
	before := uint32(0)
	for _, e := range g.paths.Link(l)[1:] {
		buf = binary.AppendUvarint(buf, uint64(e.ID-before))
		before = e.ID
	}
	return append(buf, 0) // an ID is never that of the one before: the end
}

// link reads features; those of another model show nothing but the bias.
func (g *Guide) link(dst sparse.Vector, features []byte) sparse.Vector {
	dst = append(dst[:0], sparse.Entry{ID: 0, Value: 1})
	id, most := uint64(0), uint64(g.paths.Words.Len())
	for {
		d, size := binary.Uvarint(features)
		if size <= 0 || d == 0 || id+d > most {
			return dst
		}
		id += d
		features = features[size:]
		dst = append(dst, sparse.Entry{ID: uint32(id), Value: 1})
	}
}

// Follow is the place of the page that a link of from leads to.
func (g *Guide) Follow(from Place, features []byte, p *web.Page) Place {
	var room [64]sparse.Entry
	return g.arrive(from, g.link(room[:0], features), p)
}

// Visit is the place of a page that was fetched by a link with these features
// and that memory, the bytes of a Place; without features, that of a seed.
func (g *Guide) Visit(features, memory []byte, p *web.Page) Place {
	if len(features) == 0 {
		return g.Begin(p)
	}
	return g.Follow(g.Place(memory), features, p)
}

// arrive takes α (equation 6) and δ (equation 2) one page on: over the state of the
// link, in model B, and then over that of the page.
func (g *Guide) arrive(from Place, link sparse.Vector, p *web.Page) Place {
	n := len(g.paths.States)
	emit := make([]float64, n)
	field := g.paths.Field
	field.Emit(emit, model.PathPage, g.paths.Page(p))
	to := Place{Alpha: make([]float64, n), Delta: make([]float64, n)}
	if link == nil {
		tagger.Forward(to.Alpha, nil, nil, emit)
		tagger.Best(to.Delta, nil, nil, emit, nil)
		return to
	}
	arcs := g.arcs[model.PathLink]
	if g.paths.Dual() {
		from = g.overLink(from, link)
	} else {
		from = from.known(n)
		arcs = make([]float64, n*n)
		field.Cross(arcs, 0, 0, link)
	}
	tagger.Forward(to.Alpha, from.Alpha, arcs, emit)
	tagger.Best(to.Delta, from.Delta, arcs, emit, nil)
	return to
}

// Ahead is the place of a page before it is fetched, by the link to it alone.
func (g *Guide) Ahead(from Place, features []byte) Place {
	var room [64]sparse.Entry
	link := g.link(room[:0], features)
	if g.paths.Dual() {
		return g.overLink(from, link)
	}
	n := len(g.paths.States)
	from = from.known(n)
	arcs, none := make([]float64, n*n), make([]float64, n)
	g.paths.Field.Cross(arcs, 0, 0, link)
	to := Place{Alpha: make([]float64, n), Delta: make([]float64, n)}
	tagger.Forward(to.Alpha, from.Alpha, arcs, none)
	tagger.Best(to.Delta, from.Delta, arcs, none, nil)
	return to
}

// Names are those of the states of pages, as Place numbers them.
func (g *Guide) Names() []model.PathState { return slices.Clone(g.paths.States) }

// Alone is what a page is taken for by itself, without its path: the
// probability of each state, [P], summing to 1 (section 4.3.2).
func (g *Guide) Alone(p *web.Page) []float64 {
	emit, alpha := make([]float64, len(g.paths.States)), make([]float64, len(g.paths.States))
	g.paths.Alone.Emit(emit, model.PathPage, g.paths.Page(p))
	tagger.Forward(alpha, nil, nil, emit)
	return alpha
}

// overLink is α and δ over the state of a link, in model B.
func (g *Guide) overLink(from Place, link sparse.Vector) Place {
	n := len(g.paths.States)
	from = from.known(n)
	emit := make([]float64, n)
	g.paths.Field.Emit(emit, model.PathLink, link)
	to := Place{Alpha: make([]float64, n), Delta: make([]float64, n)}
	tagger.Forward(to.Alpha, from.Alpha, g.arcs[model.PathPage], emit)
	tagger.Best(to.Delta, from.Delta, g.arcs[model.PathPage], emit, nil)
	return to
}

// known is p or, if p is zero, the place before the first page: α equal for all
// states, where the paper has 1 (section 3.4), and δ 0.
func (p Place) known(n int) Place {
	if len(p.Alpha) == n && len(p.Delta) == n {
		return p
	}
	p = Place{Alpha: make([]float64, n), Delta: make([]float64, n)}
	for i := range p.Alpha {
		p.Alpha[i] = 1 / float64(n)
	}
	return p
}

// Rate is what a link is worth, in [0,1], seen from the place of its page (section
// 3.3, equation 7):
//
//	Score(L) = Σ_y α(y)·R(y) / Σ_y α(y),   y over the states of links
//
// Model A has none; there it is the states of the page behind the link, of
// which only the link is known. Unless the guide is Endless it is multiplied by
//
//	Σ_y α(y)·onward(y),   y over the states of the page that holds the link
func (g *Guide) Rate(at Place, features []byte) float64 {
	var room [64]sparse.Entry
	var alphas, emits [64]float64
	n := len(g.paths.States)
	link := g.link(room[:0], features)
	alpha, emit := take(alphas[:], n), take(emits[:], n)
	before, arcs := at.known(n).Alpha, g.arcs[model.PathPage]
	if g.paths.Dual() {
		g.paths.Field.Emit(emit, model.PathLink, link)
	} else {
		arcs = make([]float64, n*n)
		g.paths.Field.Cross(arcs, 0, 0, link)
	}
	tagger.Forward(alpha, before, arcs, emit)
	if g.on != nil {
		return mean(alpha, g.worth) * mean(before, g.on)
	}
	return mean(alpha, g.worth)
}

func take(room []float64, n int) []float64 {
	if n > len(room) {
		return make([]float64, n)
	}
	return room[:n]
}

func mean(alpha, worth []float64) (sum float64) {
	for y, a := range alpha {
		sum += a * worth[y]
	}
	return sum
}

// Worth is what the page at a place is worth by the states it may be in, in
// [0,1]: what section 4.4.3 compares links with.
func (g *Guide) Worth(at Place) float64 {
	return mean(at.known(len(g.paths.States)).Alpha, g.pages)
}

// State is the number and the name of the state that a page is taken for, with
// the best path that led there: argmax δ (section 3.4). Of equals it is the first.
func (g *Guide) State(at Place) (int, model.PathState) {
	best := 0
	for y, d := range at.Delta {
		if d > at.Delta[best] {
			best = y
		}
	}
	return best, g.paths.States[best]
}

// Goal tells whether a page is taken for a goal, by the path that led there.
func (g *Guide) Goal(at Place) bool {
	y, _ := g.State(at)
	return y == g.paths.Goal
}

// Sure is the probability that the page at a place is a goal, by all paths of
// states that lead there: α(Goal). Where the best path alone is asked, Goal can
// hold for a page that is more likely something else.
func (g *Guide) Sure(at Place) float64 {
	return at.known(len(g.paths.States)).Alpha[g.paths.Goal]
}

// Claim is the probability that the page at a place is a goal, by all its words and by
// its path, as it held on labelled sites that were left out in turn. ok is false for a
// model without Claims.
func (g *Guide) Claim(at Place, p *web.Page) (probability float64, ok bool) {
	c := g.paths.Claims
	if c == nil {
		return 0, false
	}
	return 1 / (1 + math.Exp(-(c.Slope*g.ClaimScore(c, at, p) + c.Offset))), true
}

// ClaimScore is how much speaks for it that a page is a goal: the log odds by its words
// plus those by its path.
func (g *Guide) ClaimScore(c *model.Claims, at Place, p *web.Page) float64 {
	const least = 1e-4 // what no path allows is not impossible
	sure := min(max(g.Sure(at), least), 1-least)
	return c.Odds(p) + math.Log(sure/(1-sure))
}

// GoalAlone tells the same of a page by itself, without its path.
func (g *Guide) GoalAlone(p *web.Page) bool {
	alone, best := g.Alone(p), 0
	for y, x := range alone {
		if x > alone[best] {
			best = y
		}
	}
	return best == g.paths.Goal
}

// AppendBinary appends a place as α and δ [P], float32 LE each.
func (p Place) AppendBinary(b []byte) ([]byte, error) {
	return wire.AppendFloat32s(wire.AppendFloat32s(b, p.Alpha), p.Delta), nil
}

// Place reads what AppendBinary wrote, or else is the zero Place.
func (g *Guide) Place(b []byte) Place {
	n := len(g.paths.States)
	if len(b) != 8*n {
		return Place{}
	}
	p := Place{Alpha: make([]float64, n), Delta: make([]float64, n)}
	if !wire.ReadFloat32s(p.Alpha, b[:4*n]) || !wire.ReadFloat32s(p.Delta, b[4*n:]) {
		return Place{}
	}
	sum := 0.
	for _, a := range p.Alpha {
		if a < 0 {
			return Place{}
		}
		sum += a
	}
	if !(sum > 0) {
		return Place{}
	}
	return p
}

// Join says how the worths of several links to one page become one (section 3.3).
type Join int

// The ways to join. The paper's sum has no bound, and rewards what every page
// links to.
const (
	Max Join = iota
	Sum
	NoisyOr // 1 − Π (1 − worth)
)

// ParseJoin reads the name of one: max, sum, noisy-or.
func ParseJoin(s string) (Join, error) {
	for j := Max; j <= NoisyOr; j++ {
		if j.String() == s {
			return j, nil
		}
	}
	return 0, errors.New("several links to a page are joined by max, sum or noisy-or, and not by " + s)
}

func (j Join) String() string { return [...]string{"max", "sum", "noisy-or"}[j] }

// Add is the worth of a page so far, with one more link.
func (j Join) Add(sofar, worth float64) float64 {
	switch j {
	case Sum:
		return sofar + worth
	case NoisyOr:
		return 1 - (1-sofar)*(1-worth)
	}
	return math.Max(sofar, worth)
}
