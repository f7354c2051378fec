package web

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

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
