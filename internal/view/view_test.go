package view

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// The report at the end, which may stand in a file, keeps back no reason.
func TestReportNamesAllReasons(t *testing.T) {
	var s event.Summary
	s.NotKept = map[web.Reason]int{}
	for i, r := range []web.Reason{web.ReasonNearCopy, web.ReasonNotFound, web.ReasonLinksOnly, web.ReasonNoIndex, web.ReasonDuplicate, web.ReasonDamaged} {
		s.NotKept[r] = 1 + i%2
	}
	var out bytes.Buffer
	if err := WriteSummary(&out, &s, "--resume"); err != nil {
		t.Fatal(err)
	}
	for r := range s.NotKept {
		if !strings.Contains(out.String(), r.Brief()) || strings.Contains(out.String(), "others") {
			t.Errorf("%s is missing in\n%s", r.Brief(), out.String())
		}
	}
}

// A crawl that ended by --until-gain may show a forecast that is not below it: what is shown goes
// by the verdicts that hold.
func TestReportTellsByWhichVerdictsItEnded(t *testing.T) {
	s := event.Summary{}
	for i := range 120 {
		s.Add(event.Fetched{Visit: event.Visit{URL: viewAddr(t, fmt.Sprintf("https://a.test/%d", i))}})
	}
	s.Add(event.Ended{How: event.GainLow, Frontier: web.FrontierStats{Queued: 1}})
	const why = "; --until-gain went by the verdicts with which the pages came"
	report := func() string {
		var out strings.Builder
		if err := WriteSummary(&out, &s, "--resume"); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := report(); !strings.Contains(got, "next 100") || strings.Contains(got, why) {
		t.Errorf("nothing was judged anew:\n%s", got)
	}
	anew := event.Rejudged{Pages: []event.Verdict{{URL: viewAddr(t, "https://a.test/119"), Relevant: true}}}
	s.Add(anew)
	if got := report(); !strings.Contains(got, "crawls of ten"+why) {
		t.Errorf("a page was judged anew:\n%s", got)
	}
	anew.Judge = "topic" // waggle judge, whose verdicts --until-gain goes by
	s.Add(anew)
	if got := report(); strings.Contains(got, why) {
		t.Errorf("the crawl was judged anew:\n%s", got)
	}
}

// An address that moved to one seen before is no failure: the page of the crawl and the report
// count alike. Links that mutes set aside are told once, also those that came back and were muted again.
func TestReportCountsOnce(t *testing.T) {
	var s event.Summary
	for range 4 {
		s.Add(event.Failed{Reason: web.ReasonRedirectKnown})
	}
	s.Add(event.Failed{Reason: web.ReasonRedirect, Queued: true})
	s.Requests = 1
	s.Add(event.Dropped{Reason: web.ReasonMuted, Count: 145})
	s.Add(event.Dropped{Reason: web.ReasonMuted, Count: 578})
	s.Add(event.Ended{How: event.Stopped, Frontier: web.FrontierStats{Muted: 578}})
	var out bytes.Buffer
	if err := WriteSummary(&out, &s, "--resume"); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if want := "\nredirects    1 followed, 4 to addresses that were seen before\n"; !strings.Contains(got, want) || strings.Contains(got, "failed") {
		t.Errorf("want %q and no failure in\n%s", want, got)
	}
	if strings.Contains(got, "dropped") || !strings.Contains(got, "\nmuted        578 links") {
		t.Errorf("links are muted twice in\n%s", got)
	}
	if want := " in 1 request\n"; !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, got)
	}
}

// Where the only page is under way, a line says what is waited for.
func TestPlainTellsWhatIsWaitedFor(t *testing.T) {
	for stats, want := range map[web.FrontierStats]string{
		{Hosts: 1, Leased: 1}:                      "hosts 0 ready, 0 waiting, 1 page being fetched, read or rendered",
		{Hosts: 2, Leased: 1, Waiting: 1}:          "hosts 0 ready, 1 waiting  ",
		{Hosts: 2, Leased: 1, Ready: 1, Queued: 3}: "hosts 1 ready, 0 waiting  ",
	} {
		v := newPlain(&bytes.Buffer{})
		v.state.Frontier = stats
		if line := v.line(); !strings.Contains(line, want) {
			t.Errorf("%+v: %q, want %q", stats, line, want)
		}
	}
}

