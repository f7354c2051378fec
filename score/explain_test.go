package score_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// The reasons of a link add up to its priority, whatever the path to it; and
// what Recall gives for a memory on that path is what Visit gave.
func TestChainReasonsAddUp(t *testing.T) {
	scorers := map[string]score.Scorer{}
	for _, kind := range chains {
		for name, set := range map[string]map[string]float64{"": nil, " viterbi": {"viterbi": 1}, " literal": {"literal": 1, "observe": 1}, " coarse": {"epsilon": 0.2}} {
			s, err := score.New(string(kind), score.Options{Model: chainOf(t, kind, 4, feature.All, 3), Analyzer: analyzer, Set: set})
			if err != nil {
				t.Fatal(err)
			}
			scorers[string(kind)+name] = s
		}
		m := chainOf(t, kind, 4, feature.All, 3)
		m.Space = tinySpace(t, feature.Options{MinPages: 1, AnyAddress: true, Analyzer: analyzer})
		s, err := score.New(string(kind), score.Options{Model: m, Analyzer: analyzer, Set: map[string]float64{"literal": 1}})
		if err != nil {
			t.Fatal(err)
		}
		scorers[string(kind)+" any address"] = s
	}
	for _, name := range []string{"hmm", "hmm-centroid-page", "hmm-centroid-both"} {
		for _, raw := range []float64{0, 1} {
			s, err := score.New(name, score.Options{Model: trained(t, name), Analyzer: analyzer, Set: map[string]float64{"raw": raw}})
			if err != nil {
				t.Fatal(err)
			}
			scorers[fmt.Sprint(name, " raw ", raw)] = s
		}
	}
	for name, set := range map[string]map[string]float64{"hmm2": nil, "hmm2 viterbi": {"viterbi": 1}, "pathlearner": nil, "pathlearner sum": {"join": 1}, "shark-search-0.8": nil, "shark-search-0.8 short": {"depth": 1, "floor": 0.5}} {
		name, _, _ := strings.Cut(name, " ")
		s, err := score.New(name, score.Options{
			Model: trained(t, name), Analyzer: analyzer, Set: set,
			Page: func(p *web.Page, _ web.Verdict) float64 { return float64(len(p.Terms)%3) / 2 }, Anchor: func(s string) float64 { return float64(len(s)%4) / 4 },
		})
		if err != nil {
			t.Fatal(err)
		}
		scorers[fmt.Sprint(name, set)] = s
	}
	rapid.Check(t, func(t *rapid.T) {
		path := genPath(t)
		for name, s := range scorers {
			x := s.(score.Explainer)
			c := web.Candidate{URL: parse("http://a.test/"), Kind: web.LinkSeed}
			if got := x.Explain(&web.Page{}, web.Verdict{}, 0, &c); got != nil {
				t.Fatalf("%s: a seed has the reasons %v", name, got)
			}
			for _, step := range path {
				p := step.page()
				features := s.Extract(p, web.Verdict{})
				memory := s.Visit(&c, p, web.Verdict{})
				if got := x.Recall(&c, p, web.Verdict{}); !bytes.Equal(got, memory) {
					t.Fatalf("%s: recalls %x and not %x", name, got, memory)
				}
				c = web.Candidate{URL: p.Links[0].URL, Kind: web.LinkA, Features: features[0], Memory: memory}
				sum := 0.
				for _, r := range x.Explain(p, web.Verdict{}, 0, &c) {
					sum += r.Weight
				}
				if want := s.Score(&c); math.Abs(sum-want) > 1e-9 {
					t.Fatalf("%s: the reasons add up to %v, the priority is %v", name, sum, want)
				}
			}
		}
	})
}

// What a link shows, by hand: the model goes to T0 or T1 with equal odds; an
// address with a keyword weighs ln 3 for T0, and “queen” ln 9 for T1. Queen
// alone would change ½ most, and comes first.
func TestChainReasons(t *testing.T) {
	m := chainOf(t, model.MEMM, 2, feature.All, 1)
	chain := m.Payload.(*model.Chain)
	clear(chain.Weights.W)
	for i := range chain.Moves {
		chain.Moves[i] = 0.5
	}
	for id := range uint32(m.Space.Len()) {
		switch m.Space.Name(id) {
		case "its address holds a keyword":
			weigh(chain.Weights, id, 0, math.Log(3))
		case "“queen” in the anchor that led here":
			weigh(chain.Weights, id, 1, math.Log(9))
		}
	}
	s, err := score.New("memm", score.Options{Model: m, Analyzer: analyzer})
	if err != nil {
		t.Fatal(err)
	}
	p := &web.Page{Links: []web.Link{{URL: parse("http://x.test/bees"), Anchor: "hive queen steel"}}}
	c := web.Candidate{URL: p.Links[0].URL, Kind: web.LinkA, Features: s.Extract(p, web.Verdict{})[0]}
	got := s.(score.Explainer).Explain(p, web.Verdict{}, 0, &c)
	want := []score.Reason{
		{Kind: score.ReasonPath, Times: 1, Weight: 0.5},
		{Kind: score.ReasonSeen, What: "“queen” in the anchor that led here", Times: 1, Weight: 0.1 - 0.5},
		{Kind: score.ReasonSeen, What: "its address holds a keyword", Times: 1, Weight: 0.25 - 0.1},
		{Kind: score.ReasonSeen, What: "“hive” in the anchor that led here", Times: 1},
		{Kind: score.ReasonHops, What: "T1 0.750", Times: 1, Weight: 0.75 / 1024}, // the second digit, of ten bits
	}
	if !slices.EqualFunc(got, want, func(a, b score.Reason) bool {
		d := a.Weight - b.Weight
		a.Weight, b.Weight = 0, 0
		return a == b && math.Abs(d) < 1e-5
	}) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// An apprentice with cocitation recalls which links of a page had led where when
// it was fetched, though it has learned of others since; one that was restored
// does so too.
func TestCitationsRecalled(t *testing.T) {
	p := parsed(t, `<a href=a>honey</a><a href=b>wax</a><a href=c>steel</a><a href=d>tin</a>`)
	o := score.Options{Set: map[string]float64{"cocitation": 1, "start": 1, "every": 1}}
	s := newScorer(t, "apprentice", o)
	visit := func(i int, relevance float64) {
		s.Visit(&web.Candidate{URL: p.Links[i].URL}, &web.Page{URL: p.Links[i].URL}, verdictOf(relevance))
	}
	visit(0, 0.9)
	visit(2, 0.1)
	seed := web.Candidate{URL: p.URL}
	was := s.Visit(&seed, p, verdictOf(0.5))
	visit(1, 0.9)
	visit(3, 0.9)
	if len(was) == 0 {
		t.Fatal("two links had led somewhere, and the others are not told")
	}
	again := newScorer(t, "apprentice", o)
	if err := again.Restore(scoretest.Grown(nil, s)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []score.Scorer{s, again} {
		s.State()
		if got := s.(score.Explainer).Recall(&seed, p, verdictOf(0.5)); !bytes.Equal(got, was) {
			t.Errorf("recalls %x and not %x", got, was)
		}
		if after, _ := s.State(); after != nil {
			t.Error("recalling has changed it")
		}
	}
}
