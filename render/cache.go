package render

import (
	"container/list"
	"sync"

	"github.com/waggle-crawler/waggle/web"
)

// cache keeps the scripts that pages were given: those of a site are the same on all of
// its pages, and a browser would keep them too. The least recently used go first. Data is
// not kept.
type cache struct {
	mu     sync.Mutex
	at     map[request]*list.Element // of *cached
	order  *list.List                // most recently used first
	weight int
}

// request is a request for a script with all by which its answer may differ: a page has the
// cookies of its site sent with it, and the certificate of its origin, and a server says by
// the Origin whether the script may be read. So no page is given what was sent for another site.
type request struct {
	site   string // scheme and registrable domain of the page
	own    bool   // the page is of the script's origin
	origin string // as sent; "" = none
	url    web.URL
}

// cached is the answer to a request: of the response only what a page is given.
type cached struct {
	request  request
	response *web.Response
}

const (
	cacheBytes   = 64 << 20 // of all
	cacheLargest = 8 << 20  // of one body
)

func newCache() *cache { return &cache{at: map[request]*list.Element{}, order: list.New()} }

func (c *cache) get(q request) *web.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[q]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).response
}

func (c *cache) put(q request, r *web.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at[q] != nil || len(r.Body) > cacheLargest {
		return
	}
	x := &cached{q, &web.Response{URL: r.URL, Status: r.Status, Header: r.Header, Body: r.Body}}
	c.at[q] = c.order.PushFront(x)
	for c.weight += x.weight(); c.weight > cacheBytes; {
		last := c.order.Remove(c.order.Back()).(*cached)
		delete(c.at, last.request)
		c.weight -= last.weight()
	}
}

// weight is what an answer may take in memory, in bytes.
func (x *cached) weight() int {
	n := 1<<10 + len(x.request.site) + len(x.request.origin) + len(x.request.url.String()) + len(x.response.Body)
	for name, values := range x.response.Header {
		n += 64 + len(name)
		for _, v := range values {
			n += 16 + len(v)
		}
	}
	return n
}
