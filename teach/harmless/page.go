// Package harmless shows pages that anybody may have written to the person at
// this machine, on a local web page of ours, so that nothing in them can load,
// run, move or ask for anything.
//
// Two kinds of document live at the server's one address:
//
//	/TOKEN/      the controls: ours, with script, and the only ones that know
//	             the token
//	/page/CAP/…  pages made harmless (Options.Show), in an iframe of the controls
//	/load/CAP/…  their images and style sheets
//	/do/…        what the controls ask for; the token is in a header
//
// A page has no script, lives in an opaque origin, can load nothing but its own
// resources and can move its frame nowhere but along links that the server gave
// it. A browser elsewhere on the machine reaches none of it: the Host header must
// name the address listened on (so that no other name leads here), the Origin of
// a request must be ours, and the token and CAP are drawn anew each time.
package harmless

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	xhtml "golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/waggle-crawler/waggle/web"
)

// What a page may be shown with. A page is written anew, token by token, from
// these lists: every "<" of the result is ours, none is the page's. So what a
// browser makes of it does not depend on how it, or we, read what the page
// wrote. Scripts, frames, forms, objects, foreign content and comments have no
// place in the lists; addresses are replaced by numbers of links and resources.
//
// That is the first of three walls. The second is the Content-Security-Policy
// of each page, which lets it load from nowhere but its own resources and
// sandboxes it into an origin of its own; the third the iframe it is shown in.

// shownElements maps the elements that are shown to what they are shown as.
func shownElements() map[string]string {
	m := map[string]string{
		"listing": "pre", "form": "div",
		"object": "span", "applet": "span", "video": "span", "audio": "span", "canvas": "span",
	}
	for e := range strings.FieldsSeq(`a abbr acronym address article aside b bdi bdo big blockquote br button
		caption center cite code col colgroup dd del details dfn dir div dl dt em fieldset figcaption figure
		font footer h1 h2 h3 h4 h5 h6 header hgroup hr i ins kbd label legend li main mark menu nav nobr ol
		optgroup option p pre q rp rt ruby s samp section select small span strike strong sub summary sup
		table tbody td tfoot th thead time tr tt u ul var wbr`) {
		m[e] = e
	}
	return m
}

// void elements have no end tag.
func void(name string) bool {
	return name == "br" || name == "col" || name == "hr" || name == "wbr"
}

// keptAttributes are those kept; all others say what to do or where to go.
func keptAttributes() map[string]bool {
	m := map[string]bool{}
	for a := range strings.FieldsSeq(`abbr align alink alt aria-hidden aria-label aria-level bgcolor border
		cellpadding cellspacing class clear color colspan dir face headers height hidden hspace id lang link
		name noshade nowrap open reversed role rowspan rules scope size span start summary text title valign
		vlink vspace width`) {
		m[a] = true
	}
	return m
}

// Allowed are the elements that a shown page may have, by what they are in the page
// itself, and the attributes that are kept.
func Allowed() (elements map[string]string, attributes map[string]bool) {
	return shownElements(), keptAttributes()
}

// Bounds of what is shown of a page.
const (
	maxShown     = 4 << 20 // bytes written; what comes after is cut off
	maxPlain     = 1 << 20 // bytes of a text that is no HTML
	maxTokens    = 200_000
	maxAttribute = 4 << 10 // bytes of an attribute; longer ones are left out
	maxStyles    = 8       // sheets of a page
	maxImages    = 200
	maxCSS       = 1 << 20 // bytes of a sheet
)

// Page is a page made harmless.
type Page struct {
	HTML      []byte
	Links     []Link
	Resources []Resource
}

// Link is a link of a shown page. Its address there is Options.LinkPath of its
// number.
type Link struct {
	URL     web.URL
	Anchor  string
	Ordinal int // web.Link.Position + 1; 0 = not found among the page's links
}

// Resource is what a shown page loads besides itself.
type Resource struct {
	URL   web.URL
	Style bool // a style sheet, else an image
}

// Options say how a page is shown.
type Options struct {
	LinkPath     func(number int) string // nil: links lead nowhere, and look as they do in the page
	ResourcePath func(number int) string
	Styles       bool // show with the page's style sheets
	Images       bool // show images; else their texts
	Canon        web.Canon
	// Has tells which pages can be had; links to others are shown as dead. nil = all.
	Has func(web.URL) bool
}

