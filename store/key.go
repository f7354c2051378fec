package store

import (
	"cmp"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// lookupKey is the key by which replay tools look an address up: the host turned round,
// then path and query, all in lower case and without what does not tell pages apart:
//
//	https://www2.example.org:8080/A/?b=1&a=2   org,example:8080)/a?a=2&b=1
//
// These are "www.", "www2." and so on; escapes of characters that need none; empty parts
// of the path, and the slash at its end; an empty query; ids of sessions. The arguments of
// the query are sorted. A tool makes the key of the address that it is asked for by the
// same rules and looks for equal ones, so each rule counts.
//
// Source: the rules of the Python package surt, as pywb calls it.
func lookupKey(target string) string {
	u, err := web.Parse(target)
	if err != nil {
		return strings.ReplaceAll(strings.ToLower(target), " ", "%20")
	}
	host, name := string(u.Host()), u.Host().Name()
	port := strings.TrimPrefix(host, name)
	labels := strings.Split(strings.Trim(withoutWWW(name), "[]"), ".")
	slices.Reverse(labels)
	path, query, _ := strings.Cut(u.RequestPath(), "?")
	key := strings.Join(labels, ",") + port + ")" + keyPath(path)
	if query = keyQuery(query); query != "" {
		key += "?" + query
	}
	return key
}

// withoutWWW takes "www.", or "www" with a number, off a host.
func withoutWWW(host string) string {
	if rest, ok := strings.CutPrefix(host, "www"); ok {
		if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, "0123456789"), "."); ok {
			return rest
		}
	}
	return host
}

// keyPath is a path as keys have it.
func keyPath(path string) string {
	var parts []string
	all := strings.Split(unescaped(path), "/")[1:]
	for i, part := range all {
		switch {
		case part == ".":
		case part == ".." && len(parts) > 0:
			parts = parts[:len(parts)-1]
		case part != "" || i == len(all)-1:
			parts = append(parts, part)
		}
	}
	path = lower(escaped("/" + strings.Join(parts, "/")))
	for _, id := range pathSessions {
		path = id.ReplaceAllString(path, "$1$2")
	}
	if path == "/" {
		return path
	}
	return strings.TrimSuffix(path, "/")
}

// keyQuery is a query as keys have it, "" for none.
func keyQuery(query string) string {
	query = escaped(unescaped(query))
	for _, id := range querySessions {
		query = id.ReplaceAllString(query, "$1$2")
	}
	args := strings.Split(lower(query), "&")
	slices.SortFunc(args, func(a, b string) int {
		nameA, valueA, hasA := strings.Cut(a, "=")
		nameB, valueB, hasB := strings.Cut(b, "=")
		if hasA != hasB && nameA == nameB {
			return len(a) - len(b) // "a" is before "a="
		}
		return cmp.Or(strings.Compare(nameA, nameB), strings.Compare(valueA, valueB))
	})
	return strings.Join(args, "&")
}

// Ids of sessions, of which the last of each kind counts: $1 is what is before it, and $2
// what is behind it.
var (
	querySessions = compiled(`^(.*)`, `(?:&(.*))?$`,
		`jsessionid=[0-9a-z]{32}`, `phpsessid=[0-9a-z]{32}`, `sid=[0-9a-z]{32}`, `aspsessionid[a-z]{8}=[a-z]{24}`, `cfid=[^&]+&cftoken=[^&]+`)
	pathSessions = compiled(`^(.*/)`, `/([^?]+\.aspx.*)$`,
		`\((?:[a-z]\([0-9a-z]{24}\))+\)`, `\([0-9a-z]{24}\)`)
)

func compiled(before, behind string, ids ...string) (list []*regexp.Regexp) {
	for _, id := range ids {
		list = append(list, regexp.MustCompile(`(?i)`+before+id+behind))
	}
	return list
}

// unescaped undoes escapes until there are none: an escape can make another one.
func unescaped(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		b = append(b, s[i])
		for n := len(b) - 3; n >= 0 && b[n] == '%'; n = len(b) - 3 {
			c, err := hex.DecodeString(string(b[n+1:]))
			if err != nil {
				break
			}
			b = append(b[:n], c[0])
		}
	}
	return string(b)
}

const hexDigits = "0123456789abcdef"

// escaped escapes what is no visible ASCII character, and '%' and '#'.
func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || c == '%' || c == '#' {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&0xf])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// lower is s with the letters of ASCII in lower case.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
