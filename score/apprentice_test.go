package score_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/sparse"
	html "github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// parsed is the page of a body, by the crawl's own parser.
func parsed(t testing.TB, body string) *web.Page {
	t.Helper()
	p, err := html.New(html.Options{Analyzer: analyzer}).Parse(&web.Response{
		URL: parse("http://u.test/"), Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Raw: []byte(body), Body: []byte(body),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// verdictOf is one of a judge whose threshold is 0.3.
func verdictOf(relevance float64) web.Verdict {
	return web.Verdict{Relevance: relevance, Relevant: relevance >= 0.3}
}

// followed has a scorer find each link of a page and fetch those with an outcome,
// in the order of links; then it gives the candidates of all links.
func followed(s score.Scorer, p *web.Page, relevance float64, outcomes ...float64) []web.Candidate {
	features := s.Extract(p, verdictOf(relevance))
	memory := s.Visit(&web.Candidate{URL: p.URL}, p, verdictOf(relevance))
	var out []web.Candidate
	for i, l := range p.Links {
		out = append(out, web.Candidate{URL: l.URL, From: p.URL, Kind: l.Kind, Depth: 1, Features: features[i], Memory: memory})
	}
	for i, r := range outcomes {
		s.Visit(&out[i], &web.Page{URL: out[i].URL}, verdictOf(r))
	}
	return out
}

// classScorer is an apprentice whose pages are of some classes, as verdicts say.
type classScorer struct {
	score.Scorer
	classes []string
}

func (s classScorer) Extract(p *web.Page, v web.Verdict) [][]byte {
	v.Classes = s.classes
	return s.Scorer.Extract(p, v)
}

func (s classScorer) Recall(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	return s.Scorer.(score.Explainer).Recall(c, p, v)
}

func (s classScorer) Explain(p *web.Page, v web.Verdict, link int, c *web.Candidate) []score.Reason {
	v.Classes = s.classes
	return s.Scorer.(score.Explainer).Explain(p, v, link, c)
}

// taught is an apprentice that followed the links of a page five times with
// high outcomes and five times with low ones, so that it knows all features.
func taught(t testing.TB, p *web.Page, o score.Options, classes ...string) (score.Scorer, []web.Candidate) {
	if o.Set == nil {
		o.Set = map[string]float64{}
	}
	o.Set["start"], o.Set["every"] = 1, 1
	s := classScorer{newScorer(t, "apprentice", o), classes}
	for range 5 {
		for _, outcome := range []float64{1, 0} {
			followed(s, p, 0.5, slices.Repeat([]float64{outcome}, len(p.Links))...)
		}
	}
	return s, followed(s, p, 0.5)
}

// sightOf names what an apprentice sees of a link, by offset.
func sightOf(s score.Scorer, p *web.Page, link int, c *web.Candidate) string {
	reasons := s.(score.Explainer).Explain(p, web.Verdict{}, link, c)
	slices.SortFunc(reasons, func(x, y score.Reason) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Offset, y.Offset), strings.Compare(x.What, y.What))
	})
	var out []string
	for _, r := range reasons {
		times := ""
		if r.Times > 1 {
			times = fmt.Sprint("×", r.Times)
		}
		switch r.Kind {
		case score.ReasonWord:
			out = append(out, fmt.Sprintf("%s@%d%s", r.What, r.Offset, times))
		case score.ReasonClass:
			out = append(out, r.What)
		case score.ReasonHigh:
			out = append(out, fmt.Sprintf("HIGH@%d%s", r.Offset, times))
		case score.ReasonLow:
			out = append(out, fmt.Sprintf("LOW@%d%s", r.Offset, times))
		}
	}
	return strings.Join(out, " ")
}

