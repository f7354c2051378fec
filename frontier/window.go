package frontier

import "slices"

// window holds the ends of one host's queue in memory: some of the best keys,
// which Lease takes, and, once the host has been full, some of the worst, which
// it drops. What lies between is on disk only. Beyond an exhausted end there is
// a remembered bound, so that a search on disk begins behind what was deleted
// there: walking over the tombstones of a queue would make emptying it
// quadratic.
type window struct {
	// head holds the best keys, best first. When it is empty and the host is
	// not, no key is before low; a low without a number says nothing.
	head []key
	low  key
	tail *tail  // nil until the host was full
	out  uint64 // hash of the address that is leased, while one is
}

// tail holds the worst keys, best first. When it is empty and high is set, high
// is before no key.
type tail struct {
	keys []key
	high key
}

const (
	headSize = 16 // keys read, and kept, at the good end
	tailSize = 64 // keys read at the bad end; twice as many are kept
)

// put notes that k entered a host that has n other keys.
func (w *window) put(k key, n int) {
	switch last := len(w.head) - 1; {
	case len(w.head) == n || last >= 0 && k.before(w.head[last]):
		w.head = slices.Insert(w.head, search(w.head, k), k)
		if len(w.head) > headSize {
			w.head = w.head[:headSize]
		}
	case last < 0 && w.low.seq != 0 && k.before(w.low):
		w.low = k
	}
	if t := w.tail; t != nil {
		switch {
		case len(t.keys) > 0:
			if t.keys[0].before(k) {
				t.keys = slices.Insert(t.keys, search(t.keys, k), k)
				if n := len(t.keys); n > 2*tailSize {
					t.keys = slices.Delete(t.keys, 0, n-2*tailSize)
				}
			}
		case t.high.seq != 0 && t.high.before(k):
			t.high = k
		}
	}
}

// fill is told all keys of a host, at most headSize, in any order.
func (w *window) fill(all []key) {
	slices.SortFunc(all, func(a, b key) int {
		if a.before(b) {
			return -1
		}
		return 1 // no two are equal
	})
	w.head = all
}

// remove notes that k left.
func (w *window) remove(k key) {
	if i := search(w.head, k); i < len(w.head) && w.head[i] == k {
		w.head = slices.Delete(w.head, i, i+1)
		if len(w.head) == 0 {
			w.head, w.low = nil, k
		}
	}
	if t := w.tail; t != nil {
		if i := search(t.keys, k); i < len(t.keys) && t.keys[i] == k {
			t.keys = slices.Delete(t.keys, i, i+1)
			t.tighten()
			if len(t.keys) == 0 {
				t.high = k
			}
		}
	}
}

// prepend adds keys read from disk, worst first, before those there.
func (t *tail) prepend(read []key) {
	slices.Reverse(read)
	t.keys = append(read, t.keys...)
	t.tighten()
}

// tighten gives back memory of keys that are gone. A queue that is full has the tails of all hosts
// in memory, most of which have few keys: with the room of their longest times they took 60 MB of a
// crawl of 80,000 hosts.
func (t *tail) tighten() {
	if cap(t.keys) > 2*len(t.keys)+8 {
		t.keys = slices.Clone(t.keys)
	}
}
