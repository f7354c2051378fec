package crawl

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// What a log tells of a crawl is what the crawl would have stored: the time without that of
// outages, the pages that are relevant by what was said of them last, and a forecast of what is
// wanted now.
func TestRetrace(t *testing.T) {
	at := func(minutes int) event.At { return event.At{At: epoch.Add(time.Duration(minutes) * time.Minute)} }
	page := func(i int) web.URL {
		u, err := web.Parse(fmt.Sprintf("http://a.example/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	fetched := func(i, minutes int, relevant bool) event.Event {
		return event.Fetched{At: at(minutes), Visit: event.Visit{URL: page(i)}, Status: 200, Relevant: relevant}
	}
	begun := []event.Event{event.Started{At: at(0)}, fetched(1, 1, true), fetched(2, 2, true)}
	keywords := func(a event.Act) event.Event {
		a.At, a.Number, a.Do, a.Keywords, a.KeywordsBefore = at(2), 1, event.Keywords, []string{"honey"}, []string{"bees"}
		return a
	}
	undo := event.Act{At: at(3), Number: 2, Do: event.Undo, Act: 1}
	rejudged := func(judge string) event.Event {
		return event.Rejudged{At: at(3), Judge: judge, Pages: []event.Verdict{{URL: page(1), Was: true}}}
	}
	forecast := func(relevant ...bool) (f event.Forecast) {
		for _, r := range relevant {
			f.Add(r)
		}
		return f
	}
	for _, c := range []struct {
		name   string
		stored progress // without pages: nothing is stored
		log    []event.Event
		want   progress
	}{
		{"pages", progress{}, nil, progress{Pages: 2, Relevant: 2, Spent: 2 * time.Minute, Forecast: forecast(true, true)}},
		{"an outage", progress{}, []event.Event{
			event.Outage{At: at(4), Since: at(3).At}, event.Outage{At: at(63), Since: at(3).At, Over: true}, fetched(3, 65, false),
		}, progress{Pages: 3, Relevant: 2, Spent: 5 * time.Minute, Forecast: forecast(true, true, false)}},
		{"other keywords", progress{}, []event.Event{keywords(event.Act{}), fetched(3, 3, false)},
			progress{Pages: 3, Relevant: 2, Spent: 3 * time.Minute, Forecast: forecast(false)}},
		{"other keywords, undone", progress{}, []event.Event{keywords(event.Act{}), fetched(3, 3, false), undo},
			progress{Pages: 3, Relevant: 2, Spent: 3 * time.Minute}},
		{"other keywords, refused", progress{}, []event.Event{keywords(event.Act{Refused: "no"}), fetched(3, 3, false)},
			progress{Pages: 3, Relevant: 2, Spent: 3 * time.Minute, Forecast: forecast(true, true, false)}},
		{"judged anew by another judge", progress{}, []event.Event{rejudged("bm25f")}, // between two runs
			progress{Pages: 2, Relevant: 1, Spent: 2 * time.Minute, Forecast: forecast(false, true)}},
		{"judged anew meanwhile", progress{}, []event.Event{rejudged("")},
			progress{Pages: 2, Relevant: 1, Spent: 3 * time.Minute, Forecast: forecast(true, true)}},
		{"judged anew since it was stored", progress{Pages: 2, Relevant: 2}, []event.Event{rejudged("")},
			progress{Pages: 2, Relevant: 1, Spent: 3 * time.Minute, Forecast: forecast(true, true)}},
		{"more was stored than is in the log", progress{Pages: 9, Relevant: 4, Spent: time.Hour}, nil,
			progress{Pages: 9, Relevant: 4, Spent: time.Hour, Forecast: forecast(true, true)}},
	} {
		r, err := NewRetrace(func(name string) ([]byte, error) {
			if name != stateCrawl || c.stored.Pages == 0 {
				return nil, nil
			}
			return json.Marshal(c.stored)
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range append(begun[:len(begun):len(begun)], c.log...) {
			r.Add(e, false)
		}
		var got progress
		if err := json.Unmarshal(r.States()[stateCrawl], &got); err != nil {
			t.Fatal(err)
		}
		near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
		if got.Pages != c.want.Pages || got.Relevant != c.want.Relevant || got.Spent != c.want.Spent ||
			!near(got.Forecast.Pages, c.want.Forecast.Pages) || !near(got.Forecast.Relevant, c.want.Forecast.Relevant) {
			t.Errorf("%s: %d pages, %d relevant, %v, forecast %+v; want %+v", c.name, got.Pages, got.Relevant, got.Spent, got.Forecast, c.want)
		}
	}
}
