package score_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// site is a record of pages by their address.
type site map[web.URL]*web.Page

func (s site) Page(u web.URL) (*web.Page, bool) {
	p, ok := s[u]
	return p, ok
}

// add puts a page in: its words, and links "address anchor".
func (s site) add(u, words string, links ...string) *web.Page {
	p := &web.Page{URL: parse(u), Title: words, Leaves: []web.Leaf{{Text: words}}}
	for i, l := range links {
		to, anchor, _ := strings.Cut(l, " ")
		p.Links = append(p.Links, web.Link{URL: parse(to), Kind: web.LinkA, Anchor: anchor, Position: i})
	}
	s[p.URL] = p
	return p
}

// honeySites are sites built alike: home → shop list → honey (the goal), and
// home → steel, a wrong turn.
func honeySites(n int) (site, []paths.Path) {
	s := site{}
	var set []paths.Path
	for i := range n {
		at := func(page string) string { return fmt.Sprintf("http://s%d.test/%s", i, page) }
		s.add(at(""), "welcome to the bees", at("list")+" all our goods", at("steel")+" steel works")
		s.add(at("list"), "goods listed here", at("honey")+" honey", at("steel")+" steel works")
		s.add(at("honey"), "honey of bees")
		s.add(at("steel"), "steel and more steel")
		step := func(page, label string) paths.Step { return paths.Step{URL: parse(at(page)), Label: label} }
		set = append(set,
			paths.Path{Steps: []paths.Step{step("", ""), step("list", "List"), step("honey", paths.Goal)}},
			paths.Path{Steps: []paths.Step{step("", ""), step("steel", paths.Fail)}},
		)
	}
	return s, set
}

type shown struct {
	site site
	set  []paths.Path
}

func beePaths(testing.TB) shown {
	s, set := honeySites(3)
	return shown{s, set}
}

