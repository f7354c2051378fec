package train_test

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

func addressOf(t testing.TB, name string) web.URL {
	t.Helper()
	u, err := web.Parse("http://a.test/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// leafPage is a page whose leaves are the words; a word with a colon is a link:
// target:anchor. "-" is a leaf without text.
func leafPage(t testing.TB, name string, leaves ...string) *web.Page {
	t.Helper()
	p := &web.Page{URL: addressOf(t, name)}
	for i, l := range leaves {
		target, anchor, linked := strings.Cut(l, ":")
		if linked {
			p.Links = append(p.Links, web.Link{URL: addressOf(t, target), Anchor: anchor, Position: len(p.Links), First: i, Last: i})
			l = anchor
		}
		if l == "-" {
			l = ""
		}
		p.Tags = append(p.Tags, map[string]string{"": "br"}[l])
		p.Leaves = append(p.Leaves, web.Leaf{Text: l})
	}
	return p
}

func crawledOf(t testing.TB, events ...event.Event) *train.Crawl {
	t.Helper()
	c, err := train.ReadCrawl(func(yield func(event.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		yield(nil, &event.LineError{Line: 9, Err: event.ErrTorn})
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func pagesOf(pages ...*web.Page) iter.Seq2[*web.Page, error] {
	return func(yield func(*web.Page, error) bool) {
		for _, p := range pages {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// A link is an example if its target was fetched after its page, also through a
// redirect (section 3.5); a target fetched before, never, or as a copy is none. The
// order in which pages are read changes nothing.
func TestTaughtByOrder(t *testing.T) {
	got := func(name string, relevance float64) event.Event {
		return event.Fetched{Visit: event.Visit{URL: addressOf(t, name)}, Relevance: relevance, Relevant: relevance >= 0.5}
	}
	copied := event.Fetched{Visit: event.Visit{URL: addressOf(t, "copy")}, Relevance: 1, Reason: web.ReasonDuplicate}
	crawl := crawledOf(t,
		event.Started{}, got("first", 0.2), got("hub", 0.1),
		event.Failed{Visit: event.Visit{URL: addressOf(t, "old")}, Reason: web.ReasonRedirect, To: addressOf(t, "new")},
		got("good", 0.9), got("bad", 0.1), got("new", 0.8), copied)
	for name, want := range map[string]bool{"first": true, "old": true, "copy": true, "never": false} {
		if got := crawl.Asked(addressOf(t, name)); got != want {
			t.Errorf("%s was asked for: %v", name, got)
		}
	}
	hub := leafPage(t, "hub", "first:earlier", "good:honey", "bad:steel", "old:wax", "copy:clay", "never:straw", "good:again")
	good := leafPage(t, "good", "hub:back", "bad:iron", "first:home")
	foreign := leafPage(t, "foreign", "good:foreign")
	teach := func(pages ...*web.Page) (*model.Surroundings, *model.File, error) {
		taught, err := train.Apprentice(t.Context(), []train.CrawlPages{{Crawl: crawl, Pages: pagesOf(pages...)}}, train.ApprenticeOptions{Set: map[string]float64{"dmax": 0}, Topic: "bees"})
		if taught.Missing != 3 {
			t.Errorf("%d of five pages are missing where two were given", taught.Missing)
		}
		return taught.File.Payload.(*model.Surroundings), taught.File, err
	}
	m, f, err := teach(hub, good, foreign)
	if !errors.Is(err, train.ErrTooFewExamples) || !strings.Contains(err.Error(), "of 4 links that were followed 2 led to pages of high relevance") {
		t.Errorf("four links and two of them high are few: %v", err)
	}
	// honey and wax to high; steel and iron to low.
	if m.Links != [2]uint64{2, 2} || len(m.Features) != 4 {
		t.Errorf("it learned %+v", m)
	}
	other, _, _ := teach(foreign, good, hub)
	if !reflect.DeepEqual(m, other) {
		t.Errorf("read in another order:\n%+v\n%+v", m, other)
	}
	if p := f.Provenance; p.Pages != 5 || p.Targets != 2 || !slices.Equal(p.Sites, []web.Host{"a.test"}) || p.Settings["dmax"] != 0 || p.Topic != "bees" {
		t.Errorf("provenance %+v", p)
	}
}

// What waits is what entered the frontier and did not leave it: not what failed,
// was refused, or was given up with its host.
func TestWaits(t *testing.T) {
	visit := func(name string) event.Visit { return event.Visit{URL: addressOf(t, name)} }
	var found []event.Found
	for _, name := range []string{"page", "waiting", "gone", "later", "old", "worst"} {
		found = append(found, event.Found{URL: addressOf(t, name)})
	}
	dead, err := web.Parse("http://dead.test/x")
	if err != nil {
		t.Fatal(err)
	}
	c := crawledOf(t,
		event.Seeded{Queued: []event.Found{{URL: addressOf(t, "seed")}, {URL: addressOf(t, "unseen")}}},
		event.Fetched{Visit: visit("seed"), Queued: append(found, event.Found{URL: dead}), Skipped: []event.Skipped{{URL: addressOf(t, "film"), Reason: web.ReasonExtension}}},
		event.Fetched{Visit: visit("page")},
		event.Failed{Visit: visit("gone"), Reason: web.ReasonStatus},
		event.Failed{Visit: visit("later"), Reason: web.ReasonTimeout, Retry: true},
		event.Failed{Visit: visit("old"), Reason: web.ReasonRedirect, To: addressOf(t, "new"), Queued: true},
		event.Dropped{URLs: []web.URL{addressOf(t, "worst")}, Count: 1},
		event.Dropped{Host: dead.Host(), Count: 1},
	)
	var got []string
	for _, name := range []string{"seed", "unseen", "page", "waiting", "gone", "later", "old", "new", "worst", "film", "never"} {
		if c.Waits(addressOf(t, name)) {
			got = append(got, name)
		}
	}
	if want := []string{"unseen", "waiting", "later", "new"}; !slices.Equal(got, want) || c.Waits(dead) {
		t.Errorf("%q wait, want %q; of the dead host %v", got, want, c.Waits(dead))
	}
}

// crawlPages is a crawl of n hubs, each with a link to a page of high relevance
// that has "nectar" before it and one of low with "engine" before it; between
// leaves with text lie leaves without.
func crawlPages(t testing.TB, n int) train.CrawlPages {
	var events []event.Event
	var pages []*web.Page
	for i := range n {
		hub := fmt.Sprint("hub", i)
		pages = append(pages, leafPage(t, hub, "nectar", "-", fmt.Sprintf("good%d:read this", i), "-", "engine", "-", fmt.Sprintf("bad%d:read that", i), "-", fmt.Sprintf("never%d:later", i)))
		var queued []event.Found
		for _, name := range []string{"good", "bad", "never"} {
			queued = append(queued, event.Found{URL: addressOf(t, fmt.Sprint(name, i))})
		}
		events = append(events, event.Fetched{Visit: event.Visit{URL: addressOf(t, hub)}, Relevance: 0.3, Queued: queued})
	}
	for i := range n {
		events = append(events,
			event.Fetched{Visit: event.Visit{URL: addressOf(t, fmt.Sprint("good", i))}, Relevance: 0.9, Relevant: true},
			event.Fetched{Visit: event.Visit{URL: addressOf(t, fmt.Sprint("bad", i))}, Relevance: 0.1})
	}
	return train.CrawlPages{Crawl: crawledOf(t, events...), Pages: pagesOf(pages...)}
}

// A study of links whose outcome shows at one distance alone: accuracy is higher
// when words count that far and have their offsets, the information gain is highest
// there, and text is at the even distances.
func TestStudy(t *testing.T) {
	s, err := train.NewStudy(t.Context(), crawlPages(t, 60), train.ApprenticeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := s.ByReach[0].Offsets; n.Low+n.High < 10 {
		t.Fatalf("%d links were held out", n.Low+n.High)
	}
	for _, r := range s.ByReach {
		// The anchors differ, by a stop word or not: with nothing to tell them
		// apart, all are taken for one side.
		if got := r.Offsets.All(); r.Reach >= 2 && got != 1 {
			t.Errorf("with words up to %d leaves away, %v are told right", r.Reach, got)
		} else if r.Reach < 2 && got > 0.9 {
			t.Errorf("nothing within %d leaves tells them apart, and %v are told right", r.Reach, got)
		}
	}
	var gains, texts []float64
	for _, o := range s.Offsets {
		gains, texts = append(gains, o.Gain), append(texts, o.Text)
	}
	at := func(d int) int { return d + train.MaxReach }
	// Two words that part the links in halves: one bit each.
	if g := gains[at(-2)]; math.Abs(g-1) > 1e-9 || slices.Max(gains) != g {
		t.Errorf("gains %v", gains)
	}
	if texts[at(-1)] != 0 || texts[at(1)] != 0 || texts[at(-2)] != 1 || texts[at(2)] != 1 {
		t.Errorf("leaves with text %v", texts)
	}
	if got := s.Offsets[at(-1)]; got.Tags["br"] != got.Leaves || s.Offsets[at(-2)].Tags["br"] != 0 {
		t.Errorf("at −1 %v of %d leaves, at −2 %v", got.Tags, got.Leaves, s.Offsets[at(-2)].Tags)
	}
	before, after := 0, 0
	for i := range s.Before {
		before += s.Before[i]
		after += s.After[i]
	}
	// Links of the hubs, whose R(u) is 0.3, that were never followed.
	if before == 0 || before != after || s.Before[6] != before {
		t.Errorf("what waits: %v, then %v", s.Before, s.After)
	}
}

// A model of two crawls is that of both.
func TestTwoCrawlsTeach(t *testing.T) {
	l := crawlPages(t, 12)
	one, err := train.Apprentice(t.Context(), []train.CrawlPages{l}, train.ApprenticeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := train.Apprentice(t.Context(), []train.CrawlPages{l, l}, train.ApprenticeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := one.File.Payload.(*model.Surroundings), two.File.Payload.(*model.Surroundings)
	if one.Low != 12 || one.High != 12 || b.Links != [2]uint64{24, 24} || len(a.Features) != len(b.Features) {
		t.Errorf("%v %v, then %v %v", a.Links, len(a.Features), b.Links, len(b.Features))
	}
	if both, relevant := l.Crawl.Shared(l.Crawl); both != 36 || relevant != 12 {
		t.Errorf("a crawl shares %d pages with itself, %d of them relevant", both, relevant)
	}
}
