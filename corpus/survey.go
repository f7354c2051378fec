package corpus

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// Survey is what can be said of a recorded web from its pages.
//
// A link is a pair of pages, however often one names the other: in an a, area,
// frame or iframe. Redirects are followed to the page they end at, and links
// from a page to itself do not count. Reach is by every kind of link.
type Survey struct {
	Count
	LinksInside  int // to recorded pages
	LinksOutside int // to other addresses
	Unparsed     int // pages that hold neither HTML nor text
	Damaged      []error
	// Reachable is the number of pages a crawl can reach from the seeds of
	// all topics together.
	Reachable int
	Topics    []TopicSurvey
}

// TopicSurvey is what can be said of a topic.
type TopicSurvey struct {
	Name            string
	Relevant        int // addresses in the truth
	NotRecorded     int // of these
	Seeds           int
	SeedsAbsent     int // seeds not recorded
	Pages           int // pages reachable from the seeds
	Reachable       int // relevant pages reachable from the seeds
	ReachableFar    int // and from seeds_far
	ReachableAll    int // and from the seeds of all topics
	ExamplesAbsent  int
	ExamplesOutside int // examples that the truth does not hold
}

// maxRedirects bounds the redirects followed in a row.
const maxRedirects = 10

// Survey reads all records, on all cores, parses the pages unless a lab has kept
// them parsed beside the web, follows their links and redirects from the seeds of
// each topic, and counts. progress may be nil.
func (w *Web) Survey(ctx context.Context, progress func(done, total int, note string)) (Survey, error) {
	s := Survey{Count: w.Count()}
	g, err := w.graph(ctx, &s, progress)
	if err != nil {
		return Survey{}, err
	}
	var all []web.URL
	for _, t := range w.Topics {
		all = append(all, t.Seeds...)
	}
	reachedByAll := g.reach(all)
	s.Reachable = g.pages(reachedByAll)
	for _, t := range w.Topics {
		ts := TopicSurvey{Name: t.Name, Seeds: len(t.Seeds)}
		for _, u := range t.Seeds {
			if !w.Has(u) {
				ts.SeedsAbsent++
			}
		}
		reached := g.reach(t.Seeds)
		ts.Pages = g.pages(reached)
		if t.Truth != "" {
			truth, err := w.Truth(t.Name)
			if err != nil {
				return Survey{}, err
			}
			far := g.reach(t.SeedsFar)
			ts.Relevant = len(truth)
			for u := range truth {
				i, ok := g.number[u.String()]
				switch {
				case !ok:
					ts.NotRecorded++
				default:
					if reached[i] {
						ts.Reachable++
					}
					if far[i] {
						ts.ReachableFar++
					}
					if reachedByAll[i] {
						ts.ReachableAll++
					}
				}
			}
			for _, u := range t.Examples {
				if !w.Has(u) {
					ts.ExamplesAbsent++
				}
				if !truth[u] {
					ts.ExamplesOutside++
				}
			}
		}
		s.Topics = append(s.Topics, ts)
	}
	return s, nil
}

// graph is the links within a recorded web; addresses are numbered as sorted.
type graph struct {
	number map[string]int32
	to     [][]int32 // [address] addresses it links or redirects to
	plain  [][]int32 // [address] of these, the targets of a, area, frame and iframe
	isPage []bool    // [address]
}

// outlinks are what a record leads to.
type outlinks struct {
	redirect  web.URL // zero unless it redirects
	to, plain []int32 // as in graph
	outside   int     // plain links to addresses that are not recorded
	unparsed  bool
	damage    error
}

// graph reads the links of all records, and counts in s those that are plain, and the
// records that cannot be read.
func (w *Web) graph(ctx context.Context, s *Survey, progress func(int, int, string)) (*graph, error) {
	n := len(w.order)
	g := &graph{number: make(map[string]int32, n), to: make([][]int32, n), plain: make([][]int32, n), isPage: make([]bool, n)}
	for i, address := range w.order {
		g.number[address] = int32(i)
		st := w.pages[address].status
		g.isPage[i] = st >= 200 && st < 300
	}
	parser := parse.New(parse.Options{Canon: w.Canon()})
	kept := w.keptPages(parser)
	all := make([]outlinks, n)
	var mu sync.Mutex
	done := 0
	if err := w.onAllCores(ctx, func(address string) {
		all[g.number[address]] = w.outlinks(address, g, parser, kept)
		mu.Lock()
		defer mu.Unlock()
		if done++; progress != nil && (done%50 == 0 || done == n) {
			progress(done, n, "parsing")
		}
	}); err != nil {
		return nil, err
	}
	for i, o := range all {
		g.to[i], g.plain[i] = o.to, o.plain
		if j, ok := g.number[o.redirect.String()]; ok {
			g.to[i] = []int32{j}
		}
		s.LinksOutside += o.outside
		if o.unparsed {
			s.Unparsed++
		}
		if o.damage != nil {
			s.Damaged = append(s.Damaged, o.damage)
		}
	}
	for i, to := range g.plain {
		ends := map[int32]bool{int32(i): true}
		for _, j := range to {
			end := g.follow(j)
			if ends[end] {
				continue
			}
			ends[end] = true
			if end >= 0 && g.isPage[end] {
				s.LinksInside++
			} else {
				s.LinksOutside++
			}
		}
	}
	return g, nil
}

