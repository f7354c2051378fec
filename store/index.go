package store

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Entry is where a record lies and what it holds.
type Entry struct {
	Target string // as written in the record
	Type   string // "response", …
	Date   time.Time
	Status int    // of a response; 200 for a resource
	MIME   string // of its payload, "" if unknown
	Digest string // of its payload, as written: "sha1:…"
	File   string
	Offset int64 // see Record
	Inner  int64
	Length int64 // bytes in the file; 0 where records share a gzip member
	ID     string
	Of     string // ID of the response that a conversion is of, or that holds the body of a revisit
	Beside string // ID of the response that a request or metadata record is beside
	Asked  bool   // see Record.Asked
}

// headPeek is how much of a response is read for its status and type.
const headPeek = 64 << 10

// Index reads where each record lies. Errors are those of Records.
func Index(paths ...string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, path := range paths {
			if !indexFile(path, yield) {
				return
			}
		}
	}
}

func indexFile(path string, yield func(Entry, error) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return yield(Entry{}, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return yield(Entry{}, err)
	}
	r := NewReader(path, f, info.Size())
	for rec, err := range r.All() {
		if err != nil {
			if !yield(Entry{}, err) {
				return false
			}
			continue
		}
		e := describe(rec)
		if r.finish() != nil {
			continue // the next step reports it
		}
		if end := r.pos(); rec.Inner == 0 && (!r.zipped || r.atMemberEnd()) {
			e.Length = end - rec.Offset
		}
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// atMemberEnd tells whether nothing is left of the present gzip member.
func (r *Reader) atMemberEnd() bool {
	_, err := r.in.Peek(1)
	return err == io.EOF
}

// describe reads of a record what its index entry needs.
func describe(rec *Record) Entry {
	e := Entry{
		Target: rec.Target(), Type: rec.Type(), Date: rec.Date(), Digest: rec.Get("WARC-Payload-Digest"),
		File: rec.File, Offset: rec.Offset, Inner: rec.Inner, ID: rec.Get("WARC-Record-ID"), Of: rec.Get("WARC-Refers-To"),
		Beside: rec.Get("WARC-Concurrent-To"), Asked: rec.Asked(),
	}
	switch e.Type {
	case "resource", "metadata", "conversion":
		e.MIME = mediaType(rec.Get("Content-Type"))
		if e.Type == "resource" {
			e.Status = 200
		}
	case "response", "revisit":
		data, err := io.ReadAll(io.LimitReader(rec.Block, headPeek))
		if err != nil {
			return e // finish reports it
		}
		var p web.Response
		head, _ := splitHead(data)
		if splitResponse(&p, head) == nil {
			e.Status = p.Status
			e.MIME = mediaType(get(p.Header, "Content-Type"))
		}
	}
	return e
}

func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// CDXJ is the line of an entry in a CDXJ index, as replay tools read it, without a
// newline:
//
//	org,example)/path 20260301120000 {"url":"https://…","mime":…,"status":…,"digest":…,"length":…,"offset":…,"filename":…}
//
// The key at its beginning is the one by which pywb looks an address up. ReplayWeb.page
// reads the address of each line instead, from "url".
//
// A SHA-1 digest stands there without its name, as is usual. An index holds the lines
// of its Replayable entries, sorted. An entry packed with others in one gzip member
// cannot be addressed: that is a *Damage.
func (e *Entry) CDXJ(filename string) ([]byte, error) {
	if e.Length == 0 {
		return nil, &Damage{File: e.File, Offset: e.Offset, Err: fmt.Errorf("the record of %.200q shares a gzip member with others: zip the file record by record", e.Target)}
	}
	mime := e.MIME
	if e.Type == "revisit" {
		mime = "warc/revisit"
	}
	data, err := json.Marshal(struct {
		URL      string `json:"url"`
		MIME     string `json:"mime,omitempty"`
		Status   string `json:"status,omitempty"`
		Digest   string `json:"digest,omitempty"`
		Length   string `json:"length"`
		Offset   string `json:"offset"`
		Filename string `json:"filename"`
	}{e.Target, mime, statusText(e.Status), strings.TrimPrefix(e.Digest, "sha1:"), strconv.FormatInt(e.Length, 10), strconv.FormatInt(e.Offset, 10), filename})
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s %s %s", lookupKey(e.Target), e.Date.Format("20060102150405"), data), nil
}

// Replayable tells the entries that an index for replay holds.
func (e *Entry) Replayable() bool {
	return e.Type == "response" || e.Type == "resource" || e.Type == "revisit"
}

func statusText(status int) string {
	if status == 0 {
		return ""
	}
	return strconv.Itoa(status)
}

// Report is what Verify found.
type Report struct {
	Files   int
	Records int
	Types   map[string]int
	Digests int     // compared and equal
	Unknown int     // not comparable: of an unknown algorithm, or of a chunked body
	Damaged []error // places that cannot be read, and digests that differ
}

// OK tells whether every record could be read and no digest differs.
func (r *Report) OK() bool { return len(r.Damaged) == 0 }

// Verify reads every record of files and compares all block and payload
// digests. progress, unless nil, is called after each record with the bytes
// read so far of how many.
func Verify(progress func(done, total int64), paths ...string) (Report, error) {
	rep := Report{Types: map[string]int{}}
	var done, total int64
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return rep, err
		}
		total += info.Size()
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return rep, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return rep, err
		}
		rep.Files++
		for rec, err := range NewReader(path, f, info.Size()).All() {
			if err != nil {
				rep.Damaged = append(rep.Damaged, err)
				continue
			}
			rep.check(rec)
			if progress != nil {
				progress(done+rec.Offset, total)
			}
		}
		done += info.Size()
		if err := f.Close(); err != nil {
			return rep, err
		}
	}
	if progress != nil {
		progress(done, total)
	}
	return rep, nil
}

