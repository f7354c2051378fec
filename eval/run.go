// Package eval measures crawls against the truth.
//
// A crawl on a recorded web is folded, event by event, into a Run: the order of
// its pages with what each was worth. Measures are pure functions of a Run and
// of a Reference, which says what was possible (see Problem). A Cell keeps the
// values of one run; statistics compare cells topic by topic.
//
//	events ─► Recorder ─► Run ─┐
//	                           ├─► Measure ─► Cell ─► Compare
//	truth, graph ─► Problem ─► Reference
//
// What counts is decided here and nowhere else. A hit is a page of the truth
// that was neither a seed nor an example, nor a copy of either, nor a copy of
// an earlier hit. The crawler's own judge has no say in it.
package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Key names a run among others.
type Key struct {
	Web    string `json:"web"`
	Topic  string `json:"topic"`
	Seeds  string `json:"seeds,omitempty"` // which seeds: "" = those of the topic, "far" = seeds_far
	Scorer string `json:"scorer"`
	Judge  string `json:"judge"`
	Repeat int    `json:"repeat"` // 0…
}

func (k Key) String() string {
	s := k.Web + "/" + k.Topic
	if k.Seeds != "" {
		s += "/" + k.Seeds
	}
	return fmt.Sprintf("%s %s %s #%d", s, k.Scorer, k.Judge, k.Repeat)
}

// Mark says what a page was.
type Mark uint8

// The marks of a page; they add up.
const (
	Hit      Mark = 1 << iota // see the package comment
	Relevant                  // in the truth, whether it counts or not
	Target                    // a hit among the targets that were hidden
	Copy                      // same body as a page fetched before
	Seed                      // given at the start, so no link score predicted it
	Outside                   // not in the record: a place in the budget without a page
)

// Parts is the number of parts into which Page cuts [0,1].
const Parts = 10_000

// Page is one fetch that took a place in the budget.
type Page struct {
	ID   int32 // number of its address, -1 without a numbering
	Host int32 // index into Run.Hosts
	Mark Mark
	// Relevance is the judge's, and Best the highest cosine to a target, both
	// in ten-thousandths and cut off, not rounded: Best ≥ γ is exact for a γ of
	// up to four decimals.
	Relevance, Best uint16
	// Widest is max_d (1/n) Σ_{p ≤ n} cos(p,d) after this page, the n-th, in
	// ten-thousandths: equation 10 of Liu & Milios 2010 as printed.
	Widest uint16
	// Requests counts all requests up to this page's, itself included.
	Requests int32
	// Millis is the time since the start, in milliseconds.
	Millis int64
	// Worth and Stratum are what readers make of the page, where the truth was
	// read: see Reading.
	Worth   Worth
	Stratum uint8
	// Score is the link's when it left the frontier, before the fetch, to six
	// significant digits. Only Run.Scored makes it comparable.
	Score float64
}

// Run is what became of one crawl: compact, and the same bytes for the same
// crawl.
//
// As JSON it is one line; the pages are columns, so that they compress well:
//
//	{"web":"campus","topic":"databases","scorer":"fish-search","judge":"topic",
//	 "repeat":0,"budget":1000,"ended":"BudgetSpent",
//	 "requests":1310,"robots":24,"redirects":90,"errors":196,"outside":0,"links":…,
//	 "hosts":["a.example",…],
//	 "pages":{"mark":"QACD…",        one base64 digit a page: the sum of its Marks
//	          "host":[0,0,1,…],      index into hosts
//	          "id":[17,4,…],         absent without a numbering
//	          "relevance":[8123,…],  ten-thousandths
//	          "best":[…],            ten-thousandths
//	          "widest":[…],          ten-thousandths; absent without targets
//	          "requests":[1,1,3,…],  since the page before
//	          "ms":[0,12,…],         since the page before
//	          "worth":"0240…",       one digit a page: its Worth; absent where
//	          "stratum":"aacf…",     the truth was not read, as is this: a letter
//	                                 a page, a for the first stratum
//	          "score":[…]}}
type Run struct {
	Key
	Budget int          // pages that were granted
	Ended  event.Ending // "" while it runs
	Hosts  []web.Host   // in the order of their first page
	Pages  []Page       // in the order of their fetches

	// Totals, whether or not a place in the budget went with them.
	Requests  int // all of the following and the pages
	Robots    int // requests for robots.txt: one for each origin
	Redirects int
	Errors    int // fetches that failed, those outside the record apart
	Outside   int // fetches of addresses that are not in the record
	// Charged tells whether those fetches took places in the budget.
	Charged bool
	// Bounds tells that they are to be read both ways: see Optimistic.
	Bounds bool
	// Links counts the links that were found, and LinksOutside those of them
	// that the record does not hold.
	Links, LinksOutside int
	// From is the grade from which pages count, where the truth was read, of so many
	// strata; 0 = it was not read.
	From   pool.Grade
	Strata int
	// Targets tells whether cosines to targets were given: without them Best
	// is the judge's similarity and Widest is not known.
	Targets bool

	// By grade, from 1: what unread pages of each stratum count, and the samples
	// that tell of them. See Estimated.
	shares  [2][]float64
	samples [2][]pool.Sample

	expects func(priority float64) float64 // RecorderOptions.Expects
}

