package figures

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(second int) event.At { return event.At{At: start.Add(time.Duration(second) * time.Second)} }

func addr(t testing.TB, s string) web.URL {
	t.Helper()
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// drawn is a log of events, as a crawl might write it: what is fetched was queued, and
// verdicts and thresholds change.
func drawn(t *rapid.T) (events []event.Event) {
	u := func(i int) web.URL {
		u, err := web.Parse(fmt.Sprintf("http://h%d.test/%d", i%4, i))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	n := rapid.IntRange(0, 60).Draw(t, "events")
	number := rapid.IntRange(0, 30)
	share := rapid.Float64Range(0, 1)
	events = append(events, event.Started{At: at(0), Name: "bees", Scorer: "waggle", Judge: "topic", Threshold: 0.5, Pages: 100, Workers: 3})
	relevance := map[web.URL]bool{}
	threshold, told := 0.5, false
	for i := range n {
		when := at(i + 1)
		var queued []event.Found
		for range rapid.IntRange(0, 4).Draw(t, "links") {
			queued = append(queued, event.Found{URL: u(number.Draw(t, "to")), Priority: share.Draw(t, "priority"), Raised: rapid.Bool().Draw(t, "raised")})
		}
		x := u(number.Draw(t, "page"))
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1, 2, 3, 4:
			if _, fetched := relevance[x]; fetched {
				continue // a crawl fetches a page once
			}
			r := share.Draw(t, "relevance")
			e := event.Fetched{At: when, Visit: event.Visit{URL: x, From: u(number.Draw(t, "from")), Priority: 1}, Status: 200, MIME: "text/html", Bytes: 10, Title: "T", Relevance: r, Relevant: r >= threshold, Queued: queued,
				Skipped: []event.Skipped{{URL: u(number.Draw(t, "skipped")), Reason: web.ReasonScope}}}
			if rapid.IntRange(0, 4).Draw(t, "copy") == 0 {
				e.Reason, e.Relevant = rapid.SampledFrom([]web.Reason{web.ReasonDuplicate, web.ReasonLogin}).Draw(t, "reason"), false
			}
			relevance[x] = e.Relevant
			events = append(events, e)
		case 5:
			reason := rapid.SampledFrom([]web.Reason{web.ReasonStatus, web.ReasonBusy, web.ReasonRedirect, web.ReasonTimeout}).Draw(t, "reason")
			events = append(events, event.Failed{At: when, Visit: event.Visit{URL: x, Priority: 0.3}, Reason: reason, Status: 404, Retry: reason == web.ReasonTimeout, To: u(number.Draw(t, "moved")), Queued: reason == web.ReasonRedirect})
		case 6:
			if rapid.Bool().Draw(t, "host") {
				events = append(events, event.Dropped{At: when, Reason: web.ReasonHostDead, Host: x.Host(), Count: 1})
			} else {
				events = append(events, event.Dropped{At: when, Reason: web.ReasonQueue, Count: 1, URLs: []web.URL{x}})
			}
		case 7:
			if was, ok := relevance[x]; ok && !told {
				v := event.Verdict{URL: x, Relevance: share.Draw(t, "again"), Was: was}
				if rapid.IntRange(0, 3).Draw(t, "unwanted") == 0 {
					v.Reason = web.ReasonLinksOnly
				}
				v.Relevant = v.Reason == "" && v.Relevance >= threshold && !isCopy(events, x)
				relevance[x] = v.Relevant
				events = append(events, event.Rejudged{At: when, Pages: []event.Verdict{v}})
			}
		case 8:
			threshold, told = share.Draw(t, "threshold"), true
			events = append(events, event.Changed{At: when, Setting: event.SettingThreshold, Old: "0.5", New: fmt.Sprint(threshold)})
		case 9:
			events = append(events, event.HostDown{At: when, Host: x.Host(), Reason: web.ReasonTimeout, Over: rapid.Bool().Draw(t, "over")})
		}
	}
	return events
}

func isCopy(events []event.Event, u web.URL) bool {
	for _, e := range events {
		if p, ok := e.(event.Fetched); ok && p.URL == u {
			return p.Reason.Copy()
		}
	}
	return false
}

// all is everything that can be asked of figures.
func all(c *Crawl, events []event.Event) map[string]any {
	hosts, n := c.Hosts("pages", "", 0, 100)
	pages, m := c.List(Filter{Order: "relevance", Down: true, N: 1000})
	bins, boosted, seeds := c.Waiting(10)
	out := map[string]any{"figures": c.Figures(), "curve": c.Curve(50), "hosts": hosts, "all": n, "pages": pages, "listed": m, "bins": bins, "boosted": boosted, "seeds": seeds,
		"failures": c.Failures(), "skips": c.Skips(), "graph": c.Graph(100), "choices": c.Choices()}
	for _, e := range events {
		for _, u := range addresses(e) {
			out[u.String()] = c.Fate(u)
		}
	}
	return out
}

func addresses(e event.Event) (out []web.URL) {
	switch e := e.(type) {
	case event.Fetched:
		out = append(out, e.URL)
		for _, q := range e.Queued {
			out = append(out, q.URL)
		}
	case event.Failed:
		out = append(out, e.URL, e.To)
	}
	return out
}

// Figures asked for between events are those of a log that was read at once, and asking
// changes nothing.
func TestFiguresGrowWithTheLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawn(t)
		grown := New()
		for i, e := range events {
			grown.Add(e, int64(i))
			if rapid.IntRange(0, 3).Draw(t, "look") > 0 {
				continue
			}
			whole := New()
			for k, e := range events[:i+1] {
				whole.Add(e, int64(k))
			}
			if got, want := all(grown, events), all(whole, events); !reflect.DeepEqual(got, want) {
				for k := range want {
					if !reflect.DeepEqual(got[k], want[k]) {
						t.Fatalf("after %d events, %s:\n%+v\nwhole:\n%+v", i+1, k, got[k], want[k])
					}
				}
			}
		}
	})
}

