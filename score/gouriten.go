package score

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// gouriten orders addresses by estimates of their relevance from the pages that link there,
// and learns which estimate to go by:
//
//	0  mean relevance of these pages
//	1  the highest of them
//	2  their sum, at most 1
//	3  mean likeness of the anchors to the topic
//	4  mean relevance of the pages that link to these pages
//	5  a linear regression on 0 to 4, fitted to all pages fetched so far
//
// A bandit goes by one of them for a number of pages. Then it takes each that was not tried yet, in their order;
// later with the chance ε one at random, and else the one whose pages were the most
// relevant in the mean; all that waits is scored anew.
//
// Source: Gouriten, Maniu & Senellart, Scalable, Generic, and Adaptive Systems for
// Focused Crawling, 2014, who find that estimates made anew at each step matter. "Like": of
// the paper the abstract alone is at hand; which estimates there are, and ε-greedy, are
// assumed. To score all that waits anew after each page set every to 1.
type gouriten struct {
	journal
	page   func(*web.Page, web.Verdict) float64
	anchor func(string) float64
	by     int // an estimate, or allEstimates for the bandit
	every  int
	ε      float64
	seed   uint64

	visits int
	chosen int
	tried  [estimates]struct{ pages, sum float64 }
	known  map[uint64]holders
	// Of the regression: sums of products of x = (1, estimates 0 to 4) and y, and the
	// weights fitted to them.
	xx      [regressors][regressors]float64
	xy      [regressors]float64
	weights [regressors]float64
}

const (
	estimates    = 6
	allEstimates = estimates
	regressors   = estimates // all estimates but the regression, and a constant
	ridge        = 0.1       // on the diagonal of xx
)

// holders is what is known of the pages that link to an address.
type holders struct {
	pages, sum, highest, anchors, second float64
}

var _ Scorer = (*gouriten)(nil)

func gouritenSettings() []Setting {
	return []Setting{
		{Name: "by", Default: allEstimates, Max: allEstimates, Whole: true, Line: "the estimate: 0 mean, 1 highest, 2 sum, 3 anchors, 4 second level, 5 regression, 6 what a bandit chooses"},
		{Name: "epsilon", Default: 0.1, Max: 1, Line: "ε: chance of an estimate at random"},
		{Name: "every", Default: 25, Min: 1, Max: 1e6, Whole: true, Line: "pages after which the bandit chooses and all that waits is scored anew"},
		journalSetting(),
	}
}

func newGouriten(o Options) (Scorer, error) {
	g := &gouriten{
		journal: newJournal("gouriten-like", o), page: o.Page, anchor: o.Anchor,
		by: int(o.set("by")), every: int(o.set("every")), ε: o.set("epsilon"), seed: o.Seed, known: map[uint64]holders{},
	}
	if g.by < allEstimates {
		g.chosen = g.by
	}
	g.weights[1] = 1 // the mean, until there is something to fit
	return g, nil
}

// Extract gives each link the hash of its address.
func (*gouriten) Extract(p *web.Page, _ web.Verdict) [][]byte { return nodes(p, 0) }

// Visit learns from the page. The entry is
//
//	address of the page uint64 LE · its relevance float32 LE
//	{ address of a link uint64 LE · likeness of its anchor float32 LE }…
func (g *gouriten) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	self := nodeOf(c)
	line := appendFloat(binary.LittleEndian.AppendUint64(nil, self), unit(g.page(p, v)))
	seen := map[uint64]bool{self: true}
	for i := range p.Links {
		h := graphHash(p.Links[i].URL)
		if seen[h] {
			continue
		}
		seen[h] = true
		like := 0.
		if strings.TrimSpace(p.Links[i].Anchor) != "" {
			like = unit(g.anchor(p.Links[i].Anchor))
		}
		line = appendFloat(binary.LittleEndian.AppendUint64(line, h), like)
	}
	if g.add(line) {
		g.apply(&entry{b: line})
		if g.visits%g.every == 0 {
			g.requestRescore()
		}
	}
	return nil
}

func appendFloat(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
}

func (g *gouriten) apply(e *entry) {
	self, relevance := e.uint64(), unit(float64(math.Float32frombits(e.uint32())))
	k := g.known[self]
	if k.pages > 0 {
		x := k.inputs()
		for i := range x {
			for j := range x {
				g.xx[i][j] += x[i] * x[j]
			}
			g.xy[i] += x[i] * relevance
		}
		g.tried[g.chosen].pages++
		g.tried[g.chosen].sum += relevance
	}
	above := k.mean()
	for len(e.b) > 0 && e.err == nil {
		h, like := e.uint64(), unit(float64(math.Float32frombits(e.uint32())))
		l := g.known[h]
		l.pages++
		l.sum += relevance
		l.highest = max(l.highest, relevance)
		l.anchors += like
		l.second += above
		g.known[h] = l
	}
	if g.visits++; g.visits%g.every == 0 {
		g.learn(g.fit)
		g.choose()
	}
}

// mean is the mean relevance of the pages; 0 where there are none.
func (h holders) mean() float64 {
	if h.pages == 0 {
		return 0
	}
	return h.sum / h.pages
}

// inputs are those of the regression; there have to be pages.
func (h holders) inputs() [regressors]float64 {
	return [...]float64{1, h.mean(), h.highest, min(1, h.sum), h.anchors / h.pages, h.second / h.pages}
}

// choose takes the estimate for the next pages.
func (g *gouriten) choose() {
	if g.by < allEstimates {
		return
	}
	best := 0
	for i, t := range g.tried {
		if t.pages == 0 {
			g.chosen = i
			return
		}
		if b := g.tried[best]; t.sum/t.pages > b.sum/b.pages {
			best = i
		}
	}
	if g.chosen = best; fraction(draw(g.seed, 0, uint64(g.visits))) < g.ε {
		g.chosen = int(draw(g.seed, 1, uint64(g.visits)) % estimates)
	}
}

// fit solves (xx + ridge)·weights = xy, by elimination: the matrix is positive definite.
func (g *gouriten) fit() {
	a, y := g.xx, g.xy
	for i := range a {
		a[i][i] += ridge
	}
	for i := range a {
		for k := i + 1; k < regressors; k++ {
			f := a[k][i] / a[i][i]
			for j := i; j < regressors; j++ {
				a[k][j] -= f * a[i][j]
			}
			y[k] -= f * y[i]
		}
	}
	for i := regressors - 1; i >= 0; i-- {
		for j := i + 1; j < regressors; j++ {
			y[i] -= a[i][j] * y[j]
		}
		y[i] /= a[i][i]
	}
	g.weights = y
}

// Score is in [0,1]. An address that no page links to, such as a seed, has 1.
func (g *gouriten) Score(c *web.Candidate) float64 {
	k := g.known[nodeOf(c)]
	if k.pages == 0 {
		return 1
	}
	x := k.inputs()
	if g.chosen < estimates-1 {
		return unit(x[1+g.chosen])
	}
	sum := 0.
	for i, w := range g.weights {
		sum += w * x[i]
	}
	return unit(sum)
}

func (*gouriten) Rescores() bool               { return true }
func (g *gouriten) Restore(state []byte) error { return g.restore(state, g.apply) }
