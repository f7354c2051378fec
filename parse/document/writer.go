package document

import (
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Writer writes the HTML of a document: its head, and a body of blocks of text with links.
// What is written beyond the bound is dropped.
type Writer struct {
	limit int
	body  []byte
	full  bool // nothing more is kept
	cut   bool // something is missing

	title, description, keywords, language string

	head    []byte   // link elements
	tail    [][]byte // the same, behind the body, as far as there is room
	tailLen int
	texts   int // bytes of text written
	links   int
	first   string // the first heading or paragraph, as far as it is a title
	firstly bool   // first is being written, or was
}

func newWriter(l Limits) *Writer { return &Writer{limit: l.HTML} }

// Bounds on what is said of a document, in bytes.
const maxSaid = 4 << 10

// Title says what a document calls itself. The first title that is not empty counts, as
// it does of the others.
func (w *Writer) Title(s string)       { set(&w.title, s) }
func (w *Writer) Description(s string) { set(&w.description, s) }
func (w *Writer) Keywords(s string)    { set(&w.keywords, s) }
func (w *Writer) Language(s string)    { set(&w.language, s) }

func set(to *string, s string) {
	if s = strings.TrimSpace(s); *to == "" && s != "" {
		*to = strings.ToValidUTF8(s[:min(len(s), maxSaid)], "")
	}
}

// Untitled says that the first text is no title of the document.
func (w *Writer) Untitled() { w.firstly = true }

// maxFirst bounds a first heading or paragraph that is taken for the title of a document
// which names none, in bytes.
const maxFirst = 150

// Full tells that nothing more will be kept.
func (w *Writer) Full() bool {
	if len(w.body)+len(w.head) >= w.limit {
		w.full, w.cut = true, true
	}
	return w.full
}

// Cut says that something of the document is missing.
func (w *Writer) Cut() { w.cut = true }

// Open begins an element, Close ends it; both names are those of HTML.
func (w *Writer) Open(tag string) {
	if !w.Full() {
		w.body = append(append(append(w.body, '<'), tag...), '>')
	}
}

func (w *Writer) Close(tag string) {
	if w.first = strings.TrimSpace(w.first); w.first != "" && (tag == "p" || tag[0] == 'h' || tag == "th" || tag == "td") {
		w.firstly = true
	}
	w.body = append(append(append(w.body, '<', '/'), tag...), '>')
	if len(w.body) > w.limit+(1<<20) { // of ends alone
		w.body = w.body[:w.limit+(1<<20)]
	}
}

// Text writes text. An address in it does not become a link: see Linked.
func (w *Writer) Text(s string) {
	if s == "" || w.Full() {
		return
	}
	if room := w.limit - len(w.body); len(s) > room {
		s = strings.ToValidUTF8(s[:max(0, room)], "")
		w.full, w.cut = true, true
	}
	w.texts += len(strings.TrimSpace(s))
	if !w.firstly && len(w.first) <= maxFirst {
		w.first += s
	}
	w.body = appendEscaped(w.body, s)
}

// Link writes a link. A text that is empty is the address.
func (w *Writer) Link(address, text string) {
	if strings.TrimSpace(text) == "" {
		text = address
	}
	w.OpenLink(address)
	w.Text(text)
	w.Close("a")
}

// OpenLink begins the text of a link; Close("a") ends it.
func (w *Writer) OpenLink(address string) {
	if w.Full() {
		return
	}
	w.links++
	w.body = append(w.body, `<a href="`...)
	w.body = appendEscaped(w.body, address[:min(len(address), maxAddress)])
	w.body = append(w.body, `">`...)
}

// OpenEntry begins the text of the link of an entry of a sitemap or a feed, with the date that
// it tells: see parse.Document.Listing.
func (w *Writer) OpenEntry(e Listed) {
	w.OpenLink(e.URL)
	key, said := "data-changed", e.Changed
	if said == "" {
		key, said = "data-published", e.Published
	}
	if d, ok := web.ParseDate(said); ok && !w.full {
		w.body = append(w.body[:len(w.body)-1], ' ')
		w.body = append(append(append(w.body, key...), `="`...), d...)
		w.body = append(w.body, `">`...)
	}
}

// maxAddress bounds the address of a link, in bytes.
const maxAddress = 8 << 10

// HeadLink writes a link of the document as a whole, such as rel="sitemap".
func (w *Writer) HeadLink(rel, address string) {
	if !w.Full() {
		w.head = appendLink(w.head, rel, address, "")
	}
}

// Alternate writes the address of an entry in another language. It stands behind all entries,
// and takes no room from them.
func (w *Writer) Alternate(address, language string) {
	if w.tailLen >= w.limit {
		w.cut = true
		return
	}
	link := appendLink(nil, "alternate", address, language)
	w.tail = append(w.tail, link)
	w.tailLen += len(link)
}

func appendLink(b []byte, rel, address, language string) []byte {
	b = append(appendEscaped(append(b, `<link rel="`...), rel), `" href="`...)
	b = append(appendEscaped(b, address[:min(len(address), maxAddress)]), '"')
	if language != "" {
		b = append(appendEscaped(append(b, ` hreflang="`...), language), '"')
	}
	return append(b, '>')
}

// Linked writes text in which the addresses that stand there become links.
func (w *Writer) Linked(s string) {
	f := finder{s: s, scheme: -1, www: -1}
	for {
		done := f.at
		from, to := f.next()
		if from < 0 {
			w.Text(s[done:])
			return
		}
		w.Text(s[done:from])
		address := s[from:to]
		if strings.HasPrefix(address, "www.") {
			w.OpenLink("http://" + address)
		} else {
			w.OpenLink(address)
		}
		w.Text(address)
		w.Close("a")
	}
}

// finder finds the web addresses that stand in a text, one after another.
type finder struct {
	s           string
	at          int // behind the last address
	scheme, www int // the last "://" and "www." that were found; the length of s = there is no other
}

// next finds the next address; from is below 0 where there is none. Signs that end a sentence
// do not belong to it, nor does a bracket that nothing in it opens.
func (f *finder) next() (from, to int) {
	s := f.s
	for at := f.at; ; {
		i, j := f.seek(&f.scheme, "://", at), f.seek(&f.www, "www.", at)
		switch {
		case i == len(s) && j == len(s):
			return -1, -1
		case j < i:
			from = j
			if from > f.at && isAddressByte(s[from-1]) || from+4 >= len(s) || !isAlnum(s[from+4]) {
				at = from + 4
				continue
			}
		default:
			at = i
			switch before := strings.ToLower(s[max(f.at, at-5):at]); {
			case strings.HasSuffix(before, "https"):
				from = at - 5
			case strings.HasSuffix(before, "http"):
				from = at - 4
			default:
				at += 3
				continue
			}
		}
		to = from
		for to < len(s) && to-from < maxAddress && isAddressByte(s[to]) {
			to++
		}
		to = from + len(withoutEnd(s[from:to]))
		if _, host, _ := strings.Cut(s[from:to], "://"); strings.IndexByte(host, '.') > 0 || strings.HasPrefix(s[from:to], "www.") {
			f.at = to
			return from, to
		}
		at = max(to, at+3)
	}
}

// seek is where the next mark stands from at on, given where the last one stood.
func (f *finder) seek(last *int, mark string, at int) int {
	if *last < at {
		if *last = len(f.s); at < len(f.s) {
			if i := strings.Index(f.s[at:], mark); i >= 0 {
				*last = at + i
			}
		}
	}
	return *last
}

// withoutEnd is an address without what ends it in a sentence.
func withoutEnd(s string) string {
	round := strings.Count(s, ")") - strings.Count(s, "(")
	square := strings.Count(s, "]") - strings.Count(s, "[")
	for s != "" {
		switch c := s[len(s)-1]; {
		case strings.IndexByte(".,;:!?'", c) >= 0:
		case c == ')' && round > 0:
			round--
		case c == ']' && square > 0:
			square--
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

// isAddressByte tells the bytes that an address in a text may hold: those of RFC 3986,
// and all beyond ASCII that are no sign of a sentence in their script are left out, as
// they end an address more often than they belong to it.
func isAddressByte(c byte) bool {
	return isAlnum(c) || strings.IndexByte("-._~:/?#[]@!$&'()*+,;=%", c) >= 0
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// empty tells whether nothing was written that a page could be made of.
func (w *Writer) empty() bool { return w.texts+w.links+len(w.head)+len(w.tail) == 0 && w.title == "" }

// finish is the document.
func (w *Writer) finish() []byte {
	b := make([]byte, 0, len(w.body)+len(w.head)+len(w.title)+len(w.description)+len(w.keywords)+256)
	b = append(b, "<!doctype html><html"...)
	if w.language != "" {
		b = append(appendEscaped(append(b, ` lang="`...), w.language), '"')
	}
	if w.title == "" && len(w.first) <= maxFirst {
		w.title = w.first
	}
	b = append(b, `><head><meta charset="utf-8"><title>`...)
	b = append(appendEscaped(b, w.title), "</title>"...)
	for _, m := range [][2]string{{"description", w.description}, {"keywords", w.keywords}} {
		if m[1] != "" {
			b = append(append(append(b, `<meta name="`...), m[0]...), `" content="`...)
			b = append(appendEscaped(b, m[1]), `">`...)
		}
	}
	b = append(append(b, w.head...), "</head><body>"...)
	b = append(b, w.body...)
	for _, link := range w.tail {
		if len(b)+len(link) > w.limit {
			w.cut = true
			break
		}
		b = append(b, link...)
	}
	return append(b, "</body></html>"...)
}

// heading is the element of a heading of a level, 1 for the highest.
func heading(level int) string { return "h" + strconv.Itoa(max(1, min(level, 6))) }

// appendEscaped appends s as text of HTML or as the value of an attribute.
func appendEscaped(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '&':
			b = append(b, "&amp;"...)
		case '<':
			b = append(b, "&lt;"...)
		case '>':
			b = append(b, "&gt;"...)
		case '"':
			b = append(b, "&#34;"...)
		case 0:
		default:
			b = append(b, c)
		}
	}
	return b
}
