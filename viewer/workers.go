package viewer

import (
	"net/http"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/viewer/figures"
)

// workerList is the crawl that several workers do, as the one of this folder heard of it last.
type workerList struct {
	At        *time.Time   `json:"at,omitempty"` // when that was; left out for a crawl that is done alone
	Running   bool         `json:"running"`      // this worker is: it will hear more
	Over      event.Ending `json:"over,omitempty"`
	OverWords string       `json:"over_words,omitempty"`
	Term      float64      `json:"term"`   // how long nothing is heard of a worker before it is lost, in seconds
	Shards    int          `json:"shards"` // there are
	Held      int          `json:"held"`   // of these by workers
	Pages     int          `json:"pages"`  // of all workers
	Relevant  int          `json:"relevant"`
	Speed     float64      `json:"speed"`          // pages a second
	Budget    int          `json:"budget"`         // pages; 0 = no limit
	Left      *int         `json:"left,omitempty"` // of the budget; left out without a limit
	Workers   []worker     `json:"workers"`
}

// worker is one of them.
type worker struct {
	Name       string       `json:"name"`
	Machine    string       `json:"machine"`
	Own        bool         `json:"own"`
	State      string       `json:"state"` // running, idle, waiting, paused, leaving, left, lost
	Ended      event.Ending `json:"ended,omitempty"`
	EndedWords string       `json:"ended_words,omitempty"`
	Heard      *time.Time   `json:"heard,omitempty"`
	Shards     int          `json:"shards"`
	Pages      int          `json:"pages"`
	Relevant   int          `json:"relevant"`
	Speed      float64      `json:"speed"`
	Waiting    int          `json:"waiting"`
	InFlight   int          `json:"in_flight"`
}

func (c *crawl) serveWorkers(*http.Request, *query) (any, error) {
	all := c.Workers()
	budget := 0
	c.With(func(f *figures.Crawl) { budget = f.Figures().Budget })
	list := listWorkers(all, budget)
	list.Running = c.Collection().Running()
	return list, nil
}

// listWorkers adds up what workers tell.
func listWorkers(all collection.Workers, budget int) workerList {
	list := workerList{Over: event.Ending(all.Over), OverWords: event.Ending(all.Over).Words(), Term: all.Term.Seconds(), Shards: all.Shards, Budget: budget, Workers: []worker{}}
	if !all.At.IsZero() {
		list.At = &all.At
	}
	for _, w := range all.Workers {
		one := worker{
			Name: w.Name, Machine: w.Machine, Own: w.Own, State: w.State, Ended: event.Ending(w.Ended), EndedWords: event.Ending(w.Ended).Words(), Shards: w.Shards,
			Pages: w.Pages, Relevant: w.Relevant, Speed: w.Speed, Waiting: w.Waiting, InFlight: w.InFlight,
		}
		if !w.Heard.IsZero() {
			one.Heard = &w.Heard
		}
		if w.State == "left" || w.State == "lost" {
			one.Speed, one.InFlight = 0, 0
		}
		list.Workers = append(list.Workers, one)
		list.Held, list.Pages, list.Relevant, list.Speed = list.Held+one.Shards, list.Pages+one.Pages, list.Relevant+one.Relevant, list.Speed+one.Speed
	}
	if budget > 0 {
		left := max(0, budget-list.Pages)
		list.Left = &left
	}
	return list
}
