package train

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// sketch is a web drawn by hand, provider of its in-links and source of its
// pages: a line "9 -> 7 8" is a page with its links. Pages are named by one
// word, http://sketch.example/9.
type sketch struct {
	pages map[web.URL]*web.Page
	order []web.URL
	// moved leads addresses to pages, as redirects do.
	moved map[web.URL]web.URL
	// unnamed are in-links, "from>to", that the provider does not know of.
	unnamed map[string]bool
	// extra are in-links, "from>to", that it names and that are not there.
	extra []string
	asked []int // the limit of each question
}

func at(name string) web.URL {
	u, err := web.Parse("http://sketch.example/" + name)
	if err != nil {
		panic(err)
	}
	return u
}

func name(u web.URL) string { return strings.TrimPrefix(u.Path(), "/") }

// draft makes a sketch. The words of a page are those after "words:", else its
// own name.
func draft(text string) *sketch {
	s := &sketch{pages: map[web.URL]*web.Page{}, moved: map[web.URL]web.URL{}, unnamed: map[string]bool{}}
	for line := range strings.Lines(text) {
		line, words, _ := strings.Cut(strings.TrimSpace(line), " words:")
		from, to, _ := strings.Cut(line, "->")
		if from = strings.TrimSpace(from); from == "" {
			continue
		}
		if words == "" {
			words = "page" + from
		}
		p := &web.Page{URL: at(from), MIME: "text/html", Digest: md5.Sum([]byte(from))}
		counts := map[string]int32{}
		for _, w := range strings.Fields(words) {
			counts[w]++
		}
		for _, w := range slices.Sorted(maps.Keys(counts)) {
			p.Terms = append(p.Terms, web.Term{Text: w, Body: counts[w]})
		}
		for i, l := range strings.Fields(to) {
			p.Links = append(p.Links, web.Link{URL: at(l), Kind: web.LinkA, Anchor: l, Position: i})
		}
		s.pages[p.URL] = p
		s.order = append(s.order, p.URL)
	}
	return s
}

func (s *sketch) Resolve(u web.URL) web.URL {
	if to, ok := s.moved[u]; ok {
		return to
	}
	return u
}

func (s *sketch) Page(_ context.Context, u web.URL) (*web.Page, error) {
	if p, ok := s.pages[s.Resolve(u)]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("%s: %w", u, ErrNoPage)
}

func (s *sketch) Inlinks(_ context.Context, layer []web.URL, limit int) ([]InlinkList, error) {
	s.asked = append(s.asked, limit)
	out := make([]InlinkList, len(layer))
	for i, to := range layer {
		for _, x := range s.extra {
			if from, dest, _ := strings.Cut(x, ">"); at(dest) == to {
				out[i].Pages = append(out[i].Pages, at(from))
			}
		}
		for _, from := range s.order {
			links := slices.ContainsFunc(s.pages[from].Links, func(l web.Link) bool { return s.Resolve(l.URL) == to })
			if links && !s.unnamed[name(from)+">"+name(to)] {
				out[i].Pages = append(out[i].Pages, from)
			}
		}
		out[i].Pages = out[i].Pages[:min(limit, len(out[i].Pages))]
	}
	return out, nil
}

