package corpus

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// ServerOptions says how a recorded web is served. The zero value serves it as
// quickly as it can be read.
type ServerOptions struct {
	// Latency is waited before each answer. With a LatencyMax above it, the
	// wait lies between the two, by chance from Seed and the address.
	Latency, LatencyMax time.Duration
	// HostRate is how many requests a second each host answers, with bursts
	// of at most a second's; what is above gets 429 with Retry-After.
	// 0 = no limit.
	HostRate float64
	// ErrorRate is the share of addresses, by chance from Seed, that are
	// answered by 503; robots.txt never is. In [0,1].
	ErrorRate float64
	Seed      uint64
	// CacheBytes bounds the responses kept in memory; 0 = 256 MiB, less than
	// 0 = none.
	CacheBytes int64
	// CAFile is where the certificate of the CA is written, as PEM, for
	// crawlers to trust, over that of a server before and over no other file;
	// "" = nowhere.
	CAFile string
	// Authority is the file that keeps the CA and its key, for its owner alone:
	// it is made if it is not there, and a server that is started again goes by
	// the same. "" = a CA that ends with the server, whose key never leaves
	// memory.
	Authority string
	// Now is the clock of HostRate and of certificates; nil = time.Now.
	Now func() time.Time
	// Log is told of broken connections; nil = nobody.
	Log *log.Logger
}

// Server answers HTTP requests from a recorded web: as a proxy (GET
// http://host/path, and CONNECT, behind which it takes the part of any host
// with certificates of a CA of its own), and directly by the Host header.
//
// The answer is the recorded one with its headers and the body as it was
// received; hop-by-hop headers and the length are those of this transfer. HEAD is
// answered as GET, without a body; any other method is 405. What is not recorded
// is 404 with the header web.RecordHeader, so that it is not taken for the answer
// of a site. At its own address the server tells what it is. Only HTTP/1.1 is
// spoken.
type Server struct {
	web    *Web
	opt    ServerOptions
	ca     *authority
	count  Count
	front  *template.Template
	starts []string // links on the page for what is missing
	cache  *cache
	rates  rates
	stats  serverStats
}

type serverStats struct {
	requests, answered, missing, limited, failed atomic.Int64
	bytes                                        atomic.Int64
}

// ServerStats counts answers.
type ServerStats struct {
	Requests int64 // all, without CONNECT itself
	Answered int64 // from the record
	Missing  int64 // 404: not recorded
	Limited  int64 // 429: above HostRate
	Failed   int64 // 503: by ErrorRate
	Bytes    int64 // of bodies answered from the record
}

// NewServer makes a server of w, and its CA.
func NewServer(w *Web, o ServerOptions) (*Server, error) {
	switch {
	case !(o.ErrorRate >= 0 && o.ErrorRate <= 1):
		return nil, fmt.Errorf("error rate %v is not in [0,1]", o.ErrorRate)
	case !(o.HostRate >= 0):
		return nil, fmt.Errorf("host rate %v is below 0", o.HostRate)
	case o.Latency < 0 || o.LatencyMax < 0:
		return nil, fmt.Errorf("latency %v is below 0", min(o.Latency, o.LatencyMax))
	case o.LatencyMax > 0 && o.LatencyMax < o.Latency:
		return nil, fmt.Errorf("the greatest latency, %v, is below the least, %v", o.LatencyMax, o.Latency)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 256 << 20
	}
	made := func() (*authority, error) { return newAuthority(o.Now) }
	if o.Authority != "" {
		made = func() (*authority, error) { return openAuthority(o.Authority, o.Now) }
	}
	ca, err := made()
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	if o.CAFile != "" {
		if err := ca.save(o.CAFile); err != nil {
			return nil, err
		}
	}
	front, err := newFront()
	if err != nil {
		return nil, err
	}
	return &Server{
		web: w, opt: o, ca: ca, count: w.Count(), front: front, starts: startsOf(w), cache: newCache(o.CacheBytes),
		rates: rates{perSecond: o.HostRate, hosts: map[web.Host]*bucket{}},
	}, nil
}

