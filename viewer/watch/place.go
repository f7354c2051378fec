package watch

import (
	"sync"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/viewer/figures"
)

// places are those that people told the crawl of, with what is known of each.
type places struct {
	mu sync.Mutex
	of map[string]*place
}

// place is how far the log was looked through for an address of it.
type place struct {
	met    bool
	behind int64 // up to there
}

// Bounds of what is known of places.
const (
	lookAtOnce = 32 << 20 // bytes of the log that are looked through at a time, in some 50 ms
	mostPlaces = 10_000   // of which it is kept
)

// Unmatched tells whether nothing is known of the place of an act that is about one: no address of
// it was fetched, failed or waits, and no link of it was set aside. It is false while the log was not
// looked through to its end, and each call looks at a part.
func (c *Crawl) Unmatched(a *event.Act) bool {
	c.places.mu.Lock()
	defer c.places.mu.Unlock()
	if c.places.of == nil || len(c.places.of) >= mostPlaces {
		c.places.of = map[string]*place{}
	}
	p := c.places.of[a.Place]
	if p == nil {
		p = &place{}
		c.places.of[a.Place] = p
		c.With(func(f *figures.Crawl) { p.met = f.Knows(a.Place) }) // of a path it knows nothing
	}
	if p.met {
		return false
	}
	c.mu.RLock()
	size := c.size
	c.mu.RUnlock()
	if p.behind > size { // the log is another one
		p.behind = 0
	}
	met, behind, whole, err := event.Meets(c.col.EventLog(), a, p.behind, lookAtOnce)
	p.met, p.behind = met, behind
	return err == nil && whole && !met
}
