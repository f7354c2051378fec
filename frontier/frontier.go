// Package frontier holds the links that wait to be fetched: in memory for
// simulations and tests, on disk for crawls. Both are the same Frontier over
// different shelves, and both give the same leases for the same calls.
//
// # The life of an address
//
//		            Add                 Lease               Done
//		unknown ──────────► queued ──────────────► leased ──────────► done
//		   ▲ ▲                │ ▲ │ ▲                │                  ▲
//		   │ │                │ │ └─┘ Add: raised    │                  │
//		   │ │ dropped        │ └────────────────────┘ Retry            │
//		   │ └────────────────┘                                         │
//		   └ Add: refused            Done of an address never seen ─────┘
//
//	  - An address is unknown until a Turn adds it. Then it is queued under its
//	    host, with the priority its link was given and the next number of the
//	    sequence in which links entered.
//	  - Found again with a higher priority while queued, it is raised: it takes
//	    the priority, the path and the bytes of the new link and a new number.
//	    Found again with a lower or an equal priority, it stays as it is. Found
//	    again once leased or done, it is left alone. With Options.Shortest the
//	    depth decides, and not the priority.
//	  - Lease takes it out. Its host is busy from then on, until a Turn ends the
//	    lease: Done for good, Retry by putting it back with a new number, as the
//	    Turn gives it. The priority may be asked for again when its turn comes
//	    (late re-scoring); an address that sinks stays queued and keeps its
//	    number.
//	  - It is dropped when its host's queue is full of better ones, when the
//	    host is given up, or when a Turn has it leave. It is unknown then, apart from being counted as seen:
//	    a later link may bring it back.
//	  - A Turn can forget what is done. It is unknown then, apart from being
//	    counted as seen.
//	  - Where a crawl dies, what was leased is queued again as it was.
//
// # The life of a host
//
// A host that has candidates waiting is busy while one of them is leased,
// waiting until its due time, and ready otherwise. Among ready hosts the one
// with the best candidate goes first: higher priority, then lower number.
//
// # The parts of a Turn
//
// They apply in this order: Forget, Add, Done, Retry, Leave, Drop, Hosts, State.
// So Preview tells exactly what Add will do if nothing is forgotten, and a dropped
// host's queue is empty after the Turn, whatever the Turn added to it. Done for an
// address that is queued takes it out of the queue. Retry for an address that is
// not leased is an Add.
package frontier

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Options bounds a frontier. The zero Options are the defaults.
type Options struct {
	// MaxPerHost is the most candidates that wait for one host; 0 means
	// 10,000, a negative number that there is no limit. A full host keeps the
	// best: the worst is dropped, or the new one refused if that is it.
	MaxPerHost int
	// Max is the most candidates that wait in all; 0 means that there is no
	// limit. After a Turn the worst leave until that many are left. It is meant
	// for small limits, such as the 500 of LM10 (Q3): each that leaves costs a
	// look at every host.
	Max int
	// Shortest keeps, of the links to a queued address, that of the shortest
	// path from a seed, and of equals the first, whatever their priorities: an
	// address found again at a lower depth is raised, even to a lower priority,
	// and otherwise stays as it is (LM10 Q8). Each such link costs a look at
	// the one that waits.
	Shortest bool

	buffer uint64 // bytes that the store collects before it makes a table of them; 0 = 64 MiB
}

const defaultMaxPerHost = 10_000

// rescoreTries is how many candidates late re-scoring looks at for one lease.
const rescoreTries = 8

// Frontier holds links by host and gives out the best of those whose host is
// due. One goroutine calls it. After an error of the shelf below (a full or
// broken disk) every call returns that error: what is on disk is the last
// committed Turn, and opening it again goes on from there.
type Frontier struct {
	max    int // candidates of a host
	all    int // candidates of all hosts
	short  bool
	shelf  shelf
	byName map[web.Host]*host
	hosts  []*host // by id
	// ready holds the hosts that are due, waiting those that are not; a host
	// without waiting candidates, or busy, is in neither.
	ready, waiting heap[*host]
	leased         map[web.URL]*host
	next           uint64    // the next entry's number
	now            time.Time // the latest moment heard of
	queued         int
	broken         error
	plan           plan // reused between turns
}

