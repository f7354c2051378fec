package parse

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"

	"github.com/waggle-crawler/waggle/web"
)

// Source is where links come from, beside the elements of a page that lead to others
// (a, area, frame, iframe, refresh, next, canonical).
type Source string

// The sources of links.
const (
	SourceAlternates Source = "alternates" // link elements: the page in other languages and forms
	SourceHeaders    Source = "headers"    // Link headers of the response
	SourceFeeds      Source = "feeds"      // feeds that a page names
	SourceSitemaps   Source = "sitemaps"   // sitemaps that robots.txt or a page names
	SourceJSONLD     Source = "json-ld"    // addresses in JSON-LD
	SourceForms      Source = "forms"      // forms with the method GET, as they are filled in
	SourceScripts    Source = "scripts"    // addresses in scripts
)

// Sources are all of them.
func Sources() []Source {
	return []Source{SourceAlternates, SourceHeaders, SourceFeeds, SourceSitemaps, SourceJSONLD, SourceForms, SourceScripts}
}

// Bounds on links from a source of a page, beyond MaxLinks.
const (
	maxHeaderLinks = 100
	maxDataLinks   = 500     // in JSON-LD
	maxData        = 1 << 20 // bytes of a script of JSON-LD
	maxScriptLinks = 200
	maxFormLinks   = 50
	maxFormFields  = 50
	maxFormText    = 2048 // bytes of an option or a text area
)

// from tells whether links of a source are asked for.
func (o *Options) from(s Source) bool {
	if o.Sources == nil {
		return s == SourceAlternates
	}
	return slices.Contains(o.Sources, s)
}

// date notes when an entry of a sitemap or a feed says that it changed, or was published.
func (l *link) date(t *start) {
	said := t.attrs.attr("data-changed")
	if said == "" {
		said = t.attrs.attr("data-published")
		l.Published = said != ""
	}
	l.Changed, _ = web.ParseDate(said)
}

// addFound notes a link that stands in no element of the page that leads anywhere.
func (w *walker) addFound(kind web.LinkKind, place, ref, name string) {
	ref = strings.Trim(ref, " \t\r\n\f")
	if ref == "" || !mayBeWeb(ref) {
		return
	}
	if len(w.links) >= w.opts.MaxLinks {
		w.page.Truncated = true
		return
	}
	w.links = append(w.links, link{
		Link: web.Link{Kind: kind, TagPath: place, First: 0, Last: -1},
		ref:  ref, text: span{len(w.text), len(w.text)}, alt: clean(name, maxAnchor),
	})
}

// headerLinks reads the Link headers of a response.
//
// Source: RFC 8288, section 3.
func (w *walker) headerLinks(values []string) {
	n := 0
	for _, s := range values {
		for n < maxHeaderLinks {
			start := strings.IndexByte(s, '<')
			if start < 0 {
				break
			}
			end := strings.IndexByte(s[start:], '>')
			if end < 0 {
				break
			}
			ref := s[start+1 : start+end]
			s = s[start+end+1:]
			var rel, mediaType, title string
			for {
				s = strings.TrimLeft(s, " \t;")
				if s == "" || s[0] == ',' {
					break
				}
				var key, value string
				key, value, s = parameter(s)
				switch key {
				case "rel":
					rel = strings.ToLower(value)
				case "type":
					mediaType = value
				case "title":
					title = value
				}
			}
			n++
			if kind := headerKind(strings.Fields(rel), mediaType, w.opts); kind != "" {
				w.addFound(kind, "header", ref, title)
			}
		}
	}
}

