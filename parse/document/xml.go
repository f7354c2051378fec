package document

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"github.com/waggle-crawler/waggle/parse"
)

// newXML reads XML in any encoding. Entities that a document declares are not expanded.
func newXML(r io.Reader) *xml.Decoder {
	d := xml.NewDecoder(&runs{r: decoded(r)})
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it is decoded
	return d
}

// byteOrderMark is that of UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// encodingDeclared finds the encoding that XML says it is in.
var encodingDeclared = regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([^"'\s]+)["']`)

// declaredIn is the label of the encoding that XML says it is in, given its start; "" for
// none that is known. A declaration that can be read is not in UTF-16, whatever it says, as
// that of a text which a program has encoded anew.
func declaredIn(start []byte) string {
	said := encodingDeclared.FindSubmatch(start[:min(len(start), 1<<10)])
	if said == nil {
		return ""
	}
	label := string(said[1])
	if e, name := charset.Lookup(label); e == nil || name == "replacement" || strings.HasPrefix(name, "utf-16") {
		return ""
	}
	return label
}

// decoded reads XML as UTF-8 by its byte order mark or by what it declares. What is no
// character, or none that XML may hold, is U+FFFD: the decoder would end there, as it does at a NUL and at one
// that is written as a reference.
func decoded(r io.Reader) io.Reader {
	b := bufio.NewReaderSize(r, 4<<10)
	start, _ := b.Peek(1 << 10)
	known, _ := charset.Lookup(cmp.Or(declaredIn(start), "utf-8"))
	return transform.NewReader(b, transform.Chain(unicode.BOMOverride(known.NewDecoder()), runes.Map(func(r rune) rune {
		if 0 < r && r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			return utf8.RuneError
		}
		return r
	})))
}

// marked is a feed or a sitemap in UTF-8 behind a mark, where its server says in which
// encoding it is: that counts more than what it says itself, unless the bytes speak against
// it. What is no UTF-8 is not, and what is UTF-8 beyond ASCII is hardly anything else.
//
// Source: RFC 7303, section 3.2.
func marked(src []byte, label string) []byte {
	e, name := charset.Lookup(label)
	switch isUTF8 := mostlyUTF8(src); {
	case e == nil, name == "replacement", bytes.HasPrefix(src, []byte{0x1f, 0x8b}),
		strings.HasPrefix(name, "utf-16") && bytes.IndexByte(src[:min(len(src), 4)], 0) < 0,
		name == "utf-8" && !isUTF8,
		name != "utf-8" && isUTF8 && bytes.ContainsFunc(src, func(r rune) bool { return r >= utf8.RuneSelf }):
		return src
	}
	text, _ := parse.Decode(src, label)
	return append([]byte(byteOrderMark), text...)
}

// mostlyUTF8 tells a text in UTF-8 of which little is broken, such as its end.
func mostlyUTF8(src []byte) bool {
	whole, broken := 0, 0 // characters beyond ASCII
	for len(src) > 0 {
		switch r, n := utf8.DecodeRune(src); {
		case n > 1:
			whole++
			src = src[n:]
		default:
			if r == utf8.RuneError {
				broken++
			}
			src = src[1:]
		}
	}
	return broken == 0 || whole > broken
}

// maxRun bounds what stands between two signs "<", in bytes: the decoder holds a text, or
// a tag, whole.
const maxRun = 4 << 20

// runs ends where a run is longer than the bound.
type runs struct {
	r   io.Reader
	run int
}

func (x *runs) Read(p []byte) (int, error) {
	if x.run > maxRun {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := x.r.Read(p)
	if i := bytes.LastIndexByte(p[:n], '<'); i >= 0 {
		x.run = n - i
	} else {
		x.run += n
	}
	return n, err
}

// element tells of the XML elements of a document, in order.
type element struct {
	start func(name string, attr func(string) string)
	end   func(name string)
	text  func(string)
}

// walk reads XML to its end. Elements deeper than the bound are passed over, with all
// that is in them. The error wraps ErrDamaged, ErrBounds, or is that of r.
func walk(r io.Reader, l Limits, e element, stop func() bool) error {
	d := newXML(r)
	depth := 0
	for !stop() {
		t, err := d.RawToken()
		if err == io.EOF && depth == 0 {
			return nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			if errors.Is(err, ErrBounds) {
				return err
			}
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if depth++; depth <= l.Depth {
				e.start(t.Name.Local, func(key string) string {
					for _, a := range t.Attr {
						if a.Name.Local == key {
							return a.Value
						}
					}
					return ""
				})
			}
		case xml.EndElement:
			if depth <= l.Depth && depth > 0 {
				e.end(t.Name.Local)
			}
			depth = max(0, depth-1)
		case xml.CharData:
			if depth <= l.Depth {
				e.text(string(t))
			}
		}
	}
	return nil
}

// inflatedStart is how the content of a gzip file begins.
func inflatedStart(src []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(z, 16<<10))
	return b, err
}

// plainStream reads what may be packed by gzip, as many bytes as the bound allows.
func plainStream(src []byte, l Limits) (io.Reader, error) {
	if !bytes.HasPrefix(src, []byte{0x1f, 0x8b}) {
		return bytes.NewReader(src), nil
	}
	z, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return io.LimitReader(z, int64(l.Unpacked)), nil
}

// Listed is an entry of a sitemap or a feed.
type Listed struct {
	URL     string
	More    bool   // URL is that of a further sitemap
	Title   string // also of news
	Text    string // HTML, of a feed
	Cut     bool   // something of Text is missing
	Changed string // when, as written; "" where it tells only when it was published
	// Published is when it was published, as written.
	Published string
	// Languages are addresses of the same page in other languages, by their code.
	Languages [][2]string
}

// Listing is what a sitemap or a feed says of itself.
type Listing struct{ Title, Description, Language, Home string }

// maxListed bounds the text of one entry, in bytes.
const maxListed = 64 << 10

// ReadSitemap yields the entries of a sitemap, or of an index of them, in XML, packed by
// gzip or in plain text, until yield returns false. It holds one entry at a time. Of what
// ends too early the entries before are yielded, and the error wraps ErrDamaged.
//
// Source: sitemaps.org, protocol 0.9; the extensions of Google for news and hreflang.
func ReadSitemap(src []byte, l Limits, yield func(Listed) bool) error {
	l = l.withDefaults()
	r, err := plainStream(src, l)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(src, []byte{0x1f, 0x8b}) && rootName(src) == "" {
		found := false
		for line := range bytes.Lines(withoutMark(src)) {
			s := strings.TrimSpace(string(line))
			if !hasScheme(s) {
				continue
			}
			if found = true; !yield(Listed{URL: s}) {
				return nil
			}
		}
		if !found {
			return fmt.Errorf("%w: it is no sitemap", ErrDamaged)
		}
		return nil
	}
	var e Listed
	var text strings.Builder
	known, within, done := false, "", false
	err = walk(r, l, element{
		start: func(name string, attr func(string) string) {
			text.Reset()
			switch name {
			case "urlset", "sitemapindex":
				known = true
			case "url", "sitemap":
				within, e = name, Listed{More: name == "sitemap"}
			case "link":
				if within == "url" && attr("hreflang") != "" && len(e.Languages) < 200 {
					e.Languages = append(e.Languages, [2]string{attr("hreflang"), attr("href")})
				}
			}
		},
		text: func(s string) {
			if text.Len() < maxAddress {
				text.WriteString(s)
			}
		},
		end: func(name string) {
			said := strings.TrimSpace(text.String())
			text.Reset()
			switch name {
			case "loc":
				set(&e.URL, said)
			case "lastmod":
				set(&e.Changed, said)
			case "publication_date":
				set(&e.Published, said)
			case "title":
				set(&e.Title, said)
			case "url", "sitemap":
				if known && within == name && e.URL != "" {
					done = !yield(e)
				}
				within = ""
			}
		},
	}, func() bool { return done })
	if err == nil && !known {
		err = fmt.Errorf("%w: it is no sitemap", ErrDamaged)
	}
	return err
}

// ReadFeed yields the entries of RSS 0.9 to 2.0 or Atom until yield returns false, and
// then tells of the feed. It holds one entry at a time. Of what ends too early the
// entries before are yielded, and the error wraps ErrDamaged.
func ReadFeed(src []byte, l Limits, yield func(Listed) bool) (of Listing, err error) {
	l = l.withDefaults()
	r, err := plainStream(src, l)
	if err != nil {
		return of, err
	}
	var e Listed
	var text strings.Builder
	var alternate bool // URL is of a link that says so, or says nothing
	known, within, markup, done := false, false, 0, false
	err = walk(r, l, element{
		start: func(name string, attr func(string) string) {
			if markup > 0 { // XHTML in an entry of Atom
				markup++
				if text.Len() < maxListed {
					text.WriteString("<" + name)
					if href := attr("href"); href != "" {
						text.WriteString(` href="` + string(appendEscaped(nil, href)) + `"`)
					}
					text.WriteString(">")
				}
				return
			}
			text.Reset()
			switch name {
			case "rss", "feed", "RDF":
				known = true
				set(&of.Language, attr("lang"))
			case "item", "entry":
				within, e, alternate = true, Listed{}, false
			case "link":
				href, rel := attr("href"), attr("rel")
				switch {
				case href == "":
				case !within:
					if rel == "" || rel == "alternate" {
						set(&of.Home, href)
					}
				case !alternate && (rel == "" || rel == "alternate"):
					e.URL, alternate = href, true
				}
			case "content", "summary", "title":
				if attr("type") == "xhtml" {
					markup = 1
				}
			}
		},
		text: func(s string) {
			if text.Len() >= maxListed {
				e.Cut = within
				return
			}
			if markup > 0 {
				text.Write(appendEscaped(nil, s))
			} else {
				text.WriteString(s)
			}
		},
		end: func(name string) {
			if markup > 1 {
				markup--
				text.WriteString("</" + name + ">")
				return
			}
			markup = 0
			said := strings.TrimSpace(text.String())
			text.Reset()
			switch name {
			case "item", "entry":
				if known && within && (e.URL != "" || e.Title != "" || e.Text != "") {
					done = !yield(e)
				}
				within = false
			case "title":
				if within {
					set(&e.Title, said)
				} else {
					set(&of.Title, said)
				}
			case "link":
				if within && !alternate && said != "" {
					e.URL, alternate = said, true
				} else if !within {
					set(&of.Home, said)
				}
			case "guid", "id":
				if within && e.URL == "" && hasScheme(said) {
					e.URL = said // a link counts more, where one follows
				}
			case "description", "subtitle", "summary", "encoded", "content":
				switch room := 2*maxListed - len(e.Text); {
				case !within:
					set(&of.Description, said)
				case room <= 0:
					e.Cut = e.Cut || said != ""
				default:
					if len(said) > room {
						said, e.Cut = strings.ToValidUTF8(said[:room], ""), true
					}
					if e.Text != "" {
						e.Text += "\n"
					}
					e.Text += said
				}
			case "language":
				set(&of.Language, said)
			case "updated", "modified":
				if within {
					set(&e.Changed, said)
				}
			case "pubDate", "published", "date":
				if within {
					set(&e.Published, said)
				}
			}
		},
	}, func() bool { return done })
	if err == nil && !known {
		err = fmt.Errorf("%w: it is no feed", ErrDamaged)
	}
	return of, err
}

// readSitemap writes a sitemap as a list of links; further sitemaps are links of its head, and
// other languages follow the list: of these each address that is not in it so far, once.
func readSitemap(src []byte, l Limits, w *Writer) error {
	w.Untitled()
	w.Open("ul")
	defer w.Close("ul")
	n, known := 0, map[string]bool{}
	return ReadSitemap(src, l, func(e Listed) bool {
		if n++; n > l.Links {
			w.Cut()
			return false
		}
		if e.More {
			w.HeadLink("sitemap", e.URL)
			return !w.Full()
		}
		w.Open("li")
		w.OpenEntry(e)
		w.Text(e.Title)
		w.Close("a")
		if said := cmp.Or(e.Changed, e.Published); said != "" {
			w.Text(" " + said)
		}
		w.Close("li")
		known[e.URL] = true
		for _, x := range e.Languages {
			if address := strings.TrimSpace(x[1]); !known[address] {
				known[address] = true
				w.Alternate(address, x[0])
			}
		}
		return !w.Full()
	})
}

// readFeed writes a feed as a list of articles.
func readFeed(src []byte, l Limits, w *Writer) error {
	n := 0
	of, err := ReadFeed(src, l, func(e Listed) bool {
		if n++; n > l.Links {
			w.Cut()
			return false
		}
		w.Open("article")
		w.Open("h2")
		if title := plainText(e.Title); e.URL != "" {
			w.OpenEntry(e)
			w.Text(cmp.Or(strings.TrimSpace(title), e.URL))
			w.Close("a")
		} else {
			w.Text(title)
		}
		w.Close("h2")
		if err := writeMarkup([]byte(e.Text), w, false); err != nil {
			w.Text(e.Text)
		}
		if e.Cut {
			w.Cut()
		}
		w.Close("article")
		return !w.Full()
	})
	w.Title(plainText(of.Title))
	w.Description(plainText(of.Description))
	w.Language(of.Language)
	if of.Home != "" {
		w.Open("p")
		w.Link(of.Home, plainText(of.Title))
		w.Close("p")
	}
	return err
}

// plainText is the text of a title, which may hold markup.
func plainText(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	piece := newWriter(Limits{HTML: 2 * maxListed})
	if writeMarkup([]byte(s), piece, true) != nil {
		return s
	}
	var b strings.Builder
	tag := false
	for _, r := range string(piece.body) {
		switch {
		case r == '<':
			tag = true
		case r == '>':
			tag = false
		case !tag:
			b.WriteRune(r)
		}
	}
	return unescape(b.String())
}

func unescape(s string) string {
	return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&#34;", `"`).Replace(s)
}