// The figures are those of the report that a crawl writes, which reads the log with the
// last verdicts of all pages under the last threshold.
func TestFiguresAreThoseOfTheReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawn(t)
		c := New()
		var history event.History
		for i, e := range events {
			c.Add(e, int64(i))
			history.Add(e)
		}
		log := func(yield func(event.Event, error) bool) {
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}
		final := event.Renewed(log, log)
		if threshold, ok := history.Threshold(); ok {
			final = event.Under(threshold, final)
		}
		var s event.Summary
		var h event.Harvest
		for e := range final {
			s.Add(e)
			h.Add(e)
		}
		f := c.Figures()
		if f.Logins != s.Logins() || f.Pages != s.Pages || f.Relevant != s.Relevant || f.Hosts != s.Hosts() || f.Bytes != s.Bytes || f.Queued != s.Queued {
			t.Fatalf("%+v\nthe report has %d pages, %d relevant, %d hosts, %d bytes, %d queued", f, s.Pages, s.Relevant, s.Hosts(), s.Bytes, s.Queued)
		}
		if next := c.forecast(); f.Recent != s.RecentHarvest() || math.Abs(next.Relevant-s.Forecast.Relevant) > 1e-6 || math.Abs(next.Pages-s.Forecast.Pages) > 1e-6 {
			t.Fatalf("%v of late, and %v: the report has %v and %v", f.Recent, next, s.RecentHarvest(), s.Forecast)
		}
		want := map[string]bool{}
		for _, p := range h.Pages() {
			want[p.URL.String()] = true
		}
		list, n := c.List(Filter{Verdict: "relevant", N: 1000})
		got := map[string]bool{}
		for _, p := range list {
			got[p.URL] = true
		}
		if n != len(want) || !maps.Equal(got, want) {
			t.Fatalf("%v\nthe harvest is %v", got, want)
		}
		sum := 0
		hosts, _ := c.Hosts("", "", 0, 1000)
		for _, h := range hosts {
			sum += h.Waiting
			if h.Waiting < 0 {
				t.Fatalf("%+v", h)
			}
		}
		bins, boosted, seeds := c.Waiting(7)
		for _, b := range bins {
			seeds += b.Count
		}
		if sum != f.Waiting || boosted+seeds != f.Waiting {
			t.Fatalf("%d links wait, by host %d, by priority %d", f.Waiting, sum, seeds)
		}
	})
}

