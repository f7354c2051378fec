package frontier

import (
	"cmp"
	"slices"

	"github.com/waggle-crawler/waggle/web"
)

// Hosts tells of the n hosts for which most candidates wait, those of which one
// is leased among them; of equal ones by name. It looks at every host, and at the names of 2n of them: where more have
// as many candidates as the n-th, the ones that the frontier has known longest are told.
func (f *Frontier) Hosts(n int) []web.HostQueue {
	out := []web.HostQueue{}
	if f.broken != nil || n <= 0 {
		return out
	}
	n = min(n, int(f.named))
	type queue struct {
		id     uint32
		queued int
	}
	most := heap[queue]{moved: func(queue, int) {}, less: func(a, b queue) bool { // the first to go on top
		return a.queued < b.queued || a.queued == b.queued && a.id > b.id
	}}
	note := func(id uint32, queued int) {
		switch q := (queue{id, queued}); {
		case most.len() < 2*n:
			most.push(q)
		case most.less(most.top(), q):
			most.items[0] = q
			most.down(0)
		}
	}
	for id, h := range f.hosts {
		if h.queued > 0 || h.busy() {
			note(id, h.queued)
		}
	}
	if f.cold != nil {
		for i, chunk := range f.cold.chunks {
			for j := range chunk { // of a host at hand, and of none, queued is 0
				if q := chunk[j].queued; q > 0 {
					note(uint32(i*chunkHosts+j), int(q))
				}
			}
		}
	}
	slices.SortFunc(most.items, func(a, b queue) int { return cmp.Compare(b.queued, a.queued) })
	for i, q := range most.items {
		if i >= n && q.queued < most.items[n-1].queued {
			break
		}
		told := web.HostQueue{Queued: q.queued}
		if h := f.hosts[q.id]; h != nil {
			told.HostState, told.Busy = h.state, h.busy()
		} else {
			s, err := f.cold.store.hostState(q.id)
			if err != nil {
				f.fail(err) // the next call says so
				return out
			}
			told.HostState = s
		}
		out = append(out, told)
	}
	slices.SortFunc(out, func(a, b web.HostQueue) int {
		return cmp.Or(cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.Host, b.Host))
	})
	return out[:min(n, len(out))]
}

// Host is what is remembered of a host, that of a new one if nothing is.
func (f *Frontier) Host(name web.Host) web.HostState {
	if f.broken == nil {
		h, err := f.find(name)
		if err != nil {
			f.fail(err) // the next call says so
		}
		if h != nil {
			return h.state
		}
	}
	return web.HostState{Host: name}
}
