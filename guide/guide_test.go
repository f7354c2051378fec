package guide_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

func parse(s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// site is a record of pages by their address.
type site map[web.URL]*web.Page

func (s site) Page(u web.URL) (*web.Page, bool) {
	p, ok := s[u]
	return p, ok
}

// add puts a page in: its words, and links "address anchor".
func (s site) add(u, words string, links ...string) *web.Page {
	p := &web.Page{URL: parse(u), Title: words, Leaves: []web.Leaf{{Text: words}}}
	for _, w := range slices.Compact(slices.Sorted(strings.FieldsSeq(words))) {
		p.Terms = append(p.Terms, web.Term{Text: w, Body: 1})
	}
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

// A page is claimed for a goal by all its words and by the way there together: honey by
// the list is likelier than honey by a wrong turn, and than steel by the list. Where no
// site can be left out, or nobody asked for it, nothing is claimed.
func TestClaim(t *testing.T) {
	what := beePaths(t)
	g := newGuide(t, fitPaths(t, what, nil), guide.Options{})
	unseen, _ := honeySites(9)
	page := func(name string) *web.Page { return unseen[parse("http://s8.test/"+name)] }
	home := g.Begin(page(""))
	links := g.Links(page(""))
	list := g.Follow(home, links[0], page("list"))
	there := g.Links(page("list"))
	claim := func(at guide.Place, p *web.Page) float64 {
		c, ok := g.Claim(at, p)
		if !ok || !(c >= 0 && c <= 1) {
			t.Fatalf("claim %v, %v", c, ok)
		}
		return c
	}
	honey := claim(g.Follow(list, there[0], page("honey")), page("honey"))
	astray := claim(g.Follow(home, links[1], page("honey")), page("honey"))
	steel := claim(g.Follow(list, there[0], page("steel")), page("steel"))
	if honey < 0.5 || !(honey > astray) || !(honey > steel) {
		t.Errorf("honey by the list has %v, astray %v; steel by the list %v", honey, astray, steel)
	}
	one := what
	one.set = what.set[:2]
	for name, g := range map[string]*guide.Guide{
		"one site":  newGuide(t, fitPaths(t, one, nil), guide.Options{}),
		"not asked": newGuide(t, fitPaths(t, what, map[string]float64{"claims": 0}), guide.Options{}),
	} {
		if c, ok := g.Claim(home, page("")); ok {
			t.Errorf("%s: claim %v", name, c)
		}
	}
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
				g := newGuide(t, fitPaths(t, what, map[string]float64{"dual": dual}), guide.Options{Printed: printed})
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
	g, onward := newGuide(t, f, guide.Options{Endless: true}), newGuide(t, f, guide.Options{})
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
	g := newGuide(t, fitPaths(t, what, nil), guide.Options{})
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
		j, err := guide.ParseJoin(name)
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
	if _, err := guide.ParseJoin("mean"); err == nil {
		t.Error("there is no mean")
	}
}