// Show writes a page anew. src is its text in UTF-8, see Decode.
func (o Options) Show(p *web.Page, src string) Page {
	if strings.HasPrefix(p.MIME, "text/plain") {
		return plain(p, src)
	}
	w := &writer{Options: o, page: p, quirks: true, elements: shownElements(), attributes: keptAttributes(), tokens: xhtml.NewTokenizer(strings.NewReader(src))}
	w.run()
	w.match()
	return w.Page
}

type writer struct {
	Options
	Page
	page                 *web.Page
	elements             map[string]string
	attributes           map[string]bool
	tokens               *xhtml.Tokenizer
	head, body           bytes.Buffer
	htmlAttrs, bodyAttrs string
	doctype              string
	sheets, pictures     int
	template             int  // depth: what is in templates is not shown
	cut                  bool // not all of the page is there
	begun                bool // something came before which no document type is
	quirks               bool // browsers lay the page out by old rules
	inLink               bool // an image without a text may be all there is to click
}

func (w *writer) run() {
	for n := 0; ; n++ {
		if n == maxTokens || w.body.Len()+w.head.Len() > maxShown {
			w.cut = true
			break
		}
		if w.tokens.Next() == xhtml.ErrorToken {
			break // io.EOF: a string gives nothing else
		}
		switch t := w.tokens.Token(); t.Type {
		case xhtml.TextToken:
			w.begun = w.begun || strings.TrimSpace(t.Data) != ""
			if w.template == 0 {
				w.body.WriteString(html.EscapeString(t.Data))
			}
		case xhtml.DoctypeToken:
			if !w.begun {
				w.doctype, w.quirks = doctype(t.Data)
			}
			w.begun = true
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			w.begun = true
			w.start(t)
		case xhtml.EndTagToken:
			if t.Data == "template" && w.template > 0 {
				w.template--
			} else if as, ok := w.elements[t.Data]; ok && w.template == 0 && !void(as) {
				w.inLink = w.inLink && as != "a"
				fmt.Fprintf(&w.body, "</%s>", as)
			}
		}
	}
	var out bytes.Buffer
	out.WriteString(w.doctype)
	fmt.Fprintf(&out, `<html%s><head><meta charset="utf-8"><title>%s</title><style>%s</style>`,
		w.htmlAttrs, html.EscapeString(w.page.Title), w.style())
	out.Write(w.head.Bytes())
	fmt.Fprintf(&out, "</head><body%s>\n", w.bodyAttrs)
	out.Write(w.body.Bytes())
	if w.cut {
		out.WriteString(`<p class="waggle-frame">The page goes on, too long to be shown whole.</p>`)
	}
	out.WriteString("\n</body></html>\n")
	w.HTML = out.Bytes()
}

// identifiers are what a document type may name: no character of them ends anything.
var identifiers = regexp.MustCompile(`(?i)^html\s+(public|system)\s+(?:"([^"'<>&]*)"|'([^"'<>&]*)')(?:\s*(?:"([^"'<>&]*)"|'([^"'<>&]*)'))?\s*$`)

// oldTypes begin the public identifiers, in lower case, of document types whose pages are
// laid out by old rules; those of bareTypes are where no system identifier stands behind them.
// Source: the HTML standard, "The initial insertion mode".
var (
	oldTypes = []string{
		"+//silmaril//", "-//as//", "-//advasoft", "-//ietf//", "-//metrius//", "-//microsoft//", "-//netscape", "-//o'reilly", "-//sq//", "-//softquad", "-//spyglass//", "-//sun microsystems",
		"-//w3c//dtd html 3", "-//w3c//dtd html 4.0 frameset//", "-//w3c//dtd html 4.0 transitional//", "-//w3c//dtd html experimental", "-//w3c//dtd w3 html//", "-//w3o//", "-//webtechs//",
	}
	bareTypes = []string{"-//w3c//dtd html 4.01 frameset//", "-//w3c//dtd html 4.01 transitional//"}
)

// doctype writes a document type anew, and tells whether it asks for old rules of layout.
// One that is malformed does so, and is left out.
func doctype(data string) (out string, quirks bool) {
	if strings.EqualFold(strings.TrimSpace(data), "html") {
		return "<!DOCTYPE html>", false
	}
	m := identifiers.FindStringSubmatch(data)
	if m == nil {
		return "", true
	}
	public := strings.EqualFold(m[1], "public")
	first, more := m[2]+m[3], m[4]+m[5]
	out = "<!DOCTYPE html " + strings.ToUpper(m[1]) + ` "` + first + `"`
	if more != "" {
		out += ` "` + more + `"`
	}
	begins := func(p string) bool { return public && strings.HasPrefix(strings.ToLower(first), p) }
	return out + ">", slices.ContainsFunc(oldTypes, begins) || more == "" && slices.ContainsFunc(bareTypes, begins)
}

