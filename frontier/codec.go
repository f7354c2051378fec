package frontier

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// The keys of the store, by their first byte:
//
//	'c' host(4) priority(8) sequence(8)   a candidate, waiting or leased
//	'h' host(4)                           a host
//	'v' commit(8)                         the list of moves: (sequence(8) priority(8)) × n
//	's' name                              a blob of a Turn's State
//	'm'                                   meta
//
// Numbers are big-endian, so that keys sort as their parts. Priority is the
// bits of the float64, turned so that a higher priority sorts first: a host's
// candidates lie side by side, best first, but for those that moved since: see kept.go.
const (
	candidatePrefix = 'c'
	hostPrefix      = 'h'
	movePrefix      = 'v'
	statePrefix     = 's'
	metaPrefix      = 'm'

	hostKeySize      = 1 + 4 // also of the part of a candidate's key that tells its host
	candidateKeySize = hostKeySize + 8 + 8
)

// descending turns the bits of a priority so that higher ones sort first.
func descending(p float64) uint64 {
	b := math.Float64bits(p)
	if b>>63 == 1 {
		return b // negative: larger magnitude, larger bits, later
	}
	return ^b &^ (1 << 63)
}

func fromDescending(b uint64) float64 {
	if b>>63 == 1 {
		return math.Float64frombits(b)
	}
	return math.Float64frombits(^b &^ (1 << 63))
}

func appendCandidateKey(b []byte, host uint32, k key) []byte {
	b = append(b, candidatePrefix)
	b = binary.BigEndian.AppendUint32(b, host)
	b = binary.BigEndian.AppendUint64(b, descending(k.prio))
	return binary.BigEndian.AppendUint64(b, k.seq)
}

func parseCandidateKey(b []byte) (host uint32, k key, err error) {
	if len(b) != candidateKeySize {
		return 0, key{}, fmt.Errorf("candidate key of %d bytes: %w", len(b), errDamaged)
	}
	return binary.BigEndian.Uint32(b[1:]), key{
		prio: fromDescending(binary.BigEndian.Uint64(b[5:])),
		seq:  binary.BigEndian.Uint64(b[13:]),
	}, nil
}

func appendHostKey(b []byte, host uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, hostPrefix), host)
}

// appendCandidate writes a candidate without its priority, which is in its key:
//
//	depth redirects tries                     uvarint each
//	address from kind features memory         uvarint length, bytes each
func appendCandidate(b []byte, c *web.Candidate) []byte {
	b = binary.AppendUvarint(b, uint64(c.Depth))
	b = binary.AppendUvarint(b, uint64(c.Redirects))
	b = binary.AppendUvarint(b, uint64(c.Tries))
	b = appendString(b, c.URL.String())
	b = appendString(b, c.From.String())
	b = appendString(b, string(c.Kind))
	b = appendString(b, c.Features)
	return appendString(b, c.Memory)
}

// parseCandidate reads a candidate, which shares no memory with b.
func parseCandidate(b []byte, k key) (web.Candidate, error) {
	c, err := new(candidateParser).parse(b, k)
	c.Features, c.Memory = bytes.Clone(c.Features), bytes.Clone(c.Memory)
	return c, err
}

// candidateParser reads many candidates: two in a row are often of one page.
type candidateParser struct{ from web.URL }

// parse reads a candidate, whose features and memory are parts of b.
func (p *candidateParser) parse(b []byte, k key) (web.Candidate, error) {
	r := reader{b: b}
	c := web.Candidate{
		Depth:     int(r.uint()),
		Redirects: int(r.uint()),
		Tries:     int(r.uint()),
		Priority:  k.prio,
	}
	c.URL = r.url()
	if from := r.bytes(); string(from) != p.from.String() {
		p.from = r.asURL(from)
	}
	c.From = p.from
	c.Kind = kindOf(r.bytes())
	c.Features = r.part()
	c.Memory = r.part()
	if r.err != nil || len(r.b) > 0 || c.URL.IsZero() {
		return c, fmt.Errorf("candidate %s: %w", c.URL, errors.Join(errDamaged, r.err))
	}
	return c, nil
}