// The frontier of the figures holds what a crawl's own does: an address is queued once,
// rises, leaves, comes back, and goes with its host.
func TestWaiting(t *testing.T) {
	c := New()
	n := 0
	add := func(e event.Event, want int) {
		t.Helper()
		n++
		if c.Add(e, int64(n)); c.Figures().Waiting != want {
			t.Errorf("event %d: %d wait, want %d", n, c.Figures().Waiting, want)
		}
	}
	a, b, d := addr(t, "http://a.test/1"), addr(t, "http://a.test/2"), addr(t, "http://b.test/")
	found := func(us ...web.URL) (out []event.Found) {
		for _, u := range us {
			out = append(out, event.Found{URL: u, Priority: -1.5})
		}
		return out
	}
	add(event.Seeded{At: at(1), Queued: found(a, b)}, 2)
	add(event.Fetched{At: at(2), Visit: event.Visit{URL: a}, Relevance: 1, Relevant: true, Queued: found(b, d)}, 2)
	add(event.Failed{At: at(3), Visit: event.Visit{URL: d}, Reason: web.ReasonTimeout, Retry: true}, 2)
	add(event.Dropped{At: at(4), Reason: web.ReasonQueue, Count: 1, URLs: []web.URL{b}}, 1)
	if f := c.Fate(b); f.Fate != event.GivenUp || f.Reason != web.ReasonQueue {
		t.Errorf("%+v", f)
	}
	add(event.Fetched{At: at(5), Visit: event.Visit{URL: addr(t, "http://c.test/")}, Queued: found(b)}, 2)
	add(event.Dropped{At: at(6), Reason: web.ReasonHostDead, Host: "a.test", Count: 1}, 1)
	if f := c.Fate(b); f.Fate != event.GivenUp || f.Reason != web.ReasonHostDead {
		t.Errorf("%+v", f)
	}
	add(event.Failed{At: at(7), Visit: event.Visit{URL: d}, Reason: web.ReasonRedirect, To: b, Queued: true}, 1)
	if f := c.Fate(b); f.Fate != event.Waiting {
		t.Errorf("%+v", f)
	}
	if f := c.Fate(d); f.Fate != event.Moved {
		t.Errorf("%+v", f)
	}
	add(event.Failed{At: at(7), Visit: event.Visit{URL: d}, Reason: web.ReasonRedirectKnown, To: b}, 1) // no failure
	add(event.Failed{At: at(8), Visit: event.Visit{URL: b}, Reason: web.ReasonStatus, Status: 404}, 0)
	if got := c.Failures(); len(got) != 1 || got[0].Count != 1 || got[0].Examples[0].Detail != "HTTP 404" {
		t.Errorf("%+v", got)
	}
	if f := c.Fate(addr(t, "http://nowhere.test/")); f.Fate != event.Unseen {
		t.Errorf("%+v", f)
	}
}

// Links that a person put before others, and seeds, are counted apart: the others keep their axis.
func TestBoostedWait(t *testing.T) {
	c := New()
	var found []event.Found
	for i, p := range []float64{-4.97, -1, 2, 1e9 - 4, 1e9 + 2, 1e30} {
		found = append(found, event.Found{URL: addr(t, fmt.Sprintf("http://a.test/%d", i)), Priority: p})
	}
	c.Add(event.Seeded{At: at(1), Queued: found}, 0)
	bins, boosted, seeds := c.Waiting(3)
	if len(bins) != 3 || bins[0].From > -4 || bins[2].To > 3 || bins[0].Count+bins[1].Count+bins[2].Count != 3 || boosted != 2 || seeds != 1 {
		t.Errorf("%+v, %d boosted, %d seeds", bins, boosted, seeds)
	}
}

