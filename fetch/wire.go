package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// wire is what all requests of a Stack share: connections, names, the guard.
type wire struct {
	options   Options
	transport *http.Transport
	names     *cache[string, lookup]
	buffers   buffers
	decoders  decoders
	connect   func(ctx context.Context, network, address string) (net.Conn, error)
}

// lookup is what is known of a name: addresses, or why there are none.
type lookup struct {
	addrs []netip.Addr
	err   error
}

func newWire(o Options) *wire {
	w := &wire{
		options: o,
		names:   newCache[string](o.Clock, dnsNames, func(lookup) int { return 1 }),
		connect: o.Connect,
	}
	if w.connect == nil {
		d := &net.Dialer{Timeout: o.Timeout}
		if w.guarded() {
			d.Control = guardSocket
		}
		w.connect = d.DialContext
	}
	w.transport = &http.Transport{
		DialContext:            w.dial,
		TLSClientConfig:        &tls.Config{RootCAs: o.CAs},
		TLSHandshakeTimeout:    o.Timeout,
		DisableCompression:     true, // the raw bytes are kept
		MaxIdleConns:           o.IdleConns,
		MaxIdleConnsPerHost:    2, // the gate lets one request through
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHead,
		ForceAttemptHTTP2:      true,
	}
	if o.Proxy != nil {
		w.transport.Proxy = http.ProxyURL(o.Proxy)
		w.transport.MaxIdleConnsPerHost = o.IdleConns // the proxy is every host
		w.transport.OnProxyConnectResponse = func(_ context.Context, p *url.URL, _ *http.Request, r *http.Response) error {
			if r.StatusCode != http.StatusOK {
				return fmt.Errorf("%w %s: %.100s", errProxy, p.Redacted(), r.Status)
			}
			return nil
		}
	}
	return w
}

// errProxy is wrapped when the proxy opens no connection for us.
var errProxy = errors.New("no connection through proxy")

// guarded tells whether the address guard stands at the dialer.
func (w *wire) guarded() bool { return !w.options.AllowPrivate && w.options.Proxy == nil }

func (w *wire) close() { w.transport.CloseIdleConnections() }

// dial connects to "host:port", trying the addresses of a name in turn. Each
// has its fair share of the time left, so that a silent one does not use up
// what another needs.
func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := w.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var failed, refused error
	for i, a := range addrs {
		if w.guarded() {
			if err := guard(a); err != nil {
				refused = err
				continue
			}
		}
		conn, err := w.connectWithin(ctx, len(addrs)-i, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		failed = err
	}
	if failed != nil {
		return nil, failed
	}
	return nil, refused
}

// connectWithin connects within 1/share of the time ctx leaves.
func (w *wire) connectWithin(ctx context.Context, share int, network, address string) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok && share > 1 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(share))
		defer cancel()
	}
	return w.connect(ctx, network, address)
}

// resolve returns the addresses of a host, at least one. A name server has
// half of the time of a request.
func (w *wire) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	host = strings.TrimSuffix(host, ".")
	found, _, err := w.names.get(ctx, host, func() (lookup, time.Duration, error) {
		within, cancel := context.WithTimeout(ctx, w.options.Timeout/2)
		defer cancel()
		addrs, err := w.options.Resolver.LookupNetIP(within, "ip", host)
		if ctx.Err() != nil {
			return lookup{}, 0, ctx.Err()
		}
		var known *net.DNSError
		switch {
		case err == nil && len(addrs) > 0:
			return lookup{addrs: addrs[:min(len(addrs), dnsAddrs)]}, dnsLife, nil
		case err == nil:
			err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
		case !errors.As(err, &known):
			err = &net.DNSError{Err: err.Error(), UnwrapErr: err, Name: host, IsTemporary: true}
		}
		return lookup{err: err}, dnsFailureLife, nil
	})
	if err != nil {
		return nil, err
	}
	return found.addrs, found.err
}
