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
	mu    sync.Mutex
	at    map[web.URL]*list.Element // of *web.Response
	order *list.List                // most recently used first
	bytes int
}

const (
	cacheBytes   = 64 << 20 // of bodies
	cacheLargest = 8 << 20  // of one
)

func newCache() *cache { return &cache{at: map[web.URL]*list.Element{}, order: list.New()} }

func (c *cache) get(u web.URL) *web.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[u]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*web.Response)
}

func (c *cache) put(r *web.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at[r.URL] != nil || len(r.Body) > cacheLargest {
		return
	}
	c.at[r.URL] = c.order.PushFront(r)
	for c.bytes += len(r.Body); c.bytes > cacheBytes; {
		last := c.order.Remove(c.order.Back()).(*web.Response)
		delete(c.at, last.URL)
		c.bytes -= len(last.Body)
	}
}
