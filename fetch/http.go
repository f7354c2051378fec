package fetch

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// client speaks HTTP for one kind of document. Clients share a wire.
type client struct {
	*wire
	types   []string
	maxBody int
	header  http.Header // of every request; never written to
	head    string      // the same as text, behind the Host line
}

func (w *wire) client(types []string, maxBody int) *client {
	accept := strings.Join(types, ", ")
	if !slices.Contains(types, "*/*") {
		accept += ", */*;q=0.1"
	}
	const encodings = "gzip, br, zstd"
	return &client{
		wire:    w,
		types:   types,
		maxBody: maxBody,
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
func (c *client) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	target, err := requestURL(u, c.options.Proxy != nil)
	if err != nil {
		return nil, &web.Failure{Reason: web.ReasonProtocol, Detail: fmt.Sprintf("%s: %v", u, err), Err: err}
	}
	out := &web.Response{
		URL:         u,
		Started:     c.options.Clock.Now(),
		RequestHead: []byte("GET " + u.RequestPath() + " HTTP/1.1\r\nHost: " + target.Host + c.head),
	}
	within, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	connected := false
	within = httptrace.WithClientTrace(within, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		connected = true
		if c.options.Proxy == nil { // else the address is not the server's
			out.Remote = i.Conn.RemoteAddr().String()
		}
	}})
	request := &http.Request{
		Method: http.MethodGet, URL: target, Host: target.Host, Header: c.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	in, err := c.transport.RoundTrip(request.WithContext(within))
	if err != nil {
		if !connected {
			err = fmt.Errorf("%w: %w", errNoConnection, err)
		}
		return nil, failure(ctx, u, err)
	}
	defer in.Body.Close()
	if in.StatusCode < 200 {
		return nil, failure(ctx, u, fmt.Errorf("status %.100q ends no request", in.Status))
	}

	now := c.options.Clock.Now()
	out.Proto = in.Proto
	out.Status = in.StatusCode
	out.Head = head(in)
	out.Header = in.Header
	out.RetryAfter = retryAfter(in.Header.Get("Retry-After"), now)
	if redirects(in.StatusCode) {
		if to := in.Header.Get("Location"); to != "" {
			out.Location, _ = c.options.Canon.Resolve(u, to) // zero when unusable
		}
	}
	if err := c.readBody(within, in, out); err != nil {
		return nil, failure(ctx, u, err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out.Took = c.options.Clock.Now().Sub(out.Started)
	return out, nil
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

// wants tells whether a Content-Type is among the types asked for.
func (c *client) wants(contentType string) bool {
	mime, _, _ := strings.Cut(contentType, ";")
	mime = strings.ToLower(strings.TrimSpace(mime))
	return slices.Contains(c.types, mime) || slices.Contains(c.types, "*/*")
}

// sniff guesses the media type of a document from how it begins.
func sniff(start []byte) string {
	if bytes.HasPrefix(start, []byte("<?xml")) && bytes.Contains(start, []byte("<html")) {
		return "application/xhtml+xml"
	}
	return http.DetectContentType(start)
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

// retryAfter reads a Retry-After header, seconds or a date; 0 for none, and
// maxRetryAfter at most.
func retryAfter(s string, now time.Time) time.Duration {
	if s == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(s, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