// CertificatePath is where a Server gives out the certificate of its CA, to
// clients which ask it directly; web.RecordHeader in the answer says that it is a
// Server.
const CertificatePath = "/waggle-ca.pem"

// CertificatePEM is the certificate of the CA, for clients to trust.
func (s *Server) CertificatePEM() []byte { return s.ca.PEM() }

// Stats counts the answers so far.
func (s *Server) Stats() ServerStats {
	t := &s.stats
	return ServerStats{
		Requests: t.requests.Load(), Answered: t.answered.Load(), Missing: t.missing.Load(),
		Limited: t.limited.Load(), Failed: t.failed.Load(), Bytes: t.bytes.Load(),
	}
}

// Warm reads the record into the cache until that is full or ctx ends, so that
// serving needs no unzipping. It returns how many responses were read.
func (s *Server) Warm(ctx context.Context) (int, error) {
	n := 0
	for _, address := range s.web.byPlace() {
		if ctx.Err() != nil || s.cache.full() {
			return n, ctx.Err()
		}
		if _, err := s.lookup(address); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Listen opens a listener for Serve; an address without a host ("", ":8080")
// is on loopback, and port 0 is any free one.
func Listen(address string) (net.Listener, error) {
	if address == "" {
		address = ":0"
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address to serve on: %w", err)
	}
	return net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
}

// Serve answers on l until ctx ends; it then finishes the requests in work,
// for at most five seconds, and returns nil. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	quiet := s.opt.Log
	if quiet == nil {
		quiet = log.New(io.Discard, "", 0)
	}
	inner := newTunnels(l.Addr())
	newServer := func(h http.Handler) *http.Server {
		return &http.Server{
			Handler: h, ErrorLog: quiet, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
			TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		}
	}
	// Shutdown order: the outer server stops, so no tunnel is begun; the
	// tunnels' listener closes; the server behind it stops; both have
	// returned before Serve does.
	behind := newServer(http.HandlerFunc(s.answer))
	outer := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			s.tunnel(w, r, inner)
			return
		}
		s.answer(w, r)
	}))
	errs := make(chan error, 2)
	go func() { errs <- behind.Serve(inner) }()
	go func() { errs <- outer.Serve(l) }()
	var failure error
	running := 2
	select {
	case <-ctx.Done():
	case failure = <-errs:
		running--
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, server := range []*http.Server{outer, behind} {
		if server.Shutdown(grace) != nil {
			server.Close()
		}
	}
	inner.Close()
	for range running {
		<-errs
	}
	if failure != nil && !errors.Is(failure, http.ErrServerClosed) && ctx.Err() == nil {
		return failure
	}
	return nil
}

// tunnel answers a CONNECT: the connection goes on as TLS with the host asked
// for, and is served by the server behind.
func (s *Server) tunnel(w http.ResponseWriter, r *http.Request, to *tunnels) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" {
		http.Error(w, "CONNECT wants host:port", http.StatusBadRequest)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		conn.Close()
		return
	}
	to.offer(tls.Server(&early{conn, buffered.Reader}, &tls.Config{
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.ca.certificate(cmp.Or(hello.ServerName, host))
		},
	}))
}

// early is a connection of which something was read already.
type early struct {
	net.Conn
	r *bufio.Reader
}

func (e *early) Read(p []byte) (int, error) {
	if e.r.Buffered() > 0 {
		return e.r.Read(p[:min(len(p), e.r.Buffered())])
	}
	return e.Conn.Read(p)
}

// tunnels is a listener whose connections are offered.
type tunnels struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newTunnels(addr net.Addr) *tunnels {
	return &tunnels{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (t *tunnels) offer(c net.Conn) {
	select {
	case t.conns <- c:
	case <-t.done:
		c.Close()
	}
}

func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.done:
		return nil, net.ErrClosed
	}
}

func (t *tunnels) Addr() net.Addr { return t.addr }

func (t *tunnels) Close() error {
	t.once.Do(func() { close(t.done) })
	return nil
}

