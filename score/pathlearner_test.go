package score_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/guide"
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

func newGuide(t testing.TB, f *model.File, o guide.Options) *guide.Guide {
	t.Helper()
	g, err := guide.New(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
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
	g := newGuide(t, f, guide.Options{})
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
		if err := again.Restore(scoretest.Grown(nil, s)); err != nil {
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
	g := newGuide(t, f, guide.Options{})
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
