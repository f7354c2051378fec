// Package notice tells a program or an address of the user's about a crawl: when its
// first relevant page has come, when half of the budget is spent, and when it ends.
//
//	events ─► Watch ─► Notice ─► Sender ─► program, address
//
// A crawl never waits for who is told, and does not fail because of it.
package notice

import (
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Moment is what a notice is about.
type Moment string

// The moments of a crawl.
const (
	FirstRelevant Moment = "first-relevant" // its first relevant page
	HalfBudget    Moment = "half-budget"    // of pages or of time, what comes first
	Ended         Moment = "ended"          // of each run
)

// Notice is what is told, as a line of JSON.
type Notice struct {
	Moment   Moment    `json:"moment"`
	Crawl    string    `json:"crawl"`  // its name
	Folder   string    `json:"folder"` // absolute
	At       time.Time `json:"at"`
	Pages    int       `json:"pages"` // fetched, over all runs
	Relevant int       `json:"relevant"`
	Elapsed  float64   `json:"elapsed_s"`              // over all runs, seconds
	Budget   int       `json:"budget_pages,omitempty"` // 0 = no limit
	Limit    float64   `json:"budget_s,omitempty"`     // seconds; 0 = no limit
	// Of FirstRelevant: the page. It comes from the web: trust neither.
	URL   web.URL `json:"url,omitzero"`
	Title string  `json:"title,omitempty"`
	// Of Ended: how the run ended.
	How   event.Ending `json:"how,omitempty"`
	Words string       `json:"how_words,omitempty"`
	Muted int          `json:"muted,omitempty"` // links that mutes set aside
}

// Watch finds the moments in the events of a crawl. The zero Watch is that of a crawl
// that has not begun.
type Watch struct {
	sum         event.Summary
	first, half bool // are over
}

// Add takes the next event, and returns the notices that it gives: moments that are
// over when a run begins are not told again, but for half of a budget that was raised.
func (w *Watch) Add(e event.Event) []Notice {
	w.sum.Add(e)
	var out []Notice
	n := Notice{
		Crawl: w.sum.Name, Pages: w.sum.Pages, Relevant: w.sum.Relevant,
		Budget: w.sum.Budget, Limit: w.sum.Limit.Seconds(),
	}
	var elapsed time.Duration
	if e != nil {
		elapsed = w.sum.Elapsed(e.Time())
		n.At, n.Elapsed = e.Time(), elapsed.Seconds()
	}
	tell := func(m Moment) {
		n.Moment = m
		out = append(out, n)
	}
	if _, begins := e.(event.Started); begins {
		w.half = w.halfSpent(elapsed)
	}
	if f, ok := e.(event.Fetched); ok && !w.first && w.sum.Relevant > 0 {
		w.first = true
		page := n
		page.Moment, page.URL, page.Title = FirstRelevant, f.URL, f.Title
		out = append(out, page)
	}
	if !w.half && w.halfSpent(elapsed) {
		w.half = true
		tell(HalfBudget)
	}
	if end, ok := e.(event.Ended); ok {
		n.How, n.Words, n.Muted = end.How, end.How.WithMuted(end.Frontier.Muted), end.Frontier.Muted
		tell(Ended)
	}
	return out
}

func (w *Watch) halfSpent(elapsed time.Duration) bool {
	return w.sum.Budget > 0 && !w.sum.Several && 2*w.sum.Pages >= w.sum.Budget || w.sum.Limit > 0 && 2*elapsed >= w.sum.Limit
}
