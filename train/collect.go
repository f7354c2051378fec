package train

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Inlinks knows which pages link to a page.
type Inlinks interface {
	// Inlinks names, for each page of a layer, pages that are said to link to
	// it: at most limit of them, those to be tried first in front, each once.
	// The answer has the length of layer. Errors end the collection.
	Inlinks(ctx context.Context, layer []web.URL, limit int) ([]InlinkList, error)
}

// InlinkList is what is known of the in-links of a page.
type InlinkList struct {
	Pages []web.URL
	// Cut says that there were more to be told, within the limit, than the
	// provider would wait for.
	Cut bool
}

// Source brings pages. It is safe for concurrent use.
type Source interface {
	// Page is the page that u holds or, where u has moved, leads to: then the
	// page's URL is another. The error wraps ErrNoPage where there is none to
	// be had; any other ends the collection.
	Page(ctx context.Context, u web.URL) (*web.Page, error)
	// Resolve is the address that u is known to lead to; u itself mostly.
	Resolve(u web.URL) web.URL
}

// ErrNoPage is wrapped by the errors of a Source for an address that brings no
// page: not recorded, forbidden, an error, no document.
var ErrNoPage = errors.New("no page")

// Errors of Collect that a user can mend.
var (
	ErrNoTargets = errors.New("none of the targets can be had")
	ErrNoInlinks = errors.New("no page was found that links to a target")
)

// CollectOptions say how a graph is collected. The zero value of a field is its
// default, which is the paper's.
type CollectOptions struct {
	Layers     int     // targets included, 2…100; default 5
	LayerNodes int     // most nodes a layer; default 600
	Similar    float64 // cosine from which a page is a target as well; default 0.8, above 1 for none
	// Fill lets in-links that are in the graph already not count towards a
	// page's share, so that layers fill up where pages are densely linked; as
	// printed they count.
	Fill bool
	// Keep tells which addresses may enter the graph; nil = all.
	Keep func(web.URL) bool
	// IgnoreDirectives takes pages that ask not to be kept or followed.
	IgnoreDirectives bool
	// Canon are the rules by which the source reads the links of its pages; they
	// are kept with the graph.
	Canon web.Canon
	// Backlinks are those of the record that FromRecord reads, where they are
	// made already; nil makes them.
	Backlinks *Backlinks
	// Seed chooses among the in-links of a recorded web.
	Seed uint64
	// Workers is the number of pages asked for at a time; 0 = one a core.
	Workers int
	// Progress is told of the nodes found, of how many at most, and what is
	// going on; it may be nil. One goroutine calls it.
	Progress func(done, total int, note string)
}

// Found counts what a collection met.
type Found struct {
	// Lost says of each target that could not be had, or kept, why.
	Lost    []string `json:"lost,omitempty"`
	Named   int      `json:"named"`   // in-links named by the provider
	Known   int      `json:"known"`   // of these, tried and in the graph already
	NoPage  int      `json:"no_page"` // tried, and no page was there
	Refused int      `json:"refused"` // not to be kept, by Keep or by the page's own wish
	NoLink  int      `json:"no_link"` // pages that do not link where they were said to
	Similar int      `json:"similar"` // nodes made targets by their similarity
	// Cut are the pages whose in-links were not told to the end (Named.Cut).
	Cut []web.URL `json:"cut,omitempty"`
}

// Check tells whether Collect takes the options.
func (o CollectOptions) Check() error {
	_, err := o.withDefaults()
	return err
}

