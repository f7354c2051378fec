package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	mathbits "math/bits"
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

// errTooLong ends an intake at its limit.
var errTooLong = errors.New("longer than the limit")

// errCoding is wrapped when a body is not what its Content-Encoding says.
var errCoding = errors.New("broken Content-Encoding")

// readBody fills Raw, Body and Truncated of out. The error says why a
// document brought nothing; other responses bring what they can. The body is
// counted in s, which has so many bytes reserved for it.
func (c *client) readBody(ctx context.Context, t *timer, in *http.Response, out *web.Response, s *share, reserved int) error {
	document := in.StatusCode < 300
	limit := min(c.maxBody, maxErrorBody)
	look := document && c.types.Look(in.Header.Get("Content-Type"))
	if document {
		limit = c.maxBody
		if !look {
			if f := c.types.Refuse(out, nil, in.ContentLength); f != nil {
				return f
			}
		}
	}
	codings := web.Codings(in.Header["Content-Encoding"])
	if len(codings) > web.MaxCodings {
		return fmt.Errorf("%w: %d laid over one another", errCoding, len(codings))
	}
	weight := 1 // of a byte of the decoded body
	if document {
		weight += treeFactor
	}

	raw := c.buffers.intake(in.Body, limit, in.ContentLength)
	raw.within, raw.hold, raw.share, raw.weight = ctx, t.hold, s, 1
	if len(codings) == 0 {
		raw.weight = weight
	}
	raw.counted = reserved
	body := raw
	defer func() { // also on errors, so that buffers return
		out.Raw = c.buffers.finish(raw)
		out.Body = out.Raw
		if body != raw {
			out.Body = c.buffers.finish(body)
		}
	}()
	raw.count(cap(raw.data))
	raw.fill(1)
	if len(codings) > 0 && len(raw.data) > 0 {
		window, once := windows(codings, raw)
		if err := s.grow(ctx, window, t.hold); err != nil {
			return err
		}
		src, release := c.decoders.stack(codings, raw, limit+codingRoom, window > windowKept)
		defer release()
		body = c.buffers.intake(src, limit, -1)
		weight += once
		body.within, body.hold, body.share, body.weight = ctx, t.hold, s, weight
		body.count(cap(body.data))
	}

	if look {
		body.fill(sniffed)
		if f := c.types.Refuse(out, body.data, in.ContentLength); f != nil {
			return f
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
	case t.over():
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

// intake reads a source into memory, at most limit bytes. It reads as a
// stream, too, of the bytes it keeps.
type intake struct {
	src    io.Reader
	data   []byte
	limit  int
	size   int   // that the source announces; -1 for unknown
	pos    int   // of Read in data
	err    error // that ended the source; io.EOF when it is whole
	pooled *[]byte
	probe  [1]byte

	// Where memory is counted: the share that the buffer is counted in, how often
	// each of its bytes is, and what is counted now.
	within  context.Context
	hold    func(bool)
	share   *share
	weight  int
	counted int
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
	if len(in.data) < cap(in.data) {
		var n int
		n, in.err = in.src.Read(in.data[len(in.data):cap(in.data)])
		in.data = in.data[:len(in.data)+n]
		if len(in.data) > in.limit {
			in.data, in.err = in.data[:in.limit], errTooLong
		}
		return
	}
	n, err := in.src.Read(in.probe[:])
	switch {
	case n > 0 && len(in.data) == in.limit:
		err = errTooLong
	case n > 0:
		if in.err = in.grow(); in.err != nil {
			return
		}
		in.data = append(in.data, in.probe[0])
	}
	in.err = err
}

// grow doubles the buffer, but not beyond the limit, nor beyond the size
// announced.
func (in *intake) grow() error {
	was := cap(in.data)
	room := min(max(2*was, bufferStart), in.limit)
	if in.size > was {
		room = min(room, in.size)
	}
	if err := in.count(room); err != nil {
		return err
	}
	if err := in.share.grow(in.within, was, in.hold); err != nil { // there are two while it is copied
		return err
	}
	in.data = append(make([]byte, 0, room), in.data...)
	in.share.shrink(was)
	return nil
}

// count counts a buffer of n bytes. The error is that of the wait for room.
func (in *intake) count(n int) error {
	n *= in.weight
	if n <= in.counted {
		in.share.shrink(in.counted - n)
	} else if err := in.share.grow(in.within, n-in.counted, in.hold); err != nil {
		in.err = err
		return err
	}
	in.counted = n
	return nil
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
	in := &intake{src: src, limit: limit, size: int(min(size, math.MaxInt)), weight: 1}
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

// finish returns what in has read and takes back what it was lent. Then the
// buffer is counted, and the rest of its weight for what was read into it.
func (b *buffers) finish(in *intake) []byte {
	kept := in.data
	if in.pooled != nil && cap(in.data) <= bufferKept {
		kept = bytes.Clone(in.data)
		*in.pooled = in.data[:0]
		b.pool.Put(in.pooled)
	}
	left := cap(kept) + len(kept)*(in.weight-1)
	in.share.shrink(in.counted - left)
	in.counted = left
	return kept
}

// maxWindow is the memory a zstd stream may ask for (RFC 9659).
const maxWindow = 8 << 20

// windows tells what the decoders of codings take beside what they give out: so
// many bytes from the beginning, and times the bytes that they give out. That of
// gzip is too small to matter.
func windows(codings []string, raw *intake) (bytes, times int) {
	for i, coding := range codings {
		last := i == len(codings)-1 // and so the one in which the bytes come
		switch coding {
		case "zstd":
			size := uint64(maxWindow)
			var h zstd.Header
			if last {
				raw.fill(zstd.HeaderMaxSize)
				if h.Decode(raw.data) == nil {
					size = min(size, cmp.Or(h.WindowSize, h.FrameContentSize))
				}
			}
			bytes += int(size)
		case "br":
			times++ // as far as the first meta-block does not tell
			if last {
				raw.fill(brotliHead)
				bytes += brotliWindow(raw.data)
			}
		}
	}
	return bytes, times
}

// brotliHead is how many bytes brotliWindow reads.
const brotliHead = 5

// brotliWindow is what a decoder takes for the first meta-block of a stream: the
// power of two from its length on, or the whole window if that is smaller.
// Source: RFC 7932, sections 9.1 and 9.2.
func brotliWindow(start []byte) int {
	var bits uint64
	for i, b := range start[:min(len(start), brotliHead)] {
		bits |= uint64(b) << (8 * i)
	}
	take := func(n int) (v uint64) {
		v = bits & (1<<n - 1)
		bits >>= n
		return v
	}
	window := 16
	if take(1) == 1 {
		if n := int(take(3)); n > 0 {
			window = 17 + n
		} else if m := int(take(3)); m > 1 {
			window = 8 + m
		} else {
			window = 17
		}
	}
	if last := take(1) == 1; last && take(1) == 1 {
		return 0 // nothing comes
	}
	nibbles := int(take(2)) + 4
	if nibbles == 7 { // none of its own
		return 0
	}
	length := take(4*nibbles) + 1
	return 1 << min(window, mathbits.Len64(length-1))
}

// decoders keeps decoders for reuse; making one costs more than a page. Those
// that have seen a large one are given away: they would keep their windows.
type decoders struct{ gzip, zstd, br sync.Pool }

// windowKept is the largest window of a decoder that is used again, and the most
// that it may have given out.
const windowKept = 1 << 20

// codingRoom is how many bytes a coded body may be longer than what it stands for.
const codingRoom = 1 << 20

// stack lays the decoders of codings over src, the last applied first. They
// open when first read. release takes them back, unless they are large.
//
// What another decoder reads is at most so many bytes: a coding of nothing takes some and
// gives none, so that a few kilobytes could keep the last one busy for hours.
func (d *decoders) stack(codings []string, src io.Reader, most int, large bool) (out io.Reader, release func()) {
	layers := make([]*layer, 0, len(codings))
	for i := len(codings) - 1; i >= 0; i-- {
		l := &layer{d: d, coding: codings[i], src: src, most: most, large: large}
		if i == 0 {
			l.most = math.MaxInt // who reads it bounds it
		}
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
	read   int  // bytes decoded
	most   int  // of them
	large  bool // it has a large window
}

func (l *layer) Read(p []byte) (int, error) {
	if l.r == nil && l.err == nil {
		l.r, l.err = l.d.open(l.coding, l.src)
	}
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.r.Read(p)
	l.read += n
	switch {
	case l.read > l.most:
		err = errTooLong
	case l.trails(err):
		err = io.EOF
	}
	l.err = err
	return n, err
}

// trails tells the error of a decoder for bytes behind a whole stream, such as a line break or padding, which
// browsers do not mind either. Those behind gzip are passed over by members. Fewer than four behind zstd are not told
// from a frame that is cut.
func (l *layer) trails(err error) bool {
	return err != nil && (l.coding == "zstd" && l.read > 0 && errors.Is(err, zstd.ErrMagicMismatch) ||
		l.coding == "br" && err.Error() == "brotli: excessive input") // its package gives that no name
}

// members is a decoder of gzip, one member after the other. What stands behind a member and does not begin as one
// is passed over: gzip.Reader would take it for a header that is damaged or cut.
type members struct {
	gzip.Reader
	src bufio.Reader
}

// Reset begins with the first member of src.
func (m *members) Reset(src io.Reader) error {
	m.src.Reset(src)
	return m.next()
}

func (m *members) next() error {
	err := m.Reader.Reset(&m.src)
	m.Multistream(false)
	return err
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.Reader.Read(p)
		if err != io.EOF {
			return n, err
		}
		start, err := m.src.Peek(len(gzipStart))
		switch {
		case err != nil && err != io.EOF:
			return n, err
		case string(start) != gzipStart:
			return n, io.EOF
		}
		if err := m.next(); err != nil || n > 0 {
			return n, err
		}
	}
}

// gzipStart is what a member begins with: its magic number, and deflate. Source: RFC 1952, section 2.3.1.
const gzipStart = "\x1f\x8b\x08"

// open returns a decoder of src.
func (d *decoders) open(coding string, src io.Reader) (io.Reader, error) {
	switch coding {
	case "gzip":
		z, _ := d.gzip.Get().(*members)
		if z == nil {
			z = new(members)
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
	case *members:
		z.Reset(none)
		l.d.gzip.Put(z)
	case *zstd.Decoder:
		if l.read <= windowKept && !l.large {
			z.Reset(none)
			l.d.zstd.Put(z)
		} else {
			z.Close()
		}
	case *brotli.Reader:
		if l.read <= windowKept {
			z.Reset(none)
			l.d.br.Put(z)
		}
	}
}
