// Package terminal makes texts and figures fit for a terminal: what comes from a
// page is stripped of all that could act there, cut to cells, and figures have
// their units. A Meter tells how far a long work is.
package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Untrusted makes text from a page fit for a terminal, in at most n cells.
func Untrusted(s string, n int) string { return Clip(event.Line(s), n) }

// Cells is the number of terminal cells s takes. s is as event.Line gives it.
func Cells(s string) (n int) {
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Clip cuts s to at most n cells and marks the cut with an ellipsis.
func Clip(s string, n int) string {
	if n <= 0 {
		return ""
	}
	used, end := 0, 0 // end: where to cut so that the ellipsis still fits
	for i, r := range s {
		c := runeCells(r)
		if used+c > n {
			return s[:end] + "…"
		}
		used += c
		if used <= n-1 {
			end = i + len(string(r))
		}
	}
	return s
}

// Pad fills s with spaces to n cells.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Cells(s))) }

// Number groups thousands: 12,345.
func Number[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Percent shows a share with one decimal: 44.2%.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + "%" }

// Size shows bytes with three digits or more: 23.1 MB.
func Size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/1000, 0
	for v >= 999.95 && unit < 4 {
		v /= 1000
		unit++
	}
	return fmt.Sprintf("%.1f %cB", v, "kMGTP"[unit])
}

// Span shows a duration in its two largest units: 45s, 1m23s, 2h05m, 3d04h.
func Span(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s%86400/3600)
}

// Speed shows pages per second.
func Speed(perSecond float64) string {
	if perSecond < 9.995 {
		return fmt.Sprintf("%.2f pages/s", perSecond)
	}
	return fmt.Sprintf("%.1f pages/s", perSecond)
}

// Priority shows a priority; that of a seed is beyond any a scorer gives.
func Priority(v float64) string {
	switch {
	case v >= 1e30:
		return "the top"
	case v <= -5e11: // a shape of addresses that may be a trap
		return "the bottom"
	}
	return Decimal(v)
}

// Decimal shows a relevance with up to four decimals.
func Decimal(v float64) string {
	s := strconv.FormatFloat(v, 'f', 4, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "0" || s == "-0" || len(s) > 12 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return s
}

// Apart shows two relevances as Decimal does, with as many more decimals as tell which is greater.
func Apart(a, b float64) (string, string) {
	one, other := Decimal(a), Decimal(b)
	for digits := 5; a != b && one == other && digits <= 17; digits++ {
		one, other = strconv.FormatFloat(a, 'f', digits, 64), strconv.FormatFloat(b, 'f', digits, 64)
	}
	return one, other
}

// Reasons lists counts, largest first, in at most n cells; what has no room is
// summed up as "others".
func Reasons(counts map[web.Reason]int, n int) string {
	all := event.ByCount(counts)
	rest := 0
	for _, c := range all {
		rest += c.Count
	}
	var out string
	for i, c := range all {
		next := Untrusted(c.Reason.Brief(), 24) + " " + Number(c.Count)
		if i > 0 {
			next = " · " + next
		}
		tail := 0 // room for what follows, if it must be summed up
		if rest -= c.Count; rest > 0 {
			tail = Cells(" · others " + Number(rest))
		}
		if Cells(out)+Cells(next)+tail > n {
			if rest += c.Count; i > 0 {
				out += " · "
			}
			return Clip(out+"others "+Number(rest), n)
		}
		out += next
	}
	return out
}

// WorkerEnding says how a worker of several, or their crawl, ended, for people: without the
// commands that Ending names, which are for a crawl of one.
func WorkerEnding(how event.Ending) string {
	switch how {
	case event.Stopped:
		return "stopped"
	case event.HostsDown:
		return how.Words()
	}
	return Ending(how)
}

// Ending says how a crawl ended, for people.
func Ending(how event.Ending) string {
	switch how {
	case event.BudgetSpent, event.FrontierEmpty:
		return how.Words()
	case event.GainLow:
		return how.Words() + " (--until-gain)"
	case event.Stopped:
		return "stopped; --resume goes on"
	case event.HostsDown:
		return how.Words() + "; --resume tries them"
	case "":
		return "not ended: killed, or still running"
	}
	return Untrusted(string(how), 40)
}

// Paint sets text in an SGR style ("1" bold, "2" dim, "32" green, "" none), if
// colour is wanted.
type Paint bool

// Style is s in the style sgr.
func (p Paint) Style(sgr, s string) string {
	if !p || s == "" || sgr == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// Wrap breaks a text at its spaces into lines of n cells, where its words fit.
func Wrap(text string, n int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && Cells(line)+1+Cells(word) > n {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// Moment shows a time to the minute.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Count is "1 page" or "2 pages".
func Count(n int, of string) string {
	many := of + "s"
	if strings.HasSuffix(of, "s") {
		many = of + "es"
	}
	return Number(n) + " " + One(n, of, many)
}

// One is a word for one thing, or that for several or none.
func One(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Bar draws a share in n cells, to an eighth of a cell.
func Bar(share float64, n int) string {
	eighths := int(share * float64(8*n))
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[eighths%8])
	}
	return s + strings.Repeat("░", n-(eighths+7)/8)
}
