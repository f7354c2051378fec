package main

import (
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
)

// viewState folds events into what the live view shows.
type viewState struct {
	event.Summary
	flow   flow
	trend  trend
	latest []event.Fetched // relevant pages, newest first, at most maxLatest
}

const maxLatest = 5

func (s *viewState) Add(e event.Event) {
	s.Summary.Add(e)
	switch e := e.(type) {
	case event.Started:
		s.flow = flow{}
	case event.Fetched:
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

// left guesses the time until the budget is spent; ok is false without a
// budget or without a speed.
func (s *viewState) left(now time.Time, rate float64) (d time.Duration, ok bool) {
	if s.Budget > 0 && rate > 0 {
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

// labelled is the width of the column of labels.
const labelled = 10

func label(s string) part { return part{text: pad(s, labelled), sgr: "2"} }

// row sets parts side by side in at most n cells, without spaces at the end.
func row(n int, p paint, parts ...part) string {
	var fit []part
	for _, part := range parts {
		if cells(part.text) > n {
			if !part.cut && len(fit) > 0 {
				break
			}
			part.text = clip(part.text, n)
		}
		n -= cells(part.text)
		fit = append(fit, part)
	}
	var b strings.Builder
	for i, part := range fit {
		if rest := fit[i+1:]; !slices.ContainsFunc(rest, visible) {
			part.text = strings.TrimRight(part.text, " ")
		}
		b.WriteString(p.style(part.sgr, part.text))
	}
	return b.String()
}

func visible(p part) bool { return strings.TrimRight(p.text, " ") != "" }

// Render draws the state at a moment as lines of fewer than width cells, fewer
// than height of them, ended by newlines. Rows that matter less go first when
// there is little room.
func (s *viewState) Render(now time.Time, width, height int, colour bool) string {
	n, p := max(1, width-1), paint(colour)
	running := s.Run(now)
	if s.How != "" {
		now = s.Last
		running = s.Run(now)
	}
	rate := s.flow.rate(now, running)
	var rows []string
	add := func(parts ...part) { rows = append(rows, row(n, p, parts...)) }

	clock := span(s.Elapsed(now))
	name := untrusted(s.Name, max(8, n-12-len(clock)))
	add(part{text: "waggle ", sgr: "1"}, part{text: name, cut: true},
		part{text: strings.Repeat(" ", max(2, n-7-cells(name)-len(clock))) + clock, sgr: "2"})

	pages := number(s.Pages) + " pages"
	if s.Budget > 0 {
		pages = number(s.Pages) + " of " + number(s.Budget) + " pages"
	}
	var rest string
	switch d, ok := s.left(now, rate); {
	case s.How != "":
		rest = "  " + ending(s.How)
	case ok:
		rest = "  " + span(d) + " left"
	}
	if share, ok := s.spent(now); ok && n >= 40 {
		wide := min(30, n-cells(pages)-cells(rest)-2)
		if wide >= 5 {
			add(part{text: bar(share, wide), sgr: "32"}, part{text: "  "}, part{text: pages, sgr: "1"}, part{text: rest})
		} else {
			add(part{text: pages, sgr: "1"}, part{text: rest})
		}
	} else {
		add(part{text: pages, sgr: "1"}, part{text: rest})
	}

	add(label("relevant"), part{text: number(s.Relevant), sgr: "32"},
		part{text: "   harvest " + percent(s.Harvest())},
		part{text: "   last " + number(event.Window) + " " + percent(s.RecentHarvest())},
		part{text: "   " + s.trend.spark(), sgr: "32"})
	add(label("speed"), part{text: speed(rate)},
		part{text: "   " + size(s.Bytes)},
		part{text: "   " + number(s.Frontier.Leased) + " in flight"})
	add(label("frontier"), part{text: number(s.Frontier.Queued) + " links"},
		part{text: "   hosts " + number(s.Frontier.Ready) + " ready"},
		part{text: ", " + number(s.Frontier.Waiting) + " waiting"})
	failed, outside := failures(&s.Summary)
	if len(failed) > 0 {
		add(label("failed"), part{text: reasons(failed, n-labelled)})
	}
	if outside > 0 {
		add(label("outside"), part{text: number(outside) + " links lead out of the record"})
	}
	if len(s.Skipped) > 0 {
		add(label("skipped"), part{text: reasons(s.Skipped, n-labelled)})
	}
	for i, f := range s.latest {
		head := ""
		if i == 0 {
			head = "latest"
		}
		const before = labelled + 6 // cells of label and relevance
		room := n - before
		if n >= 60 {
			room = room/2 - 1 // the other half is the address's
		}
		title := untrusted(f.Title, max(10, room))
		if title == "" {
			title = "(no title)"
		}
		add(label(head), part{text: percentShort(f.Relevance) + "  ", sgr: "32"}, part{text: title, cut: true},
			part{text: "  " + untrusted(f.URL.String(), n-before-cells(title)-2), sgr: "2", cut: n >= 60})
	}
	rows = rows[:min(len(rows), max(1, height-1))]
	return strings.Join(rows, "\n") + "\n"
}

// percentShort is a share in whole percents, four cells wide.
func percentShort(v float64) string {
	s := number(int(100*v+0.5)) + "%"
	return strings.Repeat(" ", max(0, 4-len(s))) + s
}

// spent is the share of the budget that is used up, of pages or of time,
// whichever is further; ok is false without a budget.
func (s *viewState) spent(now time.Time) (share float64, ok bool) {
	if s.Budget > 0 {
		share, ok = float64(s.Pages)/float64(s.Budget), true
	}
	if s.Limit > 0 {
		share, ok = max(share, float64(s.Elapsed(now))/float64(s.Limit)), true
	}
	return min(share, 1), ok
}

// bar draws a share in n cells, to an eighth of a cell.
func bar(share float64, n int) string {
	eighths := int(share * float64(8*n))
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[eighths%8])
	}
	return s + strings.Repeat("░", n-(eighths+7)/8)
}