// answer answers one request.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	s.stats.requests.Add(1)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a recorded web answers GET and HEAD only", http.StatusMethodNotAllowed)
		return
	}
	if r.URL.Host == "" && r.TLS == nil && r.URL.Path == CertificatePath {
		w.Header().Set("Content-Type", "application/x-pem-file")
		w.Header().Set(web.RecordHeader, web.RecordServed)
		w.Write(s.ca.PEM())
		return
	}
	if isFront(r) {
		s.welcome(w, r)
		return
	}
	u, err := requested(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !s.wait(r.Context(), u) {
		return // the client is gone
	}
	if after := s.rates.take(u.Host(), s.opt.Now()); after > 0 {
		s.stats.limited.Add(1)
		w.Header().Set("Retry-After", strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10))
		http.Error(w, "too many requests to "+string(u.Host()), http.StatusTooManyRequests)
		return
	}
	if s.opt.ErrorRate > 0 && !isRobots(u) && chance(s.opt.Seed, "error", u) < s.opt.ErrorRate {
		s.stats.failed.Add(1)
		http.Error(w, "an error, as asked for", http.StatusServiceUnavailable)
		return
	}
	p, err := s.lookup(u.String())
	if errors.Is(err, ErrNotRecorded) {
		s.stats.missing.Add(1)
		s.missing(w, u)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	for k, v := range p.header {
		h[k] = v
	}
	if p.bodyAllowed() {
		h["Content-Length"] = []string{strconv.Itoa(len(p.body))}
	}
	s.stats.answered.Add(1)
	w.WriteHeader(p.status)
	if p.bodyAllowed() && r.Method == http.MethodGet {
		s.stats.bytes.Add(int64(len(p.body)))
		w.Write(p.body) // fails when the client is gone
	}
}

// requested is the address a request is for.
func requested(r *http.Request) (web.URL, error) {
	switch {
	case r.URL.Host != "":
		return web.Parse(r.RequestURI)
	case r.TLS != nil:
		return web.Parse("https://" + r.Host + r.RequestURI)
	default:
		return web.Parse("http://" + r.Host + r.RequestURI)
	}
}

// wait lets the latency pass; false if ctx ended first.
func (s *Server) wait(ctx context.Context, u web.URL) bool {
	d := s.opt.Latency
	if more := s.opt.LatencyMax - d; more > 0 {
		d += time.Duration(chance(s.opt.Seed, "latency", u) * float64(more))
	}
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// chance is a number in [0,1) that depends on seed, subject and address alone.
func chance(seed uint64, subject string, u web.URL) float64 {
	return float64(xxh3.HashStringSeed(subject+" "+u.String(), seed)>>11) / (1 << 53)
}

// reply is a response ready to be sent.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (p *reply) bodyAllowed() bool {
	return p.status >= 200 && p.status != http.StatusNoContent && p.status != http.StatusNotModified
}

func (p *reply) size() int64 {
	n := len(p.body) + 512
	for k, v := range p.header {
		n += len(k) + len(strings.Join(v, ""))
	}
	return int64(n)
}

func (s *Server) lookup(address string) (*reply, error) {
	if p := s.cache.get(address); p != nil {
		return p, nil
	}
	r, err := s.web.read(address)
	if err != nil {
		return nil, err
	}
	// Without these, net/http would add its own.
	p := &reply{status: r.Status, header: http.Header{"Content-Type": nil, "Date": nil}, body: r.Raw}
	if p.status < 200 {
		p.status = http.StatusBadGateway
	}
	for k, v := range r.Header {
		if !isHopByHop(k) {
			p.header[k] = v
		}
	}
	s.cache.put(address, p)
	return p, nil
}

// isHopByHop tells which headers belong to a connection and not to a
// document (RFC 9110, 7.6.1).
func isHopByHop(key string) bool {
	switch key {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Content-Length", "X-Crawler-Transfer-Encoding", "X-Crawler-Content-Encoding":
		return true
	}
	return false
}
