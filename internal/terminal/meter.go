package terminal

import (
	"fmt"
	"os"
	"time"
)

// Meter shows how far a long work is, in place on a terminal and now and then
// elsewhere.
type Meter struct {
	out   *os.File
	live  bool
	shown time.Time
	began time.Time
	wide  int

	total int // of the work that goes on, where it is known
	from  int // how much of it was done when it began, at
	since time.Time
}

// NewMeter makes a meter of a work that begins now.
func NewMeter(out *os.File) *Meter {
	m := &Meter{out: out, live: Draws(out), began: time.Now()}
	if !m.live { // the only line of a short work would tell of its beginning
		m.shown = m.began
	}
	return m
}

// Show tells that done of a total (0 = unknown) are done, and what is being done;
// not more often than a person can read.
func (m *Meter) Show(done, total int, note string) {
	pause := 5 * time.Second
	if m.live {
		pause = 200 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(m.shown) < pause {
		return
	}
	m.shown = now
	line := m.line(now, done, total, note)
	if m.live {
		fmt.Fprintf(m.out, "\r%s", Pad(line, m.wide))
		m.wide = Cells(line)
		return
	}
	fmt.Fprintln(m.out, line)
}

// line is what to show at a time, on a terminal with a bar:
//
//	12s ████▌░░░░░░░░░░░░░░░ 23 of 100 (23%) 40s left NOTE
//
// What is left is guessed from what was done since the work began, of which
// some may have been there.
func (m *Meter) line(now time.Time, done, total int, note string) string {
	if total != m.total || done < m.from {
		m.total, m.from, m.since = total, done, now
	}
	line := Span(now.Sub(m.began)) + "  "
	if total <= 0 {
		return Untrusted(line+Number(done)+"  "+note, 100)
	}
	share := min(1, float64(done)/float64(total))
	if m.live {
		line += Bar(share, 20) + "  "
	}
	line += fmt.Sprintf("%s of %s (%.0f%%)", Number(done), Number(total), 100*share)
	if made := done - m.from; made > 0 && done < total {
		line += "  " + Span(time.Duration(float64(now.Sub(m.since))*float64(total-done)/float64(made))) + " left"
	}
	return Untrusted(line+"  "+note, 100)
}

// End takes the line off a terminal. The meter can go on after it.
func (m *Meter) End() {
	if m.live && m.wide > 0 {
		fmt.Fprintf(m.out, "\r%s\r", Pad("", m.wide))
	}
}
