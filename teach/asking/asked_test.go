package asking_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach/asking"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// BenchmarkAsked measures whether labels that were asked for teach more than
// labels of pages drawn at random from the same links. On two universities
// three goals and two wrong turns of each kind are shown; then 18 pages are
// labelled one by one, by truth. Reported is F1 of Goal on the paths of the
// third university, after so many labels: a mean over three universities and
// three draws.
//
// Nobody calls a page a wrong turn that links to a goal, so such pages are
// passed over.
func BenchmarkAsked(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "departments")
	if _, err := corpus.Build(b.Context(), dir, corpus.Exchange{Dir: recorded.Web(b, "departments")}, corpus.Options{}); err != nil {
		b.Fatal(err)
	}
	w, err := corpus.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	pages, err := corpus.OpenPages(b.Context(), w, parse.New(parse.Options{Analyzer: text.NewAnalyzer()}), corpus.PagesOptions{})
	if err != nil {
		b.Fatal(err)
	}
	links, err := train.NewBacklinks(b.Context(), w, pages, true)
	if err != nil {
		b.Fatal(err)
	}
	labels, err := w.Labels()
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range []string{"course", "faculty", "project"} {
		topic, err := w.Topic(kind)
		if err != nil {
			b.Fatal(err)
		}
		truth, err := w.Truth(kind)
		if err != nil {
			b.Fatal(err)
		}
		starts := map[string]web.URL{}
		for _, s := range topic.Seeds {
			starts[s.Host().Domain()] = s
		}
		t := trial{pages: pages, isGoal: func(u web.URL) bool { return truth[u] || truth[links.Resolve(u)] }}
		show := train.ShowOptions{
			IsGoal: func(u web.URL) bool { return truth[u] }, Resolve: links.Resolve,
			Label: func(u web.URL) string {
				if l := labels[u]; l != "other" && l != kind {
					return l
				}
				return ""
			},
		}
		for _, who := range []string{"asked", "random"} {
			b.Run(kind+"/"+who, func(b *testing.B) {
				for b.Loop() {
					sum, n := map[int]float64{}, 0.
					for _, site := range slices.Sorted(maps.Keys(starts)) {
						for draw := range uint64(3) {
							shown, test := t.folds(b, show, truth, starts, site, draw)
							for k, f := range t.run(b, shown, test, who == "asked", draw) {
								sum[k] += f
							}
							n++
						}
					}
					for k, f := range sum {
						b.ReportMetric(f/n, fmt.Sprintf("F1@%d", k))
					}
				}
			})
		}
	}
}

type trial struct {
	pages  *corpus.Pages
	isGoal func(web.URL) bool
}

// folds are the paths shown, and those of the site that is left out.
func (t *trial) folds(b *testing.B, o train.ShowOptions, truth map[web.URL]bool, starts map[string]web.URL, site string, draw uint64) (shown, test []paths.Path) {
	chance := rand.New(rand.NewPCG(draw, 7))
	var here, there []web.URL
	for u := range truth {
		if t.pages.Has(u) {
			if u.Host().Domain() == site {
				here = append(here, u)
			} else {
				there = append(there, u)
			}
		}
	}
	byText := func(x, y web.URL) int { return strings.Compare(x.String(), y.String()) }
	for _, l := range [][]web.URL{here, there} {
		slices.SortFunc(l, byText)
		chance.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	}
	o.Seed, o.Starts = draw, nil
	for d, s := range starts {
		if d != site {
			o.Starts = append(o.Starts, s)
		}
	}
	slices.SortFunc(o.Starts, byText)
	o.Goals, o.Wrong = train.SpreadGoals(there, 3), 2
	shown, err := train.ShowPaths(b.Context(), t.pages, o)
	if err != nil {
		b.Fatal(err)
	}
	o.Starts, o.Goals, o.Wrong = []web.URL{starts[site]}, here[:min(len(here), 40)], 80
	if test, err = train.ShowPaths(b.Context(), t.pages, o); err != nil {
		b.Fatal(err)
	}
	return shown, test
}

