package crawl

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/nearcopy"
	"github.com/waggle-crawler/waggle/web"
)

// copies is how often a body came, and where from first.
type copies struct {
	origin uint32 // a hash of scheme and host
	n      uint32
}

// maxCopies bounds how many pages with one body have their links followed.
const maxCopies = 4

// countBody counts a body, and returns how often it came before and whether from
// the same origin.
func (s *Step) countBody(u web.URL, digest [16]byte) (before uint32, home bool) {
	key := bodyKey(digest)
	origin := uint32(xxh3.HashString(u.Origin()))
	c, seen := s.bodies[key]
	if !seen {
		c.origin = origin
	}
	before = c.n
	c.n++
	s.bodies[key] = c
	return before, c.origin == origin
}

func bodyKey(digest [16]byte) uint64 { return binary.BigEndian.Uint64(digest[:]) }

// nearCopyOf is the page of which an arrival is a near-copy, zero if it is none. Then its
// sketch is kept, so that later pages are compared with it, unless it is no harvest for a reason.
func (s *Step) nearCopyOf(a *Arrival, reason web.Reason) (nearcopy.Match, error) {
	if s.near == nil || reason != "" {
		return nearcopy.Match{}, nil
	}
	like, found, err := s.near.Find(a.Page.URL, a.sketch)
	if err == nil && !found {
		err = s.near.Add(a.Page.URL, a.sketch)
	}
	if err != nil {
		return like, fmt.Errorf("near-copies: %w", err)
	}
	return like, nil
}
