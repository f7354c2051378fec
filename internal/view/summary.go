package view

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// recent names the pages of Summary.RecentHarvest.
func recent(s *event.Summary) string {
	return fmt.Sprintf("last %d", min(event.Window, s.Pages))
}

// WriteSummary writes the report at the end of a crawl; goesOn is as for New.
func WriteSummary(w io.Writer, s *event.Summary, goesOn string) error {
	out := bufio.NewWriter(w)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-12s %s\n", name, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
	elapsed := s.Elapsed(s.Last)
	line("ended", "%s", ending(s, goesOn))
	line("scorer", "%s", terminal.Untrusted(s.Scorer, 60))
	line("judge", "%s, relevant from %s", terminal.Untrusted(s.Judge, 60), terminal.Decimal(s.Threshold))
	for _, d := range s.Doubts {
		line("doubt", "%s", terminal.Untrusted(d, 400))
	}
	pages := terminal.Number(s.Pages)
	if s.Budget > 0 {
		pages += budgetOf(s)
	}
	line("pages", "%s%s", pages, of(s.NotKept))
	if len(s.Cut) > 0 {
		line("cut short", "%s", cutShort(s.Cut))
	}
	if s.InPart > 0 {
		line("read in part", "%s, as they are damaged or larger than a reader takes", terminal.Count(s.InPart, "page"))
	}
	if s.Rendered > 0 {
		line("rendered", "%s%s", terminal.Number(s.Rendered), of(s.RenderEnded))
	}
	line("relevant", "%s", terminal.Number(s.Relevant))
	line("harvest", "%s   %s: %s", terminal.Percent(s.Harvest()), recent(s), terminal.Percent(s.RecentHarvest()))
	if f := s.Forecast; f.Ready() && s.Frontier.Queued > 0 {
		low, high := f.Interval(event.GainPages)
		by := ""
		if s.How == event.GainLow && s.Renewed {
			by = "; --until-gain went by the verdicts with which the pages came"
		}
		line(fmt.Sprintf("next %d", event.GainPages), "about %s relevant, %d to %d in nine crawls of ten%s", expected(f.Mean(event.GainPages)), low, high, by)
		if n := f.Least(); n > 0 {
			line("in reach", "at least %s more relevant, in nineteen crawls of twenty", terminal.Number(n))
		}
	}
	line("hosts", "%s", terminal.Number(s.Hosts()))
	line("received", "%s in %s", terminal.Size(s.Bytes), terminal.Count(s.Requests, "request"))
	run := terminal.Span(elapsed)
	if s.Runs > 1 {
		run += fmt.Sprintf(" in %d runs", s.Runs)
	}
	if sec := elapsed.Seconds(); sec > 0 {
		run += "   " + terminal.Speed(float64(s.Pages)/sec)
	}
	line("time", "%s", run)
	line("links", "%s queued, %s still wait, %s seen on pages", terminal.Number(s.Queued), terminal.Number(s.Frontier.Queued+s.Frontier.Leased), terminal.Number(s.Links))
	if n := s.Frontier.Muted; n > 0 {
		line("muted", "%s set aside by mutes; they come back once these are undone (waggle steer)", terminal.Count(n, "link"))
	}
	if s.Frontier.Held > 0 {
		line("waiting", "%s", Waiting(s))
		for _, d := range s.Down(5) {
			line("", "  %s: %s (%s tries since %s)", terminal.Untrusted(string(d.Host), 60), terminal.Untrusted(d.Reason.Meaning(), 100),
				terminal.Number(d.Failures), terminal.Moment(d.Since))
		}
	}
	if s.Outages > 0 {
		line("outages", "%s, %s in all, in which nothing answered; no page or host was given up for them", terminal.Number(s.Outages), terminal.Span(s.Silence))
	}
	switch followed := terminal.Number(s.Redirect) + " followed"; {
	case s.Known > 0:
		line("redirects", "%s, %s to addresses that were seen before", followed, terminal.Number(s.Known))
	case s.Redirect > 0:
		line("redirects", "%s", followed)
	}
	if s.Retries > 0 {
		line("retries", "%s", terminal.Number(s.Retries))
	}
	if s.Busy > 0 {
		line("put back", "%s, as others were being asked at the same address, or a server wished to be left alone", terminal.Count(s.Busy, "time"))
	}
	table := func(name string, counts map[web.Reason]int) {
		for _, c := range event.ByCount(counts) {
			means := c.Reason.Meaning()
			if c.Reason == web.ReasonStatus && len(s.Statuses) > 0 {
				means += ": " + statuses(s.Statuses)
			}
			line(name, "%9s  %s", terminal.Number(c.Count), terminal.Untrusted(means, 100))
			name = ""
		}
	}
	failed, outside := failures(s)
	if outside > 0 {
		line("not recorded", "%s out of the recorded web", terminal.Count(outside, "link"))
	}
	table("failed", failed)
	if n := s.Logins(); n > 0 {
		line("logins", "%9s  %s", terminal.Number(n), event.LoginsHelp)
	}
	table("skipped", s.Skipped)
	table("dropped", s.Dropped)
	if s.Omitted > 0 {
		line("", "%9s  links of pages with too many are listed nowhere", terminal.Number(s.Omitted))
	}
	name := "best hosts"
	for _, h := range s.TopHosts(5) {
		if h.Relevant == 0 {
			break
		}
		line(name, "%9s  of %s on %s", terminal.Number(h.Relevant), terminal.Count(h.Pages, "page"), terminal.Untrusted(string(h.Host), 60))
		name = ""
	}
	return out.Flush()
}

