// Package nearcopy tells pages whose text is nearly that of a page that came before: the same
// article under another address, its print version, an earlier version of it, the same list
// under another name.
//
// A page goes once through Index.Find, which looks for such a page, and if there is none through
// Index.Add. So a group of near-copies is around the page of it that came first, and does not
// drift from it. What is kept is small, lies where its owner says (a crawl keeps it in its
// frontier), and is read one page at a time. Beside it an index that was told what is
// stored has two to six bytes a page in memory, and up to twice that for a time, by which it asks for
// little in vain; others ask for each page.
package nearcopy

import (
	"encoding/binary"
	"iter"
	"math"

	"github.com/waggle-crawler/waggle/internal/bloom"
	"github.com/waggle-crawler/waggle/internal/offheap"
	"github.com/waggle-crawler/waggle/web"
)

// Prefix begins the names of all that an Index keeps:
//
//	near/t TEXT  address of the first page with this text
//	near/s NAME  pages of this name: the first mostNamed
//	near/s ROW   pages of a name that more have, with this row: the last mostInRow
//
// TEXT, NAME and ROW are hashes: 8 bytes, big-endian. Pages are stored as
//
//	version  1 byte, once: 2
//	bins     64 bytes
//	main     bytes of the main text, uvarint
//	length   of the address, uvarint
//	address
//
// of which the last four are there for each page.
const Prefix = "near/"

const (
	prefixText   = Prefix + "t"
	prefixSketch = Prefix + "s"
	version      = 2

	mostNamed = 8
	mostInRow = 4
)

// page is one that was added.
type page struct {
	bins    []byte // of its sketch
	main    uint32
	address []byte
}

// Index finds near-copies among the pages that were added. Not for concurrent use.
type Index struct {
	get func(name string) ([]byte, error)
	put func(name string, value []byte)
	// stored are the hashes of the names that have a value; nil = any may have one. Nearly all
	// pages are like none before: that is known without asking where the values are.
	stored *filter
	// What Find read for a sketch, which Add comes with as a rule.
	read  *Sketch
	first []byte // address of the first page with the text
	named []page // pages of the name
	rows  [rows][]page
}

// NewIndex returns the index over what is stored: get returns the value of a name, nil if it has
// none, and put stores one.
func NewIndex(get func(name string) ([]byte, error), put func(name string, value []byte)) *Index {
	return &Index{get: get, put: put}
}

// StoredNothing tells that nothing is stored yet. It is called before any page.
func (x *Index) StoredNothing() {
	x.Close()
	x.stored = new(filter)
}

// Close gives back the memory of what was told to be stored. The index can still be used.
func (x *Index) Close() {
	if x.stored != nil {
		x.stored.free()
		x.stored = nil
	}
}

// Stored tells all names under which something is stored, in place of StoredNothing.
func (x *Index) Stored(names iter.Seq2[string, error]) error {
	x.StoredNothing()
	for name, err := range names {
		if err != nil {
			return err
		}
		if n := len(name); n >= 8 {
			x.stored.add(binary.BigEndian.Uint64([]byte(name[n-8:])))
		}
	}
	return nil
}

// filter is a set of hashes, which may hold more than was added: one in a hundred of the others for
// each of its parts, and never less. The first part is for half a million hashes, each of the others for twice
// as many as the one before.
//
// One part for all of a crawl is full after a million pages: then each page is looked for in the
// store, twice.
type filter struct {
	parts []bloom.Filter
	n     int64 // hashes in the last part
}

const firstPart = 1 << 19 // hashes

func (f *filter) add(hash uint64) {
	if f.has(hash) {
		return
	}
	last := len(f.parts) - 1
	if last < 0 || f.n == firstPart<<last {
		last++
		f.parts, f.n = append(f.parts, offheap.Make[uint64](bloom.Words(firstPart<<last))), 0
	}
	f.n++
	f.parts[last].Add(mix(hash))
}

func (f *filter) has(hash uint64) bool {
	hash = mix(hash)
	for _, p := range f.parts {
		if p.Has(hash) {
			return true
		}
	}
	return false
}

func (f *filter) free() {
	for _, p := range f.parts {
		offheap.Free(p)
	}
	f.parts = nil
}