// Set is a set of pages, by their addresses and by the bodies found there: a
// copy of a page belongs to the sets that the page belongs to.
type Set struct {
	URLs   map[web.URL]bool
	Bodies map[string]bool // digests in hex, as in event.Fetched; nil = not known
}

// NewSet is a set of addresses whose bodies are not known; Graph.Truth knows
// them.
func NewSet(urls ...web.URL) Set {
	s := Set{URLs: make(map[web.URL]bool, len(urls))}
	for _, u := range urls {
		s.URLs[u] = true
	}
	return s
}

// Has tells whether the page of an address and body belongs to the set.
func (s Set) Has(u web.URL, digest string) bool { return s.URLs[u] || s.Bodies[digest] }

// Truth is what a crawl is measured against.
type Truth struct {
	Relevant Set // the pages of the topic
	Shown    Set // what the crawl was given, seeds and examples: no hits
	// Hidden are targets that were known and kept from the crawl, for target
	// recall: half of the known ones. May be empty.
	Hidden Set
	// Reading is what readers said; nil = Relevant holds all relevant pages.
	Reading *Reading
}

// Recorder folds the events of one crawl into a Run. Its zero value is not
// usable: make one with NewRecorder. It is not safe for concurrent use; the
// driver of a crawl tells its events one after another.
type Recorder struct {
	run   Run
	truth Truth
	opt   RecorderOptions

	hosts   map[web.Host]int32
	origins map[string]bool
	bodies  map[string]bool // digests of all pages so far
	found   map[string]bool // digests of hits
	sums    []float64       // [target] Σ cos(page, target)
	seen    int             // pages in these sums
	start   time.Time
	started bool
}

// RecorderOptions says what else is known of the web.
type RecorderOptions struct {
	// Number numbers addresses, as Graph.Number does; nil = no numbers.
	Number func(web.URL) (int32, bool)
	// Document is the number of a numbered page's body, as Graph.Document; needed
	// where the truth was read.
	Document func(int32) int32
	// Recorded tells whether an address is in the record; nil = all are.
	Recorded func(web.URL) bool
	// Charged gives a fetch that fails because its address is not in the
	// record a place in the budget: the rule "costs 1 and fails".
	Charged bool
	// Bounds has what a run shows given as bounds: see Run.Optimistic. It goes
	// with Charged.
	Bounds bool
	// Cosines returns the cosine of a page to each target, always the same
	// number of them, each in [0,1]; nil = not known. tf or tf-idf is the
	// caller's choice and has to be said with the results.
	Cosines func(web.URL) []float64
	// Expects is what relevance in [0,1] the scorer expects by a priority; nil = the
	// priority itself, where it is in [0,1].
	Expects func(priority float64) float64
	// Robots counts one request for robots.txt at the first visit to each
	// origin, also to one that forbids the visit: events do not tell of them.
	Robots bool
}

// NewRecorder begins a run of at most budget pages.
func NewRecorder(key Key, budget int, truth Truth, opt RecorderOptions) *Recorder {
	var from pool.Grade
	strata := 0
	if rd := truth.Reading; rd != nil {
		from, strata = rd.From, len(rd.Strata)
	}
	return &Recorder{
		run: Run{From: from, Strata: strata, Key: key, Budget: budget, Charged: opt.Charged, Bounds: opt.Bounds && opt.Charged, Targets: opt.Cosines != nil, expects: opt.Expects}, truth: truth, opt: opt,
		hosts: map[web.Host]int32{}, origins: map[string]bool{}, bodies: map[string]bool{}, found: map[string]bool{},
	}
}

