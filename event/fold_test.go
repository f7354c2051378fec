package event

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// parseStory reads the events of a test, one a line. Addresses are host/path.
// A moment in seconds, as in "@12", sets the time of the events after it; each
// event comes a second after the one before.
//
//	start NAME [resumed] [pages=N]
//	seed ADDR=PRIORITY… !ADDR=REASON…
//	page ADDR [from=ADDR] RELEVANCE [REASON] [title=…] [cut=…] [links…]   relevant from 0.5
//	fail ADDR [from=ADDR] REASON [retry]
//	move ADDR [from=ADDR] to=ADDR [REASON]                        without a reason it is followed
//	drop REASON ADDR… | drop REASON host=HOST count=N
//	tick QUEUED LEASED
//	change SETTING OLD NEW
//	outage SITES [over] | down HOST REASON | up HOST | trap HOST SHAPE
//	end HOW
//
// A link is ADDR=PRIORITY, ADDR^PRIORITY if it rose, or !ADDR=REASON.
func parseStory(t *testing.T, text string) (events []Event) {
	clock := epoch
	long := func(s string) web.URL {
		if s == "" {
			return web.URL{}
		}
		return addr("https://" + s)
	}
	float := func(s string) float64 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatalf("story: %v", err)
		}
		return f
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if s, ok := strings.CutPrefix(words[0], "@"); ok {
			clock = epoch.Add(time.Duration(float(s) * float64(time.Second)))
			continue
		}
		at := At{clock}
		clock = clock.Add(time.Second)
		named := map[string]string{}
		var plain []string
		var queued []Found
		var skipped []Skipped
		for _, w := range words[1:] {
			if k, v, ok := strings.Cut(w, "="); ok {
				switch {
				case k[0] == '!':
					skipped = append(skipped, Skipped{URL: long(k[1:]), Reason: web.Reason(v)})
				case strings.Contains(k, "/"):
					queued = append(queued, Found{URL: long(k), Priority: float(v), Anchor: "to " + k})
				default:
					named[k] = v
				}
			} else if k, v, ok := strings.Cut(w, "^"); ok {
				queued = append(queued, Found{URL: long(k), Priority: float(v), Anchor: "up to " + k, Raised: true})
			} else {
				plain = append(plain, w)
			}
		}
		arg := func(i int) string {
			if i < len(plain) {
				return plain[i]
			}
			return ""
		}
		visit := Visit{From: long(named["from"]), Link: web.LinkA, Priority: 0.25}
		if visit.From.IsZero() {
			visit.Link = web.LinkSeed
		}
		switch words[0] {
		case "start":
			n, _ := strconv.Atoi(named["pages"])
			events = append(events, Started{At: at, Name: arg(0), Scorer: "S", Judge: "J", Threshold: 0.5, Pages: n, Resumed: arg(1) != ""})
		case "seed":
			events = append(events, Seeded{at, queued, skipped})
		case "page":
			visit.URL = long(arg(0))
			rel := float(arg(1))
			events = append(events, Fetched{
				At: at, Visit: visit, Status: 200, Bytes: 1000, Title: named["title"], Relevance: rel, Cut: named["cut"],
				Relevant: rel >= 0.5 && arg(2) == "", Reason: web.Reason(arg(2)),
				Links: len(queued) + len(skipped), Queued: queued, Skipped: skipped, Digest: named["body"],
			})
		case "fail":
			visit.URL = long(arg(0))
			events = append(events, Failed{At: at, Visit: visit, Reason: web.Reason(arg(1)), Detail: "said " + arg(1), Retry: arg(2) != "", Outage: arg(2) == "outage"})
		case "move":
			visit.URL = long(arg(0))
			e := Failed{At: at, Visit: visit, Reason: web.Reason(arg(1)), To: long(named["to"]), Status: 301}
			if e.Reason == "" {
				e.Reason, e.Queued = web.ReasonRedirect, true
			}
			events = append(events, e)
		case "drop":
			n, _ := strconv.Atoi(named["count"])
			e := Dropped{At: at, Reason: web.Reason(arg(0)), Host: web.Host(named["host"]), Count: n}
			for _, a := range plain[1:] {
				e.URLs = append(e.URLs, long(a))
				e.Count = len(e.URLs)
			}
			events = append(events, e)
		case "tick":
			events = append(events, Tick{At: at, Frontier: web.FrontierStats{Queued: int(float(arg(0))), Leased: int(float(arg(1)))}})
		case "change":
			events = append(events, Changed{at, arg(0), arg(1), arg(2)})
		case "outage":
			events = append(events, Outage{At: at, Since: at.At.Add(-time.Minute), Sites: int(float(arg(0))), Next: at.At.Add(time.Second), Over: arg(1) != ""})
		case "down":
			events = append(events, HostDown{At: at, Host: web.Host(arg(0)), Reason: web.Reason(arg(1)), Failures: 6, Since: at.At, Next: at.At.Add(time.Hour)})
		case "up":
			events = append(events, HostDown{At: at, Host: web.Host(arg(0)), Over: true})
		case "trap":
			events = append(events, Trap{At: at, Host: web.Host(arg(0)), Shape: arg(1), Copies: 12})
		case "end":
			events = append(events, Ended{At: at, How: Ending(arg(0))})
		default:
			t.Fatalf("story: no event %q", words[0])
		}
	}
	return events
}

