package lab

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// forest builds a recorded web of five hosts on four sites, which link to one
// another from their first pages. On each, page n of 40 links to 2n and 2n+1,
// and every fifth is about bees. three.example has an island, a page about bees
// that only two.example links to. bare.example has neither seeds nor bees, and
// the bees of lone.example no page links to.
func forest(t *testing.T) string {
	t.Helper()
	hosts := []string{"a.one.example", "b.one.example", "two.example", "three.example", "bare.example"}
	bodies := map[string]string{"http://lone.example/": "<title>honey bees</title><p>a bee that no page links to"}
	var truth []web.URL
	address := func(s string) web.URL {
		u, err := web.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for i, h := range hosts {
		for n := 1; n <= 40; n++ {
			u := fmt.Sprintf("http://%s/%d", h, n)
			title, text := "cars", "engines and wheels of cars"
			if n%5 == 0 && h != "bare.example" {
				title, text = "honey bees", "the waggle dance of honey bees"
				truth = append(truth, address(u))
			}
			var links strings.Builder
			for k, anchor := range []string{"nearer to the bees", "more cars"} {
				if to := 2*n + k; to <= 40 {
					fmt.Fprintf(&links, "<a href=/%d>%s</a> ", to, anchor)
				}
			}
			switch {
			case n == 1:
				fmt.Fprintf(&links, "<a href=http://%s/1>neighbours</a>", hosts[(i+1)%len(hosts)])
			case n == 4 && h == "two.example":
				links.WriteString("<a href=http://three.example/island>island</a>")
			}
			bodies[u] = fmt.Sprintf("<title>%s</title><h1>%s</h1><p>%s %d of %s %s", title, title, text, n, h, links.String())
		}
	}
	bodies["http://three.example/island"] = "<title>honey bees</title><p>bees of an island"
	truth = append(truth, address("http://three.example/island"), address("http://lone.example/"))
	made := corpus.Made{
		Manifest: corpus.Manifest{Name: "forest", Topics: []corpus.Topic{{
			Name: "bees", Description: "Honey bees", Keywords: []string{"honey bee", "waggle dance"},
			Seeds:    []web.URL{address("http://a.one.example/1"), address("http://two.example/1"), address("http://three.example/1")},
			Examples: []web.URL{address("http://a.one.example/5")},
		}}},
		Truth: map[string][]web.URL{"bees": truth},
		Pages: func(yield func(*web.Response, error) bool) {
			for _, u := range slices.Sorted(keys(bodies)) {
				body := []byte(bodies[u])
				r := &web.Response{
					URL: address(u), Status: 200, Header: web.Header{"Content-Type": {"text/html"}},
					Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"), Body: body, Raw: body,
				}
				if !yield(r, nil) {
					return
				}
			}
		},
	}
	dir := filepath.Join(t.TempDir(), "forest")
	if _, err := corpus.Build(t.Context(), dir, made, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// foldsOf opens the forest, parted as train says, with its pages read.
func foldsOf(t *testing.T, train string) (*runner, *labWeb) {
	t.Helper()
	f := read(t, "webs: [{path: "+forest(t)+", budgets: [30], train: "+train+"}]\nscorers: [breadth-first]\n")
	w, err := f.open(&f.Webs[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	r := &runner{File: f, opt: Options{Workers: 1}}
	for _, part := range w.folds {
		if err := part.load(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return r, w
}

// Taught where it crawls: half of the relevant pages are shown, and no more than asked
// for; the others are hits. Of "same" they teach too, of "same-but-hits" they do not. In
// both ways a crawl may go everywhere, and a model can be taught.
func TestFoldsOfTheSamePages(t *testing.T) {
	for _, c := range []struct {
		train string
		shown int
		teach bool
	}{
		{"{folds: same, targets: 4}", 4, true},
		{"{folds: same}", 17, true},
		{"{folds: same-but-hits, targets: 4}", 4, false},
	} {
		r, w := foldsOf(t, c.train)
		if len(w.folds) != 1 || w.folds[0].name != "" {
			t.Fatalf("%s: %d parts", c.train, len(w.folds))
		}
		top, ok := w.folds[0].topic(w.topics[0], false)
		if !ok || len(top.Examples) != c.shown || len(top.Seeds) != 3 {
			t.Fatalf("%s: %v, %d examples, %d seeds", c.train, ok, len(top.Examples), len(top.Seeds))
		}
		g := r.group(w, w.folds[0], top, false, 0)
		teaching, hits := 0, 0
		truth := g.truth()
		for u := range w.URLs() {
			if !g.fold.keeps(u) {
				t.Errorf("%s: %s cannot be crawled", c.train, u)
			}
			if g.teaches(u) {
				teaching++
			}
			if p, ok := w.pages.Page(u); ok && truth.Relevant.Has(u, hex.EncodeToString(p.Digest[:])) && !truth.Shown.Has(u, hex.EncodeToString(p.Digest[:])) {
				hits++
				if g.teaches(u) != c.teach {
					t.Errorf("%s: that the hit %s teaches is %v", c.train, u, !c.teach)
				}
			}
		}
		all := 202
		if !c.teach {
			all -= 34 - c.shown
		}
		if hits != 34-c.shown || teaching != all {
			t.Errorf("%s: %d hits and %d pages that teach", c.train, hits, teaching)
		}
		if _, _, err := g.teach(t.Context(), Scorer{Name: "crf"}); err != nil {
			t.Errorf("%s: %v", c.train, err)
		}
	}
}

// Each host is crawled in one part and teaches in all others; the names of
// the parts tell which is which.
func TestFolds(t *testing.T) {
	for train, want := range map[string]string{
		"{folds: sites}":                        "bare.example: bare.example; lone.example: lone.example; one.example: a.one.example b.one.example; three.example: three.example; two.example: two.example",
		"{hosts: [one.example, lone.example]}":  "rest: bare.example three.example two.example",
		"{hosts: [a.one.example, two.example]}": "rest: b.one.example bare.example lone.example three.example",
	} {
		_, w := foldsOf(t, train)
		if got := crawled(w); got != want {
			t.Errorf("%s: %s\nwant %s", train, got, want)
		}
	}
	for _, n := range []int{2, 3} {
		_, w := foldsOf(t, fmt.Sprintf("{folds: %d}", n))
		in := map[web.Host]int{}
		for u := range w.URLs() {
			for _, f := range w.folds {
				if f.keeps(u) {
					in[u.Host()]++
				}
			}
		}
		if len(w.folds) < 2 || len(w.folds) > n || len(in) != 6 || in["a.one.example"] != 40 || in["lone.example"] != 1 {
			t.Errorf("%d parts: %s; pages by host %v", n, crawled(w), in)
		}
		for _, f := range w.folds {
			if f.crawled("a.one.example") != f.crawled("b.one.example") {
				t.Errorf("%d parts: the hosts of a site are in two", n)
			}
		}
	}
}

// A web of fewer domains than parts is parted by host names.
func TestFoldsOfFewDomains(t *testing.T) {
	apart := false
	for _, n := range []int{6, 7, 8, 9} {
		_, w := foldsOf(t, fmt.Sprintf("{folds: %d}", n))
		for u := range w.URLs() {
			in := 0
			for _, f := range w.folds {
				if f.keeps(u) {
					in++
				}
			}
			if in != 1 {
				t.Fatalf("%d parts: %s is crawled in %d", n, u, in)
			}
		}
		for _, f := range w.folds {
			apart = apart || f.crawled("a.one.example") != f.crawled("b.one.example")
		}
	}
	if !apart {
		t.Error("the hosts of a site are never in two parts")
	}
}

// crawled writes the parts of a web with the hosts that are crawled in each.
func crawled(w *labWeb) string {
	var out []string
	for _, f := range w.folds {
		hosts := map[string]bool{}
		for u := range w.URLs() {
			if f.keeps(u) {
				hosts[string(u.Host())] = true
			}
		}
		out = append(out, f.name+": "+strings.Join(slices.Sorted(keys(hosts)), " "))
	}
	return strings.Join(out, "; ")
}

// Seeds are where a crawl may go and examples where it may not, of which there
// are no more than asked for; the same ones each time.
func TestFoldTopic(t *testing.T) {
	_, w := foldsOf(t, "{folds: sites, targets: 7}")
	_, again := foldsOf(t, "{folds: sites, targets: 7}")
	for i, f := range w.folds {
		got, ok := f.topic(w.topics[0], false)
		if want := !slices.Contains([]string{"bare.example", "lone.example"}, f.name); ok != want {
			t.Errorf("%s: to be crawled %v, want %v", f.name, ok, want)
		}
		if !ok {
			continue
		}
		if len(got.Seeds) != 1 || !f.keeps(got.Seeds[0]) {
			t.Errorf("%s: seeds %v", f.name, got.Seeds)
		}
		if len(got.Examples) != 7 || slices.ContainsFunc(got.Examples, f.keeps) {
			t.Errorf("%s: examples %v", f.name, got.Examples)
		}
		for _, u := range got.Examples {
			if !w.truth["bees"][u] {
				t.Errorf("%s: the example %s is not relevant", f.name, u)
			}
		}
		if twin, _ := again.folds[i].topic(again.topics[0], false); !slices.Equal(twin.Examples, got.Examples) {
			t.Errorf("%s: drawn again the examples are others", f.name)
		}
		if len(w.topics[0].Seeds) != 3 || len(w.topics[0].Examples) != 1 {
			t.Errorf("%s: the topic itself was changed", f.name)
		}
	}
}

// Whatever the kind of model, no page of a host that is crawled is in its
// training set, and no page of a host that teaches is fetched, or counted among
// those that could be.
func TestNoTrainingPageIsCrawled(t *testing.T) {
	for _, train := range []string{"{folds: sites}", "{hosts: [one.example, lone.example]}"} {
		r, w := foldsOf(t, train)
		for _, f := range w.folds {
			own, ok := f.topic(w.topics[0], false)
			if !ok {
				continue
			}
			g := r.group(w, f, own, false, 0)
			address := map[int32]web.URL{}
			for u := range w.URLs() {
				if n, ok := f.graph.Number(u); ok {
					address[n] = u
				}
			}
			kinds := map[string]bool{}
			for _, l := range score.Descriptions() {
				kind := score.ModelOf(l)
				if kind == "" || kinds[string(kind)] {
					continue
				}
				kinds[string(kind)] = true
				s := Scorer{Name: l.Name, Train: &ModelTraining{Sequences: 100, Iterations: 5}}
				m, _, err := g.teach(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				if len(m.Provenance.Sites) == 0 || slices.ContainsFunc(m.Provenance.Sites, f.crawled) {
					t.Errorf("%s %s %s: taught on %v", train, g.id(), l.Name, m.Provenance.Sites)
				}
				run := g.simulate(t.Context(), g.key("topic", l.Name), s)
				if run.err != nil {
					t.Fatal(run.err)
				}
				if len(run.run.Pages) < 10 {
					t.Errorf("%s %s %s: %d pages", train, g.id(), l.Name, len(run.run.Pages))
				}
				if slices.ContainsFunc(run.run.Hosts, func(h web.Host) bool { return !f.crawled(h) }) {
					t.Errorf("%s %s %s: crawled %v", train, g.id(), l.Name, run.run.Hosts)
				}
				for _, p := range run.run.Pages {
					if u := address[p.ID]; !f.keeps(u) {
						t.Errorf("%s %s %s: fetched %s", train, g.id(), l.Name, u)
					}
				}
			}
			for _, l := range score.Descriptions() {
				if kind := score.ModelOf(l); kind != "" && !kinds[string(kind)] {
					t.Errorf("%s was not tried with a model of kind %s", l.Name, kind)
				}
			}
		}
	}
}

// U counts what a crawl of the part can reach, and no page that only a host
// that teaches links to; all strategies are measured against the same.
func TestBoundOfFold(t *testing.T) {
	r, w := foldsOf(t, "{folds: sites}")
	want := map[string]int{"one.example": 8, "two.example": 8, "three.example": 8} // bees of 40 pages, b.one.example and the island out of reach
	for _, f := range w.folds {
		own, ok := f.topic(w.topics[0], false)
		if !ok {
			continue
		}
		if f.name == "one.example" {
			want[f.name] = 16 // both of its hosts
		}
		g := r.group(w, f, own, false, 0)
		ref := g.reference()
		if ref.Reachable != float64(want[f.name]) || ref.Bound[len(ref.Bound)-1] > ref.Reachable {
			t.Errorf("%s: %v can be reached, U %v; want %d", f.name, ref.Reachable, ref.Bound[len(ref.Bound)-1], want[f.name])
		}
		whole := g.w.truth["bees"]
		if len(whole) != 34 {
			t.Fatalf("%d relevant pages", len(whole))
		}
	}
}

const taughtLab = `
title: Taught
webs: [{path: %s, budgets: [10, 30], train: {folds: sites, targets: 6}}]
scorers:
  - breadth-first
  - {name: crf, train: {sequences: 100, iterations: 5}}
  - {name: crf, as: crf-literal, set: {literal: 1}, train: {sequences: 100, iterations: 5}}
  - {name: memm, train: {states: 3, features: words, sequences: 200, variance: 1, iterations: 20, set: {self: 1}}}
  - hmm
  - {name: hmm2, train: {sequences: 100, iterations: 1}}
  - contextgraph
  - rlspider
`

// Taught strategies give the same bytes on any number of cores; a model is
// taught once for all that are taught alike; parts of a web that cannot be
// crawled are told; the kept lab file is the same lab; costs have the time of
// teaching.
func TestTaughtLab(t *testing.T) {
	long.Test(t, "runs a lab")
	f := read(t, fmt.Sprintf(taughtLab, forest(t)))
	var want, first string
	for _, workers := range []int{1, 8} {
		dir := t.TempDir()
		var mu sync.Mutex
		var notes []string
		taught := map[string]int{}
		out, err := f.Run(t.Context(), dir, Options{
			Workers: workers, Note: func(s string) { notes = append(notes, s) },
			Progress: func(_, _ int, note string) {
				mu.Lock()
				defer mu.Unlock()
				if _, kind, ok := strings.Cut(note, "training "); ok {
					taught[kind]++
				}
			},
		})
		if err != nil || out != (Outcome{Cells: 24, Made: 24}) { // 3 sites, 8 strategies
			t.Fatalf("%+v, %v", out, err)
		}
		for _, kind := range []string{"crf", "memm", "hmm", "hmm2", "contextgraph", "rlspider"} {
			if taught[kind] != 3 {
				t.Errorf("%d workers: %s was taught %d times for 3 sites", workers, kind, taught[kind])
			}
		}
		for _, site := range []string{"forest/bees@bare.example", "forest/bees@lone.example"} {
			if !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, site+" is left out") }) {
				t.Errorf("nothing is said of %s: %q", site, notes)
			}
		}
		if got := hashFolder(t, dir); want == "" {
			want, first = got, dir
		} else if got != want {
			t.Errorf("%d workers give other bytes", workers)
		}
	}
	kept, err := Read(filepath.Join(first, labFile))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := kept.Run(t.Context(), first, Options{}); err != nil || out.Made != 0 {
		t.Errorf("the kept file makes another lab: %+v, %v", out, err)
	}
	r, text := reportOf(t, first)
	var sites []string
	for _, topic := range r.Topics {
		sites = append(sites, topic.Topic)
	}
	if want := []string{"bees@one.example", "bees@three.example", "bees@two.example"}; !slices.Equal(sites, want) {
		t.Errorf("topics %v, want %v", sites, want)
	}
	for _, c := range r.Costs {
		d, _ := score.Describe(strings.TrimSuffix(c.Scorer, "-literal"))
		if score.ModelOf(d) != "" && c.Training <= 0 {
			t.Errorf("%s: %v seconds are no training", c.Scorer, c.Training)
		}
	}
	// What training chose stands in the cells and in the report: for hmm2 at most the 10
	// clusters of its default, and a symbol more for blank pages.
	for _, c := range r.Cells {
		d, _ := score.Describe(strings.TrimSuffix(c.Scorer, "-literal"))
		if has := score.ModelOf(d) != ""; has != (c.Model["pages"] >= 1 && c.Model["targets"] >= 1 && c.Model["sites"] >= 1) {
			t.Errorf("%s: the model is of %v", c.Key, c.Model)
		}
		if k := c.Model["clusters-found"]; c.Scorer == "hmm2" && (k < 2 || k > 10 || k != c.Model["symbols"]-1) || c.Scorer == "crf" && (k != 0 || c.Model["sequences"] < 1) {
			t.Errorf("%s: %v", c.Key, c.Model)
		}
	}
	if _, err := Report(first); err != nil {
		t.Fatal(err)
	}
	models, err := os.ReadFile(filepath.Join(first, "models.csv"))
	if n := strings.Count(string(models), ",hmm2,topic,0,test,clusters-found,"); err != nil || n != 3 {
		t.Errorf("models.csv has %d numbers of clusters for 3 sites, %v:\n%s", n, err, models)
	}
	for _, want := range []string{
		"| hmm2 | clusters-found | 3 |",
		"forest: each site is crawled with models taught on the others; up to 6 relevant pages",
		"memm with states 3, features words, sequences 200, variance 1, iterations 20, self 1.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
}

// What of a lesson or of a part is wrong shows before anything is run, with its
// line.
func TestTrainErrors(t *testing.T) {
	const webs = "webs: [{path: w, train: {folds: sites}}]\nbaseline: crf\nscorers:\n"
	for _, c := range []struct{ file, want string }{
		{"webs:\n  - path: w\nbaseline: crf\nscorers: [crf]", "(in a lab, part the web by train:, such as train: {folds: sites}); it is trained on other hosts than those that are crawled, and the web at lab.yaml:2 is not parted"},
		{webs + "  - {name: crf, train: {states: 1}}", "lab.yaml:4: training crf: 1 states: give 2 to 50"},
		{webs + "  - {name: contextgraph, train: {states: 4}}", "lab.yaml:4: training contextgraph: 4 states: models of kind contextgraph know no hop distances; leave the states out; they have layers"},
		{webs + "  - {name: crf, train: {features: some}}", `lab.yaml:4: training crf: features "some" is none of all, words, similarity`},
		{webs + "  - {name: crf, train: {sequences: -1}}", "lab.yaml:4: training crf: sequences, iterations and variance are at least 0"},
		{webs + "  - {name: crf, train: {variance: .nan}}", "lab.yaml:4: training crf: sequences, iterations and variance are at least 0"},
		{webs + "  - crf\n  - {name: hmm, train: {set: {smoothness: 1}}}", `lab.yaml:5: training hmm has no setting "smoothness"; near names: smoothing; waggle train model --help names them`},
		{webs + "  - crf\n  - {name: hmm, train: {set: {smoothing: -1}}}", "lab.yaml:5: training hmm: smoothing = -1 is outside 0…1000"},
		{webs + "  - crf\n  - {name: breadth-first, train: {states: 5}}", "lab.yaml:5: breadth-first needs no training"},
		{webs + "  - {name: crf, train: {state: 5}}", `lab.yaml:4: training has no key "state"`},
		{"scorers: [breadth-first]\nwebs:\n  - path: w\n    train: {targets: 5}", "lab.yaml:4: train: either folds: (sites, a number of parts, same or same-but-hits) or hosts: that teach"},
		{"scorers: [breadth-first]\nwebs:\n  - path: w\n    train: {folds: 2, hosts: [a]}", "lab.yaml:4: train: either folds: (sites, a number of parts, same or same-but-hits) or hosts: that teach"},
		{"scorers: [breadth-first]\nwebs:\n  - path: w\n    train: {folds: 2, targets: 601}", "lab.yaml:4: train: 601 targets: give 1…600, or leave it out for 20"},
		{"hide-half: true\nscorers: [breadth-first]\nwebs:\n  - path: w\n    train: {folds: 2}", "lab.yaml:5: hide-half hides examples that a crawl could find"},
	} {
		if _, err := decode("lab.yaml", []byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\n  want %s", c.file, err, c.want)
		}
	}
	tree, wood := small(t), forest(t)
	for _, c := range []struct{ web, want string }{
		{"{path: " + tree + ", budgets: [10], train: {folds: sites}}", "all pages of tree are in one part, so that none is left to teach: name hosts: that teach"},
		{"{path: " + wood + ", budgets: [10], train: {folds: some}}", `folds: "some": give sites, same, same-but-hits, or a number in 2…100, or hosts: that teach`},
		{"{path: " + wood + ", budgets: [10], train: {folds: 1}}", `folds: "1": give sites, same, same-but-hits, or a number in 2…100`},
		{"{path: " + wood + ", budgets: [10], train: {hosts: [one.example, wax.example]}}", "no page of forest is on the host wax.example"},
	} {
		f := read(t, "webs: ["+c.web+"]\nscorers: [breadth-first]\n")
		if _, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "lab.yaml:1") {
			t.Errorf("%s: %v, want %s and the line", c.web, err, c.want)
		}
	}
}

// A lesson that fails fails the cells that need its model, says why, and harms
// no other: here no page of a host that teaches links to the targets.
func TestFailedLesson(t *testing.T) {
	f := read(t, "webs: [{path: "+forest(t)+", budgets: [10], train: {hosts: [lone.example]}}]\nscorers: [breadth-first, crf, {name: crf, as: again, set: {viterbi: 1}}, best-first-page]\n")
	dir := t.TempDir()
	out, err := f.Run(t.Context(), dir, Options{})
	if err != nil || out != (Outcome{Cells: 4, Made: 4, Failed: 2}) {
		t.Fatalf("%+v, %v", out, err)
	}
	r, err := f.results(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cells {
		taught := c.Scorer == "crf" || c.Scorer == "again"
		if taught != (c.Error != "") || taught && (!strings.Contains(c.Error, "training crf") || !strings.Contains(c.Error, "in-links")) {
			t.Errorf("%s: %q", c.Key, c.Error)
		}
	}
}

// Models go when the last cell of their topic is made: a lab of many topics
// holds those of a few at a time.
func TestModelsGo(t *testing.T) {
	r, w := foldsOf(t, "{hosts: [one.example]}")
	own, _ := w.folds[0].topic(w.topics[0], false)
	g := r.group(w, w.folds[0], own, false, 0)
	g.breadthFirst["topic"] = g.breadth("topic")
	r.dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(r.dir, cellsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	var cells []cell
	for _, s := range []Scorer{{Name: "hmm"}, {Name: "contextgraph"}} {
		g.cells.Add(1)
		cells = append(cells, cell{g, g.key("topic", s.Name), s, s.Name + ".json"})
	}
	for i, want := range []int{1, 0} {
		if err := cells[i].run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(g.lessons) != want {
			t.Errorf("after %d cells: %d models are held, want %d", i+1, len(g.lessons), want)
		}
	}
}

// A web that is not parted is as it was: one part, all of it crawled.
func TestUndividedWeb(t *testing.T) {
	g := groupOf(t, "webs: [{path: "+small(t)+", budgets: [50]}]\nscorers: [breadth-first]\n", "bees", 0)
	if len(g.w.folds) != 1 || g.id() != (eval.TopicID{Web: "tree", Topic: "bees"}) {
		t.Errorf("%d parts, %v", len(g.w.folds), g.id())
	}
	b, err := yaml.Marshal(g.w.spec)
	if err != nil || strings.Contains(string(b), "folds") {
		t.Errorf("%s, %v", b, err)
	}
}

// Parts of a web are no topics of their own: its one topic is one in every table.
func TestPartsAreOneTopic(t *testing.T) {
	r, text := reported(t, "webs: [{path: "+forest(t)+", budgets: [30], train: {folds: sites}}]\nscorers: [breadth-first, random]\n")
	if len(r.Topics) < 2 || r.Topics[0].Part == "" {
		t.Fatalf("topics: %+v", r.Topics)
	}
	want := fmt.Sprintf("forest: 1 topic in %d parts, of which each is crawled on its own.", len(r.Topics))
	if !strings.Contains(text, want) || !strings.Contains(text, "| breadth-first | 1 |") {
		t.Errorf("the report does not say %q, or counts parts as topics:\n%s", want, part(text, "forest"))
	}
}
