package document

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Kind is a kind of document, by the name that people give it: "pdf".
type Kind string

// The kinds of document.
const (
	PDF      Kind = "pdf"
	Word     Kind = "docx"
	Open     Kind = "odt"
	EPUB     Kind = "epub"
	RTF      Kind = "rtf"
	Text     Kind = "text"
	Markdown Kind = "markdown"
	CSV      Kind = "csv"
	JSON     Kind = "json"
	Feed     Kind = "feed"
	Sitemap  Kind = "sitemap"
)

// Description is what people and programs know of a kind.
type Description struct {
	Kind       Kind
	Line       string   // for people
	Types      []string // media types, the usual one first
	Extensions []string // of file names, lower case, without a dot
}

// Kinds are the kinds of document that can be wanted, in the order in which people
// are told of them. A sitemap is none: it is read for its links alone.
func Kinds() []Description {
	return []Description{
		{PDF, "PDF", []string{"application/pdf", "application/x-pdf"}, []string{"pdf"}},
		{Word, "Word (docx)", []string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/vnd.ms-word.document.macroenabled.12"}, []string{"docx", "docm"}},
		{Open, "OpenDocument text (odt)", []string{"application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text-template"}, []string{"odt", "ott"}},
		{EPUB, "EPUB", []string{"application/epub+zip"}, []string{"epub"}},
		{RTF, "Rich Text Format", []string{"application/rtf", "text/rtf"}, []string{"rtf"}},
		{Text, "plain text", []string{"text/plain", "text/x-rst"}, []string{"txt", "rst"}},
		{Markdown, "Markdown", []string{"text/markdown", "text/x-markdown"}, []string{"md", "markdown"}},
		{CSV, "tables in CSV and TSV", []string{"text/csv", "text/tab-separated-values"}, []string{"csv", "tsv"}},
		{JSON, "JSON", []string{"application/json", "application/ld+json", "application/x-ndjson", "application/jsonl", "application/feed+json", "application/problem+json", "text/json"}, []string{"json", "jsonl", "ndjson"}},
		{Feed, "feeds: RSS and Atom", []string{"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/xml", "text/xml"}, []string{"rss", "atom", "xml"}},
	}
}

// sitemaps is the description of what is read for its links alone.
func sitemaps() Description {
	return Description{Sitemap, "sitemaps", []string{"application/xml", "text/xml", "application/gzip", "application/x-gzip"}, []string{"xml", "gz"}}
}

// Named is the description of a kind; ok is false where there is no such kind.
func Named(name string) (d Description, ok bool) {
	if Kind(name) == Sitemap {
		return sitemaps(), true
	}
	all := Kinds()
	i := slices.IndexFunc(all, func(d Description) bool { return string(d.Kind) == name })
	if i < 0 {
		return d, false
	}
	return all[i], true
}

// Type is the usual media type of a kind.
func (k Kind) Type() string {
	if k == Sitemap {
		return SitemapType
	}
	d, _ := Named(string(k))
	return d.Types[0]
}

// SitemapType stands for the media type of sitemaps, which have none of their own.
const SitemapType = "application/sitemap+xml"

// ByExtension is the kind of document that a file name ends for; ok is false where it
// tells none.
func ByExtension(name string) (k Kind, ok bool) {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	for _, d := range Kinds() {
		if slices.Contains(d.Extensions, ext) {
			return d.Kind, true
		}
	}
	return "", false
}

// of is the kind of the document in r, given its media type; ok is false for other
// documents. How a document begins tells more than what its server says, and that more
// than its name.
func of(r *web.Response, mediaType string) (k Kind, ok bool) {
	if k, ok := bySignature(r.Body); ok {
		return k, true
	}
	named, byName := ByExtension(r.URL.Path())
	switch {
	case mediaType == "text/plain":
		if byName && slices.Contains([]Kind{Markdown, CSV, JSON}, named) {
			return named, true
		}
		if isSitemapText(r) {
			return Sitemap, true
		}
		return Text, true
	case mediaType == "application/xml" || mediaType == "text/xml" || strings.HasSuffix(mediaType, "+xml"):
		return byRoot(r.Body)
	case mediaType == "application/feed+json" || strings.HasSuffix(mediaType, "+json"):
		return JSON, true
	}
	for _, d := range Kinds() {
		if slices.Contains(d.Types, mediaType) {
			return d.Kind, true
		}
	}
	if mediaType == "application/octet-stream" && byName {
		return named, true
	}
	return "", false
}

// bySignature knows the kinds whose documents begin in a way of their own.
func bySignature(body []byte) (Kind, bool) {
	start := body[:min(len(body), 1024)]
	switch {
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return byEntries(body)
	case bytes.HasPrefix(start, []byte("{\\rtf")):
		return RTF, true
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		start, _ := inflatedStart(body)
		return byRoot(start)
	case bytes.Contains(start, []byte("%PDF-")) && !bytes.Contains(start, []byte("<")):
		return PDF, true
	case bytes.HasPrefix(start, []byte("%PDF-")):
		return PDF, true
	}
	return "", false
}

// wordPart is the name of the main part of a Word document, which Office Online numbers.
var wordPart = regexp.MustCompile(`word/document[0-9]*\.xml`)

// byEntries tells the kind of a zip file by what its first entry says, or by the name of
// an entry.
func byEntries(body []byte) (Kind, bool) {
	start := body[:min(len(body), 256)]
	switch {
	case bytes.Contains(start, []byte("mimetypeapplication/vnd.oasis.opendocument.text")):
		return Open, true
	case bytes.Contains(start, []byte("mimetypeapplication/epub+zip")):
		return EPUB, true
	}
	if wordPart.Match(body) {
		return Word, true
	}
	if bytes.Contains(body, []byte("META-INF/container.xml")) {
		return EPUB, true
	}
	return "", false
}

// byRoot tells the kind of an XML document by its root element.
func byRoot(body []byte) (Kind, bool) {
	switch name := rootName(body); name {
	case "urlset", "sitemapindex":
		return Sitemap, true
	case "rss", "feed", "rdf":
		return Feed, true
	}
	return "", false
}

// rootName is the name of the root element of an XML document, in lower case and
// without its prefix, "" where none is found near the beginning.
func rootName(body []byte) string {
	b := body[:min(len(body), 16<<10)]
	if len(b) > 1 && (b[0] == 0xff && b[1] == 0xfe || b[0] == 0xfe && b[1] == 0xff) {
		b = bytes.ReplaceAll(b, []byte{0}, nil) // near enough for names in ASCII
	}
	for {
		i := bytes.IndexByte(b, '<')
		if i < 0 || i+1 >= len(b) {
			return ""
		}
		b = b[i+1:]
		switch {
		case bytes.HasPrefix(b, []byte("!--")):
			end := bytes.Index(b, []byte("-->"))
			if end < 0 {
				return ""
			}
			b = b[end:]
		case bytes.HasPrefix(b, []byte("!DOCTYPE")) && bytes.IndexByte(b, '[') >= 0 && bytes.IndexByte(b, '[') < bytes.IndexByte(b, '>'):
			end := bytes.Index(b, []byte("]"))
			if end < 0 {
				return ""
			}
			b = b[end:]
		case b[0] == '?' || b[0] == '!':
		default:
			end := bytes.IndexAny(b, " \t\r\n/>")
			if end < 0 {
				return ""
			}
			name := b[:end]
			if colon := bytes.LastIndexByte(name, ':'); colon >= 0 {
				name = name[colon+1:]
			}
			return strings.ToLower(string(name))
		}
	}
}

// isSitemapText knows sitemaps in plain text: by their name, and by what they hold, which is
// addresses alone, one a line.
func isSitemapText(r *web.Response) bool {
	name := strings.ToLower(path.Base(r.URL.Path()))
	if strings.HasPrefix(name, "sitemap") && strings.HasSuffix(name, ".txt") {
		return true
	}
	found := false
	for line := range bytes.Lines(withoutMark(r.Body)) {
		s := string(bytes.TrimSpace(line))
		if s == "" {
			continue
		}
		if !hasScheme(s) || strings.HasPrefix(s, "//") || strings.ContainsAny(s, " \t") {
			return false
		}
		found = true
	}
	return found
}

// withoutMark is a text in UTF-8 without the mark that may stand before it.
func withoutMark(src []byte) []byte { return bytes.TrimPrefix(src, []byte(byteOrderMark)) }
