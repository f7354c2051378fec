package explain

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// mystery is a crawl in which every fate occurs.
func mystery(t *testing.T) (events []event.Event) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(s int) event.At { return event.At{At: start.Add(time.Duration(s) * time.Second)} }
	u := func(s string) web.URL { return addr(t, "https://"+s) }
	visit := func(to, from string, kind web.LinkKind, priority float64) event.Visit {
		v := event.Visit{URL: u(to), Link: kind, Priority: priority}
		if from != "" {
			v.From = u(from)
		}
		return v
	}
	return []event.Event{
		event.Started{At: at(0), Name: "hops", Scorer: "best-first-both", Judge: "topic", Threshold: 0.42},
		event.Seeded{
			At:     at(1),
			Queued: []event.Found{{URL: u("brew.example/"), Priority: 1e30}},
		},
		event.Fetched{
			At: at(2), Visit: visit("brew.example/", "", web.LinkSeed, 1e30), Status: 200, Relevance: 0.71, Relevant: true, Title: "Brewing\tat home \x1b[31m",
			Queued: []event.Found{
				{URL: u("brew.example/hops"), Priority: 0.83, Anchor: "All about\nhops"},
				{URL: u("brew.example/old"), Priority: 0.5, Anchor: "old pages"},
				{URL: u("brew.example/slow"), Priority: 0.45},
				{URL: u("forum.example/t/1"), Priority: 0.12, Anchor: "forum"},
			},
			Skipped: []event.Skipped{{URL: u("ads.example/"), Reason: web.ReasonScope}},
		},
		event.Failed{At: at(3), Visit: visit("brew.example/old", "brew.example/", web.LinkA, 0.48), Reason: web.ReasonRedirect, Status: 301, To: u("brew.example/new"), Queued: true},
		event.Failed{At: at(4), Visit: visit("brew.example/slow", "brew.example/", web.LinkA, 0.45), Reason: web.ReasonTimeout, Detail: "no answer within 10s", Retry: true},
		event.Fetched{
			At: at(5), Visit: visit("brew.example/new", "brew.example/old", web.LinkRedirect, 0.48), Status: 200, Relevance: 0.2, Title: "News",
			Queued: []event.Found{{URL: u("brew.example/malt"), Priority: 0.3, Anchor: "malt"}, {URL: u("dead.example/"), Priority: 0.2}},
		},
		event.Failed{At: at(6), Visit: visit("brew.example/slow", "brew.example/", web.LinkA, 0.4), Reason: web.ReasonStatus, Status: 500, Detail: "500 Internal Server Error"},
		event.Dropped{At: at(7), Reason: web.ReasonHostDead, Host: "dead.example", Count: 1},
		event.Fetched{
			At: at(8), Visit: visit("brew.example/hops", "brew.example/", web.LinkA, 0.85), Status: 200, Relevance: 0.9, Title: "Hops",
			Reason: web.ReasonNoIndex,
			Queued: []event.Found{{URL: u("brew.example/malt"), Priority: 0.77, Anchor: "malted barley", Raised: true}},
		},
		event.Fetched{At: at(9), Visit: visit("brew.example/malt", "brew.example/hops", web.LinkA, 0.77), Status: 200, Relevance: 0.93, Relevant: true, Title: "Malt", Cut: "time", NoBrowser: true, Concealed: 2},
		event.Fetched{
			At: at(9), Visit: visit("brew.example/links", "brew.example/", web.LinkA, 0.7), Status: 200, Relevance: 0.5, Relevant: true, Truncated: true,
			Queued: []event.Found{
				{URL: u("shop.example/item/1"), Priority: 0.3}, {URL: u("busy.example/"), Priority: 0.3},
				{URL: u("down.example/"), Priority: 0.3}, {URL: u("cut.example/"), Priority: 0.3},
			},
		},
		event.Trap{At: at(9), Host: "shop.example", Shape: "shop.example/item/N", Copies: 12, Like: u("shop.example/item/77")},
		event.Trap{At: at(9), Host: "shop.example", Shape: "shop.example/cart/N?id", Copies: 14, Like: u("shop.example/cart/1?id=2")},
		event.Dropped{At: at(9), Reason: web.ReasonTrap, Count: 1, URLs: []web.URL{u("shop.example/item/1")}},
		event.Failed{At: at(9), Visit: visit("busy.example/", "brew.example/links", web.LinkA, 0.3), Reason: web.ReasonBusy, Detail: "the server at 192.0.2.1 has other requests before this one: its turn comes in about 2s", Retry: true},
		event.Failed{At: at(9), Visit: visit("cut.example/", "brew.example/links", web.LinkA, 0.3), Reason: web.ReasonTimeout, Retry: true, Outage: true},
		event.HostDown{At: at(9), Host: "down.example", Reason: web.ReasonConnect, Failures: 6, Since: start, Next: start.Add(time.Hour)},
		event.Fetched{
			At: at(10), Visit: visit("brew.example/more", "brew.example/", web.LinkA, 0.7), Status: 200, Relevance: 0.5, Relevant: true,
			Directives: web.Directives{NoAI: true, NoFollow: true, TDMReserved: true, TDMPolicy: "https://brew.example/terms\x1b[31m"}, BySite: true,
			Queued: []event.Found{
				{URL: u("brew.example/sitemap.xml"), Priority: 0.4, Link: web.LinkSitemap}, {URL: u("brew.example/feed"), Priority: 0.4, Link: web.LinkFeed},
				{URL: u("brew.example/json"), Priority: 0.4, Link: web.LinkJSONLD},
			},
			Skipped: []event.Skipped{{URL: u("shop.example/item/9"), Reason: web.ReasonTrap}, {URL: u("shop.example/a/a/a/a/a/"), Reason: web.ReasonTrap}, {URL: u("app.example/"), Reason: web.ReasonScope, Link: web.LinkScript}},
		},
		event.Fetched{
			At: at(10), Visit: visit("brew.example/feed", "brew.example/more", web.LinkFeed, 0.4), Status: 200, Reason: web.ReasonLinksOnly,
			Queued: []event.Found{{URL: u("brew.example/entry"), Priority: 0.3, Link: web.LinkEntry, Anchor: "Hops of the year"}},
		},
		event.Rejudged{At: at(10), Pages: []event.Verdict{{URL: u("brew.example/new"), Relevance: 0.31}}},
		event.Rejudged{At: at(10), Pages: []event.Verdict{{URL: u("brew.example/new"), Relevance: 0.31000001}}},
		event.Ended{At: at(10), How: event.Stopped},
	}
}

