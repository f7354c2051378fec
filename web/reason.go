package web

import (
	"fmt"
	"net/netip"
	"time"
)

// Reason says in one word why an address was not fetched, or why what came
// back is not a page of the collection. The word is for programs: it stands in
// events and in the archive. People are told Brief or Meaning.
type Reason string

// Why a link never reached the frontier.
const (
	ReasonScope     Reason = "scope"      // outside the job's scope
	ReasonMuted     Reason = "muted"      // within a place that a person muted
	ReasonDepth     Reason = "depth"      // too many links from a seed
	ReasonTrap      Reason = "trap"       // the address looks like a crawler trap
	ReasonExtension Reason = "extension"  // the address names a file of another kind
	ReasonNoFollow  Reason = "nofollow"   // the page or the link asks not to be followed
	ReasonTelling   Reason = "secret"     // the link repeats a secret: what lets the user in at the site
	ReasonHostQueue Reason = "host-queue" // the host's queue is full of better links
	ReasonSiteQueue Reason = "site-queue" // too many better names of the site wait for a first visit
	ReasonQueue     Reason = "queue"      // the whole frontier is full of better links
	ReasonHostPages Reason = "host-pages" // the host has given its share of pages
	ReasonHostDead  Reason = "host-dead"  // the host did not answer for days
	ReasonElsewhere Reason = "elsewhere"  // another worker of the crawl has the host now
	ReasonNotDue    Reason = "not-due"    // known from an earlier round, and others are asked for first
	ReasonRecord    Reason = "record"     // outside the recorded web that is crawled
)

// Why a fetch did not bring a page.
const (
	ReasonRobots        Reason = "robots"           // robots.txt disallows it
	ReasonRobotsMissing Reason = "robots-unknown"   // robots.txt is unreachable, or to be asked for later: nothing is fetched until it is known
	ReasonAddress       Reason = "address"          // a private, loopback or metadata address
	ReasonPort          Reason = "port"             // a port on which no web server listens
	ReasonContact       Reason = "contact"          // a public host, and the job names no contact
	ReasonBusy          Reason = "busy"             // politeness asks to wait: nothing was asked
	ReasonDNS           Reason = "dns"              // the name does not resolve
	ReasonConnect       Reason = "connect"          // no connection
	ReasonProxy         Reason = "proxy"            // the proxy was reached and opens no connection to the host
	ReasonTLS           Reason = "tls"              // no trust in the connection
	ReasonCertificate   Reason = "certificate"      // the server asks for a certificate of ours
	ReasonTimeout       Reason = "timeout"          // slower than the limit
	ReasonReset         Reason = "reset"            // the connection broke
	ReasonProtocol      Reason = "protocol"         // not understandable as HTTP
	ReasonStatus        Reason = "status"           // an HTTP error status
	ReasonType          Reason = "type"             // not a document type the job asks for
	ReasonEmpty         Reason = "empty"            // a document without a body
	ReasonDamaged       Reason = "damaged"          // a document that cannot be read
	ReasonReader        Reason = "reader"           // no process that reads such documents starts on this machine
	ReasonRedirect      Reason = "redirect"         // moved: the target is a candidate of its own
	ReasonRedirectKnown Reason = "redirect-known"   // moved to an address seen before
	ReasonRedirectLoop  Reason = "redirect-loop"    // moved to itself or its own origin
	ReasonRedirects     Reason = "redirects"        // moved more often than the limit
	ReasonRedirectBad   Reason = "redirect-invalid" // moved to nowhere usable
	ReasonRedirectTells Reason = "redirect-secret"  // moved to an address that repeats a secret
	ReasonNoIndex       Reason = "noindex"          // the page asks not to be kept
	ReasonDuplicate     Reason = "duplicate"        // same body as a page fetched before
	ReasonNearCopy      Reason = "near-copy"        // nearly the text of a page fetched before
	ReasonLinksOnly     Reason = "links-only"       // of a kind that is fetched for its links alone
	ReasonNotFound      Reason = "soft-not-found"   // a notice that there is no such page, with status 200
	ReasonParked        Reason = "parked"           // an advert for the name of the host
	ReasonConsent       Reason = "consent"          // a wall that asks for consent
	ReasonLogin         Reason = "login"            // a wall that asks for a login, with status 200, 401 or 403
	ReasonBlocked       Reason = "blocked"          // a check for robots, or a refusal, with status 200 or 403
	ReasonResource      Reason = "resource"         // no page: a page asked for it while a browser rendered it
)

