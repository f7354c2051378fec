package collection

import (
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Events are counted by the turns that they are of: a crawl that was killed has one turn
// behind its marks, however many events that turn has.
func TestTurnCount(t *testing.T) {
	at := func(s int) event.At { return event.At{At: time.Unix(int64(s), 0)} }
	for _, c := range []struct {
		name   string
		events []event.Event
		want   int
	}{
		{"none", nil, 0},
		{"a page", []event.Event{event.Fetched{At: at(1)}}, 1},
		{"two pages of one moment", []event.Event{event.Fetched{At: at(1)}, event.Fetched{At: at(1)}}, 2},
		{"a page that renews verdicts", []event.Event{event.Fetched{At: at(1)}, event.Rejudged{At: at(1)}}, 1},
		{"and another page", []event.Event{event.Fetched{At: at(1)}, event.Rejudged{At: at(1)}, event.Fetched{At: at(2)}}, 2},
		{"a page whose site was asked", []event.Event{event.Fetched{At: at(1)}, event.SiteFile{At: at(1)}}, 1},
		{"and that renews verdicts", []event.Event{event.Fetched{At: at(1)}, event.SiteFile{At: at(1)}, event.Rejudged{At: at(1)}}, 1},
		{"a page whose site was asked, and verdicts of another moment", []event.Event{event.Fetched{At: at(1)}, event.SiteFile{At: at(1)}, event.Rejudged{At: at(2)}}, 2},
		{"a failure whose site was asked, and another page", []event.Event{event.Failed{At: at(1)}, event.SiteFile{At: at(1)}, event.Fetched{At: at(1)}}, 2},
		{"a page, and verdicts of another moment", []event.Event{event.Fetched{At: at(1)}, event.Rejudged{At: at(2)}}, 2},
		{"a label that renews verdicts", []event.Event{event.Act{At: at(1)}, event.Rejudged{At: at(1)}}, 1},
		{"a page, then a label", []event.Event{event.Fetched{At: at(1)}, event.Act{At: at(1)}, event.Rejudged{At: at(1)}}, 2},
		{"judged anew in pieces, then the settings", []event.Event{event.Rejudged{At: at(1)}, event.Rejudged{At: at(1)}, event.Changed{At: at(1)}}, 1},
		{"links of several pages from others", []event.Event{event.Received{At: at(1)}, event.Received{At: at(1)}, event.Received{At: at(1)}}, 1},
		{"and what they teach", []event.Event{event.Rejudged{At: at(1)}, event.Received{At: at(1)}, event.Received{At: at(1)}}, 1},
		{"from others twice", []event.Event{event.Received{At: at(1)}, event.Received{At: at(2)}}, 2},
		{"a page, then links from others", []event.Event{event.Fetched{At: at(1)}, event.Received{At: at(1)}}, 2},
		{"what follows from a turn", []event.Event{event.Failed{At: at(1)}, event.Dropped{At: at(1), Reason: web.ReasonHostQueue}}, 1},
	} {
		var turns turnCount
		for _, e := range c.events {
			turns.add(e)
		}
		if turns.n != c.want {
			t.Errorf("%s: %d turns, want %d", c.name, turns.n, c.want)
		}
	}
}