// TestExplanations asks why of every address, and replays the answers of
// testdata/path.
func TestExplanations(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "path"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			events := mystery(t)
			if d.HasArg("killed") {
				events = events[:len(events)-1]
			}
			seq := func(yield func(event.Event, error) bool) {
				for _, e := range events {
					if !yield(e, nil) {
						return
					}
				}
			}
			x, err := event.Explain(seq, addr(t, "https://"+d.CmdArgs[0].String()))
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains([]event.Fate{event.Taken, event.Waiting}, x.Fate) && len(x.Path) == 0 {
				t.Fatalf("%s without a path", x.Fate)
			}
			said, err := event.Said(seq, x.URL)
			if err != nil {
				t.Fatal(err)
			}
			compare(x.Notes, said)
			if d.HasArg("waggle") {
				x.Scorer = "waggle"
			}
			var out strings.Builder
			if err := writePath(&out, &x); err != nil {
				t.Fatal(err)
			}
			// An empty line would end the expected output.
			return strings.ReplaceAll(out.String(), "\n\n", "\n.\n")
		})
	})
}

// TestLinkExplained replays testdata/link: what is said of each reason
// that there is, the longest of them, and what the page may have put into it.
func TestLinkExplained(t *testing.T) {
	links := map[string]linkParts{
		"words": {scorer: "apprentice", anchor: "hive\x1b[31m 3", now: 1.25, reasons: []score.Reason{
			{Kind: score.ReasonWord, What: "hive", Times: 1, Weight: 1.5},
			{Kind: score.ReasonWord, What: "nectar", Offset: -1, Times: 2, Weight: 0.75},
			{Kind: score.ReasonWord, What: "engine\t\x1b[2J", Offset: 3, Times: 1, Weight: -1.25},
			{Kind: score.ReasonPrior, Times: 1, Weight: -0.25},
			{Kind: score.ReasonPage, Times: 1, Weight: 0.5},
		}},
		"topics": {scorer: "apprentice-tempered", now: 2, reasons: []score.Reason{
			{Kind: score.ReasonClass, What: "/insects/bees", Times: 1, Weight: 1.5},
			{Kind: score.ReasonClass, What: "/insects", Times: 1, Weight: 0.25},
			{Kind: score.ReasonHigh, Offset: -2, Times: 2, Weight: 0.75},
			{Kind: score.ReasonLow, Offset: 1, Times: 1, Weight: -0.5},
		}},
		"chain": {scorer: "crf", anchor: "staff", now: 0.84, reasons: []score.Reason{
			{Kind: score.ReasonPath, Times: 1, Weight: 0.4},
			{Kind: score.ReasonSeen, What: "“staff” in the anchor that led here", Times: 1, Weight: 0.5},
			{Kind: score.ReasonSeen, What: "its address holds a keyword", Times: 1, Weight: -0.0595},
			{Kind: score.ReasonHops, What: "T1 0.100, T2 0.060", Times: 1, Weight: -0.0005},
		}},
		"likeness": {scorer: "hmm-centroid-both", now: 0.5, reasons: []score.Reason{
			{Kind: score.ReasonPath, Times: 1, Weight: 0.1},
			{Kind: score.ReasonTarget, Times: 1, Weight: 0.4},
		}},
		"best-first": {scorer: "best-first-both", now: 0.5, reasons: []score.Reason{
			{Kind: score.ReasonPage, Times: 1, Weight: 0.3},
			{Kind: score.ReasonAnchor, Times: 1, Weight: 0.2},
		}},
		"then": {scorer: "waggle", anchor: "hives", taken: -2.25, learnt: true, now: -1.5, then: -2.25, at: &score.Moment{Known: 137, Exact: true}, expects: priorities("waggle"), reasons: []score.Reason{
			{Kind: score.ReasonPrior, Times: 1, Weight: -3.5}, {Kind: score.ReasonSeen, What: "links to the folder http://a.example/b/", Times: 1, Weight: 1.25},
		}},
		"shortly": {scorer: "waggle", taken: -2.25, learnt: true, now: -1.5, then: -2, at: &score.Moment{Known: 1}, expects: priorities("waggle"), reasons: []score.Reason{
			{Kind: score.ReasonPrior, Times: 1, Weight: -2},
		}},
		"after": {scorer: "apprentice", taken: 0.5, learnt: true, now: 1.25, reasons: []score.Reason{
			{Kind: score.ReasonPrior, Times: 1, Weight: 1.25},
		}},
		"silent": {scorer: "pagerank", now: 3},
		"small": {scorer: "lm10-crf", now: 0.000123, reasons: []score.Reason{
			{Kind: score.ReasonPath, Times: 1, Weight: 0.000165}, {Kind: score.ReasonWord, What: "person", Times: 1, Weight: -0.000042},
		}},
	}
	many := linkParts{scorer: "apprentice", now: 2}
	for i := range mostReasons + 3 {
		many.reasons = append(many.reasons, score.Reason{Kind: score.ReasonWord, What: fmt.Sprint("word", i), Times: 1, Weight: 0.125})
	}
	many.reasons = append(many.reasons, score.Reason{Kind: score.ReasonPrior, Times: 1, Weight: -0.375})
	links["many"] = many
	datadriven.Walk(t, filepath.Join("testdata", "link"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			l, ok := links[d.Cmd]
			if !ok {
				t.Fatalf("no link %s", d.Cmd)
			}
			l.parent = addr(t, "https://brew.example/")
			var out strings.Builder
			l.print(&out)
			return strings.ReplaceAll(strings.TrimPrefix(out.String(), "\n"), "\n\n", "\n")
		})
	})
}