// Section 2.2.1 through the real parser: features are words at offsets in leaves
// from the link, whatever the tags.
func TestOffsets(t *testing.T) {
	for _, c := range []struct {
		name, body string
		set        map[string]float64
		want       []string // by link
	}{
		{
			"an anchor with em nested in it is at 0 throughout",
			`nectar<a href=x>honey <em>bees <b>dance</b></em> wild</a>hive`, nil,
			[]string{"nectar@-1 bee@0 danc@0 honey@0 wild@0 hive@1"},
		},
		{
			"leaves without text count",
			`nectar<br><img src=i><a href=x>honey</a><hr><br>hive`, nil,
			[]string{"nectar@-3 honey@0 hive@3"},
		},
		{
			"an image's alt text is a leaf",
			`<img src=i alt="wild bees"><a href=x><img src=j alt=honey></a>`, nil,
			[]string{"bee@-1 wild@-1 honey@0"},
		},
		{
			"two links in one neighbourhood, each from its own end",
			`<ul><li>nectar<li><a href=x>honey <em>bees</em></a><li><a href=y>hive</a><li>swarm</ul>`, nil,
			[]string{"nectar@-1 bee@0 honey@0 hive@1 swarm@2", "honey@-2 nectar@-3 bee@-1 hive@0 swarm@1"},
		},
		{
			"a table is read by rows; tags, fonts and case do not matter",
			`<table><tr><td>Nectar<td><font size=7>POLLEN</font><tr><td><A HREF=x>Honey</A><td>hive</table>`, nil,
			[]string{"nectar@-2 pollen@-1 honey@0 hive@1"},
		},
		{
			"no farther than dmax",
			`<p>nectar<p>pollen<p>wax<p><a href=x>honey</a><p>hive<p>swarm<p>queen`, map[string]float64{"dmax": 2},
			[]string{"pollen@-2 wax@-1 honey@0 hive@1 swarm@2"},
		},
		{
			"dmax 0 is the anchor alone",
			`<p>nectar<a href=x>honey</a>hive`, map[string]float64{"dmax": 0},
			[]string{"honey@0"},
		},
		{
			"words come as often as they are there",
			`hive hives<a href=x>honey, honey</a>hive`, nil,
			[]string{"hive@-1×2 honey@0×2 hive@1"},
		},
		{
			"plain text has no offsets",
			`hive<a href=x>honey</a>hive`, map[string]float64{"plain": 1},
			[]string{"hive@0×2 honey@0"},
		},
	} {
		p := parsed(t, c.body)
		s, found := taught(t, p, score.Options{Set: c.set})
		if len(p.Links) != len(c.want) {
			t.Fatalf("%s: %d links", c.name, len(p.Links))
		}
		for i, want := range c.want {
			got := strings.Fields(sightOf(s, p, i, &found[i]))
			words := strings.Fields(want)
			slices.Sort(got)
			slices.Sort(words)
			if !slices.Equal(got, words) {
				t.Errorf("%s: link %d is seen as\n%q, want\n%q", c.name, i, got, words)
			}
		}
	}
}

// Section 3.8: names of the page's classes are features, and with topics = 2 those
// of all classes above them, each once.
func TestTopicFeatures(t *testing.T) {
	p := parsed(t, `<a href=x>honey</a>`)
	for topics, want := range []string{
		"honey@0",
		"honey@0 /Animals/Birds /Animals/Insects/Bees",
		"honey@0 /Animals /Animals/Birds /Animals/Insects /Animals/Insects/Bees",
	} {
		s, found := taught(t, p, score.Options{Set: map[string]float64{"topics": float64(topics)}}, "/Animals/Insects/Bees", "/Animals/Birds")
		if got := sightOf(s, p, 0, &found[0]); got != want {
			t.Errorf("topics = %d: %s, want %s", topics, got, want)
		}
	}
}

// Section 3.8: outcomes of links near by are features if their targets were fetched
// before the page, and no others.
func TestCocitation(t *testing.T) {
	s := newScorer(t, "apprentice", score.Options{Set: map[string]float64{"cocitation": 1, "start": 1, "every": 1, "dmax": 2}})
	first := parsed(t, `<a href=good>wax</a><a href=bad>clay</a>`)
	followed(s, first, 0.5, 0.9, 0.1)
	// Seen from the link to new: good is 2 to the left, bad 1 to the right, and
	// good again too far.
	p := parsed(t, `<p><a href=good>wax</a><p>and<p><a href=new>honey</a><a href=bad>clay</a><p>so<p>on<p><a href=good>wax</a>`)
	var found []web.Candidate
	for range 5 {
		found = followed(s, p, 0.5)
		s.Visit(&found[1], &web.Page{URL: parse("http://u.test/other")}, verdictOf(1))
		s.Visit(&found[1], &web.Page{URL: parse("http://u.test/other")}, verdictOf(0))
	}
	if got := sightOf(s, p, 1, &found[1]); !strings.Contains(got, "HIGH@-2 LOW@1") || strings.Contains(got, "HIGH@2") {
		t.Errorf("seen is %s", got)
	}
}

