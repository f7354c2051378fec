package score_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/hmm"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// pageOn is a page with a text of stems, and a link for each anchor.
func pageOn(text string, anchors ...string) *web.Page {
	if len(anchors) == 0 {
		anchors = []string{"on"}
	}
	p := pageOf(anchors...)
	p.Terms = termsOf(text)
	return p
}

// along follows the first link of each page to the next one, and gives the
// priorities of the links of the last.
func along(s score.Scorer, pages ...*web.Page) (priorities []float64) {
	c := web.Candidate{URL: parse("http://a.test/"), Kind: web.LinkSeed}
	for _, p := range pages {
		features, memory := s.Extract(p, web.Verdict{}), s.Visit(&c, p, web.Verdict{})
		priorities = nil
		for i := range p.Links {
			l := web.Candidate{URL: p.Links[i].URL, Depth: c.Depth + 1, Features: features[i], Memory: memory}
			priorities = append(priorities, s.Score(&l))
			if i == 0 {
				c = l
			}
		}
	}
	return priorities
}

func nearly(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 2e-6 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// handMade is a model of three states and two clusters: pages on bees are in
// C0, pages on steel in C1, where one on honey is taken for either. The three
// words weigh the same.
//
//	π  .2 .3 .5      A  .5 .5 0       B  C0 C1 blank
//	                    .4 .4 .2         .9 .1 0
//	                    0  .5 .5         .3 .6 .1
//	                                     .1 .8 .1
func handMade() *model.File {
	words := feature.CountTerms([]*web.Page{pageOn("bee"), pageOn("honey"), pageOn("steel")}, 1, nil)
	return &model.File{Kind: model.HMM, Payload: &model.Markov{
		Words: words,
		First: &hmm.Model{
			States: 3, Symbols: 3,
			Pi: []float64{0.2, 0.3, 0.5},
			A:  []float64{0.5, 0.5, 0, 0.4, 0.4, 0.2, 0, 0.5, 0.5},
			B:  []float64{0.9, 0.1, 0, 0.3, 0.6, 0.1, 0.1, 0.8, 0.1},
		},
		Centroids: []sparse.Vector{{{ID: 0, Value: 0.6}, {ID: 1, Value: 0.8}}, {{ID: 2, Value: 1}}},
		Pages:     []sparse.Vector{{{ID: 0, Value: 1}}, {{ID: 2, Value: 1}}},
		Clusters:  []int{0, 1},
	}}
}

// Equations 5 and 6 of Batsakis, Petrakis & Milios 2009 by hand, with α normalised
// at each step: bees are C0, steel is C1, and a page on nothing known is blank.
//
//	steel              α ∝ (.2·.1, .3·.6, .5·.8)     = (.02, .18, .4)/.6
//	                   α' = (.5/30+.4·.3, …)         = (.41, 1.41, 1.18)/3
//	steel, bees        α ∝ (.41·.9, 1.41·.3, 1.18·.1) = (.369, .423, .118)/.91
//	                   α'_0 = (.5·.369+.4·.423)/.91
//	steel, nothing     α ∝ (0, .141, .118)/.259      α'_0 = .4·.141/.259
func TestHMMRecursion(t *testing.T) {
	s := newScorer(t, "hmm", score.Options{Model: handMade(), Set: map[string]float64{"epsilon": 1e-6}})
	steel, bees, nothing := pageOn("steel"), pageOn("bee"), pageOn("")
	nearly(t, "steel", along(s, steel)[0], 0.41/3)
	nearly(t, "steel, bees", along(s, steel, bees)[0], (0.5*0.369+0.4*0.423)/0.91)
	nearly(t, "steel, nothing", along(s, steel, nothing)[0], 0.4*0.141/0.259)
	if got := s.Score(&web.Candidate{URL: parse("http://a.test/"), Kind: web.LinkSeed}); got != 1 {
		t.Errorf("a seed has %v", got)
	}
}

// Equations 5 and 6 as printed: α is not normalised, so it shrinks along a path, and
// a target page 50 links away ranks below a page on steel next to a seed.
//
//	steel          α = (.02, .18, .4)            α'_0 = .5·.02+.4·.18
//	steel, bees    α = (.0738, .0846, .0236)     α'_0 = .5·.0738+.4·.0846
func TestHMMRaw(t *testing.T) {
	raw := map[string]float64{"raw": 1}
	s := newScorer(t, "hmm", score.Options{Model: handMade(), Set: raw})
	steel, bees := pageOn("steel"), pageOn("bee")
	nearly(t, "steel", along(s, steel)[0], 0.082)
	nearly(t, "steel, bees", along(s, steel, bees)[0], 0.07074)
	var path []*web.Page
	for range 50 {
		path = append(path, steel)
	}
	last := along(s, path...)[0]
	lifted := along(s, append(path, bees)...)[0]
	if further := along(s, append(path, steel)...)[0]; !(0 < further && further < last && last < 1e-6 && lifted < 1e-6) {
		t.Errorf("after 50 pages %v, after one more %v, or a target %v", last, further, lifted)
	}
	near := newScorer(t, "hmm-centroid-page", score.Options{Model: handMade(), Set: map[string]float64{"raw": 1}})
	nearly(t, "with the centroid, (.6, .8) for (1, 0)", along(near, steel, bees)[0], (0.07074+0.6)/2)
}

// The normalised priority does not shrink along a path: it tends to what the model
// says of a long walk among such pages, and a target page raises it at any depth.
func TestHMMOfLongPaths(t *testing.T) {
	s := newScorer(t, "hmm", score.Options{Model: handMade()})
	var path []*web.Page
	for range 200 {
		path = append(path, pageOn("steel"))
	}
	deep := along(s, path...)[0]
	if shallow := along(s, path[:20]...)[0]; math.Abs(deep-shallow) > 1e-6 || deep < 0.05 {
		t.Errorf("after 20 pages %v, after 200 %v", shallow, deep)
	}
	if lifted := along(s, append(path, pageOn("bee"))...)[0]; lifted < deep+0.1 {
		t.Errorf("a target after 200 pages has %v, before it %v", lifted, deep)
	}
}

// Ties of p(L0) are broken by the further states, each in steps of ε: after a page
// on steel α' = (.14, .47, .39).
func TestHMMTies(t *testing.T) {
	m := handMade()
	s := newScorer(t, "hmm", score.Options{Model: m, Set: map[string]float64{"epsilon": 0.5}})
	nearly(t, "(.14, .47, .39) in steps of ½", along(s, pageOn("steel"))[0], 0.5*(0+0/4.+0/16.))
	s = newScorer(t, "hmm", score.Options{Model: m, Set: map[string]float64{"epsilon": 0.1}})
	nearly(t, "(.14, .47, .39) in steps of .1", along(s, pageOn("steel"))[0], 0.1*(1+4/16.+3/256.))
}

// The cluster of a page is the one that most of its k nearest have (section 3.3).
func TestHMMNeighbours(t *testing.T) {
	m := handMade()
	p := m.Payload.(*model.Markov)
	p.Pages = []sparse.Vector{
		p.Words.Page(pageOn("honey steel")), p.Words.Page(pageOn("honey")), p.Words.Page(pageOn("honey honey steel")),
	}
	p.Clusters = []int{1, 0, 0}
	page := pageOn("honey steel") // cosines 1, .71, .95
	for k, want := range map[float64]float64{
		1: 0.41 / 3,                     // C1, as TestHMMRecursion
		3: (0.5*0.18 + 0.4*0.09) / 0.32, // C0: α ∝ (.18, .09, .05)
	} {
		s := newScorer(t, "hmm", score.Options{Model: m, Set: map[string]float64{"neighbours": k, "epsilon": 1e-6}})
		if got := along(s, page)[0]; math.Abs(got-want) > 1e-5 {
			t.Errorf("k = %v: %v, want %v", k, got, want)
		}
	}
}

// The mean of the hidden Markov model's priority, .41/3 here, and of the cosine to
// the mean of the targets, (.6, .8, 0): of the page, .6 for one on bees, or of page
// and anchor (section 3.3).
func TestHMMCentroid(t *testing.T) {
	m := handMade()
	m.Payload.(*model.Markov).Clusters = []int{1, 1} // so that bees are C1
	page := pageOn("bee", "honey", "steel", "bees honey honey")
	belief := 0.41 / 3
	both := 11 / (5 * math.Sqrt(5)) // cos((1,2), (.6,.8)) = 2.2/√5
	for _, c := range []struct {
		name string
		set  map[string]float64
		want []float64
	}{
		{"hmm-centroid-page", nil, []float64{belief/2 + 0.3, belief/2 + 0.3, belief/2 + 0.3}},
		{"hmm-centroid-page", map[string]float64{"weight": 0.75}, []float64{0.75*belief + 0.15, 0.75*belief + 0.15, 0.75*belief + 0.15}},
		{"hmm-centroid-both", nil, []float64{belief/2 + (0.6+0.8)/4, belief/2 + 0.6/4, belief/2 + (0.6+both)/4}},
		{"hmm-centroid-both", map[string]float64{"anchor": 1, "weight": 0}, []float64{0.8, 0, both}},
		{"hmm-centroid-both", map[string]float64{"weight": 1}, []float64{belief, belief, belief}},
	} {
		got := along(newScorer(t, c.name, score.Options{Model: m, Set: c.set}), page)
		for i, want := range c.want {
			nearly(t, c.name+" "+page.Links[i].Anchor, got[i], want)
		}
	}
}

// Figure 3: hmm gives pages reached through the same clusters the same priority;
// with a centroid the page nearer to the targets goes first.
func TestHMMCentroidTellsPagesApart(t *testing.T) {
	m := handMade()
	far, close := pageOn("steel steel steel"), pageOn("steel steel honey")
	plain := newScorer(t, "hmm", score.Options{Model: m})
	if a, b := along(plain, far)[0], along(plain, close)[0]; a != b {
		t.Errorf("hmm: %v and %v", a, b)
	}
	for _, name := range []string{"hmm-centroid-page", "hmm-centroid-both"} {
		s := newScorer(t, name, score.Options{Model: m})
		if a, b := along(s, far)[0], along(s, close)[0]; a >= b {
			t.Errorf("%s: %v, not below %v", name, a, b)
		}
	}
}

// The priority of second order by hand. States are target and other; steel is the
// first cluster, bees the second.
//
//	π .5 .5   a  .5 .5    b  .2 .8 0    a_ij0  .9 .2    b_ij(steel)  .1 .6
//	             .25 .75     .7 .3 0           .6 .1                 .3 .8
//
//	steel                α1 ∝ (.5·.2, .5·.7)                    = (2, 7)/9
//	                     Σ α1(j) a_j0 = (2·.5+7·.25)/9
//	steel, bees          α2 ∝ α1(i) a_ij b_ij                   = (3.6, 1.6, 4.9, 4.2)/14.3
//	                     Σ α2(i,j) a_ij0 = 6.92/14.3
//	steel, bees, steel   α3 ∝ [Σ_i α2(i,j) a_ijk] b_jk          = (.618, 1.392, .222, 4.048)/6.28
//	                     Σ α3(j,k) a_jk0 = 1.3726/6.28
func TestHMM2Score(t *testing.T) {
	words := feature.CountTerms([]*web.Page{pageOn("bee"), pageOn("steel")}, 1, nil)
	m := &model.File{Kind: model.HMM2, Payload: &model.Markov{
		Words: words,
		Second: &hmm.Second{
			First: &hmm.Model{
				States: 2, Symbols: 3, Pi: []float64{0.5, 0.5},
				A: []float64{0.5, 0.5, 0.25, 0.75}, B: []float64{0.2, 0.8, 0, 0.7, 0.3, 0},
			},
			A: []float64{0.9, 0.1, 0.2, 0.8, 0.6, 0.4, 0.1, 0.9},
			B: []float64{0.1, 0.9, 0, 0.6, 0.4, 0, 0.3, 0.7, 0, 0.8, 0.2, 0},
		},
		Centroids: []sparse.Vector{{{ID: 1, Value: 1}}, {{ID: 0, Value: 1}}},
	}}
	// Without the path, by Bayes' rule: (.5·.2, .5·.7) and (.5·.8, .5·.3), whatever came
	// before. No training page is without words, so of such a page nothing is known.
	bayes := newScorer(t, "bayes-cluster-like", score.Options{Model: m})
	nearly(t, "Bayes of steel", along(bayes, pageOn("steel"))[0], 2./9)
	nearly(t, "Bayes of bees", along(bayes, pageOn("bee"))[0], 8./11)
	nearly(t, "Bayes of bees after steel", along(bayes, pageOn("steel"), pageOn("bee"))[0], 8./11)
	nearly(t, "Bayes of no word", along(bayes, pageOn("wax"))[0], 0)
	s := newScorer(t, "hmm2", score.Options{Model: m})
	steel, bees := pageOn("steel steel bee"), pageOn("bee bee steel") // nearest centroids
	nearly(t, "steel", along(s, steel)[0], (2*0.5+7*0.25)/9)
	nearly(t, "steel, bees", along(s, steel, bees)[0], 6.92/14.3)
	nearly(t, "steel, bees, steel", along(s, steel, bees, steel)[0], 1.3726/6.28)

	// Viterbi, max for Σ:
	//
	//	steel                δ1 ∝ (2, 7), δ' ∝ (max(1, 1.75), max(1, 5.25))
	//	steel, bees          δ2 = α2, δ' ∝ (max(3.24, .32, 2.94, .42), max(.36, 1.28, 1.96, 3.78))
	//	steel, bees, steel   δ3 ∝ (.324, 1.176, .126, 3.024), δ' ∝ (.3024, 2.7216)
	s = newScorer(t, "hmm2", score.Options{Model: m, Set: map[string]float64{"viterbi": 1}})
	nearly(t, "viterbi: steel", along(s, steel)[0], 1.75/7)
	nearly(t, "viterbi: steel, bees", along(s, steel, bees)[0], 3.24/7.02)
	nearly(t, "viterbi: steel, bees, steel", along(s, steel, bees, steel)[0], 0.1)
}

// A redirect, a copy of a page seen before or a page that failed brings no
// page; what its links carry is what they would have carried.
func TestBeliefWithoutAPage(t *testing.T) {
	for _, name := range []string{"hmm", "hmm2", "hmm-centroid-both"} {
		s := newScorer(t, name, score.Options{})
		p := pageOn("steel")
		c := web.Candidate{URL: p.URL, Features: s.Extract(p, web.Verdict{})[0]}
		if with, without := s.Visit(&c, p, web.Verdict{}), s.Visit(&c, nil, web.Verdict{}); string(with) != string(without) {
			t.Errorf("%s: %x with a page, %x without", name, with, without)
		}
	}
}

// What links of a copy carry is never less than what those of a page carry that did not come: a path does not begin there.
func TestRecallKeepsThePath(t *testing.T) {
	for _, d := range score.Descriptions() {
		if d.Print != nil {
			continue // another scorer with settings
		}
		name := d.Name
		s := newScorer(t, name, score.Options{})
		x, ok := s.(interface {
			Recall(c *web.Candidate, p *web.Page, v web.Verdict) []byte
		})
		if !ok {
			continue
		}
		p := pageOn("steel")
		seed := web.Candidate{URL: p.URL}
		memory := s.Visit(&seed, p, web.Verdict{})
		c := web.Candidate{URL: p.URL, Depth: 1, Features: s.Extract(p, web.Verdict{})[0], Memory: memory}
		if without := s.Visit(&c, nil, web.Verdict{}); without != nil && x.Recall(&c, p, web.Verdict{}) == nil {
			t.Errorf("%s: links of a copy carry nothing, and %x if the page had not come", name, without)
		}
	}
}

// Hu, Tu & Tong 2014, table 1, the crawlers compared with: by the page's classifier alone. Of the
// three nearest, cosines 1, .71 and .95, the last two are targets.
func TestNearestPageLike(t *testing.T) {
	m := handMade()
	p := m.Payload.(*model.Markov)
	p.Pages = []sparse.Vector{
		p.Words.Page(pageOn("honey steel")), p.Words.Page(pageOn("honey")), p.Words.Page(pageOn("honey honey steel")),
	}
	p.Clusters = []int{1, 0, 0}
	a, b := 1/math.Sqrt2, 3/math.Sqrt(10)
	s := newScorer(t, "knn-page-like", score.Options{Model: m})
	nearly(t, "between", along(s, pageOn("honey steel"))[0], (a+b)/(1+a+b))
	nearly(t, "near to none", along(s, pageOn("bee"))[0], 0)
	s = newScorer(t, "knn-page-like", score.Options{Model: m, Set: map[string]float64{"neighbours": 1}})
	nearly(t, "the nearest alone", along(s, pageOn("honey steel"))[0], 0)
}

// A page of 100 links and about 450 words: features of all, and their scores,
// by models of 1,500 training pages like it.
func BenchmarkPage(b *testing.B) {
	g := inventedGraph(1500)
	for _, name := range []string{"hmm", "hmm-centroid-page", "hmm-centroid-both", "hmm2", "contextgraph", "rlspider", "bayes-page-like", "knn-page-like"} {
		b.Run(name, func(b *testing.B) {
			kind := model.Kind(name)
			switch name {
			case "hmm-centroid-page", "hmm-centroid-both", "knn-page-like":
				kind = model.HMM
			case "bayes-page-like":
				kind = model.ContextGraph
			}
			s := newScorer(b, name, score.Options{Model: fit(b, kind, g, nil)})
			b.ReportAllocs()
			c := web.Candidate{URL: parse("http://a.test/")}
			for i := 0; b.Loop(); i++ {
				p := g.Nodes[i%len(g.Nodes)].Page
				features, memory := s.Extract(p, web.Verdict{}), s.Visit(&c, p, web.Verdict{})
				for l := range p.Links {
					n := web.Candidate{URL: p.Links[l].URL, Features: features[l], Memory: memory}
					s.Score(&n)
					if l == 0 {
						c = n
					}
				}
			}
		})
	}
}

// inventedGraph is a graph of n pages in five layers, each linked to pages of
// the layer below, with words as rare as those of real pages.
func inventedGraph(n int) *train.Graph {
	draw := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(draw, 1.1, 8, 20_000)
	word := func() string { return fmt.Sprintf("w%dx", zipf.Uint64()) }
	g := &train.Graph{Topic: &topic.Topic{Name: "invented"}, Layers: 5}
	for i := range n {
		p := &web.Page{URL: parse(fmt.Sprintf("http://h%d.test/dir/page%d.html", i%7, i)), Digest: [16]byte{byte(i), byte(i >> 8)}}
		count := map[string]int32{}
		for range 1000 {
			count[word()]++
		}
		for _, w := range slices.Sorted(maps.Keys(count)) {
			p.Terms = append(p.Terms, web.Term{Text: w, Body: count[w]})
		}
		layer := 5 * i / n
		for l := range 100 {
			to := parse(fmt.Sprintf("http://out.test/dir/%d/%d.html", l, i))
			if layer > 0 && l < 10 {
				to = g.Nodes[(layer-1)*n/5+draw.IntN(n/5)].URL
			}
			p.Links = append(p.Links, web.Link{
				URL: to, Anchor: word() + " " + word() + " " + word(), Heading: word() + " " + word(), Position: l,
				Before: strings.Repeat(word()+" ", 10), After: strings.Repeat(word()+" ", 10),
			})
		}
		g.Nodes = append(g.Nodes, train.Node{URL: p.URL, Layer: layer, State: layer, Target: layer == 0, Page: p})
	}
	number := map[web.URL]int32{}
	for i := range g.Nodes {
		number[g.Nodes[i].URL] = int32(i)
	}
	for from := range g.Nodes {
		p := g.Nodes[from].Page
		seen := map[int32]bool{}
		for l := range p.Links {
			if to, ok := number[p.Links[l].URL]; ok && !seen[to] {
				seen[to] = true
				g.Edges = append(g.Edges, train.Edge{From: int32(from), To: to, Link: &p.Links[l]})
			}
		}
	}
	return g
}
