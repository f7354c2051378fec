package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

func address(t interface{ Fatal(...any) }, s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func after(seconds float64) event.At {
	return event.At{At: noon.Add(time.Duration(seconds * float64(time.Second)))}
}

// record is a small crawl: one line an event.
//
//	page URL BODY PRIORITY RELEVANCE     fetched
//	seed URL BODY PRIORITY RELEVANCE     fetched, and a seed
//	gone URL PRIORITY                    404
//	moved URL, barred URL                redirect, forbidden by robots.txt
func record(t testing.TB, r *Recorder, script string) {
	t.Helper()
	r.Listen(event.Started{At: after(0)})
	for i, line := range strings.Split(strings.TrimSpace(script), "\n") {
		var what, u, body string
		var priority, relevance float64
		fmt.Sscan(line, &what, &u, &body, &priority, &relevance)
		visit := event.Visit{URL: address(t, "http://"+u), Priority: priority, Link: web.LinkA}
		at := after(float64(i + 1))
		switch what {
		case "seed":
			visit.Link = web.LinkSeed
			fallthrough
		case "page":
			r.Listen(event.Fetched{At: at, Visit: visit, Status: 200, Digest: body, Relevance: relevance, Similarity: relevance / 2})
		case "gone":
			r.Listen(event.Failed{At: at, Visit: visit, Status: 404, Reason: web.ReasonStatus})
		case "moved":
			r.Listen(event.Failed{At: at, Visit: visit, Status: 301, Reason: web.ReasonRedirect})
		case "barred":
			r.Listen(event.Failed{At: at, Visit: visit, Reason: web.ReasonRobots})
		default:
			t.Fatalf("line %d: %q", i+1, line)
		}
	}
	r.Listen(event.Ended{At: after(99), How: event.BudgetSpent})
}

const smallCrawl = `
	seed   s.example/        home   1   0.2
	page   a.example/bees    bees   0.9 0.95
	moved  a.example/old
	page   a.example/copy    bees   0.8 0.95
	page   b.example/shown   shown  0.7 0.99
	page   b.example/mirror  shown  0.6 0.99
	barred c.example/x
	gone   c.example/lost    x      0.5
	page   c.example/wasps   wasps  0.4 0.1
	page   b.example/honey   honey  0.3 0.575`

func smallTruth(t testing.TB) Truth {
	return Truth{
		Relevant: NewSet(address(t, "http://a.example/bees"), address(t, "http://a.example/copy"),
			address(t, "http://b.example/shown"), address(t, "http://b.example/mirror"), address(t, "http://b.example/honey")),
		Shown:  NewSet(address(t, "http://s.example/"), address(t, "http://b.example/shown")),
		Hidden: NewSet(address(t, "http://b.example/honey")),
	}
}

// marks writes a run's marks, one word a page.
func marks(r *Run) string {
	var words []string
	for _, p := range r.Pages {
		w := ""
		for i, letter := range "hrtcso" {
			if p.Mark>>i&1 == 1 {
				w += string(letter)
			}
		}
		if w == "" {
			w = "-"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestWhatCountsAsAHit(t *testing.T) {
	lost := address(t, "http://c.example/lost")
	for _, test := range []struct {
		name string
		opt  RecorderOptions
		want string // h hit, r relevant, t target, c copy, s seed, o outside
		n    [5]int // requests, robots, redirects, errors, outside
	}{
		{"seeds, examples and copies do not count", RecorderOptions{}, "s hr rc r rc - hrt", [5]int{9, 0, 1, 1, 0}},
		{"robots.txt once an origin", RecorderOptions{Robots: true}, "s hr rc r rc - hrt", [5]int{13, 4, 1, 1, 0}},
		{"outside the record, free", RecorderOptions{Recorded: func(u web.URL) bool { return u != lost }}, "s hr rc r rc - hrt", [5]int{9, 0, 1, 0, 1}},
		{"outside the record, charged", RecorderOptions{Recorded: func(u web.URL) bool { return u != lost }, Charged: true}, "s hr rc r rc o - hrt", [5]int{9, 0, 1, 0, 1}},
	} {
		r := NewRecorder(Key{}, 20, smallTruth(t), test.opt)
		record(t, r, smallCrawl)
		run := r.Run()
		if got := marks(run); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if got := [5]int{run.Requests, run.Robots, run.Redirects, run.Errors, run.Outside}; got != test.n {
			t.Errorf("%s: requests %v, want %v", test.name, got, test.n)
		}
	}
	// A mirror fetched before the example itself: no hit, once bodies are known.
	truth := smallTruth(t)
	truth.Shown.Bodies = map[string]bool{"shown": true}
	r := NewRecorder(Key{}, 0, truth, RecorderOptions{})
	record(t, r, "page b.example/mirror shown 1 1\npage b.example/shown shown 1 1")
	if got := marks(r.Run()); got != "r rc" {
		t.Errorf("a mirror of an example: %q", got)
	}
}

func TestRunOnDisk(t *testing.T) {
	r := NewRecorder(Key{Web: "campus", Topic: "bees", Scorer: "best-first-both", Judge: "topic"}, 20, smallTruth(t), RecorderOptions{})
	record(t, r, smallCrawl)
	got, err := json.Marshal(r.Run())
	want := `{"web":"campus","topic":"bees","scorer":"best-first-both","judge":"topic","repeat":0,` +
		`"budget":20,"ended":"BudgetSpent","requests":9,"robots":0,"redirects":1,"errors":1,"outside":0,"links":0,"links_outside":0,` +
		`"hosts":["s.example","a.example","b.example","c.example"],` +
		`"pages":{"mark":"QDKCKAH","host":[0,1,1,2,2,3,2],"relevance":[2000,9500,9500,9900,9900,1000,5750],` +
		`"best":[1000,4750,4750,4950,4950,500,2875],"requests":[1,1,2,1,1,2,1],"ms":[1000,1000,2000,1000,1000,3000,1000],` +
		`"score":[1,0.9,0.8,0.7,0.6,0.4,0.3]}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

func TestRunSurvivesDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets := rapid.Bool().Draw(t, "targets")
		opt := RecorderOptions{
			Number:   func(u web.URL) (int32, bool) { return int32(len(u.String())), len(u.String())%2 == 0 },
			Recorded: func(u web.URL) bool { return !strings.HasSuffix(u.String(), "x") }, Charged: true, Robots: true,
		}
		if targets {
			opt.Cosines = func(u web.URL) []float64 { return []float64{.5, float64(len(u.String())%7) / 7} }
		}
		r := NewRecorder(Key{Topic: "t", Repeat: 3}, 50, Truth{Relevant: NewSet(address(t, "http://a/b"))}, opt)
		r.Listen(event.Started{At: after(0)})
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			u := address(t, "http://"+rapid.StringMatching(`[ab]/[abx]{0,3}`).Draw(t, "url"))
			v := event.Visit{URL: u, Priority: rapid.Float64().Draw(t, "priority"), Link: rapid.SampledFrom([]web.LinkKind{web.LinkA, web.LinkSeed}).Draw(t, "link")}
			at := after(rapid.Float64Range(-10, 1e6).Draw(t, "at"))
			if rapid.Bool().Draw(t, "page") {
				r.Listen(event.Fetched{At: at, Visit: v, Digest: u.Path(), Relevance: rapid.Float64().Draw(t, "relevance")})
			} else {
				r.Listen(event.Failed{At: at, Visit: v, Reason: web.ReasonStatus, Status: 404})
			}
		}
		data, err := json.Marshal(r.Run())
		if err != nil {
			t.Fatal(err)
		}
		var back Run
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if again, err := json.Marshal(&back); err != nil || string(again) != string(data) {
			t.Fatalf("%v\n%s\n%s", err, data, again)
		}
		for _, m := range Measures() {
			a, b := m.Of(r.Run(), Reference{}, 10), m.Of(&back, Reference{}, 10)
			if a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
				t.Fatalf("%s: %v before, %v after", m.Name, a, b)
			}
		}
	})
}

func TestDamagedRuns(t *testing.T) {
	r := NewRecorder(Key{Web: "w", Topic: "t"}, 20, smallTruth(t), RecorderOptions{})
	record(t, r, smallCrawl)
	whole, err := json.Marshal(r.Run())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ old, new, says string }{
		{`"QDKCKAH"`, `"QDKCKA"`, "6 marks, but 7 values of"},
		{`"QDKCKAH"`, `"QDKCKA!"`, `page 7 has the unknown mark '!'`},
		{`"host":[0`, `"host":[9`, "page 1 is of host 9 of 4"},
		{`"relevance":[2000`, `"relevance":[20000`, "page 1 has a value above 10000"},
		{`"ms":[1000,1000`, `"ms":[1000,-1000`, "page 2 lies before the one before it"},
		{`"best":[1000,`, `"best":[`, "values of best"},
		{`{"web"`, `["web"`, "run: "},
	} {
		damaged := strings.Replace(string(whole), test.old, test.new, 1)
		var back Run
		if err := back.UnmarshalJSON([]byte(damaged)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s for %s: %v, want %q", test.new, test.old, err, test.says)
		}
	}
}

func FuzzRun(f *testing.F) {
	r := NewRecorder(Key{Web: "w"}, 20, smallTruth(f), RecorderOptions{Number: func(web.URL) (int32, bool) { return 1, true }})
	record(f, r, smallCrawl)
	whole, _ := json.Marshal(r.Run())
	f.Add(whole)
	f.Add([]byte(`{"pages":{"mark":""}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var run Run
		if run.UnmarshalJSON(data) != nil {
			return
		}
		for _, m := range Measures() {
			m.Of(&run, Reference{Reachable: 3, Bound: []float64{0, 1}, Greedy: []float64{0}, Breadth: &run}, 5)
		}
		NewCell(&run, Reference{}, []int{1, 5}, Measures())
	})
}

// robots.txt is asked for before the page that it forbids, and its requests
// are in every measure of requests, at small budgets too.
func TestRobotsAreRequests(t *testing.T) {
	r := NewRecorder(Key{}, 3, Truth{}, RecorderOptions{Robots: true})
	record(t, r, `
		page   a.example/1 a 1 1
		barred b.example/x
		barred b.example/y
		page   a.example/2 b 1 1
		page   c.example/3 c 1 1`)
	m, _ := MeasureNamed("requests")
	for n, want := range map[int]float64{1: 2, 2: 4, 3: 6} {
		if got := m.Of(r.Run(), Reference{}, n); got != want {
			t.Errorf("%d pages took %v requests, want %v", n, got, want)
		}
	}
	if r.Run().Robots != 3 {
		t.Errorf("%d requests for robots.txt of three origins", r.Run().Robots)
	}
}

// In the mode of bounds a cell holds both readings of what is not recorded,
// and only there.
func TestCellOfBounds(t *testing.T) {
	run := charged(line("s.hoh.oo"))
	run.Budget = 8
	for _, bounds := range []bool{false, true} {
		run.Bounds = bounds
		c := NewCell(run, Reference{Reachable: 4, Bound: []float64{0, 1, 2, 3, 4}}, []int{4, 8}, Measures())
		type pair struct{ low, high float64 }
		for at, want := range map[string]pair{
			"hits 4": {1, 2}, "hits 8": {2, 5}, "harvest 8": {.25, .625}, "loss 8": {.75, .375}, "of-bound 8": {.5, .5}, "outside 8": {.375, .375},
		} {
			var name string
			var n int
			fmt.Sscan(at, &name, &n)
			if !bounds {
				want.high = want.low
			}
			if got := (pair{c.Value(name, n), c.UpperValue(name, n)}); got != want {
				t.Errorf("bounds %v: %s is %v, want %v", bounds, at, got, want)
			}
		}
		if !bounds {
			if c.Upper != nil || c.UpperHits != nil {
				t.Errorf("an upper bound that nobody asked for: %v %v", c.Upper, c.UpperHits)
			}
			continue
		}
		if c.Hits[7] != 2 || c.UpperHits[7] != 5 || c.UpperHits[2] != 1 {
			t.Errorf("curves %v and %v", c.Hits, c.UpperHits)
		}
	}
}

// The sweep of a cell over its points is the surface of precision by similarity, and
// its points are the 400 of the paper.
func TestCellSweep(t *testing.T) {
	run := &Run{Budget: 800}
	for i := range 800 {
		run.Pages = append(run.Pages, Page{Best: uint16(i * 12)})
	}
	c := NewCell(run, Reference{}, []int{800}, Measures())
	points, precision := run.PrecisionMesh(800)
	if len(c.Points) != 400 || len(c.Sweep) != len(Thresholds()) {
		t.Fatalf("%d points, %d thresholds", len(c.Points), len(c.Sweep))
	}
	for k := range precision {
		for i, n := range points {
			if c.Points[i] != n || c.Sweep[k][i]/float64(n) != precision[k][i] {
				t.Fatalf("γ %v at %d: %v, want %v", Thresholds()[k], n, c.Sweep[k][i]/float64(n), precision[k][i])
			}
		}
	}
}

// Links that a simulator leaves out are counted once, whether or not the
// events told of them.
func TestLinksOutside(t *testing.T) {
	inside, outside := address(t, "http://a.example/in"), address(t, "http://a.example/out")
	m, _ := MeasureNamed("links-outside")
	for _, test := range []struct {
		name  string
		found []event.Found
		left  int
		want  float64
	}{
		{"told by events", []event.Found{{URL: inside}, {URL: outside}, {URL: outside, Raised: true}}, 0, .5},
		{"told by both", []event.Found{{URL: inside}, {URL: outside}}, 1, .5},
		{"none", []event.Found{{URL: inside}}, 0, 0},
	} {
		r := NewRecorder(Key{}, 0, Truth{}, RecorderOptions{Recorded: func(u web.URL) bool { return u == inside }})
		r.Listen(event.Seeded{Queued: test.found})
		r.LeftOut(test.left)
		if got := m.Of(r.Run(), Reference{}, 1); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