// Section 2.2: examples are links whose source was fetched before their target,
// once the target is fetched; a seed, a failure or a page found otherwise gives
// none.
func TestExamples(t *testing.T) {
	s := newScorer(t, "apprentice", score.Options{Set: map[string]float64{"start": 1, "every": 1}})
	p := parsed(t, `<a href=a>honey</a><p><a href=b>steel</a>`)
	found := followed(s, p, 0.5)
	before := s.Score(&found[0])
	s.Visit(&web.Candidate{URL: parse("http://u.test/seed"), Kind: web.LinkSeed}, p, verdictOf(1))
	for range 20 {
		s.Visit(&found[0], nil, web.Verdict{}) // fails
		s.Visit(&web.Candidate{URL: found[1].URL, Kind: web.LinkSeed}, p, verdictOf(0))
	}
	if got := s.Score(&found[0]); got != before || s.Stale() {
		t.Fatalf("it learned from what is no example: %v, then %v", before, got)
	}
	for i := range 5 { // five of each class are the least
		if s.Stale() {
			t.Fatalf("trained after %d examples", 2*i)
		}
		s.Visit(&found[0], &web.Page{URL: found[0].URL}, verdictOf(1))
		s.Visit(&found[1], &web.Page{URL: found[1].URL}, verdictOf(0))
	}
	if !s.Stale() {
		t.Error("the links that wait are not scored again after the training")
	}
	if a, b := s.Score(&found[0]), s.Score(&found[1]); a <= 0 || b >= 0 {
		t.Errorf("the link like the relevant ones has %v, the other %v", a, b)
	}
}

// Equation 1 by hand: two anchors of one word each, honey three times high and once
// low, steel twice high and four times low, with dmax 0.
//
//	|T| = 2; high: honey 3 steel 2, low: honey 1 steel 4
//	θ_high,honey = (1+3)/(2+5), θ_low,honey = (1+1)/(2+5)
//	ln odds of honey = ln 5/5 + ln 4/2
func TestApprenticeByHand(t *testing.T) {
	p := parsed(t, `<a href=a>honey</a><p><a href=b>steel</a><p><a href=c>honey steel</a><p><a href=d>clay</a>`)
	learn := func(name string, set map[string]float64) (score.Scorer, []web.Candidate) {
		all := map[string]float64{"dmax": 0, "start": 11, "every": 1000}
		for k, v := range set {
			all[k] = v
		}
		s := newScorer(t, name, score.Options{Set: all})
		found := followed(s, p, 0.25) // the page and ten links: 11 visits
		for i, x := range []struct {
			link      int
			relevance float64
		}{{0, 0.9}, {0, 0.8}, {0, 0.7}, {1, 0.6}, {1, 0.55}, {0, 0.45}, {1, 0.35}, {1, 0.2}, {1, 0.1}, {1, 0}} {
			s.Visit(&found[x.link], &web.Page{URL: parse(fmt.Sprint("http://v.test/", i))}, verdictOf(x.relevance))
		}
		return s, found
	}
	r := (math.Floor(0.25*255+0.5) + 0.5) / 256
	for _, c := range []struct {
		what, name string
		set        map[string]float64
		want       []float64 // honey, steel, both, unknown
	}{
		{"from ½ on", "apprentice", nil, []float64{
			math.Log(4. / 2), math.Log(3. / 5), math.Log(4./2) + math.Log(3./5), 0,
		}},
		// The judge's threshold of 0.3: high are honey 4 steel 3, low steel 3.
		{"where the judge says", "apprentice", map[string]float64{"boundary": 2}, nil},
		{"R(u) beside it", "apprentice", map[string]float64{"inherit": 2}, []float64{
			math.Log(4./2) + 2*math.Log(r/(1-r)), math.Log(3./5) + 2*math.Log(r/(1-r)), math.Log(4./2) + math.Log(3./5) + 2*math.Log(r/(1-r)), 2 * math.Log(r/(1-r)),
		}},
		{"as one word", "apprentice", map[string]float64{"words": 1}, []float64{
			math.Log(4. / 2), math.Log(3. / 5), (math.Log(4./2) + math.Log(3./5)) / 2, 0,
		}},
	} {
		s, found := learn(c.name, c.set)
		if c.want == nil {
			// Low has three examples and five are the least: R(u) still.
			if got := s.Score(&found[0]); math.Abs(got-0.25) > 1./255 {
				t.Errorf("%s: %v before there are five of each class, want R(u)", c.what, got)
			}
			continue
		}
		for i, want := range c.want {
			if got := s.Score(&found[i]); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: link %d has %v, want %v", c.what, i, got, want)
			}
		}
	}
}

