package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// serve runs handler on loopback and returns its address.
func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// direct returns a stack for servers on loopback, without delay.
func direct(t testing.TB, change func(*fetch.Options)) *fetch.Stack {
	t.Helper()
	o := fetch.Options{AllowPrivate: true, IgnoreRobots: true, Delay: -1, Timeout: 30 * time.Second}
	if change != nil {
		change(&o)
	}
	f, err := fetch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// pack encodes a document with codings, the first applied first.
func pack(t testing.TB, document string, codings ...string) []byte {
	t.Helper()
	data := []byte(document)
	for _, coding := range codings {
		var b bytes.Buffer
		var z io.WriteCloser
		switch coding {
		case "gzip", "x-gzip":
			z = gzip.NewWriter(&b)
		case "br":
			z = brotli.NewWriter(&b)
		case "zstd":
			z, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		case "deflate":
			z = zlib.NewWriter(&b)
		case "raw-deflate":
			z, _ = flate.NewWriter(&b, -1)
		default:
			continue // no coding
		}
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	return data
}

func TestContentCodings(t *testing.T) {
	long := "<!doctype html><title>Long</title>" + strings.Repeat("<p>all work and no play</p>", 20_000)
	type row struct {
		header string
		packed []byte
		want   string
	}
	rows := []row{
		{"gzip", pack(t, long, "gzip"), long},
		{"GZIP", pack(t, long, "gzip"), long},
		{"x-gzip", pack(t, long, "gzip"), long},
		{"br", pack(t, long, "br"), long},
		{"zstd", pack(t, long, "zstd"), long},
		{"deflate", pack(t, long, "deflate"), long},
		{"deflate", pack(t, long, "raw-deflate"), long},
		{"gzip, br", pack(t, long, "gzip", "br"), long},
		{"zstd,gzip , identity", pack(t, long, "zstd", "gzip"), long},
		{"identity", []byte(long), long},
		{"none", []byte(long), long},
		{"gzip", append(pack(t, "<p>one", "gzip"), pack(t, "<p>two", "gzip")...), "<p>one<p>two"},
		{"gzip", bytes.Repeat(pack(t, "", "gzip"), 200), ""},
		{"gzip", pack(t, "", "gzip"), ""},
		{"br", nil, ""},
		{"gzip", nil, ""},
		{"zstd", nil, ""},
		{"deflate", nil, ""},
	}
	for _, coding := range []string{"gzip", "br", "zstd", "deflate", "raw-deflate"} {
		for _, behind := range []string{"\n", "\r\n\r\n", "\x1f\x8b", strings.Repeat("\x00", 9), strings.Repeat("\x00", 100), "<!-- by the cache -->"} {
			if coding == "zstd" && len(behind) < 4 {
				continue // its decoder takes them for a frame that is cut
			}
			rows = append(rows, row{strings.TrimPrefix(coding, "raw-"), append(pack(t, "<p>padded", coding), behind...), "<p>padded"})
		}
	}
	for _, c := range rows {
		for _, announced := range []bool{true, false} {
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("Content-Encoding", c.header)
				if !announced {
					w.(http.Flusher).Flush() // so the body is chunked
				}
				w.Write(c.packed)
			})
			f := direct(t, nil)
			for range 2 { // the second time with decoders used before
				r, err := f.Fetch(context.Background(), address(t, base))
				if err != nil {
					t.Errorf("%s of %d bytes: %v", c.header, len(c.packed), err)
					continue
				}
				if string(r.Body) != c.want || !bytes.Equal(r.Raw, c.packed) || r.Truncated != "" {
					t.Errorf("%s of %d bytes: %d raw, %d decoded, truncated %q, want %d decoded whole",
						c.header, len(c.packed), len(r.Raw), len(r.Body), r.Truncated, len(c.want))
				}
				if got := strings.Join(r.Header["Content-Encoding"], ","); got != c.header {
					t.Errorf("Content-Encoding %q, want it as received, %q", got, c.header)
				}
			}
		}
	}
}

