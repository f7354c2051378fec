package web

import (
	"strconv"
	"strings"
	"time"
)

// Date is when something changed, as sitemaps and feeds tell it: a year (2006), a month
// (2006-01), a day (2006-01-02) or a second (2006-01-02T15:04:05Z), in UTC; "" is none.
type Date string

// dateForms are the forms of a Date, by their lengths.
var dateForms = map[int]string{4: "2006", 7: "2006-01", 10: time.DateOnly, 20: "2006-01-02T15:04:05Z"}

// firstYear is the first that a page of the web can have changed in: what is before is how
// programs write a date that they do not have.
const firstYear = 1990

// ParseDate reads a date as sitemaps, Atom and RSS write it; ok is false where it is none, or
// before 1990. A time without a zone counts as UTC.
//
// Source: W3C, Date and Time Formats (1997); RFC 3339; RFC 822 with years of four digits, as
// RSS 2.0 has it.
func ParseDate(s string) (d Date, ok bool) {
	if s = strings.TrimSpace(s); len(s) < 4 || len(s) > 64 {
		return "", false
	}
	form, known := dateForms[len(s)]
	if known && len(s) <= len(time.DateOnly) {
		if t, err := time.Parse(form, s); err == nil && t.Year() >= firstYear {
			return Date(s), true
		}
	}
	t, ok := parseMoment(s)
	if t = t.UTC(); !ok || t.Year() < firstYear || t.Year() > 9999 {
		return "", false
	}
	return Date(t.Format(dateForms[20])), true
}

func parseMoment(s string) (time.Time, bool) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime} {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	// [Mon, ]02 Jan 2006 15:04[:05] zone
	if day, rest, ok := strings.Cut(s, ","); ok && len(day) <= len("Wednesday") {
		s = strings.TrimSpace(rest)
	}
	f := strings.Fields(s)
	if len(f) != 5 {
		return time.Time{}, false
	}
	zone, ok := offsetOf(f[4])
	if !ok {
		return time.Time{}, false
	}
	s = strings.Join(f[:4], " ")
	for _, form := range []string{"2 Jan 2006 15:04:05", "2 Jan 2006 15:04", "2 Jan 06 15:04:05", "2 Jan 06 15:04"} {
		if t, err := time.Parse(form, s); err == nil {
			return t.Add(-zone), true
		}
	}
	return time.Time{}, false
}

// offsetOf is by how much a zone is ahead of UTC. Source: RFC 822, section 5.1.
func offsetOf(zone string) (time.Duration, bool) {
	switch zone {
	case "GMT", "UTC", "UT", "Z":
		return 0, true
	case "EDT":
		return -4 * time.Hour, true
	case "EST", "CDT":
		return -5 * time.Hour, true
	case "CST", "MDT":
		return -6 * time.Hour, true
	case "MST", "PDT":
		return -7 * time.Hour, true
	case "PST":
		return -8 * time.Hour, true
	}
	if len(zone) != 5 || zone[0] != '+' && zone[0] != '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(zone[1:], 10, 16)
	if err != nil || n/100 > 23 || n%100 > 59 {
		return 0, false
	}
	d := time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if zone[0] == '-' {
		d = -d
	}
	return d, true
}

// Span is the time within which the change was, from ≤ to; both are zero of what is no Date.
func (d Date) Span() (from, to time.Time) {
	from, err := time.Parse(dateForms[len(d)], string(d))
	if err != nil || from.Year() < firstYear {
		return time.Time{}, time.Time{}
	}
	switch len(d) {
	case 4:
		to = from.AddDate(1, 0, 0)
	case 7:
		to = from.AddDate(0, 1, 0)
	case 10:
		to = from.AddDate(0, 0, 1)
	default:
		to = from.Add(time.Second)
	}
	return from, to.Add(-time.Nanosecond)
}
