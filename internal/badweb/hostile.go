package badweb

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// trickle is how long a server waits between two pieces that it sends, so that no time
// limit of silence is ever met.
const trickle = 50 * time.Millisecond

// hostile adds servers that do harm by how they send, not by what.
func (s *Server) hostile(on func(Scenario, http.HandlerFunc)) {
	raw := func(name, failure, head string) { on(Scenario{Name: name, Failure: failure}, s.say(head)) }
	// page has a body that the bytes after its head are to be read as.
	page := func(name, truncated, body, head string) {
		on(Scenario{Name: name, Status: 200, Truncated: truncated, Body: body}, s.say(head))
	}
	whole := func(name, body string) { on(Scenario{Name: name, Status: 200, Body: body}, document(body)) }
	// drip sends a beginning, and then pieces for ever, slowly or as fast as it goes.
	drip := func(begin string, wait time.Duration, piece func(n int) string) http.HandlerFunc {
		return s.wire(func(c *net.TCPConn) {
			_, err := io.WriteString(c, begin)
			for n := 0; err == nil && s.stopped.Err() == nil; n++ {
				if _, err = io.WriteString(c, piece(n)); wait > 0 {
					s.pause(wait)
				}
			}
		})
	}

	// Trickles.
	on(Scenario{Name: "trickle-body", Status: 200, Truncated: "time", Body: someHTML, Hangs: true}, drip(htmlHead+"\r\n"+someHTML, trickle, func(int) string { return "." }))
	on(Scenario{Name: "trickle-chunks", Status: 200, Truncated: "time", Body: someHTML, Hangs: true},
		drip(htmlHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someHTML), trickle, func(int) string { return chunk(".") }))
	on(Scenario{Name: "trickle-head", Failure: "timeout", Hangs: true},
		drip(htmlHead, trickle, func(n int) string { return fmt.Sprintf("X-%d: .\r\n", n) }))
	on(Scenario{Name: "trickle-gzip", Status: 200, Truncated: "time", Body: someHTML, Hangs: true},
		drip(htmlHead+"Content-Encoding: gzip\r\n\r\n"+string(gzipped(someHTML)), trickle, func(int) string { return string(gzipped(".")) }))

	// Floods of heads.
	on(Scenario{Name: "flood-lines", Failure: "protocol"}, drip(htmlHead, 0, func(n int) string { return fmt.Sprintf("X-%d: %s\r\n", n, strings.Repeat("x", 50)) }))
	on(Scenario{Name: "flood-folds", Failure: "protocol"}, drip(htmlHead+"X-Fold: a\r\n", 0, func(int) string { return " and so on\r\n" }))
	on(Scenario{Name: "flood-hints", Failure: "protocol"}, drip("", 0, func(int) string { return "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" }))
	on(Scenario{Name: "flood-continue", Failure: "protocol"}, drip("", 0, func(int) string { return "HTTP/1.1 100 Continue\r\n\r\n" }))
	on(Scenario{Name: "flood-name", Failure: "protocol"}, drip("HTTP/1.1 200 OK\r\n", 0, func(int) string { return strings.Repeat("x", 1000) }))
	on(Scenario{Name: "flood-status", Failure: "protocol"}, drip("HTTP/1.1 200 ", 0, func(int) string { return strings.Repeat("O", 1000) }))
	on(Scenario{Name: "flood-trailers", Status: 200, Truncated: "disconnect", Body: wholeHTML},
		drip(htmlHead+"Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"+chunk(wholeHTML)+"0\r\n", 0, func(n int) string { return fmt.Sprintf("X-%d: trailing on\r\n", n) }))
	on(Scenario{Name: "flood-extension", Status: 200, Truncated: "disconnect", Body: someHTML},
		drip(htmlHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someHTML)+"5;", 0, func(int) string { return strings.Repeat("e", 1000) }))
	on(Scenario{Name: "flood-chunks", Status: 200, Truncated: "disconnect", Body: someHTML},
		drip(htmlHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(someHTML), 0, func(int) string { return "1;" + strings.Repeat("e", 200) + "\r\n.\r\n" }))

	// Framing that two readers would read as two things.
	raw("length-twice", "protocol", htmlHead+"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef")
	raw("length-plus", "protocol", htmlHead+"Content-Length: +5\r\n\r\nabcde")
	page("length-and-chunks", "", wholeHTML, htmlHead+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(wholeHTML)+"0\r\n\r\n")
	raw("coding-of-transfer", "protocol", htmlHead+"Transfer-Encoding: gzip, chunked\r\n\r\n"+chunk(someHTML)+"0\r\n\r\n")
	raw("chunk-overflow", "protocol", htmlHead+"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc")
	page("chunk-lies", "disconnect", someHTML, htmlHead+"Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n"+someHTML)
	page("version-odd", "", wholeHTML, "HTTP/9.9 200 OK\r\nContent-Type: text/html\r\n\r\n"+wholeHTML)
	raw("version-none", "protocol", wholeHTML)
	raw("status-long", "protocol", "HTTP/1.1 20000 OK\r\n\r\n"+wholeHTML)
	raw("status-negative", "protocol", "HTTP/1.1 -20 OK\r\n\r\n"+wholeHTML)
	raw("answer-first", "protocol", strings.Repeat("\r\n", 10)+htmlHead+"\r\n"+wholeHTML)
	page("answer-twice", "", wholeHTML, htmlHead+fmt.Sprintf("Content-Length: %d\r\n\r\n%s%sContent-Length: 3\r\n\r\nevil", len(wholeHTML), wholeHTML, htmlHead))

	// Codings, one over the other.
	coders := map[string]func(io.Writer) io.WriteCloser{
		"gzip":    newGzip,
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 1) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			if err != nil {
				panic(err)
			}
			return z
		},
	}
	chain := func(name, truncated, failure string, size int, codings ...string) {
		body := sync.OnceValue(func() []byte {
			var b []byte
			for i, c := range codings {
				var out bytes.Buffer
				z := coders[c](&out)
				if z.Write(b); i == 0 {
					io.WriteString(z, wholeHTML)
					for left := size; left > 0; left -= len(mebibyte) {
						z.Write(mebibyte[:min(left, len(mebibyte))])
					}
					if truncated != "" {
						z.Write(noise())
					}
				}
				z.Close()
				b = out.Bytes()
			}
			return b
		})
		sc := Scenario{Name: name, Truncated: truncated, Failure: failure}
		if failure == "" {
			sc.Status, sc.Body = 200, wholeHTML+strings.Repeat("\x00", min(size, 1000))
		}
		on(sc, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", strings.Join(codings, ", "))
			w.Write(body())
		})
	}
	chain("deflate", "", "", 1000, "deflate")
	chain("deflate-bomb", "length", "", 16<<20, "deflate")
	chain("chain-two", "", "", 1000, "gzip", "br")
	chain("chain-three", "", "", 1000, "zstd", "gzip", "br")
	chain("chain-four", "", "protocol", 1000, "gzip", "gzip", "gzip", "gzip")
	chain("chain-hundred", "", "protocol", 10, slices.Repeat([]string{"gzip"}, 100)...)
	chain("chain-bomb-gzip", "length", "", 16<<20, "gzip", "gzip")
	chain("chain-bomb-br", "length", "", 16<<20, "gzip", "br")
	chain("chain-bomb-three", "length", "", 16<<20, "zstd", "gzip", "br")
	page("coding-unknown", "", wholeHTML, htmlHead+"Content-Encoding: klingon\r\n\r\n"+wholeHTML)
	members := strings.Repeat(string(gzipped("")), 1000)
	on(Scenario{Name: "gzip-members", Status: 200, Truncated: "length", Body: someHTML}, drip(htmlHead+"Content-Encoding: gzip\r\n\r\n"+string(gzipped(someHTML)), 0,
		func(int) string { return members }))
	nothing := sync.OnceValue(func() []byte { return gzipped(string(gzipped(someHTML)) + strings.Repeat(members, 1000)) })
	on(Scenario{Name: "chain-members", Status: 200, Truncated: "length", Body: someHTML}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip, gzip")
		w.Write(nothing())
	})
	// Blocks and frames without an end in which nothing is: RFC 8878, sections 3.1.1.2 and
	// 3.1.2; RFC 7932, section 9.2.
	empty := func(name, coding, after, piece string) {
		var b bytes.Buffer
		z := coders[coding](&b)
		io.WriteString(z, someHTML)
		if f, ok := z.(*brotli.Writer); ok {
			f.Flush() // the stream goes on
		} else {
			z.Close()
		}
		on(Scenario{Name: name, Status: 200, Truncated: "length", Body: someHTML}, drip(htmlHead+"Content-Encoding: "+coding+"\r\n\r\n"+b.String()+after, 0,
			func(int) string { return strings.Repeat(piece, 1000) }))
	}
	empty("zstd-blocks", "zstd", "\x28\xb5\x2f\xfd\x00\x00", "\x00\x00\x00")
	empty("zstd-frames", "zstd", "", "\x50\x2a\x4d\x18\x00\x00\x00\x00")
	empty("br-blocks", "br", "", "\x06")
	on(Scenario{Name: "gzip-name", Failure: "protocol"}, drip(htmlHead+"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff", 0,
		func(int) string { return strings.Repeat("n", 1000) }))
	raw("zstd-window", "protocol", htmlHead+"Content-Encoding: zstd\r\n\r\n\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00")
	raw("br-window", "protocol", htmlHead+"Content-Encoding: br\r\n\r\n\x91\x19\x00\x00\x00\x00")

	// Redirects.
	on(Scenario{Name: "redirect-long", Status: 301, Crawl: "redirect-invalid"}, moved("/"+strings.Repeat("x", 60_000)))
	on(Scenario{Name: "redirect-credentials", Status: 301, Location: "http://redirect-credentials.bad.test/there", Crawl: "redirect"},
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				document(wholeHTML+"<p>there")(w, r)
				return
			}
			moved("http://user:secret@redirect-credentials.bad.test/there")(w, r)
		})
	on(Scenario{Name: "redirect-file", Status: 301, Crawl: "redirect-invalid"}, moved("file:///etc/passwd"))
	on(Scenario{Name: "redirect-data", Status: 301, Crawl: "redirect-invalid"}, moved("data:text/html,<p>here"))
	on(Scenario{Name: "redirect-script", Status: 301, Crawl: "redirect-invalid"}, moved("javascript:alert(1)"))

	// Markup.
	on(Scenario{Name: "attributes", Status: 200, Truncated: "length", Body: "<!doctype html><title>Attributes</title><p a0=0 a1=1 "}, func(w http.ResponseWriter, r *http.Request) {
		document("<!doctype html><title>Attributes</title><p ")(w, r)
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(w, "a%d=%d ", i, i); err != nil {
				return
			}
		}
	})
	whole("formatting", "<!doctype html><title>Formatting</title>"+strings.Repeat("<b><i><p>", 20_000)+"x")
	whole("tables", "<!doctype html><title>Tables</title>"+strings.Repeat("<table><tr><td>", 20_000)+"x")
	whole("comment", "<!doctype html><title>Comment</title><p>Before<!--"+strings.Repeat("-->"[:2]+"x", 200_000))
	whole("base-inward", "<!doctype html><title>Base</title><base href=\"http://169.254.169.254/latest/\"><a href=meta-data>x</a>")
	whole("refresh-self", "<!doctype html><title>Refresh</title><meta http-equiv=refresh content=\"0; url=/\"><p>Again.")
	on(Scenario{Name: "refresh-header", Status: 200, Body: wholeHTML}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Refresh", "0; url=/")
		document(wholeHTML)(w, r)
	})
	whole("link-long", "<!doctype html><title>Link</title><a href=\"/"+strings.Repeat("x", 500_000)+"\">long</a>")
}