// parameter reads key=value, or key="value", from the start of s; rest is behind it.
func parameter(s string) (key, value, rest string) {
	i := strings.IndexAny(s, "=;,")
	if i < 0 {
		return strings.ToLower(s), "", ""
	}
	key = strings.ToLower(strings.TrimSpace(s[:i]))
	if s[i] != '=' {
		return key, "", s[i:]
	}
	s = strings.TrimLeft(s[i+1:], " \t")
	if s == "" || s[0] != '"' {
		i := strings.IndexAny(s, ";,")
		if i < 0 {
			return key, strings.TrimSpace(s), ""
		}
		return key, strings.TrimSpace(s[:i]), s[i:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == '"':
			return key, b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	return key, b.String(), ""
}

// headerKind is the kind of a link of a header that leads to a page, "" for others.
func headerKind(rel []string, mediaType string, o *Options) web.LinkKind {
	for _, r := range rel {
		switch r {
		case "alternate":
			if isFeed(mediaType) {
				if o.from(SourceFeeds) {
					return web.LinkFeed
				}
				return ""
			}
			if relKind([]string{"alternate"}, mediaType) != "" {
				return web.LinkHeader
			}
			return ""
		case "next", "prev", "previous", "first", "last", "start", "up", "contents", "index", "chapter", "section", "item", "collection", "related", "canonical":
			return web.LinkHeader
		}
	}
	return ""
}

func isFeed(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json":
		return true
	}
	return false
}

// inSource finds links in what the walk passes over: JSON-LD, scripts and forms.
func (w *walker) inSource(src []byte) {
	data, scripts, forms := w.opts.from(SourceJSONLD), w.opts.from(SourceScripts), w.opts.from(SourceForms)
	if !data && !scripts && !forms {
		return
	}
	var f *form
	dataLinks, scriptLinks, formLinks := 0, 0, 0
	script, isData := false, false
	z := html.NewTokenizer(bytes.NewReader(src))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			switch {
			case !script:
				if f != nil {
					f.write(z.Text())
				}
			case isData && data && dataLinks < maxDataLinks:
				jsonLinks(z.Text(), func(ref, name string) bool {
					dataLinks++
					w.addFound(web.LinkJSONLD, "script.json-ld", ref, name)
					return dataLinks < maxDataLinks
				})
			case !isData && scripts && scriptLinks < maxScriptLinks:
				scriptAddresses(z.Text(), func(ref string) bool {
					scriptLinks++
					w.addFound(web.LinkScript, "script", ref, "")
					return scriptLinks < maxScriptLinks
				})
			}
		case html.EndTagToken:
			script = false
			name, _ := z.TagName()
			if f != nil && (fieldTag(string(name)) || string(name) == "form") {
				f.close()
			}
			if string(name) == "select" && f != nil {
				f.choice = ""
			}
			if string(name) == "form" && f != nil {
				for _, ref := range f.addresses(maxFormLinks - formLinks) {
					formLinks++
					w.addFound(web.LinkForm, "form", ref, f.name)
				}
				f = nil
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			script = t.Data == "script"
			switch {
			case script:
				isData = strings.EqualFold(strings.TrimSpace(valueOf(t, "type")), "application/ld+json")
			case t.Data == "form" && forms:
				f = nil
				if m := valueOf(t, "method"); m == "" || strings.EqualFold(m, "get") {
					f = &form{action: valueOf(t, "action"), name: valueOf(t, "name"), values: url.Values{}, encoding: w.query}
					if has(t, "accept-charset") {
						f.encoding = formEncoding(valueOf(t, "accept-charset"))
					}
				}
			case f != nil:
				f.field(t)
			}
		}
	}
}

func valueOf(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func has(t html.Token, key string) bool {
	return slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == key })
}

// form is a form that is sent by a GET, with the values that stand in it: those filled in,
// and each of the options of its first choice.
type form struct {
	action, name string
	values       url.Values
	size         int               // of values, in bytes, and of those that took their places
	encoding     encoding.Encoding // that it is sent in; nil = UTF-8
	fields       int
	choice       string   // name of the open select
	first        string   // the first choice: a select or a group of radio buttons
	options      []string // of the first choice
	text         []byte   // of the element that is open
	open         string   // "option", "textarea" or ""
	openName     string   // of the field that the text is the value of
	selected     bool     // of the option that is open
	secret       bool     // it asks for a password or a file: it is left alone
}

// field takes a start tag of the form.
func (f *form) field(t html.Token) {
	if !fieldTag(t.Data) {
		return
	}
	f.close()
	name, value := valueOf(t, "name"), valueOf(t, "value")
	kind := strings.ToLower(valueOf(t, "type"))
	if t.Data == "input" && (kind == "password" || kind == "file") && !has(t, "disabled") {
		f.secret = true
		return
	}
	if f.fields++; f.fields > maxFormFields*10 || len(f.values) >= maxFormFields {
		return
	}
	if has(t, "disabled") {
		return
	}
	switch t.Data {
	case "input":
		switch kind {
		case "checkbox", "radio":
			if name == "" {
				return
			}
			if !has(t, "value") {
				value = "on" // HTML Standard, 4.10.5.1.15
			}
			if kind == "radio" {
				f.option(name, value)
			}
			if has(t, "checked") {
				f.set(name, value)
			}
		case "submit", "reset", "button", "image":
		default:
			if name != "" {
				f.set(name, value)
			}
		}
	case "textarea":
		if name != "" {
			f.open, f.openName = "textarea", name
		}
	case "select":
		f.choice = name
	case "option":
		switch {
		case f.choice == "":
		case has(t, "value"):
			f.choose(f.choice, value, has(t, "selected"))
		default: // its value is its text
			f.open, f.openName, f.selected = "option", f.choice, has(t, "selected")
		}
	}
}

// set fills a field in.
func (f *form) set(name, value string) {
	f.size += len(name) + len(value)
	f.values.Set(name, value)
}

// fieldTag tells whether an element is a field of a form or a part of one.
func fieldTag(name string) bool {
	return slices.Contains([]string{"input", "textarea", "select", "option", "optgroup", "button"}, name)
}

// option takes a value of the first choice of the form, which that of name may be.
func (f *form) option(name, value string) {
	if f.first == "" {
		f.first = name
	}
	if name == f.first && len(f.options) < maxFormLinks {
		f.options = append(f.options, value)
	}
}