func (rep *Report) check(rec *Record) {
	rep.Records++
	rep.Types[rec.Type()]++
	bad := func(err error) {
		rep.Damaged = append(rep.Damaged, &Damage{File: rec.File, Offset: rec.Offset, Err: err})
	}
	block := rep.digest(rec, "WARC-Block-Digest")
	payload := rep.digest(rec, "WARC-Payload-Digest")
	if rec.Get("WARC-Segment-Number") != "" || rec.Type() == "revisit" {
		payload = nil // of a payload that lies elsewhere
	}
	isHTTP := strings.HasPrefix(strings.ReplaceAll(strings.ToLower(rec.Get("Content-Type")), " ", ""), "application/http")
	br := bufio.NewReader(rec.Block)
	head, start, chunked := isHTTP, true, false
	buf := make([]byte, 32<<10)
	for head && payload != nil {
		line, err := br.ReadSlice('\n')
		block.write(line)
		if err != nil && err != bufio.ErrBufferFull {
			break
		}
		if start { // of a line: what follows a full buffer may be its line end alone
			name, _, _ := bytes.Cut(line, []byte(":"))
			chunked = chunked || strings.EqualFold(string(name), "Transfer-Encoding")
			head = len(bytes.TrimRight(line, "\r\n")) > 0
		}
		start = err == nil
	}
	for {
		n, err := br.Read(buf)
		block.write(buf[:n])
		payload.write(buf[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return // the reader's next step reports it
		}
	}
	for _, c := range []*check{block, payload} {
		if c == nil {
			continue
		}
		if err := c.compare(); err != nil && c == payload && chunked {
			rep.Unknown++ // tools differ on whether chunks belong to the payload
			continue
		} else if err != nil {
			bad(err)
			continue
		}
		rep.Digests++
	}
}

// check compares one digest.
type check struct {
	name, want string
	sum        hash.Hash
}

// digest begins to check a digest of a record; nil when it has none, or one of
// an unknown kind.
func (rep *Report) digest(rec *Record, name string) *check {
	value := rec.Get(name)
	if value == "" {
		return nil
	}
	algorithm, want, _ := strings.Cut(value, ":")
	c := &check{name: name, want: want}
	switch strings.ToLower(strings.ReplaceAll(algorithm, "-", "")) {
	case "sha1":
		c.sum = sha1.New()
	case "sha256":
		c.sum = sha256.New()
	case "md5":
		c.sum = md5.New()
	default:
		rep.Unknown++
		return nil
	}
	return c
}

func (c *check) write(p []byte) {
	if c != nil {
		c.sum.Write(p)
	}
}

// compare accepts base32, as is usual, and hexadecimal.
func (c *check) compare() error {
	sum := c.sum.Sum(nil)
	text := base32.StdEncoding.EncodeToString(sum)
	if strings.EqualFold(strings.TrimRight(text, "="), strings.TrimRight(c.want, "=")) || strings.EqualFold(hex.EncodeToString(sum), c.want) {
		return nil
	}
	return fmt.Errorf("%s is %s, but the record holds %s", c.name, c.want, text)
}
