package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/publicsuffix"
)

// URL is a canonical absolute http or https address without a fragment. Two
// addresses a browser would treat as one are the same URL, so == compares
// identity and URL can be a map key. The zero URL is no address.
//
// An address becomes canonical in two steps. It is parsed as browsers do
// (https://url.spec.whatwg.org): white space around it and tabs and line
// breaks in it vanish, backslashes are slashes, dot segments are resolved,
// default ports dropped, host names lower-cased and turned to punycode, and
// numeric hosts such as 0x7f.1 written as dotted quads. Then
//
//   - the fragment, an empty query and the final dot of the host are dropped;
//   - credentials (user:password@) are dropped: a page must not make a crawler
//     sign in anywhere;
//   - %-escapes of letters, digits and -._~ are decoded, the others written in
//     upper case, and every byte that RFC 3986 forbids in its place is escaped,
//     a % that begins no escape and all bytes beyond ASCII among them; only the
//     brackets [ ] stay, as servers see them bare from browsers (RFC 3986, 6.2.2);
//   - empty path segments (a//b), the order of parameters and the case of the
//     path stay: they can matter.
//
// Hosts are narrower than a browser's: labels of 1 to 63 letters, digits,
// hyphens and underscores, at most 253 bytes in all, as others do not resolve.
//
// Thus a URL is printable ASCII, at most 8192 bytes, and its own canonical
// form: Parse(u.String()) is u.
type URL struct{ s string }

// Host is a host name in canonical form with its port where that is not the
// scheme's own ("example.org", "127.0.0.1:8080", "[::1]:80"). It is the unit of
// politeness: http and https of one name share a Host.
type Host string

// ErrNotWeb is wrapped by the errors of Parse and Resolve for addresses whose
// scheme is neither http nor https (mailto:, javascript:, data:).
var ErrNotWeb = errors.New("not an http or https address")

// Bounds in bytes: of a canonical address, and of what is looked at to make
// one (dot segments and escapes may shrink).
const (
	maxURL = 8192
	maxRef = 4 * maxURL
)

// Parse makes the canonical form of an absolute address.
func Parse(s string) (URL, error) { return Canon{}.Parse(s) }

// Canon holds the optional rules of canonicalisation; the zero Canon applies
// the unconditional ones only.
type Canon struct {
	// StripSessions removes session identifiers from paths and queries
	// (;jsessionid=, PHPSESSID=, /(S(…))/).
	StripSessions bool
	// StripTracking removes query parameters that only track the visitor
	// (utm_*, gclid, fbclid).
	StripTracking bool
}

// Parse makes the canonical form of an absolute address under the rules c.
func (c Canon) Parse(s string) (URL, error) { return c.Resolve(URL{}, s) }

// Resolve makes the canonical form of ref as found on a page whose base
// address is base. A zero base accepts absolute references only. ref is read
// as UTF-8; the result shares no memory with it.
func (c Canon) Resolve(base URL, ref string) (URL, error) {
	var room [512]byte
	b, err := appendCanonical(room[:0], base.s, ref)
	if err != nil {
		return URL{}, err
	}
	return URL{string(c.strip(b))}, nil
}

// appendCanonical appends the canonical form of ref, before session
// identifiers and the like are removed.
func appendCanonical(b []byte, base, ref string) ([]byte, error) {
	for ref != "" && ref[0] <= ' ' {
		ref = ref[1:]
	}
	for ref != "" && ref[len(ref)-1] <= ' ' {
		ref = ref[:len(ref)-1]
	}
	// The # itself stays: the space in "a #b" is no longer at an end.
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i+1]
	}
	if s := schemeOf(ref); s != "" && !strings.EqualFold(s, "http") && !strings.EqualFold(s, "https") {
		return nil, fmt.Errorf("address %.200q: %w", ref, ErrNotWeb)
	}
	if len(ref) > maxRef {
		return nil, fmt.Errorf("address %.200q… of %d bytes: longer than %d", ref, len(ref), maxRef)
	}
	b, ok := appendPlain(b, base, ref)
	if !ok {
		var err error
		if b, err = appendParsed(b[:0], base, ref); err != nil {
			if base == "" && schemeOf(ref) == "" {
				if _, none := appendParsed(nil, "", "https://"+ref); none != nil {
					return nil, fmt.Errorf("%.200q is no address: write one such as https://example.org/", ref)
				}
				return nil, fmt.Errorf("address %.200q has no scheme: write it as https://…", ref)
			}
			return nil, fmt.Errorf("address %.200q: %w", ref, err)
		}
	}
	if len(b) > maxURL {
		return nil, fmt.Errorf("address %.200q… of %d bytes: longer than %d", string(b), len(b), maxURL)
	}
	return b, nil
}

