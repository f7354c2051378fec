package frontier

import (
	"math"

	"github.com/waggle-crawler/waggle/web"
)

// Which candidates leave when more wait than may.
//
// Of each host the frontier keeps a bound of its worst candidate: none that waits
// is worse. A candidate that enters moves the bound; one that leaves makes it
// loose, and a loose bound is looked up when its host comes to the top of the
// heap of bounds. So what leaves costs the logarithm of the number of hosts, and
// not a look at each of them. There is no heap before the frontier is full for
// the first time. Hosts in the heap are at hand: a frontier of bounded size holds so many hosts in memory
// as links may wait.

// entered counts a candidate at k that enters and moves the bound of its host h;
// h.n does not count it yet.
func (f *Frontier) entered(h *host, k key) {
	f.spread.add(k.prio, 1)
	if h.queued == 0 || h.worst.before(k) {
		h.worst, h.loose = k, false
	}
	f.changed(h)
}

// left is for a candidate at k that left: it is no longer counted, and the bound of
// its host h is loose if it was that.
func (f *Frontier) left(h *host, k key) {
	f.spread.add(k.prio, -1)
	h.loose = h.loose || h.worst == k
	f.changed(h)
}

// sunk moves the bound of h for candidates that were rescored, down to p.
func (f *Frontier) sunk(h *host, p float64) {
	if k := (key{p, math.MaxUint64}); h.worst.before(k) {
		h.worst = k
	}
	h.loose = true
	f.changed(h)
}

// unbounded is the bound of a host of which nothing is known.
func unbounded() key { return key{math.Inf(-1), math.MaxUint64} }

// changed notes that the place of h among the bounds is to be mended.
func (f *Frontier) changed(h *host) {
	switch {
	case f.worst.less == nil || h.dirty:
	case len(f.dirty) > int(f.named)/4+1024:
		f.worst, f.dirty = heap[*host]{}, nil // to be made anew, if it is needed again
		for _, o := range f.hosts {
			o.dirty, o.boundIndex = false, -1
		}
	default:
		h.dirty = true
		f.dirty = append(f.dirty, h)
	}
}

// bounds brings the heap of bounds up to date, the worst on top.
func (f *Frontier) bounds() (*heap[*host], error) {
	q := &f.worst
	if q.less == nil {
		if err := f.warmQueues(); err != nil {
			return nil, err
		}
		q.less = func(a, b *host) bool { return b.rank.before(a.rank) }
		q.moved = func(h *host, i int) { h.boundIndex = i }
		for id := range f.named {
			h := f.hosts[id]
			if h == nil {
				continue
			}
			h.boundIndex, h.rank = -1, h.worst
			if h.queued > 0 {
				q.push(h)
			}
		}
		return q, nil
	}
	for _, h := range f.dirty {
		h.dirty, h.rank = false, h.worst // one at a time: the others are in order
		switch {
		case h.queued == 0 && h.boundIndex >= 0:
			q.remove(h.boundIndex)
		case h.queued > 0 && h.boundIndex >= 0:
			q.fix(h.boundIndex)
		case h.queued > 0:
			q.push(h)
		}
	}
	f.dirty = f.dirty[:0]
	return q, nil
}

// mostTrimmed is how many candidates leave after a Turn, at most: a limit that was
// lowered is met by and by.
const mostTrimmed = 10_000

// trim has the worst candidates leave until no more wait than may. Where the
// process dies before, the next Turn does it.
func (f *Frontier) trim() (gone []web.Candidate, err error) {
	excess := min(f.queued-f.maxQueued, mostTrimmed)
	if excess <= 0 {
		return nil, nil
	}
	victims, err := f.victims(excess)
	if err != nil {
		return nil, err
	}
	for _, v := range victims {
		c, err := f.backend.load(v.h, v.key)
		if err != nil {
			return nil, err
		}
		gone = append(gone, c)
	}
	for i, v := range victims {
		f.backend.remove(v.h, v.key)
		v.h.queued--
		f.queued--
		f.left(v.h, v.key)
		f.backend.setMark(gone[i].URL, mark{how: dropped}, v.h, false)
	}
	if err := f.backend.commit(change{next: f.next, quick: true, later: true}); err != nil {
		return nil, err
	}
	for _, v := range victims {
		if err := f.place(v.h); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// victim is a candidate that is to leave.
type victim struct {
	h *host
	key
}

// victims are the n worst candidates, worst first. It changes nothing but bounds.
func (f *Frontier) victims(n int) (out []victim, err error) {
	q, err := f.bounds()
	if err != nil {
		return nil, err
	}
	var aside []*host // of which all leave
	chosen := map[*host]int{}
	last := map[*host]key{} // the last chosen
	for len(out) < n && q.len() > 0 {
		h := q.top()
		if h.loose {
			k, ok, err := f.backend.worst(h, last[h])
			if err != nil {
				return nil, err
			}
			if ok {
				h.worst, h.rank, h.loose = k, k, false
				q.fix(h.boundIndex)
				continue
			}
			chosen[h] = h.queued // as damage may leave it
		} else {
			out = append(out, victim{h, h.worst})
			last[h], h.loose = h.worst, true
			chosen[h]++
		}
		if chosen[h] == h.queued {
			q.remove(h.boundIndex)
			aside = append(aside, h)
		}
	}
	for _, h := range aside {
		f.changed(h)
	}
	return out, nil
}
