package web

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
)

// ErrCredentials says that an address that a person gave holds a name or a password.
var ErrCredentials = errors.New("an address with a name or a password in it would be kept in files: write it without them; the name and the password of a site stand in the file of fetch.secrets (--secrets), by its address without them")

// Given makes the canonical form of an address that a person gave, which may lack its
// scheme, see WithScheme. The error is ErrCredentials, which shows nothing of the address,
// for one with a name or a password in it: Parse drops those, but what a person gave is also
// kept as it was written.
func Given(s string) (URL, error) {
	if HasCredentials(s) {
		return URL{}, ErrCredentials
	}
	u, err := Parse(WithScheme(s))
	if err != nil && strings.Contains(s, "@") && !errors.Is(err, ErrNotWeb) {
		return u, ErrCredentials // a password with a slash in it, for example
	}
	return u, err
}

// HasCredentials tells whether a name or a password stands in an address before its host,
// as a browser reads it. The scheme may be missing. A mail address is no such address, nor are words
// before an @.
func HasCredentials(s string) bool {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	scheme := schemeOf(s)
	rest := s
	switch {
	case strings.EqualFold(scheme, "http"), strings.EqualFold(scheme, "https"):
		rest = s[len(scheme)+1:]
	case scheme != "" && strings.HasPrefix(s[len(scheme):], "://"):
		rest = s[len(scheme)+1:]
	case strings.EqualFold(scheme, "mailto"):
		return false
	}
	rest = strings.TrimLeft(rest, "/\\")
	authority := rest[:strings.IndexAny(rest+"/", "/\\?#")]
	before, _, found := strings.Cut(authority, "@")
	if !found || len(rest) < len(s) {
		return found
	}
	// Without a scheme, only a colon tells a password from a mail address, and words with spaces
	// between them are none of an address.
	return strings.Contains(before, ":") && !strings.ContainsFunc(before, unicode.IsSpace)
}

// reservedTop are the top-level domains of examples and tests (RFC 2606), which no
// list of public suffixes holds.
var reservedTop = []string{"example", "test"}

// WithScheme puts a scheme before an address that a person wrote without one:
// http:// before localhost, a name below it or an IP address, and https:// before
// a name in a top-level domain that exists or is reserved for examples and tests.
// A port and a path may follow. Anything else is returned as it is: what has a
// scheme, and what may be the name of a file or a mail address.
func WithScheme(s string) string {
	bare := strings.TrimSpace(s)
	host := bare[:strings.IndexAny(bare+"/", "/?#")]
	if host == "" || strings.ContainsAny(host, "@ \\%") {
		return s
	}
	name := host
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name = host[:i]
		if port := host[i+1:]; port == "" || strings.Trim(port, "0123456789") != "" {
			return s
		}
	}
	u, err := Parse("https://" + bare)
	if err != nil || strings.HasPrefix(name, ".") || strings.Contains(name, "..") {
		return s
	}
	known := u.Host().Name()
	if _, err := netip.ParseAddr(strings.Trim(known, "[]")); err == nil {
		if known != strings.ToLower(name) { // 3.14 is short for 3.0.0.14
			return s
		}
		return "http://" + bare
	}
	if known == "localhost" || strings.HasSuffix(known, ".localhost") {
		return "http://" + bare
	}
	known = strings.TrimSuffix(known, ".")
	top := known[strings.LastIndexByte(known, '.')+1:]
	if _, exists := publicsuffix.PublicSuffix(top); top == known || !exists && !slices.Contains(reservedTop, top) {
		return s
	}
	return "https://" + bare
}
