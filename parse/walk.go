package parse

// Longer than 600 lines: one walk over a page, whose parts share one state.

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/fetch/robots"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/encoding"
)

// walker makes one page after another. It goes once through the tree and
// writes the visible text to one buffer; whatever is text on the page is then
// a piece of that buffer, known by where it starts and ends.
type walker struct {
	opts    *Options
	page    *web.Page
	counter *text.Counter

	text  []byte // visible text so far: words with one space between
	space bool   // a space is due before the next character
	full  bool   // MaxText is reached
	whole bool   // all of the text is the main text
	dated bool   // links tell when what they lead to changed: see Document.Listing

	leaves   []leaf
	tags     []atom.Atom   // [leaves], where they are asked for
	nesting  []web.Nesting // the same
	shared   int           // least depth of open since the last leaf
	headings []span
	blocks   []block
	links    []link
	metas    []robots.Meta
	baseRef  string
	query    encoding.Encoding // of the queries of links; nil = UTF-8

	open    []element // the elements around the present node, outermost first
	path    []byte    // their tag path
	body    int       // depth of the body in open, 0 = not in it
	heading int       // headings around the present node
	anchors []int     // indices in links of the <a> around the present node
	linked  int       // <a href> around the present node
	aside   int       // navigation elements around the present node
	forms   int       // forms around the present node

	formPassword bool // a field in a form asks for a password
	scripts      bool // there is a script that a browser runs
	code         bool // there is code: pre or code
	outside      int  // bytes of text outside forms and links; a heading or a frame counts as more than maxOutside

	paths map[string]string  // tag paths of this page, each once
	seen  map[string]web.URL // references of this page → addresses; zero = unusable
}

// span is text[start:end].
type span struct{ start, end int }

type leaf struct {
	span
	alt string // of an image
}

// block is a run of text that no block element interrupts.
type block struct {
	span
	words     int
	linkWords int // of these, in <a>
	aside     bool
	heading   bool
	copies    bool // it is a button that copies
}

// element is an open element.
type element struct {
	path   int // length of the path before it
	leaves int // number of leaves before it
	link   int // its index in links, -1 = none
	kind   kind
	linked bool // it is an <a href>, whether noted as a link or not
	form   bool
}

// link is a link in the making.
type link struct {
	web.Link
	ref     string
	text    span // of its anchor
	heading int  // headings begun so far; 0 = none
	alt     string
}

func newWalker(o *Options) *walker {
	return &walker{
		opts:    o,
		counter: text.NewCounter(o.Analyzer),
		paths:   make(map[string]string),
		seen:    make(map[string]web.URL),
	}
}

// reset makes the walker ready for a page. Buffers are kept unless the last
// page was much larger than most.
func (w *walker) reset(page *web.Page) {
	w.counter.Reset()
	clear(w.paths)
	clear(w.seen)
	clear(w.leaves)
	clear(w.links)
	clear(w.metas)
	old := *w
	*w = walker{opts: old.opts, page: page, counter: old.counter, paths: old.paths, seen: old.seen, dated: old.dated}
	if cap(old.text) <= 1<<18 && cap(old.leaves) <= 1<<14 && cap(old.links) <= 1<<12 {
		w.text, w.leaves, w.headings, w.blocks = old.text[:0], old.leaves[:0], old.headings[:0], old.blocks[:0]
		w.links, w.metas, w.open, w.path, w.anchors = old.links[:0], old.metas[:0], old.open[:0], old.path[:0], old.anchors[:0]
	} else {
		*w = *newWalker(old.opts)
		w.page, w.dated = page, old.dated
	}
}

// plain takes a document without markup.
func (w *walker) plain(src []byte) {
	w.newBlock()
	if s, ok := w.write(src); ok {
		w.addLeaf(s, "")
	}
	w.newBlock()
}

// start is a start tag, read from a source or found in a tree.
type start struct {
	atom    atom.Atom // 0 = a name that x/net/html does not know
	name    []byte
	foreign bool // of SVG or MathML
	attrs   attributes
}

// attributes are those of one start tag. What they return holds no character
// references.
type attributes interface {
	attr(key string) string // "" when absent
	class() []byte          // the first one; valid until the next call
	marks() marks
}

// marks says which of the attributes that leftOut looks at an element has. Few have any, so they are
// looked for in one pass.
type marks uint8

