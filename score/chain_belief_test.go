package score_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
)

// enumerate is the belief over the last page of a path by definition: of all
// paths of states, the probability of the first state times the product over the
// links of what the model says of each, summed or, for Viterbi, the greatest, for
// each last state.
//
// Shape of the result: [S], summing to 1.
func enumerate(m *model.File, path []step, viterbi bool) []float64 {
	c, s := m.Payload.(*model.Chain), m.Space
	k := c.Weights.States
	// factor[t][i][j], t from the second page on.
	var factors [][][]float64
	for t := 1; t < len(path); t++ {
		before, here := path[t-1].page(), path[t].page()
		obs := slices.Concat(s.Page(here), s.Inlink(s.Link(&before.Links[0])), s.Outlink(s.Link(&here.Links[0])))
		factors = append(factors, factorsOf(m, obs))
	}
	sum := make([]float64, k)
	var walk func(t, state int, p float64)
	walk = func(t, state int, p float64) {
		if t == len(factors) {
			if viterbi {
				sum[state] = max(sum[state], p)
			} else {
				sum[state] += p
			}
			return
		}
		for j := range k {
			walk(t+1, j, p*factors[t][state][j])
		}
	}
	for i := range k {
		walk(0, i, c.Start[i])
	}
	total := 0.
	for _, p := range sum {
		total += p
	}
	for j := range sum {
		sum[j] /= total
	}
	return sum
}

// factorsOf are exp(Σ λ·f) of each arc for an observation, [S][S]; of a model
// normalised at each step they are divided by their sum over the arcs from a
// state.
func factorsOf(m *model.File, obs sparse.Vector) [][]float64 {
	w := m.Payload.(*model.Chain).Weights
	out := make([][]float64, w.States)
	for i := range w.States {
		out[i] = make([]float64, w.States)
		z := 0.
		for j := range w.States {
			if !w.Allowed[i*w.States+j] {
				continue
			}
			x := 0.
			for _, o := range obs {
				x += o.Value * (w.Arc(o.ID, i, j) + w.State(o.ID, j))
			}
			out[i][j] = math.Exp(x)
			z += out[i][j]
		}
		if m.Kind == model.MEMM {
			for j := range out[i] {
				out[i][j] /= z
			}
		}
	}
	return out
}

func near(a, b []float64) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, math.IsNaN) &&
		slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 2e-5 })
}

// t2 lets a property use what a test uses.
func t2(t *rapid.T) testing.TB { return quiet{t: t} }

type quiet struct {
	testing.TB
	t *rapid.T
}

func (q quiet) Fatal(args ...any) { q.t.Fatal(args...) }

func (q quiet) Helper() {}

func genPath(t *rapid.T) (path []step) {
	for range rapid.IntRange(1, 5).Draw(t, "pages") {
		path = append(path, step{
			rapid.SampledFrom([]string{"", "bee", "honey steel", "other"}).Draw(t, "words"),
			rapid.SampledFrom([]string{"http://x.test/", "http://x.test/bee"}).Draw(t, "to"),
			rapid.SampledFrom([]string{"", "hive", "queen hive"}).Draw(t, "anchor"),
		})
	}
	return path
}

// The belief over the page that holds a link (equations 7 to 9, 19 and 23) equals
// that by enumeration of all paths of states; the belief over the page that a link
// leads to is one step further, by what the link alone shows.
func TestBeliefsByEnumeration(t *testing.T) {
	for _, kind := range chains {
		for _, k := range []int{2, 3, 5} {
			for _, how := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
				viterbi, bias := how[0], how[1]
				m := chainOf(t, kind, k, feature.All, uint64(k))
				path, err := score.NewPath(m, score.PathOptions{Viterbi: viterbi, Bias: bias})
				if err != nil {
					t.Fatal(err)
				}
				s := newScorer(t, string(kind), score.Options{Model: m, Set: map[string]float64{"viterbi": map[bool]float64{true: 1}[viterbi]}})
				for n := 1; n <= len(somePath); n++ {
					c := follow(s, somePath[:n])
					here, next := make([]float64, k), make([]float64, k)
					path.Belief(here, c.Features, c.Memory)
					if want := enumerate(m, somePath[:n], viterbi); !near(here, want) {
						t.Errorf("%s, %d states, viterbi %v, %d pages: %v, want %v", kind, k, viterbi, n, here, want)
					}
					// α'(j) = Σ_i α(i)·p(j|i), p(j|i) ∝ a_ij·exp(what the link shows).
					last := somePath[n-1].page()
					alone := m
					if kind == model.CRF { // p(j|i) is normalised for each i, also here
						alone = &model.File{Kind: model.MEMM, Space: m.Space, Payload: m.Payload}
					}
					shown := m.Space.Inlink(m.Space.Link(&last.Links[0]))
					p := factorsOf(alone, slices.Concat(feature.BiasAlone(), shown))
					if !bias {
						p = factorsOf(alone, shown)
						moves := m.Payload.(*model.Chain).Moves
						for i := range k {
							sum := 0.
							for j := range k {
								p[i][j] *= moves[i*k+j]
								sum += p[i][j]
							}
							for j := range k {
								p[i][j] /= sum
							}
						}
					}
					want := make([]float64, k)
					total := 0.
					for j := range k {
						for i := range k {
							if viterbi {
								want[j] = max(want[j], here[i]*p[i][j])
							} else {
								want[j] += here[i] * p[i][j]
							}
						}
						total += want[j]
					}
					for j := range want {
						want[j] /= total
					}
					path.Predict(next, c.Features, c.Memory)
					if !near(next, want) {
						t.Errorf("%s, %d states, viterbi %v, bias %v, behind %d pages: %v, want %v", kind, k, viterbi, bias, n, next, want)
					}
				}
			}
		}
	}
}

