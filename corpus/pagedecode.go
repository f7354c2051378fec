package corpus

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// newPages reads the tables behind the records of a file; data is all of it
// but its sum.
func newPages(data string) (*Pages, error) {
	c := &Pages{data: data, at: map[web.URL]int{}}
	tail := []byte(data[len(data)-3*8:])
	at := func(i int) int { return int(binary.LittleEndian.Uint64(tail[8*i:])) }
	d := c.decoder(at(0))
	c.words = make([]string, d.int())
	for i := range c.words {
		c.words[i] = d.bytes()
	}
	d = c.decoder(at(1))
	c.urls = make([]web.URL, d.int())
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
	d = c.decoder(at(2))
	longest := 0
	c.header = make([]web.Header, len(c.words)+1)
	c.header[0] = web.Header{}
	for range d.int() {
		u := d.url()
		place := d.int()
		c.at[u] = place
		rd := c.decoder(place)
		r := rd.response()
		longest = max(longest, r.raw, r.body)
		if c.header[r.kind] == nil {
			c.header[r.kind] = web.Header{"Content-Type": {c.words[r.kind-1]}}
		}
	}
	c.blank = make([]byte, longest)
	return c, nil
}

// decoder reads a record, which the file's sum has vouched for.
type decoder struct {
	c    *Pages
	s    string // from the record on
	at   int
	text string // block of the page
	end  int    // of the text before, in it
}

func (c *Pages) decoder(at int) decoder { return decoder{c: c, s: c.data[at:]} }

func (d *decoder) num() uint64 {
	b := d.s[d.at]
	d.at++
	if b < 0x80 {
		return uint64(b)
	}
	n := uint64(b & 0x7f)
	for shift := 7; ; shift += 7 {
		b = d.s[d.at]
		d.at++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (d *decoder) int() int { return int(d.num()) }

func (d *decoder) diff() int {
	n := d.num()
	return int(n>>1) ^ -int(n&1)
}

func (d *decoder) word() string { return d.c.words[d.num()] }

func (d *decoder) url() web.URL { return d.c.urls[d.num()] }

func (d *decoder) bytes() string {
	n := d.int()
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
	d.end = start + n
	return d.text[start:d.end]
}

func (d *decoder) list() []string {
	n := d.int()
	if n == 0 {
		return nil
	}
	l := make([]string, n-1)
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
	r.status, r.what = d.int(), d.int()
	r.raw, r.body, r.kind = d.int(), d.int(), d.int()
	if i := d.int(); i > 0 {
		r.location = d.c.urls[i-1]
	}
	r.truncated = d.word()
	r.retryAfter = d.word()
	r.kept = d.bytes()
	return r
}

// rest is the text of the error that says why there is no page.
func (d *decoder) rest() string { return d.bytes() }

func (d *decoder) digest() (digest [16]byte) {
	d.at += copy(digest[:], d.s[d.at:])
	return digest
}

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
		p.Leaves = make([]web.Leaf, n-1)
		for i := range p.Leaves {
			p.Leaves[i].Text = d.str()
		}
	}
	if d.num() != 0 {
		p.Nesting = make([]web.Nesting, len(p.Leaves))
		for i := range p.Nesting {
			p.Nesting[i] = web.Nesting{Depth: uint16(d.num()), Shared: uint16(d.num())}
		}
	}
	if n := d.int(); n > 0 {
		p.Terms = make([]web.Term, n-1)
		for i := range p.Terms {
			t := &p.Terms[i]
			t.Text = d.word()
			body := d.num()
			t.Body = int32(body >> 1)
			if body&1 != 0 {
				t.Head = int32(d.num())
			}
		}
	}
	if n := d.int(); n > 0 {
		p.Links = make([]web.Link, n-1)
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
			before = l.First
			l.Before, l.Anchor, l.After, l.Heading = d.str(), d.str(), d.str(), d.str()
		}
	}
	return p
}

// readString reads a file into a string, without a second copy of it.
func readString(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(int(info.Size()))
	if _, err := io.Copy(&b, f); err != nil {
		return "", err
	}
	return b.String(), nil
}

// isReadOnly tells that a folder lies where nothing can be written.
func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
