package lab

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// relevanceScorer keeps the relevance that it is told.
type relevanceScorer struct {
	crawl.Scorer // nil: it is asked for nothing else
	extracted    map[web.URL]float64
	visited      map[web.URL]float64
	renewed      map[web.URL]float64
}

func (s relevanceScorer) Extract(p *web.Page, v web.Verdict) [][]byte {
	s.extracted[p.URL] = v.Relevance
	return nil
}

func (s relevanceScorer) Visit(_ *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p != nil {
		s.visited[p.URL] = v.Relevance
	}
	return nil
}

func (s relevanceScorer) Renew(pages []web.Renewal) {
	for _, r := range pages {
		s.renewed[r.URL] = r.Verdict.Relevance
	}
}

// Of the share of pages that is asked for, scorers are told the verdict of a page that
// was judged before; Extract and Visit are told the same, and every run with one seed. A
// renewed verdict is told of the other pages alone.
func TestLabelNoise(t *testing.T) {
	const pages, share = 4000, .3
	run := func(seed uint64) (relevanceScorer, *noisyScorer) {
		s := relevanceScorer{extracted: map[web.URL]float64{}, visited: map[web.URL]float64{}, renewed: map[web.URL]float64{}}
		n := newNoisyScorer(watchedScorer{&stopwatch{}, s}, share, seed)
		n.Visit(&web.Candidate{}, nil, web.Verdict{}) // a fetch without a page
		for i := range pages {
			p := &web.Page{URL: numbered(t, i)}
			v := web.Verdict{Relevance: float64(i) / pages, Relevant: i%10 == 0}
			n.Extract(p, v)
			n.Visit(&web.Candidate{}, p, v)
			if got := n.verdictFor(p, v); got.Relevance > v.Relevance {
				t.Fatalf("page %d is told to have relevance %v, which no page had before", i, got.Relevance)
			}
			n.Renew([]web.Renewal{{URL: p.URL, Verdict: web.Verdict{Relevance: 1}}})
		}
		return s, n
	}
	s, n := run(1)
	wrong, relevant := 0, 0
	for i := range pages {
		u := numbered(t, i)
		if s.extracted[u] != s.visited[u] {
			t.Fatalf("%s: Extract was told %v, Visit %v", u, s.extracted[u], s.visited[u])
		}
		right := s.visited[u] == float64(i)/pages
		if !right {
			wrong++
		}
		if _, renewed := s.renewed[u]; renewed != right {
			t.Fatalf("%s: told the verdict of another page: %v, its own new one: %v", u, !right, renewed)
		}
		if v := n.verdictFor(&web.Page{URL: u}, web.Verdict{Relevant: i%10 == 0}); v.Relevant {
			relevant++
		}
	}
	if got := float64(wrong) / pages; math.Abs(got-share) > .03 {
		t.Errorf("%.3f of the verdicts are those of other pages, want %v", got, share)
	}
	if got := float64(relevant) / pages; math.Abs(got-.1) > .02 {
		t.Errorf("%.3f of the pages are told to be relevant, want as many as are, .1", got)
	}
	again, _ := run(1)
	other, _ := run(2)
	if !maps.Equal(s.visited, again.visited) || maps.Equal(s.visited, other.visited) {
		t.Error("the seed does not decide which verdicts are wrong")
	}
}

// toldScorer notes what it is told of labels and lessons.
type toldScorer struct {
	crawl.Scorer // nil: it is asked for nothing else
	told         []string
}

func (s *toldScorer) Visit(_ *web.Candidate, _ *web.Page, v web.Verdict) []byte {
	s.told = append(s.told, fmt.Sprint("visit ", v.Relevance))
	return nil
}

func (s *toldScorer) Label(_ *web.Candidate, _ *web.Page, v web.Verdict, judged bool) {
	s.told = append(s.told, fmt.Sprint("label ", v.Relevance, judged))
}

func (s *toldScorer) Recall(_ *web.Candidate, _ *web.Page, v web.Verdict) []byte {
	s.told = append(s.told, fmt.Sprint("recall ", v.Relevance))
	return nil
}

func (s *toldScorer) Share() { s.told = append(s.told, "share") }

func (s *toldScorer) Lessons() [][]byte { return [][]byte{[]byte("lesson")} }

