package corpus

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// newPages reads the tables behind the records of a file; data is all of it but its sum, which vouches
// for nothing: whoever made the file made it, too.
func newPages(data string) (*Pages, error) {
	c := &Pages{data: data, at: map[web.URL]int{}}
	tail := []byte(data[len(data)-3*8:])
	table := func(i int) decoder { return c.decoder(binary.LittleEndian.Uint64(tail[8*i:])) }
	d := table(0)
	c.words = make([]string, d.fit(d.int(), 1))
	for i := range c.words {
		c.words[i] = d.bytes()
	}
	if d.bad {
		return nil, errStale
	}
	d = table(1)
	c.urls = make([]web.URL, d.fit(d.int(), 1))
	for i := range c.urls {
		s := d.bytes()
		if s == "" {
			continue // the zero address
		}
		u, err := web.Parse(s)
		if err != nil || u.String() != s {
			return nil, errStale // what is canonical has changed
		}
		c.urls[i] = u
	}
	if d.bad {
		return nil, errStale
	}
	d = table(2)
	longest := 0
	c.header = make([]web.Header, len(c.words)+1)
	c.header[0] = web.Header{}
	for range d.fit(d.int(), 2) {
		u, place := d.url(), d.num()
		rd := c.decoder(place)
		r := rd.response()
		if d.bad || rd.bad {
			return nil, errStale
		}
		c.at[u] = int(place)
		longest = max(longest, r.raw, r.body)
		if c.header[r.kind] == nil {
			c.header[r.kind] = web.Header{"Content-Type": {c.words[r.kind-1]}}
		}
	}
	if d.bad {
		return nil, errStale
	}
	c.blank = make([]byte, longest)
	return c, nil
}

// decoder reads a record or a table. Once something does not fit it is bad, and what it gives is to be
// thrown away. It makes no list of more items than what is left can hold.
type decoder struct {
	c    *Pages
	s    string // from the record on
	at   int
	text string // block of the page
	end  int    // of the text before, in it
	told int    // bytes of all texts so far
	bad  bool
}

// mostTold bounds the bytes of all texts of a page, in which a part of the block can stand any number of times, and
// mostListed its headings and its texts of images. No page that was parsed has as much.
const (
	mostTold   = 256 << 20
	mostListed = 1 << 17
)

func (c *Pages) decoder(at uint64) decoder {
	if at > uint64(len(c.data)) {
		return decoder{c: c, bad: true}
	}
	return decoder{c: c, s: c.data[at:]}
}

// record is a decoder of the record at a place that newPages has looked at.
func (c *Pages) record(at int) decoder { return c.decoder(uint64(at)) }

func (d *decoder) fail() { d.bad, d.s, d.at = true, "", 0 }