// pause waits, or until the web is closed.
func (s *Server) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.stopped.Done():
	}
}

// breathe waits a moment at every fiftieth piece of a flood: it floods with thousands a
// second, and leaves the machine to others.
func (s *Server) breathe(n int) {
	if n%50 == 0 {
		s.pause(5 * time.Millisecond)
	}
}

// secure adds what goes wrong below HTTP: certificates, and connections of HTTP/2.
func (s *Server) secure(add func(Scenario), host func(name string, page, robots http.HandlerFunc)) {
	on := func(sc Scenario) {
		sc.URL = "https://" + sc.Name + ".bad.test/"
		host(sc.Name, document(wholeHTML), nil)
		add(sc)
	}
	for _, name := range []string{"tls-expired", "tls-early", "tls-wrong-name", "tls-old", "tls-endless-chain", "tls-many-names"} {
		on(Scenario{Name: name, Failure: "tls"})
	}
	on(Scenario{Name: "tls-silent", Failure: "connect", Hangs: true})
	on(Scenario{Name: "tls-trickle", Failure: "connect", Hangs: true})
	on(Scenario{Name: "tls-maze", Failure: "tls"})
	on(Scenario{Name: "tls-long-chain", Status: 200, Body: wholeHTML})
	on(Scenario{Name: "tls-names", Status: 200, Body: wholeHTML})
	s.second = map[string]func(*http2.Framer, uint32){}
	h2 := func(sc Scenario, talk func(f *http2.Framer, id uint32)) {
		on(sc)
		s.second[sc.Name+".bad.test"] = talk
	}
	h2(Scenario{Name: "h2-garbage", Failure: "protocol"}, nil)
	h2(Scenario{Name: "h2-silent", Failure: "timeout", Hangs: true}, func(f *http2.Framer, id uint32) {})
	h2(Scenario{Name: "h2-goaway", Failure: "reset"}, func(f *http2.Framer, id uint32) {
		f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("calm down"))
	})
	h2(Scenario{Name: "h2-goaway-no-error", Failure: "reset"}, func(f *http2.Framer, id uint32) { f.WriteGoAway(0, http2.ErrCodeNo, nil) })
	h2(Scenario{Name: "h2-refused", Failure: "reset"}, func(f *http2.Framer, id uint32) { f.WriteRSTStream(id, http2.ErrCodeRefusedStream) })
	h2(Scenario{Name: "h2-reset-protocol", Failure: "reset"}, func(f *http2.Framer, id uint32) { f.WriteRSTStream(id, http2.ErrCodeProtocol) })
	h2(Scenario{Name: "h2-reset", Failure: "protocol"}, func(f *http2.Framer, id uint32) { f.WriteRSTStream(id, http2.ErrCodeInternal) })
	h2(Scenario{Name: "h2-reset-in-body", Status: 200, Truncated: "disconnect", Body: someHTML}, func(f *http2.Framer, id uint32) {
		f.WriteHeaders(answer(id))
		f.WriteData(id, false, []byte(someHTML))
		f.WriteRSTStream(id, http2.ErrCodeInternal)
	})
	h2(Scenario{Name: "h2-continuation", Failure: "protocol"}, func(f *http2.Framer, id uint32) {
		h := answer(id)
		h.EndHeaders = false
		err := f.WriteHeaders(h)
		for err == nil {
			err = f.WriteContinuation(id, false, fields("x-more", strings.Repeat("x", 1000)))
		}
	})
	h2(Scenario{Name: "h2-fields", Failure: "protocol"}, func(f *http2.Framer, id uint32) {
		h := answer(id)
		h.EndHeaders = false
		err := f.WriteHeaders(h)
		for i := 0; err == nil && i < 2000; i++ {
			err = f.WriteContinuation(id, i == 1999, fields("x-more", strings.Repeat("x", 1000)))
		}
	})
	h2(Scenario{Name: "h2-push", Failure: "protocol"}, func(f *http2.Framer, id uint32) {
		f.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, BlockFragment: fields(":method", "GET"), EndHeaders: true})
	})
	h2(Scenario{Name: "h2-no-status", Failure: "protocol"}, func(f *http2.Framer, id uint32) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields("content-type", "text/html"), EndHeaders: true})
	})
	h2(Scenario{Name: "h2-upper-case", Failure: "protocol"}, func(f *http2.Framer, id uint32) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(":status", "200", "Content-Type", "text/html"), EndHeaders: true})
	})
	h2(Scenario{Name: "h2-data-first", Failure: "protocol"}, func(f *http2.Framer, id uint32) { f.WriteData(id, true, []byte(wholeHTML)) })
	h2(Scenario{Name: "h2-other-stream", Failure: "timeout", Hangs: true}, func(f *http2.Framer, id uint32) { f.WriteHeaders(answer(id + 2)) })
	h2(Scenario{Name: "h2-large-frame", Failure: "protocol"}, func(f *http2.Framer, id uint32) { f.WriteRawFrame(http2.FrameData, 0, id, make([]byte, 1<<20)) })
	h2(Scenario{Name: "h2-window", Failure: "protocol"}, func(f *http2.Framer, id uint32) {
		for range 3 {
			f.WriteWindowUpdate(0, 1<<31-1)
		}
	})
	h2(Scenario{Name: "h2-pings", Failure: "timeout", Hangs: true}, func(f *http2.Framer, id uint32) {
		for i := byte(1); f.WritePing(false, [8]byte{i}) == nil; i++ {
			s.breathe(int(i))
		}
	})
	h2(Scenario{Name: "h2-settings", Failure: "timeout", Hangs: true}, func(f *http2.Framer, id uint32) {
		for i := uint32(1); f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100 + i%10}) == nil; i++ {
			s.breathe(int(i))
		}
	})
	h2(Scenario{Name: "h2-empty-data", Status: 200, Truncated: "time", Body: someHTML, Hangs: true}, func(f *http2.Framer, id uint32) {
		f.WriteHeaders(answer(id))
		err := f.WriteData(id, false, []byte(someHTML))
		for i := 1; err == nil; i++ {
			err = f.WriteData(id, false, nil)
			s.breathe(i)
		}
	})
	h2(Scenario{Name: "h2-endless", Status: 200, Truncated: "time", Body: someHTML, Hangs: true}, func(f *http2.Framer, id uint32) {
		f.WriteHeaders(answer(id))
		err := f.WriteData(id, false, []byte(someHTML))
		for err == nil && s.stopped.Err() == nil {
			err = f.WriteData(id, false, []byte("."))
			s.pause(trickle)
		}
	})
	h2(Scenario{Name: "h2-no-streams", Failure: "timeout", Hangs: true}, func(f *http2.Framer, id uint32) {})
	h2(Scenario{Name: "h2-hints", Failure: "protocol"}, func(f *http2.Framer, id uint32) {
		h := answer(id)
		h.BlockFragment = fields(":status", "103", "link", "</a>; rel=preload")
		for f.WriteHeaders(h) == nil {
		}
	})
	h2(Scenario{Name: "h2-endless-trailers", Status: 200, Truncated: "disconnect", Body: wholeHTML}, func(f *http2.Framer, id uint32) {
		f.WriteHeaders(answer(id))
		f.WriteData(id, false, []byte(wholeHTML))
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields("x-trailer", "1"), EndStream: true})
		for err == nil {
			err = f.WriteContinuation(id, false, fields("x-more", strings.Repeat("x", 1000)))
		}
	})
	h2(Scenario{Name: "h2-indexed", Failure: "protocol"}, func(f *http2.Framer, id uint32) {
		// A field of 3 kB is put into the table of fields, and named 10,000 times by a byte
		// each: index 62 is the newest, RFC 7541, section 2.3.3.
		h := answer(id)
		h.BlockFragment = slices.Concat(fields(":status", "200", "x-bomb", strings.Repeat("x", 3000)), bytes.Repeat([]byte{0x80 | 62}, 10_000))
		f.WriteHeaders(h)
	})
	h2(Scenario{Name: "h2-empty-continuation", Failure: "timeout", Hangs: true}, func(f *http2.Framer, id uint32) {
		h := answer(id)
		h.EndHeaders = false
		err := f.WriteHeaders(h)
		for i := 1; err == nil; i++ {
			err = f.WriteContinuation(id, false, nil)
			s.breathe(i)
		}
	})
	h2(Scenario{Name: "h2-length", Status: 200, Truncated: "disconnect", Body: someHTML}, func(f *http2.Framer, id uint32) {
		h := answer(id)
		h.BlockFragment = fields(":status", "200", "content-type", "text/html", "content-length", "100000")
		f.WriteHeaders(h)
		f.WriteData(id, true, []byte(someHTML))
	})
	h2(Scenario{Name: "h2-trailers", Status: 200, Body: wholeHTML}, func(f *http2.Framer, id uint32) {
		f.WriteHeaders(answer(id))
		f.WriteData(id, false, []byte(wholeHTML))
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields("x-trailer", "1"), EndHeaders: true, EndStream: true})
	})
}

