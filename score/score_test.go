package score_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// likeness is the similarity of anchors in these tests: the share of the words
// that are "bees".
func likeness(s string) float64 {
	words := strings.Fields(s)
	n := 0.
	for _, w := range words {
		if w == "bees" {
			n++
		}
	}
	return n / float64(len(words))
}

func TestConformance(t *testing.T) {
	for _, l := range score.Descriptions() {
		if l.Print != nil {
			continue // TestPresetIsItsScorer
		}
		for _, n := range []int{1, 3, 256} {
			if n != 256 && l.Name != "best-n-first" {
				continue
			}
			t.Run(fmt.Sprint(l.Name, " ", n), func(t *testing.T) {
				scoretest.RunWithin(t, featureBytes(l.Name), func() scoretest.Scorer {
					set := hasty(l.Name)
					if l.Name == "best-n-first" {
						set["batch"] = float64(n)
					}
					return newScorer(t, l.Name, score.Options{Set: set})
				})
			})
		}
	}
}

// featureBytes is what a link may cost.
func featureBytes(name string) int {
	d := described()[name]
	if x, ok := d.Setting("link-words"); ok && x.Default == 0 {
		return 1 << 20 // as many words as there are
	}
	name = d.Base()
	if strings.HasPrefix(name, "ache-like") {
		return 1 + 2*32 // the words of its anchor and around
	}
	if strings.HasPrefix(name, "apprentice") {
		return 1 + 8 + 4*160 // the words within five leaves
	}
	if name == "waggle" {
		return 400
	}
	if strings.HasPrefix(name, "pathlearner") {
		return 5 + 3*64 // the words of its anchor, around and of its address
	}
	return 16
}

// hasty are settings with which a scorer learns from a few pages.
func hasty(name string) map[string]float64 {
	set := map[string]float64{}
	d := described()[name]
	for _, s := range d.Settings {
		switch s.Name {
		case "every":
			set["every"] = 3
		case "start":
			set["start"] = 3
		case "warm-up", "batch", "renew":
			set[s.Name] = 2
		case "memory":
			set["memory"] = 4
		case "cocitation":
			set["cocitation"] = 1
		case "online":
			set["online"] = 1
		case "hot":
			set["hot"] = 1
		case "reservoir":
			set["reservoir"] = 2
		case "theta":
			set["theta"] = 0.75
		case "lambda":
			set["lambda"] = 0.5
		case "value":
			set["value"] = 4
		}
	}
	return set
}

var (
	english  = text.Background()
	analyzer = text.NewAnalyzer()
)

// noThesaurus knows of no related words.
type noThesaurus struct{}

func (noThesaurus) Related(string) (synonyms, wider []string) { return nil, nil }

// wholeTopic holds all that a topic can.
func wholeTopic() *topic.Topic {
	page := &web.Page{URL: parse("http://a.test/"), Title: "Bees", Terms: []web.Term{{Text: "bee", Body: 3}}}
	return &topic.Topic{Name: "bees", Description: "Honey bees", Keywords: []string{"bees", "waggle dance"}, Examples: []*web.Page{page}, Negatives: []*web.Page{page}}
}

// described finds the descriptions of scorers: made once, as tests make scorers by the
// ten thousand.
var described = sync.OnceValue(func() map[string]score.Description {
	all := map[string]score.Description{}
	for _, d := range score.Descriptions() {
		all[d.Name] = d
	}
	return all
})

