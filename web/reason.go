package web

import (
	"fmt"
	"net/netip"
	"time"
)

// Reason says in one word why an address was not fetched, or why what came
// back is not a page of the collection. Reasons appear in events, summaries
// and explanations; they are part of the interface to users.
type Reason string

// Why a link never reached the frontier.
const (
	ReasonScope     Reason = "scope"      // outside the job's scope
	ReasonDepth     Reason = "depth"      // too many links from a seed
	ReasonTrap      Reason = "trap"       // the address looks like a crawler trap
	ReasonExtension Reason = "extension"  // the address names a file of another kind
	ReasonNoFollow  Reason = "nofollow"   // the page or the link asks not to be followed
	ReasonHostQueue Reason = "host-queue" // the host's queue is full of better links
	ReasonSiteQueue Reason = "site-queue" // too many better names of the site wait for a first visit
	ReasonQueue     Reason = "queue"      // the whole frontier is full of better links
	ReasonHostPages Reason = "host-pages" // the host has given its share of pages
	ReasonHostDead  Reason = "host-dead"  // the host did not answer for days
	ReasonRecord    Reason = "record"     // outside the recorded web that is crawled
)

// Why a fetch did not bring a page.
const (
	ReasonRobots        Reason = "robots"           // robots.txt disallows it
	ReasonRobotsMissing Reason = "robots-unknown"   // robots.txt is unreachable: treated as disallow
	ReasonAddress       Reason = "address"          // a private, loopback or metadata address
	ReasonPort          Reason = "port"             // a port on which no web server listens
	ReasonContact       Reason = "contact"          // a public host, and the job names no contact
	ReasonBusy          Reason = "busy"             // politeness asks to wait: nothing was asked
	ReasonDNS           Reason = "dns"              // the name does not resolve
	ReasonConnect       Reason = "connect"          // no connection
	ReasonTLS           Reason = "tls"              // no trust in the connection
	ReasonTimeout       Reason = "timeout"          // slower than the limit
	ReasonReset         Reason = "reset"            // the connection broke
	ReasonProtocol      Reason = "protocol"         // not understandable as HTTP
	ReasonStatus        Reason = "status"           // an HTTP error status
	ReasonType          Reason = "type"             // not a document type the job asks for
	ReasonEmpty         Reason = "empty"            // a document without a body
	ReasonRedirect      Reason = "redirect"         // moved: the target is a candidate of its own
	ReasonRedirectKnown Reason = "redirect-known"   // moved to an address seen before
	ReasonRedirectLoop  Reason = "redirect-loop"    // moved to itself or its own origin
	ReasonRedirects     Reason = "redirects"        // moved more often than the limit
	ReasonRedirectBad   Reason = "redirect-invalid" // moved to nowhere usable
	ReasonNoIndex       Reason = "noindex"          // the page asks not to be kept
	ReasonDuplicate     Reason = "duplicate"        // same body as a page fetched before
)

// Failure is a fetch that brought no response.
type Failure struct {
	Reason Reason
	Detail string // for people: what happened, where
	// Temporary failures are worth another try.
	Temporary bool
	// RetryAfter is how long another try would come to the same; 0 = unknown.
	RetryAfter time.Duration
	// Address is that of the server that was asked or, when the reason is
	// ReasonBusy, that was to be asked; zero when unknown.
	Address netip.Addr
	// Robots is the exchange that fetched robots.txt on the way, nil if the
	// rules were cached already.
	Robots *Response
	Err    error
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Reason, f.Detail) }

func (f *Failure) Unwrap() error { return f.Err }