// Links that mutes set aside are told on the screen, in lines and in the report, and that a crawl ended
// for want of others.
func TestMutedLinksAreTold(t *testing.T) {
	var lines, report bytes.Buffer
	plain := newPlain(&lines)
	plain.Add(event.Started{Name: "bees"})
	stats := web.FrontierStats{Queued: 3, Hosts: 1, Ready: 1, Muted: 1}
	plain.Add(event.Tick{At: event.At{At: time.Unix(20, 0)}, Frontier: stats})
	screen := plain.state.Render(time.Unix(20, 0), 100, 20, false)
	plain.Add(event.Ended{At: event.At{At: time.Unix(21, 0)}, How: event.FrontierEmpty, Frontier: web.FrontierStats{Muted: 12}})
	if err := WriteSummary(&report, &plain.state.Summary, ""); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][3]string{
		"lines":  {lines.String(), "  1 link set aside by mutes  ", "ended: no link is left, but 12 that mutes set aside\n"},
		"screen": {screen, "\nmuted     1 link set aside by mutes", ""},
		"end":    {plain.state.Render(time.Unix(21, 0), 100, 20, false), "no link is left, but 12 that mutes set aside\n", "\nmuted     12 links set aside by mutes"},
		"report": {report.String(), "ended        no link is left, but 12 that mutes set aside\n", "\nmuted        12 links set aside by mutes"},
	} {
		if !strings.Contains(got[0], got[1]) || !strings.Contains(got[0], got[2]) {
			t.Errorf("%s: want %q and %q in\n%s", name, got[1], got[2], got[0])
		}
	}
}

// Lines for a file tell that a crawl is paused by an act, and that it goes on, each once.
func TestPlainTellsOfPauses(t *testing.T) {
	var lines bytes.Buffer
	v := newPlain(&lines)
	at := func(s int64) event.At { return event.At{At: time.Unix(s, 0)} }
	v.Add(event.Started{At: at(0), Name: "bees"})
	v.Add(event.Act{At: at(1), Do: event.Pause, Number: 1})
	v.Add(event.Act{At: at(2), Do: event.Mute, Place: "a.test", Number: 2})
	v.Add(event.Act{At: at(3), Do: event.Continue, Number: 3})
	v.Add(event.Act{At: at(4), Do: event.Pause, Number: 4})
	v.Add(event.Act{At: at(5), Do: event.Undo, Act: 4, Number: 5})
	v.Add(event.Act{At: at(6), Do: event.Pause, Number: 6, Refused: "no"})
	want := "paused by act 1: waggle steer DIR continue lets it go on\n" +
		"act 3 lets the crawl go on after 2s\n" +
		"paused by act 4: waggle steer DIR continue lets it go on\n" +
		"act 5 lets the crawl go on after 1s\n"
	if lines.String() != want {
		t.Errorf("%s\nwant\n%s", lines.String(), want)
	}
}

// A doubt is told once, with whatever figures, and no more pages are named than there are.
func TestPlainTellsADoubtOnce(t *testing.T) {
	var out bytes.Buffer
	v := newPlain(&out)
	for _, said := range []string{"none of the first 64 pages is relevant", "none of the first 256 pages is relevant", "one example"} {
		v.Add(event.Doubt{Notes: []string{said}})
	}
	if got := out.String(); strings.Count(got, "none of the first") != 1 || !strings.Contains(got, "first 64") || !strings.Contains(got, "one example") {
		t.Errorf("it tells\n%s", got)
	}
	v.state.Pages = 7
	if line := v.line(); !strings.Contains(line, "last 7 ") {
		t.Errorf("of 7 pages: %s", line)
	}
}

