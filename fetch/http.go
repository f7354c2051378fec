package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/waggle-crawler/waggle/web"
)

// client speaks HTTP for one kind of document. Clients share a wire.
type client struct {
	*wire
	types   Types
	maxBody int
	memory  *memory     // nil counts nothing
	header  http.Header // of every request; never written to
	head    string      // the same as text, behind the Host line
	ofPages bool        // it asks for pages; see Options.MayAsk
}

func (w *wire) client(types Types, maxBody int, memory *memory) *client {
	accept := types.accept()
	const encodings = "gzip, br, zstd"
	return &client{
		wire:    w,
		types:   types,
		maxBody: maxBody,
		memory:  memory,
		header: http.Header{
			"User-Agent":      {w.options.UserAgent},
			"Accept":          {accept},
			"Accept-Encoding": {encodings},
		},
		head: "\r\nUser-Agent: " + w.options.UserAgent +
			"\r\nAccept: " + accept +
			"\r\nAccept-Encoding: " + encodings + "\r\n",
	}
}

// Fetch sends one request and reads its response. A body that ends early for
// whatever reason still is a response, as long as some of it came; a 2xx
// response of a type not asked for is a failure, and its body stays unread.
func (c *client) Fetch(ctx context.Context, u web.URL) (_ *web.Response, err error) {
	at, err := requestURL(u, c.absolute())
	if err != nil {
		return nil, &web.Failure{Reason: web.ReasonProtocol, Detail: fmt.Sprintf("%s: %v", u, err), Err: err}
	}
	var room *share
	reserved := 0
	if c.memory != nil {
		room, reserved = c.memory.share(), bufferStart
		defer func() {
			if err != nil {
				room.close()
			}
		}()
		// Who has to wait does so before the server is asked, if possible.
		if err := room.grow(ctx, reserved, func(bool) {}); err != nil {
			return nil, err
		}
	}
	if c.options.MayAsk != nil {
		if err := c.options.MayAsk(ctx, u.Host(), c.ofPages); err != nil {
			return nil, err
		}
	}
	out := &web.Response{
		URL:         u,
		Started:     c.options.Clock.Now(),
		RequestHead: []byte("GET " + u.RequestPath() + " HTTP/1.1\r\nHost: " + at.Host + c.head),
	}
	for _, h := range special(ctx) {
		out.RequestHead = append(out.RequestHead, h[0]+": "+h[1]+"\r\n"...)
	}
	own := personalOf(ctx)
	defer func() { // a server may answer with what it was sent, and in no way that is HTTP
		var f *web.Failure
		if errors.As(err, &f) {
			f.Detail = conceal(f.Detail, own.known(u.Host()), false)
		}
	}()
	t := newTimer(ctx, c.options.Timeout)
	defer t.stop()
	in, fresh, err := c.send(t.ctx, u, at, out)
	if err != nil {
		if t.over() {
			err = fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
		}
		heard := fresh || errors.Is(err, errResend) && !c.blind() // the server said that it will not answer
		err = failed(ctx, u, out, err)
		var f *web.Failure
		if errors.As(err, &f) {
			f.Connected = heard
		}
		return nil, err
	}
	defer in.Body.Close()
	if in.StatusCode < 200 {
		return nil, failed(ctx, u, out, fmt.Errorf("status %.100q ends no request", conceal(in.Status, own.known(u.Host()), false)))
	}

	// Within TLS, and in a recorded web, it is the server's word.
	if in.StatusCode == http.StatusProxyAuthRequired && c.absolute() && at.Scheme == "http" && !c.options.Recorded {
		return nil, failed(ctx, u, out, unknownAt(c.options.Proxy))
	}

	to := in.Header.Get("Location")
	hidden := newConcealer(u, c.options.answered(own, u, in), own.elsewhere)
	if hidden != nil {
		out.Conceal = hidden.conceal
		hidden.head(in.Header)
	}
	if redirects(in.StatusCode) && to != "" {
		out.Location, _ = c.options.Canon.Resolve(u, to) // zero when unusable
		switch at := in.Header["Location"]; {
		case out.Location.IsZero():
		case out.Tells(out.Location):
			out.Location, out.Repeats = web.URL{}, true // an address is kept in many places
			if !web.IsConcealed(at[0]) {
				at[0] = web.Concealed
			}
		case at[0] == to:
		default:
			at[0] = out.Location.String() // who reads the archive goes where the crawl went
		}
	}
	out.Proto = in.Proto
	out.Status = in.StatusCode
	out.Header = in.Header
	out.RetryAfter = RetryAfter(out.Header, c.options.Clock.Now())
	if err := c.readBody(ctx, t, in, out, room, reserved); err != nil {
		return nil, failed(ctx, u, out, err)
	}
	if err := c.hide(ctx, t, hidden, in, out, room); err != nil {
		return nil, failed(ctx, u, out, err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out.Head = head(in)
	out.Took = c.options.Clock.Now().Sub(out.Started)
	if room != nil {
		out.OnRelease(room.close)
	}
	return out, nil
}

// failed is failure with what is known of the server.
func failed(ctx context.Context, u web.URL, out *web.Response, err error) error {
	err = failure(ctx, u, err)
	var f *web.Failure
	if errors.As(err, &f) {
		f.Address, f.RetryAfter = out.Address, out.RetryAfter
	}
	return err
}

// maxStale bounds the connections to another address that are closed before one
// is made to the address that passed the gate.
const maxStale = 8

// send sends a request and fills in what is known of its connection; fresh tells
// that one was made for it to the server itself.
//
// The gate has let the request through to one address. A connection that is open
// still may lead to another one of the host's, where the delay may not be over:
// it is closed, and the request sent over another.
//
// In HTTP/1.1, net/http sends a request again, at once and over another connection, where the server closed one that
// had been used before without a byte of an answer. Most such servers closed it as the request came, and never
// read it: that is left as it is, though one that read it is asked twice.
//
// In HTTP/2, net/http would send a request again, up to seven times, that the server
// refused or reset, or answered by GOAWAY. That would pass the gate by, so the request
// ends with errResend instead. It would also keep a connection on which a request was given
// up, and read on whatever the server sends: such a connection is closed, as in HTTP/1.
func (c *client) send(ctx context.Context, u web.URL, at *url.URL, out *web.Response) (in *http.Response, fresh bool, err error) {
	request := &http.Request{
		Method: http.MethodGet, URL: at, Host: at.Host, Header: c.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if more, own := special(ctx), personalOf(ctx); len(more) > 0 || own.secret != nil || own.cookies != nil {
		request.Header = request.Header.Clone()
		own.set(request.Header, u)
		for _, h := range more {
			request.Header.Set(h[0], h[1])
		}
	}
	transport := c.transport
	if t, ok := c.certified[u.Origin()]; ok && personalOf(ctx).certified {
		transport = t
	}
	to, known := targetOf(ctx)
	for range maxStale {
		connected, stale := false, false
		var overHTTP2, sent atomic.Bool // HTTP/2 is spoken; the server may have heard the request
		var conn net.Conn
		attempt, end := context.WithCancelCause(withSent(ctx, &sent))
		traced := httptrace.WithClientTrace(attempt, &httptrace.ClientTrace{
			GotConn: func(i httptrace.GotConnInfo) {
				if sent.Load() {
					end(errResend)
					cut(i.Conn) // or it might be written to all the same
					return
				}
				conn, connected, stale, fresh = i.Conn, true, false, !i.Reused && !c.blind()
				if under, ok := ours(i.Conn); ok && !c.blind() { // else the address is not the server's
					out.Remote, out.Address = under.to.String(), under.to.Addr().Unmap()
					if stale = known && network(out.Address) != network(to.addr); stale {
						under.Close()
					}
				}
				overHTTP2.Store(!stale && isHTTP2(i.Conn))
			},
			WroteHeaders: func() { sent.Store(overHTTP2.Load()) },
		})
		in, err = transport.RoundTrip(request.WithContext(traced))
		if overHTTP2.Load() {
			if err != nil {
				cut(conn)
			} else {
				in.Body = &http2Body{ReadCloser: in.Body, conn: conn}
			}
		}
		switch {
		case err == nil:
			return in, fresh, nil
		case context.Cause(attempt) == errResend:
			err = errResend
		case stale && ctx.Err() == nil:
			continue
		case !connected:
			err = fmt.Errorf("%w: %w", errNoConnection, err)
		}
		return nil, fresh, err
	}
	return nil, false, fmt.Errorf("%w: the connections to %s lead elsewhere than to %s", errNoConnection, u.Host(), to.addr)
}

// errResend ends a request that net/http is about to send a second time.
var errResend = errors.New("the server refused the request, or ended it, before an answer")

// withSent has dial make no connection once sent is set.
func withSent(ctx context.Context, sent *atomic.Bool) context.Context {
	return context.WithValue(ctx, sentKey{}, sent)
}

type sentKey struct{}

// isSent tells whether the request of ctx was sent in HTTP/2.
func isSent(ctx context.Context) bool {
	sent, ok := ctx.Value(sentKey{}).(*atomic.Bool)
	return ok && sent.Load()
}

// http2Body is a body in HTTP/2 whose connection is closed with it, unless it was read to its end.
type http2Body struct {
	io.ReadCloser
	conn  net.Conn
	whole bool
}

func (b *http2Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.whole = b.whole || err == io.EOF
	return n, err
}

func (b *http2Body) Close() error {
	if !b.whole {
		cut(b.conn)
	}
	return b.ReadCloser.Close()
}

// cut closes the connection below c. TLS would wait for the other side to take its farewell.
func cut(c net.Conn) {
	for {
		t, ok := c.(*tls.Conn)
		if !ok {
			c.Close()
			return
		}
		c = t.NetConn()
	}
}

func isHTTP2(c net.Conn) bool {
	t, ok := c.(*tls.Conn)
	return ok && t.ConnectionState().NegotiatedProtocol == "h2"
}

// requestURL is u for net/http, whose own parser knows fewer addresses than
// web's: what it would not send as written goes in as opaque.
func requestURL(u web.URL, proxied bool) (*url.URL, error) {
	scheme, host, path := u.Scheme(), string(u.Host()), u.RequestPath()
	if host == "" {
		return nil, fmt.Errorf("address without a host")
	}
	p, err := url.ParseRequestURI(path)
	if err != nil || p.RequestURI() != path || strings.HasPrefix(path, "//") {
		p = &url.URL{Opaque: path}
		if proxied || strings.HasPrefix(path, "//") {
			p.Opaque = "//" + host + path // the absolute form, RFC 9112, section 3.2.2
		}
	}
	p.Scheme, p.Host = scheme, host
	return p, nil
}

// head renders the head of a response as valid HTTP/1.1: control characters,
// which servers do send, become spaces.
func head(in *http.Response) []byte {
	b := bytes.NewBuffer(make([]byte, 0, 512))
	b.WriteString("HTTP/1.1 ")
	b.WriteString(strings.NewReplacer("\r", " ", "\n", " ").Replace(in.Status))
	b.WriteString("\r\n")
	in.Header.Write(b) // replaces line breaks, leaves out names that are none
	text := b.Bytes()
	for i, ch := range text {
		if ch < ' ' && ch != '\r' && ch != '\n' && ch != '\t' || ch == 0x7f {
			text[i] = ' '
		}
	}
	return text
}
