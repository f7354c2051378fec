package eval

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// walk is the graph of the tests:
//
//	/ ─► /old ⇒ /new, /a, /gone (not recorded)
//	/a ─► /copy (body of /a), /loop ⇒ /loop, itself
func walk(t testing.TB) *Graph {
	u := func(p string) web.URL { return address(t, "http://a.example/"+p) }
	b := NewBuilder()
	b.Redirect(u("old"), u("older"))
	b.Redirect(u("older"), u("new"))
	b.Redirect(u("loop"), u("loop"))
	b.Page(u(""), "home", []web.URL{u("old"), u("a"), u("old"), u("new"), u("gone")})
	b.Page(u("a"), "a", []web.URL{u("copy"), u("loop"), u("a")})
	b.Page(u("new"), "new", nil)
	b.Page(u("copy"), "a", nil)
	b.Page(u("a"), "again", nil)
	return b.Graph()
}

func TestGraph(t *testing.T) {
	g := walk(t)
	u := func(p string) web.URL { return address(t, "http://a.example/"+p) }
	if g.Len() != 4 {
		t.Fatalf("%d pages", g.Len())
	}
	for i, want := range [][]int32{{2, 1}, {3}, nil, nil} {
		if got := g.Links(int32(i)); !slices.Equal(got, want) {
			t.Errorf("%s links to %v, want %v", g.Page(int32(i)), got, want)
		}
	}
	if i, ok := g.Number(u("old")); !ok || g.Page(i) != u("new") {
		t.Errorf("/old is page %d, %v", i, ok)
	}
	for _, p := range []string{"loop", "gone"} {
		if i, ok := g.Number(u(p)); ok {
			t.Errorf("/%s is page %d", p, i)
		}
	}
}

func TestReference(t *testing.T) {
	g := walk(t)
	u := func(p string) web.URL { return address(t, "http://a.example/"+p) }
	relevant := map[web.URL]bool{u("a"): true, u("copy"): true, u("new"): true, u("gone"): true}
	seeds := []web.URL{u("")}
	for _, test := range []struct {
		name      string
		shown     []web.URL
		hidden    []web.URL
		reachable float64
		hiddenIn  int
		bound     []float64
	}{
		{"a and its copy are one", seeds, nil, 2, 0, []float64{0, 0, 1, 2, 2}},
		{"a shown: no copy of it counts", append(seeds, u("a")), nil, 1, 0, []float64{0, 0, 1, 1, 1}},
		{"copy shown: a does not count", append(seeds, u("copy")), nil, 1, 0, []float64{0, 0, 1, 1, 1}},
		{"hidden ones", seeds, []web.URL{u("copy"), u("gone")}, 2, 1, []float64{0, 0, 1, 2, 2}},
	} {
		r := g.Reference(g.Truth(relevant, test.shown, test.hidden), seeds, 4)
		if r.Reachable != test.reachable || r.Hidden != test.hiddenIn || !slices.Equal(r.Bound, test.bound) || !slices.Equal(r.Greedy, test.bound) {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}

// Whatever order a crawl takes, Recorder counts no more hits than the bound
// allows, and exactly the reachable ones in the end: both read one rule.
func TestRecorderAndBoundAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(1, 15).Draw(t, "pages")
		urls, bodies := make([]web.URL, n), make([]string, n)
		for i := range urls {
			urls[i] = address(t, "http://a.example/"+string(rune('a'+i)))
			bodies[i] = string(rune('a' + rng.IntN(n)))
		}
		b := NewBuilder()
		relevant := map[web.URL]bool{}
		for i, u := range urls {
			var links []web.URL
			for range rng.IntN(4) {
				links = append(links, urls[rng.IntN(n)])
			}
			b.Page(u, bodies[i], links)
			if rng.IntN(3) == 0 {
				relevant[u] = true
			}
		}
		g := b.Graph()
		shown := []web.URL{urls[0], urls[rng.IntN(n)]}
		truth := g.Truth(relevant, shown, nil)
		ref := g.Reference(truth, urls[:1], n)
		r := NewRecorder(Key{}, n, truth, RecorderOptions{Number: g.Number})
		frontier, met := []int32{0}, map[int32]bool{0: true}
		for len(frontier) > 0 {
			k := rng.IntN(len(frontier))
			v := frontier[k]
			frontier = slices.Delete(frontier, k, k+1)
			r.Listen(event.Fetched{Visit: event.Visit{URL: g.Page(v)}, Digest: bodies[v]})
			for _, w := range g.Links(v) {
				if !met[w] {
					met[w] = true
					frontier = append(frontier, w)
				}
			}
			if i := len(r.Run().Pages); r.Run().Hits(i) > ref.Bound[i] || r.Run().Pages[i-1].ID != v {
				t.Fatalf("after %d pages: %v hits, bound %v", i, r.Run().Hits(i), ref.Bound[i])
			}
		}
		if got := r.Run().Hits(n); got != ref.Reachable || got != ref.Greedy[n] {
			t.Fatalf("in the end: %v hits, %v reachable, greedy %v", got, ref.Reachable, ref.Greedy[n])
		}
	})
}

// Distances are those of the shortest walks, which Floyd and Warshall's sum
// over all pairs finds as well.
func TestDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const far = 1 << 20
		n := rapid.IntRange(1, 9).Draw(t, "pages")
		g := &Graph{to: make([][]int32, n)}
		walk := make([][]int, n)
		for i := range walk {
			walk[i] = slices.Repeat([]int{far}, n)
			walk[i][i] = 0
			g.to[i] = rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(n-1)), 0, min(n, 2), rapid.ID).Draw(t, "links")
			for _, j := range g.to[i] {
				walk[i][j] = min(walk[i][j], 1)
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					walk[i][j] = min(walk[i][j], walk[i][k]+walk[k][j])
				}
			}
		}
		nearest := rapid.SliceOfN(rapid.Int32Range(0, int32(n-1)), 0, 3).Draw(t, "nearest")
		for i, got := range g.Distances(nearest) {
			want := far
			for _, j := range nearest {
				want = min(want, walk[i][j])
			}
			if want >= far {
				want = -1
			}
			if int(got) != want {
				t.Fatalf("page %d: %d, want %d", i, got, want)
			}
		}
	})
}
