// Package badweb is a small web on loopback in which everything goes wrong
// that a crawler meets: bodies without an end, broken codings, traps, servers
// that lie, hang and hang up. Each misbehaviour is a Scenario with the outcome
// that a sound crawler comes to.
//
// The web has names and addresses of its own, below ".bad.test". A crawler
// sees it through three seams: the Server resolves its names (LookupNetIP),
// connects to its addresses (Connect), and signs its certificates (CAs). Its
// addresses look public, so an address guard can stay on.
package badweb

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"html"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/http2"
)

// Scenario is one misbehaviour and what is to come of it.
type Scenario struct {
	Name string
	URL  string
	// Status, Truncated and Location are those of the response to URL; Status
	// is 0 when there is none.
	Status    int
	Truncated string // "" | "length" | "time" | "disconnect"
	Location  string
	// Body is that of the response, or how it begins where Truncated is set; "" for any.
	Body string
	// Failure is why there is no response, "" when there is one.
	Failure string
	// Crawl is what a crawl says of URL: "" for a page, else its reason.
	Crawl string
	// Hangs says that URL takes as long as the crawler's timeout.
	Hangs bool
}

// site is how a host behaves.
type site struct {
	page   http.HandlerFunc // nil where no request arrives
	robots http.HandlerFunc // nil for 404
}

// Addresses of the web. The block is unassigned: nothing real is there. Hosts
// have addresses in networks of their own, but for those of a crowd.
var (
	sites    = netip.MustParsePrefix("2fff:bad:1::/48") // port 80 speaks HTTP, 443 TLS
	everyone = netip.MustParseAddr("2fff:bad::1")       // the same, for whoever asks for a name there
	plain    = netip.MustParseAddr("2fff:bad::2")       // every port speaks HTTP
	closed   = netip.MustParseAddr("2fff:bad::3")       // refuses connections
	silent   = netip.MustParseAddr("2fff:bad::4")       // never answers
)

// Server is a running web.
type Server struct {
	scenarios []Scenario
	documents []Scenario
	sites     map[string]site       // by host
	addrs     map[string]netip.Addr // of hosts
	cas       *x509.CertPool
	http, tls net.Listener
	servers   [2]*http.Server
	stop      context.CancelFunc
	stopped   context.Context
	running   sync.WaitGroup
	counter   atomic.Int64
	second    map[string]func(*http2.Framer, uint32) // how hosts answer in HTTP/2; nil = not in HTTP

	mu     sync.Mutex
	raw    map[net.Conn]string // connections taken over from net/http, with their hosts where none of its handlers is at work
	busy   map[string]int      // requests that handlers are at work on, by host
	hits   map[string]int      // requests by "host/path"
	strays []string            // addresses dialled outside this web
}

// Start opens the web on two free ports of loopback.
func Start() (*Server, error) {
	s := &Server{raw: map[net.Conn]string{}, busy: map[string]int{}, hits: map[string]int{}}
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.scenarios, s.sites = s.inventory()
	s.documents = s.documentList(s.sites)
	for _, u := range s.Good() {
		s.sites[strings.TrimSuffix(strings.TrimPrefix(u, "http://"), "/0")] = site{page: good}
	}
	s.sites["steady.bad.test"] = site{page: s.steady}
	s.addrs = map[string]netip.Addr{}
	for i, host := range slices.Sorted(maps.Keys(s.sites)) {
		b := sites.Addr().As16()
		binary.BigEndian.PutUint16(b[6:], uint16(i+1))
		b[15] = 1
		s.addrs[host] = netip.AddrFrom16(b)
		if strings.HasPrefix(host, crowd) {
			s.addrs[host] = everyone
		}
	}
	secure, err := s.certify()
	if err != nil {
		return nil, fmt.Errorf("badweb: %w", err)
	}
	if s.http, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("badweb: %w", err)
	}
	if s.tls, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		s.http.Close()
		return nil, fmt.Errorf("badweb: %w", err)
	}
	for i := range s.servers {
		s.servers[i] = &http.Server{
			Handler:     http.HandlerFunc(s.serve),
			ErrorLog:    log.New(io.Discard, "", 0),
			BaseContext: func(net.Listener) context.Context { return s.stopped },
		}
	}
	s.servers[1].TLSConfig = secure
	// A server sets HTTP/2 up when it begins to serve; this once it ends right there.
	ended, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("badweb: %w", err)
	}
	ended.Close()
	s.servers[1].ServeTLS(ended, "", "")
	sound := s.servers[1].TLSNextProto["h2"]
	s.servers[1].TLSNextProto["h2"] = func(h *http.Server, c *tls.Conn, handler http.Handler) {
		if talk, ok := s.second[c.ConnectionState().ServerName]; ok {
			s.speak(c, talk)
		} else {
			sound(h, c, handler)
		}
	}
	s.running.Go(func() { s.servers[0].Serve(s.http) })
	s.running.Go(func() { s.servers[1].ServeTLS(s.tls, "", "") })
	return s, nil
}

