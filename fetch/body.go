package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/web"
)

// A body flows through two intakes, and the second pulls the first along: when
// enough has been decoded, no more is received. Without a content coding the
// first does for both.
//
//	connection ─► intake (Raw) ─► decoders ─► intake (Body)

// typeError says that a document is of a type not asked for.
type typeError struct{ what string }

func (e *typeError) Error() string { return e.what }

// errTooLong ends an intake at its limit.
var errTooLong = errors.New("longer than the limit")

// errCoding is wrapped when a body is not what its Content-Encoding says.
var errCoding = errors.New("broken Content-Encoding")

// maxCodings bounds the codings laid over one another in a response.
const maxCodings = 3

// sniffed is how much of a document a guess at its type takes.
const sniffed = 512

// readBody fills Raw, Body and Truncated of out. The error says why a
// document brought nothing; other responses bring what they can.
func (c *client) readBody(within context.Context, in *http.Response, out *web.Response) error {
	document := in.StatusCode < 300
	limit := min(c.maxBody, maxErrorBody)
	contentType := in.Header.Get("Content-Type")
	if document {
		limit = c.maxBody
		if contentType != "" && !c.wants(contentType) {
			return &typeError{fmt.Sprintf("status %d, Content-Type %.100q, %s", in.StatusCode, contentType, size(in.ContentLength))}
		}
	}

	raw := c.buffers.intake(in.Body, limit, in.ContentLength)
	body := raw
	defer func() { // also on errors, so that buffers return
		out.Raw = c.buffers.finish(raw)
		out.Body = out.Raw
		if body != raw {
			out.Body = c.buffers.finish(body)
		}
	}()
	raw.fill(1)
	if codings := codings(in.Header["Content-Encoding"]); len(codings) > maxCodings {
		return fmt.Errorf("%w: %d laid over one another", errCoding, len(codings))
	} else if len(codings) > 0 && len(raw.data) > 0 {
		src, release := c.decoders.stack(codings, raw)
		defer release()
		body = c.buffers.intake(src, limit, -1)
	}

	if document && contentType == "" {
		body.fill(sniffed)
		if guess := sniff(body.data); len(body.data) > 0 && !c.wants(guess) {
			return &typeError{fmt.Sprintf("status %d, no Content-Type, looks like %s, %s", in.StatusCode, guess, size(in.ContentLength))}
		}
	}
	body.fill(limit + 1)
	if body != raw && body.err == io.EOF {
		raw.fill(limit + 1) // what trails the coded stream, so that the connection can be used again
	}
	err := body.err
	switch {
	case err == io.EOF:
		return nil
	case raw.err == nil || raw.err == io.EOF || raw.err == errTooLong:
		if err != errTooLong && raw.err != errTooLong { // so the decoder failed by itself
			out.Truncated = "disconnect"
			err = fmt.Errorf("%w: %w", errCoding, err)
			break
		}
		out.Truncated = "length"
		return nil
	case within.Err() != nil:
		out.Truncated = "time"
		err = context.DeadlineExceeded
	default:
		out.Truncated = "disconnect"
		err = raw.err
	}
	if document && len(body.data) == 0 {
		return err
	}
	return nil
}

func size(n int64) string {
	if n < 0 {
		return "size unknown"
	}
	return fmt.Sprintf("%d bytes", n)
}

// intake reads a source into memory, at most limit bytes. It reads as a
// stream, too, of the bytes it keeps.
type intake struct {
	src    io.Reader
	data   []byte
	limit  int
	pos    int   // of Read in data
	err    error // that ended the source; io.EOF when it is whole
	pooled *[]byte
	probe  [1]byte
}

// fill reads until there are n bytes, or err is set.
func (in *intake) fill(n int) {
	for len(in.data) < n && in.err == nil {
		in.more()
	}
}

// more reads once. A full buffer grows only when there is something to put
// in, so a body of exactly the announced length stays where it is.
func (in *intake) more() {
	var n int
	if len(in.data) < cap(in.data) {
		n, in.err = in.src.Read(in.data[len(in.data):cap(in.data)])
		in.data = in.data[:len(in.data)+n]
	} else {
		n, in.err = in.src.Read(in.probe[:])
		in.data = append(in.data, in.probe[:n]...)
	}
	if len(in.data) > in.limit {
		in.data, in.err = in.data[:in.limit], errTooLong
	}
}

// Read and ReadByte give out what is kept, and read on when that is used up.
func (in *intake) Read(p []byte) (int, error) {
	in.fill(in.pos + 1)
	if in.pos == len(in.data) {
		return 0, in.err
	}
	n := copy(p, in.data[in.pos:])
	in.pos += n
	return n, nil
}