// outlinks reads those of one record.
func (w *Web) outlinks(address string, g *graph, parser *parse.Parser, kept *Pages) (o outlinks) {
	r, err := w.read(address)
	switch {
	case err != nil:
		o.damage = err
		return o
	case r.Status >= 300 && r.Status < 400:
		o.redirect = r.Location
		return o
	case !g.isPage[g.number[address]]:
		return o
	}
	page, ok := kept.Page(r.URL)
	if !ok {
		if page, err = parser.Parse(r); err != nil {
			o.unparsed = true
			return o
		}
	}
	seen, counted := map[web.URL]bool{}, map[web.URL]bool{}
	for _, l := range page.Links {
		j, inside := g.number[l.URL.String()]
		if inside && !seen[l.URL] {
			o.to = append(o.to, j)
		}
		seen[l.URL] = true
		if !isPlain(l.Kind) || counted[l.URL] {
			continue
		}
		counted[l.URL] = true
		if inside {
			o.plain = append(o.plain, j)
		} else {
			o.outside++
		}
	}
	return o
}

// onAllCores visits the addresses of a web, as their records lie in its files, by as
// many goroutines as there are cores.
func (w *Web) onAllCores(ctx context.Context, visit func(address string)) error {
	eg, ctx := errgroup.WithContext(ctx)
	work := make(chan string)
	eg.Go(func() error {
		defer close(work)
		for _, address := range w.byPlace() {
			select {
			case work <- address:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range runtime.GOMAXPROCS(0) {
		eg.Go(func() error {
			for address := range work {
				visit(address)
			}
			return nil
		})
	}
	return eg.Wait()
}

func isPlain(k web.LinkKind) bool {
	return k == web.LinkA || k == web.LinkArea || k == web.LinkFrame || k == web.LinkIframe
}

// follow goes on from an address through redirects, -1 where they lead nowhere.
func (g *graph) follow(i int32) int32 {
	for range maxRedirects {
		if g.isPage[i] || len(g.to[i]) == 0 {
			return i
		}
		i = g.to[i][0]
	}
	return -1
}

// reach marks the addresses that can be reached from seeds.
func (g *graph) reach(seeds []web.URL) []bool {
	reached := make([]bool, len(g.to))
	var queue []int32
	visit := func(i int32) {
		if !reached[i] {
			reached[i] = true
			queue = append(queue, i)
		}
	}
	for _, u := range seeds {
		if i, ok := g.number[u.String()]; ok {
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

// pages counts the pages among marked addresses.
func (g *graph) pages(marked []bool) (n int) {
	for i, m := range marked {
		if m && g.isPage[i] {
			n++
		}
	}
	return n
}

// Compare tells where a survey and the manifest of its web disagree, one line
// each.
func (w *Web) Compare(s Survey) []string {
	var out []string
	differ := func(what string, manifest, found int) {
		if manifest != found {
			out = append(out, fmt.Sprintf("%s: %s says %d, found %d", what, manifestName, manifest, found))
		}
	}
	differ("pages", w.Manifest.Pages, s.Pages)
	differ("hosts", w.Manifest.Hosts, s.Hosts)
	if w.LinksInside > 0 {
		differ("links inside", w.LinksInside, s.LinksInside)
	}
	for i, t := range s.Topics {
		m := w.Topics[i]
		if m.Truth == "" {
			continue
		}
		differ("topic "+t.Name+", relevant", m.Relevant, t.Relevant)
		switch {
		case m.Reachable == 0:
		case m.Reachable != t.Reachable && m.Reachable == t.ReachableAll:
			out = append(out, fmt.Sprintf("topic %s: %s counts %d relevant pages that links lead to from the seeds of all topics; from its own, by which crawls of the topic begin, they lead to %d", t.Name, manifestName, m.Reachable, t.Reachable))
		default:
			differ("topic "+t.Name+", relevant pages that links lead to from its seeds", m.Reachable, t.Reachable)
		}
		if t.NotRecorded > 0 {
			out = append(out, fmt.Sprintf("topic %s: %d relevant addresses are not recorded", t.Name, t.NotRecorded))
		}
		if t.SeedsAbsent > 0 {
			out = append(out, fmt.Sprintf("topic %s: %d of %d seeds are not recorded", t.Name, t.SeedsAbsent, t.Seeds))
		}
	}
	for _, err := range s.Damaged {
		if d := (*store.Damage)(nil); errors.As(err, &d) {
			out = append(out, "damaged: "+d.Error())
		}
	}
	return out
}