func (o CollectOptions) withDefaults() (CollectOptions, error) {
	if o.Layers == 0 {
		o.Layers = Layers
	}
	if o.LayerNodes == 0 {
		o.LayerNodes = 600
	}
	if o.Similar == 0 {
		o.Similar = 0.8
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	switch {
	case o.Layers < 2 || o.Layers > 100:
		return o, fmt.Errorf("%d layers: give 2 (targets and their in-links) to 100", o.Layers)
	case o.LayerNodes < 1 || o.LayerNodes > 1_000_000:
		return o, fmt.Errorf("%d nodes a layer: give 1 to 1,000,000", o.LayerNodes)
	case !(o.Similar > 0):
		return o, fmt.Errorf("a cosine of %v makes every page a target: give a number above 0; the paper has 0.8", o.Similar)
	}
	return o, nil
}

// Collect builds the layered web around targets (section 3.1). Layer 0 holds the
// targets, and layer i+1 pages that link to one of layer i and are not in the
// graph yet. The graph is a function of what in and src answer and of o.
//
// Of the n pages of a layer each may add at most LayerNodes/n in-links, at least
// one, and a layer ends at LayerNodes. An in-link that is in the graph already
// counts towards that share, unless o.Fill. One that brings no page, may not be
// kept or does not contain the link is replaced by the next. Of more targets than
// LayerNodes the last ones are left out.
//
// t gives name, description and keywords; the graph's own topic has the pages
// of layer 0 for examples. The error wraps ErrNoTargets or ErrNoInlinks, or is
// of in, src or ctx. Deeper layers may stay empty: then every page known to lead
// to the targets is in the graph.
func Collect(ctx context.Context, t *topic.Topic, targets []web.URL, in Inlinks, src Source, o CollectOptions) (*Graph, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &collector{in: in, src: src, o: o, number: map[web.URL]int32{}}
	c.g = &Graph{Layers: o.Layers, Canon: o.Canon}
	if err := c.targets(ctx, targets); err != nil {
		return nil, err
	}
	top := *t
	top.Examples = nil
	for _, n := range c.g.Nodes {
		top.Examples = append(top.Examples, n.Page)
	}
	c.g.Topic = &top
	begin := 0
	for layer := 1; layer < o.Layers; layer++ {
		end := len(c.g.Nodes)
		if begin == end {
			break
		}
		if err := c.layer(ctx, layer, begin, end); err != nil {
			return nil, err
		}
		begin = end
	}
	c.g.markSimilar(o.Similar)
	c.g.complete(src.Resolve)
	for _, n := range c.g.Nodes {
		if n.Target && n.Layer > 0 {
			c.g.Found.Similar++
		}
	}
	if len(c.g.Nodes) == len(top.Examples) {
		return nil, fmt.Errorf("%w: %s", ErrNoInlinks, c.whyEmpty())
	}
	return c.g, nil
}

// collector is a collection at work.
type collector struct {
	g      *Graph
	in     Inlinks
	src    Source
	o      CollectOptions
	number map[web.URL]int32
}

// try is an address that was asked for.
type try struct {
	node int32 // of the page it is said to link to
	url  web.URL
	page *web.Page
	err  error // wraps ErrNoPage
}

// fetch asks for the pages of tries, several at a time.
func (c *collector) fetch(ctx context.Context, tries []try) error {
	eg, group := errgroup.WithContext(ctx)
	eg.SetLimit(c.o.Workers)
	for i := range tries {
		t := &tries[i]
		if group.Err() != nil {
			break
		}
		eg.Go(func() error {
			t.page, t.err = c.src.Page(group, t.url)
			if t.err != nil && !errors.Is(t.err, ErrNoPage) {
				return t.err
			}
			return nil
		})
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func (c *collector) keeps(u web.URL) bool { return c.o.Keep == nil || c.o.Keep(u) }

// wanted tells whether a page may be kept by its own wishes. Links of pages that
// ask for them not to be followed are none that a crawl goes along.
func (c *collector) wanted(p *web.Page, layer int) bool {
	d := p.Directives
	return c.o.IgnoreDirectives || !d.NoIndex && !d.NoArchive && !(d.NoFollow && layer > 0)
}

// targets makes layer 0.
func (c *collector) targets(ctx context.Context, targets []web.URL) error {
	var tries []try
	asked := map[web.URL]bool{}
	var reasons []error
	lose := func(why error) {
		reasons = append(reasons, why)
		c.g.Found.Lost = append(c.g.Found.Lost, why.Error())
	}
	for _, u := range targets {
		if asked[u] || len(tries) == c.o.LayerNodes {
			continue
		}
		asked[u] = true
		if !c.keeps(u) {
			lose(fmt.Errorf("%s is on a host that is left out", u))
			continue
		}
		tries = append(tries, try{url: u})
	}
	if err := c.fetch(ctx, tries); err != nil {
		return err
	}
	for _, t := range tries {
		switch {
		case t.err != nil:
			lose(t.err)
		case !c.keeps(t.page.URL):
			lose(fmt.Errorf("%s leads to %s, which is on a host that is left out", t.url, t.page.URL))
		case !c.wanted(t.page, 0):
			lose(fmt.Errorf("%s asks not to be kept", t.url))
		case len(t.page.Terms) == 0:
			lose(fmt.Errorf("%s holds no words", t.url))
		default:
			c.add(t.page, 0)
		}
	}
	if len(c.g.Nodes) > 0 {
		return nil
	}
	if len(reasons) == 0 {
		return fmt.Errorf("%w: none is given", ErrNoTargets)
	}
	if len(reasons) > 3 {
		reasons = append(reasons[:3], fmt.Errorf("and %d more", len(reasons)-3))
	}
	return fmt.Errorf("%w:\n%w", ErrNoTargets, errors.Join(reasons...))
}

// add makes a node of a page, unless it is one.
func (c *collector) add(p *web.Page, layer int) (added bool) {
	if _, known := c.number[p.URL]; known {
		return false
	}
	c.number[p.URL] = int32(len(c.g.Nodes))
	c.g.Nodes = append(c.g.Nodes, Node{URL: p.URL, Layer: layer, Page: p})
	return true
}

// layer finds the pages of a layer, those that link to the nodes begin…end−1.
//
// It goes in rounds. In each, every page that has not had its share of in-links
// tries as many more as it lacks; all tries of a round are fetched side by side
// and then taken in order, so that the speed of servers decides nothing.
func (c *collector) layer(ctx context.Context, layer, begin, end int) error {
	// Section 3.1 gives 600/|layer i|; here as integers, and at least 1.
	share := max(1, c.o.LayerNodes/(end-begin))
	room := c.o.LayerNodes
	note := fmt.Sprintf("layer %d of 1…%d", layer, c.o.Layers-1)
	c.o.Progress(len(c.g.Nodes), c.o.Layers*c.o.LayerNodes, note+": who links here")
	asked := make([]web.URL, end-begin)
	for i := range asked {
		asked[i] = c.g.Nodes[begin+i].URL
	}
	// Some of what is named brings nothing, so more is asked for than needed.
	limit := 4*share + 16
	if c.o.Fill {
		limit = max(limit, 500)
	}
	named, err := c.in.Inlinks(ctx, asked, limit)
	if err != nil {
		return err
	}
	if len(named) != len(asked) {
		return fmt.Errorf("the provider of in-links answered for %d pages of %d", len(named), len(asked))
	}
	taken := make([]int, len(asked)) // in-links of each page, out of share
	for i := range named {
		c.g.Found.Named += len(named[i].Pages)
		if named[i].Cut {
			c.g.Found.Cut = append(c.g.Found.Cut, asked[i])
		}
	}
	gone := map[web.URL]bool{} // tried in this layer, and no page
	for room > 0 {
		var tries []try
		for i := range named {
			for n := taken[i]; n < share && len(named[i].Pages) > 0; {
				u := named[i].Pages[0]
				named[i].Pages = named[i].Pages[1:]
				if gone[u] {
					continue
				}
				if !c.keeps(u) {
					c.g.Found.Refused++
					continue
				}
				tries = append(tries, try{node: int32(begin + i), url: u})
				n++
			}
		}
		if len(tries) == 0 {
			break
		}
		for len(tries) > 0 && room > 0 {
			batch := tries[:min(len(tries), 64)]
			tries = tries[len(batch):]
			if err := c.fetch(ctx, batch); err != nil {
				return err
			}
			for _, t := range batch {
				if room == 0 {
					break
				}
				took, added := c.take(t, layer)
				if t.err != nil {
					gone[t.url] = true
				}
				if took {
					taken[int(t.node)-begin]++
				}
				if added {
					room--
				}
			}
			c.o.Progress(len(c.g.Nodes), c.o.Layers*c.o.LayerNodes, note)
		}
	}
	return nil
}

// take puts what came of a try into the graph: took tells whether it is an
// in-link indeed, added whether its page is new.
func (c *collector) take(t try, layer int) (took, added bool) {
	f := &c.g.Found
	switch {
	case t.err != nil:
		f.NoPage++
		return false, false
	case t.page.URL == c.g.Nodes[t.node].URL:
		return false, false // a page linking to itself
	case !c.keeps(t.page.URL) || !c.wanted(t.page, layer):
		f.Refused++
		return false, false
	case !c.links(t.page, c.g.Nodes[t.node].URL):
		f.NoLink++
		return false, false
	}
	added = c.add(t.page, layer)
	if !added {
		f.Known++
	}
	return added || !c.o.Fill, added
}

// links tells whether a page links to another.
func (c *collector) links(p *web.Page, to web.URL) bool {
	for i := range p.Links {
		if u := p.Links[i].URL; u == to || c.src.Resolve(u) == to {
			return true
		}
	}
	return false
}

// whyEmpty says why layer 1 is empty.
func (c *collector) whyEmpty() string {
	f := &c.g.Found
	switch {
	case f.Named == 0:
		return fmt.Sprintf("the provider of in-links knows of none to these targets (%d): give other targets or another provider", len(c.g.Nodes))
	case f.Refused > 0 && f.NoPage+f.NoLink == 0:
		return fmt.Sprintf("all %d that were named are on hosts left out or ask not to be kept; choose hosts more widely", f.Refused)
	}
	return fmt.Sprintf("of %d that were named %d bring no page, %d do not link there (any more) and %d may not be kept; give other targets or another provider", f.Named, f.NoPage, f.NoLink, f.Refused)
}
