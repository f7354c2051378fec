// Package frontier holds the links that wait to be fetched: in memory for
// simulations and tests, on disk for crawls. Both are the same Frontier over
// different backends, and both give the same leases for the same calls.
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
// with the best candidate goes first: higher priority, then lower number. share.go
// tells which of them wait for others all the same.
//
// # The parts of a Turn
//
// They apply in this order: Forget, Add, Done, Retry, Leave, Drop, Hosts, State.
// So Preview, which is given the first two, tells exactly what Add will do, and a dropped
// host's queue is empty after the Turn, whatever the Turn added to it. Done for an
// address that is queued takes it out of the queue. Retry for an address that is
// not leased is an Add.
package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
)

// Options bounds a frontier. The zero Options are the defaults.
type Options struct {
	// MaxPerHost is the most candidates that wait for one host; 0 means
	// 10,000, a negative number that there is no limit. A full host keeps the
	// best: the worst is dropped, or the new one refused if that is it.
	MaxPerHost int
	// Max is the most candidates that wait in all; 0 means that there is no
	// limit. After a Turn the worst leave until that many are left, at most 10,000
	// a Turn.
	Max int
	// MaxNames is how many names of a registrable domain may wait for a first
	// visit, beside four for each name of it that gave a relevant page; 0 means
	// 256, a negative number that there is no limit. Seeds always enter.
	MaxNames int
	// Shortest keeps, of the links to a queued address, that of the shortest
	// path from a seed, and of equals the first, whatever their priorities: an
	// address found again at a lower depth is raised, even to a lower priority,
	// and otherwise stays as it is (Liu & Milios 2010, section 3.3.1). Each such link
	// costs a look at the one that waits.
	Shortest bool
	// FS is the file system on which a frontier is kept; nil = the machine's. Tests
	// put faults here.
	FS vfs.FS
	// Ahead, unless nil, is called before a part of the frontier is made to survive a power
	// failure without Sync, which may happen at any time and on any goroutine: what the
	// committed turns speak of must survive one before they do. An error of it ends the
	// frontier, as one of the disk does.
	Ahead func() error

	buffer uint64 // bytes that the store collects before it makes a table of them; 0 = 32 MiB
	hot    int    // hosts that are kept at hand; 0 = hotHosts
	recent int    // addresses that change before a run is made of them; 0 = recentMost
	kept   int    // bytes of links that are kept while they are scored anew; 0 = mostKept, less = none are
	moves  int    // that are listed before the store has them; 0 = mostMoves
}

const defaultMaxPerHost = 10_000

// rescoreTries is how many candidates are scored anew for one lease at most.
const rescoreTries = 8

// Frontier holds links by host and gives out the best of those whose host is
// due. One goroutine calls it. After an error of its backend (a full or
// broken disk) every call returns that error: what is on disk is the last
// committed Turn, and opening it again goes on from there.
type Frontier struct {
	maxPerHost int // candidates of a host
	maxQueued  int // candidates of all hosts
	shortest   bool
	backend    backend
	byName     map[web.Host]*host // those at hand
	hosts      map[uint32]*host   // by id; those at hand
	named      uint32             // hosts, at hand or cold: their ids are below it
	cold       *cold              // nil: all are at hand
	// ready holds the hosts that are due, by class, and waiting those that are
	// not; see share.go for those that are due and have no turn. A host without
	// waiting candidates, or busy, is in none.
	ready   [numClasses]heap[*host]
	waiting heap[*host]
	leased  map[web.URL]*host
	next    uint64    // the next entry's number
	now     time.Time // the latest moment that a caller gave
	queued  int
	spread  histogram // of what is queued
	// Of what is queued in other workers of the crawl; nil = nothing.
	elsewhere     *histogram
	heldElsewhere int
	down          int // hosts in waiting that are down
	held          int // candidates that wait for those
	broken        error
	// Of a Lease that the death of a process interrupted: how many candidates it had looked
	// at, and the best of them.
	interrupted     int
	interruptedBest web.URL
	plan            plan // reused between turns
	shareState
	trimState
}

