package view

import (
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// viewState folds events into what the live view shows, and knows what of it the
// person looks at.
type viewState struct {
	event.Summary
	goesOn   string // the flags that go on with the crawl; "" = --resume
	flow     flow
	trend    trend
	latest   []event.Fetched // relevant pages, newest first, at most maxLatest
	examples examples
	outage   outage
	silent   event.HostDown // told last, and nothing was fetched since

	keys     bool // there is a keyboard: tell what its keys do
	paused   bool
	stopping bool
	hosts    []web.HostQueue // as told last; nil = not yet
	activity *web.Activity   // as told last; nil = not yet
	screen   screen
	top      int // the first row shown of a screen that has more than fit
	page     int // rows of that screen that fit, when it was drawn last
}

const maxLatest = 5

// outage is a time in which nothing answers, whatever the host: the network is
// down. The zero outage is none.
type outage struct {
	since time.Time // of the first failure in it
	next  time.Time // when the network is tried again; zero = unknown
	hosts int       // that failed together
	proxy bool      // it is the proxy that is not reached
}

// Outage takes in that an outage began, was tried in vain or, if it is zero, is
// over.
func (s *viewState) Outage(o outage) { s.outage = o }

// lasts tells for how long an outage has lasted, and when it may end.
func (o outage) lasts(now time.Time) string {
	text := "down"
	if d := now.Sub(o.since); d >= time.Second {
		text += " for " + terminal.Span(d)
	}
	if o.proxy {
		text += ": the proxy is not reached"
	} else {
		text += ": nothing answers"
	}
	switch in := o.next.Sub(now); {
	case o.next.IsZero():
	case in < time.Second:
		text += ", tried again now"
	default:
		text += ", tried again in " + terminal.Span(in)
	}
	return text
}

// silence tells that a host does not answer.
func silence(d event.HostDown, now time.Time) string {
	text := terminal.Untrusted(string(d.Host), 60) + " does not answer (" + terminal.Untrusted(d.Reason.Brief(), 24) + ")"
	if in := d.Next.Sub(now); in >= time.Second {
		text += ", tried again in " + terminal.Span(in)
	}
	return text
}

func (s *viewState) Add(e event.Event) {
	s.Summary.Add(e)
	s.examples.add(e)
	switch e := e.(type) {
	case event.Started:
		s.flow = flow{}
		s.outage, s.silent = outage{}, event.HostDown{}
	case event.Outage:
		s.Outage(outage{since: e.Since, next: e.Next, hosts: e.Sites, proxy: e.Proxy})
		if e.Over {
			s.Outage(outage{})
		}
	case event.HostDown:
		if s.silent = e; e.Over {
			s.silent = event.HostDown{}
		}
	case event.Fetched:
		s.silent = event.HostDown{}
		s.flow.add(e.At.At)
		s.trend.add(e.Relevant && e.Reason == "")
		if e.Relevant && e.Reason == "" {
			// Only what is shown is kept, not the page's links.
			few := event.Fetched{Visit: event.Visit{URL: e.URL}, Title: e.Title, Relevance: e.Relevance}
			s.latest = append([]event.Fetched{few}, s.latest[:min(len(s.latest), maxLatest-1)]...)
		}
	}
}

// flow counts pages by the second, for the speed of late.
type flow struct {
	second [flowSpan + 1]int64 // the Unix second a counter stands for
	count  [flowSpan + 1]int
}

const flowSpan = 30 // seconds

func (f *flow) add(t time.Time) {
	i := t.Unix() % int64(len(f.second))
	if i < 0 {
		return
	}
	if f.second[i] != t.Unix() {
		f.second[i], f.count[i] = t.Unix(), 0
	}
	f.count[i]++
}

// rate is the pages per second over the last flowSpan whole seconds, or the
// running time if that is shorter.
func (f *flow) rate(now time.Time, running time.Duration) float64 {
	n, s := 0, now.Unix()
	for i, c := range f.count {
		if age := s - f.second[i]; age > 0 && age <= flowSpan || age == 0 && running < flowSpan*time.Second {
			n += c
		}
	}
	over := min(running.Seconds(), flowSpan)
	if over < 0.1 {
		return 0 // too short to tell
	}
	return float64(n) / over
}

// trend is the harvest along the whole crawl in at most maxTrend slices: when
// they are full, neighbours are merged and a slice counts twice the pages.
type trend struct {
	relevant []int // of each full slice
	per      int   // pages a slice; 0 before the first page
	pages, n int   // of the slice that fills
}

const maxTrend = 32

func (t *trend) add(relevant bool) {
	if t.per == 0 {
		t.per = 10
	}
	t.pages++
	if relevant {
		t.n++
	}
	if t.pages < t.per {
		return
	}
	t.relevant = append(t.relevant, t.n)
	t.pages, t.n = 0, 0
	if len(t.relevant) == maxTrend {
		for i := range maxTrend / 2 {
			t.relevant[i] = t.relevant[2*i] + t.relevant[2*i+1]
		}
		t.relevant = t.relevant[:maxTrend/2]
		t.per *= 2
	}
}

// spark draws the trend, scaled to its highest slice.
func (t *trend) spark() string {
	top := 0
	for _, n := range t.relevant {
		top = max(top, n)
	}
	var b strings.Builder
	for _, n := range t.relevant {
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[n*7/max(top, 1)])
	}
	return b.String()
}