// Close ends every connection and waits for the last request.
func (s *Server) Close() {
	s.mu.Lock()
	s.stop() // from here on serve lets no request in
	s.mu.Unlock()
	for _, h := range s.servers {
		h.Close()
	}
	s.mu.Lock()
	for c := range s.raw {
		c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Scenarios lists every misbehaviour.
func (s *Server) Scenarios() []Scenario { return s.scenarios }

// Index is a page that links to every scenario, to Good, and to a site without end on which
// nothing is wrong.
func (s *Server) Index() string { return "http://index.bad.test/" }

// Good are the first pages of sites on which nothing is wrong. The pages of each link to one
// another, GoodPages in all.
func (s *Server) Good() (pages []string) {
	for i := range goodSites {
		pages = append(pages, fmt.Sprintf("http://good-%d.bad.test/0", i))
	}
	return pages
}

const (
	goodSites = 4
	// GoodPages is how many pages are on a site of Good, at /0, /1 and so on.
	GoodPages = 25
)

// good is one of those pages: it links to the next three.
func good(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil || n >= GoodPages {
		http.NotFound(w, r)
		return
	}
	body := fmt.Sprintf("<!doctype html><title>Good page %d</title><h1>Page %d of %s</h1><p>", n, n, r.Host)
	for i := n + 1; i <= min(n+3, GoodPages-1); i++ {
		body += fmt.Sprintf("<a href=/%d>page %d</a> ", i, i)
	}
	document(body)(w, r)
}

// steady is a page of a site that has hundreds and takes its time for each: as long as it
// answers, sites that do not are not taken for a network that is down.
func (s *Server) steady(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	s.pause(100 * time.Millisecond)
	body := fmt.Sprintf("<!doctype html><title>Steady page %d</title><h1>Page %d of %s</h1><p>", n, n, r.Host)
	for i := n + 1; i <= n+20; i++ {
		body += fmt.Sprintf("<a href=/%d>page %d</a> ", i, i)
	}
	document(body)(w, r)
}

// CAs holds the authority that signs the web's certificates.
func (s *Server) CAs() *x509.CertPool { return s.cas }

// Hits is the number of requests to an address given as host and path
// ("cookies.bad.test/").
func (s *Server) Hits(hostAndPath string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[hostAndPath]
}

// Strays lists the addresses outside of this web that were to be connected to.
func (s *Server) Strays() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.strays...)
}

// LookupNetIP resolves the names of the web as a net.Resolver would.
func (s *Server) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	switch strings.TrimSuffix(host, ".bad.test") {
	case "private":
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	case "metadata":
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
	case "mapped":
		return []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, nil
	case "dns-failure":
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	case "dns-silent":
		<-ctx.Done()
		return nil, &net.DNSError{Err: ctx.Err().Error(), Name: host, IsTimeout: true}
	case "connect-refused":
		return []netip.Addr{closed}, nil
	case "connect-silent":
		return []netip.Addr{silent}, nil
	case "tls-none":
		return []netip.Addr{plain}, nil
	}
	addr, ok := s.addrs[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{addr}, nil
}

// Connect opens a connection to an address of the web.
func (s *Server) Connect(ctx context.Context, network, address string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	to := s.http.Addr().String()
	switch addr := at.Addr(); {
	case addr == everyone || sites.Contains(addr):
		if at.Port() == 443 {
			to = s.tls.Addr().String()
		}
	case addr == plain:
	case addr == silent:
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
	default:
		if addr != closed {
			s.mu.Lock()
			s.strays = append(s.strays, address)
			s.mu.Unlock()
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, to)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	s.mu.Lock()
	if s.stopped.Err() != nil {
		s.mu.Unlock()
		return
	}
	s.running.Add(1)
	defer s.running.Done()
	s.hits[host+r.URL.Path]++
	s.busy[host]++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.busy[host]--
		s.mu.Unlock()
	}()
	behave := s.sites[host].page
	if r.URL.Path == "/robots.txt" {
		behave = s.sites[host].robots
	}
	if behave == nil {
		http.NotFound(w, r)
		return
	}
	behave(w, r)
}

