package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"

	"golang.org/x/net/proxy"

	"github.com/waggle-crawler/waggle/web"
)

// Proxies, and who looks up the names of sites:
//
//	http, https  the proxy; a name is looked up here as well, and refused if it leads inward
//	socks5       this machine: guard and gate are as without a proxy
//	socks5h      the proxy alone, so that nobody here learns of names: only addresses that
//	             stand in links are guarded
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
	d, err := proxy.SOCKS5("tcp", address, who, connect)
	if err != nil {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.(proxy.ContextDialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("%w %s: %w", errProxy, p.Host, err)
		}
		return c, nil
	}
}

// maxLooks is how many names in a row may get no answer here before none is looked up: a
// network whose way out is a proxy may know no names of the web. It holds only until the
// first answer, so no site can bring it about.
const maxLooks = 3

// proxyLooks counts what came of names that were looked up for a proxy.
type proxyLooks struct {
	answered atomic.Bool
	failed   atomic.Int32
}

// guardName refuses a name that leads inward, before a proxy looks it up. A name that is
// not known here is left to the proxy. The error is a *web.Failure, or ctx's.
func (w *wire) guardName(ctx context.Context, u web.URL, name string) error {
	o, l := &w.options, &w.looks
	if o.AllowPrivate || !w.absolute() || !l.answered.Load() && l.failed.Load() >= maxLooks {
		return nil
	}
	addrs, err := w.resolve(ctx, name)
	var none *net.DNSError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, errors.As(err, &none) && none.IsNotFound:
		l.answered.Store(true)
	case !l.answered.Load() && l.failed.Add(1) == maxLooks:
		o.Note(fmt.Sprintf("names are not found on this machine (%v), so the proxy %s alone knows where they lead: of private addresses only those that stand in links are refused", err, o.Proxy.Host))
	}
	for _, a := range addrs {
		if why := guard(a); why != nil {
			return failure(ctx, u, why)
		}
	}
	return nil
}