// style is that of our own.
func (w *writer) style() string {
	if w.quirks { // what a form has below it there
		return ownStyle + `.waggle-form{margin-block-end:1em}`
	}
	return ownStyle
}

// ownStyle comes before the page's own, which may overrule it.
const ownStyle = `:root{color-scheme:only light}` +
	`.waggle-image{display:inline-block;padding:0 .4em;border:1px dashed #bbb;border-radius:3px;color:#777;font-size:.85em}` +
	`a.waggle-dead,a.waggle-dead *{text-decoration:line-through dotted!important;color:#888!important;cursor:not-allowed!important}` +
	`.waggle-frame{font:1.1em sans-serif;margin:1em}`

// rawText names elements whose content comes as one text token.
func rawText(name string) bool {
	switch name {
	case "script", "style", "title", "textarea", "iframe", "noembed", "noframes", "noscript", "xmp", "plaintext":
		return true
	}
	return false
}

// raw takes the content of an element of raw text.
func (w *writer) raw() string {
	if w.tokens.Next() != xhtml.TextToken {
		// An empty element: its end tag was read, which closes nothing here.
		return ""
	}
	return string(w.tokens.Text())
}

func (w *writer) start(t xhtml.Token) {
	var raw string
	if rawText(t.Data) && t.Type == xhtml.StartTagToken {
		raw = w.raw()
	}
	if t.Data == "template" && t.Type == xhtml.StartTagToken {
		w.template++
	}
	if w.template > 0 {
		return
	}
	get := func(name string) string {
		for _, a := range t.Attr {
			if a.Key == name && len(a.Val) <= 64<<10 {
				return a.Val
			}
		}
		return ""
	}
	switch t.Data {
	case "html":
		if w.htmlAttrs == "" {
			w.htmlAttrs = w.keep(t.Attr)
		}
	case "body":
		if w.bodyAttrs == "" {
			w.bodyAttrs = w.keep(t.Attr)
		}
	case "a":
		w.link(get("href"), w.keep(t.Attr))
	case "area":
		if href := get("href"); href != "" {
			w.link(href, "")
			w.body.WriteString(html.EscapeString(cmp.Or(strings.TrimSpace(get("alt")), lastPart(href))) + "</a> ")
		}
	case "frame", "iframe":
		if src := get("src"); src != "" {
			w.body.WriteString(`<div class="waggle-frame">Frame: `)
			w.link(src, "")
			w.body.WriteString(html.EscapeString(cmp.Or(get("title"), get("name"), src)) + "</a></div>")
		}
	case "img":
		w.image(get("src"), get("alt"), t.Attr)
	case "input":
		w.input(get("type"), t.Attr)
	case "textarea":
		fmt.Fprintf(&w.body, "<textarea%s%s inert>\n%s</textarea>", w.keep(t.Attr), w.further(t.Attr, "cols", "rows", "placeholder", "wrap"), html.EscapeString(strings.TrimPrefix(raw, "\n")))
	case "form":
		attrs := w.keep(slices.DeleteFunc(slices.Clone(t.Attr), func(a xhtml.Attribute) bool { return a.Key == "class" }))
		fmt.Fprintf(&w.body, `<div class="%s"%s>`, html.EscapeString(strings.TrimSpace("waggle-form "+get("class"))), attrs)
	case "link":
		rel := strings.Fields(strings.ToLower(get("rel")))
		if w.Styles && slices.Contains(rel, "stylesheet") && !slices.Contains(rel, "alternate") {
			w.sheet(get("href"), get("media"))
		}
	case "style":
		if w.Styles {
			fmt.Fprintf(&w.head, "<style>%s</style>", inlineCSS(raw))
		}
	case "xmp", "plaintext":
		fmt.Fprintf(&w.body, "<pre%s>%s</pre>", w.keep(t.Attr), html.EscapeString(raw))
	default:
		if as, ok := w.elements[t.Data]; ok {
			more := ""
			switch as {
			case "select":
				more = w.further(t.Attr, "multiple", "disabled") + " inert"
			case "option":
				more = w.further(t.Attr, "selected", "disabled")
			case "button":
				more = ` type="button"` + w.further(t.Attr, "disabled") + " inert"
			}
			fmt.Fprintf(&w.body, "<%s%s%s>", as, w.keep(t.Attr), more)
		}
	}
}

