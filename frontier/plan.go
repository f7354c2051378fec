package frontier

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/web"
)

// plan works out what a Turn does, over a frontier that it only reads. Preview
// shows a plan and throws it away, Commit carries it out: so they agree, and an
// error found while planning leaves nothing half done.
type plan struct {
	f    *Frontier
	base uint64 // the number of fresh[0]

	marks  map[uint64]planMark // by hashOf
	marked []uint64            // the keys of marks, in order of their first change
	hosts  map[web.Host]*planHost
	sites  map[string]*planSite // by domain
	order  slab[planHost]
	places slab[planSite]
	fresh  []entry // entry i has number base+i
	gone   []leaver
	sorted []entry
	ended  []web.URL // leases that end

	known     []mark // of the links that are being added
	added     []web.Admission
	dropped   []web.Candidate
	displaced []web.Candidate
	forgotten []int
	failed    error // of the first host that could not be read
}

// planMark is a mark as the plan leaves it.
type planMark struct {
	mark
	url   web.URL
	ph    *planHost // nil for an address without a queue
	fresh bool      // it had none
}

// planHost is a host as the plan leaves it.
type planHost struct {
	name   web.Host
	h      *host // nil for one that the frontier does not have
	named  bool  // a fresh entry needs the host's record
	queued int
	site   *planSite        // nil until it is asked for
	domain string           // of a host that the frontier does not have; "" until it is asked for
	gone   map[key]struct{} // old entries that leave
	bound  key              // the worst old entry that stays is before this
	fresh  heap[entryRef]   // the worst fresh entry on top; dead ones are swept there
	best   key              // of a name in planSite.rank: its best candidate
	rank   int              // its index there, and one: 0 = not there
}

// entry is a candidate that enters.
type entry struct {
	key
	c     *web.Candidate
	ph    *planHost
	id    uint32 // of its host, once that is known
	alive bool   // false once it left again within the plan
}

type entryRef struct {
	key
	i int
}

// leaver is an old entry that leaves.
type leaver struct {
	key
	ph *planHost
}

// slab hands out values whose memory is used again once it was emptied. Those that are not in use are zero.
type slab[T any] []*T

// add returns a zero value.
func (s *slab[T]) add() *T {
	n := len(*s)
	if n < cap(*s) {
		if t := (*s)[:n+1][n]; t != nil {
			*s = (*s)[:n+1]
			return t
		}
	}
	t := new(T)
	*s = append(*s, t)
	return t
}

// empty returns the slab with nothing in use.
func (s slab[T]) empty() slab[T] {
	for _, t := range s {
		var zero T
		*t = zero
	}
	return s[:0]
}

// mostReused is how many hosts and addresses a plan has at most whose memory is used again. A map that grew
// larger costs every turn after it, as emptying it does.
const mostReused = 4096

// newPlan empties the frontier's plan for the next use.
func (f *Frontier) newPlan() *plan {
	p := &f.plan
	if p.marks == nil || max(len(p.order), len(p.marked), len(p.known)) > mostReused {
		*p = plan{
			marks: make(map[uint64]planMark),
			hosts: make(map[web.Host]*planHost),
			sites: make(map[string]*planSite),
		}
	}
	clear(p.marks)
	clear(p.hosts)
	clear(p.sites)
	clear(p.fresh)
	clear(p.sorted)
	*p = plan{
		f: f, base: f.next, marks: p.marks, hosts: p.hosts, sites: p.sites,
		marked: p.marked[:0], order: p.order.empty(), places: p.places.empty(), fresh: p.fresh[:0], gone: p.gone[:0], sorted: p.sorted[:0], known: p.known[:0],
	}
	return p
}

// turn plans all of a Turn.
func (p *plan) turn(t *web.Turn) error {
	if err := p.forget(t.Forget); err != nil {
		return err
	}
	if err := p.add(t.Add); err != nil {
		return err
	}
	for _, u := range t.Done {
		if u.IsZero() {
			return fmt.Errorf("a turn marks the zero address as done")
		}
		if err := p.done(u); err != nil {
			return err
		}
	}
	for i := range t.Retry {
		if err := p.retry(&t.Retry[i]); err != nil {
			return err
		}
	}
	for _, u := range t.Leave {
		m, err := p.mark(u)
		if err != nil {
			return err
		}
		if m.how != waiting {
			continue
		}
		if ph := p.host(u.Host()); p.waits(ph, m) {
			p.leave(ph, m.key)
			p.setMark(u, mark{how: dropped}, ph)
		}
	}
	for _, s := range t.Hosts {
		if s.Host == "" {
			return fmt.Errorf("a turn holds the state of a host without a name")
		}
		p.host(s.Host)
	}
	for _, name := range t.Drop {
		if err := p.drop(name); err != nil {
			return err
		}
	}
	return p.failed
}

// forget plans that addresses that are done become unknown.
func (p *plan) forget(urls []web.URL) error {
	for _, u := range urls {
		m, err := p.mark(u)
		if err != nil {
			return err
		}
		if _, leased := p.f.leased[u]; !leased && m.how == taken {
			p.setMark(u, mark{how: dropped}, nil)
		}
	}
	return nil
}

