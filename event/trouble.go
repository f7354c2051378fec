package event

import (
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Outage tells that nothing answers, whatever the host: the network is down, and
// the crawl holds. It is told when an outage begins, after each probe that brought
// no answer (these are not kept in a log), and when it is over.
type Outage struct {
	At
	Since  time.Time `json:"since"`            // of the first failure
	Sites  int       `json:"sites,omitempty"`  // that failed together
	Probes int       `json:"probes,omitempty"` // without an answer, so far
	Next   time.Time `json:"next,omitzero"`    // of the next probe
	Over   bool      `json:"over,omitempty"`
}

// HostDown tells that a host does not answer, or only with errors: its links wait,
// and it is tried again at longer and longer intervals; or that it is back.
type HostDown struct {
	At
	Host     web.Host   `json:"host"`
	Reason   web.Reason `json:"reason,omitempty"`
	Detail   string     `json:"detail,omitempty"`
	Failures int        `json:"failures"` // in a row
	Since    time.Time  `json:"since"`    // of the first of them
	Next     time.Time  `json:"next,omitzero"`
	Over     bool       `json:"over,omitempty"`
}

// Trap tells that a host serves the same page under ever new addresses of a shape:
// they are refused from then on.
type Trap struct {
	At
	Host   web.Host `json:"host"`
	Shape  string   `json:"shape"`  // "shop.example/item/N?page": N for digits, without values
	Copies int      `json:"copies"` // pages with the same body, of other addresses of that shape
	Like   web.URL  `json:"like"`   // the last of them
}

func (Outage) Kind() string   { return "outage" }
func (HostDown) Kind() string { return "host-down" }
func (Trap) Kind() string     { return "trap" }

// Passing tells whether an event is for those who watch only, and not for a log.
func Passing(e Event) bool {
	switch e := e.(type) {
	case Tick:
		return true
	case Outage:
		return e.Probes > 0 && !e.Over
	}
	return false
}
