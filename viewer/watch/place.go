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
	act    event.Act // one that is about it
	met    bool
	behind int64 // up to there
	size   int64 // of the log, when it was looked through to its end last; 0 = never
}

// Bounds of what is known of places.
const (
	lookAtOnce = 32 << 20 // bytes of the log that are looked through at a time, in some 50 ms
	mostPlaces = 10_000   // of which it is kept
)

// Unmatched tells whether nothing is known of the place of an act that is about one: no address of
// it was fetched, failed or waits, and no link of it was set aside. It is false until the log was
// looked through to its end, which Run does a part at a time.
func (c *Crawl) Unmatched(a *event.Act) bool {
	c.places.mu.Lock()
	defer c.places.mu.Unlock()
	if c.places.of == nil || len(c.places.of) >= mostPlaces {
		c.places.of = map[string]*place{}
	}
	p := c.places.of[a.Place]
	if p == nil {
		p = &place{act: *a}
		c.places.of[a.Place] = p
		c.With(func(f *figures.Crawl) { p.met = f.Knows(a.Place) }) // of a path it knows nothing
		c.lookFor(p)
	}
	return !p.met && p.size > 0
}

// lookFor looks through the next part of the log, and tells whether something else is known then.
func (c *Crawl) lookFor(p *place) (other bool) {
	c.mu.RLock()
	size := c.size
	c.mu.RUnlock()
	if p.met || p.size == size {
		return false
	}
	if p.behind > size { // the log is another one
		p.behind = 0
	}
	met, behind, whole, err := event.Meets(c.col.EventLog(), &p.act, p.behind, lookAtOnce)
	if err != nil {
		return false
	}
	was := p.size
	p.met, p.behind = met, behind
	if whole {
		p.size = size
	}
	return met && was > 0 || !met && whole && was == 0
}

// lookForPlaces looks for one of the places of which nothing is known yet, and tells whether
// something else is known then.
func (c *Crawl) lookForPlaces() (other bool) {
	c.places.mu.Lock()
	defer c.places.mu.Unlock()
	for _, p := range c.places.of {
		behind := p.behind
		other = c.lookFor(p) || other
		if p.behind-behind >= lookAtOnce {
			break // the next time goes on
		}
	}
	return other
}