const (
	markHidden marks = 1 << iota
	markAriaHidden
	markRole
	markStyle
)

// markOf is the one of these attributes whose name is so many bytes long; mark is 0 for none.
func markOf(length int) (name string, mark marks) {
	switch length {
	case len("hidden"):
		return "hidden", markHidden
	case len("aria-hidden"):
		return "aria-hidden", markAriaHidden
	case len("role"):
		return "role", markRole
	case len("style"):
		return "style", markStyle
	}
	return "", 0
}

// begin begins the page, end ends it.
func (w *walker) begin() { w.newBlock() }
func (w *walker) end()   { w.newBlock() }

// enter begins an element in the innermost open one. It tells whether what is
// in it is hidden from the walker: then nothing comes before its leave.
func (w *walker) enter(t *start) (hidden bool) {
	k := kindOf(t)
	if k&(aside|root|opaque) == 0 && t.atom != atom.Html && leftOut(t, k) {
		k |= aside | blocky
	}
	e := element{path: len(w.path), leaves: len(w.leaves), link: -1, kind: k}
	if len(w.path) > 0 {
		w.path = append(w.path, '/')
	}
	w.path = append(w.path, head(t.name, maxName)...)
	if class := t.attrs.class(); len(class) > 0 {
		w.path = append(w.path, '.')
		w.path = append(w.path, head(class, maxName)...)
	}
	if k&root != 0 && w.body == 0 {
		w.body = len(w.open) + 1
	}
	if k&breaks != 0 {
		w.space = true
	}
	if k&aside != 0 {
		w.aside++
	}
	if k&blocky != 0 {
		w.newBlock()
	}
	if k&heading != 0 && w.body > 0 {
		if w.heading++; w.heading == 1 && len(w.headings) < maxItems {
			w.space = true
			w.headings = append(w.headings, span{len(w.text), -1})
		}
	}
	if k&special != 0 {
		w.special(t, &e)
	}
	w.code = w.code || t.atom == atom.Pre || t.atom == atom.Code
	w.open = append(w.open, e)
	return k&opaque != 0
}

// leave ends the innermost open element.
func (w *walker) leave() {
	e := w.open[len(w.open)-1]
	if w.body > 0 && w.body < len(w.open) && e.leaves == len(w.leaves) && e.leaves < w.opts.MaxLeaves {
		w.addLeafAt(len(w.open)-1, span{len(w.text), len(w.text)}, "")
	}
	if e.link >= 0 {
		l := &w.links[e.link]
		l.text.end = len(w.text)
		if w.body > 0 && e.leaves < len(w.leaves) {
			l.First, l.Last = e.leaves, len(w.leaves)-1
		}
		if l.Kind == web.LinkA {
			w.anchors = w.anchors[:len(w.anchors)-1]
		}
	}
	if e.kind&heading != 0 && w.body > 0 {
		if w.heading--; w.heading == 0 {
			if last := len(w.headings) - 1; last >= 0 && w.headings[last].end < 0 {
				w.headings[last].end = len(w.text)
			}
		}
	}
	if e.kind&aside != 0 {
		w.aside--
	}
	if e.linked {
		w.linked--
	}
	if e.form {
		w.forms--
	}
	if e.kind&button != 0 {
		b := &w.blocks[len(w.blocks)-1]
		b.copies = copies(string(w.text[b.start:]))
	}
	if e.kind&blocky != 0 {
		w.newBlock()
	}
	if e.kind&breaks != 0 {
		w.space = true
	}
	w.path = w.path[:e.path]
	w.open = w.open[:len(w.open)-1]
	w.shared = min(w.shared, len(w.open))
	if len(w.open) < w.body {
		w.body = 0
	}
}

