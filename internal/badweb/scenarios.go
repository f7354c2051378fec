package badweb

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	htmlHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
	someHTML  = "<!doctype html><title>Half a page</title><p>It was going so well."
	wholeHTML = "<!doctype html><title>A page</title><h1>A page</h1><p>Nothing is wrong with it."

	// crowd begins the names of hosts that share one address.
	crowd = "crowd-"

	zeros     = "\x00\x00\x00\x00\x00\x00\x00\x00" // how bombs begin
	metadata  = "http://169.254.169.254/latest/meta-data/"
	bigMember = 12 << 20 // decoded bytes of a bomb in one piece
	hugeRobo  = 10 << 20 // bytes of a huge robots.txt
)

// inventory builds every scenario and the sites they happen on. A scenario
// lives on a host of its own name unless its address says otherwise.
func (s *Server) inventory() ([]Scenario, map[string]site) {
	var list []Scenario
	sites := map[string]site{"index.bad.test": {page: s.index}}
	host := func(name string, page, robots http.HandlerFunc) { sites[name+".bad.test"] = site{page, robots} }
	add := func(sc Scenario) {
		if sc.URL == "" {
			sc.URL = "http://" + sc.Name + ".bad.test/"
		}
		if sc.Failure != "" {
			sc.Crawl = sc.Failure
		}
		list = append(list, sc)
	}
	// on adds a scenario and how its host behaves.
	on := func(sc Scenario, page http.HandlerFunc) {
		host(sc.Name, page, nil)
		add(sc)
	}
	// page adds a whole page.
	page := func(name, body string) {
		on(Scenario{Name: name, Status: 200, Body: body}, document(body))
	}

	// Bodies.
	page("fine", wholeHTML)
	on(Scenario{Name: "endless-body", Status: 200, Truncated: "length", Body: "and so on and so on "}, endless)
	on(Scenario{Name: "stalled-body", Status: 200, Truncated: "time", Body: someHTML, Hangs: true}, func(w http.ResponseWriter, r *http.Request) {
		document(someHTML)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	on(Scenario{Name: "stalled-before-body", Failure: "timeout", Hangs: true}, func(w http.ResponseWriter, r *http.Request) {
		document("")(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	on(Scenario{Name: "length-too-long", Status: 200, Truncated: "disconnect", Body: someHTML},
		s.say(htmlHead+"Content-Length: 100000\r\n\r\n"+someHTML))
	on(Scenario{Name: "length-too-short", Status: 200, Body: wholeHTML},
		s.say(htmlHead+"Connection: close\r\nContent-Length: "+strconv.Itoa(len(wholeHTML))+"\r\n\r\n"+wholeHTML+"<p>And more than announced."))
	on(Scenario{Name: "length-absurd", Failure: "protocol"}, s.say(htmlHead+"Content-Length: minus one\r\n\r\n"+someHTML))
	on(Scenario{Name: "chunks-broken", Status: 200, Truncated: "disconnect", Body: someHTML},
		s.say(htmlHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someHTML)+"zz\r\nnot a chunk"))
	on(Scenario{Name: "chunks-cut", Status: 200, Truncated: "disconnect", Body: someHTML},
		s.say(htmlHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someHTML)))
	on(Scenario{Name: "chunks-none", Failure: "protocol"}, s.say(htmlHead+"Transfer-Encoding: chunked\r\n\r\nzz\r\n"))
	on(Scenario{Name: "reset-in-body", Status: 200, Truncated: "disconnect", Body: someHTML}, s.wire(func(c *net.TCPConn) {
		io.WriteString(c, htmlHead+"Content-Length: 100000\r\n\r\n"+someHTML)
		reset(c)
	}))
	on(Scenario{Name: "empty", Status: 200, Crawl: "empty"}, document(""))
	on(Scenario{Name: "no-content", Status: 204, Crawl: "empty"}, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) })

	// Content codings.
	on(Scenario{Name: "gzip-bomb", Status: 200, Truncated: "length", Body: zeros}, bomb("gzip", 10<<10, newGzip))
	on(Scenario{Name: "zstd-bomb", Status: 200, Truncated: "length", Body: zeros}, bomb("zstd", 10<<10, func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		return z
	}))
	on(Scenario{Name: "br-bomb", Status: 200, Truncated: "length", Body: zeros}, bomb("br", 1, func(w io.Writer) io.WriteCloser {
		return brotli.NewWriterLevel(w, 1)
	}))
	on(Scenario{Name: "gzip-not", Failure: "protocol"}, s.say(htmlHead+"Content-Encoding: gzip\r\n\r\n"+wholeHTML))
	half := string(gzipped(strings.Repeat(wholeHTML, 100)))
	on(Scenario{Name: "gzip-cut", Status: 200, Truncated: "disconnect", Body: wholeHTML}, s.say(fmt.Sprintf(
		"%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", htmlHead, len(half)-12, half[:len(half)-12])))

	// Characters and markup. Bytes stay as they are: it is the parser that decodes characters.
	characters := func(name, contentType, body string) {
		on(Scenario{Name: name, Status: 200, Body: body}, s.say("HTTP/1.1 200 OK\r\nContent-Type: "+contentType+"\r\n\r\n"+body))
	}
	characters("charset-wrong", "text/html; charset=utf-8", "<!doctype html><meta charset=iso-8859-2><title>caf\xe9</title><p>Gar\xe7on, l'addition!")
	characters("charset-unknown", "text/html; charset=klingon-8", wholeHTML)
	characters("charset-absent", "text/html", "<!doctype html><title>caf\xe9</title><p>Gar\xe7on, l'addition!")
	page("nul-bytes", "<!doctype html>\x00<title>A\x00B</title><p>\x00\x00<a href=\"/\x00x\">link\x00</a>")
	page("nested", "<!doctype html><title>Deep</title>"+strings.Repeat("<div>", 100_000)+"deep down")
	on(Scenario{Name: "million-links", Status: 200, Truncated: "length", Body: "<!doctype html><title>A million links</title>\n<a href=0>0</a>\n<a href=1>1</a>\n"}, func(w http.ResponseWriter, r *http.Request) {
		document("<!doctype html><title>A million links</title>\n")(w, r)
		var line []byte
		for i := range int64(1_000_000) {
			line = append(strconv.AppendInt(append(line[:0], "<a href="...), i, 10), '>')
			line = append(strconv.AppendInt(line, i, 10), "</a>\n"...)
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	on(Scenario{Name: "type-absent", Status: 200, Body: wholeHTML}, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		io.WriteString(w, wholeHTML)
	})
	on(Scenario{Name: "type-absent-image", Failure: "type"}, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		io.WriteString(w, "\x89PNG\r\n\x1a\n")
	})
	on(Scenario{Name: "type-image", Failure: "type"}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		io.WriteString(w, "\x89PNG\r\n\x1a\n")
	})

	// Traps.
	on(Scenario{Name: "calendar", URL: "http://calendar.bad.test/2026/1", Status: 200}, calendar)
	on(Scenario{Name: "sessions", Status: 200}, s.sessions)

	// Redirects.
	on(Scenario{Name: "redirect-self", Status: 301, Location: "http://redirect-self.bad.test/", Crawl: "redirect-loop"}, moved("/"))
	on(Scenario{Name: "redirect-loop", Status: 301, Location: "http://redirect-loop.bad.test/there", Crawl: "redirect"},
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				moved("/")(w, r)
				return
			}
			moved("/there")(w, r)
		})
	on(Scenario{Name: "redirect-on-and-on", URL: "http://redirect-on-and-on.bad.test/0", Status: 301,
		Location: "http://redirect-on-and-on.bad.test/1", Crawl: "redirect"},
		func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
			moved("/"+strconv.Itoa(n+1))(w, r)
		})
	on(Scenario{Name: "redirect-private", Status: 301, Location: metadata, Crawl: "redirect"}, moved(metadata))
	on(Scenario{Name: "redirect-no-web", Status: 301, Crawl: "redirect-invalid"}, moved("mailto:nobody@bad.test"))
	on(Scenario{Name: "redirect-nowhere", Status: 301, Crawl: "redirect-invalid"}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(301)
	})

	// Addresses and names.
	add(Scenario{Name: "loopback", URL: "http://127.0.0.1/", Failure: "address"})
	add(Scenario{Name: "loopback-decimal", URL: "http://2130706433/", Failure: "address"})
	add(Scenario{Name: "loopback-6", URL: "http://[::1]/", Failure: "address"})
	add(Scenario{Name: "metadata-address", URL: metadata, Failure: "address"})
	add(Scenario{Name: "private", Failure: "address"})
	add(Scenario{Name: "metadata", Failure: "address"})
	add(Scenario{Name: "mapped", Failure: "address"})
	add(Scenario{Name: "dns-unknown", Failure: "dns"})
	add(Scenario{Name: "dns-failure", Failure: "dns"})
	add(Scenario{Name: "dns-silent", Failure: "dns", Hangs: true})

	// Connections.
	add(Scenario{Name: "connect-refused", Failure: "connect"})
	add(Scenario{Name: "connect-silent", Failure: "connect", Hangs: true})
	on(Scenario{Name: "tls-fine", URL: "https://tls-fine.bad.test/", Status: 200, Body: wholeHTML}, document(wholeHTML))
	on(Scenario{Name: "tls-untrusted", URL: "https://tls-untrusted.bad.test/", Failure: "tls"}, document(wholeHTML))
	on(Scenario{Name: "tls-alert", URL: "https://tls-alert.bad.test/", Failure: "tls"}, document(wholeHTML))
	on(Scenario{Name: "tls-none", URL: "https://tls-none.bad.test/", Failure: "tls"}, document(wholeHTML))
	on(Scenario{Name: "reset", Failure: "reset"}, s.wire(reset))
	on(Scenario{Name: "hang-up", Failure: "reset"}, s.say(""))

	s.heads(on)
	s.hostile(on)
	s.secure(add, host)

	// Statuses.
	on(Scenario{Name: "status-404", Status: 404, Body: "Not Found\n", Crawl: "status"}, status(404))
	on(Scenario{Name: "status-500", Status: 500, Body: "Internal Server Error\n", Crawl: "status"}, status(500))
	on(Scenario{Name: "status-404-endless", Status: 404, Truncated: "length", Body: "and so on and so on ", Crawl: "status"}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(404)
		endless(w, r)
	})
	on(Scenario{Name: "status-999", Status: 999, Crawl: "status"}, s.say("HTTP/1.1 999 Go Away\r\nContent-Length: 0\r\n\r\n"))
	on(Scenario{Name: "status-101", Failure: "protocol"}, s.say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: odd\r\n\r\n"))
	on(Scenario{Name: "retry-after", Status: 429, Crawl: "status"}, later("120", status(429)))
	on(Scenario{Name: "retry-after-200", Status: 200, Body: wholeHTML}, later("120", document(wholeHTML)))
	on(Scenario{Name: "retry-after-301", Status: 301, Location: "http://retry-after-301.bad.test/there", Crawl: "redirect"}, later("120", moved("/there")))
	on(Scenario{Name: "retry-after-404", Status: 404, Crawl: "status"}, later("120", status(404)))
	host(crowd+"a", document(wholeHTML), nil)
	host(crowd+"b", document(wholeHTML), nil)

	// robots.txt: on each of these hosts there is one that speaks of /no.
	robot := func(name, path, failure string, robots http.HandlerFunc) {
		host(name, document(wholeHTML), robots)
		sc := Scenario{Name: name + path, URL: "http://" + name + ".bad.test" + path, Failure: failure}
		if failure == "" {
			sc.Status, sc.Body = 200, wholeHTML
		}
		add(sc)
	}
	const disallow = "User-agent: *\nDisallow: /no\n"
	huge := text(disallow + strings.Repeat("# a comment that goes on\n", hugeRobo/25) + "User-agent: *\nDisallow: /\n")
	robot("robots-huge", "/yes", "", huge)
	robot("robots-huge", "/no", "robots", huge)
	coded := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		text(string(gzipped(disallow)))(w, r)
		member := gzipped(string(mebibyte))
		for range hugeRobo >> 20 {
			w.Write(member)
		}
	}
	robot("robots-bomb", "/yes", "", coded)
	robot("robots-bomb", "/no", "robots", coded)
	robot("robots-html", "/no", "", document("<!doctype html><title>Not found</title><p>Disallow: /no, they said."))
	robot("robots-404", "/no", "", nil)
	robot("robots-503", "/yes", "robots-unknown", status(503))
	robot("robots-503-later", "/yes", "robots-unknown", later("7200", status(503)))
	robot("robots-429", "/yes", "robots-unknown", status(429))
	robot("robots-429-later", "/yes", "robots-unknown", later("7200", status(429)))
	robot("robots-cut", "/yes", "robots-unknown", s.say("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n"+disallow))
	robot("robots-reset", "/yes", "robots-unknown", s.wire(reset))
	robot("robots-loop", "/no", "", moved("/robots.txt"))
	robot("robots-private", "/yes", "robots-unknown", moved(metadata))
	robot("robots-delay", "/yes", "", text(disallow+"Crawl-delay: 86400\n"))
	host("robots-away", text(disallow), nil)
	away := moved("http://robots-away.bad.test/rules")
	robot("robots-redirect", "/yes", "", away)
	robot("robots-redirect", "/no", "robots", away)
	robot("robots-hangs", "/yes", "robots-unknown", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	list[len(list)-1].Hangs = true
	return list, sites
}

