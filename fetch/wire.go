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
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// wire is what all requests of a Stack share: connections, names, the guard.
type wire struct {
	options   Options
	delay     atomic.Int64 // Options.Delay, or what Stack.SetDelay says since
	transport *http.Transport
	names     *cache[string, lookup]
	buffers   buffers
	decoders  decoders
	connect   func(ctx context.Context, network, address string) (net.Conn, error)
	certified map[string]*http.Transport // by origin, with Options.Certificates
	looks     proxyLooks
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
	w.delay.Store(int64(o.Delay))
	if w.connect == nil {
		d := &net.Dialer{Timeout: o.Timeout}
		if o.Proxy == nil {
			d.Control = socketGuard(w.guard())
		}
		w.connect = d.DialContext
	}
	if o.Proxy != nil && !w.blind() {
		w.connect = throughSOCKS(o.Proxy, w.connect)
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
	if w.blind() {
		w.transport.Proxy = http.ProxyURL(o.Proxy)
		w.transport.MaxIdleConnsPerHost = o.IdleConns // the proxy is every host
		words := o.words()[""]
		w.transport.OnProxyConnectResponse = func(_ context.Context, p *url.URL, _ *http.Request, r *http.Response) error {
			switch r.StatusCode {
			case http.StatusOK:
				return nil
			case http.StatusProxyAuthRequired:
				return unknownAt(p)
			}
			said := conceal(r.Status, words, false)
			return &proxyAnswer{proxy: p.Host, what: fmt.Sprintf("%.100s", said), temporary: r.StatusCode >= 500 || r.StatusCode == http.StatusRequestTimeout || r.StatusCode == http.StatusTooManyRequests}
		}
	}
	w.certified = make(map[string]*http.Transport, len(o.Certificates))
	for origin, c := range o.Certificates {
		t := w.transport.Clone()
		t.TLSClientConfig.Certificates = []tls.Certificate{c}
		w.certified[origin] = t
	}
	return w
}

// errProxy is wrapped when the proxy opens no connection for us, and errProxyDown when it is
// not reached.
var (
	errProxy     = errors.New("no connection through proxy")
	errProxyDown = errors.New("the proxy is not reached")
)

// proxyAnswer is the error of a proxy that was reached and opens no connection to a host: it
// may not, or the host does not answer it.
type proxyAnswer struct {
	proxy, what string
	temporary   bool
}

func (e *proxyAnswer) Error() string {
	return fmt.Sprintf("%v %s: %s", errProxy, e.proxy, e.what)
}

// unknownAt is the error of a proxy that wants to know who asks. It does not wrap errProxyDown: a
// proxy may ask for that of some hosts alone, and of a page without TLS a server can answer so
// too. One host may not bring a crawl to a stand; where several are silent the network is tried.
func unknownAt(p *url.URL) error {
	return fmt.Errorf("%w: %s wants a user and a password, or other ones: put them into the file of fetch.secrets (--secrets), by the address of the proxy", errProxy, p.Host)
}

// guard is the address guard that stands at the dialer.
func (w *wire) guard() func(netip.Addr) error {
	switch {
	case w.blind():
		return func(netip.Addr) error { return nil } // it is the proxy that is connected to
	case w.options.AllowPrivate:
		return guardClosed
	}
	return guard
}

func (w *wire) close() {
	w.transport.CloseIdleConnections()
	for _, t := range w.certified {
		t.CloseIdleConnections()
	}
}

// dial connects to "host:port": to the address that passed the gate, or else to
// the first address of the name that lets it. Each has its fair share of the
// time left, so that a silent one does not use up what another needs.
func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if isSent(ctx) {
		return nil, errResend
	}
	ctx, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if to, ok := targetOf(ctx); ok {
		return w.connectTo(ctx, to, network, port)
	}
	addrs, err := w.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var conn net.Conn
	for i, a := range addrs {
		conn, err = w.connectTo(ctx, target{a, len(addrs) - i}, network, port)
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return conn, err
}

// connectTo connects to an address, within 1/share of the time ctx leaves.
func (w *wire) connectTo(ctx context.Context, to target, network, port string) (net.Conn, error) {
	if err := w.guard()(to.addr); err != nil {
		return nil, err
	}
	if end, ok := ctx.Deadline(); ok && to.share > 1 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(to.share))
		defer cancel()
	}
	address := net.JoinHostPort(to.addr.String(), port)
	c, err := w.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{c, netip.AddrPortFrom(to.addr, uint16(number))}, nil
}

// conn is a connection that knows the address it was made to.
type conn struct {
	net.Conn
	to netip.AddrPort
}

func (c *conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.to) }

// ours is the connection below that of a transport without a proxy.
func ours(c net.Conn) (own *conn, ok bool) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	own, ok = c.(*conn)
	return own, ok
}

// resolve returns the addresses of a host, at least one. A name server has
// half of the time of a request.
func (w *wire) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	host = strings.TrimSuffix(host, ".")
	web.AtStage(ctx, web.StageName)
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