// Match is the page that another is a near-copy of.
type Match struct {
	URL      web.URL
	Likeness float64 // resemblance in [0,1]
}

// Find looks for the page of which that of address u is a near-copy: one with the same text, or
// else the one of its name that resembles it most, and of equals the first. A page is no copy of
// its own address.
func (x *Index) Find(u web.URL, s *Sketch) (m Match, found bool, err error) {
	if s == nil {
		return m, false, nil
	}
	if err := x.look(s); err != nil {
		return m, false, err
	}
	own := u.String()
	if string(x.first) == own {
		return m, false, nil // whatever has this text is a copy of this page
	}
	if len(x.first) > 0 {
		if of, err := web.Parse(string(x.first)); err == nil { // else it is damaged
			return Match{of, 1}, true, nil
		}
	}
	for _, list := range append([][]page{x.named}, x.rows[:]...) {
		for _, p := range list {
			likeness := resemblance(s.bins[:], p.bins)
			if !isNear(likeness, s.main, p.main) || found && likeness <= m.Likeness || string(p.address) == own {
				continue
			}
			if of, err := web.Parse(string(p.address)); err == nil { // else it is damaged
				m, found = Match{of, likeness}, true
			}
		}
	}
	return m, found, nil
}

// Add takes in a page that is no near-copy.
func (x *Index) Add(u web.URL, s *Sketch) error {
	if s == nil {
		return nil
	}
	if err := x.look(s); err != nil {
		return err
	}
	x.read = nil
	added := page{s.bins[:], s.main, []byte(u.String())}
	if len(x.first) == 0 {
		x.store(prefixText, s.text, added.address)
	}
	switch {
	case s.few:
	case len(x.named) < mostNamed:
		x.store(prefixSketch, s.name, appendPages(append(x.named, added)))
	default:
		for i, list := range x.rows {
			list = append(list, added)
			x.store(prefixSketch, s.rows[i], appendPages(list[max(0, len(list)-mostInRow):]))
		}
	}
	return nil
}

// look reads what the hashes of a sketch lead to.
func (x *Index) look(s *Sketch) (err error) {
	if x.read == s {
		return nil
	}
	x.read, x.named, x.rows = nil, nil, [rows][]page{}
	if x.first, err = x.load(prefixText, s.text); err != nil {
		return err
	}
	if !s.few {
		if x.named, err = x.pages(s.name); err != nil {
			return err
		}
		for i := 0; len(x.named) == mostNamed && i < rows; i++ {
			if x.rows[i], err = x.pages(s.rows[i]); err != nil {
				return err
			}
		}
	}
	x.read = s
	return nil
}

func (x *Index) pages(key uint64) ([]page, error) {
	b, err := x.load(prefixSketch, key)
	return parsePages(b), err
}

func (x *Index) load(prefix string, key uint64) ([]byte, error) {
	if x.stored != nil && !x.stored.has(key) {
		return nil, nil
	}
	return x.get(name(prefix, key))
}

func (x *Index) store(prefix string, key uint64, value []byte) {
	if x.stored != nil {
		x.stored.add(key)
	}
	x.put(name(prefix, key), value)
}

func name(prefix string, key uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(prefix), key))
}

// appendPages is the stored form of pages.
func appendPages(list []page) []byte {
	b := []byte{version}
	for _, p := range list {
		b = append(b, p.bins...)
		b = binary.AppendUvarint(b, uint64(p.main))
		b = binary.AppendUvarint(b, uint64(len(p.address)))
		b = append(b, p.address...)
	}
	return b
}

// parsePages reads what appendPages wrote, up to mostNamed pages: none of another version, and
// those before a damage.
func parsePages(b []byte) (list []page) {
	if len(b) == 0 || b[0] != version {
		return nil
	}
	const size = len(Sketch{}.bins)
	for b = b[1:]; len(b) > size && len(list) < mostNamed; {
		at := size
		main, k := binary.Uvarint(b[at:])
		if at += max(k, 0); k <= 0 || main > math.MaxUint32 {
			break
		}
		n, k := binary.Uvarint(b[at:])
		if at += max(k, 0); k <= 0 || n > uint64(len(b)-at) {
			break
		}
		end := at + int(n)
		list = append(list, page{b[:size:size], uint32(main), b[at:end:end]})
		b = b[end:]
	}
	return list
}
