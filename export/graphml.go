package export

import (
	"bufio"
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"slices"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// hostNode is a host of the graph.
type hostNode struct {
	name     string
	pages    int // fetched
	relevant int
	sum      float64 // of relevances
}

// hostEdge is the links from one host to another.
type hostEdge struct{ from, to int32 }

// edgeFacts counts the links of an edge: each page links to an address once.
type edgeFacts struct{ links, relevant int32 }

// graph is the graph of hosts while it is built: some 30 bytes an edge, and an address for each redirect.
type graph struct {
	nodes []hostNode
	index map[web.Host]int32
	edges map[hostEdge]edgeFacts
	moved map[uint64]web.URL // where redirects lead, by the hash of their addresses
}

// mostHops bounds the redirects that are followed from one link, which may lead in a circle.
const mostHops = 20

// follow is where an address leads by the redirects that the crawl met.
func (g *graph) follow(u web.URL) web.URL {
	for range mostHops {
		to, ok := g.moved[hashOf(u)]
		if !ok {
			break
		}
		u = to
	}
	return u
}

func (g *graph) node(h web.Host) int32 {
	i, ok := g.index[h]
	if !ok {
		i = int32(len(g.nodes))
		g.index[h] = i
		g.nodes = append(g.nodes, hostNode{name: string(h)})
	}
	return i
}

// writeGraphML writes the directed graph of hosts. Nodes are hosts that gave a page or
// are linked to from one; an edge counts the links between two hosts, and those that
// lead to relevant pages. A link that is redirected leads to the host whose page came.
//
// Source: the GraphML primer, graphml.graphdrawing.org.
func writeGraphML(ctx context.Context, in *Input, out io.Writer) error {
	s, err := in.look(ctx)
	if err != nil {
		return err
	}
	var holes gaps
	g := graph{index: map[web.Host]int32{}, edges: map[hostEdge]edgeFacts{}, moved: map[uint64]web.URL{}}
	relevant := map[uint64]bool{}
	for i, c := range in.Collections {
		number := -1
		for e, err := range c.Visits() {
			if err != nil {
				continue // it is told below
			}
			if f, ok := e.(event.Failed); ok && !f.To.IsZero() {
				g.moved[hashOf(f.URL)] = f.To
			}
			p, page := e.(event.Fetched)
			if !page {
				continue
			}
			number++
			delete(g.moved, hashOf(p.URL))
			if at, ok := s.wanted(in, i, p.URL); ok && at == number && p.Relevant && p.Reason == "" {
				relevant[hashOf(p.URL)] = true
			}
		}
	}
	for f, err := range in.pages(ctx, s, &holes) {
		if err != nil {
			return err
		}
		from := g.node(f.URL.Host())
		n := &g.nodes[from]
		n.pages++
		n.sum += f.Relevance
		if relevant[hashOf(f.URL)] {
			n.relevant++
		}
		reached := map[web.URL]bool{}
		for _, u := range targets(f) {
			if s.left(in, u) {
				continue
			}
			u = g.follow(u)
			if u.Host() == f.URL.Host() || reached[u] || s.left(in, u) {
				continue
			}
			reached[u] = true
			e := hostEdge{from, g.node(u.Host())}
			facts := g.edges[e]
			facts.links++
			if relevant[hashOf(u)] {
				facts.relevant++
			}
			g.edges[e] = facts
		}
	}
	if err := g.write(out, in.title(s)); err != nil {
		return err
	}
	return holes.err()
}

// targets are the addresses that a page links to, each once.
func targets(f *found) (out []web.URL) {
	seen := map[web.URL]bool{}
	add := func(u web.URL) {
		if !seen[u] {
			seen[u] = true
			out = append(out, u)
		}
	}
	if f.Page != nil {
		for _, l := range f.Page.Links {
			add(l.URL)
		}
	}
	for _, q := range f.Queued {
		add(q.URL)
	}
	for _, x := range f.Skipped {
		add(x.URL)
	}
	return out
}

func (g *graph) write(out io.Writer, title string) error {
	w := bufio.NewWriter(out)
	io.WriteString(w, xml.Header+`<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <desc>`+escaped(title)+`</desc>
  <key id="label" for="node" attr.name="label" attr.type="string"/>
  <key id="pages" for="node" attr.name="pages" attr.type="int"/>
  <key id="relevant" for="node" attr.name="relevant" attr.type="int"/>
  <key id="relevance" for="node" attr.name="mean relevance" attr.type="double"/>
  <key id="links" for="edge" attr.name="weight" attr.type="int"/>
  <key id="to-relevant" for="edge" attr.name="links to relevant pages" attr.type="int"/>
  <graph id="hosts" edgedefault="directed">
`)
	for i, n := range g.nodes {
		fmt.Fprintf(w, "    <node id=\"h%d\"><data key=\"label\">%s</data><data key=\"pages\">%d</data><data key=\"relevant\">%d</data>", i, escaped(n.name), n.pages, n.relevant)
		if n.pages > 0 {
			fmt.Fprintf(w, "<data key=\"relevance\">%.4f</data>", n.sum/float64(n.pages))
		}
		fmt.Fprintln(w, "</node>")
	}
	edges := make([]hostEdge, 0, len(g.edges))
	for e := range g.edges {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b hostEdge) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for _, e := range edges {
		facts := g.edges[e]
		fmt.Fprintf(w, "    <edge source=\"h%d\" target=\"h%d\"><data key=\"links\">%d</data><data key=\"to-relevant\">%d</data></edge>\n", e.from, e.to, facts.links, facts.relevant)
	}
	io.WriteString(w, "  </graph>\n</graphml>\n")
	return w.Flush()
}

// escaped is untrusted text as the content of an XML element.
func escaped(s string) string {
	var b escapeBuffer
	xml.EscapeText(&b, []byte(event.Line(s))) // the buffer takes everything
	return string(b)
}

type escapeBuffer []byte

func (b *escapeBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