// With literal, as in figure 9, a link ranks by its page: address and anchor count
// for what they say of the page they stand on. A link that is sure to lead to a
// target ranks higher only without literal.
func TestLiteralAndPredictedBelief(t *testing.T) {
	m := chainOf(t, model.CRF, 3, feature.All, 1)
	c := m.Payload.(*model.Chain)
	clear(c.Weights.W)
	// A keyword in the address of a page makes that page a target.
	weigh(c.Weights, m.Space.Inlink(feature.Link{Keyword: true})[0].ID, 0, 4)
	path := somePath[:1]
	plain, keyed := path[0], path[0]
	keyed.to = "http://x.test/bee"
	for _, literal := range []float64{0, 1} {
		s := newScorer(t, "crf", score.Options{Model: m, Set: map[string]float64{"literal": literal}})
		a, b := follow(s, []step{plain}), follow(s, []step{keyed})
		switch before, now := s.Score(&a), s.Score(&b); {
		case literal == 1 && before != now:
			t.Errorf("literal: %v and %v", before, now)
		case literal == 0 && !(now > before+0.2):
			t.Errorf("predicted: %v without the keyword and %v with it", before, now)
		}
	}
}

// weigh gives an observation a weight for a state.
func weigh(w *lattice.Weights, o uint32, state int, weight float64) {
	size := w.Arcs() + w.States
	w.W[int(o)*size+w.Arcs()+state] = weight
}

// The two lines of figure 9 that compute α are alternatives. Where two ways lead to
// one state and one stronger way to another, they disagree:
//
//	from \ to   T0   T1   T2
//	T0 .35      .7   .2   .1
//	T1 .35      .6   .3   .1
//	T2 .3       –    .9   .1
//	Σ α·p       .245+.21 = .455, .07+.105+.27 = .445, .035+.035+.03 = .1
//	max α·p     .245, .27, .035
func TestMarginalAndViterbiDiffer(t *testing.T) {
	m := chainOf(t, model.MEMM, 3, feature.All, 1)
	c := m.Payload.(*model.Chain)
	c.Start = []float64{.35, .35, .3}
	clear(c.Weights.W)
	// The bias alone, as logarithms, on arcs in the order of the shape.
	for i, p := range []float64{.7, .2, .1, .6, .3, .1, .9, .1} {
		c.Weights.W[i] = math.Log(p)
	}
	for _, x := range []struct {
		viterbi float64
		want    []float64
	}{
		{0, []float64{.455, .445, .1}},
		{1, []float64{.245 / .55, .27 / .55, .035 / .55}},
	} {
		s := newScorer(t, "memm", score.Options{Model: m, Set: map[string]float64{"viterbi": x.viterbi, "literal": 1}})
		got := s.Score(ptr(follow(s, somePath[:2])))
		if want := math.Floor(x.want[0]*1000+1e-9) / 1000; math.Abs(got-want) >= 0.001 {
			t.Errorf("viterbi %v: priority %v, want %v…", x.viterbi, got, want)
		}
		path, err := score.NewPath(m, score.PathOptions{Viterbi: x.viterbi == 1})
		if err != nil {
			t.Fatal(err)
		}
		belief := make([]float64, 3)
		last := follow(s, somePath[:2])
		path.Belief(belief, last.Features, last.Memory)
		if !near(belief, x.want) {
			t.Errorf("viterbi %v: %v, want %v", x.viterbi, belief, x.want)
		}
	}
}