// add plans found links.
func (p *plan) add(found []web.Candidate) error {
	var err error
	if p.known, err = p.f.backend.marks(found, p.known[:0]); err != nil {
		return err
	}
	p.added = make([]web.Admission, len(found))
	for i := range found {
		if err := valid(&found[i]); err != nil {
			return err
		}
		m := p.known[i]
		if planned, ok := p.marks[hashOf(found[i].URL)]; ok {
			m = planned.mark
		}
		a, err := p.admit(&found[i], m, found[i].Kind != web.LinkSeed && found[i].Kind != web.LinkAgain)
		if err != nil {
			return err
		}
		p.added[i] = a
	}
	return p.failed
}

// valid refuses candidates that no caller may give.
func valid(c *web.Candidate) error {
	if c.URL.IsZero() {
		return fmt.Errorf("a candidate found on %q has no address", c.From)
	}
	if math.IsNaN(c.Priority) {
		return fmt.Errorf("candidate %s has priority NaN: a priority must be a number", c.URL)
	}
	if c.Depth < 0 || c.Redirects < 0 || c.Tries < 0 {
		return fmt.Errorf("candidate %s has a negative depth, redirects or tries", c.URL)
	}
	return nil
}

// admit plans one link, of whose address m is known. A bounded one does not enter where too many
// names of its site wait.
func (p *plan) admit(c *web.Candidate, m mark, bounded bool) (web.Admission, error) {
	k := key{c.Priority + 0, p.base + uint64(len(p.fresh))} // -0 becomes 0
	if m.how == taken || m.how == waiting && !p.f.shortest && k.prio <= m.prio {
		return web.Known, nil
	}
	ph := p.host(c.URL.Host())
	if m.how == waiting && !p.waits(ph, m) {
		return web.Known, nil
	}
	if m.how == waiting && p.f.shortest {
		old, err := p.load(ph, m.key)
		if err != nil || c.Depth >= old.Depth {
			return web.Known, err
		}
	}
	is := web.Queued
	if m.how == waiting {
		p.leave(ph, m.key)
		is = web.Raised
		if err := p.moveInRank(ph, m.key, k); err != nil {
			return 0, err
		}
	} else if ok, err := p.mayEnter(ph, k, bounded); err != nil || !ok {
		return web.Crowded, err
	} else if ph.queued >= p.f.maxPerHost {
		worst, err := p.worst(ph)
		if err != nil {
			return 0, err
		}
		if !k.before(worst) {
			return web.Refused, nil
		}
		w, err := p.load(ph, worst)
		if err != nil {
			return 0, err
		}
		p.dropped = append(p.dropped, w)
		p.setMark(w.URL, mark{how: dropped}, ph)
		p.leave(ph, worst)
	}
	ph.queued++
	ph.named = true
	if ph.fresh.less != nil {
		ph.fresh.push(entryRef{k, len(p.fresh)})
	}
	p.fresh = append(p.fresh, entry{key: k, c: c, ph: ph, alive: true})
	p.setMark(c.URL, mark{key: k, how: waiting}, ph)
	if m.how == unknown {
		p.noteUnknown(c.URL)
	}
	return is, nil
}

// done plans the end of an address.
func (p *plan) done(u web.URL) error {
	m, err := p.mark(u)
	if err != nil {
		return err
	}
	if m.how == taken {
		if p.endLease(u) {
			p.setMark(u, mark{how: taken}, p.host(u.Host()))
		}
		return nil
	}
	var ph *planHost
	if m.how == waiting {
		if ph = p.host(u.Host()); !p.waits(ph, m) {
			return nil
		}
		p.leave(ph, m.key)
	}
	p.setMark(u, mark{how: taken}, ph)
	if m.how == unknown {
		p.noteUnknown(u)
	}
	return nil
}

// retry plans the return of a candidate.
func (p *plan) retry(c *web.Candidate) error {
	if err := valid(c); err != nil {
		return err
	}
	was, err := p.mark(c.URL)
	if err != nil {
		return err
	}
	if was.how == taken && p.endLease(c.URL) {
		was = mark{how: dropped}
		p.setMark(c.URL, was, p.host(c.URL.Host()))
	}
	a, err := p.admit(c, was, false)
	if a == web.Refused {
		p.dropped = append(p.dropped, *c)
	}
	return err
}

// endLease plans the end of a lease; false if there is none.
func (p *plan) endLease(u web.URL) bool {
	if _, ok := p.f.leased[u]; !ok || slices.Contains(p.ended, u) {
		return false
	}
	p.ended = append(p.ended, u)
	return true
}

// drop plans that a host is given up.
func (p *plan) drop(name web.Host) error {
	ph := p.host(name)
	p.forgotten = append(p.forgotten, ph.queued)
	return p.empty(ph, func(*web.Candidate) {})
}

