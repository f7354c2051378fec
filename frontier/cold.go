package frontier

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// cold keeps the hosts of a frontier on disk to which nothing happens: 56 bytes each, 5 to 11 in each
// of two indexes and 4 in a heap, where a host at hand takes about 800 and its best link. It is all that is needed to know
// when the host's turn comes:
//
//	at hand    something happened to it lately, it is leased from, or its site is crowded
//	  │ ▲
//	  │ │ named by a link, the best of those that are ready, scored anew
//	  ▼ │
//	cold       none of its links waits, or it is ready, or it waits for its time
//
// What it was is read from the store where it comes to be at hand; of most hosts, of
// which nothing is known but the name, not even that is needed. The order in which
// links leave is that of all hosts: before a host at hand is chosen, those that are better come to be
// at hand (see best), and those that are cold become due as others do.
//
// By the profile of BenchmarkFill with four million links, warm has 6 % of processor time and cool 3 %.
// Reading the host's record to learn no more than its name was a quarter of the time of Lease, so at
// reads the link that is leased next instead.
//
// A site is at hand while one of its hosts is; else its counts are made anew of its hosts, which
// are in a chain. One with many hosts stays.
//
// A host is known by the hash of its name, with a seed that nobody outside knows: among 10⁷ hosts, two have one
// hash in three of a million crawls, and then a lease says that the frontier is damaged.
type cold struct {
	store   hostStore
	seed    maphash.Seed
	chunks  [][]coldHost // by id
	names   hostIndex    // all hosts
	domains hostIndex    // the first host of each site's chain
	ready   [numClasses]heap[uint32]
	waiting heap[uint32]
	hand    int     // the place of ring that is looked at next
	ring    []*host // those at hand
	most    int     // of these, that are kept
	left    int     // of these, when cool was done last
}

// find returns a host by its name, nil if there is none. It is at hand then.
func (f *Frontier) find(name web.Host) (*host, error) {
	h := f.byName[name]
	if h != nil {
		h.used = true
	}
	if h != nil || f.cold == nil {
		return h, nil
	}
	c := f.cold
	hash := c.hash(string(name))
	var err error
	c.names.find(hash, func(id uint32) bool {
		o := c.host(id)
		if err != nil || o.name != hash || f.hosts[id] != nil { // one at hand has another name
			return false
		}
		s := web.HostState{Host: name}
		if !o.is(coldBlank) {
			if s, err = c.store.hostState(id); err != nil || s.Host != name {
				return false
			}
		}
		h = f.warm(id, s)
		return true
	})
	return h, err
}

// at returns a host by its number. It is at hand then.
func (f *Frontier) at(id uint32) (*host, error) {
	if h := f.hosts[id]; h != nil {
		return h, nil
	}
	c := f.cold.host(id)
	if !c.is(coldBlank) || c.queued == 0 {
		s, err := f.cold.store.hostState(id)
		if err != nil {
			return nil, err
		}
		return f.warm(id, s), nil
	}
	// Only its name is to be known: its best link, for which it was asked most likely, has it.
	best, err := f.backend.load(&host{id: id}, c.head)
	if err != nil {
		return nil, err
	}
	name := best.URL.Host()
	if f.cold.hash(string(name)) != c.name {
		return nil, f.damaged(fmt.Errorf("a link of host %d has the address %s: %w", id, best.URL, errDamaged))
	}
	h := f.warm(id, web.HostState{Host: name})
	h.preread = &prereadCandidate{c.head, best}
	return h, nil
}

// ahead is a candidate that was read before it was asked for.
type prereadCandidate struct {
	key key
	c   web.Candidate
}

// warm makes a cold host one at hand. It changes no counts.
func (f *Frontier) warm(id uint32, s web.HostState) *host {
	c := f.cold.host(id)
	domain := s.Host.Domain()
	own := f.site(domain)
	h := &host{
		id: id, state: s, queued: int(c.queued), heapIndex: -1, unseenIndex: -1, boundIndex: -1, worst: unbounded(), loose: true, site: own,
		counts: c.counts(), pages: s.Fetched, used: true,
	}
	f.atHand(h)
	delete(own.asleep, id)
	if h.queued > 0 {
		h.head = c.head
		h.window.head = append(h.window.head, c.head)
		if s.Fetched == 0 {
			own.show(h, false)
		}
	}
	switch {
	case c.is(coldReady):
		f.cold.ready[c.class()].remove(int(c.heapIndex))
		h.inHeap = &f.ready[c.class()]
		h.inHeap.push(h)
	case c.is(coldWaiting):
		f.cold.waiting.remove(int(c.heapIndex))
		h.due = time.Unix(0, c.due).UTC()
		h.inHeap = &f.waiting
		h.inHeap.push(h)
		if s.Down {
			h.held = h.queued
		}
	}
	c.flags &^= coldReady | coldWaiting
	c.queued = 0 // Hosts counts by it those that are cold
	return h
}