func fitPaths(t testing.TB, what shown, set map[string]float64) *model.File {
	t.Helper()
	f, err := train.FitPaths(context.Background(), what.set, what.site, train.FitOptions{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func guide(t testing.TB, f *model.File, o score.GuideOptions) *score.Guide {
	t.Helper()
	g, err := score.NewGuide(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// What is learnt on some sites leads to the goal on another one (section 3.4), in
// either model and by either reward: the link on the way is worth more than the
// wrong turn, the goal is recognised when it is reached, and pages get their
// labels.
func TestLeadsToTheGoal(t *testing.T) {
	what := beePaths(t)
	unseen, _ := honeySites(9)
	for _, dual := range []float64{0, 1} {
		for _, printed := range []bool{false, true} {
			t.Run(fmt.Sprint("dual ", dual, " printed ", printed), func(t *testing.T) {
				g := guide(t, fitPaths(t, what, map[string]float64{"dual": dual}), score.GuideOptions{Printed: printed})
				page := func(name string) *web.Page { return unseen[parse("http://s8.test/"+name)] }
				home := g.Begin(page(""))
				links := g.Links(page(""))
				if list, steel := g.Rate(home, links[0]), g.Rate(home, links[1]); !(list > steel) {
					t.Errorf("the link to the list is worth %v, that to steel %v", list, steel)
				}
				list := g.Follow(home, links[0], page("list"))
				if _, s := g.State(list); s.String() != "List" {
					t.Errorf("the list is taken for %s", s)
				}
				steel := g.Follow(home, links[1], page("steel"))
				if _, s := g.State(steel); s.String() != paths.Fail {
					t.Errorf("steel is taken for %s", s)
				}
				links = g.Links(page("list"))
				if honey, steel := g.Rate(list, links[0]), g.Rate(list, links[1]); !(honey > steel) {
					t.Errorf("the link to honey is worth %v, that to steel %v", honey, steel)
				}
				honey := g.Follow(list, links[0], page("honey"))
				if !g.Goal(honey) || g.Goal(list) || g.Goal(steel) || g.Goal(home) {
					t.Error("the goal, and it alone, is to be known as one")
				}
				if !g.GoalAlone(page("honey")) || g.GoalAlone(page("steel")) {
					t.Error("the goal page is to be known by itself too")
				}
				if !(g.Worth(honey) > g.Worth(steel)) {
					t.Errorf("the goal is worth %v, the wrong turn %v", g.Worth(honey), g.Worth(steel))
				}
			})
		}
	}
}

// Equations 6 and 7 against enumeration: the worth of a link is the mean reward of
// its states over all labellings of the path that led there.
func TestWorthByEnumeration(t *testing.T) {
	what := beePaths(t)
	f := fitPaths(t, what, nil)
	m := f.Payload.(*model.Paths)
	g, onward := guide(t, f, score.GuideOptions{Endless: true}), guide(t, f, score.GuideOptions{})
	home, list := what.site[parse("http://s0.test/")], what.site[parse("http://s0.test/list")]
	at := g.Follow(g.Begin(home), g.Links(home)[0], list)
	got := g.Rate(at, g.Links(list)[1])

	n := len(m.States)
	states := func(kind int, v []float64) func(int) float64 { return func(y int) float64 { return v[kind*n+y] } }
	emit := func(kind int, obs func() []uint32) []float64 {
		out := make([]float64, 2*n)
		for _, id := range obs() {
			for y := range n {
				out[kind*n+y] += m.Field.State[int(id)*2*n+kind*n+y]
			}
		}
		return out
	}
	ids := func(p *web.Page, l *web.Link) func() []uint32 {
		return func() (out []uint32) {
			v := m.Page
			if p == nil {
				for _, e := range m.Link(l) {
					out = append(out, e.ID)
				}
				return out
			}
			for _, e := range v(p) {
				out = append(out, e.ID)
			}
			return out
		}
	}
	e1, e2 := states(0, emit(0, ids(home, nil))), states(1, emit(1, ids(nil, &home.Links[0])))
	e3, e4 := states(0, emit(0, ids(list, nil))), states(1, emit(1, ids(nil, &list.Links[1])))
	arc := func(i, j int) float64 { return m.Field.Arc[i*2*n+j] }
	above, below := 0., 0.
	for a := range n {
		for b := range n { // the link's state, and that of its page
			for d := range n {
				w := math.Exp(e1(a) + arc(a, n+b) + e2(b) + arc(n+b, b) + e3(b) + arc(b, n+d) + e4(d))
				above += w * m.Discounted[n+d]
				below += w
			}
		}
	}
	if want := above / below; math.Abs(got-want) > 1e-6 {
		t.Errorf("worth %v, by enumeration %v", got, want)
	}
	// And what is asked besides: that a path goes on from the list.
	goesOn := 0.
	for y, a := range at.Alpha {
		goesOn += a * m.Onward[y]
	}
	if x := onward.Rate(at, g.Links(list)[1]); math.Abs(x-got*goesOn) > 1e-9 {
		t.Errorf("worth %v of a path that ends, want %v", x, got*goesOn)
	}
}

// α and δ travel with links, through their bytes, and what arrives there is
// what was sent; foreign bytes are no place.
func TestPlaceTravels(t *testing.T) {
	what := beePaths(t)
	g := guide(t, fitPaths(t, what, nil), score.GuideOptions{})
	home := what.site[parse("http://s0.test/")]
	at := g.Begin(home)
	b, err := at.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	back := g.Place(b)
	for i := range at.Alpha {
		if math.Abs(back.Alpha[i]-at.Alpha[i]) > 1e-6 || math.Abs(back.Delta[i]-at.Delta[i]) > 1e-4*math.Abs(at.Delta[i])+1e-6 {
			t.Errorf("state %d: %v, %v came back as %v, %v", i, at.Alpha[i], at.Delta[i], back.Alpha[i], back.Delta[i])
		}
	}
	for _, foreign := range [][]byte{nil, {1}, b[1:], make([]byte, len(b)), []byte(strings.Repeat("\xff", len(b)))} {
		if p := g.Place(foreign); p.Alpha != nil {
			t.Errorf("%x is a place", foreign)
		}
		if x := g.Rate(g.Place(foreign), []byte("\xff\xff\xff\xff\xff\xff")); !(x >= 0 && x <= 1) {
			t.Errorf("worth %v", x)
		}
	}
}

// The ways to join the worths of several links (section 3.3).
func TestJoins(t *testing.T) {
	for name, want := range map[string]float64{"max": 0.5, "sum": 1.1, "noisy-or": 1 - 0.5*0.6*0.8} {
		j, err := score.ParseJoin(name)
		if err != nil {
			t.Fatal(err)
		}
		x := 0.
		for _, w := range []float64{0.4, 0.5, 0.2} {
			x = j.Add(x, w)
		}
		if math.Abs(x-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, x, want)
		}
	}
	if _, err := score.ParseJoin("mean"); err == nil {
		t.Error("there is no mean")
	}
}

// Joins in a crawl: a page to which two pages link has the worth of both links, as
// join says, whether or not one page links to it twice; every link to a page ranks
// by the worth of that page; and a resumed crawl goes on with the same worths.
func TestJoinsInACrawl(t *testing.T) {
	what := beePaths(t)
	f := fitPaths(t, what, nil)
	unseen, _ := honeySites(9)
	home, list := unseen[parse("http://s8.test/")], unseen[parse("http://s8.test/list")]
	list.Links = append(list.Links, list.Links[1]) // steel twice
	g := guide(t, f, score.GuideOptions{})
	at := g.Begin(home)
	above, below := g.Rate(at, g.Links(home)[1]), g.Rate(g.Follow(at, g.Links(home)[0], list), g.Links(list)[1])
	for join, want := range map[float64]float64{0: math.Max(above, below), 1: above + below, 2: 1 - (1-above)*(1-below)} {
		o := score.Options{Model: f, Set: map[string]float64{"join": join}}
		s := newScorer(t, "pathlearner", o)
		features, below := s.Extract(home, web.Verdict{}), s.Extract(list, web.Verdict{})
		memory := s.Visit(&web.Candidate{URL: home.URL}, home, web.Verdict{})
		to := web.Candidate{URL: list.URL, Features: features[0], Memory: memory}
		steel := web.Candidate{URL: home.Links[1].URL, Features: features[1], Memory: memory}
		if x := s.Score(&steel); math.Abs(x-above) > 1e-6 {
			t.Errorf("join %v: worth %v by one link, want %v", join, x, above)
		}
		second := web.Candidate{URL: list.Links[1].URL, Features: below[1], Memory: s.Visit(&to, list, web.Verdict{})}
		// For the maximum it is the frontier that keeps the better link.
		if x := math.Max(s.Score(&steel), s.Score(&second)); math.Abs(x-want) > 1e-6 {
			t.Errorf("join %v: worth %v by two links, want %v", join, x, want)
		}
		again := newScorer(t, "pathlearner", o)
		if err := again.Restore(s.State()); err != nil {
			t.Fatal(err)
		}
		if x, y := s.Score(&second), again.Score(&second); x != y {
			t.Errorf("join %v: worth %v, and %v taken up again", join, x, y)
		}
		if s.Rescores() != (join != 0) {
			t.Errorf("join %v: rescores %v", join, s.Rescores())
		}
	}
}

func TestJoinConformance(t *testing.T) {
	for _, join := range []float64{1, 2} {
		t.Run(fmt.Sprint(join), func(t *testing.T) {
			scoretest.RunWithin(t, featureBytes("pathlearner"), func() scoretest.Scorer {
				return newScorer(t, "pathlearner", score.Options{Set: map[string]float64{"join": join}})
			})
		})
	}
}

// The worth of a link is drawn to what links beside it turned out to be worth, by
// the equation that stands above the code: those at the same place of the page
// most, the others of the page less, and what is elsewhere hardly.
func TestAdaptivePaths(t *testing.T) {
	what := beePaths(t)
	f := fitPaths(t, what, nil)
	s := newScorer(t, "pathlearner-adaptive", score.Options{Model: f, Set: map[string]float64{"k": 2, "every": 2}})
	g := guide(t, f, score.GuideOptions{})
	pages := site{}
	home := pages.add("http://new.test/", "welcome to the bees", "http://new.test/0 honey", "http://new.test/1 honey", "http://new.test/2 honey", "http://new.test/3 honey")
	for i, place := range []string{"html/body/ul/li/a", "html/body/ul/li/a", "html/body/ul/li/a", "html/body/p/a"} {
		home.Links[i].TagPath = place
	}
	features := s.Extract(home, web.Verdict{})
	memory := s.Visit(&web.Candidate{URL: home.URL}, home, web.Verdict{})
	other := s.Visit(&web.Candidate{URL: parse("http://else.test/")}, pages.add("http://else.test/", "welcome to the bees"), web.Verdict{})
	link := func(i int, memory []byte) *web.Candidate {
		return &web.Candidate{URL: home.Links[i].URL, Features: features[i], Memory: memory}
	}
	at := g.Begin(home)
	rated := g.Rate(at, g.Links(home)[0])
	if x := s.Score(link(0, memory)); math.Abs(x-rated) > 1e-6 {
		t.Fatalf("worth %v before anything is known, want %v", x, rated)
	}
	worth := 0.
	for i := range 2 { // both are wrong turns
		page := pages.add(fmt.Sprintf("http://new.test/%d", i), "steel and more steel")
		worth += g.Worth(g.Follow(at, g.Links(home)[i], page))
		s.Visit(link(i, memory), page, web.Verdict{})
	}
	const k = 2
	all := rated * (k + worth) / (k + 2*rated)
	page := (k*all + worth) / (k + 2)
	place := (k*page + worth) / (k + 2)
	if !(worth < rated) {
		t.Fatalf("wrong turns are worth %v together, and were rated %v each", worth, rated)
	}
	for _, c := range []struct {
		name string
		link *web.Candidate
		want float64
	}{{"the same place", link(2, memory), place}, {"the same page", link(3, memory), page}, {"another page", link(3, other), all}} {
		if x := s.Score(c.link); math.Abs(x-c.want) > 1e-6 {
			t.Errorf("%s: worth %v, want %v", c.name, x, c.want)
		}
	}
	if !s.Stale() || s.Stale() {
		t.Error("after two pages all that waits is to be scored anew, once")
	}
}

// With critic 1 it is the judge who says what pages turned out to be.
func TestAdaptivePathsByTheJudge(t *testing.T) {
	for _, relevance := range []float64{0, 1} {
		s := newScorer(t, "pathlearner-adaptive", score.Options{Model: fitPaths(t, beePaths(t), nil), Set: map[string]float64{"critic": 1}})
		pages := site{}
		home := pages.add("http://new.test/", "welcome to the bees", "http://new.test/0 honey", "http://new.test/1 honey")
		features := s.Extract(home, web.Verdict{})
		memory := s.Visit(&web.Candidate{URL: home.URL}, home, web.Verdict{})
		first := web.Candidate{URL: home.Links[0].URL, Features: features[0], Memory: memory}
		second := web.Candidate{URL: home.Links[1].URL, Features: features[1], Memory: memory}
		before := s.Score(&second)
		s.Visit(&first, pages.add("http://new.test/0", "honey of bees"), web.Verdict{Relevance: relevance})
		if x := s.Score(&second); (x > before) != (relevance == 1) {
			t.Errorf("relevance %v beside it: worth %v, then %v", relevance, before, x)
		}
	}
}

// afc-approx goes by the link alone, whatever led to its page (section 4.4.2).
func TestApproximateFocusedCrawler(t *testing.T) {
	what := beePaths(t)
	s := newScorer(t, "afc-approx", score.Options{Model: fitPaths(t, what, nil)})
	list := what.site[parse("http://s0.test/list")]
	features := s.Extract(list, web.Verdict{})
	honey := s.Score(&web.Candidate{URL: list.Links[0].URL, Features: features[0]})
	steel := s.Score(&web.Candidate{URL: list.Links[1].URL, Features: features[1], Memory: []byte("a path")})
	if !(honey > steel && honey < 1 && steel > 0) {
		t.Errorf("honey %v, steel %v", honey, steel)
	}
}

// A page of 200 links is scored in less than a millisecond.
func BenchmarkPathLearner(b *testing.B) {
	what := beePaths(b)
	list := *what.site[parse("http://s0.test/list")]
	for len(list.Links) < 200 {
		l := list.Links[len(list.Links)%2]
		l.Before, l.After = "the goods we have on our list are these", "and steel works that are here with honey"
		list.Links = append(list.Links, l)
	}
	for _, name := range []string{"pathlearner", "pathlearner-adaptive"} {
		s := newScorer(b, name, score.Options{Model: fitPaths(b, what, nil)})
		features := s.Extract(&list, web.Verdict{})
		memory := s.Visit(&web.Candidate{URL: list.URL}, &list, web.Verdict{})
		b.Run(name+" score", func(b *testing.B) {
			for b.Loop() {
				for i := range list.Links {
					s.Score(&web.Candidate{URL: list.Links[i].URL, Features: features[i], Memory: memory})
				}
			}
		})
		b.Run(name+" extract and score", func(b *testing.B) {
			for b.Loop() {
				features := s.Extract(&list, web.Verdict{})
				for i := range list.Links {
					s.Score(&web.Candidate{URL: list.Links[i].URL, Features: features[i], Memory: memory})
				}
			}
		})
	}
}