// The last line of a crawl whose host is not trusted names what helps.
func TestWhyDown(t *testing.T) {
	var s event.Summary
	if got := WhyDown(&s); got != "" {
		t.Error(got)
	}
	s.Add(event.HostDown{Host: "a.example", Reason: web.ReasonTLS, Failures: 3})
	if got, want := WhyDown(&s), " (the connection cannot be trusted: an authority of your own is trusted with SSL_CERT_FILE=FILE)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A round of a collection goes on by --again, not by --resume: on a terminal, in lines and in the
// report.
func TestRoundSummary(t *testing.T) {
	s := event.Summary{How: event.Stopped}
	var crawl, round bytes.Buffer
	if err := errors.Join(WriteSummary(&crawl, &s, "--resume"), WriteSummary(&round, &s, "--again")); err != nil {
		t.Fatal(err)
	}
	if a, b := crawl.String(), round.String(); !strings.Contains(a, "--resume goes on") || strings.Contains(b, "--resume") || !strings.Contains(b, "--again goes on") {
		t.Errorf("%s\n%s", a, b)
	}
	var lines bytes.Buffer
	plain := newPlain(&lines)
	plain.state.goesOn = "--again"
	plain.Add(event.Ended{How: event.Stopped})
	state := viewState{goesOn: "--again", Summary: s}
	row := state.budgetRow(time.Time{}, 0, 80, false)
	keys := strings.Join(helpRows(100, false, "--again"), "\n")
	for _, shown := range []string{lines.String(), row, keys} {
		if strings.Contains(shown, "--resume") || !strings.Contains(shown, "--again goes on") {
			t.Errorf("%s", shown)
		}
	}
}

func viewAddr(t interface{ Fatal(...any) }, s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// tale is a crawl of n pages, four a second, of which every third is relevant
// in its first half and two of three in its second; it is the same every time.
func tale(t *testing.T, n, budget int) (events []event.Event, now time.Time) {
	now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func() event.At { return event.At{At: now} }
	events = append(events, event.Started{
		At: at(), Name: "hops and malt", Scorer: "best-first-both", Judge: "topic",
		Pages: budget, Workers: 32, Threshold: 0.42,
	})
	seed := viewAddr(t, "https://brew.example/")
	events = append(events, event.Seeded{At: at(), Queued: []event.Found{{URL: seed, Priority: 1}}})
	for i := range n {
		now = now.Add(250 * time.Millisecond)
		p := event.Fetched{
			At: at(), Visit: event.Visit{URL: viewAddr(t, fmt.Sprintf("https://h%d.example/hops/%d", i%7, i)), From: seed, Link: web.LinkA},
			Status: 200, Bytes: 31_415, Title: fmt.Sprintf("Hops of the %dth valley, with a long title about malt", i), Links: 60,
			Relevance: 0.1,
			Skipped:   []event.Skipped{{URL: viewAddr(t, fmt.Sprintf("https://x%d.example/", i)), Reason: web.ReasonScope}},
		}
		if i%3 == 0 || i > n/2 && i%3 == 1 {
			p.Relevant, p.Relevance = true, 0.5+float64(i%50)/100
		}
		if i%10 == 9 {
			p.Skipped = append(p.Skipped, event.Skipped{URL: viewAddr(t, fmt.Sprintf("https://y%d.example/", i)), Reason: web.ReasonTrap})
			events = append(events, event.Failed{At: at(), Visit: event.Visit{URL: viewAddr(t, fmt.Sprintf("https://z%d.example/", i))}, Reason: web.ReasonTimeout, Bytes: 10})
		}
		for j := range 3 {
			p.Queued = append(p.Queued, event.Found{URL: viewAddr(t, fmt.Sprintf("https://h%d.example/q/%d", j, i))})
		}
		events = append(events, p)
		if i%4 == 3 {
			events = append(events, event.Tick{At: at(), Frontier: web.FrontierStats{Queued: 2*i + 1, Leased: 12, Hosts: 43, Ready: 23, Waiting: 8}})
		}
	}
	return events, now
}

// hostile is what a page may call itself.
var hostile = []string{ // fixed
	"\x1b[2J\x1b[H\x1b]0;owned\x07", "\u202egnp.exe", "日本語のとても長い題名です、これは幅が二倍", "a\r\nb\tc", "\u009b31m", "\xff\xfe",
	strings.Repeat("e\u0301\u0301\u0301\u0301", 30), "\u200b\u200b", "👩‍👩‍👧‍👦 family 🇩🇪", strings.Repeat("x", 300),
}

// TestViews replays the transcripts of testdata:
//
//	crawl pages=N [budget=N] [end=HOW] [hostile] [down=N] [cut]   events to look at, with N hosts down; pages cut
//	view width=N height=N [colour] [keys=K,K]   the live view at the last event; styles as <1>…<0>
//	     [hosts=N] [paused] [stopping] [outage=D next=D]   after keys; with N hosts; in an outage since D
//	     [stages=S:N,S:N] [fetches=N] [idle=WHY] [due=D] [told=D]   what the fetches wait for, as told D ago
//	plain                                    what a pipe gets
//	summary                                  the report at the end
func TestViews(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var events []event.Event
		var now time.Time
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			switch d.Cmd {
			case "crawl":
				var n, budget int
				var end string
				d.ScanArgs(t, "pages", &n)
				d.MaybeScanArgs(t, "budget", &budget)
				d.MaybeScanArgs(t, "end", &end)
				events, now = tale(t, n, budget)
				if d.HasArg("cut") {
					for i, why := range []string{"time", "length", "time", "disconnect"} {
						events = append(events, event.Fetched{
							At: event.At{At: now}, Visit: event.Visit{URL: viewAddr(t, fmt.Sprintf("https://cut.example/%d", i))}, Truncated: true, Cut: why,
						})
					}
				}
				if d.HasArg("part") {
					for i := range 2 {
						events = append(events, event.Fetched{At: event.At{At: now}, Visit: event.Visit{URL: viewAddr(t, fmt.Sprintf("https://part.example/%d", i))}, Truncated: true})
					}
				}
				if d.HasArg("hostile") {
					for i, s := range hostile {
						now = now.Add(time.Second)
						events = append(events, event.Fetched{
							At: event.At{At: now}, Visit: event.Visit{URL: viewAddr(t, fmt.Sprintf("https://evil.example/%d", i))},
							Title: s, Relevant: true, Relevance: 1,
						})
					}
				}
				var down int
				var f web.FrontierStats
				if d.MaybeScanArgs(t, "down", &down); down > 0 {
					f = web.FrontierStats{Queued: 839, Leased: 12, Hosts: 43, Ready: 23, Waiting: 8 + down, Down: down, Held: 40 * down}
					events = append(events, event.Tick{At: event.At{At: now}, Frontier: f})
				}
				if end != "" {
					events = append(events, event.Ended{At: event.At{At: now}, How: event.Ending(end), Frontier: f})
				}
			case "view":
				var width, height int
				d.ScanArgs(t, "width", &width)
				d.ScanArgs(t, "height", &height)
				var s viewState
				for _, e := range events {
					s.Add(e)
				}
				var pressed, since, next string
				var hosts int
				d.MaybeScanArgs(t, "hosts", &hosts)
				d.MaybeScanArgs(t, "keys", &pressed)
				d.MaybeScanArgs(t, "outage", &since)
				d.MaybeScanArgs(t, "next", &next)
				s.keys, s.paused, s.stopping = d.HasArg("keys"), d.HasArg("paused"), d.HasArg("stopping")
				if d.HasArg("hosts") {
					s.hosts = queues(now, hosts)
				}
				if d.HasArg("fetches") {
					s.activity = activity(t, d, now)
				}
				if since != "" {
					s.Outage(outage{since: now.Add(-duration(t, since)), next: now.Add(duration(t, next)), hosts: 12})
				}
				s.Render(now, width, height, false) // keys work on what was seen
				for k := range strings.SplitSeq(pressed, ",") {
					s.press(key(strings.ReplaceAll(k, "-", " ")))
					s.Render(now, width, height, false)
				}
				text := s.Render(now, width, height, d.HasArg("colour"))
				out.WriteString(strings.NewReplacer("\x1b[", "<", "m", "m").Replace(text))
			case "plain":
				v := newPlain(&out)
				for i, e := range events {
					v.Add(e)
					switch at := e.Time(); {
					case d.HasArg("outage") && i == len(events)/2:
						v.Add(event.Outage{At: event.At{At: at}, Since: at.Add(-3 * time.Minute), Next: at.Add(time.Minute), Sites: 12})
						v.Add(event.Outage{At: event.At{At: at}, Since: at.Add(-3 * time.Minute), Next: at.Add(2 * time.Minute), Sites: 12, Probes: 1})
					case d.HasArg("outage") && i == len(events)/2+1:
						v.Add(event.Outage{At: event.At{At: at}, Since: events[len(events)/2].Time().Add(-3 * time.Minute), Over: true})
					}
				}
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
			case "summary":
				var s event.Summary
				for _, e := range events {
					s.Add(e)
				}
				if err := WriteSummary(&out, &s, "--resume"); err != nil {
					t.Fatal(err)
				}
			}
			return out.String()
		})
	})
}

