// Package fetch brings what an address holds: politely, within bounds, and
// with an honest word for everything that goes wrong.
//
// Behaviour is stacked as decorators over one interface, Fetcher. A request
// passes them from the outside in:
//
//		Robots ─► Gate ─► (Between) ─► HTTP ─► dialer: address guard ─► wire
//	              │                     │
//	            route                 memory
//
//	  - Robots asks /robots.txt of the origin first, by the same way in.
//	  - Gate resolves the name, and lets one request at a time through to a name
//	    and to an address, a delay apart.
//	  - The route says which addresses may be asked: private ones are refused
//	    once names are resolved, so that neither a link, a redirect nor a name
//	    server can point inwards; public ones want a contact and a delay.
//	  - HTTP speaks HTTP/1.1 and 2, decodes and bounds what comes back.
//	  - memory bounds what the bodies of all requests take at a time.
//
// What a browser asks for that renders a page passes the same stages: see
// Stack.Resources.
//
// Robots and Gate stand before any Fetcher: package sim has them before a
// recorded web. No redirect is followed: a 3xx response carries its target, which the crawl
// treats as a link. Only robots.txt and tdmrep.json, and Follow for single documents, go on.
//
// What happened is either a *web.Response, whatever its status, or a
// *web.Failure that names the reason; a context that ends gives its own error.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// Agent is the product token that robots.txt rules are looked up by.
const Agent = "waggle"

// Fetcher brings what an address holds. It is safe for concurrent use; the
// error is a *web.Failure, or ctx's.
type Fetcher interface {
	Fetch(ctx context.Context, u web.URL) (*web.Response, error)
}

// Resolver turns names into addresses; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Clock tells the time and makes timers. It is safe for concurrent use.
type Clock interface {
	Now() time.Time
	// NewTimer fires once after d, unless stop is called before.
	NewTimer(d time.Duration) (fire <-chan time.Time, stop func())
}

