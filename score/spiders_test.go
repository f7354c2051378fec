package score_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// Anthelion, without chance. After two relevant pages of good.test, one and
// one bad of fair.test, and two bad of bad.test the values are 3/1, 2/2 and
// 1/3: the best host comes first, whatever order they were found in. That the
// value is a maximum is what the original misses.
func TestAnthelion(t *testing.T) {
	learn := func(set map[string]float64) score.Scorer {
		set["lambda"] = 0
		s := newScorer(t, "anthelion-like", score.Options{Set: set})
		for i, host := range []string{"good", "fair", "bad", "good", "fair", "bad"} {
			u := parse(fmt.Sprintf("http://%s.test/%c", host, 'a'+i))
			s.Visit(&web.Candidate{URL: u}, &web.Page{URL: u}, web.Verdict{Relevant: host == "good" || i == 1})
		}
		return s
	}
	score := func(s score.Scorer, host string) float64 {
		return s.Score(&web.Candidate{URL: parse("http://" + host + ".test/z")})
	}
	for host, want := range map[string]float64{"good": 3, "fair": 1, "bad": 1. / 3, "new": 1} {
		if got := score(learn(map[string]float64{"value": 0}), host); math.Abs(got-want) > 2e-6 {
			t.Errorf("%s has %v, want %v", host, got, want)
		}
	}
	// Naive Bayes by hand. The words of an address are "http", the host and
	// "test" (single letters are none): 9 features in each class, of 10,004.
	// good has 3 relevant and 3 other links: (2+1)/(0+1) for its name.
	s := learn(map[string]float64{"value": 2})
	if got, want := score(s, "good"), 3./(3+1); math.Abs(got-want) > 1e-9 {
		t.Errorf("a link of good has %v, want %v", got, want)
	}
	if got, want := score(s, "bad"), 1./(1+3); math.Abs(got-want) > 1e-9 {
		t.Errorf("a link of bad has %v, want %v", got, want)
	}
	if got, want := score(learn(map[string]float64{"value": 3}), "good"), 3*3./4; math.Abs(got-want) > 1e-9 {
		t.Errorf("the product is %v, want %v", got, want)
	}
	// Beta(1+good, 1+bad) has the mean (1+good)/(2+good+bad).
	sum := 0.
	for seed := range uint64(2000) {
		s := newSeeded(t, seed)
		sum += score(s, "good")
	}
	if mean := sum / 2000; math.Abs(mean-0.75) > 0.03 { // its deviation is .19/√2000: seven of them
		t.Errorf("samples of Beta(3,1) have the mean %v, want .75", mean)
	}
}

