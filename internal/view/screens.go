package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// Rows of a screen that one scrolls through.

// maxHosts bounds the hosts that are told of.
const maxHosts = 500

// scrolled are the rows from the top one on that fit into room, behind fixed ones
// that stay: where there are more, the last tells how many.
func (s *viewState) scrolled(rows []string, fixed, room, n int, p terminal.Paint) []string {
	room = max(room, 0)
	fixed = min(fixed, len(rows), room)
	out, rest := slices.Clone(rows[:fixed]), rows[fixed:]
	s.page = max(1, room-fixed-1)
	if len(rest) <= room-fixed {
		s.top = 0
		return append(out, rest...)
	}
	s.top = min(s.top, len(rest)-s.page)
	end := min(s.top+s.page, len(rest))
	out = append(out, rest[s.top:end]...)
	return append(out, row(n, p, part{text: fmt.Sprintf("%s–%s of %s, by the arrow keys", terminal.Number(s.top+1), terminal.Number(end), terminal.Number(len(rest))), sgr: "2", cut: true}))
}

// hostRows tell what each host waits for, those with the longest queues first.
func (s *viewState) hostRows(now time.Time, n int, p terminal.Paint) []string {
	const figures = 9 // cells of a column
	wait := min(34, n*2/5)
	narrow := n < 60
	name := n - 2*figures - wait - 2
	if narrow {
		name, wait = n-n/2-1, n/2-1
	}
	line := func(sgr, host, links, pages, waits string) string {
		if narrow {
			return row(n, p, part{text: terminal.Pad(host, name), sgr: sgr}, part{text: "  " + terminal.Clip(waits, wait), sgr: sgr, cut: true})
		}
		return row(n, p, part{text: terminal.Pad(host, name), sgr: sgr}, part{text: left(links, figures), sgr: sgr},
			part{text: left(pages, figures), sgr: sgr}, part{text: "  " + terminal.Clip(waits, wait), sgr: sgr, cut: true})
	}
	rows := []string{line("2", "host", "links", "pages", "waits for")}
	switch {
	case s.hosts == nil:
		return append(rows, row(n, p, part{text: "They are asked for.", cut: true}))
	case len(s.hosts) == 0:
		return append(rows, row(n, p, part{text: "No link waits for any host.", cut: true}))
	}
	for _, h := range s.hosts {
		rows = append(rows, line("", terminal.Untrusted(string(h.Host), name), terminal.Number(h.Queued), terminal.Number(h.Fetched), s.waits(h, now)))
	}
	return rows
}

// waits tells what a host waits for.
func (s *viewState) waits(h web.HostQueue, now time.Time) string {
	var text string
	switch due := h.Due.Sub(now); {
	case h.Busy:
		text = "its answer"
	case h.Down && due > 0:
		text = "down, tried again in " + terminal.Span(max(due, time.Second))
	case s.paused:
		text = "the end of the pause"
	case due > 0:
		text = terminal.Span(max(due, time.Second))
	default:
		text = "its turn"
	}
	if h.Sharing > 0 {
		text += fmt.Sprintf(", one of %s that wait for %s", terminal.Number(h.Sharing+1), h.Address)
	}
	if h.Slow > 0 {
		text += ", slow"
	}
	if h.Failures > 0 {
		text += fmt.Sprintf(", failed %s×", terminal.Number(h.Failures))
		if r := s.examples.lastOf(h.Host); r != "" {
			text += " (" + terminal.Untrusted(r.Brief(), 24) + ")"
		}
	}
	return text
}

// left sets a text to the right within n cells.
func left(s string, n int) string { return strings.Repeat(" ", max(0, n-terminal.Cells(s))) + s }

// failureRows tell why fetches and links came to nothing, with the last examples
// of each reason.
func (s *viewState) failureRows(n int, p terminal.Paint) (rows []string) {
	failed, _ := failures(&s.Summary)
	if o := s.Failures[web.ReasonRecord]; o > 0 {
		failed[web.ReasonRecord] = o
	}
	for _, g := range []struct {
		name string
		of   map[web.Reason]int
	}{{"failed", failed}, {"skipped", s.Skipped}, {"dropped", s.Dropped}} {
		name := g.name
		for _, c := range event.ByCount(g.of) {
			brief, means := terminal.Untrusted(c.Reason.Brief(), 24), terminal.Untrusted(c.Reason.Meaning(), n)
			if c.Reason == web.ReasonStatus && len(s.Statuses) > 0 {
				means = statuses(s.Statuses)
			}
			parts := []part{label(name, n), {text: terminal.Pad(brief, 25), sgr: "1"}, {text: left(terminal.Number(c.Count), 7)}}
			if n < labelled+25+7 {
				parts = []part{label(name, n), {text: brief, sgr: "1", cut: true}, {text: " " + terminal.Number(c.Count)}}
			}
			if n < roomy {
				parts = parts[1:]
			}
			if n >= 60 {
				parts = append(parts, part{text: "  " + means, sgr: "2", cut: true})
			}
			rows = append(rows, row(n, p, parts...))
			name = ""
			for _, x := range s.examples.of[exampleKey{g.name, c.Reason}] {
				text := terminal.Untrusted(x.address, max(10, n-indent(n)-2))
				rows = append(rows, row(n, p, label("", n), part{text: "  " + text, cut: true}, part{text: "  " + terminal.Untrusted(x.detail, n), sgr: "2", cut: true}))
			}
		}
	}
	if len(rows) == 0 {
		rows = append(rows, row(n, p, part{text: "Nothing has failed or been left out so far.", cut: true}))
	}
	return rows
}