// Why a browser ended a page before it was done, brought none of it, or was not given what a
// page asked for.
const (
	ReasonBrowser        Reason = "browser"         // there is no browser, or it does not start
	ReasonRenderTime     Reason = "render-time"     // it does not come to rest
	ReasonRenderCPU      Reason = "render-cpu"      // it computes too much
	ReasonRenderMemory   Reason = "render-memory"   // it takes too much memory
	ReasonRenderCrash    Reason = "render-crash"    // the browser failed on it
	ReasonRenderSize     Reason = "render-size"     // its document is longer than the limit
	ReasonRenderRequests Reason = "render-requests" // it asks for too much
	ReasonRenderWindows  Reason = "render-windows"  // it opens windows
	ReasonRenderDialogs  Reason = "render-dialogs"  // it opens dialogs
	ReasonRenderWorkers  Reason = "render-workers"  // it starts workers
	ReasonRenderDownload Reason = "render-download" // it starts a download
	ReasonRenderMoved    Reason = "render-moved"    // a script leads elsewhere
	ReasonMethod         Reason = "method"          // of a request that is no GET: it could change something
)

// Copy tells that a page repeats one that was fetched before, wholly or nearly.
func (r Reason) Copy() bool { return r == ReasonDuplicate || r == ReasonNearCopy }

// Brief is the reason in a few plain words, to stand beside a count: "too slow".
// That of a reason which this version does not know is its own word.
func (r Reason) Brief() string {
	brief, _ := r.words()
	return brief
}

// Meaning is the reason in a clause: "slower than the time limit".
func (r Reason) Meaning() string {
	_, meaning := r.words()
	return meaning
}

