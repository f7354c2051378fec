package train

import (
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Layers is the number of layers of the backward graph by default, targets
// included: 0…4.
const Layers = 5

// Node is a page of the training graph.
type Node struct {
	URL web.URL
	// Layer is the layer in which the page was found, 0 for the targets it was
	// begun with; it never changes (D2).
	Layer int
	// State is the least number of links from here to any target, without a
	// bound: a model of k states takes the smaller of it and k−1 (D5).
	State int
	// Target tells whether the page is a target: of layer 0, or so like one of
	// these that it counts as one (D4).
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
}

// Sequence is a walk along the links of a graph towards its targets, the
// training example of every model over hidden states.
type Sequence struct {
	Nodes []int32 // in Graph.Nodes, 2 at least, each once
	Edges []int32 // in Graph.Edges: Edges[i] leads from Nodes[i] to Nodes[i+1]
}
