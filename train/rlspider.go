package train

import "math"

// linkValues returns Q of each edge of a graph: the discounted sum of rewards
// of a crawl that follows the link and then, from what it finds there, goes
// for targets in the best order. A target is worth 1 when it is fetched, and
// each fetch after the link's own takes one step:
//
//	Q(u→v) = Σ_t γ^t·[the page fetched at step t is a target],   t = 0 for v
//
// The page u has been fetched, so it is worth nothing, and nothing is found
// there: its other links have values of their own.
//
// The best order is a walk that spans the targets, and as hard to find. The
// approximation goes for the nearest target that is left, counted in links
// from anything fetched so far, and takes in the pages on the way; with γ = ½
// a target one step later is worth half, so nearest first is close. Steps
// worth less than a thousandth are left out.
//
// Source: Rennie & McCallum, Using Reinforcement Learning to Spider the Web
// Efficiently, 1999, section 4.
//
// Shape: [len(g.Edges)], in [0, 1/(1−γ)].
func linkValues(g *Graph, gamma float64) []float64 {
	w := newWalker(g, gamma)
	// The order from v is the same for all links that lead to it, but where it
	// would use the page that holds the link.
	type known struct {
		value   float64
		fetched []int32
	}
	from := make(map[int32]known)
	out := make([]float64, len(g.Edges))
	for i, e := range g.Edges {
		k, ok := from[e.To]
		if !ok {
			k.value = w.value(-1, e.To)
			k.fetched = append(k.fetched, w.fetched...)
			from[e.To] = k
		}
		out[i] = k.value
		for _, n := range k.fetched {
			if n == e.From {
				out[i] = w.value(e.From, e.To)
				break
			}
		}
	}
	return out
}

// leastStep is what a step must be worth at least.
const leastStep = 1e-3

// walker plays the order of one link at a time.
type walker struct {
	g     *Graph
	gamma float64
	steps int     // that are worth leastStep
	first []int32 // [nodes+1]: edges of a node are g.Edges[first[n]:first[n+1]]

	fetched []int32
	is      []bool  // [nodes] fetched
	seen    []int32 // [nodes] number of the search that last met a node
	back    []int32 // [nodes] where that search came from
	search  int32
	queue   []int32
}

func newWalker(g *Graph, gamma float64) *walker {
	w := &walker{g: g, gamma: gamma, first: make([]int32, len(g.Nodes)+1)}
	for _, e := range g.Edges {
		w.first[e.From+1]++
	}
	for n := range g.Nodes {
		w.first[n+1] += w.first[n]
	}
	if gamma > 0 {
		w.steps = int(math.Log(leastStep) / math.Log(gamma))
	}
	w.is = make([]bool, len(g.Nodes))
	w.seen = make([]int32, len(g.Nodes))
	w.back = make([]int32, len(g.Nodes))
	return w
}

// value is Q of a link from u to v; u is −1 for none.
func (w *walker) value(u, v int32) float64 {
	for _, n := range w.fetched {
		w.is[n] = false
	}
	w.fetched = w.fetched[:0]
	w.take(v)
	q, t := 0., 0
	if w.g.Nodes[v].Target {
		q = 1
	}
	for {
		target, hops := w.nearest(u, w.steps-t)
		if target < 0 {
			return q
		}
		t += hops
		q += math.Pow(w.gamma, float64(t))
		for n := target; !w.is[n]; n = w.back[n] {
			w.take(n)
		}
	}
}

func (w *walker) take(n int32) {
	w.is[n] = true
	w.fetched = append(w.fetched, n)
}

// nearest finds the target not yet fetched that is fewest links, most at most,
// from anything fetched, not by way of u; −1 when there is none.
func (w *walker) nearest(u int32, most int) (target int32, hops int) {
	w.search++
	w.queue = append(w.queue[:0], w.fetched...)
	for _, n := range w.queue {
		w.seen[n] = w.search
	}
	if u >= 0 {
		w.seen[u] = w.search
	}
	for begin := 0; begin < len(w.queue) && hops < most; {
		end := len(w.queue)
		hops++
		for ; begin < end; begin++ {
			n := w.queue[begin]
			for _, e := range w.g.Edges[w.first[n]:w.first[n+1]] {
				if w.seen[e.To] == w.search {
					continue
				}
				w.seen[e.To], w.back[e.To] = w.search, n
				if w.g.Nodes[e.To].Target {
					return e.To, hops
				}
				w.queue = append(w.queue, e.To)
			}
		}
	}
	return -1, 0
}
