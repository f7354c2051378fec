package sim

import "github.com/waggle-crawler/waggle/web"

// Truth tells hits. Pages of equal bodies are one page, whatever their
// addresses: one of them found is a hit, the next is none. What the crawler was
// shown, seeds and examples, is no hit, and nor are its copies.
type Truth struct {
	wanted map[[16]byte]bool
}

// NewTruth makes the truth of a topic from its relevant addresses and those
// shown to the crawler. digest is that of a recorded page's body; relevant
// addresses without one cannot be hit and do not count.
func NewTruth(relevant map[web.URL]bool, shown []web.URL, digest func(web.URL) ([16]byte, bool)) *Truth {
	t := &Truth{wanted: make(map[[16]byte]bool, len(relevant))}
	for u := range relevant {
		if d, ok := digest(u); ok {
			t.wanted[d] = true
		}
	}
	for _, u := range shown {
		if d, ok := digest(u); ok {
			delete(t.wanted, d)
		}
	}
	return t
}

// Len is the number of pages that can be hit.
func (t *Truth) Len() int { return len(t.wanted) }

// Wanted tells whether a page of this body is to be found.
func (t *Truth) Wanted(digest [16]byte) bool { return t.wanted[digest] }

// Curve counts the hits: low[n-1] are those among the first n visits. high
// adds the visits outside the record, each of which may have been a hit; it
// bounds what a longer recording could show.
func (t *Truth) Curve(visits []Visit) (low, high []int) {
	low, high = make([]int, len(visits)), make([]int, len(visits))
	found := make(map[[16]byte]bool)
	outside := 0
	for i, v := range visits {
		switch {
		case v.Outside:
			outside++
		case t.wanted[v.Digest]:
			found[v.Digest] = true
		}
		low[i] = len(found)
		high[i] = len(found) + outside
	}
	return low, high
}
