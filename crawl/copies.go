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

// knownAtHand is the most pages that each Map of a crawl keeps in memory: 9.5 MB.
const knownAtHand = 1 << 18

// countBody counts a body, and returns how often it came before, up to maxCopies, and whether
// from the same origin. Of each body the number is
//
//	hash of the origin it came from first, 32 bits | how often it came, 32 bits
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

// readError is the first error of reading what is known of pages.
func (s *Step) readError() error {
	err := s.bodies.Err()
	if err == nil && s.notes != nil {
		err = s.notes.Err()
	}
	if err != nil {
		return fmt.Errorf("what is known of pages: %w", err)
	}
	return nil
}

// forget gives back the files and the memory of what is known of pages, which nobody needs any more.
func (s *Step) forget() {
	if s.near != nil {
		s.near.Close()
	}
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