// wire takes the connection over and lets talk have it.
func (s *Server) wire(talk func(c *net.TCPConn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer s.keep(c, "")() // serve counts its request
		if s.stopped.Err() == nil {
			talk(c.(*net.TCPConn))
		}
	}
}

// keep has Close end a connection that was taken over; the caller calls done.
func (s *Server) keep(c net.Conn, host string) (done func()) {
	s.mu.Lock()
	s.raw[c] = host
	s.mu.Unlock()
	return func() {
		c.Close()
		s.mu.Lock()
		delete(s.raw, c)
		s.mu.Unlock()
	}
}

// Open is the number of requests to a host that it is still answering, and of connections to it over
// which it does harm below HTTP, that the other side has not ended.
func (s *Server) Open(host string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.busy[host]
	for _, h := range s.raw {
		if h == host {
			n++
		}
	}
	return n
}

// say answers with bytes as they are, then hangs up.
func (s *Server) say(text string) http.HandlerFunc {
	return s.wire(func(c *net.TCPConn) { io.WriteString(c, text) })
}

// hang waits until the other side has gone.
func hang(c net.Conn) { io.Copy(io.Discard, c) }

// reset ends a connection by RST.
func reset(c *net.TCPConn) { c.SetLinger(0) }

// document answers with a body of HTML.
func document(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, body)
	}
}

// text answers a request for robots.txt.
func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, body)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Error(w, http.StatusText(code), code) }
}

// index is a page that links to every scenario.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, "<!doctype html><title>A bad web</title><h1>A bad web</h1><ul>\n")
	for _, sc := range s.scenarios {
		fmt.Fprintf(w, "<li><a href=\"%s\">%s</a>\n", html.EscapeString(sc.URL), sc.Name)
	}
	for _, u := range s.Good() {
		fmt.Fprintf(w, "<li><a href=\"%s\">good</a>\n", u)
	}
	io.WriteString(w, "<li><a href=\"http://steady.bad.test/0\">steady</a>\n</ul>\n")
}

// certify makes the web's authority, a certificate of it for every name, and
// one of nobody's for tls-untrusted.
func (s *Server) certify() (*tls.Config, error) {
	ca, caKey, err := certificate(nil, nil, "")
	if err != nil {
		return nil, err
	}
	s.cas = x509.NewCertPool()
	s.cas.AddCert(ca)
	good, goodKey, err := certificate(ca, caKey, "*.bad.test")
	if err != nil {
		return nil, err
	}
	signed := func(name string, change func(*x509.Certificate)) (*tls.Certificate, error) {
		c, key, err := certificateBy(ca, caKey, name, change)
		if err != nil {
			return nil, err
		}
		return &tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: key}, nil
	}
	odd := map[string]*tls.Certificate{}
	for name, change := range map[string]func(*x509.Certificate){
		"tls-expired":    func(c *x509.Certificate) { c.NotBefore, c.NotAfter = c.NotBefore.AddDate(-1, 0, 0), c.NotBefore },
		"tls-early":      func(c *x509.Certificate) { c.NotBefore, c.NotAfter = c.NotAfter, c.NotAfter.AddDate(1, 0, 0) },
		"tls-wrong-name": func(c *x509.Certificate) { c.DNSNames = []string{"elsewhere.test"} },
		"tls-many-names": func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, names(20_000)...) },
		"tls-names":      func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, names(5000)...) }, // as many as fit
	} {
		if odd[name+".bad.test"], err = signed(name+".bad.test", change); err != nil {
			return nil, err
		}
	}
	other, otherKey, err := certificate(nil, nil, "tls-untrusted.bad.test")
	if err != nil {
		return nil, err
	}
	odd["tls-untrusted.bad.test"] = &tls.Certificate{Certificate: [][]byte{other.Raw}, PrivateKey: otherKey}
	whole := tls.Certificate{Certificate: [][]byte{good.Raw}, PrivateKey: goodKey}
	endless := whole
	for range 2000 {
		endless.Certificate = append(endless.Certificate, ca.Raw)
	}
	odd["tls-endless-chain.bad.test"] = &endless
	if odd["tls-long-chain.bad.test"], err = longChain(ca, caKey, "tls-long-chain.bad.test"); err != nil {
		return nil, err
	}
	if odd["tls-maze.bad.test"], err = maze("tls-maze.bad.test"); err != nil {
		return nil, err
	}
	secure := &tls.Config{
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if c, ok := odd[hello.ServerName]; ok {
				return c, nil
			}
			if hello.ServerName == "tls-alert.bad.test" {
				return nil, fmt.Errorf("no certificate for this name")
			}
			return &whole, nil
		},
	}
	old := secure.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	secure.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		switch hello.ServerName {
		case "tls-old.bad.test":
			return old, nil
		case "tls-silent.bad.test":
			s.hush(hello.Conn, hello.ServerName)
		case "tls-trickle.bad.test":
			s.tricklingHello(hello.Conn, hello.ServerName)
		}
		return nil, nil
	}
	return secure, nil
}

