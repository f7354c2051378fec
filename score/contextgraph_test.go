package score_test

import (
	"math"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// threeLayers has learnt one page of each layer: "bee bee", "honey", "steel".
// With Laplace's rule the shares of the words are
//
//	       bee honey steel
//	0      .6  .2    .2
//	1      .25 .5    .25
//	2      .25 .25   .5
func threeLayers(t *testing.T) *model.File {
	pages := []*web.Page{pageOn("bee bee"), pageOn("honey"), pageOn("steel")}
	words := feature.CountTerms(pages, 1, nil)
	var documents []sparse.Vector
	for _, p := range pages {
		documents = append(documents, words.Top(p, 40))
	}
	learnt, err := bayes.Train(documents, []int{0, 1, 2}, bayes.Options{Classes: 3, Vocabulary: words.Len()})
	if err != nil {
		t.Fatal(err)
	}
	return &model.File{Kind: model.ContextGraph, Payload: &model.Classes{Words: words, Bayes: learnt, Top: 40}}
}

// The context graph by hand: the layer first, in it the odds of the page.
func TestContextGraph(t *testing.T) {
	m := threeLayers(t)
	place := func(layer int, p float64) float64 {
		return float64(3-layer) + 0.5 + math.Atan(math.Log(p/(1-p)))/math.Pi
	}
	other := func(p float64) float64 { return place(3, p) }
	for _, c := range []struct {
		text      string
		threshold float64
		want      float64
	}{
		{"bee", 0.5, place(0, 0.6/1.1)},
		{"honey", 0.5, place(1, 0.5/0.95)},
		{"steel", 0.5, place(2, 0.5/0.95)},
		{"bee honey", 0.5, other(0.125 / 0.3075)}, // .12, .125, .0625
		{"bee honey", 0.4, place(1, 0.125/0.3075)},
		{"", 0.5, other(1. / 3)},
		{"", 0, place(0, 1./3)}, // equal: the lowest
	} {
		s := newScorer(t, "contextgraph", score.Options{Model: m, Set: map[string]float64{"threshold": c.threshold}})
		nearly(t, c.text, along(s, pageOn(c.text))[0], c.want)
	}
}

// The lowest queue that is not empty goes first, however sure the others are;
// within one the surest, also where the posterior is 1 in the machine's eyes.
func TestContextGraphOrder(t *testing.T) {
	s := newScorer(t, "contextgraph", score.Options{Model: threeLayers(t)})
	many := func(word string, n int32) *web.Page {
		return &web.Page{Terms: []web.Term{{Text: word, Body: n}}, Links: []web.Link{{URL: parse("http://a.test/x")}}}
	}
	last := s.Score(&web.Candidate{URL: parse("http://a.test/"), Kind: web.LinkSeed})
	for _, p := range []*web.Page{
		many("bee", 3000), many("bee", 2000), many("bee", 1), many("honey", 1000), many("honey", 1), many("steel", 9), many("steel", 1), many("", 1),
	} {
		now := along(s, p)[0]
		if now >= last {
			t.Errorf("%s %d times has %v, not below %v", p.Terms[0].Text, p.Terms[0].Body, now, last)
		}
		last = now
	}
}

// "Bayes" of Hu, Tu & Tong 2014, table 1: the posterior of the targets alone.
func TestBayesPageLike(t *testing.T) {
	s := newScorer(t, "bayes-page-like", score.Options{Model: threeLayers(t)})
	nearly(t, "bee", along(s, pageOn("bee"))[0], 0.6/1.1)
	nearly(t, "bee honey", along(s, pageOn("bee honey"))[0], 0.12/0.3075)
	nearly(t, "nothing", along(s, pageOn(""))[0], 1./3)
}
