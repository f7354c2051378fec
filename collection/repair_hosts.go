package collection

import (
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// hostTale is what the log tells of a host.
type hostTale struct {
	fetched int            // pages
	barren  int            // of these, in a row without a relevant one, at the end
	down    event.HostDown // since when it fails; zero when it does not
}

// host takes in what an event tells of hosts.
func (r *repair) host(e event.Event) {
	tale := func(name web.Host) *hostTale {
		t := r.hosts[name]
		if t == nil {
			t = &hostTale{}
			r.hosts[name] = t
		}
		return t
	}
	switch e := e.(type) {
	case event.Fetched:
		t := tale(e.URL.Host())
		t.fetched++
		t.barren++
		if e.Relevant {
			t.barren = 0
		}
		t.down = event.HostDown{}
	case event.HostDown:
		t := tale(e.Host)
		if t.down = e; e.Over {
			t.down = event.HostDown{}
		}
	}
}

// tell brings the state of a host up to what the log tells, where it lags behind or
// is lost; true if it did.
func (t *hostTale) tell(h *web.HostState) (changed bool) {
	lost := *h == web.HostState{Host: h.Host}
	if h.Fetched < t.fetched {
		h.Fetched, h.Barren, changed = t.fetched, t.barren, true
	}
	if d := t.down; lost && d.Failures > 0 {
		h.Failures, h.Since, h.Due, h.Down, changed = d.Failures, d.Since, d.Next, true, true
	}
	return changed
}