// keep writes the attributes that are kept.
func (w *writer) keep(attrs []xhtml.Attribute) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, a := range attrs {
		if a.Namespace != "" || len(a.Val) > maxAttribute || seen[a.Key] {
			continue
		}
		seen[a.Key] = true
		switch {
		case a.Key == "style" && w.Styles:
			fmt.Fprintf(&b, ` style="%s"`, html.EscapeString(cleanCSS(a.Val)))
		case w.attributes[a.Key]:
			fmt.Fprintf(&b, ` %s="%s"`, a.Key, html.EscapeString(a.Val))
		}
	}
	return b.String()
}

// link opens an a element. Its address is a number of ours, that within the
// page as it was, or none.
func (w *writer) link(href, attrs string) {
	ref := strings.TrimSpace(href)
	if href == "" {
		fmt.Fprintf(&w.body, "<a%s>", attrs)
		return
	}
	u, err := w.Canon.Resolve(w.page.Base, href)
	if _, _, within := strings.Cut(ref, "#"); w.LinkPath == nil && (err != nil || !within || u != w.page.URL) {
		w.unmarked(u, err, attrs)
		return
	}
	if err != nil {
		fmt.Fprintf(&w.body, `<a class="waggle-dead" title="waggle does not follow this">`)
		return
	}
	if _, fragment, ok := strings.Cut(ref, "#"); ok && u == w.page.URL {
		fmt.Fprintf(&w.body, `<a href="#%s"%s>`, html.EscapeString(fragment), attrs)
		return
	}
	if w.Has != nil && !w.Has(u) {
		fmt.Fprintf(&w.body, `<a class="waggle-dead" title="%s is not in the record">`, html.EscapeString(u.String()))
		w.inLink = true
		return
	}
	if !strings.Contains(attrs, ` title="`) {
		attrs += fmt.Sprintf(` title="%s"`, html.EscapeString(u.String()))
	}
	fmt.Fprintf(&w.body, `<a href="%s"%s>`, html.EscapeString(w.LinkPath(len(w.Links))), attrs)
	w.inLink = true
	w.Links = append(w.Links, Link{URL: u})
}

// unmarked opens a link that leads nowhere: to a part of the page that is not there, so
// that it looks as the page wants links to look. Its address is told where it has no title.
func (w *writer) unmarked(u web.URL, err error, attrs string) {
	if err == nil && !strings.Contains(attrs, ` title="`) {
		attrs += fmt.Sprintf(` title="%s"`, html.EscapeString(u.String()))
	}
	w.inLink = true
	fmt.Fprintf(&w.body, `<a href="#waggle-nowhere"%s>`, attrs)
}

// image shows an image, or its text.
func (w *writer) image(src, alt string, attrs []xhtml.Attribute) {
	u, err := w.Canon.Resolve(w.page.Base, src)
	if w.Images && err == nil && w.pictures < maxImages {
		w.pictures++
		fmt.Fprintf(&w.body, `<img src="%s"%s>`, html.EscapeString(w.ResourcePath(len(w.Resources))), w.keep(attrs))
		w.Resources = append(w.Resources, Resource{URL: u})
		return
	}
	alt = strings.TrimSpace(alt)
	if alt == "" && w.inLink {
		alt = cmp.Or(lastPart(src), "image")
	}
	if alt != "" && len(alt) <= maxAttribute {
		fmt.Fprintf(&w.body, `<span class="waggle-image">%s</span>`, html.EscapeString(alt))
	}
}

// input shows a field that looks as in the page, and that nobody can type into or press.
func (w *writer) input(kind string, attrs []xhtml.Attribute) {
	kind = strings.ToLower(kind)
	switch kind {
	case "hidden", "image":
		return
	case "text", "search", "submit", "button", "reset", "checkbox", "radio", "password", "email", "url", "tel", "number", "date", "time", "month", "week", "datetime-local", "range", "color", "file":
	default:
		kind = "text" // as browsers take what they do not know
	}
	more := w.further(attrs, "value", "placeholder", "checked", "disabled", "maxlength", "min", "max", "step")
	fmt.Fprintf(&w.body, `<input%s type="%s"%s inert>`, w.keep(attrs), kind, more)
}

// further writes attributes of fields, which are kept on these alone.
func (w *writer) further(attrs []xhtml.Attribute, names ...string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, a := range attrs {
		if a.Namespace == "" && len(a.Val) <= maxAttribute && !seen[a.Key] && slices.Contains(names, a.Key) {
			seen[a.Key] = true
			fmt.Fprintf(&b, ` %s="%s"`, a.Key, html.EscapeString(a.Val))
		}
	}
	return b.String()
}

