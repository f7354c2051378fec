package frontier

import (
	"cmp"
	"slices"

	"github.com/waggle-crawler/waggle/web"
)

// Hosts tells of the n hosts for which most candidates wait, those of which one
// is leased among them; of equal ones by name. It looks at every host.
func (f *Frontier) Hosts(n int) []web.HostQueue {
	order := func(a, b *host) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.state.Host, b.state.Host))
	}
	// The heap's top is the one to leave for a better one.
	best := heap[*host]{less: func(a, b *host) bool { return order(a, b) > 0 }, moved: func(*host, int) {}}
	for _, h := range f.hosts {
		switch {
		case h.n == 0 && !h.busy() || n <= 0:
		case best.len() < n:
			best.push(h)
		case order(h, best.top()) < 0:
			best.remove(0)
			best.push(h)
		}
	}
	slices.SortFunc(best.items, order)
	out := make([]web.HostQueue, 0, len(best.items))
	for _, h := range best.items {
		out = append(out, web.HostQueue{HostState: h.state, Queued: h.n, Busy: h.busy()})
	}
	return out
}

// Host is what is remembered of a host, that of a new one if nothing is.
func (f *Frontier) Host(name web.Host) web.HostState {
	if h, ok := f.byName[name]; ok {
		return h.state
	}
	return web.HostState{Host: name}
}
