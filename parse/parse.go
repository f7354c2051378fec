// Package parse makes pages of responses: bytes → leaves, text, terms, links
// with what surrounds them.
//
// # The leaves of a page
//
// Leaves are numbered from 0 in document order within the body (the frameset,
// in a page of frames); the head has none. A leaf is
//
//   - a text node that holds more than white space, or
//   - an element in which there is no other leaf: br, img, hr, an empty cell.
//
// White space between tags is how a source is laid out and not part of the
// document, so it counts neither as a leaf nor as a child; the same page
// written on one line has the same leaves. Comments never count. script,
// style, noscript and template are one empty leaf each. The link in
//
//	<p>See <a href=x>the <em>waggle</em> dance</a><br>of bees</p>
//
// spans the leaves 1…3 of
//
//	0 "See"  1 "the"  2 "waggle"  3 "dance"  4 ""  5 "of bees"
//
// so that "See" has offset −1 to it, br 1 and "of bees" 2.
//
// # Texts
//
// All texts of a page are free of control characters and of runs of white
// space. They share memory, with one another and with no source: a page does
// not hold on to the response it was made of.
package parse

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/waggle-crawler/waggle/fetch/robots"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
	"github.com/zeebo/xxh3"
	"golang.org/x/net/html"
)

// ErrType is wrapped by the errors of Parse for documents that are neither
// HTML nor plain text, nor anything that Options.Documents knows.
var ErrType = errors.New("neither HTML nor text")

// Analyzer makes terms of texts, those of web.Page.Terms: words in lower case, without
// stop words, stemmed. Its method Words returns the terms of a text
// in their order. It is safe for concurrent use; parser, judge and scorer of a crawl may
// share one, which saves memory (5 to 12 MiB for each language).
type Analyzer = text.Analyzer

// NewAnalyzer makes an analyzer by the rules of some languages (ISO 639-1 codes), or of
// English if none is named. With several, the terms of a page are made by the rules of
// its own language if it is among them, and else by those of the first.
func NewAnalyzer(languages ...string) *Analyzer { return text.NewAnalyzer(languages...) }

// Languages are the languages of which an Analyzer knows more than where words begin and
// end, English first.
func Languages() []string {
	return append([]string{text.English}, slices.DeleteFunc(text.Languages(), func(l string) bool { return l == text.English })...)
}

// LanguageOf is the language by whose rules a text is to be compared, given the language
// that it declares: what it is like, or else what it declares, in the form that
// Analyzer.In takes; "" if nothing tells.
func LanguageOf(s, declared string) string {
	return languageOfTerms(text.Guess(s), declared)
}

// languageOfTerms is the language by whose rules the terms of a text are made, given what
// the text is like, "" if it does not tell, and what it declares. What it is like comes
// first, as pages of many sites declare the language of their templates.
func languageOfTerms(guess, declared string) string {
	return text.Canonical(cmp.Or(guess, declared))
}

// Options bound and direct a Parser. The zero value of a bound means its
// default. A page that hits one is cut there and marked Truncated; so is one
// nested deeper than 512 elements, which is flattened and keeps its text and
// links.
type Options struct {
	Canon    web.Canon // how addresses are made canonical
	Analyzer *Analyzer // nil = a new one
	Agent    string    // product token to which the wishes of pages apply; "" = "waggle"

	// Documents reads documents of other kinds; nil = they are none of Parse.
	Documents Documents
	// Sources are where links come from, beside elements such as a and frame; nil =
	// SourceAlternates alone.
	Sources []Source

	Tags    bool // fill Page.Tags
	Nesting bool // fill Page.Nesting

	MaxTags   int // tags read; default 200,000
	MaxLeaves int // default 100,000
	MaxLinks  int // default 10,000
	MaxText   int // bytes of visible text; default 1 MiB
}

// Documents makes HTML of documents that are none, such as PDF. It is safe for
// concurrent use, and makes the same of the same document.
type Documents interface {
	// HTML is the document in r, given the media type and the label of the encoding by
	// which it came; nil for one of a kind that it does not know. An error says why a
	// document of a known kind cannot be read.
	HTML(r *web.Response, mediaType, charset string) (*Document, error)
}

// Document is the HTML of a document.
type Document struct {
	HTML []byte // in UTF-8
	Type string // the media type of the document
	Cut  bool   // something of it is missing
	// Listing says of which source it is a list of links, SourceFeeds or SourceSitemaps; "" =
	// it is none. The links of its entries tell when these changed, as a web.Date: by the
	// attribute data-changed, or data-published where they tell only when that was.
	Listing Source
}

// Bounds on single strings, in bytes.
const (
	maxTitle   = 1 << 10
	maxMeta    = 4 << 10
	maxHeading = 1 << 10
	maxAnchor  = 1 << 10
	maxAlt     = 512
	maxOutside = 60  // of web.Page.PasswordAlone: bytes outside forms and links
	maxAround  = 256 // of Before and After, each
	maxPath    = 200
	maxName    = 32   // of a tag or class in a TagPath
	maxItems   = 1000 // headings, alts, metas: of each
	around     = 10   // words before and after a link
)

