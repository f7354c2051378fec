package crawl

import (
	"slices"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// A trap is a host that serves one body under ever new addresses. What such
// addresses have in common is their shape (event.Shapes): their pattern, their
// directory, or their host.
//
// The life of a shape:
//
//	        a copy        copies, and most         more copies, and
//	unknown ──────► met ──────────────────► suspect ──────────────► trap
//	                 ▲       pages are it      │     three of four
//	                 └────── other pages ──────┘     pages are it
//
// with 4 and 12 copies for a pattern, 8 and 24 for a directory, 16 and 48 for a
// host: the wider a shape, the more good pages it may hold.
//
// Of a suspect shape links go last. Of a trap they are refused; those that wait
// are dropped when their turn comes. A copy is a page whose body came before from
// the same host under another address; the copies of a shape count by the body
// that it repeats most. All this is made anew from the event log when a crawl
// goes on.
type traps struct {
	shapes map[string]*shape
	order  ring[string] // of shapes
	pages  int          // taken in
	wary   int          // shapes that are suspect
	// watched are the hosts that have shapes which are suspect or traps, and how many.
	watched map[web.Host]int
}

// shape is what is known of the addresses of one shape, since its first copy.
type shape struct {
	body   uint64 // the one repeated
	copies int    // pages that are it
	others int    // pages that are not
	last   int    // of traps.pages, when the last one came
	fate   shapeFate
}

type shapeFate uint8

const (
	shapeMet shapeFate = iota
	shapeSuspect
	shapeTrap
)

const (
	mostShapes = 20_000 // remembered: those that are more than met, and those of which pages come
	// lastPlace is subtracted from the priority of a link of a suspect shape.
	lastPlace = 1e12
)

// suspectCopies and trapCopies are what makes a shape suspect, and a trap, by its
// width. They are never changed.
var (
	suspectCopies = [...]int{4, 8, 16}
	trapCopies    = [...]int{12, 24, 48}
)

// note takes in a page and whether it is a copy, and returns the event of the
// shape that became a trap by it.
func (t *traps) note(at event.At, u web.URL, body uint64, isCopy bool) (said []event.Event) {
	t.pages++
	for i, name := range slices.Backward(event.Shapes(u)) {
		s := t.shapes[name]
		if s == nil {
			if !isCopy {
				continue
			}
			old, ok := t.order.add(name, mostShapes, func(o string) bool {
				return t.shapes[o].fate == shapeMet && t.pages-t.shapes[o].last > idleAfter*mostShapes
			})
			if !ok {
				continue
			}
			delete(t.shapes, old)
			if t.shapes == nil {
				t.shapes = make(map[string]*shape)
			}
			s = &shape{body: body}
			t.shapes[name] = s
		}
		s.last = t.pages
		switch {
		case isCopy && s.body == body:
			s.copies++
		case isCopy && s.copies <= s.others/2: // another one takes its place
			s.body, s.copies = body, 1
		default:
			s.others++
		}
		was := s.fate
		switch {
		case was == shapeTrap:
			return said // what is narrower is one too
		case s.copies >= trapCopies[i] && s.copies >= 3*s.others:
			s.fate = shapeTrap
			said = append(said, event.Trap{At: at, Host: u.Host(), Shape: name, Copies: s.copies, Like: u})
		case s.copies >= suspectCopies[i] && s.copies > s.others:
			s.fate = shapeSuspect
		default:
			s.fate = shapeMet
		}
		t.count(u.Host(), was, -1)
		t.count(u.Host(), s.fate, 1)
	}
	return said
}

func (t *traps) count(host web.Host, f shapeFate, by int) {
	if f == shapeMet {
		return
	}
	if f == shapeSuspect {
		t.wary += by
	}
	if t.watched == nil {
		t.watched = make(map[web.Host]int)
	}
	if t.watched[host] += by; t.watched[host] == 0 {
		delete(t.watched, host)
	}
}

// fate is the worst that is known of the shapes of an address. Most hosts have none, and their shapes are not made.
func (t *traps) fate(u web.URL) (worst shapeFate) {
	if t.watched[u.Host()] == 0 {
		return shapeMet
	}
	for _, name := range event.Shapes(u) {
		if s := t.shapes[name]; s != nil {
			worst = max(worst, s.fate)
		}
	}
	return worst
}

// rank is the priority of a link, given that of its scorer.
func (t *traps) rank(u web.URL, priority float64) float64 {
	if t.wary > 0 && t.fate(u) == shapeSuspect {
		return priority - lastPlace
	}
	return priority
}

// ring are the keys of a bounded table, in the order in which they came. What goes for new ones
// follows from that order alone: a crawl that goes on has the same table.
type ring[K comparable] struct {
	keys []K
	next int
}

const (
	mostKept = 100 // keys that are to stay, passed over for one new key
	// idleAfter times the size of the table is how much is counted for others until a key may go.
	// If new ones took the place of those in use, nothing would be known of any where more than the
	// table holds take turns.
	idleAfter = 16
)

// add takes in a key, where there are most already instead of the oldest one that may go. It
// returns that, or the zero key. ok is false where those that are looked at are all to stay.
func (r *ring[K]) add(key K, most int, mayGo func(K) bool) (old K, ok bool) {
	if len(r.keys) < most {
		r.keys = append(r.keys, key)
		return old, true
	}
	for range min(most, mostKept) {
		at := &r.keys[r.next]
		r.next = (r.next + 1) % most
		if old = *at; mayGo(old) {
			*at = key
			return old, true
		}
	}
	return old, false
}
