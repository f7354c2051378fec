package judge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// templates tell what the pages of a site have in common: menus, footers, the
// name of the site behind each title. It is told from content alone. A piece of
// a page, which is the text of a leaf or a part of the title, belongs to the
// template of its host if it stands on at least templatePages of the pages
// observed there and on at least templateShare of them.
//
// The life of a host: unknown ─first page─► learning ─sitePages─► learnt. The
// pieces of a host that is being learnt are counted lossily, in memory that is
// bounded by the pieces of sitePeriod pages.
//
// Observing is for one goroutine, asking for all.
//
// Source: Manku & Motwani, Approximate Frequency Counts over Data Streams,
// 2002, lossy counting.
type templates struct {
	known sync.Map // web.Host → template
	// Owned by who observes.
	sites   []*site          // at most maxSites; a new one takes the place of the oldest
	at      map[web.Host]int // index in sites
	next    int              // where the next new site goes
	changed map[int]bool     // sites since parts was last asked
}

const (
	templatePages = 3
	templateShare = 0.2
	sitePages     = 64   // pages of a host that are learnt from
	sitePeriod    = 8    // pages after which pieces that are rare so far are forgotten
	sitePieces    = 128  // leaves of a page, from its beginning and from its end, that are looked at
	maxSites      = 4096 // hosts, of some 3 kB each
)

// template holds the hashes of a template's pieces, sorted.
type template []uint32

func (t template) holds(hash uint32) bool {
	_, ok := slices.BinarySearch(t, hash)
	return ok
}

// site is what was observed of a host.
type site struct {
	host  web.Host
	pages int // at most sitePages
	count map[uint32]tally
}

// tally counts the pages that hold a piece: n since the piece was last unknown,
// and at most missed before.
type tally struct{ n, missed uint8 }

func newTemplates() *templates {
	return &templates{at: map[web.Host]int{}, changed: map[int]bool{}}
}

// of is the template of a host, nil where none is known.
func (t *templates) of(h web.Host) template {
	v, _ := t.known.Load(h)
	known, _ := v.(template)
	return known
}

// observe learns from a page. It tells whether the template of its host is
// another one now.
func (t *templates) observe(p *web.Page) bool {
	i, ok := t.at[p.URL.Host()]
	if !ok {
		i = t.add(&site{host: p.URL.Host(), count: map[uint32]tally{}})
	}
	s := t.sites[i]
	if s.pages == sitePages {
		return false
	}
	t.changed[i] = true
	s.observe(p)
	was, is := t.of(s.host), s.template()
	if slices.Equal(was, is) {
		return false
	}
	t.known.Store(s.host, is)
	return true
}

// add gives a site its place.
func (t *templates) add(s *site) int {
	i := t.next
	if i == len(t.sites) {
		t.sites = append(t.sites, nil)
	} else {
		old := t.sites[i].host
		delete(t.at, old)
		t.known.Delete(old)
	}
	t.sites[i], t.at[s.host] = s, i
	t.next = (i + 1) % maxSites
	return i
}

func (s *site) observe(p *web.Page) {
	for hash := range repeatable(p) {
		c, ok := s.count[hash]
		if !ok {
			c.missed = uint8(s.pages / sitePeriod)
		}
		c.n++
		s.count[hash] = c
	}
	s.pages++
	if s.pages%sitePeriod == 0 {
		maps.DeleteFunc(s.count, func(_ uint32, c tally) bool { return int(c.n+c.missed) <= s.pages/sitePeriod })
	}
}

func (s *site) template() template {
	least := max(templatePages, int(math.Ceil(templateShare*float64(s.pages))))
	var out template
	for hash, c := range s.count {
		if c.n >= templatePages && int(c.n+c.missed) >= least {
			out = append(out, hash)
		}
	}
	slices.Sort(out)
	return out
}

// repeatable are the pieces of a page that can belong to a template, each once.
func repeatable(p *web.Page) map[uint32]struct{} {
	out := make(map[uint32]struct{}, 2*sitePieces)
	for part := range titleParts(p.Title) {
		out[titleHash(part)] = struct{}{}
	}
	add := func(leaves iter.Seq2[int, web.Leaf]) {
		n := 0
		for _, l := range leaves {
			if l.Text == "" {
				continue
			}
			out[pieceHash(l.Text)] = struct{}{}
			if n++; n == sitePieces {
				return
			}
		}
	}
	add(slices.All(p.Leaves))
	add(slices.Backward(p.Leaves))
	return out
}

func pieceHash(text string) uint32 { return uint32(xxh3.HashString(text)) }

// titleHash differs from the hash of the same text in a leaf.
func titleHash(part string) uint32 { return uint32(xxh3.HashStringSeed(part, 1)) }

