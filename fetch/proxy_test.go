package fetch_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// socks is a SOCKS proxy that wants the user ada, and writes down what it is asked for.
type socks struct {
	t     *testing.T
	to    func(asked string) string // where a connection leads
	mu    sync.Mutex
	asked []string
}

// serve is its address. Source: RFC 1928, sections 3 to 6; RFC 1929.
func (s *socks) serve() *url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				s.talk(c)
			})
		}
	})
	s.t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return &url.URL{Scheme: "socks5", Host: l.Addr().String(), User: url.UserPassword("ada", "correct horse")}
}

func (s *socks) talk(c net.Conn) {
	read := func(n int) []byte {
		b := make([]byte, n)
		io.ReadFull(c, b) // what is missing is zero, and wrong
		return b
	}
	read(int(read(2)[1]))
	c.Write([]byte{5, 2})
	user := read(int(read(2)[1]))
	password := read(int(read(1)[0]))
	if string(user) != "ada" || string(password) != "correct horse" {
		c.Write([]byte{1, 1})
		return
	}
	c.Write([]byte{1, 0})
	var host string
	switch read(4)[3] {
	case 1:
		host = netip.AddrFrom4([4]byte(read(4))).String()
	case 3:
		host = string(read(int(read(1)[0])))
	case 4:
		host = netip.AddrFrom16([16]byte(read(16))).String()
	}
	asked := net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(read(2)))))
	s.mu.Lock()
	s.asked = append(s.asked, asked)
	s.mu.Unlock()
	to := s.to(asked)
	if to == "" {
		c.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	out, err := net.Dial("tcp", to)
	if err != nil {
		c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	defer out.Close()
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go func() {
		io.Copy(out, c)
		out.Close()
	}()
	io.Copy(c, out)
}

// names resolves some names, and knows no others.
type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, ok := n[host]; ok {
		return []netip.Addr{netip.MustParseAddr(a)}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// Through each kind of proxy a public page is fetched, and nothing inward is asked for that
// can be known here: no address, no name, and neither as the target of a redirect.
func TestProxiesGuard(t *testing.T) {
	const public = "93.184.215.14"
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "page of "+r.Host)
	})
	siteURL, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var plain []string
	forward := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		plain = append(plain, r.Host)
		mu.Unlock()
		if r.Header.Get("Proxy-Authorization") != fetch.BasicAuth("ada", "correct horse")["Authorization"] {
			http.Error(w, "who are you?", http.StatusProxyAuthRequired)
			return
		}
		r.URL.Scheme, r.URL.Host, r.RequestURI = "http", siteURL.Host, ""
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		if to := resp.Header.Get("Location"); to != "" {
			w.Header().Set("Location", to)
		}
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	})
	s := &socks{t: t, to: func(string) string { return siteURL.Host }}
	socksURL := s.serve()
	byName := *socksURL
	byName.Scheme = "socks5h"
	httpURL, err := url.Parse(forward)
	if err != nil {
		t.Fatal(err)
	}
	httpURL.User = socksURL.User
	for _, c := range []struct {
		proxy   *url.URL
		asked   string // of the proxy, for the public page
		guarded bool   // names that lead inward are refused
		remote  bool   // the address of the site is known
	}{
		{socksURL, public + ":80", true, true},
		{&byName, "a.test:80", false, false},
		{httpURL, "a.test", true, false},
	} {
		t.Run(c.proxy.Scheme, func(t *testing.T) {
			s.asked, plain = nil, nil
			f, err := fetch.New(fetch.Options{
				Contact: "me@a.test", Delay: -1, OwnHosts: []string{"a.test", "inward.test", "unknown.test"}, IgnoreRobots: true, Timeout: 30 * time.Second,
				Proxy: c.proxy, Resolver: names{"a.test": public, "inward.test": "10.0.0.1"},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := fetch.Follow(t.Context(), f, address(t, "http://a.test/"), 3)
			if err != nil || string(r.Body) != "page of a.test" || (r.Remote == public+":80") != c.remote {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, to := range []string{"http://10.0.0.1/", "http://[::ffff:169.254.169.254]/", "http://inward.test/"} {
				for _, link := range []string{to, "http://a.test/?to=" + url.QueryEscape(to)} {
					_, err := fetch.Follow(t.Context(), f, address(t, link), 3)
					var why *web.Failure
					if named := to == "http://inward.test/"; named && !c.guarded {
						continue
					}
					if !errors.As(err, &why) || why.Reason != web.ReasonAddress {
						t.Errorf("%s: %v, want refused", link, err)
					}
				}
			}
			_, err = f.Fetch(t.Context(), address(t, "http://unknown.test/"))
			if local := c.proxy.Scheme == "socks5"; local != (err != nil) {
				t.Errorf("a name not known here: %v", err)
			}
			all := slices.Concat(s.asked, plain)
			if !slices.Contains(all, c.asked) {
				t.Errorf("the proxy is asked for %q, want %s", all, c.asked)
			}
			for _, a := range all {
				if a == "10.0.0.1" || a == "10.0.0.1:80" || c.guarded && (a == "inward.test" || a == "inward.test:80") {
					t.Errorf("the proxy is asked for %s", a)
				}
			}
		})
	}
	wrong := *socksURL
	wrong.User = url.UserPassword("ada", "tell-nobody")
	f, err := fetch.New(fetch.Options{Contact: "me@a.test", Delay: -1, IgnoreRobots: true, Proxy: &wrong, Resolver: names{"a.test": public}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.Fetch(t.Context(), address(t, "http://a.test/"))
	var why *web.Failure
	if !errors.As(err, &why) || why.Reason != web.ReasonConnect || slices.ContainsFunc([]string{"tell-nobody", "ada"}, func(s string) bool { return strings.Contains(why.Detail, s) }) {
		t.Errorf("a wrong password: %v", err)
	}
}

// A server that wants a certificate is shown that of its origin, for pages, robots.txt and
// what its pages ask of it, and not for what pages of others do.
func TestClientCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ada"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path+" "+r.TLS.PeerCertificates[0].Subject.CommonName)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Set-Cookie", "id=as-good-as-the-certificate")
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake
	s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	s.TLS.ClientCAs.AddCert(signed)
	s.StartTLS()
	defer s.Close()
	cas := x509.NewCertPool()
	cas.AddCert(s.Certificate())
	f := direct(t, func(o *fetch.Options) {
		o.IgnoreRobots, o.CAs = false, cas
		o.Certificates = map[string]tls.Certificate{s.URL: {Certificate: [][]byte{der}, PrivateKey: key}}
	})
	of := func(page string) context.Context { return fetch.WithPage(t.Context(), address(t, page)) }
	page, err := f.Fetch(t.Context(), address(t, s.URL+"/page"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.Resources().Fetch(of(s.URL+"/page"), address(t, s.URL+"/data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*web.Response{page, page.Robots, data} {
		if all := fmt.Sprint(string(r.Head), r.Header); strings.Contains(all, "as-good") {
			t.Errorf("%s: the archive is given %s", r.URL, all)
		}
	}
	_, err = f.Resources().Fetch(of("https://evil.example/"), address(t, s.URL+"/stolen"))
	var why *web.Failure
	if !errors.As(err, &why) || why.Reason != web.ReasonCertificate || !strings.Contains(why.Detail, "--secrets") {
		t.Errorf("the page of another origin: %v", err)
	}
	if want := []string{"/robots.txt ada", "/page ada", "/data ada"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// A proxy that is gone says nothing of servers, and neither does one that wants a user before it
// connects to one; of a page without TLS a server can answer so too. One that does not reach a
// server, or may not, was reached itself.
func TestProxyGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	l.Close()
	answers := func(status int) string {
		u, err := url.Parse(serve(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", status) }))
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	refuses := &socks{t: t, to: func(string) string { return gone }}
	forbids := &socks{t: t, to: func(string) string { return "" }}
	for _, c := range []struct {
		proxy url.URL
		page  string
		gone  bool
		says  string
		why   web.Reason
	}{
		{url.URL{Scheme: "http", Host: gone}, "http://a.test/", true, "refused", web.ReasonConnect},
		{url.URL{Scheme: "http", Host: gone}, "https://a.test/", true, "refused", web.ReasonConnect},
		{url.URL{Scheme: "https", Host: gone}, "https://a.test/", true, "refused", web.ReasonConnect},
		{url.URL{Scheme: "socks5", Host: gone}, "http://a.test/", true, "refused", web.ReasonConnect},
		{url.URL{Scheme: "socks5h", Host: gone}, "https://a.test/", true, "refused", web.ReasonConnect},
		{url.URL{Scheme: "http", Host: answers(http.StatusProxyAuthRequired)}, "http://a.test/", false, "--secrets", web.ReasonConnect},
		{url.URL{Scheme: "http", Host: answers(http.StatusProxyAuthRequired)}, "https://a.test/", false, "--secrets", web.ReasonConnect},
		{url.URL{Scheme: "http", Host: answers(http.StatusBadGateway)}, "https://a.test/", false, "502", web.ReasonProxy},
		{url.URL{Scheme: "http", Host: answers(http.StatusForbidden)}, "https://a.test/", false, "403", web.ReasonProxy},
		{*refuses.serve(), "http://a.test/", false, "refused", web.ReasonConnect},
		{*forbids.serve(), "http://a.test/", false, "does not allow", web.ReasonProxy},
	} {
		f, err := fetch.New(fetch.Options{
			Contact: "me@a.test", Delay: -1, OwnHosts: []string{"a.test"}, Timeout: 30 * time.Second,
			Proxy: &c.proxy, Resolver: names{"a.test": "93.184.215.14"},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Fetch(t.Context(), address(t, c.page))
		var why *web.Failure
		if !errors.As(err, &why) || why.Proxy != c.gone || why.Reason != c.why || !strings.Contains(why.Detail, c.says) {
			t.Errorf("%s through %s: %+v, want a proxy that is gone: %t, and %q", c.page, c.proxy.Redacted(), why, c.gone, c.says)
		}
		f.Close()
	}
}
