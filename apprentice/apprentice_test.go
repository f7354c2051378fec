package apprentice_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/apprentice"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

func parsed(t testing.TB, body string) *web.Page {
	t.Helper()
	u, err := web.Parse("http://u.test/")
	if err != nil {
		t.Fatal(err)
	}
	p, err := parse.New(parse.Options{}).Parse(&web.Response{
		URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Raw: []byte(body), Body: []byte(body),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Links to pages that were not fetched, or were fetched before, give no example; a
// page that links twice to another gives one.
func TestTrainerTakesLaterTargets(t *testing.T) {
	p := parsed(t, `<a href=later>honey</a><p><a href=before>steel</a><p><a href=never>clay</a><p><a href=later>wax</a>`)
	trainer, err := apprentice.NewTrainer(false, apprentice.Options{Set: map[string]float64{"dmax": 0}})
	if err != nil {
		t.Fatal(err)
	}
	high := web.Verdict{Relevance: 1, Relevant: true}
	var links []int
	trainer.Examples(p, high, func(u web.URL) apprentice.Outcome {
		return apprentice.Outcome{Verdict: high, Fetched: u.Path() != "/never", Later: u.Path() == "/later"}
	}, func(link int, x apprentice.Example) {
		links = append(links, link)
		trainer.Learn(x)
	})
	if m := trainer.Model(); !slices.Equal(links, []int{0}) || m.Links != [2]uint64{0, 1} || len(m.Features) != 1 {
		t.Errorf("examples are links %v, the model %+v", links, m)
	}
}

// What cannot be trained is refused with what can be given.
func TestTrainerErrors(t *testing.T) {
	for name, c := range map[string]struct {
		set  map[string]float64
		want string
	}{
		"a setting of the crawl": {map[string]float64{"every": 9}, `there is no setting "every"; it has dmax, plain, topics, cocitation, boundary, tree, gap, leaf-words, link-words, words`},
		"out of range":           {map[string]float64{"dmax": 11}, "setting dmax = 11 is outside 0…10"},
		"a fraction":             {map[string]float64{"boundary": 0.5}, "setting boundary = 0.5 is no whole number in 0…2"},
	} {
		if _, err := apprentice.NewTrainer(true, apprentice.Options{Set: c.set}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := apprentice.Tempered("best-first-page"); err == nil || !strings.Contains(err.Error(), "apprentice-tempered") {
		t.Errorf("another strategy: %v", err)
	}
	for scorer, want := range map[string]bool{"apprentice": false, "apprentice-tempered": true} {
		if got, err := apprentice.Tempered(scorer); err != nil || got != want {
			t.Errorf("%s: %v, %v", scorer, got, err)
		}
	}
}

// Named names what Extract numbers: the same features in the same order.
func TestNamedFeatures(t *testing.T) {
	p := parsed(t, `<p>sweet</p><a href=a>honey <b>bees</b></a><p>steel`)
	classes := []string{"/Arts/Music"}
	for _, c := range []struct {
		set  map[string]float64
		want string
	}{
		{nil, "/Arts/Music /Arts honey@0 bee@0 sweet@-1 steel@1"},
		{map[string]float64{"topics": 0, "dmax": 0}, "honey@0 bee@0"},
		{map[string]float64{"leaf-words": 1}, "/Arts/Music /Arts honey@0 bee@0 sweet@-1 steel@1"},
		{map[string]float64{"link-words": 4}, "/Arts/Music /Arts honey@0 bee@0"},
		{map[string]float64{"topics": 1, "plain": 1}, "/Arts/Music honey@0 bee@0 sweet@0 steel@0"},
	} {
		f, err := apprentice.NewTrainer(false, apprentice.Options{Set: c.set, Analyzer: text.NewAnalyzer()})
		if err != nil {
			t.Fatal(err)
		}
		link := &web.Candidate{Features: f.Extract(p, 0.5, classes)[0]}
		var names []string
		var ids []byte
		f.Named(p, classes, 0, link, func(x apprentice.Feature) {
			name := x.Name
			if x.Kind == apprentice.Word {
				name += "@" + []string{"-1", "0", "1"}[x.Offset+1]
			}
			names = append(names, name)
			ids = append(ids, byte(x.ID), byte(x.ID>>8), byte(x.ID>>16), byte(x.ID>>24))
		})
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.set, got, c.want)
		}
		if !slices.Equal(ids, f.AppendIDs(nil, link)) {
			t.Errorf("%v: other numbers than Extract has", c.set)
		}
		if level, ok := f.Relevance(link); level != 128 || !ok {
			t.Errorf("%v: relevance %d, %v", c.set, level, ok)
		}
	}
}

// Words by their place in the tree: the length of the path from text to link, or the
// depth of what is around both.
func TestTree(t *testing.T) {
	const body = `<ul><li>sweet<li><a href=a>honey <b>bees</b></a> dance<li>wax</ul><p>steel`
	u, err := web.Parse("http://u.test/")
	if err != nil {
		t.Fatal(err)
	}
	nested, err := parse.New(parse.Options{Nesting: true}).Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Raw: []byte(body), Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    *web.Page
		tree float64
		want string
	}{
		{nested, 0, "honey/0 bee/0 sweet/0 danc/0 wax/0 steel/0"},
		{nested, 1, "honey/0 bee/0 sweet/4 danc/3 wax/5 steel/6"}, // from <b>, the nearest leaf, to the right
		{nested, 2, "honey/0 bee/0 sweet/3 danc/4 wax/3 steel/2"},
		{parsed(t, body), 1, "honey/0 bee/0 sweet/0 danc/0 wax/0 steel/0"},
	} {
		f, err := apprentice.NewTrainer(false, apprentice.Options{Set: map[string]float64{"tree": c.tree}, Analyzer: text.NewAnalyzer()})
		if err != nil {
			t.Fatal(err)
		}
		link := &web.Candidate{Features: f.Extract(c.p, 0.5, nil)[0]}
		var names, ids []string
		f.Named(c.p, nil, 0, link, func(x apprentice.Feature) {
			names = append(names, fmt.Sprint(x.Name, "/", x.Tree))
			ids = append(ids, fmt.Sprint(x.ID))
		})
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("tree %v: %s, want %s", c.tree, got, c.want)
		}
		slices.Sort(ids)
		if len(slices.Compact(ids)) != 6 {
			t.Errorf("tree %v: features share numbers: %v", c.tree, ids)
		}
		if m := f.Model(); m.Tree != int(c.tree) {
			t.Errorf("the model has tree %d", m.Tree)
		}
	}
}

// With the limits of 0, as printed, all words of a leaf and of a link are features.
func TestNoLimitOfWords(t *testing.T) {
	p := parsed(t, "<p>"+strings.Repeat("wax ", 500)+"<a href=a>"+strings.Repeat("honey ", 300)+"</a>")
	for _, c := range []struct {
		leaf, link float64
		want       int
	}{
		{24, 160, 48}, {0, 160, 160}, {24, 0, 48}, {0, 0, 800},
	} {
		f, err := apprentice.NewTrainer(false, apprentice.Options{Set: map[string]float64{"leaf-words": c.leaf, "link-words": c.link}, Analyzer: text.NewAnalyzer()})
		if err != nil {
			t.Fatal(err)
		}
		link := &web.Candidate{Features: f.Extract(p, 0.5, nil)[0]}
		if got := len(f.AppendIDs(nil, link)) / 4; got != c.want {
			t.Errorf("leaf %v, link %v: %d features, want %d", c.leaf, c.link, got, c.want)
		}
	}
}

// With a gap only links whose ends differ by so much in relevance are examples.
func TestGap(t *testing.T) {
	p := parsed(t, `<a href=a>honey</a><p><a href=b>steel</a><p><a href=c>wax</a>`)
	relevance := map[string]float64{"/a": 0.9, "/b": 0.1, "/c": 0.55}
	for _, c := range []struct {
		gap  float64
		want []int
	}{{0, []int{0, 1, 2}}, {0.05, []int{0, 1}}, {0.45, []int{1}}, {1, nil}} {
		trainer, err := apprentice.NewTrainer(false, apprentice.Options{Set: map[string]float64{"gap": c.gap}})
		if err != nil {
			t.Fatal(err)
		}
		var links []int
		trainer.Examples(p, web.Verdict{Relevance: 0.58}, func(u web.URL) apprentice.Outcome {
			return apprentice.Outcome{Verdict: web.Verdict{Relevance: relevance[u.Path()]}, Fetched: true, Later: true}
		}, func(link int, _ apprentice.Example) { links = append(links, link) })
		if !slices.Equal(links, c.want) {
			t.Errorf("gap %v: examples are links %v, want %v", c.gap, links, c.want)
		}
	}
}