// Any order of pages, a part of it at a time, is that of all pages sorted.
func TestListIsSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New()
		for i, e := range drawn(t) {
			c.Add(e, int64(i))
		}
		f := Filter{
			Order: rapid.SampledFrom([]string{"", "fetched", "relevance", "host", "address", "bytes"}).Draw(t, "order"),
			Down:  rapid.Bool().Draw(t, "down"), N: 1000, Least: rapid.Float64Range(0, 1).Draw(t, "least"),
		}
		whole, n := c.List(f)
		if n != len(whole) {
			t.Fatalf("%d of %d pages", len(whole), n)
		}
		var parts []Page
		f.N = 3
		for f.From = 0; f.From < n; f.From += 3 {
			list, m := c.List(f)
			if m != n {
				t.Fatalf("%d pages, then %d", n, m)
			}
			parts = append(parts, list...)
		}
		if !slices.Equal(parts, whole) {
			t.Fatalf("in parts\n%v\nwhole\n%v", parts, whole)
		}
		for i := range whole {
			if whole[i].Relevance < f.Least {
				t.Fatalf("%+v has less than %v", whole[i], f.Least)
			}
			if f.Order == "relevance" && i > 0 && (whole[i-1].Relevance > whole[i].Relevance) != f.Down && whole[i-1].Relevance != whole[i].Relevance {
				t.Fatalf("%v is not in order", whole)
			}
		}
	})
}

func TestTextIsFound(t *testing.T) {
	c := New()
	for i, title := range []string{"The Waggle Dance", "HONIGBIENE übt", "Straße"} {
		c.Add(event.Fetched{At: at(i), Visit: event.Visit{URL: addr(t, fmt.Sprintf("http://a.test/Page-%d", i))}, Title: title}, 0)
	}
	for text, want := range map[string]int{"": 3, "waggle": 1, "DANCE waggle": 1, "dance honig": 0, "page": 3, "page-2": 1, "Übt": 1, "STRASSE": 0, "straße": 1} {
		if _, n := c.List(Filter{Text: text, N: 10}); n != want {
			t.Errorf("%q: %d pages, want %d", text, n, want)
		}
	}
	if list, _ := c.List(Filter{Only: []int{3, 1, 99, 0}, N: 10}); len(list) != 2 || list[0].Number != 3 {
		t.Errorf("%v", list)
	}
}

// Many pages are searched as few are.
func TestManyPagesAreSearched(t *testing.T) {
	c := New()
	u := addr(t, "http://a.test/")
	for i := range manyPages + 100 {
		c.Add(event.Fetched{At: at(i), Visit: event.Visit{URL: u}, Title: fmt.Sprintf("Page %d", i), Relevance: float64(i%2) * 0.5}, 0)
	}
	if list, n := c.List(Filter{Text: "page 50099", N: 10}); n != 1 || list[0].Number != 50100 {
		t.Errorf("%d pages: %v", n, list)
	}
	if _, n := c.List(Filter{Text: "PAGE", Least: 0.5, Order: "relevance", N: 10}); n != (manyPages+100)/2 {
		t.Errorf("%d pages", n)
	}
	if list, n := c.List(Filter{Text: "a.test 49999 page", Down: true, N: 10}); n != 1 || list[0].Number != 50000 {
		t.Errorf("three words: %d pages: %v", n, list)
	}
	if len(c.texts.pieces) < 2 {
		t.Error("all texts are in one piece")
	}
}

// Words are found as a search without letters of two cases finds them.
func TestFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all texts
		var want []int // pages of which the address or the title holds the word, one by one
		text := rapid.StringMatching("[aAbB1éÉ花]{0,8}")
		word := rapid.StringMatching("[aAbB1éÉ花]{1,3}").Draw(t, "word")
		holds := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(word)) }
		w := newFolded(word)
		for i := range rapid.IntRange(0, 6).Draw(t, "pages") {
			address, title := text.Draw(t, "address"), text.Draw(t, "title")
			all.add(address, title)
			if holds(address) || holds(title) {
				want = append(want, i)
			}
			if w.in([]byte(title)) != holds(title) {
				t.Fatalf("%q in %q: %v", word, title, !holds(title))
			}
		}
		var got []int
		for _, piece := range all.pieces {
			w.search(piece, func(i int) { got = append(got, i) })
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q is found on %v, want %v", word, got, want)
		}
	})
}