// addressOf reads the address of a candidate alone.
func addressOf(b []byte) (address []byte, err error) {
	r := reader{b: b}
	r.uint()
	r.uint()
	r.uint()
	address = r.bytes()
	return address, r.err
}

// appendHost writes what is kept of a host:
//
//	due                       seconds and nanoseconds of Unix time, varint each
//	fetched failures barren   varint each
//	0 flags slow [since] [renders]   the byte 0, a byte, uvarint, as due, see below
//	name                      bytes, to the end
//
// The third line is left out where flags and slow are 0: no name begins with the
// byte 0. Flags are 1 for silent, 2 for down, 4 for a since that follows, 8 for renders:
// the number of their kinds, and of each pages, done and gained, all uvarint.
func appendHost(b []byte, s web.HostState) []byte {
	b = appendMoment(b, s.Due)
	b = binary.AppendVarint(b, int64(s.Fetched))
	b = binary.AppendVarint(b, int64(s.Failures))
	b = binary.AppendVarint(b, int64(s.Barren))
	var flags byte
	if s.Silent {
		flags |= hostSilent
	}
	if s.Down {
		flags |= hostDown
	}
	if !s.Since.IsZero() {
		flags |= hostSince
	}
	if s.Renders != ([web.RenderKinds]web.Renders{}) {
		flags |= hostRenders
	}
	if flags != 0 || s.Slow != 0 {
		b = append(b, 0, flags)
		b = binary.AppendUvarint(b, uint64(s.Slow))
		if flags&hostSince != 0 {
			b = appendMoment(b, s.Since)
		}
		if flags&hostRenders != 0 {
			b = binary.AppendUvarint(b, web.RenderKinds)
			for _, k := range s.Renders {
				for _, n := range [...]int{k.Pages, k.Done, k.Gained} {
					b = binary.AppendUvarint(b, uint64(n))
				}
			}
		}
	}
	return append(b, s.Host...)
}

// Flags of a host.
const (
	hostSilent = 1 << iota
	hostDown
	hostSince
	hostRenders
)

func appendMoment(b []byte, t time.Time) []byte {
	b = binary.AppendVarint(b, t.Unix())
	return binary.AppendVarint(b, int64(t.Nanosecond()))
}

func parseHost(b []byte) (web.HostState, error) {
	r := reader{b: b}
	s := web.HostState{
		Due:      r.moment(),
		Fetched:  int(r.int()),
		Failures: int(r.int()),
		Barren:   int(r.int()),
	}
	if len(r.b) > 1 && r.b[0] == 0 {
		flags := r.b[1]
		r.b = r.b[2:]
		s.Slow = int(r.uint())
		s.Silent, s.Down = flags&hostSilent != 0, flags&hostDown != 0
		if flags&hostSince != 0 {
			s.Since = r.moment()
		}
		if flags&hostRenders != 0 {
			for i := range r.uint() {
				k := web.Renders{Pages: int(r.uint()), Done: int(r.uint()), Gained: int(r.uint())}
				if r.err != nil {
					break
				}
				if i < web.RenderKinds {
					s.Renders[i] = k
				}
			}
		}
	}
	s.Host = web.Host(r.b)
	if r.err != nil || s.Host == "" {
		return s, fmt.Errorf("host record: %w", errDamaged)
	}
	return s, nil
}

// meta is the store's own record:
//
//	version ledger size records synced next turn forgetful   uvarint each
//	n (number size records) × n                              ledgers that are written no more, the oldest first
//	n (first last records) × n                               runs, the oldest first
//
//	moves                                                    of version 4: uvarint
//
// Version 1 has neither turn nor what follows it, and version 2 has one ledger alone. Without
// moves it is of version 3, which earlier programs read.
type meta struct {
	version uint64
	ledger  uint64 // number of the ledger's file
	size    int64  // its committed length, in bytes
	records int64  // in that length
	synced  int64  // how much of it has been made to survive a power failure
	next    uint64 // number of the next entry
	turn    uint64 // number of the commit: one more than the one before
	// forgetful is 1 from when the end of the seen-set was lost until what it
	// held is known again.
	forgetful bool
	closed    []ledgerRef
	runs      []runRef
	moves     int // in the list
}

const storeVersion = 4

