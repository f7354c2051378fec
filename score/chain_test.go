package score_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// chainOf is a model of k states over the words bee, honey and steel of pages
// and hive and queen of anchors, with weights drawn from seed.
func chainOf(t testing.TB, kind model.Kind, k int, subset feature.Subset, seed uint64) *model.File {
	space := tinySpace(t, feature.Options{MinPages: 1, Subset: subset, Analyzer: analyzer})
	draw := rand.New(rand.NewPCG(seed, 0))
	w := lattice.NewWeights(lattice.Hops(k, space.Len()))
	for i := range w.W {
		w.W[i] = float64(float32(draw.NormFloat64()))
	}
	start := make([]float64, k)
	for i := range start {
		start[i] = float64(k-i) / float64(k*(k+1)/2)
	}
	return &model.File{Kind: kind, Space: space, Payload: &model.Chain{Weights: w, Start: start, Moves: movesOf(k, draw)}}
}

// tinySpace is of one page about bees, honey and steel with one link.
func tinySpace(t testing.TB, o feature.Options) *feature.Space {
	page := &web.Page{Title: "bee honey steel", Terms: termsAt("bee honey steel", 1)}
	space, err := feature.Build(
		&topic.Topic{Keywords: []string{"bees"}, Description: "honey bees", Examples: []*web.Page{{Terms: termsAt("bee honey", 1)}}},
		[]feature.Example{{Page: page, Links: []*web.Link{{Anchor: "hive queen"}}}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// movesOf draws shares of moves, none of them more than one hop nearer.
func movesOf(k int, draw *rand.Rand) []float64 {
	var out []float64
	for i := range k {
		row, sum := make([]float64, k), 0.
		for j := max(0, i-1); j < k; j++ {
			row[j] = 0.1 + draw.Float64()
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
		out = append(out, row...)
	}
	return out
}

// termsAt are words, each once, all of them in headings or none.
func termsAt(words string, head int32) (out []web.Term) {
	for _, w := range slices.Compact(slices.Sorted(slices.Values(strings.Fields(words)))) {
		out = append(out, web.Term{Text: w, Body: 1, Head: head})
	}
	return out
}

// step is a page with the link that leads on.
type step struct {
	words string // of the page
	to    string // address of the link
	text  string // its anchor
}

func (s step) page() *web.Page {
	return &web.Page{URL: parse("http://a.test/"), Terms: termsAt(s.words, 1), Links: []web.Link{{URL: parse(s.to), Anchor: s.text}}}
}

// follow takes a path from a seed and returns the link at its end as a
// candidate.
func follow(s score.Scorer, path []step) web.Candidate {
	c := web.Candidate{URL: parse("http://a.test/"), Kind: web.LinkSeed}
	for i, x := range path {
		p := x.page()
		features := s.Extract(p, web.Verdict{})
		memory := s.Visit(&c, p, web.Verdict{})
		c = web.Candidate{URL: p.Links[0].URL, Kind: web.LinkA, Depth: i + 1, Features: features[0], Memory: memory}
	}
	return c
}

var somePath = []step{
	{"steel", "http://x.test/1", "hive"},
	{"honey", "http://x.test/bee", "queen"},
	{"bee", "http://x.test/3", ""},
	{"bee honey", "http://x.test/bee", "hive queen"},
}

// variants are the settings of chain scorers that change what they do.
func variants() (out []map[string]float64) {
	for bits := range 8 {
		out = append(out, map[string]float64{"viterbi": float64(bits & 1), "literal": float64(bits >> 1 & 1), "observe": float64(bits >> 2)})
	}
	return out
}

var chains = []model.Kind{model.CRF, model.MEMM}

// The suite of all scorers, for every variant, and for four states and five.
func TestChainVariantsConform(t *testing.T) {
	for _, kind := range chains {
		for _, set := range variants() {
			if (set["viterbi"] == set["literal"]) != (set["observe"] == 0) {
				continue // half of them: every pair of settings is among these
			}
			k := 4 + int(set["viterbi"])
			m := chainOf(t, kind, k, feature.All, 5)
			t.Run(fmt.Sprintf("%s of %d states %v", kind, k, set), func(t *testing.T) {
				scoretest.Run(t, func() scoretest.Scorer { return newScorer(t, string(kind), score.Options{Model: m, Set: set}) })
			})
		}
	}
}

// An entry of the queue carries what its link shows and the belief over the page
// before, over all k states; nothing else is kept of the path (figure 9).
func TestQueuedLinkCarriesItsBelief(t *testing.T) {
	for _, k := range []int{4, 5} {
		m := chainOf(t, model.CRF, k, feature.All, 1)
		path, err := score.NewPath(m, score.PathOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := newScorer(t, "crf", score.Options{Model: m})
		before, c := follow(s, somePath[:2]), follow(s, somePath[:3])
		want, got := make([]float64, k), make([]float64, k)
		path.Belief(want, before.Features, before.Memory)
		for i := range got {
			got[i] = float64(math.Float32frombits(uint32(c.Memory[4*i]) | uint32(c.Memory[4*i+1])<<8 | uint32(c.Memory[4*i+2])<<16 | uint32(c.Memory[4*i+3])<<24))
		}
		if !near(got, want) {
			t.Errorf("k = %d: the entry carries %v, the belief over the page before is %v", k, got, want)
		}
		if len(c.Features) != 1 { // no word, no keyword
			t.Errorf("k = %d: features %x", k, c.Features)
		}
		// A scorer that never saw the path says the same.
		other := newScorer(t, "crf", score.Options{Model: m})
		if a, b := s.Score(&c), other.Score(&c); a != b {
			t.Errorf("k = %d: %v, and %v for who did not see the path", k, a, b)
		}
	}
}

// The paper compares two beliefs component by component, and takes components
// within ε of each other for equal (section 3.3.2). Then each of three beliefs can be
// greater than the next, in a circle; their priorities cannot.
func TestOrderAsPrintedIsNotTransitive(t *testing.T) {
	const epsilon = 0.001
	printed := func(a, b []float64) int {
		for i := range a {
			if math.Abs(a[i]-b[i]) >= epsilon {
				return cmp.Compare(a[i], b[i])
			}
		}
		return 0
	}
	a, b, c := []float64{.5000, .1, .4}, []float64{.5008, .05, .4492}, []float64{.5016, 0, .4984}
	if printed(a, b) <= 0 || printed(b, c) <= 0 || printed(c, a) <= 0 {
		t.Errorf("as printed the three compare as %d, %d, %d: no circle", printed(a, b), printed(b, c), printed(c, a))
	}
	rapid.Check(t, func(t *rapid.T) {
		m := chainOf(t2(t), model.MEMM, 3, feature.All, rapid.Uint64Range(0, 50).Draw(t, "model"))
		s, err := score.New("memm", score.Options{Model: m, Analyzer: analyzer})
		if err != nil {
			t.Fatal(err)
		}
		var all []web.Candidate
		for range 3 {
			all = append(all, follow(s, genPath(t)))
		}
		p := func(i int) float64 { return s.Score(&all[i]) }
		if p(0) >= p(1) && p(1) >= p(2) && p(0) < p(2) {
			t.Fatalf("%v ≥ %v ≥ %v, and the first is below the last", p(0), p(1), p(2))
		}
		for i := range all {
			if !(p(i) >= 0 && p(i) < 1+epsilon) {
				t.Fatalf("a priority of %v", p(i))
			}
		}
	})
}

func ptr[T any](v T) *T { return &v }

// A page has one parent, the page of the link that the frontier holds (section
// 3.3.1). A further link to it replaces that link if its belief ranks higher, and
// not otherwise; with shortest, if its path is shorter. The frontier here is the model that
// every frontier is held to.
func TestParentOfAPage(t *testing.T) {
	m := chainOf(t, model.CRF, 5, feature.All, 1)
	s := newScorer(t, "crf", score.Options{Model: m})
	var found []web.Candidate
	for i := range somePath {
		c := follow(s, somePath[:i+1])
		c.URL, c.From = parse("http://x.test/wanted"), parse(fmt.Sprint("http://a.test/", i))
		c.Priority = s.Score(&c)
		found = append(found, c)
	}
	best := slices.MaxFunc(found, func(a, b web.Candidate) int { return cmp.Compare(a.Priority, b.Priority) })
	shortest := found[0]
	if best.From == shortest.From {
		t.Fatal("the best link is on the shortest path: nothing is told apart")
	}
	for i := range 4 {
		slices.Reverse(found) // in whatever order they are found
		set := map[string]float64{"shortest": float64(i / 2)}
		newScorer(t, "crf", score.Options{Model: m, Set: set}) // the setting is one
		f := frontiertest.NewModel(frontiertest.Options{Shortest: wantsShortest(t, "crf", set)})
		best := best
		if i >= 2 {
			best = shortest
		}
		for _, c := range found {
			f.Commit(web.Turn{Add: []web.Candidate{c}})
		}
		leases := f.Lease(time.Unix(0, 0), 10, 0, nil)
		if len(leases) != 1 {
			t.Fatalf("%d leases", len(leases))
		}
		got := leases[0].Candidate
		if got.From != best.From || !slices.Equal(got.Memory, best.Memory) || !slices.Equal(got.Features, best.Features) {
			t.Errorf("the page came by %s with %v, %v: the best link was on %s with %v", got.From, got.Priority, set, best.From, best.Priority)
		}
	}
}

// A path begins with the share of training sequences in each state or, where the
// setting says so, with what the model says of the first page (section 4.3).
func TestStartOfAPath(t *testing.T) {
	for _, kind := range chains {
		m := chainOf(t, kind, 4, feature.All, 2)
		chain := m.Payload.(*model.Chain)
		first := somePath[0].page()
		seen := make([]float64, 4)
		chain.Weights.Start(seen, slices.Concat(m.Space.Page(first), m.Space.Outlink(m.Space.Link(&first.Links[0]))))
		sum := 0.
		for i := range seen {
			seen[i] = math.Exp(seen[i])
			sum += seen[i]
		}
		for i := range seen {
			seen[i] /= sum
		}
		for _, x := range []struct {
			observe bool
			want    []float64
		}{{false, chain.Start}, {true, seen}} {
			path, err := score.NewPath(m, score.PathOptions{Observe: x.observe})
			if err != nil {
				t.Fatal(err)
			}
			features := path.Links(first)
			got := make([]float64, 4)
			path.Belief(got, features[0], path.Follow(nil, nil, first))
			if !near(got, x.want) {
				t.Errorf("%s, observe %v: %v, want %v", kind, x.observe, got, x.want)
			}
		}
	}
}

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

// wantsShortest tells whether a scorer asks for a frontier that keeps shortest paths.
func wantsShortest(t *testing.T, name string, set map[string]float64) bool {
	d, ok := score.Describe(name)
	if !ok {
		t.Fatal(name)
	}
	_, uses := d.Uses(score.InputShortest, set)
	return uses
}