// host is a host that a link or a Turn named.
type host struct {
	id    uint32
	state web.HostState
	n     int  // candidates waiting
	out   key  // of the leased candidate; zero unless busy
	head  key  // best waiting candidate, while in ready
	at    int  // index in its heap, -1 in none
	due   bool // its heap is ready, not waiting
}

func (h *host) busy() bool { return h.out.seq != 0 }

// mark is what the frontier knows of an address.
type mark struct {
	key // of the waiting candidate; seq is 0 otherwise
	how status
}

type status uint8

const (
	unknown status = iota // never seen
	waiting
	taken // leased or done
	dropped
)

// shelf keeps what a frontier decides. Its methods between two commits are one
// change, that commit makes durable whole or not at all. peek, worst, load and
// each see committed changes only.
type shelf interface {
	// mark returns what is known of an address, and setMark changes it; h is
	// the host of a waiting address, before or after the change.
	mark(u web.URL) mark
	setMark(u web.URL, m mark, h *host)
	// seen is the number of addresses that have a mark.
	seen() int
	// put adds a waiting candidate; h.n does not count it yet.
	put(h *host, k key, c *web.Candidate)
	// remove deletes a waiting candidate.
	remove(h *host, k key)
	// take hides a waiting candidate, without making that durable; erase
	// deletes the candidate h.out taken before.
	take(h *host, k key, u web.URL)
	erase(h *host)
	// rekey moves a waiting candidate to another place in its host's order.
	rekey(h *host, from, to key, c *web.Candidate)
	// setHost stores h's state; setState a blob.
	setHost(h *host)
	setState(name string, value []byte)
	// commit ends the change. A quick one need not be handed to the operating
	// system before it returns: the next other one does that.
	commit(next uint64, quick bool) error

	// peek returns h's i-th best waiting candidate, 0 ≤ i < 2, i < h.n.
	peek(h *host, i int) (key, error)
	// worst returns h's worst waiting candidate among those before bound, of
	// all when bound is zero.
	worst(h *host, bound key) (k key, ok bool, err error)
	// load returns the waiting candidate at k, with k's priority.
	load(h *host, k key) (web.Candidate, error)
	// each calls do with h's waiting candidates, best first, until an error.
	each(h *host, do func(k key, c *web.Candidate) error) error
	// rescore gives new priorities to at most n of h's waiting candidates,
	// from the first that is not before from, of all when from is zero. It
	// returns how many those were and the key to go on from, zero when there
	// is none.
	rescore(h *host, from key, n int, score func(*web.Candidate) (float64, error)) (next key, looked int, err error)
	state(name string) ([]byte, error)
	sync() error
	close() error
}

func newFrontier(opts Options, s shelf) *Frontier {
	f := &Frontier{
		max:    opts.MaxPerHost,
		all:    cmp.Or(opts.Max, math.MaxInt),
		short:  opts.Shortest,
		shelf:  s,
		byName: make(map[web.Host]*host),
		leased: make(map[web.URL]*host),
		next:   1,
	}
	switch {
	case f.max == 0:
		f.max = defaultMaxPerHost
	case f.max < 0:
		f.max = math.MaxInt
	}
	moved := func(h *host, i int) { h.at = i }
	f.ready = heap[*host]{moved: moved, less: func(a, b *host) bool { return a.head.before(b.head) }}
	f.waiting = heap[*host]{moved: moved, less: func(a, b *host) bool {
		if c := a.state.Due.Compare(b.state.Due); c != 0 {
			return c < 0
		}
		return a.id < b.id
	}}
	return f
}

// Preview tells what Commit would do with found links, in their order, and
// changes nothing.
func (f *Frontier) Preview(ctx context.Context, found []web.Candidate) ([]web.Admission, error) {
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	p := f.newPlan()
	if err := p.add(found); err != nil {
		return nil, err
	}
	return p.added, nil
}

