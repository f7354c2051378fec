package web

import (
	"errors"
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/publicsuffix"
)

// URL is a canonical absolute http or https address without a fragment. Two
// addresses a browser would treat as one are the same URL, so == compares
// identity and URL can be a map key. The zero URL is no address.
type URL struct{ s string }

// Host is a host name in canonical form with its port where that is not the
// scheme's own ("example.org", "127.0.0.1:8080", "[::1]:80"). It is the unit of
// politeness: http and https of one name share a Host.
type Host string

// ErrNotWeb is wrapped by the errors of Parse and Resolve for addresses which
// are well-formed but neither http nor https (mailto:, javascript:, data:).
var ErrNotWeb = errors.New("not an http or https address")

// maxURL is the longest canonical address accepted, in bytes.
const maxURL = 8192

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
// address is base. A zero base accepts absolute references only.
func (c Canon) Resolve(base URL, ref string) (URL, error) {
	var u *whatwg.Url
	var err error
	if base.IsZero() {
		u, err = whatwg.Parse(ref)
	} else {
		u, err = whatwg.ParseRef(base.s, ref)
	}
	if err != nil {
		return URL{}, fmt.Errorf("address %.200q: %w", ref, err)
	}
	if u.Scheme() != "http" && u.Scheme() != "https" {
		return URL{}, fmt.Errorf("address %.200q: %w", ref, ErrNotWeb)
	}
	s := u.Href(true)
	if len(s) > maxURL {
		return URL{}, fmt.Errorf("address of %d bytes: longer than %d", len(s), maxURL)
	}
	return URL{s}, nil
}

// String returns the canonical address, "" for the zero URL.
func (u URL) String() string { return u.s }

// IsZero tells whether u is no address.
func (u URL) IsZero() bool { return u.s == "" }

// Scheme is "http" or "https".
func (u URL) Scheme() string {
	s, _, _ := strings.Cut(u.s, ":")
	return s
}

// Host is the host of u with its port unless that is the scheme's own.
func (u URL) Host() Host {
	_, rest, ok := strings.Cut(u.s, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	return Host(rest)
}

// Origin is scheme, host and port: "https://example.org".
func (u URL) Origin() string {
	return u.Scheme() + "://" + string(u.Host())
}

// RequestPath is the path with its query: "/a/b?q=1".
func (u URL) RequestPath() string {
	_, rest, _ := strings.Cut(u.s, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return "/"
}

// Path is the path without its query: "/a/b".
func (u URL) Path() string {
	p, _, _ := strings.Cut(u.RequestPath(), "?")
	return p
}

// MarshalText writes the address; the zero URL is empty text.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.s), nil }

// UnmarshalText parses and canonicalises an address; empty text is the zero URL.
func (u *URL) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*u = URL{}
		return nil
	}
	*u, err = Parse(string(b))
	return err
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
	d, err := publicsuffix.EffectiveTLDPlusOne(h.Name())
	if err != nil {
		return h.Name()
	}
	return d
}
