package crawl

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/nearcopy"
	"github.com/waggle-crawler/waggle/web"
)

// maxCopies bounds how many pages with one body have their links followed.
const maxCopies = 4

// knownAtHand is of how many pages what is known stays in memory, see package bigmap: at most
// 8 MB of each of two kinds. All that is known of more pages goes to files.
const knownAtHand = 1 << 18

// countBody counts a body, and returns how often it came before and whether from
// the same origin.
func (s *Step) countBody(u web.URL, digest [16]byte) (before uint32, home bool) {
	key := bodyKey(digest)
	origin := xxh3.HashString(u.Origin()) >> 32
	first := origin // where it came from first
	if known, seen := s.bodies.Get(key); seen {
		first, before = known>>32, uint32(known)
	}
	if before < maxCopies {
		s.bodies.Put(key, first<<32|uint64(before+1))
	}
	return before, first == origin
}

// unread is why what is known of pages could not be read, nil if it could.
func (s *Step) unread() error {
	if err := s.bodies.Err(); err != nil || s.notes == nil {
		return err
	}
	return s.notes.Err()
}

// forget gives back the files of what is known of pages, which nobody needs any more.
func (s *Step) forget() {
	_ = s.bodies.Close()
	if s.notes != nil {
		_ = s.notes.Close()
	}
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