// special meets the elements that hold more than text.
func (w *walker) special(t *start, e *element) {
	p := w.page
	switch t.atom {
	case atom.Html:
		if p.Language == "" {
			p.Language = languageOf(t.attrs.attr("lang"))
		}
		if p.Language == "" {
			p.Language = languageOf(t.attrs.attr("xml:lang"))
		}
	case atom.Base:
		if w.baseRef == "" {
			w.baseRef = t.attrs.attr("href")
		}
	case atom.Meta:
		w.meta(t, e)
	case atom.Img:
		alt := clean(t.attrs.attr("alt"), maxAlt)
		if alt != "" && w.body > 0 {
			if len(p.Alts) < maxItems {
				p.Alts = append(p.Alts, alt)
			}
			if len(w.anchors) > 0 {
				if l := &w.links[w.anchors[len(w.anchors)-1]]; l.alt == "" {
					l.alt = alt
				} else if len(l.alt) < maxAlt {
					l.alt += " " + alt
				}
			}
			w.addLeaf(span{len(w.text), len(w.text)}, alt)
		}
	case atom.Input:
		if strings.EqualFold(strings.TrimSpace(t.attrs.attr("type")), "password") {
			p.Password = true
			w.formPassword = w.formPassword || w.forms > 0
		} else if !p.Account {
			p.Account = asksForAccount(t.attrs)
		}
	case atom.Form:
		e.form = true
		w.forms++
	case atom.Script:
		w.scripts = w.scripts || runs(t.attrs.attr("type"))
	case atom.A:
		href := t.attrs.attr("href")
		if e.linked = href != ""; e.linked {
			w.linked++
		}
		if w.addLink(e, web.LinkA, t, href, "") {
			w.anchors = append(w.anchors, e.link)
			if w.dated {
				w.links[e.link].date(t)
			}
		}
	case atom.Area:
		w.addLink(e, web.LinkArea, t, t.attrs.attr("href"), t.attrs.attr("alt"))
	case atom.Frame:
		w.addLink(e, web.LinkFrame, t, t.attrs.attr("src"), t.attrs.attr("title"))
	case atom.Iframe:
		w.outside += maxOutside + 1
		w.addLink(e, web.LinkIframe, t, t.attrs.attr("src"), t.attrs.attr("title"))
	case atom.Link:
		rel := strings.Fields(strings.ToLower(t.attrs.attr("rel")))
		kind := relKind(rel, t.attrs.attr("type"))
		switch {
		case kind == web.LinkAlternate && !w.opts.from(SourceAlternates):
			kind = ""
		case kind != "":
		case slices.Contains(rel, "alternate") && isFeed(t.attrs.attr("type")) && w.opts.from(SourceFeeds):
			kind = web.LinkFeed
		case slices.Contains(rel, "sitemap") && w.opts.from(SourceSitemaps):
			kind = web.LinkSitemap
		}
		if kind != "" {
			w.addLink(e, kind, t, t.attrs.attr("href"), t.attrs.attr("title"))
		}
	}
}

// asksForAccount tells whether a field asks for an e-mail address or the name of a user, by its
// type, by what a browser may fill in, or by its name.
func asksForAccount(field attributes) bool {
	value := func(key string) string { return strings.ToLower(strings.TrimSpace(field.attr(key))) }
	switch value("type") {
	case "email":
		return true
	case "", "text", "tel":
	default:
		return false
	}
	for fill := range strings.FieldsSeq(value("autocomplete")) {
		if fill == "username" || fill == "email" {
			return true
		}
	}
	switch value("name") {
	case "user", "username", "user_name", "userid", "login", "loginid", "loginfmt", "email", "e-mail", "identifier", "account":
		return true
	}
	return false
}

// runs tells whether a browser runs a script of a type: data and templates are none.
func runs(scriptType string) bool {
	t := strings.ToLower(strings.TrimSpace(scriptType))
	return t == "" || t == "module" || strings.Contains(t, "javascript") || strings.Contains(t, "ecmascript")
}

// relKind is the kind of a link element that leads to a page, "" for others.
func relKind(rel []string, mediaType string) (kind web.LinkKind) {
	for _, r := range rel {
		switch r {
		case "next":
			kind = web.LinkNext
		case "canonical":
			kind = web.LinkCanonical
		case "alternate":
			if kind == "" {
				kind = web.LinkAlternate
			}
		case "stylesheet", "icon":
			return ""
		}
	}
	if kind == web.LinkAlternate {
		mediaType, _, _ = strings.Cut(mediaType, ";")
		switch strings.ToLower(strings.TrimSpace(mediaType)) {
		case "", "text/html", "application/xhtml+xml":
		default:
			return ""
		}
	}
	return kind
}