// Section 2.3, "equally probable intervals": targets are hardly relevant, so that
// none is high from ½ on; the upper half of them is.
func TestEvenBoundary(t *testing.T) {
	p := parsed(t, `<a href=a>honey</a><p><a href=b>steel</a>`)
	outcomes := func(s score.Scorer) []web.Candidate {
		var found []web.Candidate
		for i := range 10 {
			found = followed(s, p, 0.2)
			s.Visit(&found[0], &web.Page{}, verdictOf(0.2+float64(i)/100))
			s.Visit(&found[1], &web.Page{}, verdictOf(0.02+float64(i)/100))
		}
		return found
	}
	half := newScorer(t, "apprentice", score.Options{Set: map[string]float64{"start": 5, "every": 5, "dmax": 0}})
	if found := outcomes(half); half.Score(&found[0]) != half.Score(&found[1]) || half.Stale() {
		t.Error("from ½ on there is nothing to learn, and something was")
	}
	even := newScorer(t, "apprentice", score.Options{Set: map[string]float64{"start": 30, "every": 5, "boundary": 1, "dmax": 0}})
	found := outcomes(even)
	// honey 10 of 10 high, steel 10 of 10 low: θ = (1+10)/(2+10) and 1/(2+10).
	for i, want := range []float64{math.Log(11), -math.Log(11)} {
		if got := even.Score(&found[i]); math.Abs(got-want) > 1e-6 {
			t.Errorf("link %d has %v, want %v", i, got, want)
		}
	}
}

// links are pages of made-up links with outcomes, drawn.
type drawnLink struct {
	words     []string
	relevance float64
}

func genLinks(t *rapid.T) []drawnLink {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) drawnLink {
		return drawnLink{
			rapid.SliceOfN(rapid.SampledFrom([]string{"honey", "steel", "wax", "clay", "hive"}), 0, 4).Draw(t, "words"),
			float64(rapid.IntRange(0, 20).Draw(t, "relevance")) / 20,
		}
	}), 12, 60).Draw(t, "links")
}

// What the apprentice learns batch by batch, its boundary moving as it will, is
// what multinomial naive Bayes makes of all examples at once, each class on its
// side of the last boundary.
func TestApprenticeIsNaiveBayes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		boundary := rapid.IntRange(0, 2).Draw(t, "boundary")
		s, err := score.New("apprentice", score.Options{Analyzer: analyzer, Set: map[string]float64{
			"start": 1, "every": 1, "dmax": 0, "boundary": float64(boundary),
		}})
		if err != nil {
			t.Fatal(err)
		}
		links := genLinks(t)
		var found []web.Candidate
		for _, l := range links {
			p := pageOf(strings.Join(l.words, " "))
			c := web.Candidate{URL: p.Links[0].URL, Features: s.Extract(p, verdictOf(0.5))[0]}
			s.Visit(&c, &web.Page{URL: c.URL}, verdictOf(l.relevance))
			found = append(found, c)
		}
		high := func(r float64) bool { return r >= 0.5 }
		switch boundary {
		case 2:
			high = func(r float64) bool { return verdictOf(r).Relevant }
		case 1:
			least := evenly(links)
			high = func(r float64) bool { return r >= least }
		}
		m, err := bayes.New(bayes.Options{Classes: 2})
		if err != nil {
			t.Fatal(err)
		}
		var n [2]int
		vector := func(c web.Candidate) (v sparse.Vector) {
			for f := c.Features[1:]; len(f) >= 4; f = f[4:] {
				v = append(v, sparse.Entry{ID: binary.LittleEndian.Uint32(f), Value: 1})
			}
			slices.SortFunc(v, func(a, b sparse.Entry) int { return cmp.Compare(a.ID, b.ID) })
			var out sparse.Vector
			for _, e := range v {
				if k := len(out); k > 0 && out[k-1].ID == e.ID {
					out[k-1].Value++
				} else {
					out = append(out, e)
				}
			}
			return out
		}
		for i, l := range links {
			class := 0
			if high(l.relevance) {
				class = 1
			}
			n[class]++
			if err := m.Add(class, vector(found[i])); err != nil {
				t.Fatal(err)
			}
		}
		if min(n[0], n[1]) < 5 {
			return // R(u), as before
		}
		p := make([]float64, 2)
		for i := range found {
			if err := m.LogPosterior(p, vector(found[i])); err != nil {
				t.Fatal(err)
			}
			if got, want := s.Score(&found[i]), p[1]-p[0]; math.Abs(got-want) > 1e-5 {
				t.Fatalf("link %d %v: %v, naive Bayes says %v", i, links[i], got, want)
			}
		}
	})
}

