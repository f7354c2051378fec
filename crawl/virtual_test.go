package crawl

import (
	"container/heap"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// virtualCrawl runs a crawl through its steps in virtual time, over a web that is
// a function of address and moment. Unlike a simulation it can be taken up again.
type virtualCrawl struct {
	t       *testing.T
	now     time.Time
	front   *frontier.Frontier
	dir     string // of front, for a crawl that is taken up again; "" = in memory
	workers int
	policy  Policy
	seeds   []web.URL
	// answer is what a request at a moment brings, and after how long.
	answer func(at time.Time, u web.URL) (pageOf, time.Duration)
	listen func(event.Event)
	scorer Scorer                            // nil = anchorScorer
	shown  func(*frontier.Frontier) Frontier // what the crawl is given for it; nil = itself
	peers  Peers                             // nil = there are no other workers
	// The crawl is paused from one moment to another after the epoch; from 0 = it is not.
	pause, goOn time.Duration

	spent  time.Duration  // of the time budget
	asked  map[string]int // pages that were answered, by address
	events []event.Event
	most   int // requests at a time
}

// pageOf is an answer: a page with links, or a failure.
type pageOf struct {
	links   []string
	body    string // "" = the address
	failure web.Reason
	forGood bool // of the failure: not temporary
	status  int  // 0 = 200
	// Of a failure: a connection was made, and robots.txt came in part.
	connected, heard bool
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newVirtual(t *testing.T, seeds ...string) *virtualCrawl {
	v := &virtualCrawl{
		t: t, now: epoch, front: frontier.NewMemory(frontier.Options{}), workers: 8, asked: map[string]int{},
		policy: Policy{Delay: time.Second, MaxDepth: 10_000},
	}
	for _, s := range seeds {
		v.seeds = append(v.seeds, v.address(s))
	}
	return v
}

func (v *virtualCrawl) address(s string) web.URL {
	v.t.Helper()
	u, err := web.Parse("http://" + s)
	if err != nil {
		v.t.Fatal(err)
	}
	return u
}

func (v *virtualCrawl) Now() time.Time { return v.now }

func (v *virtualCrawl) NewTimer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

// inFlight is a request under way.
type inFlight struct {
	web.Lease
	page pageOf
	took time.Duration
	late bool // longer than the lease allows
	at   time.Time
	n    int
}

type inFlights []inFlight

func (f inFlights) Len() int { return len(f) }
func (f inFlights) Less(i, j int) bool {
	return f[i].at.Before(f[j].at) || f[i].at.Equal(f[j].at) && f[i].n < f[j].n
}
func (f inFlights) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *inFlights) Push(x any)   { *f = append(*f, x.(inFlight)) }
func (f *inFlights) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	*f = (*f)[:last]
	return x
}

// run runs the crawl to its end, or for at most some time.
func (v *virtualCrawl) run(most time.Duration) event.Ending {
	v.t.Helper()
	ctx := context.Background()
	if v.dir != "" {
		var err error
		if v.front, err = frontier.Open(v.dir, frontier.Options{}); err != nil {
			v.t.Fatal(err)
		}
	}
	shown, scorer := Frontier(v.front), Scorer(anchorScorer{})
	if v.shown != nil {
		shown = v.shown(v.front)
	}
	if v.scorer != nil {
		scorer = v.scorer
	}
	c := &Crawl{
		Seeds: v.seeds, Frontier: shown, Scorer: scorer, Workers: v.workers, Policy: v.policy, Clock: v, Peers: v.peers,
		Control: &Control{},
		Listen: func(e event.Event) {
			v.events = append(v.events, e)
			if v.listen != nil {
				v.listen(e)
			}
		},
	}
	d := c.newDriver()
	if err := d.start(ctx); err != nil {
		v.t.Fatal(err)
	}
	course := &Course{d}
	end := v.now.Add(most)
	var flights inFlights
	for n := 0; ; {
		how, over, err := course.Ended()
		if err != nil {
			v.t.Fatal(err)
		}
		if !v.now.Before(end) {
			how, over = event.Stopped, true
		}
		if over {
			v.spent = d.step.count.Spent
			if err := course.End(how); err != nil {
				v.t.Fatal(err)
			}
			if v.dir != "" {
				if err := v.front.Close(); err != nil {
					v.t.Fatal(err)
				}
			}
			return how
		}
		leases, err := course.Lease(ctx)
		if err != nil {
			v.t.Fatal(err)
		}
		for _, l := range leases {
			page, took := v.answer(v.now, l.URL)
			late := l.Patience > 0 && took > l.Patience
			if late {
				page, took = pageOf{}, l.Patience
			}
			heap.Push(&flights, inFlight{l, page, took, late, v.now.Add(took), n})
			n++
		}
		v.most = max(v.most, len(flights))
		if v.pause > 0 && v.now.Sub(epoch) >= v.pause {
			switch {
			case !c.Control.Paused():
				c.Control.Pause(true)
			case len(flights) == 0:
				v.now, v.pause = epoch.Add(v.goOn), 0
				if _, _, err := course.Ended(); err != nil {
					v.t.Fatal(err)
				}
				c.Control.Pause(false)
				continue
			}
		}
		due, waits := course.NextDue()
		switch {
		case len(flights) > 0 && (!waits || !due.Before(flights[0].at)):
			f := heap.Pop(&flights).(inFlight)
			v.now = later(v.now, f.at)
			if err := course.Arrive(ctx, v.arrival(f)); err != nil {
				v.t.Fatal(err)
			}
		case waits:
			v.now = later(v.now, due)
		case len(leases) == 0:
			if _, over, _ := course.Ended(); !over {
				v.t.Fatalf("nothing happens at %v: %+v", v.now.Sub(epoch), v.front.Stats(v.now))
			}
		}
	}
}

