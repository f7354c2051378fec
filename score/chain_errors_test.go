package score_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Seeds, and what a redirect of a seed leads to, go first.
func TestChainSeeds(t *testing.T) {
	s := newScorer(t, "crf", score.Options{Model: chainOf(t, model.CRF, 5, feature.All, 1)})
	for _, kind := range []web.LinkKind{web.LinkSeed, web.LinkRedirect} {
		if got := s.Score(&web.Candidate{URL: parse("http://a.test/"), Kind: kind}); got != 1 {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

// With words alone nothing is known of links: those of a page are equal.
func TestChainWithoutLinkFeatures(t *testing.T) {
	for _, kind := range chains {
		for _, set := range variants() {
			s := newScorer(t, string(kind), score.Options{Model: chainOf(t, kind, 5, feature.Words, 1), Set: set})
			end, other := somePath[3], somePath[3]
			other.to, other.text = "http://y.test/", "queen"
			a, b := follow(s, append(slices.Clone(somePath[:3]), end)), follow(s, append(slices.Clone(somePath[:3]), other))
			if x, y := s.Score(&a), s.Score(&b); x != y {
				t.Errorf("%s %v: %v and %v", kind, set, x, y)
			}
		}
	}
}

// What a link carries from another model, or nothing at all, counts as the
// start of a path, never as NaN.
func TestChainForeignBytes(t *testing.T) {
	m := chainOf(t, model.CRF, 5, feature.All, 1)
	path, err := score.NewPath(m, score.PathOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := newScorer(t, "crf", score.Options{Model: m})
	c := follow(s, somePath)
	start := m.Payload.(*model.Chain).Start
	nan := slices.Clone(c.Memory)
	for i := len(nan) - 4; i < len(nan); i++ {
		nan[i] = 0xff
	}
	for name, memory := range map[string][]byte{
		"nothing": nil, "cut short": c.Memory[:len(c.Memory)-4], "NaN": nan, "no belief": append(make([]byte, 20), c.Memory[20:]...),
		"of four states": follow(newScorer(t, "crf", score.Options{Model: chainOf(t, model.CRF, 4, feature.All, 1)}), somePath).Memory,
	} {
		got := make([]float64, 5)
		path.Belief(got, c.Features, memory)
		if !near(got, start) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What a scorer needs and does not get.
func TestChainErrors(t *testing.T) {
	good := chainOf(t, model.CRF, 5, feature.All, 1)
	spoilt := func(f func(*model.Chain)) *model.File {
		m := chainOf(t, model.CRF, 5, feature.All, 1)
		f(m.Payload.(*model.Chain))
		return m
	}
	for _, c := range []struct {
		name   string
		scorer string
		m      *model.File
		set    map[string]float64
		want   string
	}{
		{"no model", "crf", nil, nil, "waggle train model --kind crf"},
		{"a model of another kind", "memm", good, nil, "is of kind crf and not memm"},
		{"a weight that is no number", "crf", spoilt(func(c *model.Chain) { c.Weights.W[7] = math.NaN() }), nil, "train it anew"},
		{"another vocabulary", "crf", &model.File{Kind: model.CRF, Payload: good.Payload, Space: chainOf(t, model.CRF, 5, feature.Words, 1).Space}, nil, "train it anew"},
		{"no vocabulary", "crf", &model.File{Kind: model.CRF, Payload: good.Payload}, nil, "train it anew"},
		{"no such setting", "crf", good, map[string]float64{"queue": 500}, "it has viterbi, literal, bias, shortest, observe, epsilon"},
	} {
		_, err := score.New(c.scorer, score.Options{Model: c.m, Set: c.set, Analyzer: analyzer})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "scorer "+c.scorer) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Scoring a page of 100 links is to take less than 1 ms beyond parsing.
func BenchmarkChain(b *testing.B) {
	for _, kind := range chains {
		for _, k := range []int{4, 5} {
			b.Run(fmt.Sprintf("%s %d states", kind, k), func(b *testing.B) {
				m, pages := inventedModel(b, kind, k)
				s := newScorer(b, string(kind), score.Options{Model: m})
				c := web.Candidate{URL: pages[0].URL}
				c.Features = s.Extract(pages[0], web.Verdict{})[3]
				c.Memory = s.Visit(&web.Candidate{URL: pages[0].URL, Features: c.Features}, pages[0], web.Verdict{})
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					p := pages[i%len(pages)]
					features := s.Extract(p, web.Verdict{})
					memory := s.Visit(&c, p, web.Verdict{})
					for i := range p.Links {
						s.Score(&web.Candidate{URL: p.Links[i].URL, Features: features[i], Memory: memory})
					}
				}
			})
		}
	}
}

// inventedModel is a model of about 12,000 observations, with pages of a usual
// size: 600 terms, 25 of them in headings, 100 links with three words.
func inventedModel(t testing.TB, kind model.Kind, k int) (*model.File, []*web.Page) {
	draw := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("w%dx", int(draw.ExpFloat64()*1500)) }
	var pages []*web.Page
	var examples []feature.Example
	for i := range 200 {
		p := &web.Page{
			URL: parse(fmt.Sprintf("http://h%d.test/dir/page%d.html", i%7, i)), Description: word() + " " + word() + " " + word(),
			Keywords: word() + ", " + word(),
		}
		for w := range 600 {
			head := int32(0)
			if w < 25 {
				head = 1
			}
			p.Terms = append(p.Terms, web.Term{Text: word(), Body: 1 + draw.Int32N(4), Head: head})
		}
		slices.SortFunc(p.Terms, func(a, b web.Term) int { return strings.Compare(a.Text, b.Text) })
		p.Terms = slices.CompactFunc(p.Terms, func(a, b web.Term) bool { return a.Text == b.Text })
		for range 15 {
			p.Alts = append(p.Alts, word()+" "+word())
		}
		for l := range 100 {
			p.Links = append(p.Links, web.Link{
				URL: parse(fmt.Sprintf("http://h%d.test/dir/other%d.html?id=%d", l%9, l, i)), Anchor: word() + " " + word() + " " + word(),
			})
		}
		x := feature.Example{Page: p}
		for l := range p.Links {
			x.Links = append(x.Links, &p.Links[l])
		}
		pages, examples = append(pages, p), append(examples, x)
	}
	space, err := feature.Build(
		&topic.Topic{Description: "w1x w2x w3x", Keywords: []string{"honey bees", "waggle dance"}, Examples: pages[:15]},
		examples, feature.Options{Analyzer: analyzer})
	if err != nil {
		t.Fatal(err)
	}
	w := lattice.NewWeights(lattice.Hops(k, space.Len()))
	for i := range w.W {
		w.W[i] = draw.NormFloat64() / 4
	}
	start := make([]float64, k)
	for i := range start {
		start[i] = 1 / float64(k)
	}
	t.Logf("%d observations, %d weights", space.Len(), len(w.W))
	return &model.File{Kind: kind, Space: space, Payload: &model.Chain{Weights: w, Start: start, Moves: movesOf(k, draw)}}, pages
}