// Parser makes pages of responses. It is pure and safe for concurrent use.
type Parser struct {
	opts  Options
	spare sync.Pool // of *builder
}

// New makes a parser.
func New(opts Options) *Parser {
	setDefault := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	setDefault(&opts.MaxTags, 200_000)
	setDefault(&opts.MaxLeaves, 100_000)
	setDefault(&opts.MaxLinks, 10_000)
	setDefault(&opts.MaxText, 1<<20)
	if opts.Agent == "" {
		opts.Agent = "waggle"
	}
	if opts.Analyzer == nil {
		opts.Analyzer = NewAnalyzer()
	}
	p := &Parser{opts: opts}
	p.spare.New = func() any { return newBuilder(newWalker(&p.opts)) }
	return p
}

// Reads says what of the options changes which documents are pages, where their links come from
// and by which languages their terms are made: parsed pages are of use to parsers that read the
// same. It is "" for a parser of English pages without options.
func (p *Parser) Reads() string {
	var out []string
	if l := p.opts.Analyzer.Languages(); len(l) != 1 || l[0] != text.English {
		out = append(out, "languages "+strings.Join(l, " "))
	}
	if p.opts.Documents != nil {
		out = append(out, "documents")
	}
	if p.opts.Sources != nil {
		out = append(out, fmt.Sprint("sources ", p.opts.Sources))
	}
	return strings.Join(out, "; ")
}

// Parse makes the page of a response, as it was rendered where it was. Malformed HTML of any
// kind is a page. Links that repeated a secret, which is concealed in the document, are left out of it. The error
// wraps ErrType for documents that are no text.
func (p *Parser) Parse(r *web.Response) (*web.Page, error) {
	page, _, err := p.parse(r, false)
	return page, err
}

// parse is Parse, from a tree where it is asked for. beyond says why a page was
// read from one.
func (p *Parser) parse(sent *web.Response, asTree bool) (page *web.Page, beyond string, err error) {
	r := sent.Rendered()
	src, err := p.source(r)
	if err != nil {
		return nil, "", err
	}
	page = &web.Page{
		URL:       r.URL,
		Base:      r.URL,
		Fetched:   r.Started,
		Status:    r.Status,
		MIME:      src.mediaType,
		Charset:   src.charset,
		Digest:    xxh3.Hash128(r.Body).Bytes(),
		Truncated: src.cut,
	}
	b := p.spare.Get().(*builder)
	defer p.spare.Put(b)
	w := b.walker
	w.reset(page)
	w.dated = src.listing != "" && p.opts.from(src.listing)
	if src.isHTML {
		beyond = p.read(b, src.text, asTree)
	} else {
		w.plain(src.text)
	}
	charset := src.charset
	if r != sent { // a rendering is in UTF-8, and its links are those of a page that need not be
		_, label := contentType(sent)
		charset, _ = encodingOf(sent.Body, label, true)
	}
	w.query = outputEncoding(charset)
	if w.whole = src.whole; src.listing != "" {
		for i := range w.links {
			if l := &w.links[i]; l.Kind == web.LinkA {
				l.Kind = web.LinkEntry
			}
		}
	} else if src.isHTML && !src.whole {
		w.inSource(src.text)
	}
	if p.opts.Sources != nil && p.opts.from(SourceHeaders) {
		w.headerLinks(r.Header["Link"])
	}
	w.finish(first(r.Header["Content-Language"]))
	page.Directives = robots.Page(r.Site, r.Header, w.metas, p.opts.Agent)
	page.WithoutConcealed()
	return page, beyond, nil
}

// source is a document before it is read.
type source struct {
	text      []byte // in UTF-8
	isHTML    bool
	mediaType string
	charset   string
	cut       bool   // something of it is missing
	whole     bool   // it was no HTML: all of it is the main text
	listing   Source // it is a list of links of that source
}

// source decodes a response, which was rendered where it was. The error wraps ErrType for
// documents that are no text.
func (p *Parser) source(r *web.Response) (s source, err error) {
	var label string
	s.mediaType, label = contentType(r)
	s.isHTML = s.mediaType == "text/html" || s.mediaType == "application/xhtml+xml"
	s.cut = r.Truncated != ""
	d, err := p.document(r, s.mediaType, label)
	switch {
	case err != nil:
	case d != nil:
		s.isHTML, s.text, s.charset, s.whole = true, repair(d.HTML), "utf-8", true
		s.mediaType, s.cut, s.listing = d.Type, s.cut || d.Cut, d.Listing
	case s.isHTML || isText(s.mediaType):
		s.text, s.charset = decode(r.Body, label, s.isHTML)
	default:
		err = fmt.Errorf("%s is %s: %w", r.URL, s.mediaType, ErrType)
	}
	return s, err
}