// Run returns what was recorded so far. It shares memory with the Recorder.
func (r *Recorder) Run() *Run { return &r.run }

// LeftOut tells how many links a simulator kept from the frontier because the
// record does not hold them. Where the events of the crawl told of such links
// too, the larger number holds.
func (r *Recorder) LeftOut(n int) {
	r.run.LinksOutside = max(r.run.LinksOutside, n)
	r.run.Links = max(r.run.Links, r.run.LinksOutside)
}

// Listen takes the next event of the crawl.
func (r *Recorder) Listen(e event.Event) {
	switch e := e.(type) {
	case event.Started:
		if !r.started {
			r.start, r.started = e.At.At, true
		}
	case event.Seeded:
		r.queued(e.Queued)
	case event.Received:
		r.queued(e.Queued)
	case event.Fetched:
		r.request(e.URL)
		r.queued(e.Queued)
		r.fetched(e)
	case event.Failed:
		r.failed(e)
	case event.Ended:
		r.run.Ended = e.How
	}
}

func (r *Recorder) queued(found []event.Found) {
	for _, f := range found {
		if f.Raised {
			continue
		}
		r.run.Links++
		if r.opt.Recorded != nil && !r.opt.Recorded(f.URL) {
			r.run.LinksOutside++
		}
	}
}

// Asked counts a request for robots.txt that a simulator tells of, as events
// do not. Without RecorderOptions.Robots, which guesses.
func (r *Recorder) Asked() {
	r.run.Robots++
	r.run.Requests++
}

// request counts a request, and with it the one for robots.txt.
func (r *Recorder) request(u web.URL) {
	r.run.Requests++
	r.robots(u)
}

// robots counts the request for the robots.txt of u's origin, once.
func (r *Recorder) robots(u web.URL) {
	if o := u.Origin(); r.opt.Robots && !r.origins[o] {
		r.origins[o] = true
		r.run.Robots++
		r.run.Requests++
	}
}

func (r *Recorder) fetched(e event.Fetched) {
	p := r.page(e.Visit, e.At)
	p.Relevance = tenThousandths(e.Relevance)
	p.Best = tenThousandths(e.Similarity)
	if r.opt.Cosines != nil {
		p.Best, p.Widest = r.cosines(e.URL)
	}
	if r.bodies[e.Digest] {
		p.Mark |= Copy
	}
	r.bodies[e.Digest] = true
	relevant := r.truth.Relevant.Has(e.URL, e.Digest)
	if relevant {
		p.Mark |= Relevant
	}
	first := !r.found[e.Digest] && !r.truth.Shown.Has(e.URL, e.Digest)
	p.Worth, p.Stratum = r.worth(p, first)
	if !first {
		r.found[e.Digest] = true // copies of what was shown are no hits either
	} else if relevant || p.Worth != Uncounted {
		r.found[e.Digest] = true
	}
	if first && relevant {
		p.Mark |= Hit
		if r.truth.Hidden.Has(e.URL, e.Digest) {
			p.Mark |= Target
		}
	}
	r.run.Pages = append(r.run.Pages, p)
}

func (r *Recorder) failed(e event.Failed) {
	switch {
	case e.Reason == web.ReasonAddress || e.Reason == web.ReasonPort || e.Reason == web.ReasonContact || e.Reason == web.ReasonBusy:
		return // no request was made
	case e.Reason == web.ReasonRobots || e.Reason == web.ReasonRobotsMissing:
		r.robots(e.URL) // and none for the page
	case e.Status >= 300 && e.Status < 400:
		r.request(e.URL)
		r.run.Redirects++
	case (e.Reason == web.ReasonStatus || e.Reason == web.ReasonRecord) && r.opt.Recorded != nil && !r.opt.Recorded(e.URL):
		r.request(e.URL)
		r.run.Outside++
		if !r.opt.Charged || e.Retry {
			return
		}
		p := r.page(e.Visit, e.At)
		p.Mark |= Outside
		p.Widest = r.widest()
		r.run.Pages = append(r.run.Pages, p)
	default:
		r.request(e.URL)
		r.run.Errors++
	}
}