// queues are hosts that wait for all there is to wait for.
func queues(now time.Time, n int) []web.HostQueue {
	out := []web.HostQueue{}
	for i := range n {
		h := web.HostQueue{HostState: web.HostState{Host: web.Host(fmt.Sprintf("h%d.example", i)), Fetched: 3 * i}, Queued: 2000 - 130*i}
		switch i % 4 {
		case 0:
			h.Busy = true
		case 1:
			h.Due = now.Add(700 * time.Millisecond)
		case 2:
			h.Host, h.Due, h.Failures = web.Host(fmt.Sprintf("z%d.example", 10*i-11)), now.Add(4*time.Minute), 3
			h.Down = i == 6
		case 3:
			h.Slow = 1
		}
		out = append(out, h)
	}
	return out
}

// activity is what the arguments of a view say that the crawl does.
func activity(t *testing.T, d *datadriven.TestData, now time.Time) *web.Activity {
	var stages, idle, due, told string
	a := &web.Activity{At: now, Stages: map[web.Stage]int{}}
	d.ScanArgs(t, "fetches", &a.Fetches)
	d.MaybeScanArgs(t, "stages", &stages)
	for s := range strings.SplitSeq(stages, ",") {
		if name, n, ok := strings.Cut(s, ":"); ok {
			k, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			a.Stages[web.Stage(name)] = k
		}
	}
	d.MaybeScanArgs(t, "idle", &idle)
	a.Idle = web.Idle(idle)
	if d.MaybeScanArgs(t, "due", &due); due != "" {
		a.Due = now.Add(duration(t, due))
	}
	if d.MaybeScanArgs(t, "told", &told); told != "" {
		a.At = now.Add(-duration(t, told))
	}
	return a
}