func collect(t testing.TB, s *sketch, o CollectOptions, targets ...string) *Graph {
	t.Helper()
	var list []web.URL
	for _, n := range targets {
		list = append(list, at(n))
	}
	g, err := Collect(t.Context(), &topic.Topic{Name: "sketch"}, list, s, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// layers writes a graph's layers: "0 | 1 2 | 3".
func layers(g *Graph) string {
	parts := make([][]string, g.Layers)
	for _, n := range g.Nodes {
		parts[n.Layer] = append(parts[n.Layer], name(n.URL))
	}
	var out []string
	for _, p := range parts {
		out = append(out, strings.Join(p, " "))
	}
	return strings.TrimRight(strings.Join(out, " | "), " |")
}

func edges(g *Graph) (out []string) {
	for _, e := range g.Edges {
		out = append(out, name(g.Nodes[e.From].URL)+">"+name(g.Nodes[e.To].URL))
	}
	slices.Sort(out)
	return out
}

// paper is the graph of Figure 5 of Liu & Milios 2010, as far as the text tells
// its links: 7→3 with 3→4, 4→2, 2→0 (the example sequence), 5→2 and 0→5 (added
// with node 5), 8→4, 8→1, 8→5 ("children of node 8"), 4→7 ("the reverse order"),
// 7→4 ("avoid loops"), 9→7, 9→8, 3→1, 4→1, 1→0. Of node 6 it tells the state
// alone. Node 8 is found in layer 3 although it links to node 1: the in-link
// service did not name it. Nodes 5 and 7 are like node 0.
func paper() *sketch {
	s := draft(`
		0 -> 5         words: bee bee bee dance dance dance dance
		1 -> 0
		2 -> 0
		3 -> 1 4
		4 -> 1 2 7
		5 -> 2         words: bee bee bee dance dance dance hive
		6 -> 2
		7 -> 3 4       words: bee bee bee bee dance dance dance
		8 -> 4 1 5
		9 -> 7 8`)
	s.unnamed["8>1"] = true
	s.unnamed["8>4"] = true
	s.unnamed["8>5"] = true
	s.unnamed["7>4"] = true
	delete(s.unnamed, "8>5") // found as an in-link of node 5
	return s
}

// Layers are built backwards, no page is in the graph twice, and links between
// any two nodes are edges, in either direction (section 3.1, figure 5).
func TestBackwardGraph(t *testing.T) {
	g := collect(t, paper(), CollectOptions{}, "0")
	if got, want := layers(g), "0 | 1 2 | 3 4 5 6 | 7 8 | 9"; got != want {
		t.Errorf("layers %s, want %s", got, want)
	}
	want := "0>5 1>0 2>0 3>1 3>4 4>1 4>2 4>7 5>2 6>2 7>3 7>4 8>1 8>4 8>5 9>7 9>8"
	if got := strings.Join(edges(g), " "); got != want {
		t.Errorf("edges %s\nwant  %s", got, want)
	}
	for _, e := range g.Edges {
		if e.Link.URL != g.Nodes[e.To].URL {
			t.Errorf("the edge %d→%d has the link to %s", e.From, e.To, e.Link.URL)
		}
	}
	if len(g.Topic.Examples) != 1 || g.Topic.Examples[0] != g.Nodes[0].Page {
		t.Errorf("the topic's examples are not layer 0: %v", g.Topic.Examples)
	}
}

// Links by another address of a page are edges, once for each pair, with the
// first of them; links of a page to itself are none.
func TestEdgesOfPagesWithTwoAddresses(t *testing.T) {
	s := draft(`
		goal ->
		a -> a old goal new
		b -> new b`)
	s.moved[at("old")] = at("goal")
	s.moved[at("new")] = at("goal")
	g := collect(t, s, CollectOptions{}, "old", "goal", "new")
	if got := strings.Join(edges(g), " "); got != "a>goal b>goal" {
		t.Errorf("edges %s", got)
	}
	if got := layers(g); got != "goal | a b" {
		t.Errorf("layers %s: targets that are one page count once", got)
	}
	if got := name(g.Edges[0].Link.URL); got != "old" {
		t.Errorf("the link of a is %s, not the first", got)
	}
}

// A layer of n pages gives each of them 600/n in-links, in whole numbers and at
// least one, and the next layer ends at 600 (section 3.1).
func TestCapsOfLayers(t *testing.T) {
	for _, c := range []struct{ targets, inlinks, share, layer int }{
		{200, 10, 3, 600}, // the paper's own example
		{1, 1000, 600, 600},
		{7, 100, 85, 595}, // 600/7 = 85.7
		{400, 5, 1, 400},  // 600/400 = 1.5
		{600, 3, 1, 600},
		{10, 4, 60, 40}, // fewer than the share
	} {
		var b strings.Builder
		var targets []string
		for i := range c.targets {
			fmt.Fprintf(&b, "t%d\n", i)
			targets = append(targets, fmt.Sprint("t", i))
			for j := range c.inlinks {
				fmt.Fprintf(&b, "p%d-%d -> t%d\n", i, j, i)
			}
		}
		s := draft(b.String())
		g := collect(t, s, CollectOptions{Layers: 2}, targets...)
		had := map[int32]int{}
		for _, e := range g.Edges {
			had[e.To]++
		}
		for i := range c.targets {
			if got := had[int32(i)]; got != min(c.share, c.inlinks) {
				t.Errorf("%d targets: target %d has %d in-links, want %d", c.targets, i, got, min(c.share, c.inlinks))
				break
			}
		}
		if got := g.LayerSizes()[1]; got != c.layer {
			t.Errorf("%d targets with %d in-links each: layer 1 has %d nodes, want %d", c.targets, c.inlinks, got, c.layer)
		}
		if s.asked[0] < c.share {
			t.Errorf("%d targets: the provider was asked for %d in-links, the share is %d", c.targets, s.asked[0], c.share)
		}
	}
}

// 700 targets are cut to 600, and a layer of 600 nodes that share in-links stays
// below 600.
func TestTooManyTargets(t *testing.T) {
	var b strings.Builder
	var targets []string
	for i := range 700 {
		fmt.Fprintf(&b, "t%d\np%d -> t%d\n", i, i/2, i)
		targets = append(targets, fmt.Sprint("t", i))
	}
	g := collect(t, draft(b.String()), CollectOptions{Layers: 2}, targets...)
	if got := g.LayerSizes(); got[0] != 600 || got[1] > 600 {
		t.Errorf("layers of %v nodes", got)
	}
}

// Pages whose cosine to some page of layer 0 is 0.8 or more are targets; the
// weight of a word is how often it occurs (section 3.1).
func TestSimilarPagesAreTargets(t *testing.T) {
	for _, c := range []struct {
		words  string
		cosine float64
		target bool
	}{
		{"a a a a b b b", 1, true},
		{"a a a a a", .8, true},      // (4·5)/(5·5), exactly the threshold
		{"a a a a a c", .784, false}, // 20/(5·√26)
		{"b b b", .6, false},
		{"c", 0, false},
	} {
		s := draft("goal words: a a a a b b b\nx -> goal words: " + c.words)
		if got := collect(t, s, CollectOptions{Layers: 2}, "goal").Nodes[1].Target; got != c.target {
			t.Errorf("%q with a cosine of %v: target is %v", c.words, c.cosine, got)
		}
		if collect(t, s, CollectOptions{Layers: 2, Similar: 2}, "goal").Nodes[1].Target {
			t.Errorf("%q is a target although none is to be", c.words)
		}
	}
	g := collect(t, paper(), CollectOptions{}, "0")
	var marked []string
	for _, n := range g.Nodes {
		if n.Target {
			marked = append(marked, name(n.URL))
		}
	}
	if got := strings.Join(marked, " "); got != "0 5 7" || g.Found.Similar != 2 {
		t.Errorf("the targets of the paper's graph are %s (%d by likeness), want 0 5 7", got, g.Found.Similar)
	}
}

// The states of the paper's graph are those it prints once nodes 5 and 7 are
// targets (section 3.1, figure 5(e)).
func TestStatesOfThePaper(t *testing.T) {
	g := collect(t, paper(), CollectOptions{}, "0")
	states := map[string]int{}
	for _, n := range g.Nodes {
		states[name(n.URL)] = n.State
	}
	for i, want := range []int{0, 1, 1, 2, 1, 0, 2, 0, 1, 1} {
		if got := states[strconv.Itoa(i)]; got != want {
			t.Errorf("node %d is in state T%d, the paper has T%d", i, got, want)
		}
	}
}

// What does not keep its promise makes room for the next.
func TestCollectPassesOver(t *testing.T) {
	s := draft(`
		goal ->
		away -> nowhere
		other.host -> goal
		gone -> goal
		good -> goal`)
	s.extra = []string{"absent>goal", "away>goal"}
	s.pages[at("gone")].Directives.NoFollow = true
	g := collect(t, s, CollectOptions{LayerNodes: 1, Keep: func(u web.URL) bool { return name(u) != "other.host" }}, "goal")
	if got := layers(g); got != "goal | good" {
		t.Errorf("layers %s", got)
	}
	if f := g.Found; f.NoPage != 1 || f.NoLink != 1 || f.Refused != 2 {
		t.Errorf("counted %+v", f)
	}
	g = collect(t, s, CollectOptions{IgnoreDirectives: true}, "goal")
	if got := layers(g); got != "goal | other.host gone good" {
		t.Errorf("with the wishes of pages ignored: layers %s", got)
	}
}

// partialProvider is a provider that tells of some pages only the first in-link.
type partialProvider struct {
	*sketch
	pages string
	asked int
}

func (a *partialProvider) Inlinks(ctx context.Context, layer []web.URL, limit int) ([]InlinkList, error) {
	a.asked++
	out, err := a.sketch.Inlinks(ctx, layer, limit)
	for i, u := range layer {
		if strings.Contains(a.pages, name(u)) {
			out[i] = InlinkList{out[i].Pages[:1], true}
		}
	}
	return out, err
}

// A list of in-links that was cut is told of, by the collection, its file and
// the answers it goes on with.
func TestCollectTellsOfCutLists(t *testing.T) {
	dir := t.TempDir()
	in := &partialProvider{sketch: paper(), pages: "12"}
	for range 2 {
		g, err := Collect(t.Context(), &topic.Topic{}, []web.URL{at("0")}, KeptAnswers{From: in, Path: InlinksPath(dir)}, in.sketch, CollectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(g.Found.Cut); got != fmt.Sprint([]web.URL{at("1"), at("2")}) {
			t.Errorf("cut: %s", got)
		}
		response := func(u web.URL) (*web.Response, error) { return &web.Response{URL: u, Status: 200}, nil }
		if err := Save(dir, g, store.Options{}, response); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(GraphPath(dir)); err != nil || !strings.Contains(string(b), `"cut": [`) {
			t.Errorf("%s says nothing of it (%v)", GraphPath(dir), err)
		}
	}
	if layers := in.asked; layers == 0 || layers > 5 {
		t.Errorf("asked %d times: the second time the file answers", layers)
	}
}

func TestCollectErrors(t *testing.T) {
	s := draft("goal ->\nempty ->\nlone -> lone\na -> goal")
	s.pages[at("empty")].Terms = nil
	notA := func(u web.URL) bool { return name(u) != "a" }
	for _, c := range []struct {
		targets string
		o       CollectOptions
		err     error
		says    string
	}{
		{"", CollectOptions{}, ErrNoTargets, "none is given"},
		{"absent", CollectOptions{}, ErrNoTargets, "http://sketch.example/absent: no page"},
		{"absent b c d e", CollectOptions{}, ErrNoTargets, "and 2 more"},
		{"empty", CollectOptions{}, ErrNoTargets, "holds no words"},
		{"goal", CollectOptions{Keep: func(web.URL) bool { return false }}, ErrNoTargets, "on a host that is left out"},
		{"lone", CollectOptions{}, ErrNoInlinks, "give other targets or another provider"},
		{"goal", CollectOptions{Keep: notA}, ErrNoInlinks, "choose hosts more widely"},
		{"goal", CollectOptions{Layers: 1}, nil, "1 layers: give 2"},
		{"goal", CollectOptions{LayerNodes: -1}, nil, "-1 nodes a layer"},
		{"goal", CollectOptions{Similar: -1}, nil, "makes every page a target"},
	} {
		var targets []web.URL
		for _, n := range strings.Fields(c.targets) {
			targets = append(targets, at(n))
		}
		g, err := Collect(t.Context(), &topic.Topic{}, targets, s, s, c.o)
		if err == nil || g != nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("targets %q: error %v, want one that says %q", c.targets, err, c.says)
		}
	}
}

func TestCollectStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := draft("goal ->\na -> goal")
	if _, err := Collect(ctx, &topic.Topic{}, []web.URL{at("goal")}, s, s, CollectOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// drawWeb makes any small web.
func drawWeb(t *rapid.T) *sketch {
	n := rapid.IntRange(2, 25).Draw(t, "pages")
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d ->", i)
		for _, to := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 5).Draw(t, "links") {
			fmt.Fprintf(&b, " %d", to)
		}
		fmt.Fprintf(&b, " words: w%d w%d\n", rapid.IntRange(0, 6).Draw(t, "word"), rapid.IntRange(0, 6).Draw(t, "word"))
	}
	return draft(b.String())
}

// What holds for the graph of any web: no page is in it twice, each layer links to
// the one before, all links are edges, layers have their caps, and states are
// distances.
func TestGraphOfAnyWeb(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawWeb(t)
		o := CollectOptions{Layers: rapid.IntRange(2, 5).Draw(t, "layers"), LayerNodes: rapid.IntRange(2, 8).Draw(t, "cap"), Workers: 1}
		targets := []web.URL{s.order[0], s.order[1]}
		g, err := Collect(context.Background(), &topic.Topic{}, targets, s, s, o)
		if errors.Is(err, ErrNoInlinks) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		o.Workers = 5
		if again, err := Collect(context.Background(), &topic.Topic{}, targets, s, s, o); err != nil || again.Digest(nil) != g.Digest(nil) {
			t.Fatalf("with five workers the graph is another (%v)", err)
		}
		number := map[web.URL]int{}
		for i, n := range g.Nodes {
			if _, twice := number[n.URL]; twice {
				t.Fatalf("%s is there twice", n.URL)
			}
			number[n.URL] = i
		}
		for i, size := range g.LayerSizes() {
			if size > o.LayerNodes {
				t.Fatalf("layer %d has %d nodes of at most %d", i, size, o.LayerNodes)
			}
		}
		// All links between nodes, each pair once, and nothing else.
		linked := map[[2]int]bool{}
		for i, n := range g.Nodes {
			for _, l := range n.Page.Links {
				if j, ok := number[l.URL]; ok && i != j {
					linked[[2]int{i, j}] = true
				}
			}
		}
		if len(linked) != len(g.Edges) {
			t.Fatalf("%d edges, %d pairs of pages are linked", len(g.Edges), len(linked))
		}
		for _, e := range g.Edges {
			if !linked[[2]int{int(e.From), int(e.To)}] {
				t.Fatalf("no link %v", e)
			}
		}
		for i, n := range g.Nodes {
			down := n.Layer == 0
			for j, m := range g.Nodes {
				down = down || m.Layer == n.Layer-1 && linked[[2]int{i, j}]
			}
			if !down {
				t.Fatalf("%s of layer %d links to none of the layer below", n.URL, n.Layer)
			}
		}
		// Distances by relaxation (Bellman–Ford), which shares nothing with the
		// search.
		dist := make([]int, len(g.Nodes))
		for i, n := range g.Nodes {
			if dist[i] = 1000; n.Target {
				dist[i] = 0
			}
		}
		for range g.Nodes {
			for pair := range linked {
				dist[pair[0]] = min(dist[pair[0]], dist[pair[1]]+1)
			}
		}
		for i, n := range g.Nodes {
			if n.State != dist[i] {
				t.Fatalf("%s is in state %d, %d links from a target", n.URL, n.State, dist[i])
			}
		}
	})
}

// A graph of few targets or pages is doubted, and one of enough is not.
func TestDoubt(t *testing.T) {
	graph := func(targets, pages int) *Graph {
		g := &Graph{Nodes: make([]Node, pages)}
		for i := range pages {
			if i >= targets {
				g.Nodes[i].Layer = 1
			}
		}
		return g
	}
	if s := graph(8, 115).Doubt(); !strings.HasPrefix(s, "115 pages around 8 targets are little to learn from") {
		t.Error(s)
	}
	for _, c := range []struct{ targets, pages int }{{19, 1000}, {20, 299}} {
		if graph(c.targets, c.pages).Doubt() == "" {
			t.Errorf("%d targets, %d pages are not doubted", c.targets, c.pages)
		}
	}
	if s := graph(20, 300).Doubt(); s != "" {
		t.Error(s)
	}
}
