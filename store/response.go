package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/web"
)

// ReadResponse makes a response of a "response" or "resource" record: it is
// what Encode was given, without the request's head. Of a "revisit" record it is what
// the server answered, with Revisit: the body lies elsewhere. The block and the decoded
// body are bounded by limit bytes each; what is longer is cut, and the response
// marked as truncated. A chunked body, as some tools keep it, is unchunked.
//
// A body whose content coding is broken is no error: Body is then what could be decoded,
// or Raw itself where nothing could be, or codings are laid over one another beyond
// web.MaxCodings.
func ReadResponse(rec *Record, limit int64) (*web.Response, error) {
	place := func(err error) error { return &Damage{File: rec.File, Offset: rec.Offset, Err: err} }
	u, err := web.Parse(rec.Target())
	if err != nil {
		return nil, place(err)
	}
	data, err := io.ReadAll(io.LimitReader(rec.Block, limit))
	if err != nil {
		return nil, place(err)
	}
	p := &web.Response{URL: u, Started: rec.Date(), Remote: remote(rec), Truncated: rec.Get("WARC-Truncated"), Record: rec.Get("WARC-Record-ID"), Concealed: concealed(rec)}
	if rec.Length > limit {
		p.Truncated = "length"
	}
	switch rec.Type() {
	case "resource":
		p.Status = 200
		p.Header = web.Header{"Content-Type": {rec.Get("Content-Type")}}
		p.Raw = data
	case "response":
		if err := splitResponse(p, data); err != nil {
			return nil, place(err)
		}
	case "revisit":
		if err := splitResponse(p, data); err != nil {
			return nil, place(err)
		}
		at, _ := time.Parse(time.RFC3339Nano, rec.Get("WARC-Refers-To-Date")) // zero: unknown
		p.Revisit = &web.Revisit{
			NotModified: strings.HasSuffix(rec.Get("WARC-Profile"), "/server-not-modified"),
			Head:        p.Head, Record: rec.Get("WARC-Refers-To"), At: at,
		}
	default:
		return nil, place(fmt.Errorf("a record of type %q holds no response", rec.Type()))
	}
	if p.Status >= 300 && p.Status < 400 {
		if to := get(p.Header, "Location"); to != "" && !web.IsConcealed(to) {
			p.Location, _ = web.Canon{}.Resolve(u, to) // zero: unusable
		}
	}
	p.Body = p.Raw
	if codings := web.Codings(p.Header["Content-Encoding"]); len(codings) > 0 && len(codings) <= web.MaxCodings && len(p.Raw) > 0 {
		if n, err := strconv.ParseInt(rec.Get(decodedLength), 10, 64); err == nil && n > 0 {
			limit = min(limit, n)
		}
		body, cut := decode(p.Raw, codings, limit)
		if body != nil {
			p.Body = body
		}
		if cut {
			p.Truncated = "length"
		}
	}
	return p, nil
}

// ReadRendering reads a "conversion" record: the document that a browser made of the response
// whose record of names, which follows it in archives of waggle. What is longer than limit
// bytes is cut.
func ReadRendering(rec *Record, limit int64) (by *web.Rendering, of string, err error) {
	data, err := io.ReadAll(io.LimitReader(rec.Block, limit))
	if err != nil {
		return nil, "", &Damage{File: rec.File, Offset: rec.Offset, Err: err}
	}
	by = &web.Rendering{Body: data, Started: rec.Date(), Concealed: concealed(rec)}
	if rec.Get("WARC-Truncated") != "" || rec.Length > limit {
		by.Ended = web.ReasonRenderSize
	}
	return by, rec.Get("WARC-Refers-To"), nil
}

// ResponseAt reads the response at a place, or the one that follows the conversion there,
// with that as its rendering. rec is the record of the response. A gzip member whose checksum
// is wrong is a *Damage: damage may leave the length of a body as it was. The rest is as for
// ReadResponse.
func (r *Reader) ResponseAt(offset, inner, limit int64) (p *web.Response, rec *Record, err error) {
	if rec, err = r.At(offset, inner); err != nil {
		return nil, nil, err
	}
	var by *web.Rendering
	var of string
	if rec.Type() == "conversion" {
		if by, of, err = ReadRendering(rec, limit); err != nil {
			return nil, nil, err
		}
		if rec, err = r.Next(); err != nil {
			return nil, nil, err
		}
	}
	if p, err = ReadResponse(rec, limit); err != nil {
		return nil, rec, err
	}
	if r.zipped && rec.Length <= limit {
		if err := r.whole(); err != nil {
			return nil, rec, r.damage(offset, err)
		}
	}
	if by != nil && rec.Get("WARC-Record-ID") == of {
		p.Rendering = by
	}
	return p, rec, nil
}