// shareState is what share.go goes by.
type shareState struct {
	nameLimit  int               // Options.MaxNames
	crowdLimit int               // names beyond which a site is crowded
	sites      map[string]*site  // by domain; those at hand
	siteByHash map[uint64]*site  // the same by cold.hash of the domain, unless all are at hand
	ports      map[string]*ports // by name, of those with several
	workers    int               // 0 = as many as are asked for
	delay      time.Duration
	quick      int             // quick hosts with links
	triedHosts int             // untried hosts that were leased from
	slowTries  uint32          // the last 32 of them, a bit each: it was slow
	lags       bool            // one has not answered for long
	working    int             // sites with links
	leasedOf   [numClasses]int // hosts leased
	lined      []*site         // that have a line, and maybe some that had one
	inLine     int             // hosts in lines
	lastLeases [lookBack]*site // of the last leases, those of lines
	leases     int
	yielding   []*host // that yield for the rest of a Lease
	yieldless  bool    // nobody else is ready
	endedPorts []*ports
	endedTurns []*site
}

// trimState is what trim.go goes by.
type trimState struct {
	worst heap[*host] // by bound, the worst on top; made when it is needed
	dirty []*host     // whose bound or number of candidates has changed
}

// host is a host that a link or a Turn named.
type host struct {
	id        uint32
	state     web.HostState
	queued    int          // candidates waiting
	leasedKey key          // of the leased candidate; zero unless busy
	head      key          // best waiting candidate, while ready
	inHeap    *heap[*host] // ready, waiting or the line of its site; nil = none
	heapIndex int          // index there
	due       time.Time    // while in waiting
	held      int          // n, while counted in Frontier.held

	site        *site
	ports       *ports // nil without fellows
	counts      hostCounts
	leasedAs    class     // while busy
	byTurn      bool      // busy by a turn of its site
	given       time.Time // when it was leased from, while busy
	wasUntried  bool      // it was untried, and the lease has ended in this Turn
	unseenIndex int       // in site.unseen, -1 = not there
	pages       int       // fetched, as the line of its site is ordered by

	window  window            // of the backend on disk
	preread *prereadCandidate // likewise; nil = none
	used    bool              // asked for since cool looked at it
	written uint64            // the commit that has its state last, of the backend on disk

	worst      key  // no waiting candidate is worse
	loose      bool // and maybe none is as bad
	rank       key  // worst, as Frontier.worst is ordered by
	boundIndex int  // index there, -1 = not there
	dirty      bool // in Frontier.dirty
}

func (h *host) busy() bool { return h.leasedKey.seq != 0 }

// mark is what the frontier knows of an address.
type mark struct {
	key  // of the waiting candidate; seq is 0 otherwise
	how  status
	host uint32 // of the waiting candidate, unless the mark is one that is planned; 0 otherwise
}

type status uint8

const (
	unknown status = iota // never seen
	waiting
	taken // leased or done
	dropped
)

// backend keeps what a frontier decides. Its methods between two commits are one
// change, that commit makes durable whole or not at all. peek, worst, load and
// each see committed changes only.
type backend interface {
	// mark returns what is known of an address, and setMark changes it; h is
	// the host of a waiting address, before or after the change; fresh tells that
	// nothing is known of it.
	mark(u web.URL) (mark, error)
	// marks appends what is known of the addresses of candidates.
	marks(of []web.Candidate, to []mark) ([]mark, error)
	setMark(u web.URL, m mark, h *host, fresh bool)
	// addresses is the number of those that have a mark.
	addresses() int
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
	// setHost stores h's state; setState a blob, and removes one that is empty.
	setHost(h *host)
	setState(name string, value []byte)
	// putBack notes that late re-scoring has looked at so many candidates for one lease, best
	// the best of them, and forgetPutBack that the turn has come which follows it; see putback.go.
	putBack(tries int, best web.URL)
	forgetPutBack()
	// commit ends the change. An error of one that is written later is that of a later call.
	commit(c change) error
	// unwritten waits until at most so many changes with a Turn.First are not written, and
	// returns how many are not.
	unwritten(most int) (int, error)

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
	// is none. Where a link was scored before, score is given that.
	rescore(h *host, from key, n int, score func(c *web.Candidate, prescored *float64) (float64, error)) (next key, looked int, err error)
	// rescored is called after the commit of a Rescore, with the number of links that wait.
	rescored(waiting int) error
	// startReadAhead is called after that: it may read, in the background, the n links
	// from which the next Rescore will begin most likely.
	startReadAhead(host uint32, from key, n int)
	// prescore begins to score the first n of these on other cores; join ends it.
	prescore(n int, score func(*web.Candidate) float64) (join func())
	state(name string) ([]byte, error)
	stateNames(prefix string) iter.Seq2[string, error]
	sync() error
	close() error
}

