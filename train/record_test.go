package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// record makes a recorded web of HTML pages by their paths at
// http://sketch.example/; a body ">path" is a redirect, and what follows "made:" in one
// is what a browser made of it.
func record(t testing.TB, pages map[string]string) (*corpus.Web, *corpus.Pages) {
	t.Helper()
	var paths []string
	for p := range pages {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	made := corpus.Made{
		Manifest: corpus.Manifest{Name: "small"},
		Pages: func(yield func(*web.Response, error) bool) {
			for _, p := range paths {
				r := &web.Response{URL: at(p), Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")}
				if to, ok := strings.CutPrefix(pages[p], ">"); ok {
					r.Status, r.Location = 301, at(to)
					r.Head = []byte("HTTP/1.1 301 Moved\r\nLocation: " + at(to).String() + "\r\n")
					r.Header = web.Header{"Location": {at(to).String()}}
				} else {
					sent, made, rendered := strings.Cut(pages[p], "made:")
					r.Body = []byte(sent)
					r.Raw = r.Body
					if rendered {
						r.Rendering = &web.Rendering{Body: []byte(made)}
					}
				}
				if !yield(r, nil) {
					return
				}
			}
		},
	}
	return built(t, made)
}

var smallWeb = map[string]string{
	"goal":     `<p>bees dance <a href="/goal">self</a>`,
	"old":      ">older",
	"older":    ">goal",
	"a":        `<p>alpha <a href="/old">o</a> <a href="/goal">g</a> <a href="/b">b</a>`,
	"b":        `<p>beta <a href="/a">a</a>`,
	"silent":   `<meta name=robots content=nofollow><p>gamma <a href="/goal">g</a>`,
	"c":        `<p>delta <a href="/b">b</a> <a href="http://out.example/">out</a>`,
	"nowhere":  ">lost",
	"d":        `<p>epsilon <a href="/nowhere">n</a>`,
	"unlinked": `<p>zeta`,
}

// A recorded web is read backwards: through redirects, without pages that ask
// not to be followed, and each pair of pages once.
func TestBacklinks(t *testing.T) {
	w, pages := record(t, smallWeb)
	b, err := NewBacklinks(t.Context(), w, pages, false)
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{"goal": "a", "old": "a", "b": "a c", "a": "b", "unlinked": "", "absent": ""} {
		var got []string
		for _, u := range b.To(at(to)) {
			got = append(got, name(u))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("to %s link %q, want %q", to, s, want)
		}
	}
	if b.Len() != 7 || b.Links() != 4 {
		t.Errorf("%d pages and %d links", b.Len(), b.Links())
	}
	all, err := NewBacklinks(t.Context(), w, pages, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(all.To(at("goal"))); got != 2 {
		t.Errorf("with pages' wishes ignored %d pages link to the goal, want 2", got)
	}
}

func TestFromRecord(t *testing.T) {
	w, pages := record(t, smallWeb)
	keep := func(u web.URL) bool { return name(u) != "c" }
	g, err := FromRecord(t.Context(), w, pages, &topic.Topic{Name: "t"}, []web.URL{at("old")}, nil, CollectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := layers(g); got != "goal | a | b | c" {
		t.Errorf("layers %s", got)
	}
	if g, err = FromRecord(t.Context(), w, pages, &topic.Topic{Name: "t"}, []web.URL{at("old")}, keep, CollectOptions{}); err != nil || layers(g) != "goal | a | b" {
		t.Errorf("without c: %v, error %v", g, err)
	}
	_, err = FromRecord(t.Context(), w, pages, &topic.Topic{}, []web.URL{at("absent")}, nil, CollectOptions{})
	if !errors.Is(err, ErrNoTargets) || !strings.Contains(err.Error(), "absent is not among the pages of the recorded web") {
		t.Errorf("a target that is not recorded: error %v", err)
	}
}

// A graph and its sequences come back from their folder as they were; what is
// damaged is refused with what to do.
func TestFolder(t *testing.T) {
	w, pages := record(t, smallWeb)
	g, err := FromRecord(t.Context(), w, pages, &topic.Topic{Name: "t", Description: "d", Keywords: []string{"bee", "dance"}}, []web.URL{at("goal")}, nil, CollectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sequences := sample(t, g, SequenceOptions{Seed: 3})
	dir := t.TempDir()
	save := func() {
		if err := Save(dir, g, store.Options{}, w.Lookup); err != nil {
			t.Fatal(err)
		}
		if err := SaveSequences(SequencesPath(dir), g, sequences, 3); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (*Graph, []Sequence, error) {
		g, err := Load(context.Background(), dir, parserBy)
		if err != nil {
			return nil, nil, err
		}
		s, err := LoadSequences(SequencesPath(dir), g)
		return g, s, err
	}
	save()
	again, list, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest(list) != g.Digest(sequences) || fmt.Sprint(list) != fmt.Sprint(sequences) {
		t.Errorf("read: %v %v\nwritten: %v %v", again.Nodes, list, g.Nodes, sequences)
	}
	if layers(again) != layers(g) || len(again.Topic.Examples) != 1 || fmt.Sprint(again.Topic.Keywords) != "[bee dance]" {
		t.Errorf("read: layers %s, topic %+v", layers(again), again.Topic)
	}
	replace := func(path, from, to string) func(t *testing.T) {
		return func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(b), from) {
				t.Fatalf("%q is not in %s (%v)", from, path, err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(b), from, to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T)
		says  string
	}{
		{"no graph", func(*testing.T) { os.RemoveAll(GraphPath(dir)); os.RemoveAll(PagesPath(dir)) }, "waggle train collect -o"},
		{"unfinished", func(*testing.T) { os.Remove(GraphPath(dir)) }, "goes on with it"},
		{"cut", func(*testing.T) { os.Truncate(GraphPath(dir), 100) }, "collect again with waggle train collect --force"},
		{"another version", replace(GraphPath(dir), `graph": 1`, `graph": 99`), "is of version 99"},
		{"another layer", replace(GraphPath(dir), `"layer": 2`, `"layer": 9`), "is damaged (node"},
		{"another layer, well-formed", replace(GraphPath(dir), `"layer": 2`, `"layer": 1`), "read otherwise"},
		{"layers without number", replace(GraphPath(dir), `"layers": 5`, `"layers": 500000000`), "500000000 layers"},
		{"one address twice", replace(GraphPath(dir), at("a").String(), at("goal").String()), "have one address"},
		{"pages missing", func(*testing.T) { os.RemoveAll(PagesPath(dir)) }, "4 of 4 pages are missing"},
		{"another page", replace(GraphPath(dir), `"body": "`, `"body": "0`), "is not the one that was collected"},
		{"no sequences", func(*testing.T) { os.Remove(SequencesPath(dir)) }, "waggle train sequences draws them"},
		{"sequences cut", func(*testing.T) { os.Truncate(SequencesPath(dir), 130) }, "draw them anew"},
		{"sequences of another graph", replace(SequencesPath(dir), `"graph":"`, `"graph":"0`), "was drawn from another graph"},
		{"a walk without a link", replace(SequencesPath(dir), "[1,0]", "[0,1]"), "no link from page 0 to page 1"},
		{"a page that is none", replace(SequencesPath(dir), "[1,0]", "[1,7]"), "page 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			save()
			c.spoil(t)
			if _, _, err := read(); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
}

// Pages that a browser had made come back as it made them.
func TestFolderOfRenderedPages(t *testing.T) {
	w, pages := record(t, map[string]string{
		"goal": "<div id=root></div>made:<p>bees dance", "a": `<div id=root></div>made:<p>alpha <a href="/goal">g</a>`, "b": `<p>beta <a href="/a">a</a>`,
	})
	g, err := FromRecord(t.Context(), w, pages, &topic.Topic{Name: "t"}, []web.URL{at("goal")}, nil, CollectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := layers(g); got != "goal | a | b" {
		t.Errorf("layers %s", got)
	}
	dir := t.TempDir()
	if err := Save(dir, g, store.Options{}, w.Lookup); err != nil {
		t.Fatal(err)
	}
	again, err := Load(t.Context(), dir, parserBy)
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest(nil) != g.Digest(nil) {
		t.Error("the graph read from its folder is another")
	}
}

// Fit refuses what teaches nothing, and names what there is.
func TestFitErrors(t *testing.T) {
	g := collect(t, paper(), CollectOptions{Similar: 2}, "0")
	list := sample(t, g, SequenceOptions{Seed: 1})
	one := collect(t, draft("goal words: a a b\nx -> goal words: a a b"), CollectOptions{}, "goal")
	for _, c := range []struct {
		kind string
		g    *Graph
		list []Sequence
		o    FitOptions
		says string
	}{
		{"svm", g, list, FitOptions{}, `no kind of model is called "svm"; there are: crf, memm`},
		{"svm", g, list, FitOptions{}, "apprentice and waggle, which `waggle train apprentice` and `waggle train weights` make of crawls"},
		{"waggle", g, list, FitOptions{}, "models of kind waggle are made of crawls that have ended, and not of a graph: take `waggle train weights`"},
		{"crf", g, nil, FitOptions{}, "no sequence of two pages"},
		{"crf", one, sample(t, one, SequenceOptions{}), FitOptions{}, "have the same state"},
		{"crf", g, list, FitOptions{States: 1}, "1 states: give 2 to 50"},
		{"contextgraph", g, nil, FitOptions{States: 4}, "leave the states out; they have layers"},
		{"rlspider", g, nil, FitOptions{States: 4}, "know no hop distances"},
		{"crf", g, list, FitOptions{Variance: -1}, "variance -1: give"},
		{"crf", g, list, FitOptions{Set: map[string]float64{"clusters": 3}}, `no setting "clusters"`},
		{"hmm", g, nil, FitOptions{Set: map[string]float64{"clusters": -3}}, "kind hmm: setting clusters = -3 is outside 0…1000"},
		{"crf", &Graph{Topic: g.Topic, Nodes: slices.Repeat([]Node{{State: 3, Page: &web.Page{}}}, 2)}, []Sequence{{Nodes: []int32{0, 1}, Edges: []int32{0}}}, FitOptions{}, "a target's state"},
	} {
		f, err := Fit(t.Context(), model.Kind(c.kind), c.g, c.list, c.o)
		if err == nil || f != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("kind %s: error %v, want one that says %q", c.kind, err, c.says)
		}
	}
}

// The file of every kind tells where it comes from, and is the same bytes for
// the same training set on any number of cores.
func TestFitEveryKind(t *testing.T) {
	o, err := synthetic.Parse("pages=400,topics=1,targets=0.1,words=30,links=6")
	if err != nil {
		t.Fatal(err)
	}
	x, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	src, err := x.Source()
	if err != nil {
		t.Fatal(err)
	}
	w, pages := built(t, src)
	rt := w.Topics[0]
	top := &topic.Topic{Name: rt.Name, Description: rt.Description, Keywords: rt.Keywords}
	g, err := FromRecord(t.Context(), w, pages, top, rt.Examples, nil, CollectOptions{LayerNodes: 60})
	if err != nil {
		t.Fatal(err)
	}
	list := sample(t, g, SequenceOptions{Count: 400, Seed: 1})
	for _, f := range Fitters() {
		if f.Paths {
			continue // see TestFitPaths
		}
		var bytes [2][]byte
		for i, workers := range []int{1, 3} {
			file, err := Fit(t.Context(), f.Kind, g, list, FitOptions{Workers: workers, Iterations: 5, Version: "test"})
			if err != nil {
				t.Fatalf("%s: %v", f.Kind, err)
			}
			p := file.Provenance
			if file.Kind != f.Kind || p.Topic != rt.Name || p.Waggle != "test" || p.Pages != len(g.Nodes) || len(p.Sites) == 0 || !f.Stateless && (len(p.States) != 5 || p.States[0] == 0) || f.Stateless && p.States != nil || len(p.TrainingSet) != 64 {
				t.Errorf("%s: provenance %+v", f.Kind, p)
			}
			if (p.Sequences == 0) != f.Pages {
				t.Errorf("%s says that it learnt from %d sequences", f.Kind, p.Sequences)
			}
			if bytes[i], err = file.Marshal(); err != nil {
				t.Fatalf("%s: %v", f.Kind, err)
			}
		}
		if string(bytes[0]) != string(bytes[1]) {
			t.Errorf("%s: three workers make another model than one", f.Kind)
		}
	}
}

// built is a recorded web, with its pages, made of a source.
func built(t testing.TB, src corpus.Source) (*corpus.Web, *corpus.Pages) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "web")
	if _, err := corpus.Build(t.Context(), dir, src, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	w, err := corpus.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	pages, err := corpus.OpenPages(t.Context(), w, parse.New(parse.Options{}), corpus.PagesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w, pages
}

// campus is the recorded web of that name.
func campus(b *testing.B) (*corpus.Web, *corpus.Pages) {
	b.Helper()
	return built(b, corpus.Exchange{Dir: recorded.Web(b, "campus")})
}

// BenchmarkFromRecord collects the graph of a topic of campus, with the index of
// in-links made already.
func BenchmarkFromRecord(b *testing.B) {
	w, pages := campus(b)
	links, err := NewBacklinks(b.Context(), w, pages, false)
	if err != nil {
		b.Fatal(err)
	}
	rt, err := w.Topic("databases")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := FromRecord(b.Context(), w, pages, &topic.Topic{}, rt.Examples, nil, CollectOptions{Backlinks: links}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBacklinks makes the index of in-links of campus, 11,650 pages.
func BenchmarkBacklinks(b *testing.B) {
	w, pages := campus(b)
	for b.Loop() {
		if _, err := NewBacklinks(b.Context(), w, pages, false); err != nil {
			b.Fatal(err)
		}
	}
}