func (w *walker) meta(t *start, e *element) {
	value := t.attrs.attr("content")
	switch name := strings.ToLower(strings.TrimSpace(t.attrs.attr("name"))); name {
	case "":
	case "description":
		if w.page.Description == "" {
			w.page.Description = clean(value, maxMeta)
		}
	case "keywords":
		if w.page.Keywords == "" {
			w.page.Keywords = clean(value, maxMeta)
		}
	default:
		if len(w.metas) < maxItems {
			w.metas = append(w.metas, robots.Meta{Name: clean(name, maxName), Content: clean(value, maxMeta)})
		}
	}
	switch strings.ToLower(strings.TrimSpace(t.attrs.attr("http-equiv"))) {
	case "refresh":
		if ref := refreshTarget(value); ref != "" {
			w.addLink(e, web.LinkRefresh, t, ref, "")
		}
	case "content-language":
		if w.page.Language == "" {
			w.page.Language = languageOf(value)
		}
	}
}

// refreshTarget reads the address from "5; url=…", "" if there is none.
//
// Source: HTML Standard, 4.2.5.3, "shared declarative refresh steps".
func refreshTarget(s string) string {
	const space = " \t\r\n\f"
	s = strings.TrimLeft(s, space)
	rest := strings.TrimLeft(s, "0123456789.")
	if len(rest) == len(s) {
		return ""
	}
	s = strings.TrimLeft(rest, space+";,")
	if len(s) >= 3 && strings.EqualFold(s[:3], "url") {
		if after, ok := strings.CutPrefix(strings.TrimLeft(s[3:], space), "="); ok {
			s = strings.TrimLeft(after, space)
		}
	}
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		s, _, _ = strings.Cut(s[1:], s[:1])
	}
	return strings.TrimRight(s, space)
}

// addLink notes a link. It tells whether ref is worth it.
func (w *walker) addLink(e *element, kind web.LinkKind, t *start, ref, name string) bool {
	ref = strings.Trim(ref, " \t\r\n\f")
	if ref == "" && kind != web.LinkRefresh || len(ref) > maxEncoded || !mayBeWeb(ref) {
		return false
	}
	if len(w.links) >= w.opts.MaxLinks {
		w.page.Truncated = true
		return false
	}
	if n := len(w.links); n > 0 && w.links[n-1].ref == ref {
		ref = w.links[n-1].ref // an <a> comes back in every paragraph: its address is kept once
	}
	e.link = len(w.links)
	path, ok := w.paths[string(w.path)]
	if !ok {
		full := string(w.path)
		path = shortPath(full)
		w.paths[full] = path
	}
	w.links = append(w.links, link{
		Link: web.Link{
			Kind: kind, TagPath: path, NoFollow: noFollow(t.attrs.attr("rel")) && kind != web.LinkCanonical,
			First: 0, Last: -1,
		},
		ref:     ref,
		text:    span{len(w.text), len(w.text)},
		heading: len(w.headings),
		alt:     clean(name, maxAnchor),
	})
	return true
}

// mayBeWeb sorts out what certainly leads to no other page.
func mayBeWeb(ref string) bool {
	if strings.HasPrefix(ref, "#") {
		return false
	}
	i := strings.IndexAny(ref, ":/?#")
	if i < 0 || ref[i] != ':' {
		return true
	}
	switch strings.ToLower(ref[:i]) {
	case "javascript", "mailto", "data", "tel", "news", "ftp", "about", "file", "irc", "sms", "skype", "whatsapp", "blob":
		return false
	}
	return true
}

func noFollow(rel string) bool {
	if rel == "" {
		return false
	}
	for r := range strings.FieldsSeq(rel) {
		if strings.EqualFold(r, "nofollow") || strings.EqualFold(r, "ugc") || strings.EqualFold(r, "sponsored") {
			return true
		}
	}
	return false
}

// title takes the text of a title element of the page.
func (w *walker) title(text string) {
	if w.page.Title == "" {
		w.page.Title = clean(text, maxTitle)
	}
}

// addText takes the whole text between two tags or comments.
func (w *walker) addText(data []byte) {
	if w.body == 0 {
		return
	}
	if s, ok := w.write(data); ok {
		w.addLeaf(s, "")
	}
}

func (w *walker) addLeaf(s span, alt string) { w.addLeafAt(len(w.open), s, alt) }

