package score

import (
	"cmp"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// ReadHops tells which belief over hop distances a priority was made of, each
// probability rounded down to a multiple of the scorer's ε: p(T0), p(T1), …, as
// far as a priority holds them. It is nil for scorers that rank otherwise, and
// for what no belief gave, such as the priority of a seed. set is Options.Set of
// the crawl.
func ReadHops(scorer string, set map[string]float64, priority float64) []float64 {
	if !slices.Contains([]string{"crf", "memm", "hmm"}, scorer) || !(priority >= 0 && priority <= 2) {
		return nil
	}
	epsilon := orderSetting().Default
	if v, ok := set["epsilon"]; ok && v >= orderSetting().Min && v <= orderSetting().Max {
		epsilon = v
	}
	return newOrder(epsilon).belief(priority)
}

// belief takes apart what priority put together.
func (o order) belief(priority float64) []float64 {
	packed := uint64(math.Round(math.Ldexp(priority/o.epsilon, o.bits*(o.digits-1))))
	out := make([]float64, o.digits)
	for i := range out {
		d := packed >> (o.bits * (o.digits - 1 - i)) & (1<<o.bits - 1)
		out[i] = math.Round(float64(d)*o.epsilon*1e9) / 1e9
	}
	return out
}

// Observed is one thing that a model sees, and what it says.
type Observed struct {
	Seen string // for people, see feature.Space.Name
	// Weight is what it adds to the logarithm of the odds of a target against
	// the other hop distances on the mean; below 0 it speaks against one.
	Weight float64
}

// LinkReasons tells what a model of kind CRF or MEMM sees of a link, for the
// page that it leads to: at most n things, the weightiest first. It is nil for
// models of other kinds.
func LinkReasons(m *model.File, l *web.Link, n int) []Observed {
	p, err := NewPath(m, PathOptions{})
	if err != nil {
		return nil
	}
	var out []Observed
	for _, o := range p.space.Inlink(p.space.Link(l)) {
		r := Observed{Seen: p.space.Name(o.ID), Weight: o.Value * p.weights.State(o.ID, 0)}
		for s := 1; s < p.weights.States; s++ {
			r.Weight -= o.Value * p.weights.State(o.ID, s) / float64(p.weights.States-1)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Observed) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
	return out[:min(n, len(out))]
}