func (w *writer) sheet(href, media string) {
	u, err := w.Canon.Resolve(w.page.Base, href)
	if err != nil || w.sheets == maxStyles || len(media) > maxAttribute {
		return
	}
	w.sheets++
	fmt.Fprintf(&w.head, `<link rel="stylesheet" href="%s" media="%s">`, html.EscapeString(w.ResourcePath(len(w.Resources))), html.EscapeString(media))
	w.Resources = append(w.Resources, Resource{URL: u, Style: true})
}

// match finds shown links among the page's own, to know what the crawler reads
// of them: the n-th link to an address here is the n-th there.
func (w *writer) match() {
	places := map[web.URL][]int{}
	for i, l := range w.page.Links {
		switch l.Kind {
		case web.LinkA, web.LinkArea, web.LinkFrame, web.LinkIframe:
			places[l.URL] = append(places[l.URL], i)
		}
	}
	for i := range w.Links {
		s := &w.Links[i]
		if at := places[s.URL]; len(at) > 0 {
			l := &w.page.Links[at[0]]
			s.Anchor, s.Ordinal = l.Anchor, l.Position+1
			places[s.URL] = at[1:]
		}
	}
}

// escapes finds letters that a style sheet writes as escapes: "\75rl", "u\rl".
var escapes = regexp.MustCompile(`\\(?:([0-9a-fA-F]{1,6})[ \t\r\n\f]?|[g-zG-Z])`)

// unescape writes letters as themselves, so that words can be found; other
// escapes mean something, and stay.
func unescape(s string) string {
	return escapes.ReplaceAllStringFunc(s, func(e string) string {
		if e[1] >= 'g' || e[1] >= 'G' && e[1] <= 'Z' {
			return e[1:]
		}
		n, err := strconv.ParseUint(strings.TrimRight(e[1:], " \t\r\n\f"), 16, 32)
		if c := rune(n); err == nil && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return string(c)
		}
		return e
	})
}

// imports and loads find what makes a style sheet load something else.
var (
	imports = regexp.MustCompile(`(?is)@import[^;{}]*;?`)
	loads   = regexp.MustCompile(`(?is)(?:url|src|image|image-set|-webkit-image-set)\((?:"[^"]*"|'[^']*'|[^)])*\)?`)
)

// cleanCSS takes out of a style sheet what would load something. It need not
// find all there is: the policy a page is served with refuses the rest.
func cleanCSS(s string) string {
	if !strings.ContainsAny(s, "(@") {
		return s
	}
	return loads.ReplaceAllString(imports.ReplaceAllString(unescape(s), ""), "none")
}

// inlineCSS is cleanCSS for the inside of a style element, which no text in it
// can end.
func inlineCSS(s string) string {
	if len(s) > maxCSS {
		s = s[:maxCSS]
	}
	return strings.ReplaceAll(cleanCSS(strings.ToValidUTF8(s, "")), "<", `\3c `)
}

// Decode decodes what a server sent, as the parser understood it.
func Decode(p *web.Page, body []byte) string {
	r, err := charset.NewReaderLabel(p.Charset, bytes.NewReader(body))
	if err != nil {
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// plain shows a text that is no HTML.
func plain(p *web.Page, text string) Page {
	if len(text) > maxPlain {
		text = strings.ToValidUTF8(text[:maxPlain], "") + "\n\nThe text goes on, too long to be shown whole."
	}
	return Page{HTML: fmt.Appendf(nil, `<!DOCTYPE html><html><head><meta charset="utf-8"><title>%s</title><style>%s</style></head><body><pre>%s</pre></body></html>`,
		html.EscapeString(p.Title), ownStyle, html.EscapeString(text))}
}

// Notice is a page of our own, which says why there is none.
func Notice(title, text string) []byte {
	return fmt.Appendf(nil, `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>%[1]s</title><style>`+
		`:root{color-scheme:light dark}body{font:1.05rem/1.6 system-ui,sans-serif;max-width:34rem;margin:18vh auto;padding:0 1.5rem}h1{font-size:1.3rem}p{overflow-wrap:anywhere}`+
		`</style></head><body><h1>%[1]s</h1><p>%[2]s</p></body></html>`, html.EscapeString(title), html.EscapeString(text))
}

// lastPart is the end of an address, for people.
func lastPart(ref string) string {
	if len(ref) > maxAttribute {
		return ""
	}
	ref, _, _ = strings.Cut(ref, "?")
	ref = strings.TrimRight(ref, "/")
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

// Number is the decimal number in s, -1 if it is none.
func Number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || strconv.Itoa(n) != s {
		return -1
	}
	return n
}