// page begins a page from what was known before its fetch.
func (r *Recorder) page(v event.Visit, at event.At) Page {
	p := Page{ID: -1, Score: sixDigits(v.Priority), Requests: int32(r.run.Requests)}
	if r.started {
		p.Millis = max(at.At.Sub(r.start).Milliseconds(), 0)
	}
	if n := len(r.run.Pages); n > 0 { // clocks may step back, runs do not
		p.Millis = max(p.Millis, r.run.Pages[n-1].Millis)
	}
	if r.opt.Number != nil {
		if id, ok := r.opt.Number(v.URL); ok {
			p.ID = id
		}
	}
	if v.Link == web.LinkSeed {
		p.Mark |= Seed
	}
	h := v.URL.Host()
	i, ok := r.hosts[h]
	if !ok {
		i = int32(len(r.run.Hosts))
		r.hosts[h] = i
		r.run.Hosts = append(r.run.Hosts, h)
	}
	p.Host = i
	return p
}

// cosines adds a page to the sums of the average similarity.
func (r *Recorder) cosines(u web.URL) (best, widest uint16) {
	cos := r.opt.Cosines(u)
	if r.sums == nil {
		r.sums = make([]float64, len(cos))
	}
	top := 0.0
	for d, c := range cos {
		top = max(top, c)
		r.sums[d] += c
	}
	r.seen++
	return tenThousandths(top), r.widest()
}

// widest is the highest of the targets' mean cosines over the pages so far.
func (r *Recorder) widest() uint16 {
	top := 0.0
	for _, s := range r.sums {
		top = max(top, s/float64(max(r.seen, 1)))
	}
	return tenThousandths(top)
}

// tenThousandths is x ∈ [0,1] in ten-thousandths, cut off. The small addend undoes what
// binary fractions do to decimals: .575 × 10⁴ is 5749.99….
func tenThousandths(x float64) uint16 {
	if !(x > 0) {
		return 0
	}
	return uint16(min(math.Floor(x*Parts+1e-7), Parts))
}

// sixDigits rounds to six significant digits, and to what JSON can say.
func sixDigits(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return 0
	case math.IsInf(x, 0):
		return math.Copysign(1e300, x)
	}
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 5, 64), 64)
	if err != nil {
		return math.Copysign(1e300, x)
	}
	return y
}

// runJSON is how a Run lies on disk.
type runJSON struct {
	Key
	Budget       int          `json:"budget"`
	Ended        event.Ending `json:"ended"`
	Requests     int          `json:"requests"`
	Robots       int          `json:"robots"`
	Redirects    int          `json:"redirects"`
	Errors       int          `json:"errors"`
	Outside      int          `json:"outside"`
	Charged      bool         `json:"charged,omitempty"`
	Bounds       bool         `json:"bounds,omitempty"`
	Links        int          `json:"links"`
	LinksOutside int          `json:"links_outside"`
	Targets      bool         `json:"targets,omitempty"`
	From         pool.Grade   `json:"from,omitempty"`
	Strata       int          `json:"strata,omitempty"`
	Hosts        []web.Host   `json:"hosts"`
	Pages        pagesJSON    `json:"pages"`
}