// Options say how to fetch. The zero value of a field is its default.
type Options struct {
	// Contact is the e-mail or web address at which the owner of a site finds
	// who crawls it. No request goes to a public address without one. It is
	// required from the beginning unless AllowPrivate or Recorded is set: then a
	// request to a public address fails with web.ReasonContact.
	Contact string
	// Version is waggle's, for the User-Agent: "waggle/VERSION (+CONTACT)".
	// Default "dev".
	Version string
	// UserAgent replaces that header as a whole. robots.txt is read as
	// "waggle" all the same.
	UserAgent string

	// Delay is the least time between the end of a request and the start of
	// the next to the same host, and to the same address. Default 1 s; negative
	// for none. Hosts at public addresses have at least MinDelay, but for
	// OwnHosts.
	Delay time.Duration
	// OwnHosts are names, each for itself and all below it, whose servers are
	// the user's own: they may be asked as fast as Delay says.
	OwnHosts []string
	// Patience is how long a request waits for its turn; see GateOptions.
	Patience time.Duration
	// AddressLanes is the number of sites at one address that are asked at a
	// time; see GateOptions.Lanes. Default 1.
	AddressLanes int
	// CrawlDelayCap bounds the Crawl-delay of a robots.txt. Default 60 s;
	// negative to ignore Crawl-delay.
	CrawlDelayCap time.Duration
	// Timeout bounds a request from dialling to the last byte, without the
	// wait at the gate. Default 10 s.
	Timeout time.Duration
	// MaxBody bounds a body in bytes, both as received and as decoded.
	// Default 10 MiB.
	MaxBody int
	// Memory bounds the bytes of the bodies of pages that are in use at a time,
	// with what is made of them; see type memory. Who sets it calls Release of every
	// response. Default 0, no bound.
	Memory int64
	// Types are the media types asked for; see type Types. Default text/html and
	// application/xhtml+xml.
	Types []string
	// IgnoreRobots leaves robots.txt unread: for one's own sites and tests.
	IgnoreRobots bool
	// RobotsFile is the path of a file in which what is learnt of robots.txt
	// files is kept for a later run; see KeptFile. "" = it is not.
	RobotsFile string
	// Reservations has Stack.Complete ask sites for their tdmrep.json. ReservationsFile is for
	// these what RobotsFile is for robots.txt.
	Reservations     bool
	ReservationsFile string
	// Note is told of what is wrong with those files; nil tells nobody.
	Note func(string)

	// AllowPrivate lets requests go to loopback and private addresses, but not to
	// link-local ones and those of metadata services.
	AllowPrivate bool
	// Proxy, if set, gets every request, with the name and the password in its address. Of
	// an http or https proxy http is asked plainly, https by CONNECT. It resolves names, so
	// the gate goes by names alone; the guard refuses addresses that stand in links, and
	// names that lead inward as far as they are known here. A socks5 proxy is given
	// addresses, and guard and gate are as without it; a socks5h proxy is given names, of
	// which the guard knows only that some, such as localhost, are of no public web.
	Proxy *url.URL
	// Recorded says that the Proxy serves a recorded web: nobody is behind a name
	// there, so that every address is allowed, a contact is not needed and Delay
	// is as it is given.
	Recorded bool
	// CAs are the certificate authorities trusted; nil for the system's.
	CAs *x509.CertPool
	// IdleConns bounds the connections kept open for reuse. Default 512.
	IdleConns int

	// Secrets are sent with the requests for pages of an origin, such as
	// "https://a.example"; see Secret.
	Secrets map[string]Secret
	// Certificates are shown to the servers of an origin, such as "https://a.example", that
	// ask for one: for its pages and robots.txt, and for what its pages ask of it.
	Certificates map[string]tls.Certificate
	// Cookies keeps what sites have it remember, and it is sent with the requests for pages,
	// and with those of their own site for what a page asks for in a browser. All responses
	// then are without their Set-Cookie lines. nil = none are kept, and none sent but those of
	// Secrets. Who made it closes it.
	Cookies *cookies.Jar

	// Canon holds the rules for the targets of redirects.
	Canon web.Canon

	// Clock tells politeness and caches the time; nil = the machine's. Timeouts run
	// on the machine's clock whatever it is.
	Clock Clock
	// Resolver looks names up. Default net.DefaultResolver.
	Resolver Resolver
	// Between, if set, makes of HTTP what the gate is before: a cache. It is
	// asked for pages, each when its host may be asked, and not for robots.txt.
	// Requests that it makes in another way than by pages pass neither the gate nor the
	// address guard. What asks a host for more than one thing at a time, such as a
	// renderer, would wait for itself there: see Stack.Resources.
	Between func(pages Fetcher) Fetcher
	// MayAsk, if set, is called right before each request, which is sent if it returns nil. Its error, which
	// may come late, is that of the request: a *web.Failure with web.ReasonBusy, or of ctx. Requests
	// for pages are told from those for robots.txt, tdmrep.json and what pages want of other hosts.
	MayAsk func(ctx context.Context, h web.Host, page bool) error
	// Sharers is GateOptions.Sharers.
	Sharers func(addr netip.Addr) int
	// Connect opens a connection to an address ("192.0.2.1:80") that the
	// guard has admitted. Default a net.Dialer, which asks the guard once
	// more when the socket exists.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)

	ownAgent string // UserAgent as it was given
}

// Bounds and lifetimes that are nobody's wish.
const (
	maxErrorBody = 64 << 10  // of a response that is no document
	maxHead      = 256 << 10 // of a response head
	maxRobots    = 500 << 10 // of a robots.txt (RFC 9309, section 2.5)

	dnsLife         = 5 * time.Minute
	dnsFailureLife  = 5 * time.Second
	dnsNames        = 64 << 10 // names remembered
	dnsAddrs        = 8        // addresses remembered of each
	robotsLife      = 24 * time.Hour
	robotsRetryLife = time.Minute // of "unreachable", or what its Retry-After says
	robotsBytes     = 64 << 20    // of rules remembered
	robotsRedirects = 5           // RFC 9309, section 2.3.1.2
	robotsWayLife   = time.Hour   // of how far the redirects of one led, behind what was to be waited for
	robotsWaysBytes = 8 << 20     // of such ways remembered
)

