package train

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Backlinks is a recorded web read backwards: which of its pages link to which.
// It is made once for a web and then serves any number of topics; it is safe
// for concurrent use.
type Backlinks struct {
	pages  []web.URL
	number map[web.URL]int32
	begin  []int32             // [pages+1] in-links of page i are from[begin[i]:begin[i+1]]
	from   []int32             // pages, ascending for each i
	moved  map[web.URL]web.URL // redirects, to the page they end at
}

// maxRedirects bounds the redirects followed in a row, as a crawl does.
const maxRedirects = 10

// NewBacklinks reads all links of a recorded web, by its parsed pages. Links of
// pages that ask not to be followed are left out unless ignoreDirectives. The
// error is ctx's, or that of reading a redirect.
func NewBacklinks(ctx context.Context, w *corpus.Web, pages *corpus.Pages, ignoreDirectives bool) (*Backlinks, error) {
	b := &Backlinks{number: map[web.URL]int32{}, moved: map[web.URL]web.URL{}}
	next := map[web.URL]web.URL{}
	for u := range w.URLs() {
		switch s := w.Status(u); {
		case s >= 300 && s < 400:
			r, err := pages.Fetch(ctx, u)
			if err != nil {
				return nil, err
			}
			if !r.Location.IsZero() {
				next[u] = r.Location
			}
		case s >= 200 && s < 300:
			if _, ok := pages.Digest(u); ok {
				b.number[u] = int32(len(b.pages))
				b.pages = append(b.pages, u)
			}
		}
	}
	for u := range next {
		at := u
		for range maxRedirects {
			to, ok := next[at]
			if !ok {
				break
			}
			at = to
		}
		if _, ok := b.number[at]; ok {
			b.moved[u] = at
		}
	}
	type link struct{ to, from int32 }
	var links []link
	stamp := make([]int, len(b.pages)) // 1 + the last page that was seen to link here
	for i, u := range b.pages {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p, ok := pages.Page(u)
		if !ok || p.Directives.NoFollow && !ignoreDirectives {
			continue
		}
		stamp[i] = i + 1 // a page's links to itself are none
		for l := range p.Links {
			j, ok := b.number[b.Resolve(p.Links[l].URL)]
			if ok && stamp[j] != i+1 {
				stamp[j] = i + 1
				links = append(links, link{j, int32(i)})
			}
		}
	}
	slices.SortFunc(links, func(x, y link) int { return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(x.from, y.from)) })
	b.begin = make([]int32, len(b.pages)+1)
	b.from = make([]int32, len(links))
	for i, l := range links {
		b.begin[l.to+1]++
		b.from[i] = l.from
	}
	for i := range b.pages {
		b.begin[i+1] += b.begin[i]
	}
	return b, nil
}

// Len is the number of pages, and Links that of links between them.
func (b *Backlinks) Len() int   { return len(b.pages) }
func (b *Backlinks) Links() int { return len(b.from) }

// Resolve follows recorded redirects.
func (b *Backlinks) Resolve(u web.URL) web.URL {
	if to, ok := b.moved[u]; ok {
		return to
	}
	return u
}

// To is the pages that link to u or to where it has moved, sorted by address.
func (b *Backlinks) To(u web.URL) []web.URL {
	i, ok := b.number[b.Resolve(u)]
	if !ok {
		return nil
	}
	var out []web.URL
	for _, j := range b.from[b.begin[i]:b.begin[i+1]] {
		out = append(out, b.pages[j])
	}
	return out
}

// Record is a recorded web as provider of in-links and source of pages.
type Record struct {
	*Backlinks
	Pages *corpus.Pages
	Seed  uint64             // of the draw among in-links
	Keep  func(web.URL) bool // which in-links to name; nil = all
}

var (
	_ Inlinks = Record{}
	_ Source  = Record{}
)

// Inlinks draws from the pages that link to each of the layer: a record ranks
// none before another, and taking them in the order of their addresses would
// take all from one host.
func (r Record) Inlinks(_ context.Context, layer []web.URL, limit int) ([]InlinkList, error) {
	out := make([]InlinkList, len(layer))
	for i, u := range layer {
		list := r.To(u)
		if r.Keep != nil {
			list = slices.DeleteFunc(list, func(u web.URL) bool { return !r.Keep(u) })
		}
		chance := drawing(r.Seed, u)
		chance.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		out[i].Pages = list[:min(len(list), limit)]
	}
	return out, nil
}

// drawing is the chance that belongs to a page: the order in which pages are
// asked for changes nothing.
func drawing(seed uint64, u web.URL) *rand.Rand {
	return rand.New(rand.NewPCG(seed, xxh3.HashString(u.String())))
}

// Page brings a page from the record.
func (r Record) Page(_ context.Context, u web.URL) (*web.Page, error) {
	p, ok := r.Pages.Page(r.Resolve(u))
	if !ok {
		return nil, fmt.Errorf("%s is not among the pages of the recorded web: %w", u, ErrNoPage)
	}
	return p, nil
}

// FromRecord collects the graph of a topic from a recorded web, in-links and
// pages alike (see Collect). keep tells which pages may enter, the targets
// among them; nil = all. With o.Backlinks it takes well below a second; without,
// all pages of the web are read first. o.Seed chooses the in-links that fit into
// a share.
func FromRecord(ctx context.Context, w *corpus.Web, pages *corpus.Pages, t *topic.Topic, targets []web.URL, keep func(web.URL) bool, o CollectOptions) (*Graph, error) {
	if o.Backlinks == nil {
		var err error
		if o.Backlinks, err = NewBacklinks(ctx, w, pages, o.IgnoreDirectives); err != nil {
			return nil, err
		}
	}
	if keep != nil {
		o.Keep = keep
	}
	r := Record{Backlinks: o.Backlinks, Pages: pages, Seed: o.Seed, Keep: o.Keep}
	return Collect(ctx, t, targets, r, r, o)
}
