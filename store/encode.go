package store

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// DefaultLevel is the gzip level of records. Level 5 takes near twice its time for a tenth
// less bytes of pages that were sent as they are, and no level makes less of those that were sent
// compressed. See docs/results/speed.md.
const DefaultLevel = 1

// The media types of record blocks.
const (
	typeFields   = "application/warc-fields"
	typeRequest  = "application/http;msgtype=request"
	typeResponse = "application/http;msgtype=response"
	typeRendered = "text/html; charset=utf-8"
)

// resourceType is the field of a response that a page asked for: "script", "fetch", "xhr"; or
// that was asked for beside it: "other".
// Other tools know it too.
const resourceType = "WARC-Resource-Type"

// concealedPlaces is the field of a record in which something is concealed: it counts the places of the body, or of
// the document, in which web.Concealed stands for what the server sent.
const concealedPlaces = "Waggle-Concealed"

// decodedLength is the field of a response whose body was cut after so many bytes once they were
// decoded: what the archive has of it in its coding may decode to more.
const decodedLength = "WARC-Decoded-Length"

// dateFormat is WARC-Date with microseconds, as WARC/1.1 allows.
const dateFormat = "2006-01-02T15:04:05.000000Z"

// encoder renders exchanges as records at one gzip level.
type encoder struct {
	level int
	pool  sync.Pool // of *renderer
}

// renderer is the memory that rendering one exchange needs.
type renderer struct {
	out   bytes.Buffer // gzip members
	head  []byte       // the record's header
	block []byte       // head of the message, or all of a small block
	gz    *gzip.Writer
}

func (e *encoder) get() *renderer {
	if r, ok := e.pool.Get().(*renderer); ok {
		r.out.Reset()
		return r
	}
	r := &renderer{}
	gz, err := gzip.NewWriterLevel(&r.out, e.level)
	if err != nil {
		panic(err) // prepare has checked the level
	}
	r.gz = gz
	return r
}

func (e *encoder) put(r *renderer) {
	if r.out.Cap() <= 4<<20 {
		e.pool.Put(r)
	}
}

// Encode renders an exchange as records: the robots.txt exchange fetched on
// the way, that of the file of the site, what a browser made of the response, the response, the request, and the
// metadata. Equal exchanges give equal bytes: record ids are made from the address and the moment of the
// request. The error says that x has no response or that its response has no
// address.
func (e *encoder) Encode(x web.Exchange) ([]byte, error) {
	if x.Response == nil {
		return nil, errors.New("archive: an exchange without a response")
	}
	r := e.get()
	defer e.put(r)
	if err := r.robots(x.Response.Robots); err != nil {
		return nil, err
	}
	if err := r.siteFile(x.Response.SiteFile); err != nil {
		return nil, err
	}
	if err := r.rendering(x.Response); err != nil {
		return nil, err
	}
	if err := r.exchange(x.Response, &x, ""); err != nil {
		return nil, err
	}
	return bytes.Clone(r.out.Bytes()), nil
}

// EncodeResponse renders a response, with what a browser made of it and its request
// where those are known, and no metadata.
func (e *encoder) EncodeResponse(p *web.Response) ([]byte, error) {
	r := e.get()
	defer e.put(r)
	if err := r.rendering(p); err != nil {
		return nil, err
	}
	if err := r.exchange(p, nil, ""); err != nil {
		return nil, err
	}
	return bytes.Clone(r.out.Bytes()), nil
}