func (s *toldScorer) Learn(lesson []byte) error {
	s.told = append(s.told, "learn "+string(lesson))
	return nil
}

// A scorer with wrong verdicts is told labels and lessons as one without: a label as the person
// gave it, and where it was undone the wrong verdict again.
func TestNoiseWithLabelsAndLessons(t *testing.T) {
	s := &toldScorer{}
	var n crawl.Scorer = newNoisyScorer(watchedScorer{&stopwatch{}, s}, 1, 1)
	page, said := &web.Page{URL: numbered(t, 2)}, web.Verdict{Relevance: .75}
	n.Visit(nil, &web.Page{URL: numbered(t, 1)}, web.Verdict{Relevance: .25})
	n.Visit(nil, page, said)
	if n, ok := n.(crawl.LabelledScorer); ok {
		n.Label(nil, page, web.Verdict{Relevance: 1}, false)
		n.Label(nil, page, said, true)
	}
	if n, ok := n.(crawl.RecallingScorer); ok {
		n.Recall(nil, page, said)
	}
	if n, ok := n.(crawl.SharingScorer); ok {
		n.Share()
		for _, lesson := range n.Lessons() {
			if err := n.Learn(lesson); err != nil {
				t.Error(err)
			}
		}
	}
	want := []string{"visit 0.25", "visit 0.25", "label 1 false", "label 0.25 true", "recall 0.25", "share", "learn lesson"}
	if !slices.Equal(s.told, want) {
		t.Errorf("it is told %q, want %q", s.told, want)
	}
}

// Noise changes what a learning strategy does, and not what counts; without it and
// with it a lab repeats its figures.
func TestLabWithNoise(t *testing.T) {
	long.Test(t, "runs a lab")
	harvest := func(more string) string {
		out := t.TempDir()
		f := read(t, "webs: [{path: "+small(t)+", budgets: [5, 10, 20]}]\nscorers: [best-first-page]\n"+more)
		if o, err := f.Run(t.Context(), out, Options{}); err != nil || o.Failed > 0 {
			t.Fatal(o, err)
		}
		r, text := reportOf(t, out)
		if told := strings.Contains(text, "scorers are told the verdict of another page"); told != (more != "") {
			t.Errorf("%q: that verdicts are wrong is told: %v", more, told)
		}
		cells := ""
		for _, c := range r.Cells {
			cells += fmt.Sprintln(c.Key, c.Values)
		}
		return cells
	}
	right, wrong := harvest(""), harvest("label-noise: 1\n")
	if right == wrong {
		t.Error("noise changes nothing")
	}
	if harvest("label-noise: 1\n") != wrong {
		t.Error("two labs with the same noise differ")
	}
}

// Crawls are given as many examples as are asked for, others in each repeat; those
// that they are not given are hits for nobody all the same.
func TestExampleCount(t *testing.T) {
	file := "webs: [{path: " + small(t) + ", topics: [cars], budgets: [30]}]\nscorers: [breadth-first]\n"
	all := groupOf(t, file, "cars", 0)
	if len(all.examples()) < 3 {
		t.Fatalf("the test needs three examples of %v", all.examples())
	}
	var given []string
	for repeat := range len(all.examples()) {
		g := groupOf(t, file+"example-count: 1\n", "cars", repeat)
		e := g.examples()
		if len(e) != 1 || !slices.Contains(all.examples(), e[0]) || slices.Contains(given, e[0].String()) {
			t.Errorf("repeat %d is given %v after %v", repeat, e, given)
		}
		given = append(given, e[0].String())
		for _, u := range all.examples() {
			if !g.truth().Shown.Has(u, "") {
				t.Errorf("repeat %d: %s would count as a hit", repeat, u)
			}
		}
	}
	if g := groupOf(t, file+"example-count: 0\n", "cars", 0); len(g.examples()) != 0 || len(g.topic().Examples) != 0 || len(g.topic().Keywords) == 0 {
		t.Errorf("without examples: %v, keywords %v", g.topic().Examples, g.topic().Keywords)
	}
}

func numbered(t *testing.T, i int) web.URL {
	t.Helper()
	u, err := web.Parse(fmt.Sprintf("http://a.example/%d", i))
	if err != nil {
		t.Fatal(err)
	}
	return u
}