// Asked tells whether a record is the response to a request that a page made while a browser
// rendered it.
func (r *Record) Asked() bool { return r.Get(resourceType) != "" && r.Get(resourceType) != "document" }

// concealed is how many places of a record are concealed.
func concealed(rec *Record) int {
	n, _ := strconv.Atoi(rec.Get(concealedPlaces)) // 0: nobody said so
	return max(n, 0)
}

func remote(rec *Record) string { return rec.Get("WARC-IP-Address") }

func get(h web.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// splitResponse takes an HTTP message apart: status line, header, body.
func splitResponse(p *web.Response, data []byte) error {
	head, body := splitHead(data)
	if len(head) > maxHeader {
		return fmt.Errorf("a head of more than %d bytes", maxHeader)
	}
	p.Raw = body
	p.Head = bytes.TrimRight(head, "\r\n")
	p.Header = web.Header{}
	var last string
	folded := 0
	first := true
	for line := range bytes.Lines(head) {
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case first:
			first = false
			proto, rest, _ := strings.Cut(text, " ")
			code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
			status, err := strconv.Atoi(code)
			if !strings.HasPrefix(proto, "HTTP/") || err != nil || status < 100 || status > 999 {
				return fmt.Errorf("%.80q is not the status line of an HTTP response", text)
			}
			p.Proto, p.Status = proto, status
		case text == "":
		case text[0] == ' ' || text[0] == '\t':
			if folded++; folded > maxFolded {
				return fmt.Errorf("a head of more than %d folded lines", maxFolded)
			}
			if v := p.Header[last]; len(v) > 0 {
				v[len(v)-1] += " " + strings.TrimSpace(text)
			}
		default:
			name, value, ok := strings.Cut(text, ":")
			if !ok {
				continue
			}
			last = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
			p.Header[last] = append(p.Header[last], strings.TrimSpace(value))
		}
	}
	if first {
		return errors.New("an empty response")
	}
	if strings.EqualFold(get(p.Header, "Transfer-Encoding"), "chunked") {
		if plain, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(p.Raw))); err == nil {
			p.Raw = plain
		}
	}
	return nil
}

// splitHead cuts behind the empty line that ends a message's head.
func splitHead(data []byte) (head, body []byte) {
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return data, nil
		}
		at += i + 1
		rest := data[at:]
		switch {
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return data[:at], rest[2:]
		case bytes.HasPrefix(rest, []byte("\n")):
			return data[:at], rest[1:]
		}
	}
}

// decode undoes content codings, the last applied first. It returns nil when
// nothing can be decoded, and whether the result was cut at limit.
func decode(raw []byte, codings []string, limit int64) (body []byte, cut bool) {
	var src io.Reader = bytes.NewReader(raw)
	for i, coding := range slices.Backward(codings) {
		if i < len(codings)-1 {
			// A coding of nothing takes some bytes and gives none: without a bound here a few kilobytes
			// could be 10⁹ of them.
			src = &bounded{r: src, left: limit + codingRoom}
		}
		switch coding {
		case "gzip":
			gz, err := gzip.NewReader(src)
			if err != nil {
				return nil, false
			}
			src = gz
		case "deflate":
			// Named after one format and sent as either.
			br := bufio.NewReader(src)
			if h, err := br.Peek(2); err == nil && h[0]&0x0f == 8 && (int(h[0])<<8|int(h[1]))%31 == 0 {
				z, err := zlib.NewReader(br)
				if err != nil {
					return nil, false
				}
				src = z
			} else {
				src = flate.NewReader(br)
			}
		case "br":
			src = brotli.NewReader(src)
		case "zstd":
			z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(64<<20))
			if err != nil {
				return nil, false
			}
			defer z.Close()
			src = z
		}
	}
	body, err := io.ReadAll(io.LimitReader(src, limit+1)) // a broken end keeps what came before
	switch {
	case int64(len(body)) > limit:
		return body[:limit], true
	case len(body) == 0 && err != nil:
		return nil, false
	}
	return body, false
}

// codingRoom is how many bytes a coded body may be longer than what it stands for.
const codingRoom = 1 << 20

// bounded reads at most so many bytes, and fails behind them.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("a coded body that is much longer than what it stands for")
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
