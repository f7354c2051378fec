package web_test

import (
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

func TestParseDate(t *testing.T) {
	for s, want := range map[string]web.Date{
		"2026":                            "2026",
		"2026-03":                         "2026-03",
		" 2026-03-01\n":                   "2026-03-01",
		"2026-03-01T12:00Z":               "2026-03-01T12:00:00Z",
		"2026-03-01T12:00:00+02:00":       "2026-03-01T10:00:00Z",
		"2026-03-01T12:00:00.25-05:00":    "2026-03-01T17:00:00Z",
		"2026-03-01T12:00:00+0000":        "2026-03-01T12:00:00Z",
		"2026-03-01T12:00:00":             "2026-03-01T12:00:00Z",
		"2026-03-01 12:00:00":             "2026-03-01T12:00:00Z",
		"Sun, 01 Mar 2026 12:00:00 GMT":   "2026-03-01T12:00:00Z",
		"Sun, 1 Mar 2026 12:00:00 +0130":  "2026-03-01T10:30:00Z",
		"1 Mar 26 12:00 EST":              "2026-03-01T17:00:00Z",
		"2999-12-31T23:59:59Z":            "2999-12-31T23:59:59Z", // who asks knows what is in the future
		"":                                "",
		"0000-00-00":                      "",
		"0000-00-00T00:00:00+00:00":       "",
		"1970-01-01T00:00:00+00:00":       "", // a date that a program does not have
		"2026-02-30":                      "",
		"2026-3-1":                        "",
		"20260301":                        "",
		"9999-12-31T23:59:59-10:00":       "", // a year of five digits in UTC
		"1767225600":                      "", // seconds since 1970
		"yesterday":                       "",
		"Sun, 01 Mar 2026 12:00:00 QQQ":   "",
		"Sun, 01 Mar 2026 12:00:00 +9900": "",
		"2026-03-01T12:00:00Z and so on":  "",
	} {
		if got, ok := web.ParseDate(s); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestDateSpan(t *testing.T) {
	for d, want := range map[web.Date][2]string{
		"2026":                 {"2026-01-01T00:00:00Z", "2026-12-31T23:59:59.999999999Z"},
		"2026-02":              {"2026-02-01T00:00:00Z", "2026-02-28T23:59:59.999999999Z"},
		"2026-03-01":           {"2026-03-01T00:00:00Z", "2026-03-01T23:59:59.999999999Z"},
		"2026-03-01T10:30:00Z": {"2026-03-01T10:30:00Z", "2026-03-01T10:30:00.999999999Z"},
		"":                     {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		"2026-03-01T10:30":     {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		"20260301":             {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
	} {
		from, to := d.Span()
		if got := [2]string{from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano)}; got != want {
			t.Errorf("%q: %v, want %v", d, got, want)
		}
	}
}

// What is read is in one of the four forms, reads as itself, and is of a year that a page can
// have changed in.
func FuzzParseDate(f *testing.F) {
	for _, s := range []string{
		"2026", "2026-03", "2026-03-01", "2026-03-01T12:00:00+02:00", "2026-03-01 12:00:00", "Sun, 01 Mar 2026 12:00:00 GMT",
		"1 Mar 26 12:00 EST", "0000-00-00", "9999-12-31T23:59:59-23:59", "1990-01-01T00:00:00+23:59", "+2026", "2026-03-01T24:00:00Z", ",,,,", "Sun, 29 Feb 2025 12:00:00 -0000",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := web.ParseDate(s)
		if ok != (d != "") {
			t.Fatalf("%q: %q, %v", s, d, ok)
		}
		if !ok {
			return
		}
		if again, ok := web.ParseDate(string(d)); again != d || !ok {
			t.Errorf("%q: %q reads as %q", s, d, again)
		}
		from, to := d.Span()
		if from.Year() < 1990 || from.Year() > 9999 || !to.After(from) {
			t.Errorf("%q: from %v to %v", s, from, to)
		}
	})
}