// What a page says is shown as one line without what could act, and is bounded.
func TestHostileTitle(t *testing.T) {
	c := New()
	c.Add(event.Fetched{At: at(1), Visit: event.Visit{URL: addr(t, "http://a.test/")}, Title: "a\x1b[31m\u202eb\nc" + strings.Repeat("ß", 1<<20), MIME: "text/\x00html"}, 0)
	p, _, _ := c.Page(addr(t, "http://a.test/"))
	if len(p.Title) > maxTitle || !strings.HasPrefix(p.Title, "a[31mb cß") || strings.ContainsAny(p.Title+p.MIME, "\x00\x1b\n\u202e\uFFFD") {
		t.Errorf("%.40q %q", p.Title, p.MIME)
	}
}

func TestPrioritiesKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-1e6, 1e6).Draw(t, "a"), rapid.Float64Range(-1e6, 1e6).Draw(t, "b")
		if a < b && encode(a) > encode(b) {
			t.Fatalf("%v < %v", a, b)
		}
		if got := decode(encode(a)); math.Abs(got-a) > math.Abs(a)/100+1e-30 {
			t.Fatalf("%v comes back as %v", a, got)
		}
	})
	if decode(encode(1e30)) < seedPriority {
		t.Error("a seed is none")
	}
}

// What is counted as the events come is what a look at all pages and links finds.
func TestCountsAreThoseOfAllPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New()
		for i, e := range drawn(t) {
			c.Add(e, int64(i))
		}
		relevant, led, links := map[uint32]int{}, map[web.Host]int{}, map[[2]web.Host][2]int{}
		curve := c.Curve(len(c.pages))
		sum := 0
		for i := range c.pages {
			p := &c.pages[i]
			n := 0
			if p.relevant {
				n = 1
				relevant[p.host]++
			}
			if sum += n; curve.Relevant[i] != sum {
				t.Fatalf("%d of the first %d pages are relevant, the curve says %d", sum, i+1, curve.Relevant[i])
			}
			if p.fromHost == noHost || p.fromHost == p.host {
				continue
			}
			from, to := c.hosts[p.fromHost].name, c.hosts[p.host].name
			led[from] += n
			l := links[[2]web.Host{from, to}]
			links[[2]web.Host{from, to}] = [2]int{l[0] + 1, l[1] + n}
		}
		g := c.Graph(100)
		for _, h := range g.Hosts {
			if h.Led != led[h.Host] || h.Relevant != relevant[c.hostID[h.Host]] {
				t.Fatalf("%+v; it led to %d, and %d are relevant", h, led[h.Host], relevant[c.hostID[h.Host]])
			}
		}
		for _, l := range g.Links {
			if want := links[[2]web.Host{g.Hosts[l.From].Host, g.Hosts[l.To].Host}]; want != [2]int{l.Pages, l.Relevant} {
				t.Fatalf("%+v, want %v", l, want)
			}
		}
		waiting := map[uint16]int32{}
		for _, l := range c.links {
			if c.waits(l) {
				waiting[l.what]++
			}
		}
		for _, w := range c.waitings {
			if waiting[w.code] != w.links {
				t.Fatalf("%d links wait with %v, counted %d", waiting[w.code], decode(w.code), w.links)
			}
		}
		if len(waiting) != len(c.waitings) {
			t.Fatalf("links wait with %d priorities, counted %d", len(waiting), len(c.waitings))
		}
	})
}

