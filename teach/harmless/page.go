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
	"regexp"
	"slices"
	"strconv"
	"strings"

	xhtml "golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/web"
)

// What a page may be shown with. A page is written anew, token by token, from
// these lists: every "<" of the result is ours, none is the page's. So what a
// browser makes of it does not depend on how it, or we, read what the page
// wrote. Scripts, frames, forms, objects and foreign content have no place in
// the lists; addresses are replaced by numbers of links and resources. Of
// comments it is kept that they part texts, and nothing of what they say.
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

// Unknown is what elements are shown as that no browser knows, such as o:p: it lays them out in the
// line, with the style of their classes. One of a name of our own, as a span would be given the
// styles that the page has for spans.
const Unknown = "waggle-unknown"

// droppedElements are those known to browsers of which only what is in them is shown, or nothing.
func droppedElements() map[string]bool {
	m := map[string]bool{}
	for e := range strings.FieldsSeq(`area base basefont bgsound body datalist dialog embed fencedframe frame
		frameset geolocation head html iframe image img input isindex keygen link marquee math meta meter
		noembed noframes noscript param plaintext portal progress rb rtc script search selectedcontent source
		style svg template textarea title track xmp`) {
		m[e] = true
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
	Plain        bool // the page is plain text and no HTML
	// Has tells which pages can be had; links to others are shown as dead. nil = all.
	Has func(web.URL) bool
}

// Show writes a page anew. src is valid UTF-8; see parse.Parser.Shown.
func (o Options) Show(p *web.Page, src string) Page {
	if o.Plain {
		return plain(p, src)
	}
	w := &writer{Options: o, page: p, quirks: true, elements: shownElements(), dropped: droppedElements(), attributes: keptAttributes(), tokens: xhtml.NewTokenizer(strings.NewReader(src))}
	w.run()
	w.match()
	return w.Page
}

type writer struct {
	Options
	Page
	page                 *web.Page
	elements             map[string]string
	dropped              map[string]bool
	attributes           map[string]bool
	tokens               *xhtml.Tokenizer
	head, body           bytes.Buffer
	htmlAttrs, bodyAttrs string
	doctype              string
	sheets, pictures     int
	template             int  // depth: what is in templates is not shown
	foreign              int  // depth of svg and math, whose elements are other ones
	worded               bool // text was written
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
				w.worded = w.worded || strings.TrimSpace(t.Data) != ""
				w.body.WriteString(html.EscapeString(t.Data))
			}
		case xhtml.CommentToken:
			w.part()
		case xhtml.DoctypeToken:
			if !w.begun {
				w.doctype, w.quirks = doctype(t.Data)
			}
			w.begun = true
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			w.begun = true
			w.start(t)
		case xhtml.EndTagToken:
			w.end(t.Data)
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

// part parts the texts before and behind it, as a comment and an element that is not shown do:
// spaces at their ends are told apart, and letters set apart.
func (w *writer) part() {
	if w.template == 0 && w.worded {
		w.body.WriteString("<!---->")
	}
}

func (w *writer) end(name string) {
	as, ok := w.elements[name]
	switch {
	case name == "template" && w.template > 0:
		w.template--
	case w.template > 0:
	case name == "br": // is read as its start
		w.body.WriteString("<br>")
	case ok && !void(as):
		w.inLink = w.inLink && as != "a"
		fmt.Fprintf(&w.body, "</%s>", as)
	case (name == "svg" || name == "math") && w.foreign > 0:
		w.foreign--
	case !ok && !w.dropped[name] && w.foreign == 0:
		w.body.WriteString("</" + Unknown + ">")
	}
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
		href, attrs := get("href"), w.keep(t.Attr)
		if w.LinkPath == nil && slices.ContainsFunc(t.Attr, func(a xhtml.Attribute) bool { return a.Key == "href" && a.Val == "" }) {
			w.inLink = true // browsers take it for one that was followed, whatever the base is
			fmt.Fprintf(&w.body, `<a href=""%s>`, attrs)
		} else {
			w.link(href, attrs)
		}
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
	case "script", "noscript", "meta":
		w.part()
	case "svg", "math":
		if t.Type == xhtml.StartTagToken {
			w.foreign++
		}
	default:
		as, ok := w.elements[t.Data]
		if !ok && !w.dropped[t.Data] && w.foreign == 0 {
			as, ok = Unknown, true
		}
		if ok {
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

// plain shows a text that is no HTML.
func plain(p *web.Page, text string) Page {
	if len(text) > maxPlain {
		text = strings.ToValidUTF8(text[:maxPlain], "") + "\n\nThe text goes on, too long to be shown whole."
	}
	return Page{HTML: fmt.Appendf(nil, `<!DOCTYPE html><html><head><meta charset="utf-8"><title>%s</title><style>%s</style></head><body><pre>
%s</pre></body></html>`,
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