func (m meta) append(b []byte) []byte {
	version := uint64(storeVersion)
	if m.moves == 0 {
		version--
	}
	b = binary.AppendUvarint(b, version)
	b = binary.AppendUvarint(b, m.ledger)
	b = binary.AppendUvarint(b, uint64(m.size))
	b = binary.AppendUvarint(b, uint64(m.records))
	b = binary.AppendUvarint(b, uint64(m.synced))
	b = binary.AppendUvarint(b, m.next)
	b = binary.AppendUvarint(b, m.turn)
	forgetful := byte(0)
	if m.forgetful {
		forgetful = 1
	}
	b = append(b, forgetful)
	b = binary.AppendUvarint(b, uint64(len(m.closed)))
	for _, l := range m.closed {
		b = binary.AppendUvarint(b, l.number)
		b = binary.AppendUvarint(b, uint64(l.size))
		b = binary.AppendUvarint(b, uint64(l.records))
	}
	b = binary.AppendUvarint(b, uint64(len(m.runs)))
	for _, r := range m.runs {
		b = binary.AppendUvarint(b, r.first)
		b = binary.AppendUvarint(b, r.last)
		b = binary.AppendUvarint(b, uint64(r.records))
	}
	if m.moves > 0 {
		b = binary.AppendUvarint(b, uint64(m.moves))
	}
	return b
}

func parseMeta(b []byte) (meta, error) {
	r := reader{b: b}
	version := r.uint()
	if r.err == nil && (version < 1 || version > storeVersion) {
		return meta{}, fmt.Errorf("%w: it is of version %d and this program reads versions 1 to %d: go on with the program that wrote it", errVersion, version, storeVersion)
	}
	m := meta{version: version, ledger: r.uint(), size: int64(r.uint()), records: int64(r.uint()), synced: int64(r.uint()), next: r.uint()}
	if version >= 2 {
		m.turn, m.forgetful = r.uint(), r.uint() != 0
	}
	if version >= 3 {
		for range r.uint() {
			if m.closed = append(m.closed, ledgerRef{r.uint(), int64(r.uint()), int64(r.uint())}); r.err != nil {
				break
			}
		}
		for range r.uint() {
			if m.runs = append(m.runs, runRef{r.uint(), r.uint(), int64(r.uint())}); r.err != nil {
				break
			}
		}
	}
	if version >= 4 {
		m.moves = int(r.uint())
	}
	if r.err != nil {
		return m, fmt.Errorf("meta record: %w", errDamaged)
	}
	return m, nil
}

// errVersion is of files that another version of this program wrote.
var errVersion = errors.New("written by another version")

// reader reads varints and strings until the first error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	return v * r.skip(n)
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	return v * int64(r.skip(n))
}

// skip passes over n bytes; it is 1, or 0 when there is an error.
func (r *reader) skip(n int) uint64 {
	if n <= 0 {
		r.b, r.err = nil, errDamaged
		return 0
	}
	r.b = r.b[n:]
	return 1
}

func (r *reader) moment() time.Time {
	seconds := r.int()
	return time.Unix(seconds, r.int()).UTC()
}

func (r *reader) bytes() []byte {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.b, r.err = nil, errDamaged
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// part is the next bytes, nil where there are none.
func (r *reader) part() []byte {
	b := r.bytes()
	if len(b) == 0 {
		return nil
	}
	return b[:len(b):len(b)]
}

func (r *reader) url() web.URL { return r.asURL(r.bytes()) }

func (r *reader) asURL(b []byte) (u web.URL) {
	if err := u.UnmarshalText(b); err != nil && r.err == nil {
		r.err = err
	}
	return u
}

// kinds are the kinds of link that cost no memory to read.
var kinds = [...]web.LinkKind{
	web.LinkA, web.LinkArea, web.LinkFrame, web.LinkIframe, web.LinkRefresh, web.LinkNext,
	web.LinkAlternate, web.LinkCanonical, web.LinkRedirect, web.LinkSeed, web.LinkAgain,
}

func kindOf(b []byte) web.LinkKind {
	for _, k := range kinds {
		if string(k) == string(b) {
			return k
		}
	}
	return web.LinkKind(b)
}

func appendString[S ~string | ~[]byte](b []byte, s S) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}
