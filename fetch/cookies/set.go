package cookies

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// set is what a response or a script sets: a cookie whose Domain is "" for the host of who sets it alone, and whose
// Path need not be one.
type set struct {
	Cookie
	age time.Duration // by Max-Age; 0 = not told, below 0 = it ends now
}

// parseSet reads a line of Set-Cookie as browsers do; ok is false for one that sets nothing. A name or a value may have
// quotes, brackets and letters beyond ASCII, which the standard asks servers not to send.
//
// Source: RFC 6265bis, section 5.6.
func parseSet(line string) (s set, ok bool) {
	for _, c := range []byte(line) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return s, false
		}
	}
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, named := strings.Cut(pair, "=")
	if !named {
		name, value = "", pair
	}
	s.Name, s.Value = trim(name), trim(value)
	for one := range strings.SplitSeq(attributes, ";") {
		name, value, _ := strings.Cut(one, "=")
		if value = trim(value); len(value) > maxAttribute {
			continue
		}
		switch strings.ToLower(trim(name)) {
		case "expires":
			if at, ok := parseDate(value); ok {
				s.Expires = at
			}
		case "max-age":
			seconds, err := strconv.ParseInt(value, 10, 64)
			switch {
			case err != nil && seconds == 0 || value[0] == '+': // one that is out of range is the largest, or the smallest
			case seconds <= 0:
				s.age = -1
			default:
				s.age = time.Duration(min(seconds, int64(maxAge/time.Second))) * time.Second
			}
		case "domain":
			s.Domain = strings.ToLower(strings.TrimPrefix(value, "."))
		case "path":
			s.Path = value
		case "secure":
			s.Secure = true
		case "httponly":
			s.HTTPOnly = true
		}
	}
	return s, s.Name != "" || s.Value != ""
}

func trim(s string) string { return strings.Trim(s, " \t") }

// Parts of a date. They are found in this order, each in the first word that begins as it does.
var (
	ofTime  = regexp.MustCompile(`^(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D|$)`)
	ofDay   = regexp.MustCompile(`^(\d{1,2})(?:\D|$)`)
	ofMonth = regexp.MustCompile(`^(?i)(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`)
	ofYear  = regexp.MustCompile(`^(\d{2,4})(?:\D|$)`)
)

// parseDate reads the date of an Expires, in whatever form; ok is false for none.
//
// Source: RFC 6265bis, section 5.1.1.
func parseDate(s string) (at time.Time, ok bool) {
	var parts [4][]string // the words of time, day, month and year
	for word := range strings.FieldsFuncSeq(s, betweenParts) {
		for i, part := range []*regexp.Regexp{ofTime, ofDay, ofMonth, ofYear} {
			if found := part.FindStringSubmatch(word); parts[i] == nil && found != nil {
				parts[i] = found[1:]
				break
			}
		}
	}
	for _, found := range parts {
		if found == nil {
			return at, false
		}
	}
	number := func(digits string) int {
		n, _ := strconv.Atoi(digits)
		return n
	}
	hour, minute, second := number(parts[0][0]), number(parts[0][1]), number(parts[0][2])
	day, year := number(parts[1][0]), number(parts[3][0])
	month := time.Month(strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(parts[2][0]))/3 + 1)
	switch {
	case 70 <= year && year <= 99:
		year += 1900
	case year < 70:
		year += 2000
	}
	at = time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	return at, year >= 1601 && hour < 24 && minute < 60 && second < 60 && at.Day() == day // there is such a day
}

// betweenParts tells what stands between the words of a date.
func betweenParts(r rune) bool {
	return r == '\t' || ' ' <= r && r <= '/' || ';' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
}