func newFrontier(opts Options, s backend) *Frontier {
	f := &Frontier{
		maxPerHost: opts.MaxPerHost,
		maxQueued:  cmp.Or(opts.Max, math.MaxInt),
		shortest:   opts.Shortest,
		backend:    s,
		byName:     make(map[web.Host]*host),
		hosts:      make(map[uint32]*host),
		leased:     make(map[web.URL]*host),
		next:       1,
		shareState: shareState{
			nameLimit:  cmp.Or(opts.MaxNames, defaultMaxNames),
			crowdLimit: defaultCrowd,
			sites:      make(map[string]*site),
			ports:      make(map[string]*ports),
		},
	}
	switch {
	case f.maxPerHost == 0:
		f.maxPerHost = defaultMaxPerHost
	case f.maxPerHost < 0:
		f.maxPerHost = math.MaxInt
	}
	moved := func(h *host, i int) { h.heapIndex = i }
	for c := range f.ready {
		f.ready[c] = heap[*host]{moved: moved, less: func(a, b *host) bool { return a.head.before(b.head) }}
	}
	f.waiting = heap[*host]{moved: moved, less: func(a, b *host) bool {
		if c := a.due.Compare(b.due); c != 0 {
			return c < 0
		}
		return a.id < b.id
	}}
	return f
}

// Preview tells what Commit would do with found links, in their order, if the turn
// forgot those addresses first. It changes nothing.
func (f *Frontier) Preview(ctx context.Context, forget []web.URL, found []web.Candidate) ([]web.Admission, error) {
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	p := f.newPlan()
	err := p.forget(forget)
	if err == nil {
		err = p.add(found)
	}
	if err != nil {
		return nil, f.keepWriteError(err)
	}
	return p.added, nil
}

// Commit applies a turn whole or not at all. One with a First is written later: see Unwritten.
func (f *Frontier) Commit(ctx context.Context, turn web.Turn) (web.Receipt, error) {
	if err := f.usable(ctx); err != nil {
		return web.Receipt{}, err
	}
	p := f.newPlan()
	if err := p.turn(&turn); err != nil {
		return web.Receipt{}, f.keepWriteError(err)
	}
	touched, err := f.apply(p, &turn)
	if err != nil {
		return web.Receipt{}, f.fail(err)
	}
	if len(turn.Done)+len(turn.Retry) > 0 { // others, such as one that makes all safe, may come at any time
		f.backend.forgetPutBack()
		f.interrupted = 0
	}
	if err := f.backend.commit(change{next: f.next, state: turn.State, first: turn.First, later: turn.First != nil, safe: turn.Safe}); err != nil {
		return web.Receipt{}, f.fail(err)
	}
	for _, h := range touched {
		if err := f.place(h); err != nil {
			return web.Receipt{}, f.fail(err)
		}
	}
	var crowded []web.Candidate
	if len(turn.Add) > 0 || !turn.Safe { // of a turn that only makes all safe nobody reads the receipt
		crowded, err = f.trim()
	}
	if err == nil {
		err = f.cool()
	}
	if err != nil {
		return web.Receipt{}, f.fail(err)
	}
	return web.Receipt{Added: p.added, Dropped: p.dropped, Displaced: p.displaced, Forgotten: p.forgotten, Crowded: crowded}, nil
}

// apply carries out a plan and returns the hosts whose place may have changed.
func (f *Frontier) apply(p *plan, turn *web.Turn) (touched []*host, err error) {
	f.next = p.base + uint64(len(p.fresh))
	for _, ph := range p.order {
		if ph.h == nil && ph.named {
			if ph.h, err = f.host(ph.name, ph.domain); err != nil {
				return nil, err
			}
		}
		if ph.h != nil {
			touched = append(touched, ph.h)
		}
	}
	for _, u := range p.ended {
		h := f.leased[u]
		f.backend.erase(h)
		h.leasedKey = key{}
		delete(f.leased, u)
		f.leaseEnded(h)
		touched = append(touched, h)
	}
	for _, g := range p.gone {
		f.backend.remove(g.ph.h, g.key)
		g.ph.h.queued--
		f.queued--
		f.left(g.ph.h, g.key)
	}
	for _, e := range p.entering() {
		f.backend.put(e.ph.h, e.key, e.c)
		f.entered(e.ph.h, e.key)
		e.ph.h.queued++
		f.queued++
	}
	for _, hash := range p.marked {
		m := p.marks[hash]
		var h *host
		if m.ph != nil {
			h = m.ph.h
		}
		f.backend.setMark(m.url, m.mark, h, m.fresh)
	}
	for _, s := range turn.Hosts {
		h, err := f.host(s.Host, "")
		if err != nil {
			return nil, err
		}
		h.state = s
		f.backend.setHost(h)
		touched = append(touched, h)
	}
	for _, h := range touched {
		if h.wasUntried {
			h.wasUntried = false
			f.tried(h.state.Slow > 0)
		}
	}
	return touched, nil
}

