package frontier

import (
	"hash/maphash"
	"time"

	"github.com/waggle-crawler/waggle/internal/offheap"
	"github.com/waggle-crawler/waggle/web"
)

// hostStore is where the states of hosts are.
type hostStore interface {
	// hostState returns the state of a host as the store has it.
	hostState(id uint32) (web.HostState, error)
	// stored is the number of a commit that the store has, with all before it.
	stored() uint64
	// eachHost calls do with the states of all hosts, as they were committed.
	eachHost(do func(id uint32, s web.HostState) error) error
}

// coldHost is a host in 56 bytes. Of one at hand, only names, domain and chain count, and queued is 0.
type coldHost struct {
	name, domain uint64 // hashes
	head         key    // the best that waits; while ready or waiting
	due          int64  // nanoseconds of Unix time; while waiting
	nextOfSite   uint32 // one more than the next host of its site, 0 = none
	queued       uint32 // links that wait
	heapIndex    uint32 // its place in the heap it is in
	flags        uint16
}

const (
	coldClass   = 3 // the class
	coldReady   = 1 << (iota + 1)
	coldWaiting // at most one of these two
	coldUntried // no page was fetched
	coldFailed
	coldProven
	coldYoung
	coldQuick // it counts among Frontier.quick
	coldDown
	coldBlank // nothing is known but the name
)

const (
	chunkHosts = 1 << 14
	// hotHosts is how many hosts are at hand, beside those that have to be.
	hotHosts = 1 << 16
	// keptSite is the number of hosts beyond which a site stays at hand.
	keptSite = 64
)

func newCold(store hostStore, most int) *cold {
	c := &cold{store: store, seed: maphash.MakeSeed(), most: most}
	moved := func(id uint32, i int) {
		if i >= 0 {
			c.host(id).heapIndex = uint32(i)
		}
	}
	for i := range c.ready {
		c.ready[i] = heap[uint32]{moved: moved, less: func(a, b uint32) bool { return c.host(a).head.before(c.host(b).head) }}
	}
	c.waiting = heap[uint32]{moved: moved, less: func(a, b uint32) bool {
		x, y := c.host(a), c.host(b)
		return x.due < y.due || x.due == y.due && a < b
	}}
	return c
}

func (c *cold) host(id uint32) *coldHost { return &c.chunks[id/chunkHosts][id%chunkHosts] }

func (c *cold) hash(s string) uint64 { return maphash.String(c.seed, s) }

// add makes the record of a new host, the next by its id, and returns it.
func (c *cold) add(id uint32, name web.Host, domain string) *coldHost {
	if int(id/chunkHosts) == len(c.chunks) {
		c.chunks = append(c.chunks, offheap.Make[coldHost](chunkHosts))
	}
	h := c.host(id)
	*h = coldHost{name: c.hash(string(name)), domain: c.hash(domain)}
	c.names.add(id, h.name, func(id uint32) uint64 { return c.host(id).name })
	if first, ok := c.first(h.domain); ok {
		h.nextOfSite, c.host(first).nextOfSite = c.host(first).nextOfSite, id+1
	} else {
		c.domains.add(id, h.domain, func(id uint32) uint64 { return c.host(id).domain })
	}
	return h
}

// first is the first host in the chain of a site.
func (c *cold) first(domain uint64) (id uint32, ok bool) {
	return c.domains.find(domain, func(id uint32) bool { return c.host(id).domain == domain })
}

// chain are the hosts of a site, by their numbers.
func (c *cold) chain(domain uint64) func(yield func(id uint32) bool) {
	return func(yield func(id uint32) bool) {
		id, ok := c.first(domain)
		for ok && yield(id) {
			next := c.host(id).nextOfSite
			id, ok = next-1, next > 0
		}
	}
}

func (c *cold) free() {
	for _, chunk := range c.chunks {
		offheap.Free(chunk)
	}
	offheap.Free(c.names.slots)
	offheap.Free(c.domains.slots)
	*c = cold{}
}

// set writes down what a state says.
func (h *coldHost) set(s *web.HostState, class class) {
	h.flags = h.flags&(coldReady|coldWaiting|coldQuick) | uint16(class)
	for _, x := range []struct {
		is   bool
		flag uint16
	}{
		{s.Fetched == 0, coldUntried},
		{s.Failures > 0, coldFailed},
		{s.Fetched > s.Barren, coldProven},
		{s.Fetched < grown, coldYoung},
		{s.Down, coldDown},
		{*s == web.HostState{Host: s.Host}, coldBlank},
	} {
		if x.is {
			h.flags |= x.flag
		}
	}
}

func (h *coldHost) is(flag uint16) bool { return h.flags&flag != 0 }

func (h *coldHost) class() class { return class(h.flags & coldClass) }

// share is what the host adds to the counts of its site.
func (h *coldHost) counts() (s hostCounts) {
	s.working, s.proven = h.queued > 0, h.is(coldProven)
	s.names = h.queued > 0 && h.is(coldUntried)
	s.fresh = s.names && !h.is(coldFailed)
	s.quick = h.is(coldQuick)
	if h.is(coldYoung) {
		s.links = int(h.queued)
	}
	return s
}

// hostIndex finds hosts by a hash: open addressing with linear probing, of which at most three
// quarters are full. A slot is one more than the number of a host.
type hostIndex struct {
	slots []uint32
	n     int
}

func (x *hostIndex) find(hash uint64, is func(id uint32) bool) (id uint32, ok bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; x.slots[i] != 0; i = (i + 1) & mask {
		if id := x.slots[i] - 1; is(id) {
			return id, true
		}
	}
	return 0, false
}

func (x *hostIndex) add(id uint32, hash uint64, hashOf func(id uint32) uint64) {
	if 4*(x.n+1) > 3*len(x.slots) {
		old := x.slots
		x.slots = offheap.Make[uint32](max(2*len(old), 1024))
		for _, slot := range old {
			if slot != 0 {
				x.put(slot-1, hashOf(slot-1))
			}
		}
		offheap.Free(old)
	}
	x.n++
	x.put(id, hash)
}

func (x *hostIndex) put(id uint32, hash uint64) {
	mask := uint64(len(x.slots) - 1)
	i := hash & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = id + 1
}

// nanoseconds are those of a moment in Unix time; ok is false where they do not tell it.
func nanoseconds(t time.Time) (n int64, ok bool) {
	if t.Year() < 1970 || t.Year() > 2200 {
		return 0, false
	}
	return t.UnixNano(), true
}
