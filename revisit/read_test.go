package revisit

import (
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// What a list tells of pages of other registrable domains teaches nothing of their hosts, and makes
// none of them due.
func TestReadWhoTells(t *testing.T) {
	for list, want := range map[string]collection.Known{
		"https://a.example/map":     {Denials: collection.Told{Visits: 1, Expected: .25}, Said: "2026-02-28"},
		"https://www.a.example/map": {Denials: collection.Told{Visits: 1, Expected: .25}, Said: "2026-02-28"},
		"https://liar.example/map":  {},
	} {
		w, err := collection.At(t.TempDir()).Lock()
		if err != nil {
			t.Fatal(err)
		}
		visited, waits := page("https://a.example/visited", .9, 30, 10, 3, 1), page("https://a.example/waits", .9, 30, 10, 3, 1)
		visited.Chance = .25
		if err := w.SaveKnown([]collection.Known{visited, waits}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log, err := event.Open(w.EventLog(), nil)
		if err != nil {
			t.Fatal(err)
		}
		fetched := func(u web.URL, dated ...event.Dated) event.Fetched {
			return event.Fetched{At: event.At{At: now}, Visit: event.Visit{URL: u}, Status: 200, Dated: dated}
		}
		_, err = log.Append(
			fetched(at(list), event.Dated{URL: visited.URL, Changed: "2025-01-01"}, event.Dated{URL: waits.URL, Changed: "2026-02-28"}),
			fetched(visited.URL),
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Read(t.Context(), w.Collection, 1, parse.New(parse.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		var got collection.Known
		for _, k := range r.Known {
			switch k.URL {
			case visited.URL:
				got.Denials, got.Claims = k.Denials, k.Claims
			case waits.URL:
				got.Said = k.Said
			}
		}
		if got.Denials != want.Denials || got.Claims != want.Claims || got.Said != want.Said {
			t.Errorf("%s: %+v %+v %q, want %+v %q", list, got.Denials, got.Claims, got.Said, want.Denials, want.Said)
		}
	}
}

// A page that is gone is told once, in the round that finds it so, and not in each later one in
// which a link leads to it; what became of it since is told.
func TestGoneIsToldOnce(t *testing.T) {
	u, elsewhere, third := at("https://a.example/page"), at("https://a.example/elsewhere"), at("https://a.example/third")
	for name, c := range map[string]struct {
		gone   bool
		to     web.URL
		now    event.Failed // zero: the page is there
		want   []Fate
		wantTo web.URL
	}{
		"first 404":         {now: event.Failed{Status: 404}, want: []Fate{Vanished}},
		"404 again":         {gone: true, now: event.Failed{Status: 410}},
		"first redirect":    {now: event.Failed{Status: 301, To: elsewhere}, want: []Fate{Moved}, wantTo: elsewhere},
		"the same redirect": {gone: true, to: elsewhere, now: event.Failed{Status: 301, To: elsewhere}, wantTo: elsewhere},
		"another redirect":  {gone: true, to: elsewhere, now: event.Failed{Status: 301, To: third}, want: []Fate{Moved}, wantTo: third},
		"moved, then 404":   {gone: true, to: elsewhere, now: event.Failed{Status: 404}, want: []Fate{Vanished}},
		"404, then moved":   {gone: true, now: event.Failed{Status: 301, To: third}, want: []Fate{Moved}, wantTo: third},
		"to itself":         {now: event.Failed{Status: 302, To: u, Reason: web.ReasonRedirectLoop}, want: []Fate{Failed}},
		"by http instead":   {now: event.Failed{To: at("http://a.example/page"), Reason: web.ReasonCertificate}, want: []Fate{Failed}},
		"a server's error":  {gone: true, now: event.Failed{Status: 500}, want: []Fate{Failed}},
		"there again":       {gone: true, want: []Fate{Returned}},
		"moved back":        {gone: true, to: elsewhere, want: []Fate{Returned}},
		"there still":       {want: []Fate{Unchanged}},
	} {
		w, err := collection.At(t.TempDir()).Lock()
		if err != nil {
			t.Fatal(err)
		}
		k := page(u.String(), .9, 30, 10, 3, 1)
		if c.gone {
			k.Gone, k.To = now.Add(-time.Hour), c.to
		}
		if err := w.SaveKnown([]collection.Known{k}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log, err := event.Open(w.EventLog(), nil)
		if err != nil {
			t.Fatal(err)
		}
		c.now.At, c.now.URL = event.At{At: now}, u
		var what event.Event = c.now
		if c.now.Status == 0 && c.now.To.IsZero() {
			what = event.Fetched{At: c.now.At, Visit: event.Visit{URL: u}, Status: 200, Digest: k.Digest}
		}
		if _, err := log.Append(what); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Read(t.Context(), w.Collection, 1, parse.New(parse.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		var got []Fate
		for _, change := range r.Changes() {
			got = append(got, change.Fate)
		}
		if !slices.Equal(got, c.want) || r.Known[0].To != c.wantTo {
			t.Errorf("%s: told %v, to %v; want %v, to %v", name, got, r.Known[0].To, c.want, c.wantTo)
		}
	}
}
