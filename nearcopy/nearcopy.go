// Package nearcopy tells pages whose text is nearly that of a page that came before: the same
// article under another address, its print version, an earlier version of it, the same list
// under another name.
//
// A page goes once through Index.Find, which looks for such a page, and if there is none through
// Index.Add. So a group of near-copies is around the page of it that came first, and does not
// drift from it. What is kept is small, lies where its owner says (a crawl keeps it in its
// frontier), and is read one page at a time: memory does not grow with the pages.
package nearcopy

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/waggle-crawler/waggle/web"
)

// Prefix begins the names of all that an Index keeps:
//
//	near/n          number of pages, uvarint
//	near/p NUMBER   page: sketch · address
//	near/k KEY      pages that have this key, the last first, at most mostPages: 4 bytes each
//
// NUMBER is 4 bytes, KEY 8, big-endian; numbers of pages in a value are little-endian.
const Prefix = "near/"

const (
	nameCount  = Prefix + "n"
	prefixPage = Prefix + "p"
	prefixKey  = Prefix + "k"
	// mostPages is how many pages a key leads to, and mostCompared how many a page is compared
	// with.
	mostPages    = 8
	mostCompared = 8
)

// Index finds near-copies among the pages that were added. Not for concurrent use.
type Index struct {
	get   func(name string) ([]byte, error)
	put   func(name string, value []byte)
	pages uint32
	read  bool // pages is what is stored
	// What Find read of the keys of a sketch, which Add comes with as a rule.
	found *Sketch
	lists [][]byte
}

// NewIndex returns the index over what is stored: get returns the value of a name, nil if it has
// none, and put stores one.
func NewIndex(get func(name string) ([]byte, error), put func(name string, value []byte)) *Index {
	return &Index{get: get, put: put}
}

// Match is the page that another is a near-copy of.
type Match struct {
	URL      web.URL
	Likeness float64 // resemblance in [0,1]
}

// Find looks for the page of which that of address u is a near-copy: the page that resembles it
// most, and of equals the first. A page is no copy of its own address.
func (x *Index) Find(u web.URL, s *Sketch) (m Match, found bool, err error) {
	if s == nil {
		return m, false, nil
	}
	if err := x.readLists(s); err != nil {
		return m, false, err
	}
	shared := make(map[uint32]int)
	for _, list := range x.lists {
		for i := 0; i+4 <= len(list); i += 4 {
			shared[binary.LittleEndian.Uint32(list[i:])]++
		}
	}
	order := make([]uint32, 0, len(shared))
	for n := range shared {
		order = append(order, n)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(shared[b], shared[a]), cmp.Compare(a, b))
	})
	var best uint32
	for _, n := range order[:min(mostCompared, len(order))] {
		b, err := x.get(pageName(n))
		if err != nil {
			return m, false, err
		}
		was, of, ok := parsePage(b)
		if !ok {
			continue // lost when the crawl was repaired, or of another version
		}
		likeness, near := s.Likeness(&was)
		if !near || of == u || found && (likeness < m.Likeness || likeness == m.Likeness && n > best) {
			continue
		}
		m, found, best = Match{of, likeness}, true, n
	}
	return m, found, nil
}

// Add takes in a page that is no near-copy.
func (x *Index) Add(u web.URL, s *Sketch) error {
	if s == nil {
		return nil
	}
	if !x.read {
		b, err := x.get(nameCount)
		if err != nil {
			return err
		}
		n, _ := binary.Uvarint(b)
		x.pages, x.read = uint32(n), true
	}
	if err := x.readLists(s); err != nil {
		return err
	}
	number := binary.LittleEndian.AppendUint32(nil, x.pages)
	for i, k := range s.keys {
		if slices.Contains(s.keys[:i], k) {
			continue
		}
		list := x.lists[i]
		x.put(keyName(k), slices.Concat(number, list[:min(len(list), 4*(mostPages-1))]))
	}
	x.put(pageName(x.pages), append(s.append(nil), u.String()...))
	x.pages++
	x.put(nameCount, binary.AppendUvarint(nil, uint64(x.pages)))
	x.found = nil
	return nil
}

// readLists reads what the keys of a sketch lead to.
func (x *Index) readLists(s *Sketch) error {
	if x.found == s {
		return nil
	}
	x.found, x.lists = nil, x.lists[:0]
	for _, k := range s.keys {
		b, err := x.get(keyName(k))
		if err != nil {
			return err
		}
		x.lists = append(x.lists, b[:len(b)&^3])
	}
	x.found = s
	return nil
}

func pageName(n uint32) string {
	return string(binary.BigEndian.AppendUint32([]byte(prefixPage), n))
}

func keyName(k uint64) string { return string(binary.BigEndian.AppendUint64([]byte(prefixKey), k)) }

// parsePage reads what is kept of a page.
func parsePage(b []byte) (s Sketch, u web.URL, ok bool) {
	s, address, ok := parseSketch(b)
	if !ok {
		return s, u, false
	}
	u, err := web.Parse(string(address))
	return s, u, err == nil
}