// schemeOf returns the scheme a reference begins with, "" if it is relative.
func schemeOf(ref string) string {
	for i := 0; i < len(ref); i++ {
		switch c := ref[i]; {
		case isAlpha(c):
		case i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return ref[:i]
		default:
			return ""
		}
	}
	return ""
}

// appendParsed appends the canonical form of any reference. It is slow and
// complete; an error does not name ref.
func appendParsed(b []byte, base, ref string) ([]byte, error) {
	var u *whatwg.Url
	var err error
	browser := whatwg.NewParser(whatwg.WithPreParseHostFunc(refuseSigned))
	if base == "" {
		u, err = browser.Parse(ref)
	} else {
		u, err = browser.ParseRef(base, ref)
	}
	if err != nil {
		// The parser's own message goes on to repeat the whole reference.
		why, _, _ := strings.Cut(err.Error(), ". Url: '")
		return nil, errors.New(strings.TrimPrefix(why, "Error: "))
	}
	if u.Scheme() != "http" && u.Scheme() != "https" {
		return nil, ErrNotWeb
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if err := checkName(name); err != nil {
		return nil, err
	}
	b = append(append(append(b, u.Scheme()...), "://"...), name...)
	if p := u.Port(); p != "" {
		b = append(append(b, ':'), p...)
	}
	b = appendPath(append(b, '/'), strings.TrimPrefix(u.Pathname(), "/"))
	return appendQuery(b, u.Query()), nil
}

// refuseSigned keeps the parser from reading signed numbers in numeric hosts
// (1.2.3.-1), which the standard refuses: it empties such a host.
func refuseSigned(_ *whatwg.Url, host string) string {
	name, err := url.PathUnescape(host)
	if err != nil {
		return host // not UTF-8, or no escape: the parser refuses it
	}
	name = strings.TrimSuffix(name, ".")
	last := strings.TrimLeft(name[strings.LastIndexByte(name, '.')+1:], "+-")
	if last == "" || !isDigit(last[0]) {
		return host
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > 1 && (label[0] == '+' || label[0] == '-') && isDigit(label[1]) {
			return ""
		}
	}
	return host
}

// checkName refuses the host names that cannot be resolved, and those whose
// meaning would change if they were parsed again.
func checkName(name string) error {
	if strings.HasPrefix(name, "[") {
		if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err != nil {
			return fmt.Errorf("host %q is no IPv6 address", name)
		}
		return nil
	}
	if isPlainName([]byte(name)) {
		return nil
	}
	if len(name) > 253 {
		return fmt.Errorf("host of %d bytes: longer than 253", len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("host %.253q: a label of %d bytes, not 1 to 63", name, len(label))
		}
		for i := range len(label) {
			if !isNameByte(label[i]) {
				return fmt.Errorf("host %.253q: %q is not allowed there", name, label[i:i+1])
			}
		}
	}
	u, err := whatwg.Parse("http://" + name)
	if err != nil || u.Hostname() != name {
		return fmt.Errorf("host %.253q has no stable form", name)
	}
	return nil
}

// isPlainName tells whether a lower-case host name is canonical beyond doubt:
// a dotted quad, or labels without punycode of which the last begins with a
// letter (others may be numbers in disguise).
func isPlainName(name []byte) bool {
	if len(name) == 0 || len(name) > 253 {
		return false
	}
	label, digits := 0, true // where the present label begins; all digits and dots
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			if !isNameByte(name[i]) {
				return false
			}
			digits = digits && isDigit(name[i])
			continue
		}
		if i == label || i-label > 63 || bytes.HasPrefix(name[label:], []byte("xn--")) {
			return false
		}
		if i < len(name) {
			label = i + 1
		}
	}
	if digits {
		a, err := netip.ParseAddr(string(name))
		return err == nil && a.Is4()
	}
	return 'a' <= name[label] && name[label] <= 'z'
}