func (o *Options) setDefaults() error {
	if o.Recorded && o.Proxy == nil {
		return errors.New("fetch: Recorded is for a Proxy, and there is none")
	}
	o.ownAgent = o.UserAgent
	if o.anonymous() && !o.AllowPrivate && !o.Recorded {
		return errors.New("fetch: no contact: set an e-mail or web address (contact in the job file, or --contact) so that owners of sites can reach you")
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.UserAgent == "" {
		o.UserAgent = Agent + "/" + o.Version
		if o.Contact != "" {
			o.UserAgent += " (+" + o.Contact + ")"
		}
	}
	if i := strings.IndexFunc(o.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		return fmt.Errorf("fetch: User-Agent %q: only printable ASCII can be sent", o.UserAgent)
	}
	if o.Proxy != nil && !isProxy(o.Proxy.Scheme) {
		return fmt.Errorf("fetch: proxy %s: only http, https, socks5 and socks5h proxies are spoken to", o.Proxy.Host)
	}
	o.Delay = orDefault(o.Delay, time.Second)
	o.CrawlDelayCap = orDefault(o.CrawlDelayCap, time.Minute)
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 10 << 20
	}
	if len(o.Types) == 0 {
		o.Types = DefaultTypes()
	}
	if o.IdleConns <= 0 {
		o.IdleConns = 512
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	return nil
}

// orDefault is def for zero and zero for a negative duration.
func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return max(d, 0)
}

// Stack is the whole of this package, assembled.
type Stack struct {
	Fetcher
	wire      *wire
	gate      *Gate
	resources Fetcher
	sites     *Reservations // nil where none are asked for
	kept      []*KeptFile
}

// SetDelay replaces Options.Delay and Options.Patience for the requests that start from now on.
func (s *Stack) SetDelay(delay, patience time.Duration) {
	s.wire.delay.Store(int64(delay))
	s.gate.setDelay(delay, patience)
}

// New assembles a Stack. It starts no goroutine. A RobotsFile or ReservationsFile that cannot be
// used is noted, and not used.
func New(o Options) (*Stack, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	w := newWire(o)
	var budget *memory
	if o.Memory > 0 {
		budget = newMemory(o.Memory)
	}
	gate := NewGate(GateOptions{Delay: o.Delay, Patience: o.Patience, Lanes: o.AddressLanes, Clock: o.Clock, Route: w.route, Sharers: o.Sharers})
	leased := w.client(o.Types, o.MaxBody, budget)
	leased.ofPages = true
	pages := Fetcher(leased)
	all := keyring{o.words(), o.Cookies}
	own := len(all.words) > 0 || len(o.Certificates) > 0 || o.Cookies != nil
	if own {
		pages = personalFetcher{pages, o.Secrets, all}
	}
	if o.Between != nil {
		pages = o.Between(pages)
	}
	pages = gate.Before(pages)
	anything := Fetcher(w.client(Types{"*/*"}, o.MaxBody, nil))
	if own {
		anything = siteFetcher{anything, all}
	}
	anything = gate.Before(anything)
	s := &Stack{Fetcher: pages, wire: w, gate: gate, resources: patient{Fetcher: anything, clock: o.Clock}}
	files := func(most int) Fetcher { return gate.Before(certifiedFetcher{w.client(Types{"*/*"}, most, nil), all}) }
	ofSites := files(maxReservations)
	if !o.IgnoreRobots {
		robots := NewRobots(RobotsOptions{
			Pages: pages, Files: files(maxRobots), Gate: gate, CrawlDelayCap: o.CrawlDelayCap, Clock: o.Clock,
			Kept: s.keep(o, o.RobotsFile, "robots.txt", OpenRobots),
		})
		s.Fetcher, s.resources, ofSites = robots, patient{Fetcher: robots.before(anything), clock: o.Clock}, robots.before(ofSites)
	}
	if o.Reservations {
		s.sites = NewReservations(ReservationsOptions{
			Files: ofSites, Clock: o.Clock, Kept: s.keep(o, o.ReservationsFile, "tdmrep.json", OpenReservations),
			Wait: max(reservationsWait, 2*o.CrawlDelayCap),
		})
	}
	return s, nil
}

