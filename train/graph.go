package train

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Layers is the number of layers of the backward graph by default, targets
// included: 0…4.
const Layers = 5

// Node is a page of the training graph.
type Node struct {
	URL web.URL
	// Layer is the layer in which the page was found, 0 for the targets that the
	// collection began with. It never changes.
	Layer int
	// State is the least number of links from here to any target, without a
	// bound: a model of k states takes the smaller of it and k−1 (section 3.2).
	State int
	// Target tells whether the page is a target: in layer 0, or so similar to one
	// of these that it counts as one.
	Target bool
	Page   *web.Page
}

// Edge is a link from one page of the graph to another; there is one at most
// in each direction, and none from a page to itself.
type Edge struct {
	From, To int32     // in Graph.Nodes
	Link     *web.Link // the first of From.Page.Links that leads to To
}

// Graph is the layered web around the targets of a topic, as found by going
// back along links. It is not changed once collected.
type Graph struct {
	// Topic is what the graph was collected for. Its examples are the pages of
	// layer 0.
	Topic  *topic.Topic
	Nodes  []Node // by layer, in the order they were found
	Edges  []Edge // by From, then by the place of their link on the page
	Layers int    // that were asked for
	// Canon are the rules by which the links of the pages were read; read by
	// others they may lead elsewhere.
	Canon web.Canon
	// Found counts what was met on the way; zero for a graph read from a folder.
	Found Found

	// moved maps addresses in links to the page of the graph that they lead to,
	// where that page has another address.
	moved map[web.URL]web.URL
}

// Sequence is a walk along the links of a graph towards its targets, the
// training example of every model over hidden states.
type Sequence struct {
	Nodes []int32 // in Graph.Nodes, 2 at least, each once
	Edges []int32 // in Graph.Edges: Edges[i] leads from Nodes[i] to Nodes[i+1]
}

// Labels are the states of a sequence's pages in a model of k states:
// min(State, k−1).
func (g *Graph) Labels(s Sequence, k int) []int {
	labels := make([]int, len(s.Nodes))
	for i, n := range s.Nodes {
		labels[i] = min(g.Nodes[n].State, k-1)
	}
	return labels
}

// LayerSizes counts the nodes of each layer. [Layers]
func (g *Graph) LayerSizes() []int {
	sizes := make([]int, g.Layers)
	for _, n := range g.Nodes {
		sizes[n.Layer]++
	}
	return sizes
}

// A graph of fewer targets or pages than these is less than the models of
// docs/results were made of, and even those were behind best-first-both on most
// topics.
const (
	fewTargets = 20
	fewPages   = 300
)

// Doubt says, for people, why a model of the graph may be worth little; "" if its
// size gives no reason to think so.
func (g *Graph) Doubt() string {
	targets := 0
	for _, n := range g.Nodes {
		if n.Layer == 0 {
			targets++
		}
	}
	if targets >= fewTargets && len(g.Nodes) >= fewPages {
		return ""
	}
	around := fmt.Sprintf("%d targets", targets)
	if targets == 1 {
		around = "one target"
	}
	return fmt.Sprintf("%d pages around %s are little to learn from: with fewer than %d targets or %d pages a model may well do worse than best-first-both, which needs none. Collect from more targets, or compare the two in a lab",
		len(g.Nodes), around, fewTargets, fewPages)
}

// StateSizes counts the nodes of each state of a model of k states. [k]
func (g *Graph) StateSizes(k int) []int {
	sizes := make([]int, k)
	for _, n := range g.Nodes {
		sizes[min(n.State, k-1)]++
	}
	return sizes
}

// Digest is a SHA-256 of the graph and of sequences: two training sets with
// the same digest are the same.
func (g *Graph) Digest(sequences []Sequence) [32]byte {
	h := sha256.New()
	word := func(v int64) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(v))) } // a hash takes everything
	text := func(s string) {
		word(int64(len(s)))
		h.Write([]byte(s))
	}
	text(g.Topic.Description)
	word(int64(len(g.Topic.Keywords)))
	for _, k := range g.Topic.Keywords {
		text(k)
	}
	word(int64(len(g.Nodes)))
	for _, n := range g.Nodes {
		text(n.URL.String())
		word(int64(n.Layer))
		word(int64(n.State))
		h.Write(n.Page.Digest[:])
	}
	word(int64(len(g.Edges)))
	for _, e := range g.Edges {
		word(int64(e.From))
		word(int64(e.To))
	}
	word(int64(len(sequences)))
	for _, s := range sequences {
		word(int64(len(s.Nodes)))
		for _, n := range s.Nodes {
			word(int64(n))
		}
	}
	return [32]byte(h.Sum(nil))
}