// empty plans the emptying of a host's queue, and tells what leaves.
func (p *plan) empty(ph *planHost, tell func(c *web.Candidate)) error {
	if ph.h != nil && ph.h.queued > 0 {
		err := p.f.backend.each(ph.h, func(k key, c *web.Candidate) error {
			if _, left := ph.gone[k]; !left {
				tell(c)
				p.leave(ph, k)
				p.setMark(c.URL, mark{how: dropped}, ph)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i := range p.fresh {
		if !ph.named {
			break
		}
		if e := &p.fresh[i]; e.alive && e.ph == ph {
			tell(e.c)
			p.leave(ph, e.key)
			p.setMark(e.c.URL, mark{how: dropped}, ph)
		}
	}
	return nil
}

// host returns the plan's view of a host.
func (p *plan) host(name web.Host) *planHost {
	if n := len(p.order); n > 0 && p.order[n-1].name == name { // links stand in rows by host
		return p.order[n-1]
	}
	ph, ok := p.hosts[name]
	if !ok {
		ph = p.order.add()
		var err error
		ph.name = name
		if ph.h, err = p.f.find(name); err != nil && p.failed == nil {
			p.failed = err
		}
		if ph.h != nil {
			ph.queued = ph.h.queued
		}
		p.hosts[name] = ph
	}
	return ph
}

func (p *plan) mark(u web.URL) (mark, error) {
	if m, ok := p.marks[hashOf(u)]; ok {
		return m.mark, nil
	}
	return p.f.backend.mark(u)
}

// waits tells whether the link of a mark waits for a host. Where it does not, it is the link of an address of
// another host that has the same hash, and the address that was asked for counts as done.
func (p *plan) waits(ph *planHost, m mark) bool {
	if m.seq >= p.base {
		return p.fresh[m.seq-p.base].ph == ph
	}
	return ph.h != nil && ph.h.id == m.host
}

// noteUnknown notes that an address whose mark was set had none before.
func (p *plan) noteUnknown(u web.URL) {
	hash := hashOf(u)
	m := p.marks[hash]
	m.fresh = true
	p.marks[hash] = m
}

func (p *plan) setMark(u web.URL, m mark, ph *planHost) {
	hash := hashOf(u)
	old, ok := p.marks[hash]
	switch {
	case !ok:
		p.marked = append(p.marked, hash)
	case ph == nil:
		ph = old.ph // it left a queue earlier in this turn
	}
	p.marks[hash] = planMark{m, u, ph, old.fresh}
}

// leave plans that the entry at k leaves its host.
func (p *plan) leave(ph *planHost, k key) {
	ph.queued--
	if k.seq >= p.base {
		p.fresh[k.seq-p.base].alive = false
		return
	}
	if ph.gone == nil {
		ph.gone = make(map[key]struct{})
	}
	ph.gone[k] = struct{}{}
	p.gone = append(p.gone, leaver{k, ph})
}

// entering returns the entries that enter for good, in the order in which a
// store keeps them: side by side they are inserted faster than at random.
func (p *plan) entering() []entry {
	p.sorted = p.sorted[:0]
	for _, e := range p.fresh {
		if e.alive {
			e.id = e.ph.h.id
			p.sorted = append(p.sorted, e)
		}
	}
	slices.SortFunc(p.sorted, func(a, b entry) int {
		switch {
		case a.id != b.id:
			return cmp.Compare(a.id, b.id)
		case a.key.before(b.key):
			return -1
		default:
			return 1
		}
	})
	return p.sorted
}

// worst returns the entry that a full host would drop.
func (p *plan) worst(ph *planHost) (key, error) {
	p.sortFresh(ph)
	for ph.fresh.len() > 0 && !p.fresh[ph.fresh.top().i].alive {
		ph.fresh.remove(0)
	}
	var old key
	for ph.h != nil && ph.h.queued > 0 {
		k, ok, err := p.f.backend.worst(ph.h, ph.bound)
		if err != nil {
			return key{}, err
		}
		if !ok {
			break
		}
		if _, left := ph.gone[k]; !left {
			old = k
			break
		}
		ph.bound = k
	}
	if ph.fresh.len() == 0 {
		return old, nil
	}
	if k := ph.fresh.top().key; old.seq == 0 || old.before(k) {
		return k, nil
	}
	return old, nil
}

// sortFresh makes the heap of a host's fresh entries, once it is needed.
func (p *plan) sortFresh(ph *planHost) {
	if ph.fresh.less != nil {
		return
	}
	ph.fresh.less = func(a, b entryRef) bool { return b.before(a.key) }
	ph.fresh.moved = func(entryRef, int) {}
	for i := range p.fresh {
		if e := &p.fresh[i]; e.alive && e.ph == ph {
			ph.fresh.push(entryRef{e.key, i})
		}
	}
}

func (p *plan) load(ph *planHost, k key) (web.Candidate, error) {
	if k.seq >= p.base {
		return *p.fresh[k.seq-p.base].c, nil
	}
	return p.f.backend.load(ph.h, k)
}

func sortedNames(m map[string][]byte) []string { return slices.Sorted(maps.Keys(m)) }