func sequence(events []Event, last error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

// TestStories replays the transcripts of testdata/stories.
func TestStories(t *testing.T) {
	short := func(u web.URL) string { return strings.TrimPrefix(u.String(), "https://") }
	datadriven.Walk(t, filepath.Join("testdata", "stories"), func(t *testing.T, path string) {
		var events []Event
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			switch d.Cmd {
			case "story":
				events = parseStory(t, d.Input)
			case "summary", "harvest":
				seq := sequence(events, nil)
				var history History
				for _, e := range events {
					history.Add(e)
				}
				if threshold, ok := history.Threshold(); ok {
					seq = Under(threshold, seq)
				}
				var s Summary
				var h Harvest
				for e := range seq {
					s.Add(e)
					h.Add(e)
				}
				if d.Cmd == "harvest" {
					if err := h.WriteTSV(&out); err != nil {
						t.Fatal(err)
					}
					break
				}
				fmt.Fprintf(&out, "pages %d of %d, relevant %d, harvest %.3f, of late %.3f, hosts %d\n",
					s.Pages, s.Budget, s.Relevant, s.Harvest(), s.RecentHarvest(), s.Hosts())
				fmt.Fprintf(&out, "requests %d, bytes %d, retries %d, redirects %d\n", s.Requests, s.Bytes, s.Retries, s.Redirect)
				fmt.Fprintf(&out, "queued %d, raised %d, waiting %d\n", s.Queued, s.Raised, s.Frontier.Queued)
				fmt.Fprintf(&out, "failed %v\nskipped %v\ndropped %v\nnot kept %v\n",
					ByCount(s.Failures), ByCount(s.Skipped), ByCount(s.Dropped), ByCount(s.NotKept))
				fmt.Fprintf(&out, "runs %d, %v, ended %q\n", s.Runs, s.Elapsed(s.Last), s.How)
				fmt.Fprintf(&out, "best %v\n", s.TopHosts(2))
				if s.Outages > 0 {
					fmt.Fprintf(&out, "outages %d, %v together\n", s.Outages, s.Silence)
				}
				for _, d := range s.Down(3) {
					fmt.Fprintf(&out, "down %s: %s\n", d.Host, d.Reason)
				}
			case "explain":
				x, err := Explain(sequence(events, nil), addr("https://"+d.CmdArgs[0].String()))
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "%s", x.Fate)
				if x.Reason != "" {
					fmt.Fprintf(&out, ": %s", x.Reason)
				}
				if !x.To.IsZero() {
					fmt.Fprintf(&out, " to %s", short(x.To))
				}
				if !x.Like.IsZero() {
					fmt.Fprintf(&out, " like %s", short(x.Like))
				}
				if x.Down.Host != "" {
					fmt.Fprintf(&out, ", its host is down: %s", x.Down.Reason)
				}
				if x.Trap.Shape != "" {
					fmt.Fprintf(&out, " %s", x.Trap.Shape)
				}
				if !x.Whole {
					fmt.Fprintf(&out, " (log without an end)")
				}
				out.WriteString("\n")
				for _, s := range x.Path {
					fmt.Fprintf(&out, "  %s", short(s.URL))
					if s.HasQueued {
						fmt.Fprintf(&out, " %v", s.Queued)
					}
					if s.Raised {
						out.WriteString(" raised")
					}
					if s.HasLeased {
						fmt.Fprintf(&out, " taken %v as %s", s.Leased, s.Link)
					}
					if s.Tries > 0 {
						fmt.Fprintf(&out, " after %d tries", s.Tries)
					}
					if s.Fetched {
						fmt.Fprintf(&out, " relevance %v", s.Relevance)
					}
					out.WriteString("\n")
				}
				for _, n := range x.Notes {
					fmt.Fprintf(&out, "  - %s", n.What)
					if !n.On.IsZero() {
						fmt.Fprintf(&out, " on %s", short(n.On))
					}
					if n.Reason != "" {
						fmt.Fprintf(&out, " %s", n.Reason)
					}
					out.WriteString("\n")
				}
				for _, c := range x.Changes {
					fmt.Fprintf(&out, "  %s was %s, is %s\n", c.Setting, c.Old, c.New)
				}
			default:
				d.Fatalf(t, "no command %s", d.Cmd)
			}
			return out.String()
		})
	})
}