type pagesJSON struct {
	Mark      string    `json:"mark"`
	Host      []int32   `json:"host"`
	ID        []int32   `json:"id,omitempty"`
	Relevance []uint16  `json:"relevance"`
	Best      []uint16  `json:"best"`
	Widest    []uint16  `json:"widest,omitempty"`
	Requests  []int32   `json:"requests"`
	Millis    []int64   `json:"ms"`
	Score     []float64 `json:"score"`
	Worth     string    `json:"worth,omitempty"`
	Stratum   string    `json:"stratum,omitempty"`
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// MarshalJSON writes the run as one line, without the newline.
func (r *Run) MarshalJSON() ([]byte, error) {
	j := runJSON{
		Key: r.Key, Budget: r.Budget, Ended: r.Ended, Requests: r.Requests, Robots: r.Robots, Redirects: r.Redirects,
		Errors: r.Errors, Outside: r.Outside, Charged: r.Charged, Bounds: r.Bounds, Links: r.Links, LinksOutside: r.LinksOutside, Targets: r.Targets,
		Hosts: r.Hosts, From: r.From, Strata: r.Strata,
	}
	if j.Hosts == nil {
		j.Hosts = []web.Host{}
	}
	n := len(r.Pages)
	c := &j.Pages
	c.Host, c.Relevance, c.Best = make([]int32, n), make([]uint16, n), make([]uint16, n)
	c.Requests, c.Millis, c.Score = make([]int32, n), make([]int64, n), make([]float64, n)
	marks, ids := make([]byte, n), make([]int32, n)
	numbered := false
	if r.Targets {
		c.Widest = make([]uint16, n)
	}
	var before Page
	for i, p := range r.Pages {
		marks[i] = base64Digits[p.Mark&63]
		c.Host[i], ids[i] = p.Host, p.ID
		numbered = numbered || p.ID >= 0
		c.Relevance[i], c.Best[i] = p.Relevance, p.Best
		if r.Targets {
			c.Widest[i] = p.Widest
		}
		c.Requests[i], c.Millis[i] = p.Requests-before.Requests, p.Millis-before.Millis
		c.Score[i] = p.Score
		before = p
	}
	c.Mark = string(marks)
	c.Worth, c.Stratum = r.readColumns()
	if numbered {
		c.ID = ids
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(j); err != nil {
		return nil, fmt.Errorf("run %s: %w", r.Key, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Whatever else it is given, the
// run it returns without an error can be measured.
func (r *Run) UnmarshalJSON(data []byte) error {
	var j runJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("run %s: %s: run this cell again", j.Key, fmt.Sprintf(format, args...))
	}
	c, n := j.Pages, len(j.Pages.Mark)
	for name, l := range map[string]int{
		"host": len(c.Host), "relevance": len(c.Relevance), "best": len(c.Best),
		"requests": len(c.Requests), "ms": len(c.Millis), "score": len(c.Score),
	} {
		if l != n {
			return bad("%d marks, but %d values of %s", n, l, name)
		}
	}
	if len(c.ID) != 0 && len(c.ID) != n {
		return bad("%d marks, but %d values of id", n, len(c.ID))
	}
	if want := n; len(c.Widest) != 0 && len(c.Widest) != want || j.Targets && len(c.Widest) != want {
		return bad("%d marks, but %d values of widest", n, len(c.Widest))
	}
	if j.Budget < 0 || j.Requests < 0 || j.Outside < 0 || j.Links < 0 || j.LinksOutside < 0 {
		return bad("a count is negative")
	}
	out := Run{
		Key: j.Key, Budget: j.Budget, Ended: j.Ended, Hosts: j.Hosts, Requests: j.Requests, Robots: j.Robots,
		Redirects: j.Redirects, Errors: j.Errors, Outside: j.Outside, Charged: j.Charged, Bounds: j.Bounds, Links: j.Links, LinksOutside: j.LinksOutside,
		Targets: j.Targets, From: j.From, Strata: j.Strata,
	}
	if err := out.checkRead(c, n); err != nil {
		return bad("%v", err)
	}
	if len(out.Hosts) == 0 {
		out.Hosts = nil
	}
	var before Page
	for i := range n {
		m := strings.IndexByte(base64Digits, c.Mark[i])
		p := Page{
			ID: -1, Host: c.Host[i], Mark: Mark(m), Relevance: c.Relevance[i], Best: c.Best[i],
			Requests: before.Requests + c.Requests[i], Millis: before.Millis + c.Millis[i], Score: c.Score[i],
		}
		if len(c.ID) > 0 {
			p.ID = c.ID[i]
		}
		if j.Targets {
			p.Widest = c.Widest[i]
		}
		if out.From > 0 {
			p.Worth, p.Stratum = Worth(c.Worth[i]-'0'), c.Stratum[i]-'a'
		}
		switch {
		case m < 0:
			return bad("page %d has the unknown mark %q", i+1, c.Mark[i])
		case p.Host < 0 || int(p.Host) >= len(out.Hosts):
			return bad("page %d is of host %d of %d", i+1, p.Host, len(out.Hosts))
		case max(p.Relevance, p.Best, p.Widest) > Parts:
			return bad("page %d has a value above %d", i+1, Parts)
		case c.Requests[i] < 0 || c.Millis[i] < 0 || p.Requests < 0 || p.Millis < 0:
			return bad("page %d lies before the one before it", i+1)
		}
		out.Pages = append(out.Pages, p)
		before = p
	}
	*r = out
	return nil
}

// ErrBudget is the error of Check for a run that is longer than its budget.
var ErrBudget = errors.New("more pages than the budget grants")

// Check tells whether a run keeps to its budget; 0 is no limit.
func (r *Run) Check() error {
	if r.Budget > 0 && len(r.Pages) > r.Budget {
		return fmt.Errorf("run %s: %d pages, %d granted: %w", r.Key, len(r.Pages), r.Budget, ErrBudget)
	}
	return nil
}
