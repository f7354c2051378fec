package parse

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/waggle-crawler/waggle/web"
)

// outputEncoding is what a page in the encoding of that name sends queries in; nil for UTF-8,
// in which pages in UTF-16 send them too.
//
// Source: Encoding Standard, 4.3, "get an output encoding".
func outputEncoding(name string) encoding.Encoding {
	switch name {
	case "", "utf-8", "utf-16le", "utf-16be", "replacement":
		return nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	return e
}

// hasEncoding tells whether the query of a link is in the encoding of its page. That of a
// link which is data, or stands in a header, is in UTF-8.
func hasEncoding(kind web.LinkKind) bool {
	return kind != web.LinkHeader && kind != web.LinkJSONLD && kind != web.LinkScript
}

// maxEncoded is the length of a reference, in bytes, above which it is no address anyway.
const maxEncoded = 32 << 10

// encodeQuery is a reference with what is not ASCII in its query escaped in an encoding, as
// browsers do; nil = UTF-8.
//
// Source: URL Standard, 4.4, query state.
func encodeQuery(ref string, e encoding.Encoding) string {
	start := strings.IndexByte(ref, '?') + 1
	end := len(ref)
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		end = i
	}
	if e == nil || start == 0 || start > end || len(ref) > maxEncoded || ascii(ref[start:end]) == end-start {
		return ref
	}
	query := encoded(ref[start:end], e, func(dst []byte, c byte) []byte {
		const upper = "0123456789ABCDEF"
		// A % of a character in two bytes would be read as the start of an escape.
		if c <= ' ' || c > '~' || strings.IndexByte(`"#<>'%`, c) >= 0 {
			return append(dst, '%', upper[c>>4], upper[c&15])
		}
		return append(dst, c)
	}, "%26%23", "%3B")
	return ref[:start] + query + ref[end:]
}

// encoded is s in an encoding: what is ASCII stays as it is, put appends each byte of what
// is not, and a character that the encoding does not have is its number between before and after.
func encoded(s string, e encoding.Encoding, put func(dst []byte, c byte) []byte, before, after string) string {
	var out []byte
	s = strings.ToValidUTF8(s, "\uFFFD") // a text may have been cut within a character
	encoder := e.NewEncoder()
	for s != "" {
		n := ascii(s)
		out = append(out, s[:n]...)
		s = s[n:]
		if n = strings.IndexFunc(s, func(r rune) bool { return r < utf8.RuneSelf }); n < 0 {
			n = len(s)
		}
		run := s[:n] // as a whole, since an encoding may shift before it and back behind it
		s = s[n:]
		if b, err := encoder.String(run); err == nil {
			for i := range len(b) {
				out = put(out, b[i])
			}
			continue
		}
		var room [32]byte
		for i, r := range run {
			encoder.Reset()
			n, _, err := encoder.Transform(room[:], []byte(run[i:i+utf8.RuneLen(r)]), true)
			if err != nil {
				out = append(strconv.AppendInt(append(out, before...), int64(r), 10), after...)
				continue
			}
			for _, c := range room[:n] {
				out = put(out, c)
			}
		}
	}
	return string(out)
}

// ascii is the length of the beginning of s that is ASCII.
func ascii(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return i
		}
	}
	return len(s)
}

// encodeValues is url.Values.Encode in an encoding, as forms are sent in; nil = UTF-8.
//
// Source: HTML Standard, 4.10.22.8; URL Standard, 5.2.
func encodeValues(v url.Values, e encoding.Encoding) string {
	if e == nil {
		return v.Encode()
	}
	same := func(dst []byte, c byte) []byte { return append(dst, c) }
	escaped := func(s string) string { return url.QueryEscape(encoded(s, e, same, "&#", ";")) }
	var pairs []string
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range v[name] {
			pairs = append(pairs, escaped(name)+"="+escaped(value))
		}
	}
	return strings.Join(pairs, "&")
}

// formEncoding is the encoding that a form is sent in whose accept-charset is said; nil = UTF-8.
//
// Source: HTML Standard, 4.10.22.5.
func formEncoding(said string) encoding.Encoding {
	for label := range strings.FieldsSeq(said) {
		if name := encodingName(label); name != "" {
			return outputEncoding(name)
		}
	}
	return nil
}