// evenly is the least relevance of the upper class when the two are as equal in
// number as can be, the lower one smaller where there are two such ways.
func evenly(links []drawnLink) float64 {
	best, at := len(links)+1, 0.
	for k := 1; k <= 20; k++ {
		below := 0
		for _, l := range links {
			if l.relevance < float64(k)/20 {
				below++
			}
		}
		if d := len(links) - 2*below; max(d, -d) < best {
			best, at = max(d, -d), float64(k)/20
		}
	}
	return at
}

// The reasons of a priority add up to it, whatever the variant.
func TestReasonsAddUp(t *testing.T) {
	words := []string{"honey", "bees", "steel", "wax", "clay", "", "hive and swarm"}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"apprentice", "apprentice-tempered"}).Draw(t, "name")
		set := map[string]float64{"start": 2, "every": 3, "cocitation": float64(rapid.IntRange(0, 1).Draw(t, "cocitation")), "plain": float64(rapid.IntRange(0, 1).Draw(t, "plain"))}
		plain, err := score.New(name, score.Options{Analyzer: analyzer, Set: set})
		if err != nil {
			t.Fatal(err)
		}
		s := classScorer{plain, []string{"/A/B"}}
		var pages []*web.Page
		var found [][]web.Candidate
		for n := range rapid.IntRange(1, 8).Draw(t, "pages") {
			p := &web.Page{URL: parse(fmt.Sprint("http://u.test/", n))}
			for i := range rapid.IntRange(1, 12).Draw(t, "leaves") {
				p.Leaves = append(p.Leaves, web.Leaf{Text: rapid.SampledFrom(words).Draw(t, "text")})
				if rapid.Bool().Draw(t, "linked") {
					p.Links = append(p.Links, web.Link{URL: parse(fmt.Sprint("http://v.test/", rapid.IntRange(0, 9).Draw(t, "to"))), First: i, Last: i})
				}
			}
			outcomes := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.2, 0.4, 0.6, 1}), len(p.Links), len(p.Links)).Draw(t, "outcomes")
			pages = append(pages, p)
			found = append(found, followed(s, p, 0.5, outcomes...))
		}
		for n, p := range pages {
			for i := range p.Links {
				sum := 0.
				for _, r := range s.Explain(p, web.Verdict{}, i, &found[n][i]) {
					sum += r.Weight
				}
				if want := s.Score(&found[n][i]); math.Abs(sum-want) > 1e-9*(1+math.Abs(want)) {
					t.Fatalf("page %d link %d: the reasons add up to %v, its priority is %v", n, i, sum, want)
				}
			}
		}
	})
}

// With a gap a crawl learns from links whose target is far enough from their page. Here
// the page has .5, relevant targets 1 and others .1: from a gap of .45 on no link of low
// relevance is left, and nothing is learnt.
func TestApprenticeGap(t *testing.T) {
	p := parsed(t, `<a href=a>honey</a><p><a href=b>steel</a>`)
	for gap, learns := range map[float64]bool{0: true, 0.35: true, 0.45: false, 1: false} {
		s := newScorer(t, "apprentice", score.Options{Set: map[string]float64{"start": 1, "every": 1, "gap": gap}})
		found := followed(s, p, 0.5)
		for range 6 {
			s.Visit(&found[0], &web.Page{URL: found[0].URL}, verdictOf(1))
			s.Visit(&found[1], &web.Page{URL: found[1].URL}, verdictOf(0.1))
		}
		if s.Stale() != learns {
			t.Errorf("gap %v: learnt %v, want %v", gap, s.Stale(), learns)
		}
	}
}
