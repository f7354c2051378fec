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
	outage := []event.Event{event.Outage{At: at(4), Since: at(3).At}, event.Outage{At: at(63), Since: at(3).At, Probes: 60}, event.Ended{At: at(64)}}
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
		{"an outage that is not over", progress{}, outage, progress{Pages: 2, Relevant: 2, Spent: 3 * time.Minute, Forecast: forecast(true, true)}},
		{"an outage that its run did not outlast", progress{}, append(outage[:len(outage):len(outage)], event.Started{At: at(70)}, fetched(3, 71, false)),
			progress{Pages: 3, Relevant: 2, Spent: 4 * time.Minute, Forecast: forecast(true, true, false)}},
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

// A known page that is a new page elsewhere now is no seed that is to come: neither it nor where it
// moved to.
func TestRetraceOfAKnownPageThatMoved(t *testing.T) {
	old, to := addressOf(t, "a.example/old"), addressOf(t, "a.example/new")
	moved := event.Failed{Visit: event.Visit{URL: old, Link: web.LinkAgain, Priority: SeedPriority}, Reason: web.ReasonRedirect, To: to, Queued: true}
	r, err := NewRetrace(func(string) ([]byte, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	want := []int{2, 1, 1}
	for i, e := range []event.Event{
		event.Seeded{Queued: []event.Found{{URL: old, Priority: SeedPriority}, {URL: addressOf(t, "a.example/other"), Priority: SeedPriority}}},
		moved,
		event.Dropped{Reason: web.ReasonHostQueue, Count: 1, URLs: []web.URL{to}},
	} {
		if r.Add(e, false); r.step.count.Seeds != want[i] {
			t.Errorf("after %s %d seeds are to come, not %d", e.Kind(), r.step.count.Seeds, want[i])
		}
	}
}