// addLeafAt adds a leaf with that many elements around it.
func (w *walker) addLeafAt(depth int, s span, alt string) {
	if len(w.leaves) >= w.opts.MaxLeaves {
		w.page.Truncated = true
		return
	}
	w.leaves = append(w.leaves, leaf{s, alt})
	if w.opts.Tags {
		tag, _, _ := bytes.Cut(w.path[bytes.LastIndexByte(w.path, '/')+1:], []byte("."))
		w.tags = append(w.tags, atom.Lookup(tag))
	}
	if w.opts.Nesting {
		w.nesting = append(w.nesting, web.Nesting{Depth: uint16(min(depth, math.MaxUint16)), Shared: uint16(min(w.shared, depth, math.MaxUint16))})
		w.shared = depth
	}
}

// write appends data to the visible text and returns where it stands there,
// without white space around it; ok is false when there is nothing but white
// space in it. White space and control characters become one space.
func (w *walker) write(data []byte) (s span, ok bool) {
	if w.full {
		// Nothing more is kept, but it matters still where there is text.
		ok = bytes.IndexFunc(data, func(r rune) bool { return !isBlank(r) }) >= 0
		return span{len(w.text), len(w.text)}, ok
	}
	start, words := -1, 0
	for i := 0; i < len(data) && len(w.text) < w.opts.MaxText; {
		c := data[i]
		j := i + 1
		switch {
		case c <= ' ' || c == 0x7f:
			w.space = true
			i = j
			continue
		case c < utf8.RuneSelf:
			for j < len(data) && data[j] > ' ' && data[j] < 0x7f {
				j++
			}
		default:
			r, size := utf8.DecodeRune(data[i:])
			j = i + size
			if isBlank(r) {
				w.space = w.space || !isJoint(r)
				i = j
				continue
			}
		}
		if len(w.text) == 0 {
			words++
		} else if w.space {
			words++
			w.text = append(w.text, ' ')
		}
		w.space = false
		if start < 0 {
			start = len(w.text)
		}
		w.text = append(w.text, data[i:j]...)
		i = j
	}
	if end := w.opts.MaxText; len(w.text) >= end {
		if len(w.text) > end {
			for end > 0 && !utf8.RuneStart(w.text[end]) {
				end--
			}
			w.text = w.text[:end]
		}
		w.full, w.page.Truncated = true, true
	}
	if start < 0 {
		return span{len(w.text), len(w.text)}, false
	}
	b := &w.blocks[len(w.blocks)-1]
	b.words += words
	if w.linked > 0 {
		b.linkWords += words
	}
	if w.heading > 0 {
		b.heading = true
	}
	if w.forms == 0 && w.linked == 0 {
		w.outside += max(0, len(w.text)-start)
	}
	if w.forms == 0 && w.heading > 0 {
		w.outside += maxOutside + 1
	}
	return span{min(start, len(w.text)), len(w.text)}, true
}

// isBlank knows the characters that no text of a page holds: white space,
// control characters, those that only steer the direction or breaking of
// lines, and those for private use, by which fonts draw icons.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || isJoint(r) || r == '\u200b' || r >= '\ue000' && r <= '\uf8ff'
}

// isJoint knows the blank characters that part no words.
func isJoint(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' ||
		r == '\u200e' || r == '\u200f' || r == '\u2060' || r == '\ufeff' || r == '\u00ad' // soft hyphen
}

// newBlock ends the present block of text and begins another.
func (w *walker) newBlock() {
	if n := len(w.blocks) - 1; n >= 0 {
		b := &w.blocks[n]
		if b.end = len(w.text); b.end == b.start {
			b.aside = w.aside > 0
			return // still empty
		}
	}
	w.blocks = append(w.blocks, block{span: span{len(w.text), len(w.text)}, aside: w.aside > 0})
}

// kind says what an element means to the walker.
type kind uint8

const (
	breaks  kind = 1 << iota // parts words
	blocky                   // parts blocks of text
	heading                  // h1…h6
	aside                    // navigation and the like
	opaque                   // what is in it is not text of the page
	root                     // body or frameset
	special                  // see walker.special
	button
)

// leftOut tells whether an element is navigation by its role, or is not shown: what is in it is no
// part of the main text, and text of the page all the same, as scripts may show it.
func leftOut(t *start, k kind) bool {
	m := t.attrs.marks()
	if m&markHidden != 0 && !strings.EqualFold(t.attrs.attr("hidden"), "until-found") {
		return true
	}
	if m&markAriaHidden != 0 && k&blocky != 0 && strings.EqualFold(strings.TrimSpace(t.attrs.attr("aria-hidden")), "true") {
		return true
	}
	if m&markRole != 0 {
		for role := range strings.FieldsSeq(t.attrs.attr("role")) {
			if strings.EqualFold(role, "navigation") {
				return true
			}
		}
	}
	return m&markStyle != 0 && notShown(t.attrs.attr("style"))
}

