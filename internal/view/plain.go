package view

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
)

// plainView writes lines for a pipe or a file: one after every plainEvery of time
// or plainPages pages, and one at the end. Its time is that of the events, so equal
// events give equal lines.
type plainView struct {
	out   io.Writer
	err   error
	state viewState
	shown time.Time // time of the last line
	pages int       // pages at the last line
	began int       // pages when the run began

	paused  time.Time       // since when an act has the crawl stand still; zero = it does not
	doubted map[string]bool // doubts that were told, without their digits
}

const (
	plainEvery = 10 * time.Second
	plainPages = 100
)

func newPlain(out io.Writer) *plainView { return &plainView{out: out, doubted: map[string]bool{}} }

func (v *plainView) Add(e event.Event) {
	s := &v.state
	if o, ok := e.(event.Outage); ok {
		v.tell(o)
	}
	s.Add(e)
	if a, ok := e.(event.Act); ok {
		v.pause(a)
	}
	switch e := e.(type) {
	case event.HostDown:
		if s.Frontier.Hosts <= 1 && !e.Over { // nothing else is left to do
			v.print(silence(e, e.At.At))
		}
	case event.Started:
		v.shown, v.pages, v.began, v.paused = e.At.At, s.Pages, s.Pages, time.Time{}
	case event.Ended:
		v.shown, v.pages = s.Last.Add(-s.Run(s.Last)), v.began // the speed is that of the run
		v.print(v.line())
		v.print("ended: " + ending(&s.Summary, s.goesOn))
	case event.Doubt:
		for _, d := range e.Notes {
			// With other figures it is no news; the report has them.
			if same := strings.Map(withoutDigits, d); !v.doubted[same] {
				v.doubted[same] = true
				v.print("doubt: " + terminal.Untrusted(d, 400))
			}
		}
	default:
		if s.Pages-v.pages >= plainPages || e.Time().Sub(v.shown) >= plainEvery {
			v.print(v.line())
			v.shown, v.pages = e.Time(), s.Pages
		}
	}
}

func withoutDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// Recall takes in an event of an earlier run without a word.
func (v *plainView) Recall(e event.Event) { v.state.Add(e) }

// Control is none.
func (v *plainView) Control() *crawl.Control { return nil }

// forecast is what the next pages bring, "" as long as that cannot be told.
func forecast(f event.Forecast) string {
	if !f.Ready() {
		return ""
	}
	low, high := f.Interval(event.GainPages)
	return fmt.Sprintf("   next %d about %s (%d to %d)", event.GainPages, expected(f.Mean(event.GainPages)), low, high)
}

// expected shows a number of pages that are expected, cut and not rounded: what is shown
// of a crawl that ended as fewer than a number are expected (--until-gain) is less than
// that number too.
func expected(pages float64) string {
	if pages < 10 {
		return strconv.FormatFloat(math.Floor(10*pages)/10, 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Floor(pages), 'f', -1, 64)
}

// tell tells of an outage when it begins and when it is over.
func (v *plainView) tell(e event.Outage) {
	switch {
	case e.Over:
		v.print("the network is back after " + terminal.Span(e.At.At.Sub(e.Since)))
	case e.Probes == 0:
		said := "the network is " + outage{since: e.Since, next: e.Next, proxy: e.Proxy}.lasts(e.At.At)
		if e.Detail != "" {
			said += ": " + terminal.Untrusted(e.Detail, 200)
		}
		v.print(said)
	}
}

// pause tells that an act has the crawl stand still, and that one lets it go on.
func (v *plainView) pause(a event.Act) {
	switch held := v.state.Held(); {
	case held && v.paused.IsZero():
		v.paused = a.At.At
		v.print(fmt.Sprintf("paused by act %d: waggle steer DIR continue lets it go on", a.Number))
	case !held && !v.paused.IsZero():
		v.print(fmt.Sprintf("act %d lets the crawl go on after %s", a.Number, terminal.Span(a.At.At.Sub(v.paused))))
		v.paused = time.Time{}
	}
}

func (v *plainView) line() string {
	s := &v.state
	line := fmt.Sprintf("%8s  %s  %s relevant  harvest %s, %s %s", terminal.Span(s.Elapsed(s.Last)), terminal.Count(s.Pages, "page"),
		terminal.Number(s.Relevant), terminal.Percent(s.Harvest()), recent(&s.Summary), terminal.Percent(s.RecentHarvest()))
	if d := s.Last.Sub(v.shown); d > 0 && s.Pages > v.pages {
		line += "  " + terminal.Speed(float64(s.Pages-v.pages)/d.Seconds())
	}
	if f := s.Frontier; f.Hosts > 0 {
		line += fmt.Sprintf("  frontier %s  hosts %d ready%s, %d waiting%s", terminal.Number(s.queued()), f.Ready, better(s.Waits, f), f.Waiting-f.Down, down(f))
		if s.How == "" && f.Leased > 0 && f.Ready == 0 && f.Waiting == 0 {
			// A reader of documents, or a browser, that begins takes a while.
			line += fmt.Sprintf(", %s being fetched, read or rendered", terminal.Count(f.Leased, "page"))
		}
	}
	if n := s.Frontier.Muted; n > 0 {
		line += "  " + terminal.Count(n, "link") + " set aside by mutes"
	}
	return line + "  " + terminal.Size(s.Bytes)
}

func (v *plainView) print(line string) {
	if v.err == nil {
		_, v.err = fmt.Fprintln(v.out, line)
	}
}

func (v *plainView) Close() error {
	if errors.Is(v.err, syscall.EPIPE) {
		return nil // who read the lines has gone
	}
	return v.err
}
