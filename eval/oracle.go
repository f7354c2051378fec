package eval

import (
	"math"
	"slices"
)

// Problem is a crawl as an oracle sees it: the whole web and the worth of each
// page. Pages are numbered 0…V−1; redirects are resolved, so that an edge leads
// from a page to a page, and what a crawl cannot fetch is no page.
type Problem struct {
	To    [][]int32 // [page] the pages it links to
	Seeds []int32
	// Prize is the number of the hit that fetching a page can be, -1 for none. Copies
	// of one page share a number: the first of them to be fetched is the hit.
	Prize []int32
}

// never is the cost of a page that cannot be reached.
const never = math.MaxInt32

// costs returns c(v): the fewest pages without a prize on any path from a seed
// to v, both ends included, so a seed counts as the crawl's budget counts it.
// It is a 0-1 breadth-first search: O(V+E).
func (p *Problem) costs() []int32 {
	c := make([]int32, len(p.To))
	for v := range c {
		c[v] = never
	}
	// Level k holds the pages of cost k; those of the next one wait.
	var level, next []int32
	enter := func(v int32, k int32) {
		if p.Prize[v] >= 0 {
			if k < c[v] {
				c[v] = k
				level = append(level, v)
			}
		} else if k+1 < c[v] {
			c[v] = k + 1
			next = append(next, v)
		}
	}
	for _, v := range p.Seeds {
		enter(v, 0)
	}
	for k := int32(0); len(level)+len(next) > 0; k++ {
		for len(level) > 0 {
			v := level[len(level)-1]
			level = level[:len(level)-1]
			if c[v] != k {
				continue // reached for less since
			}
			for _, w := range p.To[v] {
				enter(w, k)
			}
		}
		level, next = next, level
	}
	return c
}

// Reachable counts the prizes that some crawl without a budget would find.
func (p *Problem) Reachable() int {
	c := p.costs()
	seen := map[int32]bool{}
	for v, prize := range p.Prize {
		if prize >= 0 && c[v] < never {
			seen[prize] = true
		}
	}
	return len(seen)
}

// Bound returns U(0)…U(budget): no crawl of n pages finds more than U(n).
//
// To hold a set of prizes a crawl has fetched at least max c(v) pages without
// one, so
//
//	U(n) = max_k min( |{prizes whose cheapest page has c(v) ≤ k}|, n−k )
//
// The exact optimum is NP-hard. A bound need not be reachable: the truth lies
// between Greedy and it.
func (p *Problem) Bound(budget int) []int {
	c := p.costs()
	cheapest := map[int32]int32{}
	deepest := int32(0)
	for v, prize := range p.Prize {
		if prize < 0 || c[v] == never {
			continue
		}
		if k, ok := cheapest[prize]; !ok || c[v] < k {
			cheapest[prize] = c[v]
		}
	}
	for _, k := range cheapest {
		deepest = max(deepest, k)
	}
	within := make([]int, deepest+1) // [k] prizes of cost ≤ k
	for _, k := range cheapest {
		within[k]++
	}
	for k := 1; k < len(within); k++ {
		within[k] += within[k-1]
	}
	u := make([]int, budget+1)
	for n := range u {
		for k := 0; k < len(within) && k <= n; k++ {
			u[n] = max(u[n], min(within[k], n-k))
		}
	}
	return u
}

// Greedy returns G(0)…G(budget), the hits of a crawl that knows everything and
// plans one trip at a time, and the pages in its order. It is a policy that
// could be followed, so G(n) ≤ optimum(n) ≤ U(n).
//
// A prize in the frontier is taken at once. When none is left, the crawl goes
// by the path that brings most prizes per fetch to a page that links to prizes:
//
//	gain(u) / (d(u) + gain(u)),  d(u) = pages without a prize on the path to u
//
// where gain(u) counts the prizes u links to that are still to be had. Ties go
// to the shorter path, then to the smaller number. Distances only shrink as the
// crawl goes on, and are kept up to date instead of being computed anew.
func (p *Problem) Greedy(budget int) (hits []int, order []int32) {
	g := newGreedy(p)
	hits = make([]int, 1, budget+1)
	found := 0
	fetch := func(v int32) bool {
		if len(order) == budget {
			return false
		}
		if g.fetch(v) {
			found++
		}
		order = append(order, v)
		hits = append(hits, found)
		return true
	}
	for len(order) < budget {
		if v, ok := g.ready(); ok {
			fetch(v)
			continue
		}
		path := g.trip()
		if path == nil {
			break
		}
		for _, v := range path {
			if !fetch(v) {
				break
			}
		}
	}
	for len(hits) <= budget {
		hits = append(hits, found)
	}
	return hits, order
}