// fields encodes a block of header fields.
func fields(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i+1 < len(pairs); i += 2 {
		e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return b.Bytes()
}

// answer is the head of a page on a stream.
func answer(stream uint32) http2.HeadersFrameParam {
	return http2.HeadersFrameParam{StreamID: stream, BlockFragment: fields(":status", "200", "content-type", "text/html"), EndHeaders: true}
}

// speak has a connection in HTTP/2 misbehave at each request but those for robots.txt, which
// is not there. It minds no RST_STREAM: who has had enough ends the connection.
func (s *Server) speak(c *tls.Conn, talk func(*http2.Framer, uint32)) {
	host := c.ConnectionState().ServerName
	defer s.keep(c, host)()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.AllowIllegalWrites = true
	var settings []http2.Setting
	if host == "h2-no-streams.bad.test" {
		settings = []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 0}}
	}
	if f.WriteSettings(settings...) != nil {
		return
	}
	// What is to be sent is said by who reads; what comes while a flood is sent is passed over.
	sends := make(chan func(), 100)
	go func() {
		defer close(sends)
		defer c.Close()
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			var send func()
			switch h := frame.(type) {
			case *http2.SettingsFrame:
				if !h.IsAck() {
					send = func() { f.WriteSettingsAck() }
				}
			case *http2.MetaHeadersFrame:
				id, path := h.StreamID, h.PseudoValue("path")
				s.mu.Lock()
				s.hits[h.PseudoValue("authority")+path]++
				s.mu.Unlock()
				send = func() {
					switch {
					case path == "/robots.txt":
						f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(":status", "404"), EndHeaders: true, EndStream: true})
					case talk == nil:
						io.WriteString(c, strings.Repeat("SSH-2.0-OpenSSH_9.2p1\r\n", 1000))
					default:
						talk(f, id)
					}
				}
			}
			if send != nil {
				select {
				case sends <- send:
				default:
				}
			}
		}
	}()
	for send := range sends {
		send()
	}
}