// exchange writes the records of one response; x is nil for one that has
// no metadata, as robots.txt. kind is what a page asked for it as, "" for a page itself.
func (r *renderer) exchange(p *web.Response, x *web.Exchange, kind string) error {
	if p.URL.IsZero() {
		return errors.New("archive: a response without an address")
	}
	id := recordID("response", p.URL.String(), p.Started)
	common := func(kind, id string) {
		r.begin(kind, id, p.Started)
		r.field("WARC-Target-URI", p.URL.String())
	}
	ip := ""
	if a, err := netip.ParseAddrPort(p.Remote); err == nil {
		ip = a.Addr().WithZone("").Unmap().String()
	}
	provenance := func() {
		if ip != "" {
			r.field("WARC-IP-Address", ip)
		}
		if protocol := protocolName(p.Proto); protocol != "" {
			r.field("WARC-Protocol", protocol)
		}
	}

	record := "response"
	if p.Revisit != nil {
		record = "revisit"
	}
	common(record, id)
	provenance()
	if p.Revisit != nil {
		r.refersTo(p)
	}
	if x != nil && x.Page != nil && x.Page.MIME != "" {
		r.field("WARC-Identified-Payload-Type", x.Page.MIME)
	}
	if kind != "" {
		r.field(resourceType, kind)
	}
	if p.Truncated != "" {
		r.field("WARC-Truncated", p.Truncated)
	}
	r.concealed(p.Concealed)
	if p.Truncated == "length" && isCompressed(p.Header) && len(p.Body) > 0 {
		r.field(decodedLength, strconv.Itoa(len(p.Body)))
	}
	r.field("WARC-Payload-Digest", sha1Digest(p.Raw))
	r.field("Content-Type", typeResponse)
	if p.Revisit != nil {
		r.responseHead(&web.Response{Status: http.StatusNotModified, Head: p.Revisit.Head})
		r.finish(nil)
	} else {
		r.responseHead(p)
		r.finish(p.Raw)
	}

	if len(p.RequestHead) > 0 {
		common("request", recordID("request", p.URL.String(), p.Started))
		provenance()
		r.field("WARC-Concurrent-To", id)
		r.field("Content-Type", typeRequest)
		r.block = append(append(r.block[:0], p.RequestHead...), "\r\n\r\n"...)
		r.finish(nil)
	}

	if x != nil {
		common("metadata", recordID("metadata", p.URL.String(), p.Started))
		r.field("WARC-Concurrent-To", id)
		r.field("Content-Type", typeFields)
		m := metaOf(x)
		r.block = m.append(r.block[:0])
		r.finish(nil)
	}
	return nil
}

// begin starts a record's header.
func (r *renderer) begin(kind, id string, at time.Time) {
	r.head = append(r.head[:0], "WARC/1.1\r\n"...)
	r.field("WARC-Type", kind)
	r.field("WARC-Record-ID", id)
	r.field("WARC-Date", at.UTC().Format(dateFormat))
}

// concealed adds how many places are concealed.
func (r *renderer) concealed(n int) {
	if n > 0 {
		r.field(concealedPlaces, strconv.Itoa(n))
	}
}

// field adds a line to a record's header; line breaks in value become spaces.
func (r *renderer) field(name, value string) { r.head = appendField(r.head, name, value) }

func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	from := len(b)
	b = append(b, value...)
	for i, c := range b[from:] {
		if c == '\r' || c == '\n' || c == 0 {
			b[from+i] = ' '
		}
	}
	return append(b, "\r\n"...)
}

// finish adds length and digest to the header and writes header, r.block and
// rest as one gzip member.
func (r *renderer) finish(rest []byte) {
	sum := sha1.New()
	sum.Write(r.block)
	sum.Write(rest)
	r.field("WARC-Block-Digest", digestText(sum.Sum(nil)))
	r.head = append(r.head, "Content-Length: "...)
	r.head = strconv.AppendInt(r.head, int64(len(r.block)+len(rest)), 10)
	r.head = append(r.head, "\r\n\r\n"...)

	r.gz.Reset(&r.out)
	for _, part := range [][]byte{r.head, r.block, rest, []byte("\r\n\r\n")} {
		if len(part) > 0 {
			r.gz.Write(part) // writes to memory: cannot fail
		}
	}
	r.gz.Close()
}