// Commit applies a turn whole or not at all.
func (f *Frontier) Commit(ctx context.Context, turn web.Turn) (web.Receipt, error) {
	if err := f.usable(ctx); err != nil {
		return web.Receipt{}, err
	}
	p := f.newPlan()
	if err := p.turn(&turn); err != nil {
		return web.Receipt{}, err
	}
	touched := f.apply(p, &turn)
	if err := f.shelf.commit(f.next, false); err != nil {
		return web.Receipt{}, f.fail(err)
	}
	for _, h := range touched {
		if err := f.place(h); err != nil {
			return web.Receipt{}, f.fail(err)
		}
	}
	crowded, err := f.trim()
	if err != nil {
		return web.Receipt{}, f.fail(err)
	}
	return web.Receipt{Added: p.added, Dropped: p.dropped, Forgotten: p.forgotten, Crowded: crowded}, nil
}

// trim has the worst candidates leave until no more wait than may. Where the
// process dies before, the next Turn does it.
func (f *Frontier) trim() (gone []web.Candidate, err error) {
	for f.queued > f.all {
		var worst *host
		var at key
		for _, h := range f.hosts {
			if h.n == 0 {
				continue
			}
			k, ok, err := f.shelf.worst(h, key{})
			if err != nil {
				return nil, err
			}
			if ok && (worst == nil || at.before(k)) {
				worst, at = h, k
			}
		}
		if worst == nil {
			return gone, nil
		}
		c, err := f.shelf.load(worst, at)
		if err != nil {
			return nil, err
		}
		f.shelf.remove(worst, at)
		worst.n--
		f.queued--
		f.shelf.setMark(c.URL, mark{how: dropped}, worst)
		if err := f.shelf.commit(f.next, true); err != nil {
			return nil, err
		}
		if err := f.place(worst); err != nil {
			return nil, err
		}
		gone = append(gone, c)
	}
	return gone, nil
}

// apply carries out a plan and returns the hosts whose place may have changed.
func (f *Frontier) apply(p *plan, turn *web.Turn) (touched []*host) {
	f.next = p.base + uint64(len(p.fresh))
	for _, ph := range p.order {
		if ph.h == nil && ph.named {
			ph.h = f.host(ph.name)
		}
		if ph.h != nil {
			touched = append(touched, ph.h)
		}
	}
	for _, u := range p.ended {
		h := f.leased[u]
		f.shelf.erase(h)
		h.out = key{}
		delete(f.leased, u)
	}
	for _, g := range p.gone {
		f.shelf.remove(g.ph.h, g.key)
		g.ph.h.n--
		f.queued--
	}
	for _, e := range p.entering() {
		f.shelf.put(e.ph.h, e.key, e.c)
		e.ph.h.n++
		f.queued++
	}
	for _, u := range p.marked {
		m := p.marks[u]
		var h *host
		if m.ph != nil {
			h = m.ph.h
		}
		f.shelf.setMark(u, m.mark, h)
	}
	for _, s := range turn.Hosts {
		h := f.host(s.Host)
		h.state = s
		f.shelf.setHost(h)
		touched = append(touched, h)
	}
	for _, name := range sortedNames(turn.State) {
		f.shelf.setState(name, turn.State[name])
	}
	return touched
}

// host finds or makes the record of a host.
func (f *Frontier) host(name web.Host) *host {
	h, ok := f.byName[name]
	if !ok {
		h = f.addHost(web.HostState{Host: name})
		f.shelf.setHost(h)
	}
	return h
}

func (f *Frontier) addHost(s web.HostState) *host {
	h := &host{id: uint32(len(f.hosts)), state: s, at: -1}
	f.hosts = append(f.hosts, h)
	f.byName[s.Host] = h
	return h
}

