// Package document makes HTML of documents of other kinds, PDF and Word among them, so
// that one parser reads them all: with headings, links and what surrounds these.
//
//	response ─► Of: which kind? ─► HTML ─► parse.Parser, as any page
//
// All of it is pure: the same bytes give the same HTML. What a document may cost is
// bounded by its own content (bytes unpacked, elements, output), so that the same
// document is cut, or refused, at the same place everywhere. Time and memory are bounded
// besides where a process of its own reads the documents: see package child.
package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Limits bound what a document may cost. The zero value of a bound means its default.
type Limits struct {
	HTML     int // bytes made of it; what is beyond is cut; default 2 MiB
	Unpacked int // bytes of all that is unpacked of it; default 64 MiB; beyond, it is refused
	Entries  int // of a zip file; default 10,000; beyond, it is refused
	Depth    int // elements, groups, arrays in one another; default 500; beyond, they are flattened
	Links    int // of a sitemap or feed; default 50,000; what is beyond is cut
	Pages    int // of a PDF; default 2,000; what is beyond is cut
}

func (l Limits) withDefaults() Limits {
	set := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	set(&l.HTML, 2<<20)
	set(&l.Unpacked, 64<<20)
	set(&l.Entries, 10_000)
	set(&l.Depth, 500)
	set(&l.Links, 50_000)
	set(&l.Pages, 2_000)
	return l
}

// Reasons for which a document cannot be read. Errors of HTML wrap one of them.
var (
	ErrDamaged = errors.New("damaged")
	ErrLocked  = errors.New("protected by a password")
	ErrBounds  = errors.New("beyond the bounds of a document")
	ErrEmpty   = errors.New("without any text")
)

// ErrReader is the fault of the machine and not of a document: nothing that reads it could be started.
var ErrReader = errors.New("the reader of documents cannot be started")

// Reader makes HTML of a document of a kind. cut tells that a bound was met and the rest
// is missing.
type Reader interface {
	HTML(k Kind, src []byte, charset string) (html []byte, cut bool, err error)
}

// Local is the Reader that does so in this process. It reads no PDF unless PDF is set.
// It is safe for concurrent use.
type Local struct {
	Limits Limits
	// PDF writes the pages of a PDF; nil = PDF is not read.
	PDF func(src []byte, l Limits, w *Writer) error
}

// HTML is the document src as HTML in UTF-8. charset is what a server said of its
// encoding, "" for nothing.
func (r Local) HTML(k Kind, src []byte, charset string) (html []byte, cut bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			html, err = nil, fmt.Errorf("%w: its reader failed: %.200v", ErrDamaged, p)
		}
	}()
	l := r.Limits.withDefaults()
	w := newWriter(l)
	switch {
	case textual(k):
		src, _ = parse.Decode(src, charset)
	case k == Feed || k == Sitemap:
		src = marked(src, charset)
	}
	switch k {
	case PDF:
		if r.PDF == nil {
			return nil, false, fmt.Errorf("%w: this program reads no PDF", ErrDamaged)
		}
		err = r.PDF(src, l, w)
	case Word:
		err = readWord(src, l, w)
	case Open:
		err = readOpen(src, l, w)
	case EPUB:
		err = readEPUB(src, l, w)
	case RTF:
		err = readRTF(src, l, w)
	case Text:
		readText(src, w)
	case Markdown:
		err = readMarkdown(src, l, w)
	case CSV:
		readCSV(src, w)
	case JSON:
		err = readJSON(src, l, w)
	case Feed:
		err = readFeed(src, l, w)
	case Sitemap:
		err = readSitemap(src, l, w)
	default:
		err = fmt.Errorf("%w: %q is no kind of document", ErrDamaged, k)
	}
	if err == nil && w.empty() {
		err = ErrEmpty
	}
	if errors.Is(err, ErrDamaged) && !w.empty() {
		w.cut, err = true, nil // what could be read of it
	}
	if err != nil {
		return nil, false, err
	}
	html = w.finish()
	return html, w.cut, nil
}

// textual tells the kinds that are texts in some encoding which only the server, or a
// look at the bytes, can tell.
func textual(k Kind) bool {
	return k == Text || k == Markdown || k == CSV || k == JSON
}

// Documents are the documents that a parser reads beside HTML.
type Documents struct{ Reader Reader }

var _ parse.Documents = Documents{}

// HTML is the document in r as HTML; nil for a response that is none of a known kind.
// An error is a *web.Failure with web.ReasonDamaged, or one that is temporary with
// web.ReasonReader.
func (d Documents) HTML(r *web.Response, mediaType, charset string) (*parse.Document, error) {
	k, ok := of(r, mediaType)
	if !ok {
		return nil, nil
	}
	html, cut, err := d.Reader.HTML(k, r.Body, charset)
	if errors.Is(err, ErrReader) {
		return nil, &web.Failure{Reason: web.ReasonReader, Temporary: true, Detail: fmt.Sprintf("%.200s: %v", r.URL, err), Err: err}
	}
	if err != nil {
		detail := fmt.Sprintf("%.200s: this %s cannot be read: %v", r.URL, k.name(), err)
		if r.Truncated != "" {
			detail += fmt.Sprintf("; its end is missing after %d bytes: %s", len(r.Raw), web.CutMeaning(r.Truncated))
		}
		return nil, &web.Failure{Reason: web.ReasonDamaged, Detail: detail, Err: err}
	}
	var listing parse.Source
	switch k {
	case Feed:
		listing = parse.SourceFeeds
	case Sitemap:
		listing = parse.SourceSitemaps
	}
	return &parse.Document{HTML: html, Type: typeOf(k, mediaType), Cut: cut, Listing: listing}, nil
}

// name is what people call a document of the kind.
func (k Kind) name() string {
	switch k {
	case PDF, EPUB, JSON:
		return map[Kind]string{PDF: "PDF", EPUB: "EPUB", JSON: "JSON document"}[k]
	case Word:
		return "Word document"
	case Open:
		return "OpenDocument text"
	case RTF:
		return "RTF document"
	case CSV:
		return "table"
	}
	return string(k)
}

// typeOf is the media type by which a page of this kind is known: that of the server
// where it names the kind, and the usual one otherwise.
func typeOf(k Kind, mediaType string) string {
	if d, ok := Named(string(k)); ok && k != Sitemap && k != Feed {
		for _, t := range d.Types {
			if t == mediaType {
				return t
			}
		}
	}
	if d, _ := Named(string(Feed)); k == Feed && strings.HasSuffix(mediaType, "+xml") && slices.Contains(d.Types, mediaType) {
		return mediaType
	}
	return k.Type()
}