// queued is how many links wait. Once the crawl has ended, those that were in flight are among them.
func (s *viewState) queued() int {
	if s.How != "" {
		return s.Frontier.Queued + s.Frontier.Leased
	}
	return s.Frontier.Queued
}

// left guesses the time until the budget is spent; ok is false without a
// budget or without a speed.
func (s *viewState) left(now time.Time, rate float64) (d time.Duration, ok bool) {
	if s.Budget > 0 && rate > 0 && !s.Several {
		seconds := float64(max(0, s.Budget-s.Pages)) / rate
		d, ok = time.Duration(min(seconds, 1e9)*float64(time.Second)), true
	}
	if s.Limit > 0 {
		if rest := max(0, s.Limit-s.Elapsed(now)); !ok || rest < d {
			d, ok = rest, true
		}
	}
	return d, ok
}

// part is a piece of a row. One that does not fit into the row is left out
// with all that follow, but for one that may be cut.
type part struct {
	text, sgr string
	cut       bool
}

// labelled is the width of the column of labels, where there is room for one;
// roomy is the width from which there is.
const (
	labelled = 10
	roomy    = 34
)

// label names a row of n cells.
func label(s string, n int) part {
	if n < roomy && s != "" {
		return part{text: s + " ", sgr: "2"}
	}
	return part{text: terminal.Pad(s, indent(n)), sgr: "2"}
}

// indent is where rows of n cells begin behind their labels.
func indent(n int) int {
	if n < roomy {
		return 0
	}
	return labelled
}

// row sets parts side by side in at most n cells, without spaces at the end.
func row(n int, p terminal.Paint, parts ...part) string {
	var fit []part
	for _, part := range parts {
		if terminal.Cells(part.text) > n {
			if !part.cut && len(fit) > 0 {
				break
			}
			part.text = terminal.Clip(part.text, n)
		}
		n -= terminal.Cells(part.text)
		fit = append(fit, part)
	}
	var b strings.Builder
	for i, part := range fit {
		if rest := fit[i+1:]; !slices.ContainsFunc(rest, visible) {
			part.text = strings.TrimRight(part.text, " ")
		}
		b.WriteString(p.Style(part.sgr, part.text))
	}
	return b.String()
}

func visible(p part) bool { return strings.TrimRight(p.text, " ") != "" }

// Render draws the state at a moment as lines of fewer than width cells, fewer
// than height of them, ended by newlines. Rows that matter less go first when
// there is little room; what a person scrolls through goes on below.
func (s *viewState) Render(now time.Time, width, height int, colour bool) string {
	n, p := max(1, width-1), terminal.Paint(colour)
	if s.How != "" {
		now = s.Last
	}
	room := max(1, height-1)
	rows := []string{s.headRow(now, n, p)}
	foot := ""
	if s.keys && room >= 6 {
		foot = s.footRow(n, p)
		room--
	}
	if s.screen != overview {
		rows = append(rows, s.stateRows(now, n, p)...)
	}
	rest := room - len(rows)
	switch s.screen {
	case hostsScreen:
		rows = append(rows, s.scrolled(s.hostRows(now, n, p), 1, rest, n, p)...)
	case failuresScreen:
		rows = append(rows, s.scrolled(s.failureRows(n, p), 0, rest, n, p)...)
	case helpScreen:
		rows = append(rows, s.scrolled(helpRows(n, p, s.goesOn), 0, rest, n, p)...)
	default:
		rows = append(rows, s.overviewRows(now, n, p)...)
	}
	rows = rows[:min(len(rows), room)]
	if foot != "" {
		rows = append(rows, foot)
	}
	return strings.Join(rows, "\n") + "\n"
}

// headRow names the crawl and tells its time.
func (s *viewState) headRow(now time.Time, n int, p terminal.Paint) string {
	clock, head := terminal.Span(s.Elapsed(now)), "waggle "
	if n < roomy {
		head = ""
	}
	name := terminal.Untrusted(s.Name, max(8, n-len(head)-len(clock)-2))
	return row(n, p, part{text: head, sgr: "1"}, part{text: name, cut: true},
		part{text: strings.Repeat(" ", max(2, n-len(head)-terminal.Cells(name)-len(clock))) + clock, sgr: "2"})
}