// place puts a host where it belongs after a change: into ready, into waiting
// or into neither.
func (f *Frontier) place(h *host) error {
	due := !h.state.Due.After(f.now)
	if h.n == 0 || h.busy() || !due {
		f.unplace(h)
		if h.n > 0 && !h.busy() {
			h.due = false
			f.waiting.push(h)
		}
		return nil
	}
	k, err := f.shelf.peek(h, 0)
	if err != nil {
		return err
	}
	if h.at >= 0 && h.due {
		h.head = k
		f.ready.fix(h.at)
		return nil
	}
	f.unplace(h)
	h.head, h.due = k, true
	f.ready.push(h)
	return nil
}

func (f *Frontier) unplace(h *host) {
	switch {
	case h.at < 0:
	case h.due:
		f.ready.remove(h.at)
	default:
		f.waiting.remove(h.at)
	}
}

// wake moves hosts that have become due to ready. A moment before the latest
// heard of counts as that one: time does not run backwards.
func (f *Frontier) wake(now time.Time) error {
	if now.After(f.now) {
		f.now = now
	}
	for f.waiting.len() > 0 && !f.waiting.top().state.Due.After(f.now) {
		if err := f.place(f.waiting.top()); err != nil {
			return err
		}
	}
	return nil
}

// Lease takes out at most n candidates, each the best of a different host,
// among the hosts that are due at now and not busy, best first.
//
// With a rescore it asks again for the priority of a candidate before giving it
// out. One that sank below the next best, of its own host or of the other ready
// ones, is put back with its new priority; after 8 such for one lease the best
// of the 8 is given. What was put back stays so, also when the process dies.
// Rescore must not return NaN and must not call the frontier.
func (f *Frontier) Lease(ctx context.Context, now time.Time, n int, rescore func(*web.Candidate) float64) ([]web.Lease, error) {
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	if err := f.wake(now); err != nil {
		return nil, f.fail(err)
	}
	var out []web.Lease
	for len(out) < n && f.ready.len() > 0 {
		h, k, c, err := f.best(rescore)
		if err != nil {
			return nil, f.fail(err)
		}
		f.unplace(h)
		f.shelf.take(h, k, c.URL)
		h.out = k
		h.n--
		f.queued--
		f.leased[c.URL] = h
		out = append(out, web.Lease{Candidate: c, Host: h.state})
	}
	return out, nil
}

// tried is a candidate that late re-scoring looked at and put back.
type tried struct {
	h *host
	k key
	c web.Candidate
}

// best chooses what to lease next, from ready, which is not empty.
func (f *Frontier) best(rescore func(*web.Candidate) float64) (*host, key, web.Candidate, error) {
	var chosen tried
	for range rescoreTries {
		h := f.ready.top()
		c, err := f.shelf.load(h, h.head)
		if err != nil || rescore == nil {
			return h, h.head, c, err
		}
		p := rescore(&c) + 0 // -0 becomes 0
		if math.IsNaN(p) {
			return nil, key{}, c, fmt.Errorf("rescoring %s gave NaN: a priority must be a number", c.URL)
		}
		k := key{p, h.head.seq}
		c.Priority = p
		sank, err := f.sank(h, k)
		if err != nil {
			return nil, key{}, c, err
		}
		if !sank {
			return h, h.head, c, nil
		}
		f.shelf.rekey(h, h.head, k, &c)
		if err := f.shelf.commit(f.next, true); err != nil {
			return nil, key{}, c, err
		}
		if err := f.place(h); err != nil {
			return nil, key{}, c, err
		}
		if chosen.h == nil || k.before(chosen.k) {
			chosen = tried{h, k, c}
		}
	}
	return chosen.h, chosen.k, chosen.c, nil
}

// sank tells whether the head of h, the best ready host, would no longer be
// the best if its key were k.
func (f *Frontier) sank(h *host, k key) (bool, error) {
	for i := 1; i < min(3, f.ready.len()); i++ { // the root's children
		if f.ready.items[i].head.before(k) {
			return true, nil
		}
	}
	if h.n < 2 {
		return false, nil
	}
	second, err := f.shelf.peek(h, 1)
	return second.before(k), err
}

// NextDue is the earliest due time of the hosts that are not due yet, as of the
// latest moment that Lease or Stats heard of; ok is false when there are none.
func (f *Frontier) NextDue() (at time.Time, ok bool) {
	if f.waiting.len() == 0 {
		return time.Time{}, false
	}
	return f.waiting.top().state.Due, true
}