func (r Reason) words() (brief, meaning string) {
	switch r {
	case ReasonScope:
		return "out of scope", "it is outside the scope of the job"
	case ReasonMuted:
		return "in a muted place", "it is in a place that a person muted"
	case ReasonDepth:
		return "too deep", "it is too many links away from a seed"
	case ReasonTrap:
		return "traps", "its server seems to make up addresses (a crawler trap)"
	case ReasonExtension:
		return "other files", "its address names a file of another kind than the job asks for, such as a picture"
	case ReasonNoFollow:
		return "not to be followed", "the page or the link asks crawlers not to follow it"
	case ReasonTelling:
		return "repeat a secret", "it repeats a password, a token or the cookie of a session that lets you in, so it is kept nowhere"
	case ReasonHostQueue:
		return "host's queue full", "the queue of its host is full of better links"
	case ReasonSiteQueue:
		return "too many new names", "too many better names of its site wait for a first visit"
	case ReasonQueue:
		return "queue full", "the queue is full of better links"
	case ReasonHostPages:
		return "host's share fetched", "its host has given as many pages as the job allows"
	case ReasonHostDead:
		return "host given up", "its host did not answer for days, or its name does not exist"
	case ReasonElsewhere:
		return "with another worker", "another worker of the crawl fetches from its host now"
	case ReasonRecord:
		return "not in the record", "it is not in the recorded web, so what the site would answer is not known"
	case ReasonNotDue:
		return "known, not due", "it is known from an earlier round and was not due when a link led to it: pages that change more often or are more relevant go first, and it is asked for at the end where the budget has room"
	case ReasonRobots:
		return "robots.txt", "robots.txt disallows it"
	case ReasonRobotsMissing:
		return "robots.txt not known", "robots.txt could not be had, or is to be asked for later; nothing is fetched until it is known"
	case ReasonAddress:
		return "private addresses", "it is at a private, loopback or metadata address"
	case ReasonPort:
		return "ports not for the web", "its port is one of other services than web servers"
	case ReasonContact:
		return "no contact named", "it is on the public web, and the job names no contact"
	case ReasonBusy:
		return "to be asked later", "politeness asks to wait"
	case ReasonDNS:
		return "name not found", "the name of the host was not found"
	case ReasonConnect:
		return "no connection", "no connection could be made"
	case ReasonProxy:
		return "the proxy refuses", "the proxy that all requests go through opens no connection to its host"
	case ReasonTLS:
		return "no trusted connection", "the connection cannot be trusted"
	case ReasonCertificate:
		return "a certificate is asked", "the server asks for a certificate of yours: the file of --secrets can name one"
	case ReasonTimeout:
		return "too slow", "it took longer than the time limit"
	case ReasonReset:
		return "connection broken", "the connection broke"
	case ReasonProtocol:
		return "not HTTP", "the answer is not understood as HTTP"
	case ReasonStatus:
		return "HTTP errors", "the server answered with an error"
	case ReasonType:
		return "other types", "it is no document of a type that the job asks for"
	case ReasonEmpty:
		return "empty", "the document is empty"
	case ReasonDamaged:
		return "damaged documents", "the document cannot be read: it is damaged, protected, or larger than a reader takes"
	case ReasonReader:
		return "no reader", "the process that reads such documents could not be started on this machine"
	case ReasonRedirect:
		return "moved", "it has moved; the new address counts by itself"
	case ReasonRedirectKnown:
		return "moved to known pages", "it has moved to an address that was seen before"
	case ReasonRedirectLoop:
		return "moved in circles", "it has moved to itself"
	case ReasonRedirects:
		return "moved too often", "it has moved more often than the limit"
	case ReasonRedirectBad:
		return "moved to nowhere", "it has moved, and does not say to which web address"
	case ReasonRedirectTells:
		return "moved to a secret", "it has moved to an address that repeats what lets you in, so it is not followed: addresses are kept"
	case ReasonNoIndex:
		return "not to be kept", "the page asks not to be kept"
	case ReasonDuplicate:
		return "copies", "it is the same, byte for byte, as a page fetched before"
	case ReasonNearCopy:
		return "near-copies", "its text is nearly that of a page fetched before"
	case ReasonLinksOnly:
		return "for their links", "it is of a kind that the job fetches for its links alone"
	case ReasonNotFound:
		return "no such page", "it says that there is no such page, though its status says otherwise"
	case ReasonParked:
		return "parked names", "the name of its host is parked or for sale"
	case ReasonConsent:
		return "asks for consent", "it asks for consent and shows nothing else"
	case ReasonLogin:
		return "asks for a login", "it asks for a login and shows nothing else"
	case ReasonBlocked:
		return "turned away", "it turns the crawler away: by a notice, a check for robots, or status 403 with a page of its own"
	case ReasonResource:
		return "parts of pages", "it is no page: a page asked for it while a browser rendered it"
	case ReasonBrowser:
		return "no browser", "there is no browser that can render it"
	case ReasonRenderTime:
		return "never at rest", "it did not come to rest within the time that rendering may take"
	case ReasonRenderCPU:
		return "too much computing", "it computes more than rendering may take"
	case ReasonRenderMemory:
		return "too much memory", "it takes more memory than rendering may"
	case ReasonRenderCrash:
		return "browser failed", "the browser failed on it"
	case ReasonRenderSize:
		return "too long", "its document as rendered is longer than the limit of a body"
	case ReasonRenderRequests:
		return "too many requests", "it asks for more than rendering may"
	case ReasonRenderWindows:
		return "opens windows", "it opens windows"
	case ReasonRenderDialogs:
		return "opens dialogs", "it opens dialogs one after another"
	case ReasonRenderWorkers:
		return "starts workers", "it starts more workers than rendering may"
	case ReasonRenderDownload:
		return "starts downloads", "it starts a download"
	case ReasonRenderMoved:
		return "leads elsewhere", "a script of it leads to another address; that counts as a link"
	case ReasonMethod:
		return "no GET", "the request could change something at the server"
	}
	return string(r), string(r)
}

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
	// Connected tells that a new connection was made to the server, without a proxy, and
	// only then nothing came: the network works.
	Connected bool
	// Proxy tells that the proxy through which all requests go was not reached, or does
	// not let us in: it says nothing of the server.
	Proxy bool
	Err   error
}

// Error is for people, so it holds the reason in plain words.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Reason.Brief(), f.Detail) }

func (f *Failure) Unwrap() error { return f.Err }