// cutShort tells how many pages are not whole, and why.
func cutShort(counts map[string]int) string {
	n := 0
	var why []string
	for _, cut := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		n += counts[cut]
		why = append(why, terminal.Untrusted(web.CutMeaning(cut), 40)+" ("+terminal.Number(counts[cut])+")")
	}
	return terminal.Count(n, "page") + " judged and kept without the end: " + strings.Join(why, ", ")
}

// Waiting tells how many links wait for hosts that do not answer, and until when.
func Waiting(s *event.Summary) string {
	of := terminal.Count(s.Frontier.Down, "host")
	if d := s.Down(1); s.Frontier.Down == 1 && len(d) > 0 {
		of = terminal.Untrusted(string(d[0].Host), 60)
	}
	out := terminal.Count(s.Frontier.Held, "link") + " of " + of
	if !s.Until.IsZero() {
		out += " wait until " + terminal.Moment(s.Until)
	}
	return out
}

// failures are those of a summary without the addresses that a recorded web does
// not hold, and how many these are: no site failed there.
func failures(s *event.Summary) (failed map[web.Reason]int, outside int) {
	failed = maps.Clone(s.Failures)
	delete(failed, web.ReasonRecord)
	return failed, s.Failures[web.ReasonRecord]
}

// statuses lists the commonest HTTP statuses with their counts.
func statuses(counts map[int]int) string {
	codes := slices.SortedFunc(maps.Keys(counts), func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, code := range codes[:min(len(codes), 5)] {
		parts = append(parts, fmt.Sprintf("%d × %s", code, terminal.Number(counts[code])))
	}
	return "HTTP " + strings.Join(parts, ", ")
}

// of lists counts in brackets, nothing if there are none.
func of(counts map[web.Reason]int) string {
	if len(counts) == 0 {
		return ""
	}
	return " (" + terminal.Reasons(counts, math.MaxInt) + ")"
}

// WhyDown names why the host that is down the longest is, in brackets, with what helps; "" where
// none is.
func WhyDown(s *event.Summary) string {
	down := s.Down(1)
	if len(down) == 0 {
		return ""
	}
	text := terminal.Untrusted(down[0].Reason.Meaning(), 100)
	if down[0].Reason == web.ReasonTLS {
		text += ": " + ownAuthority
	}
	return " (" + text + ")"
}

// ownAuthority is how an authority that the system does not know is trusted.
const ownAuthority = "an authority of your own is trusted with SSL_CERT_FILE=FILE"

// Why names the commonest reason for which nothing was fetched, as the end of a
// sentence, and the flag that helps; "" if nothing failed. private says whether private
// addresses are permitted.
func Why(s *event.Summary, private bool) string {
	for _, counts := range []map[web.Reason]int{s.Failures, s.Skipped} {
		by := event.ByCount(counts)
		if len(by) == 0 {
			continue
		}
		text := ": " + terminal.Untrusted(by[0].Reason.Meaning(), 100)
		if n := by[0].Count; n > 1 {
			text += fmt.Sprintf(" (%s times)", terminal.Number(n))
		}
		switch {
		case by[0].Reason == web.ReasonAddress && !private:
			text += "; --allow-private permits it"
		case by[0].Reason == web.ReasonAddress:
			text += "; link-local addresses and those of metadata services stay closed"
		case by[0].Reason == web.ReasonTLS:
			text += "; " + ownAuthority
		case by[0].Reason == web.ReasonContact:
			text += "; give --contact"
		}
		return text
	}
	return ""
}

// budgetOf is the budget of pages behind the number of those that were fetched. That of several workers
// is spent by all of them, and how much the others have spent is not told here.
func budgetOf(s *event.Summary) string {
	if s.Several {
		return " by this worker, of a budget of " + terminal.Number(s.Budget) + " for all workers"
	}
	return " of " + terminal.Number(s.Budget)
}