// choose takes an option of a select, of which the first is sent where none is selected.
func (f *form) choose(name, value string, selected bool) {
	f.option(name, value)
	if _, chosen := f.values[name]; selected || !chosen {
		f.set(name, value)
	}
}

// write takes a text of the form.
func (f *form) write(text []byte) {
	if f.open != "" && len(f.text) < maxFormText {
		f.text = append(f.text, text[:min(len(text), maxFormText-len(f.text))]...)
	}
}

// close ends the element whose text is its value.
func (f *form) close() {
	text := string(f.text)
	switch f.open {
	case "textarea": // a line break behind the tag is no part of it
		f.set(f.openName, strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n"))
	case "option":
		f.choose(f.openName, strings.Join(strings.Fields(text), " "), f.selected)
	}
	f.open, f.text = "", f.text[:0]
}

// addresses are what the form leads to, at most so many; none where nothing is filled in, or
// can be chosen, or where it is more than an address holds.
func (f *form) addresses(most int) (out []string) {
	f.close()
	filled := slices.ContainsFunc(f.options, func(o string) bool { return o != "" })
	for name := range f.values {
		filled = filled || f.values.Get(name) != ""
	}
	if f.secret || !filled || len(f.action)+f.size > maxEncoded || most <= 0 {
		return nil
	}
	action, _, _ := strings.Cut(f.action, "#")
	action, _, _ = strings.Cut(action, "?")
	out = append(out, action+"?"+encodeValues(f.values, f.encoding))
	for _, o := range f.options {
		if len(out) >= most {
			break
		}
		if len(o) > maxEncoded {
			continue
		}
		f.values.Set(f.first, o)
		if ref := action + "?" + encodeValues(f.values, f.encoding); !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// dataKeys are the properties of schema.org whose addresses are those of pages or
// documents.
var dataKeys = []string{"url", "@id", "item", "mainEntityOfPage", "significantLink", "relatedLink", "discussionUrl", "contentUrl", "sameAs", "isPartOf", "hasPart", "subjectOf", "citation"}

// jsonLinks yields the addresses in JSON-LD, with the names of what they belong to, until
// yield returns false.
func jsonLinks(src []byte, yield func(ref, name string) bool) {
	var v any
	if len(src) > maxData || json.Unmarshal(src, &v) != nil {
		return
	}
	more := true
	var visit func(v any, key, name string, depth int)
	visit = func(v any, key, name string, depth int) {
		if !more || depth > 50 {
			return
		}
		switch v := v.(type) {
		case string:
			if slices.Contains(dataKeys, key) && (strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://") || strings.HasPrefix(v, "/")) {
				more = yield(v, name)
			}
		case []any:
			for _, x := range v {
				visit(x, key, name, depth+1)
			}
		case map[string]any:
			for _, k := range []string{"name", "headline"} {
				if s, ok := v[k].(string); ok {
					name = s
				}
			}
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				if k != "@context" && k != "image" && k != "logo" && k != "thumbnail" {
					visit(v[k], k, name, depth+1)
				}
			}
		}
	}
	visit(v, "", "", 0)
}

// scriptAddresses yields what stands in quotes in a script and is an address, or the path
// of one, until yield returns false. Files that are parts of pages are left out.
func scriptAddresses(src []byte, yield func(ref string) bool) {
	for i := 0; i < len(src); i++ {
		q := src[i]
		if q != '"' && q != '\'' && q != '`' {
			continue
		}
		end := bytes.IndexAny(src[i+1:min(len(src), i+1+2048)], "\"'`\n")
		if end < 0 {
			continue
		}
		s := string(bytes.ReplaceAll(src[i+1:i+1+end], []byte(`\/`), []byte("/")))
		if src[i+1+end] == q {
			i += end + 1
		}
		if !isScriptAddress(s) {
			continue
		}
		if !yield(s) {
			return
		}
	}
}

func isScriptAddress(s string) bool {
	if strings.ContainsAny(s, " \\<>{}$*^|()") {
		return false
	}
	rest := s
	switch {
	case strings.HasPrefix(s, "https://"), strings.HasPrefix(s, "http://"):
		rest = s[strings.Index(s, "://")+3:]
		if !strings.Contains(rest, ".") {
			return false
		}
	case len(s) > 2 && s[0] == '/' && s[1] != '/' && (s[1] >= 'a' && s[1] <= 'z' || s[1] >= 'A' && s[1] <= 'Z' || s[1] >= '0' && s[1] <= '9'):
	default:
		return false
	}
	rest, _, _ = strings.Cut(rest, "?")
	switch strings.ToLower(path.Ext(rest)) {
	case ".js", ".mjs", ".css", ".map", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".woff", ".woff2", ".ttf", ".mp4", ".webm", ".wasm":
		return false
	}
	return !strings.Contains(s, "w3.org/") && !strings.Contains(s, "schema.org")
}