// Rescore sets the priorities of n waiting candidates anew, in the order of
// hosts and best first, and returns where to go on; entry numbers stay. From
// nil it begins, and next is nil when it is through. What the score moves down
// within its host is met again, with the same result. It is never NaN, and
// must not call the frontier. It may also change what else the candidate carries,
// but not its address: that is kept as well. Where the process dies in a call, all
// of its n stay as they were.
func (f *Frontier) Rescore(ctx context.Context, from []byte, n int, score func(*web.Candidate) float64) (next []byte, err error) {
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	var id uint32
	var at key // zero at the beginning of a host
	if from != nil {
		if id, at, err = parseCandidateKey(from); err != nil {
			return nil, fmt.Errorf("the place from which to rescore: %w", err)
		}
	}
	checked := func(c *web.Candidate) (float64, error) {
		p := score(c) + 0 // -0 becomes 0
		if math.IsNaN(p) {
			return p, fmt.Errorf("rescoring %s gave NaN: a priority must be a number", c.URL)
		}
		return p, nil
	}
	var touched []*host
	for n > 0 && int(id) < len(f.hosts) {
		h := f.hosts[id]
		looked := 0
		if h.n > 0 {
			if at, looked, err = f.shelf.rescore(h, at, n, checked); err != nil {
				return nil, f.fail(err)
			}
			touched = append(touched, h)
			n -= looked
		}
		if h.n == 0 || at.seq == 0 {
			id, at = id+1, key{}
		}
	}
	if err := f.shelf.commit(f.next, true); err != nil {
		return nil, f.fail(err)
	}
	for _, h := range touched {
		if err := f.place(h); err != nil {
			return nil, f.fail(err)
		}
	}
	if int(id) >= len(f.hosts) {
		return nil, nil
	}
	return appendCandidateKey(nil, id, at), nil
}

// revised tells whether a candidate carries something else now, its priority
// aside.
func revised(was, is *web.Candidate) bool {
	return was.From != is.From || was.Kind != is.Kind || was.Depth != is.Depth || was.Redirects != is.Redirects || was.Tries != is.Tries ||
		!bytes.Equal(was.Features, is.Features) || !bytes.Equal(was.Memory, is.Memory)
}

// State returns what a Turn stored under name, nil if nothing was.
func (f *Frontier) State(ctx context.Context, name string) ([]byte, error) {
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	return f.shelf.state(name)
}

// Stats counts what the frontier holds at now.
func (f *Frontier) Stats(now time.Time) web.FrontierStats {
	if f.broken == nil {
		if err := f.wake(now); err != nil {
			f.fail(err) // the next call says so
		}
	}
	s := web.FrontierStats{
		Queued:  f.queued,
		Leased:  len(f.leased),
		Seen:    f.shelf.seen(),
		Ready:   f.ready.len(),
		Waiting: f.waiting.len(),
	}
	s.Hosts = s.Ready + s.Waiting + s.Leased
	return s
}

// Sync returns when all that was committed would survive a power failure.
func (f *Frontier) Sync() error {
	if f.broken != nil {
		return f.broken
	}
	if err := f.shelf.sync(); err != nil {
		return f.fail(err)
	}
	return nil
}

// Close syncs the frontier and lets go of its files. What is leased will be
// queued again when it is opened. No call may follow but Close, which then
// does nothing.
func (f *Frontier) Close() error {
	if errors.Is(f.broken, errClosed) {
		return nil
	}
	f.broken = errClosed
	return f.shelf.close()
}

var errClosed = errors.New("the frontier is closed")

func (f *Frontier) usable(ctx context.Context) error {
	if f.broken != nil {
		return f.broken
	}
	return ctx.Err()
}

// fail makes err the answer to all that follows.
func (f *Frontier) fail(err error) error {
	f.broken = fmt.Errorf("the frontier cannot go on; what it holds on disk is its last committed turn: %w", err)
	return f.broken
}