// complete computes, from nodes and targets, the edges between any two nodes, in
// both directions, and the states. lead tells the page that a link leads to.
func (g *Graph) complete(lead func(web.URL) web.URL) {
	number := make(map[web.URL]int32, len(g.Nodes))
	for i, n := range g.Nodes {
		number[n.URL] = int32(i)
	}
	g.Edges, g.moved = nil, map[web.URL]web.URL{}
	stamp := make([]int, len(g.Nodes)) // 1 + the last node that was seen to link here
	for i, n := range g.Nodes {
		stamp[i] = i + 1
		for l := range n.Page.Links {
			link := &n.Page.Links[l]
			at := lead(link.URL)
			j, ok := number[at]
			if !ok {
				continue
			}
			if at != link.URL {
				g.moved[link.URL] = at
			}
			if stamp[j] != i+1 {
				stamp[j] = i + 1
				g.Edges = append(g.Edges, Edge{From: int32(i), To: j, Link: link})
			}
		}
	}
	g.relabel()
}

// relabel gives each node its state: the least number of links to a target, by
// breadth-first search from all targets at once, against the links. A node
// without a path to any target is one link farther than the farthest that has one.
func (g *Graph) relabel() {
	from := make([][]int32, len(g.Nodes)) // [node] nodes that link to it
	for _, e := range g.Edges {
		from[e.To] = append(from[e.To], e.From)
	}
	var queue []int32
	for i := range g.Nodes {
		g.Nodes[i].State = -1
		if g.Nodes[i].Target {
			g.Nodes[i].State = 0
			queue = append(queue, int32(i))
		}
	}
	far := 0
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		far = g.Nodes[i].State
		for _, j := range from[i] {
			if g.Nodes[j].State < 0 {
				g.Nodes[j].State = g.Nodes[i].State + 1
				queue = append(queue, j)
			}
		}
	}
	for i := range g.Nodes {
		if g.Nodes[i].State < 0 {
			g.Nodes[i].State = far + 1
		}
	}
}

// markSimilar makes a target of every node whose cosine to some page of layer 0
// is at least similar. The weight of a term is how often it occurs:
//
//	cos(p, d) = Σ_k w_pk w_dk / √(Σ_k w_pk² Σ_k w_dk²)
func (g *Graph) markSimilar(similar float64) {
	type posting struct {
		target int32
		weight float64 // w_dk / |d|
	}
	postings := map[string][]posting{}
	targets := int32(0)
	for _, n := range g.Nodes {
		if n.Layer > 0 {
			continue
		}
		length := norm(n.Page.Terms)
		for _, t := range n.Page.Terms {
			if length > 0 {
				postings[t.Text] = append(postings[t.Text], posting{targets, float64(t.Body) / length})
			}
		}
		targets++
	}
	dot := make([]float64, targets)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Target = n.Layer == 0; n.Target {
			continue
		}
		clear(dot)
		for _, t := range n.Page.Terms {
			for _, p := range postings[t.Text] {
				dot[p.target] += float64(t.Body) * p.weight
			}
		}
		if length := norm(n.Page.Terms); length > 0 && len(dot) > 0 {
			// Rounding must not cost a page that is equal its cosine of 1.
			n.Target = slices.Max(dot)/length >= similar-1e-12
		}
	}
}

func norm(terms []web.Term) float64 {
	sum := 0.0
	for _, t := range terms {
		sum += float64(t.Body) * float64(t.Body)
	}
	return math.Sqrt(sum)
}

// edge is the number of the edge between two nodes.
func (g *Graph) edge(from, to int32) (int32, bool) {
	i, _ := slices.BinarySearchFunc(g.Edges, from, func(e Edge, from int32) int { return cmp.Compare(e.From, from) })
	for ; i < len(g.Edges) && g.Edges[i].From == from; i++ {
		if g.Edges[i].To == to {
			return int32(i), true
		}
	}
	return 0, false
}