// greedy is the state of Greedy.
//
// A page is worth something while its prize is open. dist and via describe the
// cheapest path from what is fetched: dist counts its pages that are worth
// nothing, itself included.
type greedy struct {
	*Problem
	from   [][]int32 // [page] the pages that link to it, once each
	links  [][]int32 // [page] Problem.To, once each
	copies map[int32][]int32
	done   []bool
	taken  map[int32]bool
	dist   []int32
	via    []int32 // -1 at the frontier
	gain   []int32 // [page] open prizes it links to
	open   []int32 // frontier pages that may be worth something, as a stack
	hubs   []int32 // pages that had a gain, by number
	queue  []int32
}

func newGreedy(p *Problem) *greedy {
	n := len(p.To)
	g := &greedy{
		Problem: p, from: make([][]int32, n), links: make([][]int32, n), copies: map[int32][]int32{},
		done: make([]bool, n), taken: map[int32]bool{}, dist: make([]int32, n), via: make([]int32, n), gain: make([]int32, n),
	}
	stamp, prizeStamp := make([]int32, n), map[int32]int32{}
	for v := range p.To {
		g.dist[v], g.via[v] = never, -1
		if k := p.Prize[v]; k >= 0 {
			g.copies[k] = append(g.copies[k], int32(v))
		}
		mark := int32(v + 1)
		stamp[v] = mark // a page that links to itself gains nothing
		for _, w := range p.To[v] {
			if stamp[w] == mark {
				continue
			}
			stamp[w] = mark
			g.links[v] = append(g.links[v], w)
			g.from[w] = append(g.from[w], int32(v))
			if k := p.Prize[w]; k >= 0 && prizeStamp[k] != mark {
				prizeStamp[k] = mark
				g.gain[v]++
			}
		}
		if g.gain[v] > 0 {
			g.hubs = append(g.hubs, int32(v))
		}
	}
	for _, v := range p.Seeds {
		g.reach(v, 0, -1)
	}
	g.spread()
	return g
}

// worth tells whether fetching v would be a hit.
func (g *greedy) worth(v int32) bool {
	k := g.Prize[v]
	return k >= 0 && !g.taken[k]
}

// reach notes a path to v by way of u whose pages before v cost d.
func (g *greedy) reach(v, d, u int32) {
	if g.done[v] {
		return
	}
	if !g.worth(v) {
		d++
	}
	if d < g.dist[v] || d == g.dist[v] && u < 0 && g.via[v] >= 0 {
		g.dist[v], g.via[v] = d, u
		g.queue = append(g.queue, v)
		if u < 0 && g.worth(v) {
			g.open = append(g.open, v)
		}
	}
}

// spread carries shorter distances on.
func (g *greedy) spread() {
	for len(g.queue) > 0 {
		v := g.queue[0]
		g.queue = g.queue[1:]
		for _, w := range g.links[v] {
			g.reach(w, g.dist[v], v)
		}
	}
	g.queue = nil
}

// ready returns a page of the frontier that is a hit.
func (g *greedy) ready() (int32, bool) {
	for len(g.open) > 0 {
		v := g.open[len(g.open)-1]
		g.open = g.open[:len(g.open)-1]
		if !g.done[v] && g.worth(v) {
			return v, true
		}
	}
	return 0, false
}

// fetch takes a page of the frontier; it tells whether it was a hit.
func (g *greedy) fetch(v int32) bool {
	hit := g.worth(v)
	g.done[v] = true
	if hit {
		k := g.Prize[v]
		// Pages that linked to any copy of it have one prize less before them.
		counted := map[int32]bool{}
		for _, c := range g.copies[k] {
			for _, u := range g.from[c] {
				if !counted[u] {
					counted[u] = true
					g.gain[u]--
				}
			}
		}
		g.taken[k] = true
	}
	for _, w := range g.links[v] {
		g.reach(w, 0, -1)
	}
	g.spread()
	return hit
}

// trip returns the best path from the frontier, nil when no prize can be
// reached. A copy of what has been taken keeps the distance it had while it was
// worth something: the ratio of a path through it is a little too good, so the
// choice, never the count, is a little worse.
func (g *greedy) trip() []int32 {
	best, bestGain, bestDist := int32(-1), int32(0), int32(1)
	keep := g.hubs[:0]
	for _, u := range g.hubs {
		if g.done[u] || g.gain[u] == 0 {
			continue
		}
		keep = append(keep, u)
		d, n := g.dist[u], g.gain[u]
		if d == never {
			continue
		}
		// n/(d+n) > bestGain/(bestDist+bestGain)  ⇔  n·bestDist > bestGain·d
		l, r := int64(n)*int64(bestDist), int64(bestGain)*int64(d)
		if l > r || l == r && best >= 0 && d < bestDist {
			best, bestGain, bestDist = u, n, d
		}
	}
	g.hubs = keep
	if best < 0 {
		return nil
	}
	var path []int32
	for v := best; ; v = g.via[v] {
		path = append(path, v)
		if u := g.via[v]; u < 0 || g.done[u] {
			break
		}
	}
	slices.Reverse(path)
	return path
}