// newSeeded is Anthelion with samples, after two relevant pages of good.test.
func newSeeded(t *testing.T, seed uint64) score.Scorer {
	s, err := score.New("anthelion-like", score.Options{Seed: seed, Analyzer: analyzer, Set: map[string]float64{"value": 1, "lambda": 0}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.Visit(&web.Candidate{URL: parse("http://good.test/")}, &web.Page{}, web.Verdict{Relevant: true})
	}
	return s
}

// With the chance λ, which halves after decay pages, all is scored anew before
// and after a page of a random host.
func TestAnthelionExplores(t *testing.T) {
	s := newScorer(t, "anthelion-like", score.Options{Set: map[string]float64{"lambda": 0.4, "decay": 1000, "every": 1e6}})
	hosts := map[int]int{}
	explored := [2]int{}
	links := make([]web.Candidate, 4)
	for i := range links {
		links[i].URL = parse(fmt.Sprintf("http://h%d.test/", i))
	}
	u := parse("http://h0.test/")
	for i := range 2000 {
		s.Visit(&web.Candidate{URL: u}, &web.Page{URL: u}, web.Verdict{Relevant: true})
		best := 0
		for k := range links {
			if s.Score(&links[k]) > s.Score(&links[best]) {
				best = k
			}
		}
		if best > 0 {
			hosts[best]++
			explored[i/1000]++
			if !s.Stale() {
				t.Fatalf("page %d: another host is best, and nothing is scored anew", i)
			}
		}
	}
	// λ is .4·1000/(1000+t) on average .277 and .162 in the two halves, and a
	// random host is another one in ¾: 208 and 122 are expected, with
	// deviations of 13 and 10.
	if n := explored[0]; n < 150 || n > 266 {
		t.Errorf("%d explored in the first half", n)
	}
	if n := explored[1]; n < 72 || n > 172 {
		t.Errorf("%d explored in the second half", n)
	}
	for k := 1; k < 4; k++ {
		if n := hosts[k]; n < 60 || n > 160 {
			t.Errorf("host %d was explored %d times of %d", k, n, explored[0]+explored[1])
		}
	}
}

// Keywords near links: "bees" stands in the anchor of the second of seven, and
// after the fourth.
func TestSpidersInputs(t *testing.T) {
	s := newScorer(t, "infospiders-like", score.Options{Set: map[string]float64{"beta": 1000}})
	p := pageOf("", "", "", "", "", "", "")
	for i := range p.Links { // leaves: text, anchor, text, anchor …
		p.Links[i].First, p.Links[i].Last = 2*i+1, 2*i+1
	}
	p.Leaves = make([]web.Leaf, 15)
	p.Leaves[3].Text, p.Leaves[8].Text = "Bees", "of bees"
	f := s.Extract(p, web.Verdict{})
	for i, want := range []float64{
		1./2 + 1./4, 1 + 1./3, 1./2 + 1./2, 1./3 + 1, 1./4 + 1, 1./5 + 1./2, 1. / 3,
	} {
		// odd byte · keyword 0 · value in 1/16
		if want := []byte{byte(i % 2), 0, byte(math.Round(want * 16))}; !slices.Equal(f[i], want) {
			t.Errorf("link %d: % x, want % x", i, f[i], want)
		}
	}
}

// Two agents from two seeds take turns, however much better the links of one.
// The second, which finds nothing, dies after its energy of ½ is gone: at a
// cost of .3 a page, with the second page. The first splits above 1, with ½ +
// .7 = 1.2, and each second link of the page is the young one's.
func TestSpiders(t *testing.T) {
	s := newScorer(t, "infospiders-like", score.Options{Set: map[string]float64{"theta": 1, "cost": 0.3}})
	move := func(c web.Candidate, relevance float64) (links []web.Candidate) {
		p := pageOf("", "")
		p.URL = c.URL
		f := s.Extract(p, web.Verdict{})
		memory := s.Visit(&c, p, web.Verdict{Relevance: relevance})
		for i := range p.Links {
			u := parse(fmt.Sprintf("%s%d/", c.URL, i))
			links = append(links, web.Candidate{URL: u, Depth: c.Depth + 1, Features: f[i], Memory: memory})
		}
		return links
	}
	turns := func(c web.Candidate) int { return -int(math.Round(s.Score(&c) / 1000)) }
	seed := func(host string) web.Candidate {
		return web.Candidate{URL: parse("http://" + host + "/"), Kind: web.LinkSeed}
	}
	a, b := move(seed("a.test"), 0.3), move(seed("b.test"), 0)
	if turns(a[0]) != 1 || turns(b[0]) != 1 {
		t.Errorf("after the seeds the agents have made %d and %d moves", turns(a[0]), turns(b[0]))
	}
	b = move(b[0], 0)
	if turns(a[0]) != 1 || turns(b[0]) < 1e8 {
		t.Errorf("agent a has made %d moves; the dead one's links have %v", turns(a[0]), s.Score(&b[0]))
	}
	a = move(a[0], 1)
	if string(a[0].Memory[:2]) == string(a[0].Memory[2:]) {
		t.Fatalf("the agent did not split: % x", a[0].Memory)
	}
	if turns(a[0]) != 2 || turns(a[1]) != 2 {
		t.Errorf("mother and young have made %d and %d moves", turns(a[0]), turns(a[1]))
	}
	move(a[0], 0.3)
	if turns(a[0]) != 3 || turns(a[1]) != 2 {
		t.Errorf("after a move of the mother they have made %d and %d", turns(a[0]), turns(a[1]))
	}
}

// An agent learns: with a keyword near the links that led to relevant pages,
// links with it come before those without.
func TestSpidersLearn(t *testing.T) {
	s := newScorer(t, "infospiders-like", score.Options{Set: map[string]float64{"beta": 1000, "theta": 1e6, "mu": 0}})
	p := pageOf("", "")
	p.Links[0].First, p.Links[0].Last, p.Links[1].First, p.Links[1].Last = 0, 0, 20, 20
	p.Leaves = make([]web.Leaf, 21)
	p.Leaves[0].Text = "bees bees"
	f := s.Extract(p, web.Verdict{})
	memory := s.Visit(&web.Candidate{URL: p.URL}, p, web.Verdict{})
	for i := range 200 {
		s.Visit(&web.Candidate{URL: p.Links[i%2].URL, Depth: 1, Features: f[i%2], Memory: memory}, &web.Page{}, web.Verdict{Relevance: float64(1 - i%2)})
	}
	with, without := web.Candidate{URL: p.URL, Features: f[0], Memory: memory}, web.Candidate{URL: p.URL, Features: f[1], Memory: memory}
	if a, b := s.Score(&with), s.Score(&without); a <= b+100 {
		t.Errorf("with the keyword %v, without %v", a, b)
	}
}

// A journal of links that is full ends learning and nothing else: what was learned
// stays, in a restored scorer too.
func TestFullJournal(t *testing.T) {
	for _, name := range []string{"backlink", "pagerank", "opic", "craw4llm-like", "gouriten-like"} {
		t.Run(name, func(t *testing.T) {
			set := hasty(name)
			set["journal"] = 0.001 // 1,048 bytes
			s := newScorer(t, name, score.Options{Set: set})
			p := pageOf("bees", "steel")
			f := s.Extract(p, web.Verdict{})
			var memory []byte
			visit := func(i int) {
				c := web.Candidate{URL: parse(fmt.Sprintf("http://h%d.test/", i))}
				if i > 0 {
					c.Depth, c.Features, c.Memory = 1, f[i%2], memory
				}
				q := pageOf("bees", "steel")
				q.URL, q.Links[0].URL = c.URL, parse(fmt.Sprintf("http://h%d.test/", i+1))
				memory = s.Visit(&c, q, web.Verdict{Relevance: float64(i % 2), Relevant: i%2 == 1})
			}
			for i := range 200 {
				visit(i)
			}
			s.Stale()
			state := scoretest.Grown(nil, s)
			if n := len(state); n > 1050 || n < 900 {
				t.Errorf("the state has %d bytes", n)
			}
			again := newScorer(t, name, score.Options{Set: set})
			if err := again.Restore(state); err != nil {
				t.Fatal(err)
			}
			for i := 200; i < 220; i++ {
				c := web.Candidate{URL: p.Links[i%2].URL, Depth: 1, Features: f[i%2], Memory: memory}
				before := s.Score(&c)
				visit(i)
				if a, b := s.Score(&c), again.Score(&c); a != before || b != before {
					t.Fatalf("%v before, %v after another page, %v restored", before, a, b)
				}
			}
			if scoretest.Grown(nil, s) != nil {
				t.Error("the state changed")
			}
		})
	}
}

// A state that is cut off or altered is refused or read as another one, and
// never breaks the scorer.
func TestDamagedState(t *testing.T) {
	for _, name := range []string{"backlink", "pagerank", "opic", "aggarwal", "ache-like-soft", "ache-like-levels", "tagpath-bandit-like", "anthelion-like", "infospiders-like", "thompson-like", "q-value-like", "tunnel-like", "craw4llm-like", "tres-like", "gouriten-like"} {
		s := newScorer(t, name, score.Options{Set: hasty(name)})
		p := pageOf("bees", "steel", "bees")
		f := s.Extract(p, web.Verdict{})
		memory := s.Visit(&web.Candidate{URL: p.URL}, p, web.Verdict{})
		for i := range 6 {
			s.Visit(&web.Candidate{URL: p.Links[i%3].URL, Depth: 1, Features: f[i%3], Memory: memory}, p, web.Verdict{Relevance: float64(i % 2), Relevant: i%2 == 1})
		}
		c := web.Candidate{URL: p.Links[0].URL, Depth: 1, Features: f[0], Memory: memory}
		state := scoretest.Grown(nil, s)
		refused := 0
		for i := range state {
			for _, damaged := range [][]byte{state[:i], append(append(slices.Clone(state[:i]), state[i]^0xff), state[i+1:]...)} {
				again := newScorer(t, name, score.Options{Set: hasty(name)})
				if err := again.Restore(damaged); err != nil {
					refused++
				} else if got := again.Score(&c); math.IsNaN(got) || math.IsInf(got, 0) {
					t.Errorf("%s: byte %d altered gives a score of %v", name, i, got)
				}
			}
		}
		if refused < len(state)/2 {
			t.Errorf("%s: %d of %d damages were noticed", name, refused, 2*len(state))
		}
	}
}

func TestSettings(t *testing.T) {
	for _, l := range score.Descriptions() {
		set := map[string]float64{}
		for _, s := range l.Settings {
			if s.Default < s.Min || s.Default > s.Max || s.Line == "" {
				t.Errorf("%s: setting %+v", l.Name, s)
			}
			set[s.Name] = s.Default
		}
		if _, ok := set["online"]; ok {
			set["online"] = 1 // or a model of an earlier crawl is needed
		}
		if _, err := score.New(l.Name, score.Options{Anchor: likeness, Keywords: []string{"bees"}, Topic: wholeTopic(), Judge: likeness, Thesaurus: noThesaurus{}, Set: set, DF: english, Analyzer: analyzer, Model: trained(t, l.Name)}); err != nil {
			t.Errorf("its own defaults: %v", err)
		}
	}
	for _, c := range []struct {
		name string
		set  map[string]float64
		want string
	}{
		{"fish-search", map[string]float64{"widht": 3}, `scorer fish-search: there is no setting "widht"; near names: width; it has width, depth`},
		{"random", map[string]float64{"x": 3}, "it has none"},
		{"fish-search", map[string]float64{"depth": 0}, "setting depth = 0 is outside 1…50"},
		{"shark-search-0.5", map[string]float64{"gamma": math.NaN()}, "setting gamma = NaN"},
		{"anthelion-like", map[string]float64{"value": 5}, "0…4"},
	} {
		_, err := score.New(c.name, score.Options{Anchor: likeness, Keywords: []string{"bees"}, Set: c.set})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: error %v, want one with %q", c.name, c.set, err, c.want)
		}
	}
}