// keep opens what earlier runs learnt of a file of sites; nil where nothing is kept.
func (s *Stack) keep(o Options, path, of string, open func(string, func() time.Time, func(string)) (*KeptFile, error)) *KeptFile {
	if path == "" {
		return nil
	}
	kept, err := open(path, o.Clock.Now, o.Note)
	if err != nil {
		o.Note(fmt.Sprintf("%v: this run asks every site for its %s", err, of))
		return nil
	}
	s.kept = append(s.kept, kept)
	return kept
}

// Complete adds to the response for a page what its site says of text and data mining, where
// Options.Reservations asks for that; see Reservations.Complete.
func (s *Stack) Complete(ctx context.Context, r *web.Response) error {
	if s.sites == nil {
		return nil
	}
	return s.sites.Complete(ctx, r)
}

// Sharing tells at which address a host was asked last, and how many other names
// are waiting for it; see Gate.Sharing.
func (s *Stack) Sharing(h web.Host) (addr netip.Addr, names int) { return s.gate.Sharing(h) }

// Close gives back the connections kept for reuse. It is called when every
// Fetch has returned.
func (s *Stack) Close() error {
	s.wire.close()
	var err error
	for _, kept := range s.kept {
		err = errors.Join(err, kept.Close())
	}
	return err
}

// Follow fetches u and goes on to where it has moved, at most max redirects
// far. The response is that of the last address.
func Follow(ctx context.Context, f Fetcher, u web.URL, max int) (*web.Response, error) {
	w := Way{u}
	return w.Follow(ctx, f, max)
}

// Way are the addresses that redirects lead through, the first of them asked for and each next
// one where the one before has moved.
type Way []web.URL

// Follow fetches the last address and goes on to where it has moved, until the way has max
// redirects. On an error the way ends with the address that was not to be had: after a wait, the next
// call goes on there, as to ask for the redirect once more could have its target wait anew each time.
func (w *Way) Follow(ctx context.Context, f Fetcher, max int) (*web.Response, error) {
	for {
		u := (*w)[len(*w)-1]
		r, err := f.Fetch(ctx, u)
		if err != nil || !redirects(r.Status) {
			return r, err
		}
		r.Release()
		switch to := r.Location; {
		case to.IsZero():
			return nil, &web.Failure{Reason: web.ReasonRedirectBad,
				Detail: fmt.Sprintf("%s: status %d to %.200q", u, r.Status, first(r.Header, "Location"))}
		case slices.Contains(*w, to):
			return nil, &web.Failure{Reason: web.ReasonRedirectLoop, Detail: fmt.Sprintf("%s: back to %s", u, to)}
		case len(*w) > max:
			return nil, &web.Failure{Reason: web.ReasonRedirects, Detail: fmt.Sprintf("%s: more than %d redirects", u, max)}
		default:
			*w = append(*w, to)
		}
	}
}

// weight is what a way may take in memory, in bytes.
func (w Way) weight() int {
	n := 1 << 8
	for _, u := range w {
		n += 16 + len(u.String())
	}
	return n
}

// redirects tells whether a status asks to look elsewhere. 300 leaves the
// choice to a person and 304 speaks of a cache.
func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

func first(h web.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}
