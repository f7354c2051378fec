package frontier

import (
	"cmp"
	"errors"

	"github.com/waggle-crawler/waggle/web"
)

// Where a frontier is large, no cache has what a host has next, and each lease needs two looks at the store:
//
//	a cold host is the best    its best link is read, and its state unless only its name is known
//	a host at hand is due      its next keys are read, and the best of these links
//
// So when one of these is needed, those of the hosts that follow in the same queue are read with it, on all
// cores. It is only read: what a host has is the same until its turn comes, or it is named before and what
// was read of it counts no more.
const (
	// readNext is how many hosts are read at a time.
	readNext = 32
	// mostEarly is how many cold hosts are held of which something was read, before all that was read is dropped.
	mostEarly = 1 << 10
	// readSome is how many of them a core reads at a time.
	readSome = 4
)

// earlyHost is what was read of a cold host before its turn.
type earlyHost struct {
	id    uint32
	blank bool // the state is not to be read: it is the name alone, which the link has
	state web.HostState
	link  prereadCandidate
	err   error
}

// readBest reads those cold hosts of a queue whose turn comes next, unless the first of them was read before.
func (c *cold) readBest(q *heap[uint32]) {
	if _, ok := c.early[q.top()]; ok {
		return
	}
	if len(c.early) > mostEarly {
		clear(c.early)
	}
	var next []earlyHost
	for id := range q.inOrder(readNext) {
		if _, ok := c.early[id]; !ok {
			h := c.host(id)
			next = append(next, earlyHost{id: id, blank: h.is(coldBlank), link: prereadCandidate{key: h.head}})
		}
	}
	c.store.readLinks(next)
	for i := range next {
		if h := &next[i]; h.err == nil {
			c.early[h.id] = h
		}
	}
}

// readDue reads the keys of those hosts at hand that are due next, where those of the first are not known.
func (f *Frontier) readDue() {
	unread := func(h *host) bool { return h.queued > 0 && len(h.window.head) == 0 }
	if f.cold == nil || !unread(f.waiting.top()) {
		return
	}
	var next []*host
	for h := range f.waiting.inOrder(readNext) {
		if unread(h) {
			next = append(next, h)
		}
	}
	f.cold.store.readKeys(next)
}

// readLinks reads links of cold hosts, and their states unless they are blank. The error of one is in its place: it is
// met again by who needs that host.
func (d *disk) readLinks(next []earlyHost) {
	unread := cmp.Or(d.failed, d.halt.err())
	if d.kept != nil {
		unread = errors.New("links are kept in memory")
	}
	if unread != nil {
		for i := range next {
			next[i].err = unread
		}
		return
	}
	onAllCores(len(next), readSome, func(i, j int) {
		var key []byte
		for ; i < j; i++ {
			h := &next[i]
			if h.link.c, h.err = d.storedLink(key[:0], h.id, h.link.key); h.err != nil {
				continue
			}
			if h.state.Host = h.link.c.URL.Host(); !h.blank {
				h.state, h.err = d.storedHost(key[:0], h.id)
			}
		}
	})()
}

// readKeys is fill of several hosts. Those that it fails to read are read again by who needs them.
func (d *disk) readKeys(next []*host) {
	if d.kept != nil || d.await(0) != nil {
		return
	}
	onAllCores(len(next), readSome, func(i, j int) {
		for _, h := range next[i:j] {
			if d.fill(h) != nil {
				h.window.head, h.preread = nil, nil
			}
		}
	})()
}

// storedLink is a link as the store has it, or the memory of the last ones. The key is written to b.
func (d *disk) storedLink(b []byte, host uint32, k key) (web.Candidate, error) {
	if value := d.recent.get(k); value != nil {
		return parseCandidate(value, k)
	}
	value, closer, err := d.db.Get(appendCandidateKey(b, host, k))
	if err != nil {
		return web.Candidate{}, err
	}
	c, err := parseCandidate(value, k)
	return c, errors.Join(err, closer.Close())
}

// storedHost is the state of a host as the store has it. The key is written to b.
func (d *disk) storedHost(b []byte, host uint32) (s web.HostState, err error) {
	value, closer, err := d.db.Get(appendHostKey(b, host))
	if err != nil {
		return s, err
	}
	s, err = parseHost(value)
	return s, errors.Join(err, closer.Close())
}