func (d *decoder) num() uint64 {
	n := uint64(0)
	for shift := 0; d.at < len(d.s) && shift < 64; shift += 7 {
		b := d.s[d.at]
		d.at++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	d.fail()
	return 0
}

// upTo is a number that is at most so large.
func (d *decoder) upTo(most int) int {
	n := d.num()
	if n > uint64(most) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) int() int { return d.upTo(math.MaxInt) }

// fit is n where what is left can hold so many items of so many bytes or more.
func (d *decoder) fit(n, each int) int {
	if n > (len(d.s)-d.at)/each {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) diff() int {
	n := d.num()
	return int(n>>1) ^ -int(n&1)
}

func (d *decoder) word() string {
	if n := d.num(); n < uint64(len(d.c.words)) {
		return d.c.words[n]
	}
	d.fail()
	return ""
}

func (d *decoder) url() web.URL {
	if n := d.num(); n < uint64(len(d.c.urls)) {
		return d.c.urls[n]
	}
	d.fail()
	return web.URL{}
}

func (d *decoder) bytes() string {
	n := d.fit(d.int(), 1)
	s := d.s[d.at : d.at+n]
	d.at += n
	return s
}

func (d *decoder) str() string {
	n := d.int()
	if n == 0 {
		return ""
	}
	start := d.end + d.diff()
	if start < 0 || start > len(d.text) || n > len(d.text)-start {
		d.fail()
		return ""
	}
	if d.told += n; d.told > mostTold {
		d.fail()
		return ""
	}
	d.end = start + n
	return d.text[start:d.end]
}

func (d *decoder) list() []string {
	n := d.int()
	if n == 0 {
		return nil
	}
	l := make([]string, d.fit(min(n-1, mostListed+1), 1))
	if len(l) > mostListed {
		d.fail()
		return nil
	}
	for i := range l {
		l[i] = d.str()
	}
	return l
}

// recordHead is a record without its page.
type recordHead struct {
	status, what int
	raw, body    int // bytes
	kind         int // Content-Type: word plus one, 0 for none
	location     web.URL
	truncated    string
	retryAfter   string // as in the header
	kept         string
}

func (d *decoder) response() (r recordHead) {
	r.status, r.what = d.upTo(999), d.upTo(isDamaged)
	r.raw, r.body, r.kind = d.upTo(maxBody), d.upTo(maxBody), d.upTo(len(d.c.words))
	if i := d.upTo(len(d.c.urls)); i > 0 {
		r.location = d.c.urls[i-1]
	}
	r.truncated = d.word()
	r.retryAfter = d.word()
	if r.kept = d.bytes(); len(r.kept) > r.body {
		d.fail()
	}
	return r
}

// rest is the text of the error that says why there is no page.
func (d *decoder) rest() string { return d.bytes() }

func (d *decoder) digest() (digest [16]byte) {
	n := d.fit(len(digest), 1)
	copy(digest[:], d.s[d.at:d.at+n])
	d.at += n
	return digest
}

// page reads a page, which is nil where something of it does not fit.
func (d *decoder) page(u web.URL, status int) *web.Page {
	p := &web.Page{URL: u, Status: status, Digest: d.digest()}
	d.text, d.end = d.bytes(), 0
	p.Base = d.url()
	if d.num() != 0 {
		p.Fetched = time.Unix(0, int64(d.diff())).UTC()
	}
	p.MIME, p.Charset, p.Language, p.TermLanguage = d.word(), d.word(), d.word(), d.word()
	p.Truncated = d.num() != 0
	password := d.num()
	p.Password, p.PasswordAlone = password != 0, password == 2
	account := d.num()
	p.Account, p.Telling = account&1 != 0, int(account>>1)
	flags := d.int()
	for i, v := range directiveBits(&p.Directives) {
		*v = flags>>i&1 != 0
	}
	p.Directives.TDMPolicy = d.word()
	p.Title, p.Description, p.Keywords, p.Main = d.str(), d.str(), d.str(), d.str()
	p.Headings = d.list()
	p.Alts = d.list()
	if n := d.int(); n > 0 {
		p.Leaves = make([]web.Leaf, d.fit(n-1, 1))
		for i := range p.Leaves {
			p.Leaves[i].Text = d.str()
		}
	}
	if d.num() != 0 {
		p.Nesting = make([]web.Nesting, d.fit(len(p.Leaves), 2))
		for i := range p.Nesting {
			p.Nesting[i] = web.Nesting{Depth: uint16(d.upTo(math.MaxUint16)), Shared: uint16(d.upTo(math.MaxUint16))}
		}
	}
	if n := d.int(); n > 0 {
		p.Terms = make([]web.Term, d.fit(n-1, 2))
		for i := range p.Terms {
			t := &p.Terms[i]
			t.Text = d.word()
			body := d.num()
			if body > math.MaxUint32 {
				d.fail()
			}
			t.Body = int32(body >> 1)
			if body&1 != 0 {
				t.Head = int32(d.upTo(math.MaxInt32))
			}
		}
	}
	if n := d.int(); n > 0 {
		p.Links = make([]web.Link, d.fit(n-1, 11))
		before := 0
		for i := range p.Links {
			l := &p.Links[i]
			l.URL, l.Kind, l.TagPath = d.url(), web.LinkKind(d.word()), d.word()
			bits := d.num()
			l.NoFollow, l.Published = bits&1 != 0, bits&2 != 0
			if bits&4 != 0 {
				l.Changed = web.Date(d.word())
			}
			l.Position = i + d.diff()
			l.First = before + d.diff()
			l.Last = l.First + d.diff()
			if l.Position < 0 || l.First < 0 || l.Last < l.First-1 || l.Last >= len(p.Leaves) {
				d.fail()
			}
			before = l.First
			l.Before, l.Anchor, l.After, l.Heading = d.str(), d.str(), d.str(), d.str()
		}
	}
	if d.bad {
		return nil
	}
	return p
}

// readString reads a file of at most so many bytes into a string, without a second copy of it. What is no file, or is
// larger, is errStale: a web that somebody handed on can have anything under that name.
func readString(path string, most int64) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return "", errStale
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	b.Grow(int(info.Size()))
	if _, err := io.Copy(&b, io.LimitReader(f, info.Size())); err != nil {
		return "", err
	}
	return b.String(), nil
}

// isReadOnly tells that a folder lies where nothing can be written.
func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