// Tree is the document tree of a response, as it was rendered where it was: what a page
// was made of. Documents of other kinds have the tree of their HTML, and a text without
// markup that of one pre. A tree has at most maxTags elements in the source (0 = the
// bound of the parser), the elements that the source implies beside them, and is nested
// at most 512 deep; cut tells that something is missing. The error is that of Parse.
func (p *Parser) Tree(r *web.Response, maxTags int) (root *html.Node, cut bool, err error) {
	src, err := p.source(r.Rendered())
	if err != nil {
		return nil, false, err
	}
	page := &web.Page{MIME: src.mediaType, Truncated: src.cut}
	text := src.text
	if !src.isHTML {
		text = slices.Concat([]byte("<pre>\n"), []byte(html.EscapeString(string(text))))
	}
	if maxTags <= 0 || maxTags > p.opts.MaxTags {
		maxTags = p.opts.MaxTags
	}
	return tree(page, bounded(page, text, maxTags)), page.Truncated, nil
}

// Shown is what a response is shown by, in UTF-8: HTML, or else plain text. A page is as it was
// rendered where it was, a plain text as it was sent, and any other document is the HTML that is
// made of it. The error is that of Parse.
func (p *Parser) Shown(r *web.Response) (src string, isHTML bool, err error) {
	r = r.Rendered()
	s, err := p.source(r)
	if err != nil {
		return "", false, err
	}
	if s.mediaType == "text/plain" {
		_, label := contentType(r)
		s.text, _ = decode(r.Body, label, false) // its lines, which the HTML made of it lays out anew
		s.isHTML = false
	}
	return string(s.text), s.isHTML, nil
}

func (p *Parser) document(r *web.Response, mediaType, label string) (*Document, error) {
	if p.opts.Documents == nil || (mediaType == "text/html" || mediaType == "application/xhtml+xml") && web.FileType(r.Body) == "" {
		return nil, nil
	}
	return p.opts.Documents.HTML(r, mediaType, label)
}

// read takes the HTML document src, whatever it is.
func (p *Parser) read(b *builder, src []byte, asTree bool) (beyond string) {
	w := b.walker
	page := w.page
	src = bounded(page, src, p.opts.MaxTags)
	before := *page
	if beyond = "asked for"; !asTree {
		beyond = b.build(src)
	}
	if beyond != "" {
		*page = before
		w.reset(page)
		w.walk(tree(page, src))
	}
	return beyond
}

// bounded is src without what its tree could grow by out of proportion.
func bounded(page *web.Page, src []byte, maxTags int) []byte {
	src, lost := cut(src, maxTags)
	page.Truncated = page.Truncated || lost
	xml := page.MIME == "application/xhtml+xml"
	prune := excessive(src)
	if xml || prune {
		src, lost = rewrite(src, rewriting{xml: xml, prune: prune})
		page.Truncated = page.Truncated || lost
	}
	return src
}

// tree builds the document tree of src, whatever src is.
func tree(page *web.Page, src []byte) *html.Node {
	doc, err := html.Parse(bytes.NewReader(src))
	// Each of these leaves a flatter document than the one before; the last
	// has nothing left that can nest.
	for _, r := range []rewriting{{prune: true}, {prune: true, flatly: true}} {
		if err == nil {
			return doc
		}
		page.Truncated = true
		src, _ = rewrite(src, r)
		doc, err = html.Parse(bytes.NewReader(src))
	}
	if err != nil {
		return &html.Node{Type: html.DocumentNode}
	}
	return doc
}

// contentType reads the type of a document and the label of its encoding from
// the header, and the type from the first bytes where the header has none. A page in HTML
// is one whatever the header says, but for a text: that may show the source of a page.
func contentType(r *web.Response) (mediaType, charset string) {
	header := first(r.Header["Content-Type"])
	mediaType, params, err := mime.ParseMediaType(header)
	charset = params["charset"]
	if err != nil {
		mediaType, _, _ = strings.Cut(header, ";")
		mediaType = strings.ToLower(strings.TrimSpace(mediaType))
		charset = charsetParameter(header)
	}
	if !strings.Contains(mediaType, "/") || mediaType == "application/octet-stream" || mediaType == "unknown/unknown" || mediaType == "application/unknown" {
		mediaType, _, _ = strings.Cut(http.DetectContentType(r.Body), ";")
	}
	if mediaType != "application/xhtml+xml" && !isText(mediaType) && beginsAsPage(r.Body) {
		mediaType = "text/html"
	}
	return clean(mediaType, 100), charset
}

// beginsAsPage knows pages in HTML that begin as one.
func beginsAsPage(body []byte) bool {
	start := bytes.TrimLeft(bytes.TrimPrefix(body[:min(len(body), 1024)], []byte("\xef\xbb\xbf")), " \t\r\n\f")
	for _, s := range []string{"<!doctype html", "<html"} {
		if len(start) > len(s) && strings.EqualFold(string(start[:len(s)]), s) && strings.IndexByte(" \t\r\n\f>", start[len(s)]) >= 0 {
			return true
		}
	}
	return false
}

// Types are the media types that Parse understands.
func Types() []string {
	return []string{"text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-rst", "text/x-markdown"}
}

// isText knows the types that are read as text without markup or links.
func isText(mediaType string) bool { return slices.Contains(Types()[2:], mediaType) }

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