// helpRows tell what the keys do and what the figures mean.
func helpRows(n int, p terminal.Paint, goesOn string) (rows []string) {
	for _, l := range [][2]string{
		{"p, space", "pause the crawl, or let it go on; what is being fetched comes in"},
		{"h", "the hosts with the longest queues, and what each waits for"},
		{"f", "why pages failed and links were left out, with examples"},
		{"q", "stop in good order, as Ctrl-C does; " + cmp.Or(goesOn, "--resume") + " goes on"},
		{"arrows", "scroll; Escape, or the same key again, goes back"},
		{"", ""},
		{"network", "shown while nothing answers, whatever the host: the crawl waits, tries again at longer and longer intervals, and gives nothing up"},
		{"harvest", "share of the pages that are relevant; also of the last " + terminal.Number(event.Window) + " pages, and along the crawl as bars"},
		{"in flight", "pages that are being fetched"},
		{"ready", "hosts that may be asked now; waiting: those whose delay is not over; down: those that do not answer, tried again at long intervals"},
		{"fetches", "what those that are under way wait for, and why there are not more"},
		{"failed", "fetches that brought no page, for good"},
		{"outside", "links that lead out of the recorded web"},
		{"skipped", "links that were not followed"},
		{"latest", "the relevant pages found last, with their relevance"},
	} {
		head := terminal.Pad(l[0], helpIndent)
		for _, line := range terminal.Wrap(l[1], n-helpIndent) {
			rows = append(rows, row(n, p, part{text: head, sgr: "1"}, part{text: line, cut: true}))
			head = terminal.Pad("", helpIndent)
		}
	}
	return rows
}

// helpIndent is the width of the first column of the help.
const helpIndent = 10

// examples keeps the last addresses of each reason for which something failed, was
// skipped or dropped, and why hosts failed last.
type examples struct {
	of    map[exampleKey][]instance
	hosts map[web.Host]web.Reason
}

type exampleKey struct {
	what   string // "failed", "skipped", "dropped"
	reason web.Reason
}

type instance struct{ address, detail string }

// Bounds of what is kept.
const (
	maxInstances = 3
	maxReasons   = 100
	maxFailing   = 10_000 // hosts
)

func (x *examples) add(e event.Event) {
	switch e := e.(type) {
	case event.Seeded:
		x.skipped(e.Skipped)
	case event.Fetched:
		delete(x.hosts, e.URL.Host())
		x.skipped(e.Skipped)
	case event.Failed:
		if e.Reason == web.ReasonRedirect || e.Reason == web.ReasonBusy {
			return
		}
		if x.hosts == nil {
			x.hosts = map[web.Host]web.Reason{}
		}
		if len(x.hosts) < maxFailing {
			x.hosts[e.URL.Host()] = e.Reason
		}
		if !e.Retry {
			x.keep(exampleKey{"failed", e.Reason}, e.URL, e.Detail)
		}
	case event.Dropped:
		for _, u := range e.URLs {
			x.keep(exampleKey{"dropped", e.Reason}, u, "")
		}
	}
}

func (x *examples) skipped(list []event.Skipped) {
	for _, k := range list {
		x.keep(exampleKey{"skipped", k.Reason}, k.URL, "")
	}
}

// keep puts an example first, and lets the oldest go.
func (x *examples) keep(k exampleKey, u web.URL, detail string) {
	if x.of == nil {
		x.of = map[exampleKey][]instance{}
	}
	list := x.of[k]
	if list == nil && len(x.of) == maxReasons {
		return
	}
	if len(list) < maxInstances {
		list = append(list, instance{})
	}
	copy(list[1:], list)
	list[0] = instance{u.String(), strings.TrimPrefix(detail, u.String()+": ")}
	x.of[k] = list
}

// lastOf is why a host failed last, "" if it has given a page since.
func (x *examples) lastOf(h web.Host) web.Reason { return x.hosts[h] }
