package frontier

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// place puts a host where it belongs after a change: among those that are ready,
// into the line of its site, among those that wait for their time, or nowhere.
func (f *Frontier) place(h *host) error {
	f.updateCounts(h)
	due, turn := h.state.Due, false
	if p := h.ports; p != nil {
		due, turn = later(due, p.due), p.busy || p.ended
	}
	switch {
	case h.queued == 0 || h.busy() || turn:
		f.unplace(h)
		h.loseTurn()
		return nil
	case due.After(f.now):
		f.unplace(h)
		h.loseTurn()
		h.due = due
		f.put(&f.waiting, h)
		return nil
	}
	k, err := f.backend.peek(h, 0)
	if err != nil {
		return err
	}
	heap := f.heapFor(h)
	if h.inHeap != heap {
		f.unplace(h)
	}
	h.head, h.pages = k, h.state.Fetched
	if h.inHeap == heap {
		heap.fix(h.heapIndex)
	} else {
		f.put(heap, h)
	}
	f.giveTurnIfDue(h.site)
	return nil
}

// loseTurn takes the turn of its site from a host that has it. One that yielded has it and is in no queue.
func (h *host) loseTurn() {
	if t := h.site.turns; t != nil && t.chosen == h {
		t.chosen = nil
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// put adds a host to a heap, and unplace takes it out of the one it is in.
func (f *Frontier) put(q *heap[*host], h *host) {
	h.inHeap = q
	q.push(h)
	switch {
	case q == &f.waiting:
		h.site.waiting++
		if h.state.Down {
			f.down++
			f.held += h.queued
			h.held = h.queued
		}
	case h.site.turns != nil && q == &h.site.turns.line:
		if t := h.site.turns; !t.listed {
			t.listed = true
			f.lined = append(f.lined, h.site)
		}
		f.inLine++
	default:
		h.site.ready++
	}
}

func (f *Frontier) unplace(h *host) {
	q := h.inHeap
	if q == nil {
		return
	}
	h.inHeap = nil
	q.remove(h.heapIndex)
	switch {
	case q == &f.waiting:
		h.site.waiting--
		if h.held > 0 {
			f.down--
			f.held -= h.held
			h.held = 0
		}
	case h.site.turns != nil && q == &h.site.turns.line:
		f.inLine--
	default:
		h.site.ready--
		h.loseTurn()
	}
}

// advance sets the time, and moves hosts that have become due to where they can be
// leased from. A moment before the latest one counts as that: time does not run
// backwards.
func (f *Frontier) advance(now time.Time) error {
	if now.After(f.now) {
		f.now = now
	}
	for f.waiting.len() > 0 && !f.waiting.top().due.After(f.now) {
		if err := f.place(f.waiting.top()); err != nil {
			return err
		}
	}
	if err := f.advanceCold(); err != nil {
		return err
	}
	return f.advanceLines()
}

// Lease takes out at most n candidates, each the best of a different host,
// among the hosts that are due at now and not busy, best first. Of a host that
// did not answer it is every other time the second best: a page that never comes
// cannot stand before the others.
//
// With among > 0 it takes only what is among the best so many of all that wait, and
// what equals the last of these to one part in 256: nothing, as long as their hosts are
// busy or not due. So many more count as there are links of hosts that are down, whatever
// their priority. 0 takes any.
//
// With a rescore it asks again for the priority of a candidate before giving it
// out. One that sank below the next best, of its own host or of the other ready
// ones, is put back with its new priority; after 8 such for one lease the best
// of the 8 is given, if it is among the best. What was put back stays so, also when the process dies.
// Rescore must not return NaN and must not call the frontier.
func (f *Frontier) Lease(ctx context.Context, now time.Time, n, among int, rescore func(*web.Candidate) float64) ([]web.Lease, error) {
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	if err := f.advance(now); err != nil {
		return nil, f.fail(err)
	}
	f.updateLags()
	var out []web.Lease
	for len(out) < n {
		left := 0
		if among > 0 {
			left = max(among-len(out), 1)
		}
		h, k, c, err := f.best(left, rescore)
		if err != nil {
			return nil, f.fail(err)
		}
		if h == nil {
			break
		}
		if h.state.Silent && h.state.Failures%2 == 1 && h.queued > 1 {
			if k, err = f.backend.peek(h, 1); err == nil {
				c, err = f.backend.load(h, k)
			}
			if err != nil {
				return nil, f.fail(err)
			}
		}
		if _, twice := f.leased[c.URL]; twice || h.state.Host != c.URL.Host() {
			return nil, f.fail(f.damaged(fmt.Errorf("a link of host %s has the address %s: %w", h.state.Host, c.URL, errDamaged)))
		}
		f.leaseBegan(h)
		f.unplace(h)
		f.backend.take(h, k, c.URL)
		h.leasedKey = k
		h.queued--
		f.left(h, k)
		f.queued--
		f.leased[c.URL] = h
		f.updateCounts(h)
		f.giveTurnIfDue(h.site)
		out = append(out, web.Lease{Candidate: c, Host: h.state})
	}
	if err := f.unyield(); err != nil {
		return nil, f.fail(err)
	}
	return out, nil
}

// putBackLink is a candidate that was scored anew for a lease and put back.
type putBackLink struct {
	h *host
	k key
	c web.Candidate
}

// best chooses what to lease next; the host is nil when there is nothing.
func (f *Frontier) best(among int, rescore func(*web.Candidate) float64) (*host, key, web.Candidate, error) {
	var tries int
	var looked []putBackLink
	if rescore != nil { // else none was looked at
		var err error
		if tries, looked, err = f.resumeLease(); err != nil {
			return nil, key{}, web.Candidate{}, err
		}
	}
	best := func() putBackLink {
		return slices.MinFunc(looked, func(a, b putBackLink) int {
			return cmp.Or(cmp.Compare(b.k.prio, a.k.prio), cmp.Compare(a.k.seq, b.k.seq))
		})
	}
	for ; tries < rescoreTries; tries++ {
		floor := f.floor(among)
		h, err := f.front(floor)
		if err != nil {
			return nil, key{}, web.Candidate{}, err
		}
		if h == nil {
			break
		}
		c, err := f.backend.load(h, h.head)
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
		sank = sank || p < floor
		if err != nil {
			return nil, key{}, c, err
		}
		if !sank {
			return h, h.head, c, nil
		}
		f.backend.rekey(h, h.head, k, &c)
		f.left(h, h.head)
		f.entered(h, k)
		// That of an interrupted Lease is looked at once more where the score has changed since.
		looked = slices.DeleteFunc(looked, func(l putBackLink) bool { return l.k.seq == k.seq })
		looked = append(looked, putBackLink{h, k, c})
		f.backend.putBack(tries+1, best().c.URL)
		if err := f.backend.commit(change{next: f.next, quick: true, later: true}); err != nil {
			return nil, key{}, c, err
		}
		if err := f.place(h); err != nil {
			return nil, key{}, c, err
		}
	}
	if len(looked) == 0 || best().k.prio < f.floor(among) {
		return nil, key{}, web.Candidate{}, nil
	}
	chosen := best()
	return chosen.h, chosen.k, chosen.c, nil
}

// floor is the priority below which a candidate is not among the best so many.
func (f *Frontier) floor(among int) float64 {
	if among == 0 {
		return math.Inf(-1)
	}
	return f.spread.floor(among+f.held+f.heldElsewhere, f.elsewhere)
}

// Waiting counts the best n candidates that wait, by priority, best first; of the last
// priority all are counted.
func (f *Frontier) Waiting(n int) []web.Rung { return f.spread.best(n) }

// Elsewhere tells what waits in the frontiers of other workers of the crawl, in place of
// what it told before: the best links, and how many wait for hosts that are down. Lease
// counts them as its own where it takes only what is among the best.
func (f *Frontier) Elsewhere(waiting []web.Rung, held int) {
	f.heldElsewhere = held
	if f.elsewhere = nil; len(waiting) == 0 {
		return
	}
	f.elsewhere = &histogram{}
	for _, r := range waiting {
		if r.Links > 0 && !math.IsNaN(r.Priority) {
			f.elsewhere.add(r.Priority, r.Links)
		}
	}
}

// sank tells whether the head of h, the best ready host, would no longer be
// the best if its key were k.
func (f *Frontier) sank(h *host, k key) (bool, error) {
	for c, open := range f.classes() {
		if !open {
			continue
		}
		items := f.ready[c].items
		from, to := 0, min(1, len(items)) // the root
		if len(items) > 0 && items[0] == h {
			from, to = 1, min(3, len(items)) // its children
		}
		for _, o := range items[from:to] {
			if o.head.before(k) {
				return true, nil
			}
		}
	}
	if h.queued < 2 {
		return false, nil
	}
	second, err := f.backend.peek(h, 1)
	return second.before(k), err
}

// NextDue is the earliest moment after the latest that Lease or Stats were given,
// at which a host is due or the next name of a site has its turn; ok is false
// when there is none.
func (f *Frontier) NextDue() (at time.Time, ok bool) {
	if f.waiting.len() > 0 {
		at, ok = f.waiting.top().due, true
	}
	if f.cold != nil && f.cold.waiting.len() > 0 {
		if due := time.Unix(0, f.cold.host(f.cold.waiting.top()).due).UTC(); !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	if turn, some := f.nextTurn(); some && (!ok || turn.Before(at)) {
		at, ok = turn, true
	}
	return at, ok
}