// footRow tells what the keys do, as many as there is room for.
func (s *viewState) footRow(n int, p terminal.Paint) string {
	does := []struct{ key, what string }{{"p", "pause"}, {"h", "hosts"}, {"f", "failures"}, {"?", "help"}, {"q", "quit"}}
	if s.paused {
		does[0].what = "go on"
	}
	open := map[screen]int{hostsScreen: 1, failuresScreen: 2, helpScreen: 3}
	if i, ok := open[s.screen]; ok {
		does[i].what = "back"
	}
	var full, bare []string
	for _, d := range does {
		full, bare = append(full, d.key+" "+d.what), append(bare, d.key)
	}
	some := slices.Concat(full[:1], bare[1:4], full[4:])
	for _, text := range []string{strings.Join(full, "   "), strings.Join(some, "   "), strings.Join(bare, "  ")} {
		if terminal.Cells(text) <= n {
			return row(n, p, part{text: text, sgr: "2"})
		}
	}
	return ""
}

// stateRows tell on a screen without the figures what holds the crawl up, if anything
// does.
func (s *viewState) stateRows(now time.Time, n int, p terminal.Paint) (rows []string) {
	if s.How != "" {
		return nil
	}
	if s.paused && !s.stopping {
		rows = append(rows, row(n, p, label("crawl", n), part{text: "paused: the key p lets it go on", sgr: "33", cut: true}))
	}
	if !s.outage.since.IsZero() {
		rows = append(rows, s.networkRow(now, n, p))
	}
	return rows
}

// networkRow tells of an outage.
func (s *viewState) networkRow(now time.Time, n int, p terminal.Paint) string {
	return row(n, p, label("network", n), part{text: s.outage.lasts(now), sgr: "33", cut: true})
}

// overviewRows are the figures of the crawl and its latest finds.
func (s *viewState) overviewRows(now time.Time, n int, p terminal.Paint) (rows []string) {
	rate := s.flow.rate(now, s.Run(now))
	add := func(parts ...part) { rows = append(rows, row(n, p, parts...)) }
	rows = append(rows, s.budgetRow(now, rate, n, p))
	for _, d := range s.Doubts {
		add(label("doubt", n), part{text: terminal.Untrusted(d, 400), sgr: "33", cut: true})
	}
	switch {
	case s.How != "":
	case !s.outage.since.IsZero():
		rows = append(rows, s.networkRow(now, n, p))
	case s.silent.Host != "" && s.Frontier.Hosts <= 1: // nothing else is left to do
		add(label("waiting", n), part{text: silence(s.silent, now), sgr: "33", cut: true})
	}
	add(label("relevant", n), part{text: terminal.Number(s.Relevant), sgr: "32", cut: true},
		part{text: "   harvest " + terminal.Percent(s.Harvest())},
		part{text: "   " + recent(&s.Summary) + " " + terminal.Percent(s.RecentHarvest())},
		part{text: "   " + s.trend.spark(), sgr: "32"},
		part{text: forecast(s.Forecast)})
	speed := []part{label("speed", n), {text: terminal.Speed(rate), cut: true}, {text: "   " + terminal.Size(s.Bytes)}}
	if s.How == "" {
		speed = append(speed, part{text: "   " + terminal.Number(s.Frontier.Leased) + " in flight"})
	}
	add(speed...)
	add(label("frontier", n), part{text: terminal.Count(s.queued(), "link"), cut: true},
		part{text: "   hosts " + terminal.Number(s.Frontier.Ready) + " ready" + better(s.Waits, s.Frontier)},
		part{text: ", " + terminal.Number(s.Frontier.Waiting-s.Frontier.Down) + " waiting"},
		part{text: down(s.Frontier)})
	if f := s.Frontier.Muted; f > 0 {
		add(label("muted", n), part{text: terminal.Count(f, "link") + " set aside by mutes", cut: true},
			part{text: ": waggle steer DIR undo N brings them back"})
	}
	if s.activity != nil && s.How == "" {
		add(append([]part{label("fetches", n)}, s.activityParts(now)...)...)
	}
	failed, outside := failures(&s.Summary)
	counts := func(name string, of map[web.Reason]int) {
		if len(of) > 0 {
			l := label(name, n)
			add(l, part{text: terminal.Reasons(of, n-terminal.Cells(l.text)), cut: true})
		}
	}
	counts("failed", failed)
	if outside > 0 {
		add(label("outside", n), part{text: terminal.Count(outside, "link") + " not in the record", cut: true})
	}
	counts("skipped", s.Skipped)
	for i, f := range s.latest {
		head := ""
		if i == 0 && n >= roomy {
			head = "latest"
		}
		before := indent(n) + 6 // cells of label and relevance
		room := n - before
		if n >= 60 {
			room = room/2 - 1 // the other half is the address's
		}
		title := terminal.Untrusted(f.Title, max(10, room))
		if title == "" {
			title = "(no title)"
		}
		add(label(head, n), part{text: percentShort(f.Relevance) + "  ", sgr: "32"}, part{text: title, cut: true},
			part{text: "  " + terminal.Untrusted(f.URL.String(), n-before-terminal.Cells(title)-2), sgr: "2", cut: n >= 60})
	}
	return rows
}

