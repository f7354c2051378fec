package score_test

import (
	"math"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// Classes of links by their means (1+good)/(2+good+bad). a is relevant, so its links are of two
// classes: b with "bees", c and d without. b is relevant, ⅔, and e is of its class; e is
// not, ½ again. c is not, so d has ⅓, and f, of a page that is not relevant, is of a class of its own.
func TestThompsonMeans(t *testing.T) {
	s := newScorer(t, "thompson-like", score.Options{Set: map[string]float64{"mean": 1, "every": 1}})
	wantTranscript(t, transcript(t, s, 4, `
		a 1: b=bees c=steel d
		b 1: e=bees
		e 0: f=bees
		c 0:`), `
		a:  b 0.5  c 0.5  d 0.5
		b (all anew):  e 0.6667  c 0.5  d 0.5
		e (all anew):  c 0.5  d 0.5  f 0.5
		c (all anew):  f 0.5  d 0.3333`)
}

// A class with one relevant page is sampled from Beta(2,1), one without a page from
// Beta(1,1): the former is above with a chance of ⅔. A sample stays until its class gives a
// page.
func TestThompsonSamples(t *testing.T) {
	const seeds = 2000
	above := 0
	for seed := range uint64(seeds) {
		s, err := score.New("thompson-like", score.Options{Seed: seed, Anchor: likeness, Analyzer: analyzer})
		if err != nil {
			t.Fatal(err)
		}
		p := pageOf("bees", "steel")
		f := s.Extract(p, web.Verdict{Relevance: 1})
		link := func(i int) *web.Candidate { return &web.Candidate{URL: p.Links[i].URL, Depth: 1, Features: f[i]} }
		other := s.Score(link(1))
		s.Visit(link(0), p, web.Verdict{Relevant: true})
		good := s.Score(link(0))
		if good != s.Score(link(0)) || other != s.Score(link(1)) || !(good >= 0 && good <= 1) {
			t.Fatalf("samples %v and %v do not stay", good, other)
		}
		if good > other {
			above++
		}
	}
	if share := float64(above) / seeds; math.Abs(share-2./3) > 0.05 { // five standard deviations
		t.Errorf("the better class is above in %.3f of the crawls, want 2/3", share)
	}
}

// Q-learning with γ = ½. Links of a relevant page begin at .9, of others at .1. b brings
// nothing but links of .1: its class falls to .9 + (½·.1 − .9)/2 = .475. c is relevant and
// links to one of that class: .9 + (1 + ½·.475 − .9)/2 = 1.069. d brings nothing: two
// thirds of that.
func TestQValue(t *testing.T) {
	s := newScorer(t, "q-value-like", score.Options{Set: map[string]float64{"every": 1}})
	wantTranscript(t, transcript(t, s, 4, `
		a 1: b=bees c d
		b 0: e=bees f
		c 1: g=bees
		d 0:`), `
		a:  b 0.9  c 0.9  d 0.9
		b (all anew):  c 0.9  d 0.9  e 0.1  f 0.1
		c (all anew):  d 1.069  g 0.475  e 0.1  f 0.1
		d (all anew):  g 0.475  e 0.1  f 0.1`)
}

// The reasons of a link name its class and what came of it, and add up to its priority.
func TestClassReasons(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]float64
		came string
	}{
		{"thompson-like", map[string]float64{"mean": 1}, "the mean by pages of the class so far: 1 relevant, 1 not"},
		{"thompson-like", nil, "drawn at random by pages of the class so far: 1 relevant, 1 not"},
		{"q-value-like", nil, "learnt by pages of the class so far: 2"},
	} {
		s := newScorer(t, c.name, score.Options{Set: c.set})
		x := s.(score.Explainer)
		p := pageOf("bees", "steel")
		v := web.Verdict{Relevance: 0.5}
		f := s.Extract(p, v)
		link := func(i int) *web.Candidate { return &web.Candidate{URL: p.Links[i].URL, Depth: 1, Features: f[i]} }
		for _, relevant := range []bool{true, false} {
			s.Visit(link(0), pageOf(), web.Verdict{Relevant: relevant})
		}
		want := []score.Reason{
			{Kind: score.ReasonSeen, What: "its class: page 0.4–0.6, anchor like the topic, stays on its host", Times: 1, Weight: s.Score(link(0))},
			{Kind: score.ReasonSeen, What: c.came, Times: 1},
		}
		if got := x.Explain(p, v, 0, link(0)); !slices.Equal(got, want) {
			t.Errorf("%s %v:\n%+v\nwant\n%+v", c.name, c.set, got, want)
		}
		if got := x.Explain(p, v, 0, &web.Candidate{Kind: web.LinkSeed}); got != nil {
			t.Errorf("%s: a seed has the reasons %+v", c.name, got)
		}
	}
}

// With a cut-off of 1 the path a → b → c goes on, and from c not.
func TestTunnel(t *testing.T) {
	s := newScorer(t, "tunnel-like", score.Options{Set: map[string]float64{"first": 1}})
	wantTranscript(t, transcript(t, s, 5, `
		a .8: b x
		b .2: c
		c .4: d
		x .9: y`), `
		a:  b 0.8  x 0.8
		b:  x 0.8  c 0.2
		x:  y 0.9  c 0.2
		y fails
		c:  d -0.6`)
}

