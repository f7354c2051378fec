package frontier

import (
	"cmp"
	"slices"

	"github.com/waggle-crawler/waggle/web"
)

// Hosts tells of the n hosts for which most candidates wait, those of which one
// is leased among them; of equal ones by name. It looks at every host.
func (f *Frontier) Hosts(n int) []web.HostQueue {
	out := []web.HostQueue{}
	if f.broken != nil || n <= 0 {
		return out
	}
	// The least number of links that is among the n best.
	fewest := heap[int]{less: func(a, b int) bool { return a < b }, moved: func(int, int) {}}
	for id := range f.named {
		switch queued, working := f.queueOf(id); {
		case !working:
		case fewest.len() < n:
			fewest.push(queued)
		case queued > fewest.top():
			fewest.remove(0)
			fewest.push(queued)
		}
	}
	for id := range f.named {
		queued, working := f.queueOf(id)
		if !working || queued < fewest.top() {
			continue
		}
		q := web.HostQueue{Queued: queued}
		if h := f.hosts[id]; h != nil {
			q.HostState, q.Busy = h.state, h.busy()
		} else {
			s, err := f.cold.store.hostState(id)
			if err != nil {
				f.fail(err) // the next call says so
				return out
			}
			q.HostState = s
		}
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b web.HostQueue) int {
		return cmp.Or(cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.Host, b.Host))
	})
	return out[:min(n, len(out))]
}

// queueOf is how many links wait for a host, and whether one waits or is leased.
func (f *Frontier) queueOf(id uint32) (queued int, working bool) {
	if h := f.hosts[id]; h != nil {
		return h.queued, h.queued > 0 || h.busy()
	}
	queued = int(f.cold.host(id).queued)
	return queued, queued > 0
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
