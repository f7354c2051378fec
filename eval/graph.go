package eval

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/web"
)

// Graph is a recorded web as a crawl can walk it: its pages, and which page
// links to which once redirects are followed. Make one with a Builder, or with
// WebGraph.
type Graph struct {
	pages  []web.URL
	number map[web.URL]int32
	body   []int32   // [page] pages of equal body share a number
	digest []string  // [page] of the body
	to     [][]int32 // [page] each page once, in the order of the links
	moved  map[web.URL]int32
}

// Builder gathers what a Graph is made of, in any order.
type Builder struct {
	pages []builtPage
	moved map[web.URL]web.URL
}

type builtPage struct {
	url    web.URL
	digest string
	links  []web.URL
}

// NewBuilder begins a graph.
func NewBuilder() *Builder { return &Builder{moved: map[web.URL]web.URL{}} }

// Page adds a page that a crawl can fetch and parse, with the digest of its
// body and the links that a crawl would follow. links may hold addresses that
// are not recorded.
func (b *Builder) Page(u web.URL, digest string, links []web.URL) {
	b.pages = append(b.pages, builtPage{u, digest, links})
}

// Redirect adds an address that is moved to another.
func (b *Builder) Redirect(from, to web.URL) { b.moved[from] = to }

// maxRedirects bounds the redirects followed in a row, as a crawl does.
const maxRedirects = 10

// Graph resolves the links. Pages keep the order in which they were added; of
// two with one address the first counts.
func (b *Builder) Graph() *Graph {
	g := &Graph{number: make(map[web.URL]int32, len(b.pages)), moved: make(map[web.URL]int32, len(b.moved))}
	var kept []builtPage
	bodies := map[string]int32{}
	for _, p := range b.pages {
		if _, twice := g.number[p.url]; twice {
			continue
		}
		body, ok := bodies[p.digest]
		if !ok {
			body = int32(len(bodies))
			bodies[p.digest] = body
		}
		g.number[p.url] = int32(len(g.pages))
		g.pages = append(g.pages, p.url)
		g.body = append(g.body, body)
		g.digest = append(g.digest, p.digest)
		kept = append(kept, p)
	}
	for from := range b.moved {
		to := from
		for range maxRedirects {
			next, ok := b.moved[to]
			if !ok {
				break
			}
			to = next
		}
		if i, ok := g.number[to]; ok {
			g.moved[from] = i
		}
	}
	g.to = make([][]int32, len(kept))
	stamp := make([]int32, len(kept))
	for i, p := range kept {
		stamp[i] = int32(i + 1)
		for _, u := range p.links {
			if j, ok := g.Number(u); ok && stamp[j] != int32(i+1) {
				stamp[j] = int32(i + 1)
				g.to[i] = append(g.to[i], j)
			}
		}
	}
	return g
}

// Len is the number of pages.
func (g *Graph) Len() int { return len(g.pages) }

// Number is the page that an address is, or is moved to.
func (g *Graph) Number(u web.URL) (int32, bool) {
	if i, ok := g.number[u]; ok {
		return i, true
	}
	i, ok := g.moved[u]
	return i, ok
}

// Page is the address of a page.
func (g *Graph) Page(i int32) web.URL { return g.pages[i] }

// Links is the pages a page links to. The caller must not change it.
func (g *Graph) Links(i int32) []int32 { return g.to[i] }

// Documents are the pages that stand for a body each: of pages with equal bodies
// the first. Documents are numbered as they are listed.
func (g *Graph) Documents() []web.URL {
	var out []web.URL
	for i, b := range g.body {
		if int(b) == len(out) {
			out = append(out, g.pages[i])
		}
	}
	return out
}

// Document is the number of a page's body.
func (g *Graph) Document(i int32) int32 { return g.body[i] }

