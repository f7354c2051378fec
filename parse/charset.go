package parse

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html"
	"golang.org/x/text/encoding/htmlindex"
)

const (
	// prescanBytes is how far into a page its own word on its encoding is
	// looked for. The standard asks for 1024 at least.
	prescanBytes = 4096
	// guessBytes is how much of a page the statistical guess looks at.
	guessBytes = 8192
	// fallback is the encoding of a page that nothing is known of.
	fallback = "windows-1252"
)

// Decode returns a text that is no HTML as valid UTF-8 without NUL bytes, and the name of
// the encoding it was in. label is what was said of that, "" for nothing.
func Decode(body []byte, label string) (text []byte, name string) { return decode(body, label, false) }

// decode returns body as valid UTF-8 without NUL bytes, and the name of the
// encoding it was in by the Encoding Standard ("utf-8", "windows-1252").
//
// In this order it believes: a byte order mark, the Content-Type header, the
// page's meta element, its XML declaration, the bytes when they shift as ISO-2022-JP does or are
// valid UTF-8, a statistical guess, windows-1252. What cannot be decoded becomes U+FFFD. The result
// shares memory with body where nothing had to change.
func decode(body []byte, header string, isHTML bool) (text []byte, name string) {
	name, mark := encodingOf(body, header, isHTML)
	return recode(body[mark:], name)
}

// encodingOf is the name of the encoding that decode believes in, and the length of the byte
// order mark.
func encodingOf(body []byte, header string, isHTML bool) (name string, mark int) {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return "utf-8", 3
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return "utf-16le", 2
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return "utf-16be", 2
	}
	name = encodingName(header)
	if name == "" && isHTML {
		if name = prescan(body); name == "" {
			name = declared(body)
		}
	}
	switch {
	case name != "":
	case isISO2022JP(body):
		name = "iso-2022-jp"
	case utf8.Valid(wholeRunes(body)):
		name = "utf-8"
	}
	if name == "" {
		name = guess(body)
	}
	return name, 0
}

// encodingName is the name of the encoding with the given label, "" if there
// is none.
func encodingName(label string) string {
	label = strings.Trim(label, " \t\r\n\f\"'")
	// What is asked folds case and cuts white space as Unicode has them, and labels are ASCII.
	if label == "" || strings.ContainsFunc(label, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	e, err := htmlindex.Get(label)
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(e)
	if err != nil {
		return ""
	}
	return name
}

// recode decodes body from the encoding of that name.
func recode(body []byte, name string) ([]byte, string) {
	if name == "utf-8" {
		return repair(body), name
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return repair(body), "utf-8"
	}
	out, err := e.NewDecoder().Bytes(body)
	if err != nil { // decoders put U+FFFD instead of failing; "replacement" fails
		return repair(body), "utf-8"
	}
	return repair(out), name
}

// repair replaces broken UTF-8 and NUL bytes by U+FFFD.
func repair(b []byte) []byte {
	const replacement = "\uFFFD"
	b = wholeRunes(b)
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte(replacement))
	}
	if bytes.IndexByte(b, 0) >= 0 {
		b = bytes.ReplaceAll(b, []byte{0}, []byte(replacement))
	}
	return b
}

// wholeRunes cuts off a character whose end is missing, as a body that hit a
// size bound has it.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// prescan reads the encoding from the meta elements at the start of a page:
// <meta charset=…> or <meta http-equiv=content-type content="…; charset=…">.
//
// Source: HTML Standard, 13.2.3.2, "prescan a byte stream".
func prescan(body []byte) string {
	body = body[:min(len(body), prescanBytes)]
	if !containsFold(body, "charset") {
		return ""
	}
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) == "body" {
				return ""
			}
			if string(name) != "meta" {
				continue
			}
			var label, content string
			var contentType bool
			for more {
				var k, v []byte
				k, v, more = z.TagAttr()
				switch string(k) {
				case "charset":
					label = string(v)
				case "content":
					content = string(v)
				case "http-equiv":
					contentType = strings.EqualFold(string(v), "content-type")
				}
			}
			if label == "" && contentType {
				label = charsetParameter(content)
			}
			if name := ofPage(encodingName(label)); name != "" {
				return name
			}
		}
	}
}

// ofPage is the encoding of a page that says its encoding itself.
func ofPage(name string) string {
	switch name {
	case "utf-16le", "utf-16be": // a page read as ASCII so far is not that
		return "utf-8"
	case "x-user-defined":
		return fallback
	}
	return name
}

// declared reads the encoding from the XML declaration that a page begins with:
// <?xml version="1.0" encoding="…"?>.
//
// Source: HTML Standard, 13.2.3.2, "get an XML encoding".
func declared(body []byte) string {
	body = body[:min(len(body), prescanBytes)]
	end := bytes.IndexByte(body, '>')
	if end < 0 || !bytes.HasPrefix(body, []byte("<?xml")) {
		return ""
	}
	_, rest, ok := strings.Cut(string(body[:end]), "encoding")
	space := func(r rune) bool { return r <= ' ' }
	rest, is := strings.CutPrefix(strings.TrimLeftFunc(rest, space), "=")
	rest = strings.TrimLeftFunc(rest, space)
	if !ok || !is || rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	label, _, ok := strings.Cut(rest[1:], rest[:1])
	if !ok || strings.ContainsFunc(label, space) {
		return ""
	}
	return ofPage(encodingName(label))
}

// charsetParameter reads the charset parameter of a content type, also of one
// that is not well-formed.
func charsetParameter(contentType string) string {
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		return params["charset"]
	}
	_, rest, ok := strings.Cut(strings.ToLower(contentType), "charset")
	if !ok {
		return ""
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), "=")
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " \t\"'")
	if i := strings.IndexAny(rest, " \t\"';,"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// isISO2022JP knows Japanese in seven bits, as of mail, by how it shifts to Japanese and back.
func isISO2022JP(body []byte) bool {
	at := bytes.Index(body, []byte("\x1b$"))
	if at < 0 || at+2 >= len(body) || body[at+2] != 'B' && body[at+2] != '@' {
		return false
	}
	back := bytes.Index(body[at:], []byte("\x1b("))
	return back > 0 && at+back+2 < len(body) && (body[at+back+2] == 'B' || body[at+back+2] == 'J')
}

// guess tells the encoding by the statistics of the bytes around the first one
// that is not ASCII.
func guess(body []byte) string {
	first := bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf })
	if first < 0 {
		return "utf-8"
	}
	start := max(0, min(first-guessBytes/8, len(body)-guessBytes))
	// The results come in an order that chance decides among equals; an error
	// means that there are none.
	results, _ := chardet.NewHtmlDetector().DetectAll(body[start:min(len(body), start+guessBytes)])
	best, confidence := fallback, 0
	for _, r := range results {
		label := r.Charset
		if label == "GB-18030" {
			label = "gb18030"
		}
		name := encodingName(label)
		if name == "" || name == "utf-8" {
			continue
		}
		if r.Confidence > confidence || r.Confidence == confidence && best != fallback && (name == fallback || name < best) {
			best, confidence = name, r.Confidence
		}
	}
	return best
}

// containsFold tells whether b holds the lower-case ASCII word, in any case.
func containsFold(b []byte, word string) bool {
	for i := 0; i+len(word) <= len(b); i++ {
		if b[i]|0x20 == word[0] && strings.EqualFold(string(b[i:i+len(word)]), word) {
			return true
		}
	}
	return false
}