// responseHead puts the head of a response, made up from status and header
// where none was recorded, and the empty line into r.block.
func (r *renderer) responseHead(p *web.Response) {
	r.block = r.block[:0]
	if len(p.Head) == 0 {
		r.block = fmt.Appendf(r.block, "HTTP/1.1 %03d %s\r\n", p.Status, http.StatusText(p.Status))
		keys := make([]string, 0, len(p.Header))
		for k := range p.Header {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			for _, v := range p.Header[k] {
				r.block = appendField(r.block, k, v)
			}
		}
		r.block = append(r.block, "\r\n"...)
		return
	}
	for line := range bytes.Lines(p.Head) {
		const coding = "transfer-encoding"
		if name, _, ok := bytes.Cut(line, []byte(":")); ok && strings.EqualFold(string(bytes.TrimSpace(name)), coding) {
			r.block = append(r.block, "X-Crawler-"...)
		}
		r.block = append(r.block, line...)
	}
	if !bytes.HasSuffix(r.block, []byte("\n")) {
		r.block = append(r.block, "\r\n"...)
	}
	r.block = append(r.block, "\r\n"...)
}

// info renders the warcinfo record that starts or ends a file, with one more
// field.
func (a *Archive) info(name string, more [2]string) []byte {
	r := a.get()
	defer a.put(r)
	now := a.opt.Now()
	r.begin("warcinfo", recordID("warcinfo", name, now), now)
	r.field("WARC-Filename", name)
	r.field("Content-Type", typeFields)
	r.block = r.block[:0]
	for _, f := range [][2]string{
		{"software", a.opt.Software},
		{"operator", a.opt.Operator},
		{"isPartOf", a.opt.Job},
		{"robots", a.opt.Robots},
		{"format", "WARC File Format 1.1"},
		{"conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
		more,
	} {
		if f[1] != "" {
			r.block = appendField(r.block, f[0], f[1])
		}
	}
	r.finish(nil)
	return bytes.Clone(r.out.Bytes())
}

// Placeholder renders a file of one record, to stand where a file of an archive is
// missing: the others keep their numbers. at is the record's date.
func Placeholder(name string, at time.Time) []byte {
	return infoAt(name, at, [2]string{"description", "the file that had this name was lost; this one stands in its place"})
}

// Closing renders the record that ends a file which another follows. at is its date.
func Closing(name string, at time.Time) []byte {
	return infoAt(name, at, [2]string{closedField, name})
}

func infoAt(name string, at time.Time, more [2]string) []byte {
	a := &Archive{opt: Options{Now: func() time.Time { return at }}}
	a.level = DefaultLevel
	return a.info(name, more)
}

// Copy renders a record read from another file, its header unchanged, as a
// gzip member to be appended; block is the record's whole block. Only the
// version and Content-Length are written anew.
func (a *Archive) Copy(rec *Record, block []byte) []byte {
	r := a.get()
	defer a.put(r)
	r.head = append(r.head[:0], "WARC/"...)
	r.head = append(append(r.head, rec.Version...), "\r\n"...)
	for _, f := range rec.Fields {
		if !strings.EqualFold(f.Name, "Content-Length") {
			r.field(f.Name, f.Value)
		}
	}
	r.head = append(r.head, "Content-Length: "...)
	r.head = strconv.AppendInt(r.head, int64(len(block)), 10)
	r.head = append(r.head, "\r\n\r\n"...)
	r.gz.Reset(&r.out)
	r.gz.Write(r.head) // writes to memory: cannot fail
	r.gz.Write(block)
	r.gz.Write([]byte("\r\n\r\n"))
	r.gz.Close()
	return bytes.Clone(r.out.Bytes())
}

// recordID is a UUID (version 8: of our own making) that depends on nothing
// but its arguments.
func recordID(kind, subject string, at time.Time) string {
	h := xxh3.HashString128(kind + " " + strconv.FormatInt(at.UnixNano(), 10) + " " + subject).Bytes()
	h[6] = h[6]&0x0f | 0x80
	h[8] = h[8]&0x3f | 0x80
	b := append(make([]byte, 0, len("<urn:uuid:>")+36), "<urn:uuid:"...)
	for i, part := range [...][]byte{h[0:4], h[4:6], h[6:8], h[8:10], h[10:16]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return string(append(b, '>'))
}

func sha1Digest(b []byte) string {
	sum := sha1.Sum(b)
	return digestText(sum[:])
}

func digestText(sum []byte) string { return "sha1:" + base32.StdEncoding.EncodeToString(sum) }

// protocolName turns "HTTP/2.0" into the name WARC-Protocol has for it.
func protocolName(proto string) string {
	switch proto {
	case "HTTP/2.0", "HTTP/2":
		return "h2"
	case "HTTP/1.1", "HTTP/1.0":
		return strings.ToLower(proto)
	}
	return ""
}

func isCompressed(h web.Header) bool {
	for _, v := range h["Content-Encoding"] {
		if v != "" && !strings.EqualFold(v, "identity") {
			return true
		}
	}
	return false
}

// Meta is what a metadata record says of an exchange. Its block is lines of
// "name: value":
//
//	via: https://example.org/          where the link was found; absent: a seed
//	hopsFromSeed: LLR                  see Hops
//	fetchTimeMs: 120
//	link: a                            web.LinkKind
//	depth: 2
//	priority: 0.75
//	scorer: best-first
//	reason: status                     absent: the response is a page
//	rendered: rest                     by a browser, and how that ended: rest, or a reason
//	renderTimeMs: 2300
//	relevance: 0.93                    this and what follows: of pages only
//	similarity: 0.31
//	relevant: true
//	judge: topic
//	title: A page
//	language: en
//	charset: utf-8
//	directives: noindex nofollow noarchive noai noimageai tdm-reservation
//	tdm-policy: https://example.org/policy
//
// The first three names are those of the standard. hopsFromSeed has a letter
// a step, as other crawlers write it: L for a link, R for a redirect.
type Meta struct {
	Via        web.URL
	Took       time.Duration // milliseconds are kept
	Link       web.LinkKind
	Depth      int
	Redirects  int // at the end of the path
	Priority   float64
	Scorer     string
	Reason     web.Reason
	Rendered   bool          // by a browser
	Rendering  time.Duration // what that took; milliseconds are kept
	Ended      web.Reason    // why the browser ended it, "" for a page that came to rest
	Page       bool          // whether the following are known
	Relevance  float64
	Similarity float64
	Relevant   bool
	Judge      string
	Title      string
	Language   string
	Charset    string
	Directives web.Directives
}

func metaOf(x *web.Exchange) Meta {
	c := &x.Candidate
	m := Meta{
		Via: c.From, Took: x.Response.Took, Link: c.Kind, Depth: c.Depth, Redirects: c.Redirects,
		Priority: c.Priority, Scorer: x.Scorer, Reason: x.Reason,
	}
	if by := x.Response.Rendering; by != nil {
		m.Rendered, m.Rendering, m.Ended = true, by.Took, by.Ended
	}
	if p := x.Page; p != nil {
		m.Page = true
		m.Relevance, m.Similarity, m.Relevant = x.Verdict.Relevance, x.Verdict.Similarity, x.Verdict.Relevant
		m.Judge = x.Judge
		m.Title, m.Language, m.Charset, m.Directives = p.Title, p.Language, p.Charset, p.Directives
	}
	return m
}

// atRest is how the rendering of a page ended that was done by itself.
const atRest = "rest"

// maxHops bounds the letters of hopsFromSeed.
const maxHops = 1000

func (m *Meta) append(b []byte) []byte {
	put := func(name, value string) {
		if value != "" {
			b = appendField(b, name, value)
		}
	}
	float := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	put("via", m.Via.String())
	put("hopsFromSeed", strings.Repeat("L", min(max(m.Depth, 0), maxHops))+strings.Repeat("R", min(max(m.Redirects, 0), maxHops)))
	put("fetchTimeMs", strconv.FormatInt(m.Took.Milliseconds(), 10))
	put("link", string(m.Link))
	put("depth", strconv.Itoa(m.Depth))
	put("redirects", strconv.Itoa(m.Redirects))
	put("priority", float(m.Priority))
	put("scorer", m.Scorer)
	put("reason", string(m.Reason))
	if m.Rendered {
		put("rendered", cmp.Or(string(m.Ended), atRest))
		put("renderTimeMs", strconv.FormatInt(m.Rendering.Milliseconds(), 10))
	}
	if !m.Page {
		return b
	}
	put("relevance", float(m.Relevance))
	put("similarity", float(m.Similarity))
	put("relevant", strconv.FormatBool(m.Relevant))
	put("judge", m.Judge)
	put("title", m.Title)
	put("language", m.Language)
	put("charset", m.Charset)
	var wishes []string
	for _, w := range directiveNames(&m.Directives) {
		if *w.set {
			wishes = append(wishes, w.name)
		}
	}
	put("directives", strings.Join(wishes, " "))
	put("tdm-policy", m.Directives.TDMPolicy)
	return b
}

type directive struct {
	name string
	set  *bool
}

func directiveNames(d *web.Directives) []directive {
	return []directive{
		{"noindex", &d.NoIndex}, {"nofollow", &d.NoFollow}, {"noarchive", &d.NoArchive},
		{"noai", &d.NoAI}, {"noimageai", &d.NoImageAI}, {"tdm-reservation", &d.TDMReserved},
	}
}

func parseMilliseconds(s string) (time.Duration, error) {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err == nil && (ms < 0 || ms > math.MaxInt64/int64(time.Millisecond)) {
		err = strconv.ErrRange
	}
	return time.Duration(ms) * time.Millisecond, err
}

// ParseMeta reads the block of a metadata record. Unknown names are passed
// over; a known name with an unusable value is an error that names the line.
func ParseMeta(block []byte) (Meta, error) {
	var m Meta
	n := 0
	for line := range bytes.Lines(block) {
		n++
		name, value, ok := strings.Cut(strings.TrimRight(string(line), "\r\n"), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(strings.NewReplacer("\r", " ", "\x00", " ").Replace(value))
		var err error
		switch name {
		case "via":
			m.Via, err = web.Parse(value)
		case "fetchTimeMs":
			m.Took, err = parseMilliseconds(value)
		case "renderTimeMs":
			m.Rendering, err = parseMilliseconds(value)
		case "rendered":
			m.Rendered = true
			if value != atRest {
				m.Ended = web.Reason(value)
			}
		case "link":
			m.Link = web.LinkKind(value)
		case "depth":
			m.Depth, err = strconv.Atoi(value)
		case "redirects":
			m.Redirects, err = strconv.Atoi(value)
		case "priority":
			m.Priority, err = strconv.ParseFloat(value, 64)
		case "scorer":
			m.Scorer = value
		case "reason":
			m.Reason = web.Reason(value)
		case "relevance":
			m.Page = true
			m.Relevance, err = strconv.ParseFloat(value, 64)
		case "similarity":
			m.Similarity, err = strconv.ParseFloat(value, 64)
		case "relevant":
			m.Relevant, err = strconv.ParseBool(value)
		case "judge":
			m.Judge = value
		case "title":
			m.Title = value
		case "language":
			m.Language = value
		case "charset":
			m.Charset = value
		case "directives":
			for _, w := range directiveNames(&m.Directives) {
				*w.set = slices.Contains(strings.Fields(value), w.name)
			}
		case "tdm-policy":
			m.Directives.TDMPolicy = value
		}
		if err != nil {
			return Meta{}, fmt.Errorf("metadata, line %d: %s: %w", n, name, err)
		}
	}
	return m, nil
}