// Revision is a hash of the addresses and bodies of all pages, in 16 hexadecimal
// digits: the same for the same pages, however they were recorded.
func (g *Graph) Revision() string {
	h := xxh3.New()
	for i, u := range g.pages {
		fmt.Fprintf(h, "%s %s\n", u, g.digest[i])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// Reach marks the pages that a crawl can come to from seeds. Shape: [page].
func (g *Graph) Reach(seeds []web.URL) []bool {
	reached := make([]bool, len(g.to))
	var queue []int32
	visit := func(i int32) {
		if !reached[i] {
			reached[i] = true
			queue = append(queue, i)
		}
	}
	for _, u := range seeds {
		if i, ok := g.Number(u); ok {
			visit(i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range g.to[i] {
			visit(j)
		}
	}
	return reached
}

// Distances is how many links lead from each page to the nearest of some, -1
// where none can be reached. Shape: [page].
func (g *Graph) Distances(nearest []int32) []int32 {
	from := make([][]int32, len(g.to)) // [page] pages that link to it
	for i, links := range g.to {
		for _, j := range links {
			from[j] = append(from[j], int32(i))
		}
	}
	out := make([]int32, len(g.to))
	for i := range out {
		out[i] = -1
	}
	var queue []int32
	for _, i := range nearest {
		if out[i] < 0 {
			out[i] = 0
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range from[i] {
			if out[j] < 0 {
				out[j] = out[i] + 1
				queue = append(queue, j)
			}
		}
	}
	return out
}

// Truth makes a truth from addresses, with the bodies that are recorded for
// them.
func (g *Graph) Truth(relevant map[web.URL]bool, shown, hidden []web.URL) Truth {
	t := Truth{Relevant: Set{URLs: relevant}, Shown: NewSet(shown...), Hidden: NewSet(hidden...)}
	return g.complete(t)
}

// complete adds the recorded bodies to the sets of a truth.
func (g *Graph) complete(t Truth) Truth {
	for _, s := range []*Set{&t.Relevant, &t.Shown, &t.Hidden} {
		bodies := make(map[string]bool, len(s.URLs))
		for d := range s.Bodies {
			bodies[d] = true
		}
		for u := range s.URLs {
			if i, ok := g.number[u]; ok {
				bodies[g.digest[i]] = true
			}
		}
		s.Bodies = bodies
	}
	return t
}

// Problem is the task of finding a truth from seeds. A page is a prize exactly
// if fetching it first would be a hit by the rule of Recorder.
func (g *Graph) Problem(truth Truth, seeds []web.URL) *Problem {
	truth = g.complete(truth)
	p := &Problem{To: g.to, Prize: make([]int32, len(g.pages))}
	for _, u := range seeds {
		if i, ok := g.Number(u); ok {
			p.Seeds = append(p.Seeds, i)
		}
	}
	for i, u := range g.pages {
		p.Prize[i] = -1
		if truth.Relevant.Has(u, g.digest[i]) && !truth.Shown.Has(u, g.digest[i]) {
			p.Prize[i] = g.body[i]
		}
	}
	return p
}

// Reference says what was possible on one topic from one set of seeds: all
// that measures need besides the run. Where the truth was read, Reachable, Bound
// and Greedy are estimates.
type Reference struct {
	Reachable float64   // hits of a crawl without a budget
	Hidden    int       // of these, hidden targets
	Bound     []float64 // [n] U(n), n = 0…budget
	Greedy    []float64 // [n] G(n), n = 0…budget
	Breadth   *Run      // breadth-first on the same topic; nil: no measure that needs it

	// The rest is of a truth that was read, and empty for any other.
	//
	// Samples are what was read of the documents that a crawl can come to and that
	// are no seeds or examples, by the grade from which pages count, from 1, and by
	// stratum. Shape: [2][stratum].
	Samples [2][]pool.Sample
	// Known is how many of these documents were read and count, and Unread how many
	// of each stratum were not read. Shape: Unread [stratum].
	Known  float64
	Unread []float64
	// BoundRead and GreedyRead are U and G if no unread page were relevant; BoundSE
	// is how far U differs between the ways in which unread pages may be relevant,
	// as a standard deviation. Shapes: as Bound.
	BoundRead, GreedyRead, BoundSE []float64
}

// Reference works out what was possible within a budget.
func (g *Graph) Reference(truth Truth, seeds []web.URL, budget int) Reference {
	truth = g.complete(truth)
	p := g.Problem(truth, seeds)
	c := p.costs()
	r := Reference{Reachable: float64(p.Reachable()), Bound: floats(p.Bound(budget))}
	hits, _ := p.Greedy(budget)
	r.Greedy = floats(hits)
	seen := map[int32]bool{}
	for i, k := range p.Prize {
		if k >= 0 && c[i] < never && !seen[k] && truth.Hidden.Has(g.pages[i], g.digest[i]) {
			seen[k] = true
			r.Hidden++
		}
	}
	if truth.Reading != nil {
		g.estimate(&r, p, c, truth, budget)
	}
	return r
}

func floats(x []int) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// GraphOptions says what of a web a crawl can walk.
type GraphOptions struct {
	// Types are the media types that a crawl takes, lower case; "*/*" = any
	// that can be parsed. nil = HTML and XHTML.
	Types []string
	// Takes tells instead whether a crawl takes what is recorded for an address; nil = Types
	// says it.
	Takes func(web.URL) (bool, error)
	// Links are the links that a crawl finds on a page; nil = those of the page.
	Links func(*web.Page) ([]web.Link, error)
	// IgnoreDirectives follows the links of pages that ask for it not to be
	// done, as a crawl with this policy does.
	IgnoreDirectives bool
	// Follows tells whether a link is followed: a scope; nil = all are.
	Follows func(from, to web.URL) bool
}

// WebGraph is the graph of a recorded web from its parsed pages: those of the
// types taken with a status of 2xx, and links of every kind, but by default
// none of pages that ask not to be followed. Errors are those of reading a
// redirect, a *store.Damage, and those of the options.
func WebGraph(w *corpus.Web, pages *corpus.Pages, o GraphOptions) (*Graph, error) {
	types := o.Types
	if types == nil {
		types = []string{"text/html", "application/xhtml+xml"}
	}
	any := slices.Contains(types, "*/*")
	b := NewBuilder()
	for u := range w.URLs() {
		if s := w.Status(u); s >= 300 && s < 400 {
			r, err := w.Lookup(u)
			if err != nil {
				return nil, err
			}
			if !r.Location.IsZero() {
				b.Redirect(u, r.Location)
			}
			continue
		} else if s < 200 || s >= 300 {
			continue
		}
		p, ok := pages.Page(u)
		if !ok {
			continue
		}
		taken := any || slices.Contains(types, p.MIME)
		if o.Takes != nil {
			var err error
			if taken, err = o.Takes(u); err != nil {
				return nil, err
			}
		}
		if !taken {
			continue
		}
		var links []web.URL
		if o.IgnoreDirectives || !p.Directives.NoFollow {
			on := p.Links
			if o.Links != nil {
				var err error
				if on, err = o.Links(p); err != nil {
					return nil, err
				}
			}
			for _, l := range on {
				if o.Follows == nil || o.Follows(u, l.URL) {
					links = append(links, l.URL)
				}
			}
		}
		b.Page(u, hex.EncodeToString(p.Digest[:]), links)
	}
	return b.Graph(), nil
}
