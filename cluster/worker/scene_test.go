package worker

import (
	"testing"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/web"
)

// What workers without a session told last does not count twice.
func TestSettledScene(t *testing.T) {
	seen := func(id string, live bool, pages, relevant, waiting int) Seen {
		return Seen{Live: live, Status: Status{
			Worker: id, Speed: 3, Standing: crawl.Standing{Pages: pages, Relevant: relevant, InFlight: 1}, Frontier: web.FrontierStats{Queued: waiting, Hosts: 2},
		}}
	}
	s := Scene{
		Workers: []Seen{seen("runs", true, 30, 9, 50), seen("left", false, 20, 5, 40), seen("lost", false, 10, 8, 40)},
		Losses:  []Loss{{Worker: "lost", Pages: 7}},
	}
	type row struct{ pages, relevant, waiting, hosts, underWay, speed int }
	rows := func(s Scene) (out [3]row) {
		for i, w := range s.Settled().Workers {
			out[i] = row{w.Standing.Pages, w.Standing.Relevant, w.Frontier.Queued, w.Frontier.Hosts, w.Standing.InFlight, int(w.Speed)}
		}
		return out
	}
	if got, want := rows(s), [3]row{{30, 9, 50, 2, 1, 3}, {pages: 20, relevant: 5}, {pages: 3, relevant: 3}}; got != want {
		t.Errorf("while one runs: %v, not %v", got, want)
	}
	if s.Workers[1].Frontier.Queued != 40 {
		t.Error("what it told is changed")
	}
	s.Workers[0].Live = false
	if got, want := rows(s), [3]row{{30, 9, 50, 2, 0, 0}, {20, 5, 40, 2, 0, 0}, {3, 3, 40, 2, 0, 0}}; got != want {
		t.Errorf("while none runs: %v, not %v", got, want)
	}
}
