package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/proxy"

	"github.com/waggle-crawler/waggle/web"
)

// Proxies, and who looks up the names of sites:
//
//	http, https  the proxy; a name is looked up here as well, and refused if it leads inward
//	socks5       this machine: guard and gate are as without a proxy
//	socks5h      the proxy alone, so that nobody here learns of names: only addresses that
//	             stand in links are guarded, and names of no public web
//
// What a proxy of the first kind finds behind a name may differ from what is found here.
// Source of SOCKS: RFC 1928 and RFC 1929.
const (
	schemeSOCKS      = "socks5"
	schemeSOCKSNames = "socks5h"
)

// isProxy tells whether the scheme of a proxy is spoken.
func isProxy(scheme string) bool {
	switch scheme {
	case "http", "https", schemeSOCKS, schemeSOCKSNames:
		return true
	}
	return false
}

// blind tells whether a proxy looks up names, so that no address of a site is known here.
func (w *wire) blind() bool { return w.options.Proxy != nil && w.options.Proxy.Scheme != schemeSOCKS }

// absolute tells whether requests name the host in their first line: RFC 9112, section 3.2.2.
func (w *wire) absolute() bool { return w.blind() && w.options.Proxy.Scheme != schemeSOCKSNames }

// connector opens connections to addresses.
type connector func(ctx context.Context, network, address string) (net.Conn, error)

// Dial is for proxy.Dialer, and not called.
func (c connector) Dial(network, address string) (net.Conn, error) {
	return c(context.Background(), network, address)
}

// DialContext is for proxy.ContextDialer.
func (c connector) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return c(ctx, network, address)
}

// throughSOCKS connects to addresses through a SOCKS proxy.
func throughSOCKS(p *url.URL, connect connector) connector {
	var who *proxy.Auth
	if p.User != nil {
		password, _ := p.User.Password()
		who = &proxy.Auth{User: p.User.Username(), Password: password}
	}
	address := p.Host
	if p.Port() == "" {
		address = net.JoinHostPort(p.Hostname(), "1080")
	}
	reach := connector(func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := connect(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errProxyDown, err)
		}
		return c, nil
	})
	d, err := proxy.SOCKS5("tcp", address, who, reach)
	if err != nil {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.(proxy.ContextDialer).DialContext(ctx, network, address)
		switch {
		case err == nil:
		case strings.HasSuffix(err.Error(), "not allowed by ruleset"): // RFC 1928, section 6: X'02'
			return nil, &proxyAnswer{proxy: p.Host, what: "it does not allow connections to " + address}
		default:
			return nil, fmt.Errorf("%w %s: %w", errProxy, p.Host, err)
		}
		return c, nil
	}
}

// A network whose way out is a proxy may know no names of the web, and each look-up there
// takes its time: after so many sites without an answer a name is looked up now and then
// only. It holds until the first answer.
const (
	maxLooks  = 3
	lookAgain = 30 * time.Second
)

// proxyLooks is what came of names that were looked up for a proxy.
//
//	looking ── maxLooks sites have no answer ──► now and then ── an answer ──► looking for good
//	   └───────────────── an answer ──────────────────────────────────────────────►┘
type proxyLooks struct {
	mu       sync.Mutex
	answered bool
	failed   map[string]bool // registrable domains; never more than maxLooks
	again    time.Time       // when the next name is looked up, with maxLooks failed
}

// due tells whether a name is looked up now.
func (l *proxyLooks) due(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.answered || len(l.failed) < maxLooks:
		return true
	case now.Before(l.again):
		return false
	}
	l.again = now.Add(lookAgain)
	return true
}

// looked takes in what came of a name. gaveUp tells that it is the last that is looked up
// for now.
func (l *proxyLooks) looked(site string, answered bool, now time.Time) (gaveUp bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case answered:
		l.answered, l.failed = true, nil
	case !l.answered && len(l.failed) < maxLooks && !l.failed[site]:
		if l.failed == nil {
			l.failed = map[string]bool{}
		}
		l.failed[site] = true
		l.again = now.Add(lookAgain)
		return len(l.failed) == maxLooks
	}
	return false
}

// guardName refuses a name that leads inward, before a proxy looks it up. A name that is
// not known here is left to the proxy, but for those that are of no public web anywhere. The
// error is a *web.Failure, or ctx's.
func (w *wire) guardName(ctx context.Context, u web.URL, name string) error {
	o, l := &w.options, &w.looks
	switch {
	case slices.Contains(closedNames, bare(name)):
		return &web.Failure{Reason: web.ReasonAddress, Detail: fmt.Sprintf("%.200s: %s is a metadata service: refused, with --allow-private too", u, name)}
	case isInward(name) && !o.AllowPrivate:
		return &web.Failure{Reason: web.ReasonAddress, Detail: fmt.Sprintf("%.200s: %s is a name within a network: refused without --allow-private", u, name)}
	case !w.absolute(), !l.due(o.Clock.Now()):
		return nil
	}
	addrs, err := w.resolve(ctx, name)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var none *net.DNSError
	answered := err == nil || errors.As(err, &none) && none.IsNotFound
	if l.looked(u.Host().Domain(), answered, o.Clock.Now()) && !o.AllowPrivate {
		o.Note(fmt.Sprintf("names are not found on this machine (%v), so the proxy %s alone knows where they lead: of private addresses only those that stand in links are refused", err, o.Proxy.Host))
	}
	refuses := guard
	if o.AllowPrivate {
		refuses = guardClosed
	}
	for _, a := range addrs {
		if why := refuses(a); why != nil {
			return failure(ctx, u, why)
		}
	}
	return nil
}

// inwardDomains are those of no public web. Sources: RFC 6761, section 6.3; RFC 6762, section 3 and
// appendix G; RFC 8375; ICANN's reservation of .internal. Resolvers that come with Unix systems
// know .localdomain.
var inwardDomains = []string{
	"localhost", "localdomain", "local", "internal", "home.arpa", "intranet", "private", "corp", "home", "lan",
}

// isInward tells whether a name is of no public web. One without a dot is looked up in the domain
// of whoever looks.
func isInward(name string) bool {
	name = bare(name)
	return !strings.Contains(name, ".") || slices.ContainsFunc(inwardDomains, func(domain string) bool {
		return name == domain || strings.HasSuffix(name, "."+domain)
	})
}

// bare is a name in lower case, without the dot of the root.
func bare(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