// atHand notes that a host is at hand.
func (f *Frontier) atHand(h *host) {
	f.hosts[h.id] = h
	f.byName[h.state.Host] = h
	h.site.hot++
	if f.cold != nil {
		f.cold.ring = append(f.cold.ring, h)
	}
}

// site returns the site of a domain, nil if there is none. It is at hand then.
func (f *Frontier) site(domain string) *site {
	if s := f.sites[domain]; s != nil || f.cold == nil {
		return s
	}
	return f.warmSite(domain, f.cold.hash(domain))
}

// warmSite makes the counts of a site of those of its hosts, which are all cold; nil where there are none.
func (f *Frontier) warmSite(domain string, hash uint64) *site {
	var s *site
	for id := range f.cold.chain(hash) {
		if s == nil {
			s = &site{name: domain}
		}
		s.take(id, f.cold.host(id))
	}
	if s != nil {
		f.keepSite(domain, s)
	}
	return s
}

// take adds what a cold host adds to its site.
func (s *site) take(id uint32, c *coldHost) {
	s.hosts++
	s.sleep(id, c)
	is := c.counts()
	add := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	add(&s.names, is.names)
	add(&s.fresh, is.fresh)
	add(&s.proven, is.proven)
	add(&s.working, is.working)
	add(&s.ready, c.is(coldReady))
	add(&s.waiting, c.is(coldWaiting))
	s.links += is.links
}

// sleep notes that a host of the site is cold.
func (s *site) sleep(id uint32, c *coldHost) {
	if !c.counts().names {
		return
	}
	if s.asleep == nil {
		s.asleep = make(map[uint32]struct{})
	}
	s.asleep[id] = struct{}{}
}

func (f *Frontier) keepSite(domain string, s *site) {
	f.sites[domain] = s
	if f.cold != nil {
		f.siteByHash[f.cold.hash(domain)] = s
	}
}

// warmUnseen brings those hosts of a site to hand that gave no page and have links.
func (f *Frontier) warmUnseen(s *site) error {
	for _, id := range slices.Sorted(maps.Keys(s.asleep)) {
		if _, err := f.at(id); err != nil {
			return err
		}
	}
	return nil
}

// warmBest brings the best hosts of a class to hand: as many that the two best of all are.
func (f *Frontier) warmBest(c class) error {
	if f.cold == nil {
		return nil
	}
	for q := &f.cold.ready[c]; q.len() > 0; {
		items := f.ready[c].items
		if len(items) > 1 {
			second := items[1]
			if len(items) > 2 && items[2].head.before(second.head) {
				second = items[2]
			}
			if !f.cold.host(q.top()).head.before(second.head) {
				return nil
			}
		}
		if _, err := f.at(q.top()); err != nil {
			return err
		}
	}
	return nil
}

// advanceCold moves cold hosts that have become due to those that are ready.
func (f *Frontier) advanceCold() error {
	if f.cold == nil {
		return nil
	}
	for q := &f.cold.waiting; q.len() > 0; {
		id := q.top()
		c := f.cold.host(id)
		if time.Unix(0, c.due).After(f.now) {
			return nil
		}
		s := f.siteByHash[c.domain]
		if f.workers > 0 && c.is(coldYoung) && f.maybeCrowded(c, s) {
			h, err := f.at(id)
			if err != nil {
				return err
			}
			if err := f.place(h); err != nil {
				return err
			}
			continue
		}
		q.remove(int(c.heapIndex))
		c.flags &^= coldWaiting
		if c.is(coldDown) {
			f.down--
			f.held -= int(c.queued)
		}
		if s != nil {
			s.waiting--
			s.ready++
		}
		f.coldReady(id)
	}
	return nil
}

// coldReady puts a cold host among those that are ready.
func (f *Frontier) coldReady(id uint32) {
	c := f.cold.host(id)
	c.flags |= coldReady
	if c.class() == quick && !c.is(coldQuick) {
		c.flags |= coldQuick
		f.quick++
	}
	f.cold.ready[c.class()].push(id)
}

// maybeCrowded tells whether the site of a cold host is crowded; s is nil where it is not at hand.
func (f *Frontier) maybeCrowded(c *coldHost, s *site) bool {
	if s != nil {
		return f.crowded(s)
	}
	hosts, fresh := 0, 0
	for id := range f.cold.chain(c.domain) {
		if hosts++; hosts > keptSite {
			return true // its counts are made once, as it stays at hand
		}
		if !f.cold.host(id).counts().fresh {
			continue
		}
		if fresh++; fresh > f.crowdLimit {
			return true
		}
	}
	return false
}

// othersCold tells whether a cold host of another site than s is due by a moment.
func (f *Frontier) othersCold(s *site, by time.Time) bool {
	if f.cold == nil || f.cold.waiting.len() == 0 {
		return false
	}
	own := f.cold.hash(s.name)
	var look func(i int) bool
	look = func(i int) bool {
		if i >= f.cold.waiting.len() {
			return false
		}
		c := f.cold.host(f.cold.waiting.items[i])
		if time.Unix(0, c.due).After(by) {
			return false
		}
		return c.domain != own || look(2*i+1) || look(2*i+2)
	}
	return look(0)
}