func TestExplainTorn(t *testing.T) {
	events := parseStory(t, "start x\nseed a.example/=1\npage a.example/ 0.9 b.example/=0.5\nend Stopped")
	u := addr("https://b.example/")
	whole, err := Explain(sequence(events, nil), u)
	if err != nil || !whole.Whole {
		t.Fatalf("whole %v, %v", whole.Whole, err)
	}
	torn, err := Explain(sequence(events, &LineError{"log", 5, ErrTorn}), u)
	if err != nil || torn.Whole {
		t.Fatalf("a torn log: whole %v, %v", torn.Whole, err)
	}
	judged := append(slices.Clone(events), Rejudged{})
	if again, err := Explain(sequence(judged, nil), u); err != nil || !again.Whole {
		t.Errorf("pages judged anew after the end: whole %v, %v", again.Whole, err)
	}
	if killed, err := Explain(sequence(append(judged, Started{}), nil), u); err != nil || killed.Whole {
		t.Errorf("a later run without an end: whole %v, %v", killed.Whole, err)
	}
	if torn.Whole = true; cmp.Diff(whole, torn, equal) != "" {
		t.Error(cmp.Diff(whole, torn, equal))
	}
	broken := errors.New("unplugged")
	if _, err := Explain(sequence(events, broken), u); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// A long history keeps its beginning and its end, and says what is missing.
func TestExplainLongHistory(t *testing.T) {
	u := addr("https://a.example/")
	var events []Event
	const n = 1000
	for i := range n {
		events = append(events, Failed{At: after(float64(i)), Visit: Visit{URL: u}, Reason: web.ReasonTimeout, Retry: true})
	}
	x, err := Explain(sequence(events, nil), u)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Notes)+x.Left != n || len(x.Notes) != maxNotes {
		t.Errorf("%d notes and %d left out, of %d", len(x.Notes), x.Left, n)
	}
	first, last := x.Notes[0].At, x.Notes[len(x.Notes)-1].At
	if !first.Equal(epoch) || !last.Equal(events[n-1].Time()) {
		t.Errorf("notes from %v to %v", first, last)
	}
}

// Explain against a model that holds the whole crawl: every page's path starts
// at a seed, and each step was named by the one before it.
func TestExplainEveryPage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "pages")
		page := func(i int) web.URL { return addr(fmt.Sprintf("https://h%d.example/%d", i%3, i)) }
		parent := make([]int, n) // of page i, -1 for a seed
		var events []Event
		for i := range n {
			parent[i] = rapid.IntRange(-1, i-1).Draw(t, "parent")
		}
		var seeds []Found
		for i, p := range parent {
			if p < 0 {
				seeds = append(seeds, Found{URL: page(i), Priority: float64(i)})
			}
		}
		events = append(events, Seeded{Queued: seeds})
		for i := range n {
			v := Visit{URL: page(i), Priority: float64(i)}
			if parent[i] >= 0 {
				v.From = page(parent[i])
			}
			var queued []Found
			for j := i + 1; j < n; j++ {
				if parent[j] == i {
					queued = append(queued, Found{URL: page(j), Priority: float64(j)})
				}
			}
			if len(queued) == 1 && rapid.Bool().Draw(t, "redirect") {
				// A redirect's target has its priority.
				events = append(events, Failed{Visit: v, Reason: web.ReasonRedirect, To: queued[0].URL, Queued: true})
				continue
			}
			events = append(events, Fetched{Visit: v, Relevance: float64(i), Queued: queued})
		}
		for i := range n {
			x, err := Explain(sequence(events, nil), page(i))
			if err != nil {
				t.Fatal(err)
			}
			var want, got []web.URL
			for j := i; j >= 0; j = parent[j] {
				want = append([]web.URL{page(j)}, want...)
			}
			for _, s := range x.Path {
				got = append(got, s.URL)
				if !s.HasQueued || !s.HasLeased || s.Leased < 0 {
					t.Fatalf("step %+v of %v lacks a priority", s, x.URL)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("path %v, want %v", got, want)
			}
		}
	})
}