func addr(t interface{ Fatal(...any) }, s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Whatever pages and servers say, nothing of it acts on a terminal.
func TestExplanationIsHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SampledFrom([]string{"\x1b[2J\x1b[H\x1b]0;owned\x07", "\u202egnp.exe", "a\r\nb\tc", "\u009b31m", "\xff\xfe"}), rapid.String())
		u := addr(t, "https://a.example/"+rapid.StringMatching(`[ -~é\x{202e}]{0,200}`).Draw(t, "path"))
		at := event.At{At: time.Unix(rapid.Int64Range(0, 1e6).Draw(t, "t"), 0)}
		events := []event.Event{
			event.Started{At: at, Name: text.Draw(t, "name"), Scorer: text.Draw(t, "scorer"), Judge: text.Draw(t, "judge")},
			event.Seeded{At: at, Queued: []event.Found{{URL: u, Anchor: text.Draw(t, "anchor")}}},
			event.Fetched{At: at, Visit: event.Visit{URL: u}, Title: text.Draw(t, "title"), Relevant: true, Relevance: rapid.Float64().Draw(t, "rel"),
				Reason:  web.Reason(rapid.OneOf(rapid.Just(""), text).Draw(t, "why")),
				Queued:  []event.Found{{URL: u, Anchor: text.Draw(t, "anchor"), Raised: true}},
				Skipped: []event.Skipped{{URL: u, Reason: web.Reason(text.Draw(t, "skip"))}}},
			event.Failed{At: at, Visit: event.Visit{URL: u, Link: web.LinkKind(text.Draw(t, "kind"))}, Reason: web.Reason(text.Draw(t, "reason")),
				Detail: text.Draw(t, "detail"), Retry: rapid.Bool().Draw(t, "retry"), To: u},
			event.Ended{At: at, How: event.Ending(rapid.OneOf(rapid.Just(""), text).Draw(t, "how"))},
		}
		events = events[:rapid.IntRange(0, len(events)).Draw(t, "n")]
		x, err := event.Explain(func(yield func(event.Event, error) bool) {
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}, u)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := writePath(&out, &x); err != nil {
			t.Fatal(err)
		}
		for _, r := range out.String() {
			if r != '\n' && !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%U reaches the terminal in %q", r, out.String())
			}
		}
	})
}
