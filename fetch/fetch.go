// Package fetch brings what an address holds: politely, within bounds, and
// with an honest word for everything that goes wrong.
//
// Behaviour is stacked as decorators over one interface, Fetcher. A request
// passes them from the outside in:
//
//		Robots ─► Gate ─► HTTP ─► dialer: name cache ─► address guard ─► wire
//
//	  - Robots asks /robots.txt of the origin first, by the same way in.
//	  - Gate lets one request at a time through to a host, and a delay apart.
//	  - HTTP speaks HTTP/1.1 and 2, decodes and bounds what comes back.
//	  - The guard refuses private addresses once names are resolved, so that
//	    neither a link, a redirect nor a name server can point inwards.
//
// No redirect is followed: a 3xx response carries its target, which the crawl
// treats as a link. Only robots.txt, and Follow for single documents, go on.
//
// What happened is either a *web.Response, whatever its status, or a
// *web.Failure that names the reason; a context that ends gives its own error.
package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

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

// Options say how to fetch. The zero value of a field is its default.
type Options struct {
	// Contact is the e-mail or web address at which the owner of a site finds
	// who crawls it. It is required unless AllowPrivate or Proxy is set.
	Contact string
	// Version is waggle's, for the User-Agent: "waggle/VERSION (+CONTACT)".
	// Default "dev".
	Version string
	// UserAgent replaces that header as a whole. robots.txt is read as
	// "waggle" all the same.
	UserAgent string

	// Delay is the least time between the end of a request and the start of
	// the next to the same host. Default 1 s; negative for none.
	Delay time.Duration
	// CrawlDelayCap bounds the Crawl-delay of a robots.txt. Default 60 s;
	// negative to ignore Crawl-delay.
	CrawlDelayCap time.Duration
	// Timeout bounds a request from dialling to the last byte, without the
	// wait at the gate. Default 10 s.
	Timeout time.Duration
	// MaxBody bounds a body in bytes, both as received and as decoded.
	// Default 10 MiB.
	MaxBody int
	// Types are the media types asked for, lower case, without parameters;
	// "*/*" for any. Default text/html and application/xhtml+xml.
	Types []string
	// IgnoreRobots leaves robots.txt unread: for one's own sites and tests.
	IgnoreRobots bool

	// AllowPrivate lets requests go to loopback, private, link-local and
	// metadata addresses.
	AllowPrivate bool
	// Proxy, if set, gets every request: http plainly, https by CONNECT. The
	// proxy then resolves names, so the address guard has nothing to guard.
	Proxy *url.URL
	// CAs are the certificate authorities trusted; nil for the system's.
	CAs *x509.CertPool
	// IdleConns bounds the connections kept open for reuse. Default 512.
	IdleConns int

	// Canon holds the rules for the targets of redirects.
	Canon web.Canon

	// Clock tells politeness and caches the time; timeouts run on the
	// machine's. Default clock.System.
	Clock clock.Clock
	// Resolver looks names up. Default net.DefaultResolver.
	Resolver Resolver
	// Connect opens a connection to an address ("192.0.2.1:80") that the
	// guard has admitted. Default a net.Dialer, which asks the guard once
	// more when the socket exists.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Bounds and lifetimes that are nobody's wish.
const (
	maxErrorBody  = 64 << 10  // of a response that is no document
	maxHead       = 256 << 10 // of a response head
	maxRobots     = 500 << 10 // of a robots.txt (RFC 9309, section 2.5)
	maxRetryAfter = time.Hour

	dnsLife         = 5 * time.Minute
	dnsFailureLife  = 5 * time.Second
	dnsNames        = 64 << 10 // names remembered
	dnsAddrs        = 8        // addresses remembered of each
	robotsLife      = 24 * time.Hour
	robotsRetryLife = time.Minute // of "unreachable", or what its Retry-After says
	robotsBytes     = 64 << 20    // of rules remembered
	robotsRedirects = 5           // RFC 9309, section 2.3.1.2
)

func (o *Options) setDefaults() error {
	if o.Contact == "" && o.UserAgent == "" && !o.AllowPrivate && o.Proxy == nil {
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
	if o.Proxy != nil && o.Proxy.Scheme != "http" && o.Proxy.Scheme != "https" {
		return fmt.Errorf("fetch: proxy %s: only http and https proxies are spoken to", o.Proxy.Redacted())
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
		o.Types = []string{"text/html", "application/xhtml+xml"}
	}
	if o.IdleConns <= 0 {
		o.IdleConns = 512
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
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
	wire *wire
}

// New assembles a Stack. It starts no goroutine.
func New(o Options) (*Stack, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	w := newWire(o)
	gate := NewGate(o.Delay, o.Clock)
	pages := gate.Before(w.client(o.Types, o.MaxBody))
	if o.IgnoreRobots {
		return &Stack{pages, w}, nil
	}
	rules := gate.Before(w.client([]string{"*/*"}, maxRobots))
	return &Stack{newRobots(pages, rules, gate, o.Clock, o.CrawlDelayCap), w}, nil
}

// Close gives back the connections kept for reuse. It is called when every
// Fetch has returned.
func (s *Stack) Close() error {
	s.wire.close()
	return nil
}

// Follow fetches u and goes on to where it has moved, at most max redirects
// far. The response is that of the last address.
func Follow(ctx context.Context, f Fetcher, u web.URL, max int) (*web.Response, error) {
	seen := map[web.URL]bool{u: true}
	for hops := 0; ; hops++ {
		r, err := f.Fetch(ctx, u)
		if err != nil || !redirects(r.Status) {
			return r, err
		}
		switch to := r.Location; {
		case to.IsZero():
			return nil, &web.Failure{Reason: web.ReasonRedirectBad,
				Detail: fmt.Sprintf("%s: status %d to %.200q", u, r.Status, first(r.Header, "Location"))}
		case seen[to]:
			return nil, &web.Failure{Reason: web.ReasonRedirectLoop, Detail: fmt.Sprintf("%s: back to %s", u, to)}
		case hops == max:
			return nil, &web.Failure{Reason: web.ReasonRedirects, Detail: fmt.Sprintf("%s: more than %d redirects", u, max)}
		default:
			seen[to] = true
			u = to
		}
	}
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