// heads adds the misbehaviours of response heads.
func (s *Server) heads(on func(Scenario, http.HandlerFunc)) {
	on(Scenario{Name: "head-slow", Failure: "timeout", Hangs: true}, s.wire(func(c *net.TCPConn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: te")
		hang(c)
	}))
	on(Scenario{Name: "head-cut", Failure: "reset"}, s.say("HTTP/1.1 200 OK\r\nContent-Type: te"))
	on(Scenario{Name: "head-huge", Failure: "protocol"}, s.wire(func(c *net.TCPConn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nX-Huge: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
		hang(c)
	}))
	on(Scenario{Name: "head-garbage", Failure: "protocol"}, s.say("SSH-2.0-OpenSSH_9.2p1\r\n"))
	on(Scenario{Name: "head-control", Status: 200, Body: wholeHTML}, s.say("HTTP/1.1 200 \x01OK\x7f\r\nContent-Type: text/html\r\nX-Odd: caf\xe9\r\n\r\n"+wholeHTML))
	for _, h := range [][2]string{
		{"nul", "X-Odd: a\x00b"}, {"escape", "X-Odd: a\x1b[31mb"}, {"cr", "X-Odd: a\rb"}, {"delete", "X-Odd: a\x7fb"},
		{"name", "X-O\x01dd: b"}, {"name-high", "X-Od\xe9: b"}, {"no-colon", "X-Odd"},
	} {
		on(Scenario{Name: "header-" + h[0], Failure: "protocol"},
			s.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"+h[1]+"\r\n\r\n"+wholeHTML))
	}
	on(Scenario{Name: "header-high", Status: 200, Body: wholeHTML}, s.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Odd: caf\xe9 \xff\r\n\r\n"+wholeHTML))
	on(Scenario{Name: "cookies", Status: 200, Body: wholeHTML + "<a href=/again>again</a>"}, func(w http.ResponseWriter, r *http.Request) {
		if len(r.Cookies()) > 0 {
			status(500)(w, r)
			return
		}
		for i := range 50 {
			http.SetCookie(w, &http.Cookie{Name: "c" + strconv.Itoa(i), Value: strings.Repeat("v", 1000)})
		}
		document(wholeHTML+"<a href=/again>again</a>")(w, r)
	})
}

func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	line := strings.Repeat("and so on ", 800) + "\n"
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
	}
}