// host finds or makes the record of a host; domain is the host's, "" if nobody has
// looked it up.
func (f *Frontier) host(name web.Host, domain string) (*host, error) {
	h, err := f.find(name)
	if h != nil || err != nil {
		return h, err
	}
	if domain == "" {
		domain = name.Domain()
	}
	s := f.site(domain)
	h, own := s.host(domain)
	*h = host{id: f.named, state: web.HostState{Host: name}, heapIndex: -1, unseenIndex: -1, boundIndex: -1, worst: unbounded(), loose: true, site: own, used: true}
	if s == nil {
		f.keepSite(domain, own)
	}
	own.hosts++
	f.named++
	if f.cold != nil {
		f.cold.add(h.id, name, domain)
	}
	f.atHand(h)
	f.backend.setHost(h)
	return h, f.join(h)
}

// State returns what a Turn stored under name, nil if nothing was.
func (f *Frontier) State(ctx context.Context, name string) ([]byte, error) {
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	value, err := f.backend.state(name)
	if err != nil {
		return nil, f.keepWriteError(err)
	}
	return value, nil
}

// StateNames are the names that begin with prefix under which Turns stored something, in their order.
// The frontier is not used while they are ranged over.
func (f *Frontier) StateNames(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := f.usable(ctx); err != nil {
			yield("", err)
			return
		}
		for name, err := range f.backend.stateNames(prefix) {
			if !yield(name, f.keepWriteError(err)) {
				return
			}
		}
	}
}

// Stats counts what the frontier holds at now.
func (f *Frontier) Stats(now time.Time) web.FrontierStats {
	if f.broken == nil {
		if err := f.advance(now); err != nil {
			f.fail(err) // the next call says so
		}
	}
	s := web.FrontierStats{
		Queued:  f.queued,
		Leased:  len(f.leased),
		Seen:    f.backend.addresses(),
		Ready:   f.inLine,
		Waiting: f.waiting.len(),
		Down:    f.down,
		Held:    f.held,
	}
	for c := range f.ready {
		s.Ready += f.readyHosts(class(c))
	}
	if f.cold != nil {
		s.Waiting += f.cold.waiting.len()
	}
	s.Hosts = s.Ready + s.Waiting + s.Leased
	return s
}

// Unwritten waits until at most so many turns with a First are not written, and returns how
// many are not. An error of one is returned here, or by the call that meets it first.
func (f *Frontier) Unwritten(most int) (int, error) {
	if f.broken != nil {
		_, _ = f.backend.unwritten(0) // no First runs any more
		return 0, f.broken
	}
	n, err := f.backend.unwritten(most)
	if err != nil {
		return 0, f.fail(err)
	}
	return n, nil
}

// Sync returns when all that was committed would survive a power failure.
func (f *Frontier) Sync() error {
	if f.broken != nil {
		return f.broken
	}
	if err := f.backend.sync(); err != nil {
		return f.fail(err)
	}
	return nil
}

// Close syncs the frontier and lets go of its files. What is leased will be
// queued again when it is opened. No call may follow but Close, which then
// does nothing. It returns an error of a turn that no call has met before.
func (f *Frontier) Close() error {
	if errors.Is(f.broken, errClosed) {
		return nil
	}
	told := f.broken
	_, err := f.Unwritten(0)
	if told != nil {
		err = nil
	}
	f.broken = errClosed
	return errors.Join(err, f.backend.close())
}

var errClosed = errors.New("the frontier is closed")

func (f *Frontier) usable(ctx context.Context) error {
	if f.broken != nil {
		return f.broken
	}
	return ctx.Err()
}

// keepWriteError returns err, of a call that has changed nothing. If it is the error of a commit
// that could not be written, every later call returns it too.
func (f *Frontier) keepWriteError(err error) error {
	if errors.As(err, new(*writeError)) {
		return f.fail(err)
	}
	return err
}

// fail has every later call return err, and returns it.
func (f *Frontier) fail(err error) error {
	if w := (*writeError)(nil); errors.As(err, &w) && w.first {
		f.broken = w.error
		return f.broken
	}
	f.broken = fmt.Errorf("the frontier cannot go on; what it holds on disk is its last committed turn: %w", err)
	return f.broken
}
