package corpus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// served is a web with what a server has to get right: https, gzip as
// received, a header without a type, robots.txt, several hosts.
func served(t testing.TB) *Web {
	t.Helper()
	dir := t.TempDir()
	a, err := store.Create(dir, store.Options{Prefix: "served"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct{ address, head, body string }{
		{"http://a.example/", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: old/1.0\r\nConnection: close\r\nContent-Length: 7", "<p>Home"},
		{"https://a.example/", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2", "<p>Secure"},
		{"http://a.example/zipped", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked", "\x1f\x8b bytes as they came"},
		{"http://a.example/bare", "HTTP/1.1 200 OK", "<html>no type"},
		{"http://a.example/q?a=%7e|b", "HTTP/1.1 200 OK", "query"},
		{"http://a.example/old", "HTTP/1.1 301 Moved\r\nLocation: /", "moved"},
		{"http://a.example/robots.txt", "HTTP/1.1 200 OK\r\nContent-Type: text/plain", "User-agent: *"},
		{"http://b.example:8080/", "HTTP/1.1 200 OK\r\nContent-Type: text/html", "port"},
		{"https://192.0.2.1/", "HTTP/1.1 200 OK\r\nContent-Type: text/html", "by address"},
		{"http://a.example/empty", "HTTP/1.1 204 No Content", ""},
	} {
		status := 0
		if _, err := fmt.Sscanf(p.head, "HTTP/1.1 %d", &status); err != nil {
			t.Fatal(err)
		}
		record, err := a.EncodeResponse(&web.Response{URL: mustURL(t, p.address), Started: time.Unix(0, 0), Status: status, Head: []byte(p.head), Raw: []byte(p.body)})
		if err == nil {
			_, err = a.Append(record)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(a.Close(), os.WriteFile(filepath.Join(dir, "web.yaml"), []byte("name: served\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

// start serves w on loopback until the test ends, and returns a client that
// goes through it.
func start(t testing.TB, w *Web, o ServerOptions) (*Server, *http.Client, string) {
	t.Helper()
	s, err := NewServer(w, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen("")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CertificatePEM()) {
		t.Fatal("the CA's certificate is not PEM")
	}
	transport := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()}),
		TLSClientConfig:    &tls.Config{RootCAs: roots},
		DisableCompression: true,
		ForceAttemptHTTP2:  true,
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 20 * time.Second}
	return s, client, l.Addr().String()
}

func get(t testing.TB, c *http.Client, address string) (*http.Response, string) {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(body)
}

func TestServe(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	s, client, addr := start(t, served(t), ServerOptions{CAFile: ca})
	for range 2 { // from the record, and from the cache
		for _, c := range []struct {
			address string
			status  int
			body    string
		}{
			{"http://a.example/", 200, "<p>Home"},
			{"http://A.example:80/./", 200, "<p>Home"},
			{"https://a.example/", 200, "<p>Secure"},
			{"http://a.example/zipped", 200, "\x1f\x8b bytes as they came"},
			{"http://a.example/bare", 200, "<html>no type"},
			{"http://a.example/q?a=%7e|b", 200, "query"},
			{"http://a.example/old", 301, "moved"},
			{"http://a.example/robots.txt", 200, "User-agent: *"},
			{"http://b.example:8080/", 200, "port"},
			{"https://192.0.2.1/", 200, "by address"},
			{"http://a.example/empty", 204, ""},
			{"http://b.example/", 404, ""},
			{"http://b.example:8080/robots.txt", 404, ""},
			{"https://unknown.example/", 404, ""},
		} {
			r, body := get(t, client, c.address)
			missing := (&web.Response{Status: r.StatusCode, Header: web.Header(r.Header)}).Absent()
			if missing != (c.status == 404) || missing && strings.Contains(body, "<h1>Not in the record</h1>") {
				body = ""
			}
			if r.StatusCode != c.status || body != c.body {
				t.Errorf("%s: %d %q, want %d %q", c.address, r.StatusCode, body, c.status, c.body)
			}
			if r.ProtoMajor != 1 {
				t.Errorf("%s: %s", c.address, r.Proto)
			}
		}
	}
	if got, want := s.Stats(), (ServerStats{Requests: 28, Answered: 22, Missing: 6, Bytes: 2 * 94}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}

	r, _ := get(t, client, "http://a.example/")
	if r.Header.Get("Server") != "old/1.0" || r.Close || r.Header.Get("Date") != "" || r.ContentLength != 7 {
		t.Errorf("header %v, close %v", r.Header, r.Close)
	}
	r, _ = get(t, client, "http://a.example/bare")
	if _, ok := r.Header["Content-Type"]; ok {
		t.Errorf("a type that nobody recorded: %v", r.Header)
	}
	r, _ = get(t, client, "https://a.example/")
	if len(r.Header["Set-Cookie"]) != 2 {
		t.Errorf("cookies %v", r.Header)
	}
	r, err := client.Post("http://a.example/", "text/plain", strings.NewReader("x"))
	if err != nil || r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %v, %v", r, err)
	} else {
		r.Body.Close()
	}
	pem, err := os.ReadFile(ca)
	if err != nil || string(pem) != string(s.CertificatePEM()) {
		t.Errorf("the CA's file: %v", err)
	}

	// Directly, as if a resolver pointed every host here.
	direct := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}}
	defer direct.CloseIdleConnections()
	if r, body := get(t, direct, "http://b.example:8080/"); r.StatusCode != 200 || body != "port" {
		t.Errorf("directly: %d %q", r.StatusCode, body)
	}
}

// TestServeRaw speaks to the proxy as broken clients do.
func TestServeRaw(t *testing.T) {
	_, _, addr := start(t, served(t), ServerOptions{})
	for _, c := range []struct{ send, want string }{
		{"GET http://a.example/ HTTP/1.0\r\n\r\n", "HTTP/1.0 200"},
		{"GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "HTTP/1.1 400"},
		{"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
		{"CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n", "HTTP/1.1 400"},
		{"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\nno TLS", "HTTP/1.1 200"},
		{"rubbish\r\n\r\n", "HTTP/1.1 400"},
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, c.send); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(c.want))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != c.want {
			t.Errorf("%q is answered %q, %v", c.send, got, err)
		}
		conn.Close()
	}
}

func TestHostRate(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1000, 0)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	s, client, _ := start(t, served(t), ServerOptions{HostRate: 0.5, Now: clock})
	ask := func(address string, want int) *http.Response {
		t.Helper()
		r, _ := get(t, client, address)
		if r.StatusCode != want {
			t.Errorf("%s: %d, want %d", address, r.StatusCode, want)
		}
		return r
	}
	ask("http://a.example/", 200)
	if after := ask("http://a.example/old", 429).Header.Get("Retry-After"); after != "2" {
		t.Errorf("Retry-After %q", after)
	}
	ask("http://b.example:8080/", 200) // another host
	mu.Lock()
	now = now.Add(2 * time.Second)
	mu.Unlock()
	ask("http://a.example/old", 301)
	ask("http://a.example/", 429)
	if s.Stats().Limited != 2 {
		t.Errorf("stats %+v", s.Stats())
	}
}

func TestErrorRate(t *testing.T) {
	w := served(t)
	failing := func(rate float64, seed uint64) (list []string) {
		_, client, _ := start(t, w, ServerOptions{ErrorRate: rate, Seed: seed})
		for i := range 60 {
			address := fmt.Sprintf("http://x.example/%d", i)
			if r, _ := get(t, client, address); r.StatusCode == 503 {
				list = append(list, address)
			}
		}
		if r, _ := get(t, client, "http://a.example/robots.txt"); r.StatusCode != 200 {
			t.Errorf("robots.txt: %d", r.StatusCode)
		}
		return list
	}
	some := failing(0.5, 1)
	if n := len(some); n < 15 || n > 45 {
		t.Errorf("%d of 60 fail at a rate of 0.5", n)
	}
	if again := failing(0.5, 1); strings.Join(again, " ") != strings.Join(some, " ") {
		t.Error("other addresses fail in another run with the same seed")
	}
	if other := failing(0.5, 2); strings.Join(other, " ") == strings.Join(some, " ") {
		t.Error("the same addresses fail with another seed")
	}
	if n := len(failing(1, 1)); n != 60 {
		t.Errorf("%d of 60 fail at a rate of 1", n)
	}
	for _, bad := range []ServerOptions{{ErrorRate: 2}, {ErrorRate: -1}, {HostRate: -1}, {Latency: -1}} {
		if _, err := NewServer(w, bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

func TestLatency(t *testing.T) {
	_, client, _ := start(t, served(t), ServerOptions{Latency: 30 * time.Millisecond, LatencyMax: 40 * time.Millisecond})
	before := time.Now()
	get(t, client, "http://a.example/")
	if d := time.Since(before); d < 30*time.Millisecond {
		t.Errorf("answered after %v", d)
	}
}

func TestCache(t *testing.T) {
	c := newCache(3000)
	for i := range 10 {
		c.put(fmt.Sprint(i), &reply{body: make([]byte, 488)}) // 1000 bytes with their overhead
		if c.get("0") == nil {
			t.Fatalf("the response used last is gone after %d", i)
		}
	}
	if c.size != 3000 || c.used.Len() != 3 || len(c.by) != 3 || c.get("9") == nil || c.get("7") == nil && c.get("8") == nil {
		t.Errorf("%d bytes in %d responses", c.size, c.used.Len())
	}
	c.put("large", &reply{body: make([]byte, 5000)})
	if c.get("large") != nil {
		t.Error("a response larger than the cache is kept")
	}
	w := served(t)
	s, err := NewServer(w, ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Warm(t.Context()); err != nil || n != w.Len() || s.cache.used.Len() != n {
		t.Errorf("warmed %d of %d, %v", n, w.Len(), err)
	}
}