func duration(t *testing.T, s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// harmless fails unless text holds lines of visible characters only.
func harmless(t interface{ Fatalf(string, ...any) }, text string) {
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("%U reaches the terminal in %q", r, text)
		}
	}
}

// Whatever pages and sizes: every view keeps to its room, and lets nothing of a
// page through that could do more than be read.
func TestViewsAreHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SampledFrom(hostile), rapid.String())
		u := viewAddr(t, "https://a.example/"+rapid.StringMatching(`[ -~é\x{202e}]{0,200}`).Draw(t, "path"))
		at := event.At{At: time.Unix(rapid.Int64Range(0, 1e6).Draw(t, "t"), 0)}
		n := rapid.IntRange(0, 1e9)
		events := []event.Event{
			event.Started{At: at, Name: text.Draw(t, "name"), Scorer: text.Draw(t, "scorer"), Judge: text.Draw(t, "judge"),
				Pages: n.Draw(t, "budget"), Limit: time.Duration(n.Draw(t, "limit")) * time.Second},
			event.Seeded{At: at, Queued: []event.Found{{URL: u, Anchor: text.Draw(t, "anchor")}}},
			event.Fetched{At: at, Visit: event.Visit{URL: u}, Title: text.Draw(t, "title"), Relevant: true, Relevance: rapid.Float64().Draw(t, "rel"),
				Bytes: n.Draw(t, "bytes"), Reason: web.Reason(rapid.OneOf(rapid.Just(""), text).Draw(t, "why")),
				Queued:  []event.Found{{URL: u, Anchor: text.Draw(t, "anchor"), Raised: true}},
				Skipped: []event.Skipped{{URL: u, Reason: web.Reason(text.Draw(t, "skip"))}}},
			event.Failed{At: at, Visit: event.Visit{URL: u, Link: web.LinkKind(text.Draw(t, "kind"))}, Reason: web.Reason(text.Draw(t, "reason")),
				Detail: text.Draw(t, "detail"), Retry: rapid.Bool().Draw(t, "retry"), To: u},
			event.Tick{At: at, Frontier: web.FrontierStats{Queued: n.Draw(t, "q"), Ready: n.Draw(t, "r"), Waiting: n.Draw(t, "w"), Leased: n.Draw(t, "l")}},
			event.Ended{At: at, How: event.Ending(rapid.OneOf(rapid.Just(""), text).Draw(t, "how"))},
		}
		width, height := rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")
		events = events[:rapid.IntRange(0, len(events)).Draw(t, "n")]
		var state viewState
		var pipe, report bytes.Buffer
		plain := newPlain(&pipe)
		for _, e := range events {
			state.Add(e)
			plain.Add(e)
		}
		now := time.Unix(rapid.Int64Range(0, 2e6).Draw(t, "now"), 0)
		if rapid.Bool().Draw(t, "told") {
			state.activity = &web.Activity{
				At: now, Fetches: n.Draw(t, "fetches"), Idle: web.Idle(rapid.OneOf(rapid.SampledFrom(web.Idles()), rapid.Custom(func(t *rapid.T) web.Idle { return web.Idle(text.Draw(t, "idle")) })).Draw(t, "why")),
				Stages: rapid.MapOf(rapid.SampledFrom(web.Stages()), rapid.IntRange(1, 1e6)).Draw(t, "stages"), Due: time.Unix(rapid.Int64Range(0, 3e6).Draw(t, "due"), 0),
			}
		}
		view := state.Render(now, width, height, false)
		harmless(t, view)
		lines := strings.Split(strings.TrimSuffix(view, "\n"), "\n")
		if len(lines) > max(1, height-1) {
			t.Fatalf("%d lines in a height of %d", len(lines), height)
		}
		for _, l := range lines {
			if terminal.Cells(l) > max(1, width-1) {
				t.Fatalf("%q takes %d cells in a width of %d", l, terminal.Cells(l), width)
			}
		}
		if got := unstyled(state.Render(now, width, height, true)); got != view {
			t.Fatalf("colour changes the text:\n%q\n%q", got, view)
		}
		harmless(t, pipe.String())
		if err := WriteSummary(&report, &state.Summary, "--resume"); err != nil {
			t.Fatal(err)
		}
		harmless(t, report.String())
	})
}

func TestJSONView(t *testing.T) {
	events, _ := tale(t, 10, 0)
	var out bytes.Buffer
	v := newJSONView(&out)
	for _, e := range events {
		v.Add(e)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, err := range event.Read(&out) {
		if err != nil || e.Kind() != events[n].Kind() {
			t.Fatalf("event %d: %v, %v", n, e, err)
		}
		n++
	}
	if n != len(events) {
		t.Errorf("%d events, want %d", n, len(events))
	}
	for err, silent := range map[error]bool{syscall.EPIPE: true, syscall.ENOSPC: false} {
		s := &sink{err: err}
		v := newJSONView(s)
		v.Add(events[0])
		v.Add(events[1])
		if got := v.Close(); (got == nil) != silent || got != nil && !errors.Is(got, err) {
			t.Errorf("writing fails with %v: Close says %v", err, got)
		}
		if len(s.writes) != 1 {
			t.Errorf("%d writes to a broken pipe, want 1", len(s.writes))
		}
	}
}

// unstyled removes the styles that paint sets.
func unstyled(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}