// arrival is what came of a request.
func (v *virtualCrawl) arrival(f inFlight) Arrival {
	a := Arrival{Lease: f.Lease}
	if f.late {
		a.Failure = Late(&f.Lease)
		a.Reason, a.Detail = a.Failure.Reason, a.Failure.Detail
		return a
	}
	if r := f.page.failure; r != "" {
		a.Failure = &web.Failure{Reason: r, Temporary: !f.page.forGood, Connected: f.page.connected, Detail: "it did not work"}
		if f.page.heard {
			a.Failure.Robots = &web.Response{Truncated: "time", Took: f.took}
		}
		a.Reason, a.Detail = r, a.Failure.Detail
		return a
	}
	a.Response = &web.Response{URL: f.URL, Status: 200, Took: f.took}
	if f.page.status != 0 {
		a.Response.Status, a.Reason = f.page.status, web.ReasonStatus
		return a
	}
	if f.Kind == web.LinkProbe {
		a.Response.Status, a.Reason = 404, web.ReasonStatus
		return a
	}
	body := f.page.body
	if body == "" {
		body = f.URL.String()
	}
	p := &web.Page{URL: f.URL, Status: 200, Title: body}
	copy(p.Digest[:], fmt.Sprintf("%016x", hash(body)))
	for _, l := range f.page.links {
		address, priority, _ := strings.Cut(l, " ")
		p.Links = append(p.Links, web.Link{URL: v.address(address), Kind: web.LinkA, Anchor: priority})
	}
	a.Page = p
	a.Verdict = web.Verdict{Relevance: 1, Relevant: true}
	a.Features = anchorScorer{}.Extract(p, a.Verdict)
	v.asked[strings.TrimPrefix(f.URL.String(), "http://")]++
	return a
}

func hash(s string) (h uint64) {
	h = 14695981039346656037
	for _, c := range []byte(s) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// told are the events of a kind, in short.
func (v *virtualCrawl) told(kinds ...string) (out []string) {
	for _, e := range v.events {
		for _, k := range kinds {
			if e.Kind() != k || event.Passing(e) {
				continue
			}
			switch e := e.(type) {
			case event.Outage:
				if e.Over {
					out = append(out, fmt.Sprintf("outage over after %v", e.At.At.Sub(e.Since).Round(5*time.Minute)))
				} else {
					out = append(out, "outage")
				}
			case event.HostDown:
				out = append(out, fmt.Sprintf("%s down, over: %t", e.Host, e.Over))
			case event.Dropped:
				out = append(out, fmt.Sprintf("%d of %s dropped: %s", e.Count, e.Host, e.Reason))
			case event.Trap:
				out = append(out, "trap "+e.Shape)
			case event.Ended:
				out = append(out, fmt.Sprintf("%s, %d held of %d hosts", e.How, e.Frontier.Held, e.Frontier.Down))
			}
		}
	}
	return out
}

// twice names pages that were fetched more than once.
func (v *virtualCrawl) twice() (out []string) {
	for a, n := range v.asked {
		if n > 1 {
			out = append(out, a)
		}
	}
	return out
}