// pieceKind says how the terms of a piece were counted in Page.Terms.
type pieceKind uint8

const (
	leafPiece    pieceKind = iota // in Body
	headingPiece                  // in Head; its leaves are counted in Body
	titlePiece                    // in both
)

// weight is what a term of such a piece adds to a frequency, where one in a
// heading counts head more.
func (k pieceKind) weight(head float64) float64 {
	switch k {
	case headingPiece:
		return head
	case titlePiece:
		return 1 + head
	}
	return 1
}

// pieces are the texts of a page that belong to the template.
func (t template) pieces(p *web.Page) iter.Seq2[string, pieceKind] {
	return func(yield func(string, pieceKind) bool) {
		if len(t) == 0 {
			return
		}
		for part := range titleParts(p.Title) {
			if t.holds(titleHash(part)) && !yield(part, titlePiece) {
				return
			}
		}
		for _, h := range p.Headings {
			if t.holds(pieceHash(h)) && !yield(h, headingPiece) {
				return
			}
		}
		for _, l := range p.Leaves {
			// The text of an image is no term.
			if l.Text != "" && t.holds(pieceHash(l.Text)) && !slices.Contains(p.Alts, l.Text) && !yield(l.Text, leafPiece) {
				return
			}
		}
	}
}

// titleParts are the parts of a title, as in "Contact | Bees of Bern – Home".
func titleParts(title string) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest := title
		for rest != "" {
			at, size := len(rest), 0
			for i := 0; i < len(rest); i++ {
				if n := separator(rest[i:]); n > 0 {
					at, size = i, n
					break
				}
			}
			part := strings.TrimSpace(rest[:at])
			rest = rest[at+size:]
			if part != "" && !yield(part) {
				return
			}
		}
	}
}

// separator is the length of the separator of title parts that s begins with, 0
// if there is none: a line, dash, dot or guillemet between spaces, or "::".
func separator(s string) int {
	if strings.HasPrefix(s, "::") {
		return 2
	}
	if s[0] != ' ' {
		return 0
	}
	for _, mark := range [...]string{"|", "-", "–", "—", "·", "»", "«", "•"} {
		if strings.HasPrefix(s[1:], mark) && strings.HasPrefix(s[1+len(mark):], " ") {
			return len(mark) + 2
		}
	}
	return 0
}

// AppendBinary appends the site as
//
//	host, its length first · pages uvarint · pieces uvarint ·
//	for each piece, sorted: hash 4 bytes big-endian, n uvarint, missed uvarint
func (s *site) AppendBinary(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(len(s.host)))
	b = append(b, s.host...)
	b = binary.AppendUvarint(b, uint64(s.pages))
	b = binary.AppendUvarint(b, uint64(len(s.count)))
	for _, hash := range slices.Sorted(maps.Keys(s.count)) {
		b = binary.BigEndian.AppendUint32(b, hash)
		b = binary.AppendUvarint(b, uint64(s.count[hash].n))
		b = binary.AppendUvarint(b, uint64(s.count[hash].missed))
	}
	return b, nil
}

// errState is wrapped by the errors of a state that cannot be taken up.
var errState = errors.New("the state is not one of this judge: resume with the topic and the judge of the first run, or have the pages judged anew: waggle judge")

// UnmarshalBinary reads what AppendBinary wrote.
func (s *site) UnmarshalBinary(b []byte) error {
	r := stateReader{b: b}
	out := site{host: web.Host(r.text()), pages: r.int(sitePages), count: map[uint32]tally{}}
	for range r.int(len(r.b) / 6) {
		hash := r.hash()
		out.count[hash] = tally{uint8(r.int(sitePages)), uint8(r.int(sitePages))}
	}
	if err := r.end(); err != nil {
		return err
	}
	*s = out
	return nil
}

// stateReader reads the parts of a state; after an error it gives zeros.
type stateReader struct {
	b   []byte
	bad bool
}

// int reads a number of at most limit.
func (r *stateReader) int(limit int) int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > uint64(limit) {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *stateReader) text() string {
	n := r.int(len(r.b))
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *stateReader) hash() uint32 {
	if len(r.b) < 4 {
		r.bad, r.b = true, nil
		return 0
	}
	h := binary.BigEndian.Uint32(r.b)
	r.b = r.b[4:]
	return h
}

func (r *stateReader) float() float64 {
	if len(r.b) < 8 {
		r.bad, r.b = true, nil
		return 0
	}
	f := math.Float64frombits(binary.BigEndian.Uint64(r.b))
	r.b = r.b[8:]
	return f
}

// end is nil if all was read and nothing else was there.
func (r *stateReader) end() error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w (cut short, or damaged)", errState)
	}
	return nil
}