func (in *intake) ReadByte() (byte, error) {
	in.fill(in.pos + 1)
	if in.pos == len(in.data) {
		return 0, in.err
	}
	in.pos++
	return in.data[in.pos-1], nil
}

// buffers lends memory to intakes whose size is not known beforehand.
type buffers struct{ pool sync.Pool } // of *[]byte

const (
	bufferStart = 64 << 10  // of a lent buffer
	bufferKept  = 256 << 10 // a buffer that grew beyond is given away
)

// intake returns an intake of src, which announces size bytes, -1 for unknown.
// An announcement is believed up to bufferKept.
func (b *buffers) intake(src io.Reader, limit int, size int64) *intake {
	in := &intake{src: src, limit: limit}
	if size >= 0 && size <= bufferKept {
		in.data = make([]byte, 0, size)
		return in
	}
	in.pooled, _ = b.pool.Get().(*[]byte)
	if in.pooled == nil {
		lent := make([]byte, 0, bufferStart)
		in.pooled = &lent
	}
	in.data = (*in.pooled)[:0]
	return in
}

// finish returns what in has read and takes back what it was lent.
func (b *buffers) finish(in *intake) []byte {
	if in.pooled == nil || cap(in.data) > bufferKept {
		return in.data
	}
	kept := bytes.Clone(in.data)
	*in.pooled = in.data[:0]
	b.pool.Put(in.pooled)
	return kept
}

// codings lists the content codings of a response that mean something, in the
// order they were applied. Words that are no coding ("none", "utf-8") are
// passed over, as browsers do.
func codings(header []string) (list []string) {
	for _, line := range header {
		for name := range strings.SplitSeq(line, ",") {
			switch name = strings.ToLower(strings.TrimSpace(name)); name {
			case "gzip", "br", "zstd", "deflate":
				list = append(list, name)
			case "x-gzip":
				list = append(list, "gzip")
			}
		}
	}
	return list
}

// maxWindow is the memory a zstd stream may ask for (RFC 9659).
const maxWindow = 8 << 20

// decoders keeps decoders for reuse; making one costs more than a page.
type decoders struct{ gzip, zstd, br sync.Pool }

// stack lays the decoders of codings over src, the last applied first. They
// open when first read. release takes them back.
func (d *decoders) stack(codings []string, src io.Reader) (out io.Reader, release func()) {
	layers := make([]*layer, 0, len(codings))
	for i := len(codings) - 1; i >= 0; i-- {
		l := &layer{d: d, coding: codings[i], src: src}
		layers = append(layers, l)
		src = l
	}
	return src, func() {
		for _, l := range layers {
			l.close()
		}
	}
}

// layer undoes one content coding.
type layer struct {
	d      *decoders
	coding string
	src    io.Reader
	r      io.Reader // nil until opened
	err    error
	read   bool // something was decoded
}

func (l *layer) Read(p []byte) (int, error) {
	if l.r == nil && l.err == nil {
		l.r, l.err = l.d.open(l.coding, l.src)
	}
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.r.Read(p)
	l.read = l.read || n > 0
	if l.coding == "gzip" && l.read && errors.Is(err, gzip.ErrHeader) {
		err = io.EOF // padding behind the last member, which nobody minds
	}
	l.err = err
	return n, err
}

// open returns a decoder of src.
func (d *decoders) open(coding string, src io.Reader) (io.Reader, error) {
	switch coding {
	case "gzip":
		z, _ := d.gzip.Get().(*gzip.Reader)
		if z == nil {
			z = new(gzip.Reader)
		}
		if err := z.Reset(src); err != nil {
			d.gzip.Put(z)
			return nil, err
		}
		return z, nil
	case "zstd":
		z, _ := d.zstd.Get().(*zstd.Decoder)
		if z == nil {
			var err error
			if z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)); err != nil {
				return nil, err
			}
		}
		return z, z.Reset(src)
	case "br":
		z, _ := d.br.Get().(*brotli.Reader)
		if z == nil {
			z = new(brotli.Reader)
		}
		return z, z.Reset(src)
	}
	// "deflate" is zlib by the standard, and the bare stream in some servers.
	b := bufio.NewReader(src)
	start, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if start[0]&0x0f == 8 && (int(start[0])<<8|int(start[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// close gives the decoder back, free of its source.
func (l *layer) close() {
	none := strings.NewReader("")
	switch z := l.r.(type) {
	case *gzip.Reader:
		z.Reset(none)
		l.d.gzip.Put(z)
	case *zstd.Decoder:
		z.Reset(none)
		l.d.zstd.Put(z)
	case *brotli.Reader:
		z.Reset(none)
		l.d.br.Put(z)
	}
}
