package corpus

import (
	"container/list"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// rates limits each host by a bucket of tokens.
type rates struct {
	perSecond float64
	mu        sync.Mutex
	hosts     map[web.Host]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// take takes a token of a host's, or tells after what time there will be one.
func (r *rates) take(h web.Host, now time.Time) time.Duration {
	if r.perSecond <= 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	burst := max(1, r.perSecond)
	b := r.hosts[h]
	if b == nil {
		b = &bucket{tokens: burst, at: now}
		r.hosts[h] = b
	}
	b.tokens = min(burst, b.tokens+now.Sub(b.at).Seconds()*r.perSecond)
	b.at = now
	if b.tokens >= 1 {
		b.tokens--
		return 0
	}
	return time.Duration((1 - b.tokens) / r.perSecond * float64(time.Second))
}

// cache keeps the responses used last, up to a number of bytes.
type cache struct {
	max  int64
	mu   sync.Mutex
	size int64
	used *list.List // of *cacheEntry, last used first
	by   map[string]*list.Element
}

type cacheEntry struct {
	address string
	p       *reply
	size    int64
}

func newCache(limit int64) *cache {
	return &cache{max: limit, used: list.New(), by: map[string]*list.Element{}}
}

func (c *cache) get(address string) *reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.by[address]
	if e == nil {
		return nil
	}
	c.used.MoveToFront(e)
	return e.Value.(*cacheEntry).p
}

func (c *cache) put(address string, p *reply) {
	n := p.size()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.max || c.by[address] != nil {
		return
	}
	c.by[address] = c.used.PushFront(&cacheEntry{address, p, n})
	c.size += n
	for c.size > c.max {
		last := c.used.Back()
		old := c.used.Remove(last).(*cacheEntry)
		delete(c.by, old.address)
		c.size -= old.size
	}
}

// full tells whether a response more would push one out.
func (c *cache) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size > c.max-c.max/50
}