// cool makes hosts cold as long as more are at hand than are kept, those first that were not asked for
// since they were looked at. It is called when nobody has a host in hand.
func (f *Frontier) cool() error {
	c := f.cold
	if c == nil {
		return nil
	}
	// Where most have to stay, as those of a full queue do, not all are looked at in each turn: the more become
	// cold, the more are looked at. Without that, hosts are brought to hand faster than they go.
	const more = 16 // looks for each that becomes cold
	defer func() { c.left = len(c.ring) }()
	looks := min(2*(len(c.ring)-c.most), 2*max(0, len(c.ring)-c.left)+64)
	for ; len(c.ring) > c.most && looks > 0; looks-- {
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		h := c.ring[c.hand]
		if h.used || !f.mayCool(h) {
			h.used = false
			c.hand++
			continue
		}
		ok, err := f.coolHost(h)
		if err != nil {
			return err
		}
		if !ok {
			c.hand++
			continue
		}
		last := len(c.ring) - 1
		c.ring[c.hand], c.ring[last] = c.ring[last], nil
		c.ring = c.ring[:last]
		looks += more
	}
	return nil
}

// mayCool tells whether 56 bytes, and what the store has by now, tell all that is to be known of a host.
func (f *Frontier) mayCool(h *host) bool {
	return h.written <= f.cold.store.stored() && !h.busy() && h.ports == nil && !h.mayHaveTurn() && !h.dirty && h.boundIndex < 0 && !h.wasUntried && (h.queued == 0) == (h.inHeap == nil)
}

// mayHaveTurn tells whether a host has the turn of a site that is or was crowded, or may get it.
func (h *host) mayHaveTurn() bool {
	t := h.site.turns
	return t != nil && (t.chosen == h || h.inHeap == &t.line || h.queued > 0 && h.young())
}

// coolHost makes a host cold, if its time can be told. It changes no counts.
func (f *Frontier) coolHost(h *host) (bool, error) {
	c := f.cold.host(h.id)
	due, ok := nanoseconds(h.due)
	if h.inHeap == &f.waiting && !ok {
		return false, nil
	}
	if h.queued > 0 {
		k, err := f.backend.peek(h, 0)
		if err != nil {
			return false, err
		}
		c.head = k
	}
	c.queued, c.due, c.flags = uint32(h.queued), due, 0
	if h.counts.quick {
		c.flags = coldQuick
	}
	c.set(&h.state, h.class())
	if in := h.inHeap; in != nil {
		h.inHeap = nil
		in.remove(h.heapIndex)
		if in == &f.waiting {
			c.flags |= coldWaiting
			f.cold.waiting.push(h.id)
		} else {
			c.flags |= coldReady
			f.cold.ready[c.class()].push(h.id)
		}
	}
	s := h.site
	if h.unseenIndex >= 0 {
		s.show(h, true)
	}
	s.sleep(h.id, c)
	delete(f.hosts, h.id)
	delete(f.byName, h.state.Host)
	if s.hot--; s.hot == 0 && s.hosts <= keptSite && s.turns == nil {
		delete(f.sites, s.name)
		delete(f.siteByHash, c.domain)
	}
	return true, nil
}

// addCold makes a host of a state that the store has: cold, none of its links counted yet. It tells whether the host
// is to be placed at hand, as its time cannot be told here.
func (f *Frontier) addCold(s *web.HostState) (odd bool) {
	id := f.named
	f.named++
	c := f.cold.add(id, s.Host, s.Host.Domain())
	c.set(s, (&host{state: *s}).class())
	due, ok := nanoseconds(s.Due)
	if c.due = due; !s.Due.After(f.now) {
		c.due = math.MinInt64
		return false
	}
	return !ok
}

// placeCold puts all hosts where they belong, once their links are counted. It is for the beginning, when no
// moment was given and workers share nothing.
func (f *Frontier) placeCold() {
	for id := range f.named {
		c := f.cold.host(id)
		if first, _ := f.cold.first(c.domain); first == id {
			for o := range f.cold.chain(c.domain) {
				if f.cold.host(o).queued > 0 {
					f.working++
					break
				}
			}
		}
		f.queued += int(c.queued)
		switch {
		case c.queued == 0:
		case c.due == math.MinInt64:
			f.coldReady(id)
		default:
			c.flags |= coldWaiting
			f.cold.waiting.push(id)
			if c.is(coldDown) {
				f.down++
				f.held += int(c.queued)
			}
		}
	}
}

// warmQueues brings all hosts to hand for which links wait.
func (f *Frontier) warmQueues() error {
	for id := range f.named {
		if f.hosts[id] == nil && f.cold.host(id).queued > 0 {
			if _, err := f.at(id); err != nil {
				return err
			}
		}
	}
	return nil
}