// What a response keeps of a request stays the same when later requests use
// the same buffers.
func TestBodiesDoNotShareMemory(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		text := strings.Repeat(r.URL.Path, 2000)
		if strings.HasSuffix(r.URL.Path, "z") {
			w.Header().Set("Content-Encoding", "gzip")
			text = string(pack(t, text, "gzip"))
		}
		w.(http.Flusher).Flush()
		io.WriteString(w, text)
	})
	f := direct(t, nil)
	var kept []*web.Response
	for i := range 50 {
		r, err := f.Fetch(context.Background(), address(t, fmt.Sprintf("%s%d%s", base, i, []string{"", "z"}[i%2])))
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, r)
	}
	for _, r := range kept {
		if string(r.Body) != strings.Repeat(r.URL.Path(), 2000) {
			t.Errorf("%s: body changed afterwards", r.URL)
		}
	}
}

func TestCaps(t *testing.T) {
	for _, c := range []struct {
		size, limit, want int
		truncated         string
	}{
		{1000, 1001, 1000, ""},
		{1000, 1000, 1000, ""},
		{1000, 999, 999, "length"},
		{300_000, 300_000, 300_000, ""},
		{300_001, 300_000, 300_000, "length"},
	} {
		for _, coding := range []string{"", "gzip", "br", "zstd"} {
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				if coding != "" {
					w.Header().Set("Content-Encoding", coding)
				}
				w.Write(pack(t, strings.Repeat("x", c.size), coding))
			})
			r, err := direct(t, func(o *fetch.Options) { o.MaxBody = c.limit }).Fetch(context.Background(), address(t, base))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Body) != c.want || r.Truncated != c.truncated {
				t.Errorf("%d bytes (%s) under a cap of %d: %d, truncated %q, want %d %q",
					c.size, coding, c.limit, len(r.Body), r.Truncated, c.want, c.truncated)
			}
		}
	}
}