// run labels 18 pages and returns F1 after some of them.
func (t *trial) run(b *testing.B, set, test []paths.Path, asked bool, draw uint64) map[int]float64 {
	chance := rand.New(rand.NewPCG(draw, 99))
	out := map[int]float64{}
	for k := 0; ; k++ {
		if slices.Contains([]int{0, 3, 6, 12, 18}, k) {
			out[k] = t.f1(b, set, test)
		}
		if k == 18 {
			return out
		}
		var ways []paths.Path
		if asked {
			got, err := (&asking.Asker{Record: t.pages}).Suggest(b.Context(), set, nil, 40)
			if err != nil {
				b.Fatal(err)
			}
			for _, s := range got {
				ways = append(ways, s.Path)
			}
		} else {
			ways = t.links(set)
			chance.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
		}
		at := slices.IndexFunc(ways, func(p paths.Path) bool {
			u := p.Steps[len(p.Steps)-1].URL
			page, ok := t.pages.Page(u)
			return ok && (t.isGoal(u) || !slices.ContainsFunc(page.Links, func(l web.Link) bool { return t.isGoal(l.URL) }))
		})
		if at < 0 {
			b.Logf("after %d labels nothing is left to ask", k)
			return out
		}
		last := &ways[at].Steps[len(ways[at].Steps)-1]
		last.Label = paths.Fail
		if t.isGoal(last.URL) {
			last.Label = paths.Goal
		}
		set = append(slices.Clip(set), ways[at])
	}
}

// links are the ways one link beyond those shown, as a suggester sees them.
func (t *trial) links(set []paths.Path) (out []paths.Path) {
	known := map[web.URL]bool{}
	for _, p := range set {
		for _, s := range p.Steps {
			known[s.URL] = true
		}
	}
	for _, p := range set {
		for k, s := range p.Steps {
			page, ok := t.pages.Page(s.URL)
			if !ok || s.Label == paths.Goal || s.Label == paths.Fail {
				break
			}
			for _, l := range page.Links {
				if !known[l.URL] && l.URL.Host().Domain() == page.URL.Host().Domain() {
					known[l.URL] = true
					next := p
					next.Steps = append(slices.Clone(p.Steps[:k+1]), paths.Step{URL: l.URL, Link: paths.Click{Anchor: l.Anchor, Ordinal: l.Position + 1}})
					out = append(out, next)
				}
			}
		}
	}
	return out
}

// f1 is how well the last pages of paths are known as goals or not.
func (t *trial) f1(b *testing.B, set, test []paths.Path) float64 {
	usable, _ := paths.Check(set, t.pages)
	f, err := train.FitPaths(b.Context(), usable, t.pages, train.FitOptions{})
	if err != nil {
		b.Fatal(err)
	}
	g, err := guide.New(f, guide.Options{})
	if err != nil {
		b.Fatal(err)
	}
	right, named, there := 0., 0., 0.
	for _, p := range test {
		p.Steps = slices.Clone(p.Steps)
		paths.Resolve(&p, t.pages)
		page, _ := t.pages.Page(p.Steps[0].URL)
		at := g.Begin(page)
		for _, s := range p.Steps[1:] {
			next, _ := t.pages.Page(s.URL)
			for i := range page.Links {
				if page.Links[i].Position+1 == s.Link.Ordinal {
					at = g.Follow(at, g.Links(page)[i], next)
				}
			}
			page = next
		}
		is, says := p.Positive(), g.Goal(at)
		for _, x := range []struct {
			n   *float64
			add bool
		}{{&there, is}, {&named, says}, {&right, is && says}} {
			if x.add {
				*x.n++
			}
		}
	}
	return 2 * right / max(1, named+there) // the harmonic mean of right/named and right/there
}