// appendPlain is appendParsed for what nearly all references are. It reports
// false, having appended rubbish, where it does not know.
func appendPlain(b []byte, base, ref string) ([]byte, bool) {
	ref = strings.TrimSuffix(ref, "#")
	path, query := ref, ""
	if i := strings.IndexByte(ref, '?'); i >= 0 {
		path, query = ref[:i], ref[i+1:]
	}
	ascii := true
	for i := range len(ref) {
		if c := ref[i]; c < ' ' || c == '\\' && i < len(path) {
			return b, false
		} else if c >= utf8.RuneSelf {
			ascii = false
		}
	}
	if !ascii && !utf8.ValidString(ref) {
		return b, false
	}

	scheme := schemeOf(ref)
	switch {
	case scheme != "":
		b = appendLower(b, scheme)
		path = path[len(scheme)+1:]
		if !strings.HasPrefix(path, "//") {
			return b, false
		}
		return appendAuthority(b, path[2:], query)
	case base == "":
		return b, false
	case strings.HasPrefix(path, "//"):
		s, _, _ := strings.Cut(base, ":")
		return appendAuthority(append(b, s...), path[2:], query)
	case strings.HasPrefix(path, "/"):
		b = append(b, base[:pathAt(base)]...)
		b = appendPath(append(b, '/'), path[1:])
	case path != "":
		s, _, _ := strings.Cut(base, "?")
		b = append(b, s[:strings.LastIndexByte(s, '/')+1]...)
		b = appendPathFrom(b, pathAt(base), path)
	case len(ref) > 0: // begins with a ?
		s, _, _ := strings.Cut(base, "?")
		b = append(b, s...)
	default:
		b = append(b, base...)
	}
	return appendQuery(b, query), true
}

// appendAuthority goes on after the scheme, which b consists of; rest follows
// the two slashes.
func appendAuthority(b []byte, rest, query string) ([]byte, bool) {
	https := len(b) == len("https")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i+1:]
	}
	name, port, hasPort := strings.Cut(authority, ":")
	b = append(b, "://"...)
	from := len(b)
	b = appendLower(b, name)
	if !isPlainName(b[from:]) {
		return b, false
	}
	if hasPort {
		n := 0
		for i := range len(port) {
			if !isDigit(port[i]) || i == 5 {
				return b, false
			}
			n = n*10 + int(port[i]-'0')
		}
		if n > 65535 || port == "" || port[0] == '0' {
			return b, false
		}
		if https && n != 443 || !https && n != 80 {
			b = append(append(b, ':'), port...)
		}
	}
	b = appendPath(append(b, '/'), path)
	return appendQuery(b, query), true
}

// appendPath appends a path without its first slash, which b ends with.
func appendPath(b []byte, path string) []byte { return appendPathFrom(b, len(b)-1, path) }

// appendPathFrom appends a path relative to the directory b ends with, a slash
// last; the path of b begins at root.
func appendPathFrom(b []byte, root int, path string) []byte {
	for {
		segment, rest, more := strings.Cut(path, "/")
		from := len(b) // b[from-1] is a slash
		b = appendEscaped(b, segment, false)
		switch string(b[from:]) {
		case ".":
			b = b[:from]
		case "..":
			b = b[:from]
			for from > root+1 {
				if from--; b[from-1] == '/' {
					break
				}
			}
			b = b[:from]
		default:
			if more {
				b = append(b, '/')
			}
		}
		if !more {
			return b
		}
		path = rest
	}
}

// appendQuery appends a query with its question mark unless it is empty.
func appendQuery(b []byte, query string) []byte {
	if query == "" {
		return b
	}
	return appendEscaped(append(b, '?'), query, true)
}

