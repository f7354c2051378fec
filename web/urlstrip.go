package web

import (
	"bytes"
	"strings"
)

// strip removes from a canonical address, in place, what the options of c ask
// for. What is left is canonical, and strip would leave it as it is.
func (c Canon) strip(b []byte) []byte {
	if !c.StripSessions && !c.StripTracking {
		return b
	}
	out, query, _ := bytes.Cut(b, []byte("?"))
	if c.StripSessions && (bytes.IndexByte(out, ';') >= 0 || bytes.IndexByte(out, '(') >= 0) {
		out = stripPath(out)
	}
	// What is kept moves forward only: out never reaches what is yet to be read.
	bare, separator := len(out), byte('?')
	for more := len(query) > 0; more; {
		var parameter []byte
		parameter, query, more = bytes.Cut(query, []byte("&"))
		if c.StripSessions && isSession(parameter) || c.StripTracking && isTracking(parameter) {
			continue
		}
		out = append(append(out, separator), parameter...)
		separator = '&'
	}
	if len(out) == bare+1 {
		return out[:bare]
	}
	return out
}

// stripPath removes session identifiers from an address without a query, in
// place: parameters of a segment (/a;jsessionid=1) and the segments in which
// ASP.NET keeps them (/(S(lit3py55))/a). Segments that would become . or ..
// stay.
func stripPath(address []byte) []byte {
	root := bytes.Index(address, []byte("://")) + 3
	root += bytes.IndexByte(address[root:], '/') + 1
	out, path := address[:root], address[root:]
	for more := true; more; {
		var segment []byte
		segment, path, more = bytes.Cut(path, []byte("/"))
		from := len(out)
		name, parameters, has := bytes.Cut(segment, []byte(";"))
		keep := string(name) == "." || string(name) == ".."
		for out = append(out, name...); has; {
			var parameter []byte
			parameter, parameters, has = bytes.Cut(parameters, []byte(";"))
			if keep || !isSession(parameter) {
				out = append(append(out, ';'), parameter...)
			}
		}
		if isSessionSegment(out[from:]) {
			out = out[:from]
		} else if more {
			out = append(out, '/')
		}
	}
	return out
}

// isSessionSegment tells whether a path segment is one of ASP.NET's cookieless
// tickets: one or more of A(…), F(…), S(…), X(…) in brackets.
func isSessionSegment(s []byte) bool {
	if len(s) < len("(S(x))") || s[0] != '(' || s[len(s)-1] != ')' {
		return false
	}
	for s = s[1 : len(s)-1]; len(s) > 0; {
		end := bytes.IndexByte(s, ')')
		if end < 3 || s[1] != '(' || !strings.Contains("AFSX", string(s[:1])) || !isToken(s[2:end]) {
			return false
		}
		s = s[end+1:]
	}
	return true
}

// isSession tells whether name=value keeps a session. Names that mean other
// things too (sid, session) count only with a value that looks like a ticket.
func isSession(parameter []byte) bool {
	var room [24]byte
	name, value := nameValue(room[:0], parameter)
	switch string(name) {
	case "jsessionid", "phpsessid", "oscsid", "zenid", "xtcsid", "cfid", "cftoken", "asp.net_sessionid":
		return true
	case "sid", "session", "sessionid", "session_id", "sess", "sessid":
		return len(value) >= 16 && isToken(value) && bytes.ContainsAny(value, "0123456789")
	case "s":
		return len(value) == 32 && isHex(value)
	}
	return bytes.HasPrefix(name, []byte("aspsessionid"))
}

// isTracking tells whether name=value says only how a visitor came here.
func isTracking(parameter []byte) bool {
	var room [24]byte
	name, _ := nameValue(room[:0], parameter)
	for _, prefix := range []string{"utm_", "mtm_", "piwik_", "pk_"} {
		if bytes.HasPrefix(name, []byte(prefix)) {
			return true
		}
	}
	switch string(name) {
	case "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "srsltid", "_ga", "_gl", // Google
		"fbclid", "igsh", "igshid", // Meta
		"msclkid", "twclid", "ttclid", "li_fat_id", "rdt_cid", "epik", // other networks
		"yclid", "ysclid", "_openstat", // Yandex
		"mc_cid", "mc_eid", "mkt_tok", "vero_id", "oly_anon_id", "oly_enc_id", "wickedid", // mailings
		"_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking": // HubSpot
		return true
	}
	return false
}

// nameValue splits a parameter; the name is lower-cased, into b, and cut to
// the 24 bytes that suffice to know it.
func nameValue(b, parameter []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(parameter, []byte("="))
	for _, c := range name[:min(len(name), 24)] {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b = append(b, c)
	}
	return b, value
}

func isToken(s []byte) bool {
	for _, c := range s {
		if !isAlpha(c) && !isDigit(c) && c != '-' && c != '_' && c != ',' && c != '!' {
			return false
		}
	}
	return len(s) > 0
}

func isHex(s []byte) bool {
	for _, c := range s {
		if unhex(c) > 15 {
			return false
		}
	}
	return true
}
