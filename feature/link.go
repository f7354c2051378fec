package feature

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/web"
)

// Link is what a link shows. Its values are O3 and O6 of the page that holds the
// link and, once the link is followed, O4 and O5 of the page it leads to.
type Link struct {
	Keyword bool     // its address holds a keyword of the topic
	Words   []uint32 // of its anchor, by their place among those of anchors; sorted, each once
}

// Link observes a link.
func (s *Space) Link(l *web.Link) Link {
	if s.subset == Words {
		return Link{}
	}
	out := Link{Keyword: s.holdsKeyword(l.URL)}
	if len(s.anchors) == 0 {
		return out
	}
	var room [maxWords]string
	for _, w := range s.anchorWords(room[:0], l) {
		if at := s.index[w].anchor; at > 0 {
			out.Words = append(out.Words, at-1)
		}
	}
	slices.Sort(out.Words)
	out.Words = slices.Compact(out.Words)
	return out
}

// anchorWords appends the words of a link's anchor.
func (s *Space) anchorWords(dst []string, l *web.Link) []string {
	n := len(dst)
	dst = s.analyzer.AppendWords(dst, l.Anchor)
	if s.surroundings {
		dst = s.analyzer.AppendWords(dst, l.Before)
		dst = s.analyzer.AppendWords(dst, l.After)
	}
	return dst[:min(len(dst), n+maxWords)]
}

// Inlink is what the link that led to a page adds to what the page shows:
// O4 and O5_w.
func (s *Space) Inlink(l Link) sparse.Vector {
	v := make(sparse.Vector, 0, 1+len(l.Words))
	if l.Keyword {
		v = append(v, sparse.Entry{ID: s.inlink(), Value: 1})
	}
	return l.words(v, s.inlink()+1)
}

// Outlink is what the link that leads on adds: O3 and O6_w. With
// Options.AnyAddress O3 belongs to the page and is not among them.
func (s *Space) Outlink(l Link) sparse.Vector {
	v := make(sparse.Vector, 0, 1+len(l.Words))
	if l.Keyword && !s.anyAddress {
		v = append(v, sparse.Entry{ID: s.address(), Value: 1})
	}
	return l.words(v, s.afterwards())
}

// words appends the words of the anchor, of ids from first on.
func (l Link) words(v sparse.Vector, first uint32) sparse.Vector {
	for _, w := range l.Words {
		v = append(v, sparse.Entry{ID: first + w, Value: 1})
	}
	return v
}

// holdsKeyword tells whether an address, without its scheme, holds a keyword.
func (s *Space) holdsKeyword(u web.URL) bool {
	if len(s.keywords) == 0 {
		return false
	}
	_, address, _ := strings.Cut(u.String(), "://")
	address = strings.ToLower(address)
	for _, k := range s.keywords {
		if k.in(address) {
			return true
		}
	}
	return false
}

func (k keyword) in(address string) bool {
	if !k.whole {
		return strings.Contains(address, k.text)
	}
	for at := 0; ; at++ {
		i := strings.Index(address[at:], k.text)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(k.text)
		if (at == 0 || !wordByte(address[at-1])) && (end == len(address) || !wordByte(address[end])) {
			return true
		}
	}
}

func wordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b >= 0x80
}

// AppendBinary appends a link as
//
//	2·(words) + 1 if its address holds a keyword uvarint
//	{ place of the word, less that of the one before uvarint }…
func (l Link) AppendBinary(b []byte) ([]byte, error) {
	n := uint64(len(l.Words)) << 1
	if l.Keyword {
		n |= 1
	}
	b = binary.AppendUvarint(b, n)
	before := uint32(0)
	for _, w := range l.Words {
		b = binary.AppendUvarint(b, uint64(w-before))
		before = w
	}
	return b, nil
}

// ReadLink reads what AppendBinary wrote for a link of this space; an error
// says that b is none.
func (s *Space) ReadLink(b []byte) (Link, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n>>1 > uint64(len(b)) {
		return Link{}, errForeignLink
	}
	b = b[size:]
	l := Link{Keyword: n&1 == 1}
	if n>>1 > 0 {
		l.Words = make([]uint32, 0, n>>1)
	}
	before := uint64(0)
	for i := range n >> 1 {
		d, size := binary.Uvarint(b)
		if size <= 0 || d > math.MaxUint32 || i > 0 && d == 0 {
			return Link{}, errForeignLink
		}
		before += d
		if before >= uint64(len(s.anchors)) {
			return Link{}, errForeignLink
		}
		l.Words = append(l.Words, uint32(before))
		b = b[size:]
	}
	if len(b) > 0 {
		return Link{}, errForeignLink
	}
	return l, nil
}

var errForeignLink = errors.New("features: these are not the observations of a link of this model; start the crawl anew, or take the model it began with")