// hush waits until the other side has gone, or the web is closed.
func (s *Server) hush(c net.Conn, host string) {
	defer s.keep(c, host)()
	hang(c)
}

// tricklingHello begins the answer of a handshake, and goes on by a byte at a time.
func (s *Server) tricklingHello(c net.Conn, host string) {
	defer s.keep(c, host)()
	// A record of 16 kB with a ServerHello in it: RFC 8446, sections 4 and 5.1.
	_, err := io.WriteString(c, "\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03")
	for err == nil && s.stopped.Err() == nil {
		s.pause(trickle)
		_, err = c.Write([]byte{0})
	}
}

// names are n names of hosts.
func names(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("name-%d.bad.test", i))
	}
	return list
}

// between is how many authorities stand between the first and a host in long chains.
const between = 60

// longChain makes a certificate for name by the last of a line of authorities, each of
// which is signed by the one before.
func longChain(parent *x509.Certificate, parentKey *ecdsa.PrivateKey, name string) (*tls.Certificate, error) {
	var line [][]byte
	for i := range between {
		c, key, err := certificateBy(parent, parentKey, fmt.Sprintf("authority %d", i), func(c *x509.Certificate) { c.IsCA, c.DNSNames = true, nil })
		if err != nil {
			return nil, err
		}
		line = append(line, c.Raw)
		parent, parentKey = c, key
	}
	c, key, err := certificate(parent, parentKey, name)
	if err != nil {
		return nil, err
	}
	line = append(line, c.Raw)
	slices.Reverse(line)
	return &tls.Certificate{Certificate: line, PrivateKey: key}, nil
}

// maze makes a certificate for name by an authority that nobody knows and that has many
// certificates, any of which may have signed any other: who follows every way never ends.
func maze(name string) (*tls.Certificate, error) {
	root, key, err := certificate(nil, nil, "maze")
	if err != nil {
		return nil, err
	}
	c, own, err := certificate(root, key, name)
	if err != nil {
		return nil, err
	}
	all := [][]byte{c.Raw}
	for i := range between {
		draft := *root
		draft.SerialNumber, draft.DNSNames = big.NewInt(int64(i)+2), names(i + 1)[i:] // or they would count as the same
		der, err := x509.CreateCertificate(rand.Reader, &draft, root, &key.PublicKey, key)
		if err != nil {
			return nil, err
		}
		all = append(all, der)
	}
	return &tls.Certificate{Certificate: all, PrivateKey: own}, nil
}

// certificate makes a certificate for name, by parent or by itself.
func certificate(parent *x509.Certificate, parentKey *ecdsa.PrivateKey, name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	return certificateBy(parent, parentKey, name, func(*x509.Certificate) {})
}

// certificateBy makes one that is changed before it is signed.
func certificateBy(parent *x509.Certificate, parentKey *ecdsa.PrivateKey, name string, change func(*x509.Certificate)) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	draft := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "badweb " + name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  parent == nil,
	}
	if name != "" {
		draft.DNSNames = []string{name}
	}
	change(draft)
	if parent == nil {
		parent, parentKey = draft, key
	}
	der, err := x509.CreateCertificate(rand.Reader, draft, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return made, key, err
}
