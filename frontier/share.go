package frontier

import (
	"math/bits"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Who may be leased from when there is more to do than there are workers. What
// is here takes no link away: a host that yields is leased from later.
//
// # Hosts by what they have shown
//
//	untried   gave no page yet
//	quick     gave one, its last request was not slow, and it is due within a minute
//	slow      its last request was slow
//
// Of W workers at most W/4, but one, are with slow hosts. And where untried hosts
// may well be slow, as long as links wait for Q quick hosts, min(W/4, Q) workers are
// with neither slow nor untried ones: so a thousand hosts that send a byte a second
// leave room for those that answer. Untried hosts may be slow as long as fewer than
// fewTries of them are known, if slowTries of the last 32 were, or if one has
// not answered for lagging.
//
// # Names of a site
//
// A site is a registrable domain: whoever has it makes as many names below it as
// they like, and each would be a host with a queue and a turn of its own. So the
// names of a site that wait for a first visit are bounded, by
// Options.MaxNames + 4 · P, with P names that gave a relevant page, and at most
// maxNames: a further one enters if its link is better than all links of another
// name, which leaves, and is refused otherwise. While more than 32 such names wait, none
// of which has failed, the site is crowded: its young names, those with fewer than
// grown pages,
//
//   - stand in one line, those with fewer pages first, and have the place of one
//     host, also where their pages are relevant: one is leased at a time, the delay
//     apart;
//   - get no more of the last leases than one site among all that have links, as
//     long as another site has a host that is ready;
//   - have the queue of one host together.
//
// Names with more pages are hosts like others, and so are all names of a site
// that is not crowded, or that is the only one with links. One that is the only
// one with something to do within a minute has as many as there are workers. The life of a site: few names → crowded → visited, and few again. One
// that brings forth names faster than they are visited stays crowded.
//
// # Ports
//
// Hosts that differ in their port only are one machine: one of them is leased at
// a time, the delay apart.
const (
	defaultMaxNames = 256  // names of a site that wait for a first visit
	namesPerProof   = 4    // more for each that gave a relevant page
	maxNames        = 4096 // at most
	defaultCrowd    = 32   // such names beyond which a site is crowded
	grown           = 8    // pages of a name that is a host like any other
	lookBack        = 256  // leases looked back on
	fewTries        = 16   // untried hosts known, below which others may be slow
	slowTries       = 2    // of the last 32 that were
	lagging         = 3 * time.Second
	leastSites      = 8  // the share of a place is one in at least so many
	mostSites       = 32 // and in at most so many
	soon            = time.Minute
	soonLooks       = 64 // hosts looked at to find one that is due soon
)

// class says what a host has shown of its speed.
type class uint8

const (
	quick class = iota
	untried
	slow
	numClasses
)

func (h *host) class() class {
	switch {
	case h.state.Slow > 0:
		return slow
	case h.state.Fetched == 0:
		return untried
	}
	return quick
}

// site is a registrable domain with the hosts below it. Its counts are the sums of the
// hostCounts of its hosts.
type site struct {
	name    string
	unseen  []*host // that gave no page, with a link that waits
	names   int     // these, and those of which a link is leased
	fresh   int     // of these, those that have not failed
	proven  int     // hosts that gave a relevant page
	links   int     // that wait for young hosts
	working int     // hosts with a link that waits or is leased
	ready   int     // hosts in Frontier.ready
	waiting int     // hosts in Frontier.waiting
	leased  int     // hosts
	turns   *turns  // nil until it was crowded
	hosts   int     // all
	hot     int     // of these, those at hand
	// asleep are the cold hosts that gave no page and have links, by their numbers. Looking for
	// them among all hosts of the site would take as long as it has names.
	asleep map[uint32]struct{}
}

// hostCounts are what a host adds to the counts of its site and of the frontier. They stand in four places, so that
// no turn counts anew, and are always the same (TestNothingIsStuck):
//
//	host.counts            of a host at hand, as updateCounts last made them of its state and links
//	coldHost.counts        of a cold one, from its flags; warm and cool keep what they say
//	site.names … working   Σ over all hosts of the site, at hand or cold
//	Frontier.quick         Σ over all hosts; Frontier.working counts the sites with working > 0
//
// Whatever changes the state or the links of a host calls updateCounts before the turn ends.
type hostCounts struct {
	names, fresh, proven, working, quick bool
	links                                int
}

// turns is the line of a site's young names while it is crowded.
type turns struct {
	line    heap[*host] // those that are ready; first those with fewer pages
	chosen  *host       // the one whose turn it is: in Frontier.ready; nil = none
	leased  int         // leased
	due     time.Time   // of the next turn
	ended   bool        // one has ended since the frontier was last given the time
	recent  int         // of the last leases
	yielded bool        // chosen yields for the rest of this Lease
	listed  bool        // in Frontier.lined
}

// ports are the hosts of one name.
type ports struct {
	hosts []*host
	busy  bool
	due   time.Time
	ended bool // as in turns
}

func (f *Frontier) crowded(s *site) bool { return s.fresh > f.crowdLimit }

// maxNames is how many names may wait for a first visit, given the frontier's
// limit.
func (s *site) maxNames(limit int) int {
	if limit < 0 {
		return 1 << 30
	}
	return max(limit, min(limit+namesPerProof*s.proven, maxNames))
}

func (h *host) young() bool { return h.state.Fetched < grown }

// Share tells for how many fetches at a time leases are asked for, and the least
// pause between two requests to a host. Before it is called, everything that is
// ready can be leased.
func (f *Frontier) Share(workers int, delay time.Duration) {
	f.workers, f.delay = workers, delay
}

// host makes an empty record of a host, and its site if there is none. Most hosts are
// alone in their site, and the two stand side by side in memory then.
func (s *site) host(name string) (*host, *site) {
	if s != nil {
		return &host{}, s
	}
	b := new(struct {
		host   host
		site   site
		unseen [1]*host
	})
	b.site = site{name: name, unseen: b.unseen[:0]}
	return &b.host, &b.site
}

// join gives a new host its fellow ports.
func (f *Frontier) join(h *host) error {
	name := h.state.Host.Name()
	p := f.ports[name]
	if len(name) < len(h.state.Host) { // it has a port
		if p == nil {
			p = &ports{}
			f.ports[name] = p
			plain, err := f.find(web.Host(name))
			if err != nil {
				return err
			}
			if plain != nil {
				p.add(plain)
			}
		}
	}
	if p != nil {
		p.add(h)
	}
	return nil
}

func (p *ports) add(h *host) {
	h.ports = p
	p.hosts = append(p.hosts, h)
	p.busy = p.busy || h.busy()
}

// updateCounts brings the counts of a host's site up to date.
func (f *Frontier) updateCounts(h *host) {
	s, was := h.site, h.counts
	var is hostCounts
	is.working = h.queued > 0 || h.busy()
	is.proven = h.state.Fetched > h.state.Barren
	if h.state.Fetched == 0 && is.working {
		is.names, is.fresh = true, h.state.Failures == 0
	}
	if h.young() {
		is.links = h.queued
	}
	is.quick = is.working && h.class() == quick && h.state.Due.Sub(f.now) <= soon
	seen := h.state.Fetched > 0 || h.queued == 0
	if seen != (h.unseenIndex < 0) {
		s.show(h, seen)
	}
	if is == was {
		return
	}
	h.counts = is
	crowded, worked := f.crowded(s), s.working > 0
	add := func(n *int, was, is bool) {
		if was != is {
			if is {
				*n++
			} else {
				*n--
			}
		}
	}
	add(&s.names, was.names, is.names)
	add(&s.fresh, was.fresh, is.fresh)
	add(&s.proven, was.proven, is.proven)
	add(&s.working, was.working, is.working)
	add(&f.quick, was.quick, is.quick)
	s.links += is.links - was.links
	add(&f.working, worked, s.working > 0)
	if crowded && !f.crowded(s) && s.turns != nil {
		f.disperse(s)
	}
	if worked && s.working == 0 && f.working == 1 {
		for _, s := range f.lined {
			f.disperse(s)
		}
	}
}

// show puts a host among those that gave no page, or takes it out.
func (s *site) show(h *host, seen bool) {
	if !seen {
		h.unseenIndex = len(s.unseen)
		s.unseen = append(s.unseen, h)
		return
	}
	last := len(s.unseen) - 1
	s.unseen[h.unseenIndex] = s.unseen[last]
	s.unseen[h.unseenIndex].unseenIndex = h.unseenIndex
	s.unseen[last] = nil
	s.unseen, h.unseenIndex = s.unseen[:last], -1
}

// standsInLine tells whether a host is to stand in the line of its site.
func (f *Frontier) standsInLine(h *host) bool {
	return f.workers > 0 && f.working > 1 && h.young() && f.crowded(h.site)
}

// heapFor is the heap in which a host that is ready belongs.
func (f *Frontier) heapFor(h *host) *heap[*host] {
	if !f.standsInLine(h) {
		return &f.ready[h.class()]
	}
	t := h.site.turns
	if t == nil {
		t = &turns{}
		t.line.moved = func(h *host, i int) { h.heapIndex = i }
		t.line.less = func(a, b *host) bool {
			if a.pages != b.pages {
				return a.pages < b.pages
			}
			return a.head.before(b.head)
		}
		h.site.turns = t
	}
	if t.chosen == h {
		return &f.ready[h.class()]
	}
	return &t.line
}

// disperse lets the names of a site that is no longer crowded go each its own way.
func (f *Frontier) disperse(s *site) {
	t := s.turns
	for t.line.len() > 0 {
		h := t.line.top()
		f.unplace(h)
		f.put(&f.ready[h.class()], h)
	}
	t.chosen = nil
}

// giveTurnIfDue gives the turn of a crowded site to the first in its line, if its next turn
// is due.
func (f *Frontier) giveTurnIfDue(s *site) {
	if t := s.turns; t != nil && t.leased == 0 && !t.ended && !t.due.After(f.now) {
		f.giveTurn(s)
	}
}

// giveTurn gives the turn of a crowded site to the first in its line, in place of the one that
// has it.
func (f *Frontier) giveTurn(s *site) {
	t := s.turns
	if t.line.len() == 0 || t.yielded {
		return
	}
	first := t.line.top()
	if old := t.chosen; old != nil {
		if !t.line.less(first, old) {
			return
		}
		f.unplace(old)
		f.put(&t.line, old)
	}
	f.unplace(first)
	t.chosen = first
	f.put(&f.ready[first.class()], first)
}

// classes tells from which classes of hosts one more may be leased.
func (f *Frontier) classes() (open [numClasses]bool) {
	if f.workers == 0 {
		return [numClasses]bool{true, true, true}
	}
	kept := 0
	if f.triedHosts < fewTries || bits.OnesCount32(f.slowTries) >= slowTries || f.lags {
		kept = min(f.workers/4, f.quick)
	}
	open[quick] = true
	open[untried] = f.leasedOf[untried]+f.leasedOf[slow] < f.workers-kept
	open[slow] = open[untried] && f.leasedOf[slow] < max(1, f.workers/4)
	return open
}

// tried takes in whether an untried host was slow.
func (f *Frontier) tried(slow bool) {
	f.triedHosts++
	f.slowTries <<= 1
	if slow {
		f.slowTries |= 1
	}
}

// updateLags sets lags: whether an untried or slow host has not answered for lagging.
func (f *Frontier) updateLags() {
	f.lags = false
	for _, h := range f.leased {
		f.lags = f.lags || h.leasedAs != quick && f.now.Sub(h.given) >= lagging
	}
}

// front is the host with the best candidate that may be leased now and is not below
// floor, nil if there is none.
func (f *Frontier) front(floor float64) (*host, error) {
	for {
		h, others, err := f.first()
		if err != nil {
			return nil, err
		}
		if h != nil && h.head.prio < floor {
			h = nil
		}
		switch {
		case h == nil && len(f.yielding) > 0:
			if err := f.unyield(); err != nil {
				return nil, err
			}
			f.yieldless = true
		case h == nil:
			if !f.alone() {
				return nil, nil
			}
		case f.standsInLine(h) && h.site.turns == nil || f.standsInLine(h) && h.site.turns.chosen != h:
			// It came here before its site was crowded.
			if err := f.place(h); err != nil {
				return nil, err
			}
		case others && !f.yieldless && f.yields(h):
			t := h.site.turns
			f.unplace(h)
			t.chosen, t.yielded = h, true
			f.yielding = append(f.yielding, h)
		default:
			return h, nil
		}
	}
}

// first is the host with the best candidate among those of the classes that are
// open; others tells whether a host of another site is there too.
func (f *Frontier) first() (h *host, others bool, err error) {
	n := 0
	for c, open := range f.classes() {
		if !open || f.readyHosts(class(c)) == 0 {
			continue
		}
		if err := f.warmBest(class(c)); err != nil {
			return nil, false, err
		}
		q := &f.ready[c]
		n += f.readyHosts(class(c))
		if top := q.top(); h == nil || top.head.before(h.head) {
			h = top
		}
	}
	return h, h != nil && n > h.site.ready, nil
}

// readyHosts is how many hosts of a class are ready, and not in the line of their site.
func (f *Frontier) readyHosts(c class) int {
	n := f.ready[c].len()
	if f.cold != nil {
		n += f.cold.ready[c].len()
	}
	return n
}

// yields tells whether a host leaves its turn to the hosts of other sites: its
// site is crowded and has had its share of the last leases.
func (f *Frontier) yields(h *host) bool {
	t := h.site.turns
	if t == nil || t.chosen != h {
		return false
	}
	most := min(f.leases, lookBack) / min(max(f.working, leastSites), mostSites)
	return t.recent >= max(1, most)
}

// unyield puts those who yielded back to where they stood.
func (f *Frontier) unyield() error {
	for _, h := range f.yielding {
		h.site.turns.yielded = false
	}
	for _, h := range f.yielding {
		if err := f.place(h); err != nil {
			return err
		}
	}
	f.yielding = f.yielding[:0]
	f.yieldless = false
	return nil
}

// alone gives a turn to the one site that has something to do, if there is but
// one: it has all the places.
func (f *Frontier) alone() bool {
	f.trimLined()
	if len(f.lined) != 1 {
		return false
	}
	s := f.lined[0]
	all := 0
	for c := range f.ready {
		all += f.readyHosts(class(c))
	}
	if all > s.ready || len(f.leased) > s.leased || s.turns.chosen != nil || !f.classes()[untried] || f.othersSoon(s) {
		return false
	}
	f.giveTurn(s)
	return s.turns.chosen != nil
}

// othersSoon tells whether a host of another site is due soon, or may be: it does
// not look for long.
func (f *Frontier) othersSoon(s *site) bool {
	by, looks := f.now.Add(soon), 0
	if f.othersCold(s, by) {
		return true
	}
	var look func(i int) bool
	look = func(i int) bool {
		if i >= f.waiting.len() || f.waiting.items[i].due.After(by) {
			return false
		}
		if looks++; f.waiting.items[i].site != s || looks > soonLooks {
			return true
		}
		return look(2*i+1) || look(2*i+2)
	}
	return look(0)
}

// leaseBegan notes that h is leased from.
func (f *Frontier) leaseBegan(h *host) {
	h.leasedAs, h.given = h.class(), f.now
	f.leasedOf[h.leasedAs]++
	s := h.site
	s.leased++
	var by *site // whose share it takes
	if f.standsInLine(h) && s.turns != nil {
		by = s
		s.turns.leased++
		s.turns.recent++
		h.byTurn = true
	}
	if f.workers > 0 {
		i := f.leases % lookBack
		if old := f.lastLeases[i]; old != nil {
			old.turns.recent--
		}
		f.lastLeases[i] = by
		f.leases++
	}
	if p := h.ports; p != nil {
		p.busy = true
		for _, o := range p.hosts {
			f.unplace(o)
		}
	}
}

// leaseEnded notes that the lease from h has ended.
func (f *Frontier) leaseEnded(h *host) {
	f.leasedOf[h.leasedAs]--
	h.site.leased--
	h.wasUntried = h.leasedAs == untried
	if h.byTurn {
		h.byTurn = false
		t := h.site.turns
		t.leased--
		if !t.ended {
			t.ended = true
			f.endedTurns = append(f.endedTurns, h.site)
		}
	}
	if p := h.ports; p != nil {
		p.busy, p.ended = false, true
		f.endedPorts = append(f.endedPorts, p)
	}
}

// advanceLines gives turns to lines whose time has come.
func (f *Frontier) advanceLines() error {
	for _, p := range f.endedPorts {
		p.ended, p.due = false, f.now.Add(f.delay)
		for _, h := range p.hosts {
			if err := f.place(h); err != nil {
				return err
			}
		}
	}
	f.endedPorts = f.endedPorts[:0]
	for _, s := range f.endedTurns {
		s.turns.ended, s.turns.due = false, f.now.Add(f.delay)
	}
	f.endedTurns = f.endedTurns[:0]
	f.trimLined()
	for _, s := range f.lined {
		f.giveTurnIfDue(s)
	}
	return nil
}

// trimLined forgets lines in which nobody stands.
func (f *Frontier) trimLined() {
	kept := f.lined[:0]
	for _, s := range f.lined {
		if s.turns.listed = s.turns.line.len() > 0; s.turns.listed {
			kept = append(kept, s)
		}
	}
	clear(f.lined[len(kept):])
	f.lined = kept
}

// nextTurn is when the next name of a line has its turn.
func (f *Frontier) nextTurn() (at time.Time, ok bool) {
	for _, s := range f.lined {
		t := s.turns
		if t.line.len() == 0 || t.chosen != nil || t.leased > 0 {
			continue
		}
		due := t.due
		if t.ended {
			due = f.now.Add(f.delay)
		}
		if !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}
