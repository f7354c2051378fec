package figures

import (
	"encoding/hex"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// copies are the pages that repeat another, as the log tells: near-copies, and pages with the
// same body. What they repeat is no copy itself.
type copies struct {
	of     map[int32]int32   // what a copy repeats, by page, from 0
	number map[int32]int32   // how many copies a page has
	bodies map[bodyKey]int32 // the first page with a body
}

// bodyKey is the beginning of the digest of a body. Of n bodies that differ, n²/2⁴⁹ pairs are
// expected to have the same: 0.002 of a million. A page that repeats the later body of such a
// pair is listed as a copy of the earlier one.
type bodyKey [6]byte

// keyOf reads a digest as the log has it; ok is false where it has none.
func keyOf(digest string) (k bodyKey, ok bool) {
	n, err := hex.Decode(k[:], []byte(digest[:min(2*len(k), len(digest))]))
	return k, err == nil && n == len(k)
}

func newCopies() copies {
	return copies{map[int32]int32{}, map[int32]int32{}, map[bodyKey]int32{}}
}

// repeats notes what page i repeats.
func (c *Crawl) repeats(i int, e *event.Fetched) {
	x := &c.copies
	body, ok := keyOf(e.Digest)
	first, known := x.bodies[body]
	if ok && !known {
		x.bodies[body] = int32(i)
	}
	var of int32
	switch e.Reason {
	case web.ReasonNearCopy:
		if of, known = c.byURL[hash(e.Like)]; !known {
			return
		}
	case web.ReasonDuplicate:
		if of = first; !known || !ok {
			return
		}
	default:
		return
	}
	if root, ok := x.of[of]; ok {
		of = root
	}
	if int(of) < i {
		x.of[int32(i)] = of
		x.number[of]++
	}
}

// Copies is how many further pages repeat page n, from 1.
func (c *Crawl) Copies(n int) int { return int(c.copies.number[int32(n-1)]) }

// CopiesOf is how many further pages repeat what the page of an address is, or repeats.
func (c *Crawl) CopiesOf(u web.URL) int {
	i, ok := c.copied(u)
	if !ok {
		return 0
	}
	return c.Copies(int(i) + 1)
}

// copied is the page that is, or that is repeated by, the page of an address.
func (c *Crawl) copied(u web.URL) (i int32, ok bool) {
	if i, ok = c.byURL[hash(u)]; !ok {
		return 0, false
	}
	if of, copied := c.copies.of[i]; copied {
		i = of
	}
	return i, true
}
