package web

import (
	"net/netip"
	"time"
)

// Candidate is a link that waits in the frontier.
type Candidate struct {
	URL       URL
	From      URL      // page (or redirect) it was found on; zero for a seed
	Kind      LinkKind // of the link that brought it
	Depth     int      // links from a seed; redirects do not count
	Redirects int      // redirects followed in a row to get here
	Tries     int      // failed attempts so far
	// Priority is higher for sooner; comparable only within one scorer, never
	// NaN. Equal priorities leave the frontier in the order they entered.
	Priority float64
	// Features is what the scorer needs of the link to score it again, and
	// Memory what it keeps of the path that led here. Both are the scorer's
	// own bytes: the frontier only keeps them.
	Features []byte
	Memory   []byte
}

// HostState is what politeness remembers of a host.
type HostState struct {
	Host     Host
	Due      time.Time // not before; zero = at once
	Fetched  int       // pages fetched
	Failures int       // failed requests in a row
	Barren   int       // pages in a row without a relevant one
	Slow     int       // slow requests in a row
	// Since is the moment of the first of the failed requests in a row; zero
	// without one, and where that is unknown.
	Since time.Time
	// Silent tells that the last request brought no response at all: no name, no
	// connection, nothing within the time allowed.
	Silent bool
	// Down tells that the host failed so often that it is tried again at long
	// intervals only. Its links wait.
	Down bool
	// Renders are what rendering pages of the host has brought, by what the pages were as
	// sent; see package crawl.
	Renders [RenderKinds]Renders
}

// RenderKinds is the number of kinds of pages that are told apart, when it is decided whether
// a page is rendered.
const RenderKinds = 4

// Renders counts what rendering pages of a kind has brought.
type Renders struct {
	Pages  int // fetched, of this kind, rendered or not
	Done   int // rendered
	Gained int // of those, pages that said more, or led further
}

// Lease is a candidate taken out to be fetched. Its host is busy until a Turn
// ends the lease: a host is never leased twice at a time.
type Lease struct {
	Candidate
	Host HostState
	// Given is the moment at which the crawl took it out.
	Given time.Time
	// Patience is how long the fetch may take, politeness included; 0 = as long
	// as the fetcher allows. A fetch that takes longer fails with
	// ReasonTimeout.
	Patience time.Duration
	// Renders are what rendering pages had brought when it was taken out, of all hosts.
	Renders [RenderKinds]Renders
}

// Turn is everything one step of a crawl changes. A frontier applies it whole
// or not at all, also when the process dies.
type Turn struct {
	// Forget makes addresses that are done unknown again, so that Add can queue
	// them. One that waits or is leased is left alone.
	Forget []URL
	// Add holds found links. One never seen is queued; one queued already is
	// raised if its new priority is higher (it then carries the new
	// candidate's path and enters the order anew); one leased or done is
	// left alone.
	Add []Candidate
	// Done ends the leases of these addresses for good. An address never
	// seen is marked done all the same: it will never be queued.
	Done []URL
	// Retry ends leases by putting their candidates back as given.
	Retry []Candidate
	// Leave takes addresses that wait out of their queues; a later link may
	// bring them back. One that does not wait is left alone.
	Leave []URL
	// Hosts replaces the states of hosts.
	Hosts []HostState
	// Drop empties the queues of hosts given up.
	Drop []Host
	// State holds what the crawl, its scorer and its archive need to go on
	// after a restart, by name; a name absent here keeps its value, and
	// one that is empty here has none any more. Where First is set nobody changes it after
	// the commit: the frontier reads it on another goroutine.
	State map[string][]byte
	// First, unless nil, is called before the turn is written, on a goroutine of the
	// frontier's: what the turn speaks of is to be written by it. What it returns is stored
	// with State, and in place of what that has by the same name. With it a frontier may write
	// the turn after Commit has returned: after those before it, and none after one that failed.
	First func() (state map[string][]byte, err error)
	// Safe makes what was committed up to this turn survive a power failure once it is written.
	Safe bool
}

// Receipt says what a frontier did with a Turn.
type Receipt struct {
	// Added[i] tells what became of Turn.Add[i].
	Added []Admission
	// Dropped holds the candidates that a full host queue pushed out.
	Dropped []Candidate
	// Displaced holds those of names that better names of their site pushed out.
	Displaced []Candidate
	// Crowded holds those that a full frontier pushed out afterwards, also of
	// the candidates just added.
	Crowded []Candidate
	// Forgotten is the number of candidates that Turn.Drop removed, by host
	// in the order of Turn.Drop.
	Forgotten []int
}

// Admission is what became of a found link.
type Admission uint8

// What can become of a found link.
const (
	Known   Admission = iota // leased, done, or queued with a priority as high
	Queued                   // new
	Raised                   // queued already, now with a higher priority
	Refused                  // the host's queue is full of better links
	Crowded                  // too many better names of its site wait for a first visit
)

// FrontierStats counts what a frontier holds.
type FrontierStats struct {
	Queued  int `json:"queued"`  // candidates waiting
	Leased  int `json:"leased"`  // candidates being fetched
	Seen    int `json:"seen"`    // addresses ever admitted or done
	Hosts   int `json:"hosts"`   // hosts with candidates waiting or leased
	Ready   int `json:"ready"`   // of these, hosts due now and not busy
	Waiting int `json:"waiting"` // hosts with candidates that are not yet due
	// Down counts those of Waiting that are down, and Held the candidates that
	// wait for them.
	Down int `json:"down,omitempty"`
	Held int `json:"held,omitempty"`
	// Muted counts links that are kept out of the frontier while their places are muted.
	Muted int `json:"muted,omitempty"`
}

// Rung counts links that wait by their priority, from which theirs differ by less than
// one part in 256 of it.
type Rung struct {
	Priority float64 // the least that falls here
	Links    int
}

// HostQueue is a host with what waits for it.
type HostQueue struct {
	HostState
	Queued int  // candidates waiting
	Busy   bool // one of its candidates is being fetched
	// Address is that of the server at which the host was asked last, zero when it
	// is not known, and Sharing the number of other names that wait for a turn at
	// the same address.
	Address netip.Addr
	Sharing int
}
