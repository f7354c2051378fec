package event

import (
	"slices"
	"strings"
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
	Proxy  bool      `json:"proxy,omitempty"` // it is the proxy that is not reached
	// Detail is what was heard of the last failure, such as a proxy that does not answer; ""
	// where that is over.
	Detail string `json:"detail,omitempty"`
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
	Shape  string   `json:"shape"`  // one of Shapes
	Copies int      `json:"copies"` // pages with the same body, of other addresses of that shape
	Like   web.URL  `json:"like"`   // the last of them
}

// Covers tells whether an address is of the trap's shape. Of a shape that is too long
// for an event, it is not known.
func (t Trap) Covers(u web.URL) bool {
	return t.Host == u.Host() && slices.Contains(Shapes(u), t.Shape)
}

// Shapes are the shapes of an address, the narrowest first:
//
//	its pattern      shop.example/item/N?page&sort     digits as N, no values
//	its directory    shop.example/item/…               the first one
//	its host         shop.example/…
func Shapes(u web.URL) []string {
	host, path := string(u.Host()), u.Path()
	var b strings.Builder
	b.Grow(len(host) + len(u.RequestPath()))
	b.WriteString(host)
	digit := false
	for _, c := range []byte(path) {
		switch is := '0' <= c && c <= '9'; {
		case !is:
			b.WriteByte(c)
		case !digit:
			b.WriteByte('N')
		}
		digit = '0' <= c && c <= '9'
	}
	if _, query, ok := strings.Cut(u.RequestPath(), "?"); ok {
		for i, part := range strings.Split(query, "&") {
			name, _, _ := strings.Cut(part, "=")
			b.WriteByte("?&"[min(i, 1)])
			b.WriteString(name)
		}
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return []string{b.String(), host + "/" + first + "/…", host + "/…"}
}

// Shipped tells that a file of the archive was copied to a store, or why files are not: then it
// is told once, and tried again.
type Shipped struct {
	At
	File    string `json:"file,omitempty"`  // name within the archive; "" with a trouble
	Bytes   int64  `json:"bytes,omitempty"` // of the file
	SHA256  string `json:"sha256,omitempty"`
	Trouble string `json:"trouble,omitempty"`
}

func (Outage) Kind() string   { return "outage" }
func (HostDown) Kind() string { return "host-down" }
func (Trap) Kind() string     { return "trap" }
func (Shipped) Kind() string  { return "shipped" }

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