func newScorer(t testing.TB, name string, o score.Options) score.Scorer {
	o.Seed, o.Anchor, o.Keywords = 7, likeness, []string{"bees", "waggle dance"}
	o.DF, o.Analyzer, o.Topic = english, analyzer, wholeTopic()
	if o.Thesaurus == nil {
		o.Thesaurus = noThesaurus{}
	}
	if o.Model == nil {
		o.Model = trained(t, name)
	}
	d, ok := described()[name]
	if !ok {
		t.Fatalf("there is no scorer %s", name)
	}
	s, err := d.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

func pageOf(links ...string) *web.Page {
	p := &web.Page{URL: parse("http://a.test/")}
	for i, anchor := range links {
		p.Links = append(p.Links, web.Link{URL: parse(fmt.Sprint("http://a.test/", i)), Anchor: anchor})
	}
	return p
}

// scoreAll gives the priorities of the links of a page at depth 2 with that
// relevance.
func scoreAll(s score.Scorer, relevance float64, links ...string) (out []float64) {
	p, v := pageOf(links...), web.Verdict{Relevance: relevance}
	features := s.Extract(p, v)
	memory := s.Visit(&web.Candidate{URL: p.URL, Depth: 2}, p, v)
	for i, l := range p.Links {
		out = append(out, s.Score(&web.Candidate{URL: l.URL, Depth: 3, Features: features[i], Memory: memory}))
	}
	return out
}

// The priorities of three links: an anchor on the topic, one half on it, an
// image without text.
func TestPriorities(t *testing.T) {
	for _, c := range []struct {
		name string
		o    score.Options
		want []float64
	}{
		{"breadth-first", score.Options{}, []float64{-3, -3, -3}},
		{"depth-first", score.Options{}, []float64{1, 1, 1}},
		{"best-first-page", score.Options{}, []float64{0.25, 0.25, 0.25}},
		{"best-first-anchor", score.Options{}, []float64{1, 0.5, 0}},
		{"best-first-both", score.Options{}, []float64{0.625, 0.375, 0.125}},
		{"best-first-both", score.Options{Set: map[string]float64{"weight": 0.75}}, []float64{0.4375, 0.3125, 0.1875}},
		{"best-first-both", score.Options{Page: func(*web.Page, web.Verdict) float64 { return 1 }}, []float64{1, 0.75, 0.5}},
		{"best-first-both", score.Options{Page: func(*web.Page, web.Verdict) float64 { return math.NaN() }}, []float64{0.5, 0.25, 0}},
		{"best-n-first", score.Options{Set: map[string]float64{"batch": 1}}, []float64{0.625, 0.375, 0.125}},
		{"best-n-first", score.Options{Set: map[string]float64{"batch": 2}}, []float64{0.625 - 2, 0.375 - 2, 0.125 - 2}},
	} {
		if got := scoreAll(newScorer(t, c.name, c.o), 0.25, "bees bees", "bees steel", " "); !slices.Equal(got, c.want) {
			t.Errorf("%s %+v: %v, want %v", c.name, c.o, got, c.want)
		}
	}
}

// Seeds go before anything else a best-first scorer knows.
func TestSeeds(t *testing.T) {
	for _, name := range []string{"best-first-page", "best-first-anchor", "best-first-both", "best-n-first"} {
		s := newScorer(t, name, score.Options{})
		if got := s.Score(&web.Candidate{URL: parse("http://a.test/"), Kind: web.LinkSeed}); got != 1 {
			t.Errorf("%s: a seed has %v", name, got)
		}
	}
}

// Depth-first: the links of the page fetched last, then those of the one before.
// Failures count for nothing, and a seed waits for all links.
func TestDepthFirst(t *testing.T) {
	s := newScorer(t, "depth-first", score.Options{})
	first := scoreAll(s, 1, "bees")
	s.Visit(&web.Candidate{}, nil, web.Verdict{})
	second := scoreAll(s, 0, "steel", "wax")
	if !slices.Equal(first, []float64{1}) || !slices.Equal(second, []float64{2, 2}) {
		t.Errorf("the first page's links have %v, the second's %v", first, second)
	}
	if got := s.Score(&web.Candidate{Kind: web.LinkSeed}); got != 0 {
		t.Errorf("a seed has %v", got)
	}
	again := newScorer(t, "depth-first", score.Options{})
	state, _ := s.State()
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	if third := scoreAll(again, 0, "bees"); !slices.Equal(third, []float64{3}) {
		t.Errorf("after a restart the third page's links have %v", third)
	}
}

// Random priorities spread over [0,1), depend on the seed, and say nothing of
// the path.
func TestRandom(t *testing.T) {
	a, _ := score.New("random", score.Options{Seed: 1})
	b, _ := score.New("random", score.Options{Seed: 2})
	var tenths [10]int
	equal := 0
	for i := range 10000 {
		c := &web.Candidate{URL: parse(fmt.Sprint("http://a.test/", i)), Depth: i}
		p := a.Score(c)
		if p < 0 || p >= 1 {
			t.Fatalf("priority %v", p)
		}
		tenths[int(p*10)]++
		if p == b.Score(c) {
			equal++
		}
		if p != a.Score(&web.Candidate{URL: c.URL}) {
			t.Fatalf("%s has two priorities under one seed", c.URL)
		}
	}
	// 1000 are expected in a tenth, with a deviation of 30: six of them.
	for i, n := range tenths {
		if n < 820 || n > 1180 {
			t.Errorf("%d of 10000 addresses are in tenth %d", n, i)
		}
	}
	if equal > 0 {
		t.Errorf("%d addresses have one priority under two seeds", equal)
	}
}

// Best-N-first with N = 3, as a transcript: what each fetch brings waits below
// every older link until the batch is over, and then all is scored anew.
func TestBestNTranscript(t *testing.T) {
	s := newScorer(t, "best-n-first", score.Options{Set: map[string]float64{"batch": 3}})
	var log []string
	var waiting []web.Candidate
	say := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	fetch := func(name string, relevance float64, links ...string) {
		p, v := pageOf(links...), web.Verdict{Relevance: relevance}
		features := s.Extract(p, v)
		memory := s.Visit(&web.Candidate{}, p, v)
		line := "fetch " + name + ":"
		for i := range p.Links {
			c := web.Candidate{URL: parse("http://" + name + ".test/"), Features: features[i], Memory: memory}
			waiting = append(waiting, c)
			line += fmt.Sprintf(" %+.2f", s.Score(&c))
		}
		say("%s", line)
		if s.Stale() {
			line := "rescore:"
			for i := range waiting {
				line += fmt.Sprintf(" %+.2f", s.Score(&waiting[i]))
			}
			say("%s", line)
		}
	}
	fetch("a", 1, "bees", "steel")
	fetch("b", 0.5, "bees")
	fetch("c", 1, "bees")
	fetch("d", 0, "steel")
	fetch("e", 0)
	fetch("f", 0)
	want := `
fetch a: -1.00 -1.50
fetch b: -1.25
fetch c: +1.00
rescore: +1.00 +0.50 +0.75 +1.00
fetch d: -2.00
fetch e:
fetch f:
rescore: +1.00 +0.50 +0.75 +1.00 +0.00`
	if got := "\n" + strings.Join(log, "\n"); got != want {
		t.Errorf("got%s\n\nwant%s", got, want)
	}
}

// Scorers that compute a model anew while they crawl do it where Options.Learn
// says, and nothing else there; the others never ask.
func TestLearn(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]float64
		want int // computations in 40 visits
	}{
		{"pagerank", map[string]float64{"every": 10}, 4},
		{"ache-like-hard", map[string]float64{"every": 20}, 2},
		{"tagpath-bandit-like", nil, 4}, // batches of 10
		{"breadth-first", nil, 0},
		{"backlink", nil, 0},
	} {
		computed, within := 0, 0
		s := newScorer(t, c.name, score.Options{Set: c.set, Learn: func(compute func()) {
			computed++
			within++
			compute()
			within--
		}})
		for i := range 40 {
			p, v := pageOf(fmt.Sprint("bees ", i)), web.Verdict{Relevant: i%2 == 0}
			p.URL = parse(fmt.Sprint("http://a.test/page/", i))
			s.Visit(&web.Candidate{URL: p.URL, Depth: 1}, p, v)
			if within != 0 {
				t.Fatalf("%s: a visit ended within a computation", c.name)
			}
		}
		if computed != c.want {
			t.Errorf("%s: %d computations in 40 visits, want %d", c.name, computed, c.want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	anchor := func(string) float64 { return 0 }
	for _, c := range []struct {
		name string
		o    score.Options
		want string
	}{
		{"best-first", score.Options{}, "the scorers are breadth-first, depth-first, random"},
		{"best-first-anchor", score.Options{}, "give keywords, a description or example pages"},
		{"best-first-both", score.Options{}, "give keywords, a description or example pages"},
		{"best-first-both", score.Options{Anchor: anchor, Set: map[string]float64{"weight": 1.5}}, "weight = 1.5"},
		{"best-first-both", score.Options{Anchor: anchor, Set: map[string]float64{"weight": math.NaN()}}, "weight = NaN"},
		{"best-n-first", score.Options{Anchor: anchor, Set: map[string]float64{"batch": 257}}, "1…256"},
		{"best-n-first", score.Options{Anchor: anchor, Set: map[string]float64{"batch": -1}}, "1…256"},
	} {
		if _, err := score.New(c.name, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// BenchmarkLink measures what a link costs on a page of 100 links and 2,000
// words, under a model that has seen 600 such pages: reading its features,
// its share of the page's visit, and each time it is scored.
func BenchmarkLink(b *testing.B) {
	page := func(n int) (*web.Page, web.Verdict) {
		p := &web.Page{URL: parse(fmt.Sprintf("http://www.bees%d.test/about/hives/page%d.html", n%7, n))}
		for i := range 100 {
			p.Links = append(p.Links, web.Link{
				URL:    parse(fmt.Sprintf("http://www.bees%d.test/garden/flowers/item-%d.html?page=%d", i%5, i%60*(1+n%9), n%3)),
				Anchor: "some bees of this anchor", Before: "what stands before a link are ten words of text", After: "and ten more words that come after it in the text",
				TagPath: fmt.Sprintf("html/body/div.main/div.c%d/ul.list/li/a.item", i%8), Position: i, First: 2*i + 1, Last: 2*i + 1,
			})
		}
		for i := range 201 {
			p.Leaves = append(p.Leaves, web.Leaf{Text: "the honey bees of this leaf fly to the flowers"[:10+i%30]})
		}
		for i := range 400 {
			p.Terms = append(p.Terms, web.Term{Text: fmt.Sprintf("t%03d", i), Body: int32(1 + i%9)})
		}
		relevance := float64(n%4) / 4
		return p, web.Verdict{Relevance: relevance, Relevant: relevance >= 0.5}
	}
	for _, l := range score.Descriptions() {
		s := newScorer(b, l.Name, score.Options{})
		// A crawl of 600 pages, each found on the one before.
		var c web.Candidate
		visit := func(n int) (p *web.Page, v web.Verdict, features [][]byte) {
			p, v = page(n)
			c.URL = p.URL
			features = s.Extract(p, v)
			memory := s.Visit(&c, p, v)
			c = web.Candidate{URL: p.Links[n%100].URL, Depth: 1 + n%4, Features: features[n%100], Memory: memory}
			return p, v, features
		}
		for n := range 599 {
			visit(n)
		}
		p, v, features := visit(599)
		perLink := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/link")
		}
		b.Run(l.Name+"/extract", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Extract(p, v)
			}
			perLink(b)
		})
		b.Run(l.Name+"/visit", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Visit(&c, p, v)
			}
			perLink(b)
		})
		b.Run(l.Name+"/score", func(b *testing.B) {
			b.ReportAllocs()
			at := c
			for b.Loop() {
				for i := range features {
					at.URL, at.Features = p.Links[i].URL, features[i]
					s.Score(&at)
				}
			}
			perLink(b)
		})
	}
}