func TestTypes(t *testing.T) {
	const html = "<!doctype html><p>x"
	for _, c := range []struct {
		header, body string
		types        []string
		ok           bool
	}{
		{"text/html", html, nil, true},
		{"Text/HTML ; charset=utf-8", html, nil, true},
		{"application/xhtml+xml", html, nil, true},
		{"text/htmlx", html, nil, false},
		{"text/plain", html, nil, false},
		{"application/pdf", "%PDF-1.7", nil, false},
		{"application/pdf", "%PDF-1.7", []string{"application/pdf"}, true},
		{"text/html", html, []string{"application/pdf"}, false},
		{"anything/at-all", "?", []string{"*/*"}, true},
		{"", html, nil, true},
		{"", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`, nil, true},
		{"", `<?xml version="1.0"?><rss/>`, nil, false},
		{"", "just words", nil, false},
		{"", "", nil, true},
	} {
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			if c.header != "" {
				w.Header().Set("Content-Type", c.header)
			}
			io.WriteString(w, c.body)
		})
		r, err := direct(t, func(o *fetch.Options) { o.Types = c.types }).Fetch(context.Background(), address(t, base))
		var why *web.Failure
		switch {
		case c.ok && (err != nil || string(r.Body) != c.body):
			t.Errorf("%q for %v: %v, %v", c.header, c.types, r, err)
		case !c.ok && (!errors.As(err, &why) || why.Reason != web.ReasonType || !strings.Contains(why.Detail, "status 200")):
			t.Errorf("%q for %v: %v, %v, want a type failure that says the status", c.header, c.types, r, err)
		}
	}
}

// The request head kept is the one sent.
func TestRequestHeadIsWhatWasSent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan string, 1)
	var server sync.WaitGroup
	server.Go(func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		var got []byte
		buf := make([]byte, 4096)
		for !bytes.Contains(got, []byte("\r\n\r\n")) {
			n, err := c.Read(buf)
			if err != nil {
				break
			}
			got = append(got, buf[:n]...)
		}
		sent <- string(got)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\nx")
	})
	defer server.Wait()
	defer listener.Close()
	u := address(t, "http://"+listener.Addr().String()+"/a%20b?c=%25d")
	r, err := direct(t, nil).Fetch(context.Background(), u)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-sent; got != string(r.RequestHead)+"\r\n" {
		t.Errorf("sent\n%s\nkept\n%s", got, r.RequestHead)
	}
	if want := "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Type: text/html\r\n"; string(r.Head) != want {
		t.Errorf("head %q, want %q", r.Head, want)
	}
	if r.Remote != listener.Addr().String() || r.Proto != "HTTP/1.1" || r.Took <= 0 || r.Started.IsZero() {
		t.Errorf("%+v", r)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/404":
			http.Error(w, strings.Repeat("none ", 1000), 404)
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/html")
			w.Write(pack(t, strings.Repeat("x", 100_000), "gzip"))
		default:
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, strings.Repeat("x", 100_000))
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	f := direct(t, nil)
	for i := range 30 {
		if _, err := f.Fetch(context.Background(), address(t, s.URL+[]string{"/", "/404", "/gzip"}[i%3])); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 30 requests in a row", n)
	}
}

// Through a proxy, host names stay as they are, plainly and by CONNECT, and
// the proxy may well be on loopback.
func TestProxy(t *testing.T) {
	s := badWeb(t)
	var tunnels, plain atomic.Int32
	var piping sync.WaitGroup
	piping.Add(2)
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			plain.Add(1)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "%s for %s", r.RequestURI, r.Host)
			return
		}
		if r.Host == "closed.test:443" {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		if tunnels.Add(1) > 1 {
			return
		}
		to, err := s.Connect(r.Context(), "tcp", "[2fff:bad::1]:443")
		if err != nil {
			t.Error(err)
			return
		}
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		pipe := func(to, from net.Conn) {
			defer piping.Done()
			io.Copy(to, from)
			to.Close()
		}
		go pipe(to, from)
		go pipe(from, to)
	})
	at, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fetch.New(fetch.Options{Proxy: at, Recorded: true, CAs: s.CAs(), Delay: -1, IgnoreRobots: true, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/a?b=c", "//double", "/x%7Cy"} {
		u := address(t, "http://nowhere.example"+path)
		r, err := f.Fetch(context.Background(), u)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(r.Body), u.String()+" for nowhere.example"; got != want {
			t.Errorf("proxy was asked for %q, want %q", got, want)
		}
		if r.Remote != "" {
			t.Errorf("remote %q: that is the proxy's", r.Remote)
		}
	}
	r, err := f.Fetch(context.Background(), address(t, "https://tls-fine.bad.test/"))
	if err != nil || !strings.Contains(string(r.Body), "Nothing is wrong") {
		t.Errorf("%v, %v", r, err)
	}
	var why *web.Failure
	if _, err := f.Fetch(context.Background(), address(t, "https://closed.test/")); !errors.As(err, &why) || why.Reason != web.ReasonProxy {
		t.Errorf("%v, want one of the proxy", err)
	}
	if tunnels.Load() != 1 || plain.Load() != 3 {
		t.Fatalf("%d tunnels and %d plain requests", tunnels.Load(), plain.Load())
	}
	f.Close()
	piping.Wait()
}

// Memory stays bounded by what is in flight: bodies at the cap, one after the
// other, leave nothing behind.
func TestMemoryStaysBounded(t *testing.T) {
	s := badWeb(t)
	f := through(t, s, func(o *fetch.Options) { o.IgnoreRobots, o.MaxBody = true, 1<<20 })
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	visit := func() {
		for _, name := range []string{"endless-body", "gzip-bomb", "zstd-bomb"} {
			if _, err := f.Fetch(context.Background(), address(t, "http://"+name+".bad.test/")); err != nil {
				t.Fatal(err)
			}
		}
	}
	visit()
	before := heap()
	for range 60 {
		visit()
	}
	// The server's last answers, a few MiB, may still be in its encoders.
	if after := heap(); after > before+(60<<20) {
		t.Errorf("heap grew from %d to %d bytes over 180 bodies of 1 MiB", before, after)
	}
}