// The cut-off is decided once ten relevant pages were met: nine behind another relevant page
// and one behind three that are not. Nine tenths lie within 0, all within 3.
func TestTunnelCutOff(t *testing.T) {
	for share, want := range map[float64]int{0.9: 0, 0.95: 3, 1: 3} {
		s := newScorer(t, "tunnel-like", score.Options{Set: map[string]float64{"share": share, "first": 1}})
		p := pageOf("bees")
		f := s.Extract(p, web.Verdict{Relevance: 0.5})
		for i := range 10 {
			c := &web.Candidate{URL: p.URL, Depth: 1, Features: f[0], Memory: []byte{0}}
			if i == 0 {
				c.Memory[0] = 3
			}
			if s.Stale() {
				t.Errorf("scored anew after %d pages", i)
			}
			if m := s.Visit(c, p, web.Verdict{Relevant: true}); len(m) != 1 || m[0] != 0 {
				t.Errorf("a relevant page passes on %v", m)
			}
		}
		if !s.Stale() {
			t.Error("another cut-off, and nothing is scored anew")
		}
		for k := range 6 {
			got := s.Score(&web.Candidate{URL: p.URL, Depth: 1, Features: f[0], Memory: []byte{byte(k)}})
			if kept := got == 0.5; kept != (k <= want) || !kept && got != -0.5 {
				t.Errorf("share %v: %d pages behind the last relevant one it has %v; want a cut-off of %d", share, k, got, want)
			}
		}
	}
}

// c is held by a, of quality 1, and by b, of .2.
func TestCraw4LLM(t *testing.T) {
	for of, want := range []string{`
		a:  b 1  c 1  e 1
		b:  c 1  e 1  d 0.2
		c fails`, `
		a:  b 1  c 1  e 1
		b:  c 1  e 1  d 0.2
		e fails`, `
		a:  b 1  c 1  e 1
		b:  c 1  e 1  d 0.2
		e fails`} {
		s := newScorer(t, "craw4llm-like", score.Options{Set: map[string]float64{"of": float64(of)}})
		wantTranscript(t, transcript(t, s, 3, `
			a 1: b c e
			b 0.2: c d`), want)
		for name, want := range map[string]float64{"c": []float64{1, 0.2, 0.6}[of], "d": 0.2, "e": 1, "nobody": 1} {
			if got := s.Score(&web.Candidate{URL: parse("http://" + name + "/")}); math.Abs(got-want) > 1e-6 {
				t.Errorf("of %d: %s has %v, want %v", of, name, got, want)
			}
		}
	}
}

// Each estimate by hand. c is held by a, of relevance .8, without an anchor, and by b, of .4,
// by "bees": mean .6, highest .8, sum 1 at most, anchors ½; b is held by a alone, so the second
// level is the mean of nothing, 0, and .8. d is held by b alone, by "bees steel".
func TestGouritenEstimates(t *testing.T) {
	for by, want := range []map[string]float64{
		{"c": 0.6, "d": 0.4}, {"c": 0.8, "d": 0.4}, {"c": 1, "d": 0.4}, {"c": 0.5, "d": 0.5}, {"c": 0.4, "d": 0.8},
	} {
		s := newScorer(t, "gouriten-like", score.Options{Set: map[string]float64{"by": float64(by)}})
		transcript(t, s, 2, `
			a .8: b c
			b .4: c=bees d=bees_steel`)
		for name, v := range want {
			if got := s.Score(&web.Candidate{URL: parse("http://" + name + "/")}); math.Abs(got-v) > 1e-6 {
				t.Errorf("estimate %d: %s has %v, want %v", by, name, got, v)
			}
		}
	}
}

// Where relevance is what anchors say, the regression says so too, whatever the pages that hold
// the links are; and of all estimates the bandit comes to go by one that does.
func TestGouritenLearns(t *testing.T) {
	for _, by := range []float64{5, 6} {
		s := newScorer(t, "gouriten-like", score.Options{Set: map[string]float64{"by": by, "epsilon": 0, "every": 10}})
		visit := func(c *web.Candidate, relevance float64, anchors ...string) []*web.Candidate {
			p := pageOf(anchors...)
			for i := range p.Links {
				p.Links[i].URL = parse(c.URL.String() + string(rune('a'+i)))
			}
			v := web.Verdict{Relevance: relevance, Relevant: relevance >= 0.5}
			f := s.Extract(p, v)
			s.Visit(c, p, v)
			var out []*web.Candidate
			for i, l := range p.Links {
				out = append(out, &web.Candidate{URL: l.URL, Depth: c.Depth + 1, Features: f[i]})
			}
			return out
		}
		// Of each hub the better link by the scorer is followed, and at first both in turn.
		for i := range 120 {
			hub := &web.Candidate{URL: parse("http://h" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + "/")}
			links := visit(hub, float64(i%5)/4, "steel", "bees")
			best := links[0]
			if s.Score(links[1]) > s.Score(best) || i < 20 && i%2 == 1 {
				best = links[1]
			}
			relevance := 0.
			if best == links[1] {
				relevance = 1
			}
			visit(best, relevance)
		}
		links := visit(&web.Candidate{URL: parse("http://last/")}, 0.9, "steel", "bees")
		if steel, bees := s.Score(links[0]), s.Score(links[1]); bees < steel+0.5 {
			t.Errorf("by %v: an anchor that tells has %v, another %v", by, bees, steel)
		}
	}
}