// mute is the time after which a crawl that has told nothing of what it does is held up, by its
// disk or from outside: it tells twice a second.
const mute = 5 * time.Second

// activityParts tell what the fetches wait for, the stages with most of them first, and why
// others are idle.
func (s *viewState) activityParts(now time.Time) (parts []part) {
	a := s.activity
	if past := now.Sub(a.At); past >= mute {
		return []part{{text: "no report for " + terminal.Span(past) + ": a slow disk, or suspended", sgr: "33", cut: true}}
	}
	add := func(text string) {
		if len(parts) > 0 {
			text = ", " + text
		}
		parts = append(parts, part{text: text, cut: len(parts) == 0})
	}
	idle := a.Fetches - a.Busy()
	why := func() {
		add(terminal.Number(idle) + " idle")
		if a.Idle != "" {
			parts = append(parts, part{text: ": " + terminal.Untrusted(a.Idle.Brief(), 60)})
		}
		if due := a.Due.Sub(now); a.Idle == web.IdleDue && due > 0 {
			parts = append(parts, part{text: " (the next in " + terminal.Span(max(due, time.Second)) + ")"})
		}
	}
	first := idle > a.Busy()
	if first {
		why()
	}
	for _, stage := range a.First(3) {
		add(terminal.Number(a.Stages[stage]) + " " + stage.Brief())
	}
	if idle > 0 && !first {
		why()
	}
	return parts
}

// better says why hosts which are ready are left alone, where they are: the better links
// are of hosts that are not due yet or, where none waits for that, of hosts that are
// being asked.
func better(waits bool, f web.FrontierStats) string {
	switch {
	case !waits:
		return ""
	case f.Waiting > f.Down:
		return " (left until better links are due)"
	}
	return " (left until better links have a turn: their hosts are being asked)"
}

// down tells how many hosts are down, and what waits for them; nothing if none is.
func down(f web.FrontierStats) string {
	if f.Down == 0 {
		return ""
	}
	return ", " + terminal.Number(f.Down) + " down with " + terminal.Count(f.Held, "link")
}

// budgetRow tells how far the crawl is, with a bar where there is room.
func (s *viewState) budgetRow(now time.Time, rate float64, n int, p terminal.Paint) string {
	pages := terminal.Count(s.Pages, "page")
	if s.Budget > 0 && !s.Several {
		pages = terminal.Number(s.Pages) + " of " + terminal.Count(s.Budget, "page")
	}
	rest := part{}
	switch d, ok := s.left(now, rate); {
	case s.How != "":
		rest.text = "  " + ending(&s.Summary, s.goesOn)
	case s.stopping:
		rest = part{text: "  stopping", sgr: "33"}
	case s.paused:
		rest = part{text: "  paused", sgr: "33"}
	case ok && s.outage.since.IsZero():
		rest.text = "  " + terminal.Span(d) + " left"
	}
	if share, ok := s.spent(now); ok && n >= 40 {
		// Room for the time that is left, whatever it is: else the bar would jump.
		if wide := n - terminal.Cells(pages) - max(12, terminal.Cells(rest.text)) - 2; wide >= 5 {
			return row(n, p, part{text: terminal.Bar(share, wide), sgr: "32"}, part{text: "  "}, part{text: pages, sgr: "1"}, rest)
		}
	}
	return row(n, p, part{text: pages, sgr: "1", cut: true}, rest)
}

// percentShort is a share in whole percents, four cells wide.
func percentShort(v float64) string {
	s := terminal.Number(int(100*v+0.5)) + "%"
	return strings.Repeat(" ", max(0, 4-len(s))) + s
}

// spent is the share of the budget that is used up, of pages or of time,
// whichever is further; ok is false without a budget.
func (s *viewState) spent(now time.Time) (share float64, ok bool) {
	if s.Budget > 0 && !s.Several {
		share, ok = float64(s.Pages)/float64(s.Budget), true
	}
	if s.Limit > 0 {
		share, ok = max(share, float64(s.Elapsed(now))/float64(s.Limit)), true
	}
	return min(share, 1), ok
}