// appendEscaped appends part of a path or a query in canonical escaping.
func appendEscaped(b []byte, s string, query bool) []byte {
	const upper = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isUnreserved(c) || isReserved(c, query) {
			b = append(b, c)
			continue
		}
		if c == '%' && i+2 < len(s) {
			if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi|lo < 16 {
				c = hi<<4 | lo
				i += 2
				if isUnreserved(c) {
					b = append(b, c)
					continue
				}
			}
		}
		b = append(b, '%', upper[c>>4], upper[c&15])
	}
	return b
}

func appendLower(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b = append(b, c)
	}
	return b
}

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || isDigit(c) || c == '-' || c == '_'
}

// isUnreserved tells whether c means the same escaped or not (RFC 3986, 2.3).
func isUnreserved(c byte) bool {
	return isAlpha(c) || isDigit(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

// isReserved tells whether c may stand bare, and means something else escaped.
// A browser escapes ' in queries, and nowhere else.
func isReserved(c byte, query bool) bool {
	switch c {
	case '!', '$', '&', '(', ')', '*', '+', ',', ';', '=', ':', '@', '/', '[', ']':
		return true
	case '\'':
		return !query
	case '?':
		return query
	}
	return false
}

// unhex returns the value of a hexadecimal digit, 255 for another byte.
func unhex(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 255
}

// nameAt and pathAt are where the host and the path of a canonical address
// begin.
func nameAt(s string) int {
	if strings.HasPrefix(s, "https") {
		return len("https://")
	}
	return len("http://")
}

func pathAt(s string) int {
	n := nameAt(s)
	return n + strings.IndexByte(s[n:], '/')
}

// String returns the canonical address, "" for the zero URL.
func (u URL) String() string { return u.s }

// IsZero tells whether u is no address.
func (u URL) IsZero() bool { return u.s == "" }

// Scheme is "http" or "https", "" for the zero URL.
func (u URL) Scheme() string {
	s, _, _ := strings.Cut(u.s, ":")
	return s
}

// Host is the host of u with its port unless that is the scheme's own.
func (u URL) Host() Host {
	if u.IsZero() {
		return ""
	}
	return Host(u.s[nameAt(u.s):pathAt(u.s)])
}

// Origin is scheme, host and port: "https://example.org"; "" for the zero URL.
func (u URL) Origin() string {
	if u.IsZero() {
		return ""
	}
	return u.s[:pathAt(u.s)]
}

// RequestPath is the path with its query: "/a/b?q=1".
func (u URL) RequestPath() string {
	if u.IsZero() {
		return "/"
	}
	return u.s[pathAt(u.s):]
}

// Path is the path without its query: "/a/b".
func (u URL) Path() string {
	p, _, _ := strings.Cut(u.RequestPath(), "?")
	return p
}

// MarshalText writes the address; the zero URL is empty text.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.s), nil }

// UnmarshalText parses and canonicalises an address; empty text is the zero
// URL. Text that is canonical already costs one allocation.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*u = URL{}
		return nil
	}
	var room [512]byte
	s := string(text)
	b, err := appendCanonical(room[:0], "", s)
	if err != nil {
		return err
	}
	if string(b) != s {
		s = string(b)
	}
	*u = URL{s}
	return nil
}

// Name is the host without its port.
func (h Host) Name() string {
	s := string(h)
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		return s[:i]
	}
	return s
}

// Domain is the registrable domain by the public suffix list
// ("www.cs.example.co.uk" → "example.co.uk"); for addresses and for names
// that have none it is the name itself.
func (h Host) Domain() string {
	name := h.Name()
	d, err := publicsuffix.EffectiveTLDPlusOne(name)
	if err != nil {
		return name
	}
	return d
}

// IsPublicSuffix tells whether anybody may have a name below the host ("com",
// "co.uk", "github.io"), by the public suffix list.
func (h Host) IsPublicSuffix() bool {
	suffix, _ := publicsuffix.PublicSuffix(h.Name())
	return suffix == h.Name()
}