// notShown tells whether a style says display:none, in any case and with any white space.
func notShown(style string) bool {
	const want = "display:none"
	n := 0 // bytes of it that were read last
	for _, c := range []byte(style) {
		if isCapital(c) {
			c |= 0x20
		}
		switch {
		case isSpace(c):
		case c == want[n]:
			if n++; n == len(want) {
				return true
			}
		case c == want[0]: // which stands nowhere else in it
			n = 1
		default:
			n = 0
		}
	}
	return false
}

// copies tells whether the text of a button says that it copies, as those beside code do.
func copies(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "copy", "copy code", "copy to clipboard", "copy snippet", "copied", "copied!", "kopieren", "copier", "copiar", "copia", "kopiëren", "kopiuj",
		"копировать", "скопировать", "复制", "複製", "复制代码", "コピー", "복사", "kopiera", "kopier", "kopioi", "kopyala":
		return true
	}
	return false
}

func kindOf(t *start) kind {
	switch t.atom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return heading | blocky | breaks
	case atom.P, atom.Div, atom.Ul, atom.Ol, atom.Li, atom.Dl, atom.Dt, atom.Dd, atom.Table, atom.Tbody, atom.Thead,
		atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Section, atom.Article, atom.Main, atom.Header,
		atom.Blockquote, atom.Pre, atom.Figure, atom.Figcaption, atom.Fieldset, atom.Legend, atom.Address,
		atom.Details, atom.Summary, atom.Dialog, atom.Center, atom.Hr, atom.Dir, atom.Listing, atom.Hgroup:
		return blocky | breaks
	case atom.Nav, atom.Footer, atom.Aside, atom.Menu, atom.Select:
		return blocky | breaks | aside
	case atom.Input:
		return breaks | special
	case atom.Form:
		return blocky | breaks | special
	case atom.Option:
		return blocky | breaks | aside
	case atom.Button:
		return blocky | breaks | button
	case atom.Br, atom.Textarea, atom.Optgroup:
		return breaks
	case atom.Script:
		return opaque | special
	case atom.Style, atom.Noscript, atom.Template, atom.Noframes, atom.Noembed:
		return opaque
	case atom.Title:
		if t.foreign {
			return 0
		}
		return opaque
	case atom.Iframe:
		return opaque | special | breaks
	case atom.Body:
		return root | blocky | breaks
	case atom.Frameset:
		return root
	case atom.A, atom.Area, atom.Frame, atom.Link, atom.Meta, atom.Base, atom.Html:
		return special
	case atom.Img:
		return special
	}
	return 0
}

func firstWord(s []byte) []byte {
	start := skipSpace(s, 0)
	end := start
	for end < len(s) && !isSpace(s[end]) {
		end++
	}
	return s[start:end]
}

// head is the start of s, at most n bytes of whole characters.
func head[T string | []byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// clean makes a text of s: at most n bytes, without control characters or runs
// of white space.
func clean(s string, n int) string {
	tidy := len(s) <= n
	for i := 0; tidy && i < len(s); i++ {
		c := s[i]
		tidy = c > ' ' && c < 0x7f || c == ' ' && i > 0 && s[i-1] != ' ' && i+1 < len(s)
	}
	if tidy {
		return s
	}
	var b strings.Builder
	space := false
	for _, r := range s {
		if isBlank(r) {
			space = space || !isJoint(r)
			continue
		}
		size := utf8.RuneLen(r)
		if space && b.Len() > 0 {
			size++
		}
		if b.Len()+size > n {
			break
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// shortPath keeps the end of a tag path: at most maxPath bytes of whole
// elements without control characters.
func shortPath(path string) string {
	if len(path) > maxPath {
		path = path[len(path)-maxPath:]
		if i := strings.IndexByte(path, '/'); i >= 0 {
			path = path[i+1:]
		}
	}
	return strings.Clone(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || isBlank(r) {
			return -1
		}
		return r
	}, path))
}
