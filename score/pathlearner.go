package score

import (
	"math"

	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// pathLearner follows labelled paths: the priority of a link is what the page
// behind it is worth on the way to a goal, by the path that led to the link.
//
// α and δ of a page travel with its links. A page to which several paths lead
// waits with the best of them, which is what a frontier does with priorities:
// the maximum of P8. Its sum, and the noisy-or that bounds it, need all links to
// a page at once; `waggle forage` has them.
//
// Source: Vydiswaran & Sarawagi, Learning to Extract Information from Large
// Websites using Sequential Models, 2005.
type pathLearner struct {
	fixed
	guide *Guide
}

var _ Scorer = (*pathLearner)(nil)

func pathLearnerSettings() []Setting {
	return []Setting{
		{"printed", 0, 0, 1, "1 takes the rewards as printed; 0 discounts by the way that is left (vstd)"},
		{"endless", 0, 0, 1, "1 forgets that paths end at goals and wrong turns, as rewards as printed do; 0 counts how often they go on"},
	}
}

func newPathLearner(o Options) (Scorer, error) {
	g, err := NewGuide(o.Model, GuideOptions{Printed: o.set("printed") >= 0.5, Endless: o.set("endless") >= 0.5})
	if err != nil {
		return nil, err
	}
	return &pathLearner{guide: g}, nil
}

// Extract gives what each link shows: the words of the model that it holds,
//
//	{ ID, less that of the one before uvarint }… · 0
func (l *pathLearner) Extract(p *web.Page, _ web.Verdict) [][]byte { return l.guide.Links(p) }

// Visit returns the place of the page, see Place.
func (l *pathLearner) Visit(c *web.Candidate, p *web.Page, _ web.Verdict) []byte {
	if p == nil {
		return nil
	}
	var at Place
	if len(c.Features) == 0 {
		at = l.guide.Begin(p)
	} else {
		at = l.guide.Follow(l.guide.Place(c.Memory), c.Features, p)
	}
	b, _ := at.AppendBinary(make([]byte, 0, 8*len(at.Alpha))) // never fails
	return b
}

// Score is in [0,1]. A seed has 1, where the paper has 0: with several sites in
// one queue the next site would wait until the first one is through.
func (l *pathLearner) Score(c *web.Candidate) float64 {
	if len(c.Features) == 0 {
		return 1
	}
	return l.guide.Rate(l.guide.Place(c.Memory), c.Features)
}

// newApproximate makes the crawler that the paper compares with and calls
// accelerated focused crawler: maximum entropy over the labels by what the link
// shows, without the path, and the link that is likeliest to lead to a goal goes
// first (P11). Chakrabarti's crawler is the scorer apprentice.
func newApproximate(o Options) (Scorer, error) {
	m, err := model.Of[*model.Paths](o.Model, model.PathLearner)
	if err != nil {
		return nil, err
	}
	return &settled{seed: 1, values: func(dst []float64, p *web.Page) {
		for i := range dst {
			dst[i] = leadsToGoal(m, m.Link(&p.Links[i]))
		}
	}}, nil
}

// leadsToGoal is Pr(Goal | what the link shows).
func leadsToGoal(m *model.Paths, link sparse.Vector) float64 {
	emit := make([]float64, len(m.States))
	m.Alone.Emit(emit, model.PathLink, link)
	most, sum := math.Inf(-1), 0.
	for _, x := range emit {
		most = max(most, x)
	}
	for _, x := range emit {
		sum += math.Exp(x - most)
	}
	return math.Exp(emit[m.Goal]-most) / sum
}