// What a listener says live is what it says over the log.
func TestSummaryOverLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var live, later Summary
		var log []byte
		for _, e := range rapid.SliceOfN(rapid.Custom(drawEvent), 0, 20).Draw(t, "events") {
			e = asWritten(e)
			live.Add(e)
			b, err := AppendJSON(log, e)
			if err != nil {
				t.Fatal(err)
			}
			log = append(b, '\n')
		}
		for e, err := range Read(bytes.NewReader(log)) {
			if err != nil {
				t.Fatal(err)
			}
			later.Add(e)
		}
		if diff := cmp.Diff(live, later, equal, cmp.AllowUnexported(Summary{}, recent{}, recentPage{})); diff != "" {
			t.Fatalf("(-live +later):\n%s", diff)
		}
	})
}

func TestRecentHarvestForgets(t *testing.T) {
	var s Summary
	for i := range 3 * Window {
		s.Add(Fetched{Visit: Visit{URL: addr("https://a.example/")}, Relevant: i < Window || i%2 == 0})
	}
	if s.Harvest() != 2.0/3 || s.RecentHarvest() != 0.5 {
		t.Errorf("harvest %v, want 2/3; of late %v, want 1/2", s.Harvest(), s.RecentHarvest())
	}
}

// bigPage is a page as crawls meet them: 20 links found, 10 skipped.
func bigPage() Fetched {
	e := Fetched{
		At: after(1.5), Visit: Visit{URL: addr("https://www.example.org/a/page.html"), From: addr("https://www.example.org/"), Link: "a", Depth: 3, Priority: 0.73125},
		Status: 200, MIME: "text/html", Bytes: 43210, Took: 0.123, Title: "The page — of the day", Language: "en",
		Digest: "0123456789abcdef0123456789abcdef", Relevance: 0.4321, Similarity: 0.1234, Links: 60,
	}
	for i := range 20 {
		e.Queued = append(e.Queued, Found{URL: addr(fmt.Sprintf("https://www.example.org/some/folder/page-%d.html", i)), Priority: 0.5 + float64(i)/997, Anchor: "a link to some other page"})
	}
	for i := range 10 {
		e.Skipped = append(e.Skipped, Skipped{URL: addr(fmt.Sprintf("https://www.example.org/some/folder/file-%d.pdf", i)), Reason: web.ReasonExtension})
	}
	return e
}

func BenchmarkAppendJSON(b *testing.B) {
	var e Event = bigPage()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = AppendJSON(buf[:0], e)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkLogAppend(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "log"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var e Event = bigPage()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	line, _ := AppendJSON(nil, bigPage())
	line = append(line, '\n')
	log := bytes.Repeat(line, 100)
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range Read(bytes.NewReader(log)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkSummary(b *testing.B) {
	var s Summary
	var e Event = bigPage()
	for b.Loop() {
		s.Add(e)
	}
}

// BenchmarkExplainMemory reports the bytes held for each page of a crawl of a
// million, in the middle of an explanation.
func BenchmarkExplainMemory(b *testing.B) {
	const n = 1_000_000
	u := addr("https://a.example/")
	var perPage float64
	for b.Loop() {
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		events := func(yield func(Event, error) bool) {
			if !yield(Seeded{Queued: []Found{{URL: u}}}, nil) {
				return
			}
			for i := range n {
				if !yield(Fetched{Visit: Visit{URL: addr("https://b.example/" + strconv.Itoa(i))}}, nil) {
					return
				}
			}
			if perPage == 0 {
				runtime.GC()
				runtime.ReadMemStats(&during)
				perPage = (float64(during.HeapAlloc) - float64(before.HeapAlloc)) / n
			}
		}
		if x, err := Explain(events, u); err != nil || x.Fate != Waiting {
			b.Fatal(x.Fate, err)
		}
	}
	b.ReportMetric(perPage, "B/page")
}
