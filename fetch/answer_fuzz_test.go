package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// said is a connection to a server that sends some bytes, whatever it is asked, and hangs up.
type said struct{ *bytes.Reader }

func (said) Write(b []byte) (int, error)      { return len(b), nil }
func (said) Close() error                     { return nil }
func (said) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (said) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(93, 184, 215, 14), Port: 80} }
func (said) SetDeadline(time.Time) error      { return nil }
func (said) SetReadDeadline(time.Time) error  { return nil }
func (said) SetWriteDeadline(time.Time) error { return nil }

// Whatever a server sends, from the first byte of its status line on: it comes to a response or
// to a reason, both within their bounds, and the heads that are archived are heads.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>",
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\n<p>\r\n0\r\nX-Late: 1\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html; charset=\"x\r\n\r\n<p>",
		"HTTP/1.1 301 \r\nLocation: //a.test\\b\r\nLocation: /c\r\n\r\n",
		"HTTP/1.1 429 Slow\r\nRetry-After: 99999999999999999999\r\nDate: Sun, 01 Mar 2026 12:00:00 GMT\r\nContent-Type: text/plain\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip, br, deflate, zstd\r\n\r\n\x1f\x8b\x08\x00",
		"HTTP/1.1 200 OK\r\nX-Odd: caf\xe9\r\n folded\r\nContent-Type: text/html\r\nContent-Type: text/plain\r\nSet-Cookie: a=b; Expires=x\r\nX-Robots-Tag: none\r\nTDM-Reservation: 1\r\n\r\n<p>",
		"HTTP/1.0 200\nContent-Type:text/html\n\nx", "HTTP/0.9 200 OK\r\n\r\n", "<!doctype html><p>no head", "HTTP/1.1 304 Not Modified\r\n\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "",
		"HTTP/1.1 200 O\r\nX-Odd:text/lTransfer-Encoding\n\n",
	} {
		f.Add([]byte(s))
	}
	const limit = 1 << 16
	u := address(f, "http://a.test/page?a=b")
	f.Fuzz(func(t *testing.T, sent []byte) {
		stack, err := fetch.New(fetch.Options{
			Contact: "test@a.test", Delay: -1, OwnHosts: []string{"a.test"}, IgnoreRobots: true, MaxBody: limit, Clock: newFastClock(), Timeout: 30 * time.Second,
			Resolver: resolverFunc(func(context.Context, string, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
			}),
			Connect: func(context.Context, string, string) (net.Conn, error) { return said{bytes.NewReader(sent)}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer stack.Close()
		r, err := stack.Fetch(context.Background(), u)
		if err != nil {
			var why *web.Failure
			if !errors.As(err, &why) || why.Reason == "" || why.Detail == "" || why.RetryAfter < 0 || why.RetryAfter > 24*time.Hour {
				t.Fatalf("%#v", err)
			}
			return
		}
		checkHeads(t, r)
		if len(r.Body) > limit || len(r.Raw) > limit {
			t.Errorf("%d raw and %d decoded bytes: beyond the cap", len(r.Raw), len(r.Body))
		}
		if to := r.Location; !to.IsZero() && to.Scheme() != "http" && to.Scheme() != "https" {
			t.Errorf("it leads to %s", to)
		}
		if r.Status < 200 || r.Status > 999 || r.RetryAfter < 0 || r.RetryAfter > 24*time.Hour {
			t.Errorf("status %d, to be left alone for %v", r.Status, r.RetryAfter)
		}
		for name, values := range r.Header {
			if strings.ContainsAny(name, ":\r\n\x00") || strings.ContainsAny(strings.Join(values, ""), "\r\n\x00") {
				t.Errorf("header %q: %q", name, values)
			}
		}
	})
}