// A host is given up any number of times, and what waited for it before never waits again.
func TestGivenUpOften(t *testing.T) {
	c := New()
	at := event.At{At: time.Unix(1, 0)}
	old, other := addr(t, "http://a.test/old"), addr(t, "http://b.test/")
	c.Add(event.Seeded{At: at, Queued: []event.Found{{URL: old}, {URL: other}}}, 0)
	for i := 1; i <= 600; i++ {
		c.Add(event.Dropped{At: at, Reason: web.ReasonHostDead, Host: "a.test", Count: 1}, int64(i))
		if f := c.Fate(old); f.Fate != event.GivenUp || f.Reason != web.ReasonHostDead || c.Figures().Waiting != 1 {
			t.Fatalf("after %d times: %+v, %d wait", i, f, c.Figures().Waiting)
		}
		if f := c.Fate(other); f.Fate != event.Waiting {
			t.Fatalf("after %d times another host: %+v", i, f)
		}
	}
}

func TestBitset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.Bool(), 0, 300).Draw(t, "in")
		var b bitset
		for i, is := range in {
			b.set(i, true)
			b.set(i, is)
		}
		from := rapid.IntRange(0, len(in)).Draw(t, "from")
		to := rapid.IntRange(from, len(in)).Draw(t, "to")
		want := 0
		for _, is := range in[from:to] {
			if is {
				want++
			}
		}
		if got := b.count(from, to); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}

// A page tells what a person said of it last, as far as that was not undone; a crawl that was told
// to pause is paused until it is told otherwise, or its next run.
func TestLabelsAndPauses(t *testing.T) {
	u, err := web.Parse("https://bees.test/")
	if err != nil {
		t.Fatal(err)
	}
	c := New()
	n := 0
	say := func(a event.Act) {
		n++
		a.Number, a.At.At = n, time.Unix(int64(n), 0)
		c.Add(a, 0)
	}
	label := func() string {
		p, _, _ := c.Page(u)
		return fmt.Sprint(p.Label, " ", p.Act, " ", c.Paused())
	}
	c.Add(event.Started{}, 0)
	c.Add(event.Fetched{Visit: event.Visit{URL: u}}, 0)
	for _, x := range []struct {
		act  event.Act
		want string
	}{
		{event.Act{Do: event.Pause}, " 0 true"},
		{event.Act{Do: event.Relevant, URL: u}, "relevant 2 true"},
		{event.Act{Do: event.Irrelevant, URL: u}, "irrelevant 3 true"},
		{event.Act{Do: event.More, URL: u, Refused: "no"}, "irrelevant 3 true"},
		{event.Act{Do: event.Undo, Act: 1}, "irrelevant 3 false"},
		{event.Act{Do: event.Undo, Act: 3}, "relevant 2 false"},
		{event.Act{Do: event.Undo, Act: 2}, " 0 false"},
		{event.Act{Do: event.Pause}, " 0 true"},
	} {
		if say(x.act); label() != x.want {
			t.Errorf("after %s: %q, want %q", x.act.Words(), label(), x.want)
		}
	}
	if c.Add(event.Started{Resumed: true}, 0); c.Paused() {
		t.Error("a pause of an earlier run holds")
	}
}

// All that asks for a login is counted once: walls that came with a page, walls that came with 401 or 403, and
// these statuses alone.
func TestLogins(t *testing.T) {
	c := New()
	for i, e := range []event.Event{
		event.Fetched{Reason: web.ReasonLogin}, event.Fetched{Reason: web.ReasonConsent},
		event.Failed{Reason: web.ReasonLogin, Status: 401}, event.Failed{Reason: web.ReasonStatus, Status: 401},
		event.Failed{Reason: web.ReasonStatus, Status: 403}, event.Failed{Reason: web.ReasonBlocked, Status: 403},
		event.Failed{Reason: web.ReasonStatus, Status: 404},
	} {
		c.Add(e, int64(i))
	}
	if f := c.Figures(); f.Logins != 4 || f.LoginsHelp != event.LoginsHelp {
		t.Errorf("%d pages ask for a login, want 4: %s", f.Logins, f.LoginsHelp)
	}
}