// bomb sends a document of zeros: members of 1 MiB that take about a
// kilobyte each, or, as brotli knows no members, one of bigMember and noise.
func bomb(coding string, members int, encode func(io.Writer) io.WriteCloser) http.HandlerFunc {
	member := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		z := encode(&b)
		for range max(1, bigMember/members>>20) {
			z.Write(mebibyte)
		}
		if members == 1 {
			z.Write(noise())
		}
		z.Close()
		return b.Bytes()
	})
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", coding)
		for range members {
			if _, err := w.Write(member()); err != nil {
				return
			}
		}
	}
}

// mebibyte is a part of many a bomb.
var mebibyte = make([]byte, 1<<20)

// noise is what no coding makes shorter. It is the end of bombs that are small without it: who
// receives much of such a bomb did not stop where enough was decoded.
func noise() []byte {
	b := make([]byte, 512<<10)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// later asks to be left alone for so many seconds.
func later(seconds string, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", seconds)
		answer(w, r)
	}
}

// moved redirects for good.
func moved(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(301)
	}
}

// calendar has a page for every month there ever will be, at /year/month.
func calendar(w http.ResponseWriter, r *http.Request) {
	var year, month int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d/%d", &year, &month); err != nil || month < 1 || month > 12 {
		http.NotFound(w, r)
		return
	}
	at := func(n int) string { return fmt.Sprintf("/%d/%d", n/12, n%12+1) }
	n := year*12 + month - 1
	document(fmt.Sprintf("<!doctype html><title>Events in %d/%d</title><p>No events."+
		"<a href=%q>previous month</a> <a href=%q>next month</a> <a href=%q>next year</a>",
		month, year, at(n-1), at(n+1), at(n+12)))(w, r)
}

// sessions is one page, which gives its links a new session at every visit.
func (s *Server) sessions(w http.ResponseWriter, r *http.Request) {
	n := s.counter.Add(1)
	document(fmt.Sprintf("<!doctype html><title>Shop</title><p>Welcome."+
		"<a href=\"/shop;jsessionid=%032X\">shop</a> <a href=\"/?PHPSESSID=%032x\">home</a> <a href=\"/(S(%024x))/cart\">cart</a>",
		n, n, n))(w, r)
}

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func gzipped(s string) []byte {
	var b strings.Builder
	z := newGzip(&b)
	io.WriteString(z, s)
	z.Close()
	return []byte(b.String())
}

// gzips keeps writers for reuse: one takes a megabyte.
var gzips = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

type gzipWriter struct{ *gzip.Writer }

func newGzip(w io.Writer) io.WriteCloser {
	z := gzips.Get().(*gzip.Writer)
	z.Reset(w)
	return gzipWriter{z}
}

func (z gzipWriter) Close() error {
	err := z.Writer.Close()
	gzips.Put(z.Writer)
	return err
}
