package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// studentScorer is a scorer that learns one text a page.
type studentScorer struct {
	anchorScorer
	shares bool
	own    [][]byte
	all    []string
}

func (s *studentScorer) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	s.all = append(s.all, c.URL.String())
	if s.shares {
		s.own = append(s.own, []byte(c.URL.String()))
	}
	return s.anchorScorer.Visit(c, p, v)
}

func (s *studentScorer) Share() { s.shares = true }

func (s *studentScorer) Lessons() [][]byte {
	out := s.own
	s.own = nil
	return out
}

func (s *studentScorer) Learn(lesson []byte) error {
	if len(lesson) == 0 {
		return fmt.Errorf("an empty lesson")
	}
	s.all = append(s.all, string(lesson))
	return nil
}

// ownHosts is a worker by the hosts that it owns; the step asks for no more.
type ownHosts struct {
	Peers
	hosts []web.Host
}

func (o ownHosts) Owns(h web.Host) bool { return slices.Contains(o.hosts, h) }

// everyLink previews a frontier that knows nothing.
func everyLink(found []web.Candidate) ([]web.Admission, error) {
	return slices.Repeat([]web.Admission{web.Queued}, len(found)), nil
}

func addressOf(t *testing.T, s string) web.URL {
	t.Helper()
	u, err := web.Parse("http://" + s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// workerOf is the step of a worker, and its scorer.
func workerOf(p Policy, hosts ...web.Host) (*Step, *studentScorer) {
	scorer := &studentScorer{}
	s := NewStep(p, scorer, nil)
	s.join(ownHosts{hosts: hosts})
	return s, scorer
}

// pageWith is the arrival of a page with links, each an address and a priority.
func pageWith(t *testing.T, from string, links ...string) Arrival {
	u := addressOf(t, from)
	a := Arrival{
		Lease:    web.Lease{Candidate: web.Candidate{URL: u, Priority: 0.5}, Host: web.HostState{Host: u.Host()}},
		Response: &web.Response{URL: u, Status: 200},
		Page:     &web.Page{URL: u, Status: 200},
	}
	copy(a.Page.Digest[:], from)
	for i, l := range links {
		to, priority, _ := strings.Cut(l, " ")
		a.Page.Links = append(a.Page.Links, web.Link{URL: addressOf(t, to), Anchor: priority, Position: i, Kind: web.LinkA})
	}
	a.Features = anchorScorer{}.Extract(a.Page, web.Verdict{})
	return a
}

func namesOf(links []web.Candidate) (out []string) {
	for _, c := range links {
		out = append(out, fmt.Sprintf("%s %v from %s", strings.TrimPrefix(c.URL.String(), "http://"), c.Priority, strings.TrimPrefix(c.From.String(), "http://")))
	}
	return out
}

func mustEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// A page's links to hosts of others go to them, and not into the own frontier; what the
// scorer learnt of the page goes along.
func TestLinksOfOthersAreSent(t *testing.T) {
	s, _ := workerOf(Policy{Scope: Scope{Reach: ReachAny}}, "a.example")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	arrive := func(a Arrival) (Outcome, Mail) {
		t.Helper()
		out, err := s.Arrive(now, a, everyLink)
		if err != nil {
			t.Fatal(err)
		}
		return out, s.mail(&out.Turn)
	}
	out, m := arrive(pageWith(t, "a.example/1", "a.example/2 0.4", "b.example/1 0.6", "c.example/1 0.2", "b.example/x.zip 0.9"))
	mustEqual(t, "own", namesOf(out.Turn.Add), []string{"a.example/2 0.4 from a.example/1"})
	mustEqual(t, "sent", namesOf(m.Links), []string{"b.example/1 0.6 from a.example/1", "c.example/1 0.2 from a.example/1"})
	mustEqual(t, "lessons", m.Lessons, []Lesson{{Data: []byte("http://a.example/1")}})
	mustEqual(t, "done", m.Done, []web.URL{addressOf(t, "a.example/1")}) // and not x.zip, which is another's
	if n := out.Event.(event.Fetched).Sent; n != 2 {
		t.Errorf("the event tells of %d links sent, want 2", n)
	}

	_, m = arrive(pageWith(t, "a.example/2", "b.example/1 0.6", "c.example/1 0.3"))
	mustEqual(t, "found again: those at a better place", namesOf(m.Links), []string{"c.example/1 0.3 from a.example/2"})
	s.count.SweepBegan++ // all that waits was scored anew
	_, m = arrive(pageWith(t, "a.example/3", "b.example/1 0.6", "c.example/1 0.1"))
	mustEqual(t, "found again under another model", namesOf(m.Links), []string{"b.example/1 0.6 from a.example/3", "c.example/1 0.1 from a.example/3"})
}

// What comes from another worker goes through all that a link of a page goes through.
func TestMailIsNotTrusted(t *testing.T) {
	s, scorer := workerOf(Policy{MaxDepth: 3, Scope: Scope{Reach: ReachDomain}}, "b.example", "www.b.example")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	out, err := s.Start(now, []web.URL{addressOf(t, "a.example/"), addressOf(t, "b.example/")}, everyLink)
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "own seeds", namesOf(out.Turn.Add), []string{"b.example/ 1e+30 from "})

	link := func(to, from, anchor string, change func(*web.Candidate)) web.Candidate {
		c := web.Candidate{URL: addressOf(t, to), From: addressOf(t, from), Kind: web.LinkA, Depth: 1, Features: []byte(anchor), Priority: 99, Tries: 7}
		if change != nil {
			change(&c)
		}
		return c
	}
	out, err = s.Receive(now, Mail{
		Links: []web.Candidate{
			link("b.example/good", "a.example/1", "0.5", nil),
			link("b.example/deep", "a.example/1", "0.5", func(c *web.Candidate) { c.Depth = 4 }),
			link("b.example/less", "a.example/1", "0.5", func(c *web.Candidate) { c.Depth = -1 }),
			link("b.example/nan", "a.example/1", "0.5", func(c *web.Candidate) { c.Priority = math.NaN() }),
			link("a.example/mine", "a.example/1", "0.5", nil), // of a host that is not this worker's
			link("b.example/film.mp4", "a.example/2", "0.5", nil),
			link("www.b.example/", "a.example/2", "0.25", nil),
		},
		Lessons: []Lesson{{Data: []byte("taught")}, {Data: nil}, {Judge: true, Data: []byte("no judge learns here")}},
		Marks:   map[string][]byte{"place": []byte("7")},
	}, everyLink)
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "taken in", namesOf(out.Turn.Add), []string{"b.example/good 0.5 from a.example/1", "www.b.example/ 0.25 from a.example/2"})
	if out.Turn.Add[0].Tries != 0 {
		t.Error("a link brought its failures along")
	}
	mustEqual(t, "learnt", scorer.all, []string{"taught"})
	mustEqual(t, "kept", string(out.Turn.State["place"]), "7")
	told := []string{}
	for _, e := range append([]event.Event{out.Event}, out.With...) {
		r := e.(event.Received)
		told = append(told, fmt.Sprint(r.From, " ", len(r.Queued), " ", r.Skipped))
	}
	mustEqual(t, "told", told, []string{
		"http://a.example/1 1 [{http://b.example/deep depth }]",
		"http://a.example/2 1 [{http://b.example/film.mp4 extension }]",
	})
	if m := s.mail(&out.Turn); len(m.Lessons) > 0 {
		t.Errorf("what was learnt from others was sent on: %v", m.Lessons)
	}
}

// A link that several pages of one mail have is told once, and again where it is at a better
// place.
func TestMailOfSeveralPages(t *testing.T) {
	s, _ := workerOf(Policy{MaxDepth: 3}, "b.example")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	link := func(to, from, anchor string, depth int) web.Candidate {
		return web.Candidate{URL: addressOf(t, to), From: addressOf(t, from), Kind: web.LinkA, Depth: depth, Features: []byte(anchor)}
	}
	out, err := s.Receive(now, Mail{Links: []web.Candidate{
		link("b.example/1", "a.example/1", "0.5", 1), link("b.example/deep", "a.example/1", "0.5", 4),
		link("b.example/1", "a.example/2", "0.4", 1), link("b.example/2", "a.example/2", "0.1", 1), link("b.example/deep", "a.example/2", "0.5", 4),
		link("b.example/1", "a.example/3", "0.6", 1), link("b.example/deep", "a.example/3", "0.5", 2),
		link("b.example/1", "a.example/1", "0.5", 1), link("b.example/deep", "a.example/1", "0.5", 4),
	}}, everyLink)
	if err != nil {
		t.Fatal(err)
	}
	told := []string{}
	for _, e := range append([]event.Event{out.Event}, out.With...) {
		r := e.(event.Received)
		for _, q := range r.Queued {
			told = append(told, fmt.Sprint(q.URL, " ", q.Priority, " from ", r.From, " raised: ", q.Raised))
		}
		for _, q := range r.Skipped {
			told = append(told, fmt.Sprint(q.URL, " ", q.Reason, " from ", r.From))
		}
	}
	mustEqual(t, "told", told, []string{
		"http://b.example/1 0.5 from http://a.example/1 raised: false",
		"http://b.example/deep depth from http://a.example/1",
		"http://b.example/2 0.1 from http://a.example/2 raised: false",
		"http://b.example/1 0.6 from http://a.example/3 raised: true",
		"http://b.example/deep 0.5 from http://a.example/3 raised: false",
	})
	mustEqual(t, "taken in", namesOf(out.Turn.Add), []string{
		"b.example/1 0.5 from a.example/1", "b.example/2 0.1 from a.example/2", "b.example/1 0.6 from a.example/3", "b.example/deep 0.5 from a.example/3",
	})
}

// Where a seed moved to is in the scope of all workers.
func TestMovedSeedsAreTold(t *testing.T) {
	policy := Policy{Scope: Scope{Reach: ReachDomain}}
	seeds := []web.URL{addressOf(t, "a.example/")}
	sender, _ := workerOf(policy, "a.example")
	receiver, _ := workerOf(policy, "new.example")
	third, _ := workerOf(policy, "third.example")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, s := range []*Step{sender, receiver, third} {
		if _, err := s.Start(now, seeds, everyLink); err != nil {
			t.Fatal(err)
		}
	}
	u := seeds[0]
	out, err := sender.Arrive(now, Arrival{
		Lease:    web.Lease{Candidate: web.Candidate{URL: u, Kind: web.LinkSeed, Priority: SeedPriority}, Host: web.HostState{Host: u.Host()}},
		Response: &web.Response{URL: u, Status: 301, Location: addressOf(t, "new.example/")},
		Reason:   web.ReasonRedirect,
	}, everyLink)
	if err != nil {
		t.Fatal(err)
	}
	if e := out.Event.(event.Failed); !e.Queued {
		t.Errorf("the redirect was not followed: %+v", e)
	}
	m := sender.mail(&out.Turn)
	if out, err = receiver.Receive(now, m, everyLink); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "the target waits as a seed", namesOf(out.Turn.Add), []string{"new.example/ 1e+30 from a.example/"})
	if _, err = third.Receive(now, m, everyLink); err != nil {
		t.Fatal(err)
	}
	if r := third.policy.Scope.check(addressOf(t, "www.new.example/x")); r != "" {
		t.Errorf("a page beside the seed that moved is left out by a third worker: %s", r)
	}
}

// A turn that is redone knows where a seed moved to.
func TestRecountKnowsMovedSeeds(t *testing.T) {
	state := func(name string) ([]byte, error) { return []byte(`{"pages":3,"moved":1}`), nil }
	moved := event.Failed{Visit: event.Visit{URL: addressOf(t, "a.example/"), Priority: SeedPriority}, Reason: web.ReasonRedirect, To: addressOf(t, "new.example/"), Queued: true}
	link := moved
	link.Priority = 0.5
	counted, err := Recount(state, func(yield func(event.Event, error) bool) { _ = yield(moved, nil) && yield(link, nil) })
	if err != nil {
		t.Fatal(err)
	}
	var p progress
	if err := json.Unmarshal(counted[stateCrawl], &p); err != nil || p.Moved != 2 || p.Pages != 3 {
		t.Errorf("counted %+v, %v", p, err)
	}
	mustEqual(t, "where it moved", string(counted[stateMoved+"1"]), "http://new.example/")
}

// givingAway is a worker that gives hosts to another, one a mail.
type givingAway struct {
	ownHosts
	left []web.Host
}

func (g *givingAway) Receive(context.Context) (m Mail, err error) {
	host := g.left[0]
	g.left = g.left[1:]
	return Mail{Left: func(h web.Host) bool { return h == host }}, nil
}

func (*givingAway) Send(context.Context, Mail, *web.Turn) error { return nil }
func (*givingAway) Tell(time.Time, bool, func() Standing)       {}
func (*givingAway) Others() (sum Standing, version int)         { return Standing{}, 0 }

// A worker waits for no seed of a host that it gave away: what is out of its scope is out for good then.
func TestSeedsThatAreGivenAway(t *testing.T) {
	peers := &givingAway{ownHosts{hosts: []web.Host{"a.example", "b.example"}}, []web.Host{"b.example", "a.example"}}
	seeds := []web.URL{addressOf(t, "a.example/"), addressOf(t, "b.example/"), addressOf(t, "b.example/done")}
	c := &Crawl{Seeds: seeds, Frontier: frontier.NewMemory(frontier.Options{}), Scorer: &studentScorer{}, Policy: Policy{Scope: Scope{Reach: ReachDomain}}, Peers: peers}
	d, now := c.newDriver(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d.step.join(peers)
	out, err := d.step.Start(now, seeds, d.preview(t.Context()))
	if err == nil {
		d.step.count.Seeds-- // of one that is fetched
		out.Turn.Done = append(out.Turn.Done, seeds[2])
		err = d.settle(t.Context(), now, nil, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{1, 0} {
		if err := d.receive(t.Context(), now); err != nil || d.step.count.Seeds != left {
			t.Errorf("%d seeds are to come, not %d: %v", d.step.count.Seeds, left, err)
		}
	}
	outside := web.Candidate{URL: addressOf(t, "c.example/")}
	if why, forGood := d.step.refuse(&outside); why != web.ReasonScope || !forGood {
		t.Errorf("a link out of the scope: %q, for good: %v", why, forGood)
	}
}

// toldPeers are other workers that say how far they are.
type toldPeers struct {
	Peers
	sum     Standing
	version int
}

func (p *toldPeers) Others() (Standing, int)               { return p.sum, p.version }
func (p *toldPeers) Receive(context.Context) (Mail, error) { return Mail{}, nil }

// A better page is waited for as long as 32 pages take of all workers. A worker that comes, or comes again, goes by what
// it saw of the others, not by what they had before.
func TestPaceOfSeveral(t *testing.T) {
	for _, own := range []progress{{}, {Spent: 1000 * time.Second, Pages: 10_000}} {
		peers := &toldPeers{}
		c := &Crawl{Frontier: frontier.NewMemory(frontier.Options{}), Scorer: &studentScorer{}, Policy: Policy{WaitForBetter: 5 * time.Second}, Peers: peers}
		d, now := c.newDriver(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		if err := d.join(); err != nil {
			t.Fatal(err)
		}
		d.step.count = own
		hear := func(sum Standing) time.Duration {
			peers.sum, peers.version = sum, peers.version+1
			if err := d.receive(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			return max(0, d.betterUntil.Sub(now))
		}
		if waits := hear(Standing{Pages: 70_000, Better: 500}); waits > 0 {
			t.Errorf("%v spent before: pages that came before are a reason to wait for %v", own.Spent, waits)
		}
		d.step.count.Spent += 10 * time.Second
		d.step.count.Pages += 100
		if waits := hear(Standing{Pages: 70_700, Better: 502}); waits != 2*32*12500*time.Microsecond {
			t.Errorf("%v spent before: two of 800 pages in 10 s are a reason to wait for %v", own.Spent, waits)
		}
		if waits := hear(Standing{Pages: 35_000, Better: 251}); waits != 2*32*12500*time.Microsecond {
			t.Errorf("%v spent before: a worker is lost, which is a reason to wait for %v", own.Spent, waits)
		}
		d.step.count.Spent += 10 * time.Second
		if waits := hear(Standing{Pages: 35_800, Better: 253}); waits != 4*32*12500*time.Microsecond {
			t.Errorf("%v spent before: two of 800 pages in 10 s more are a reason to wait for %v", own.Spent, waits)
		}
	}
}

// busyPeers are other workers that own nothing, and fetch all the time.
type busyPeers struct{ Peers }

func (busyPeers) Owns(web.Host) bool                            { return true }
func (busyPeers) Send(context.Context, Mail, *web.Turn) error   { return nil }
func (busyPeers) Receive(context.Context) (Mail, error)         { return Mail{}, nil }
func (busyPeers) Tell(_ time.Time, _ bool, own func() Standing) { own() }
func (busyPeers) Others() (sum Standing, version int)           { return Standing{InFlight: 1}, 1 }
func (busyPeers) Idle() bool                                    { return true }

// A worker whose only host fails once without an answer tries it again, though others fetch
// meanwhile.
func TestFailureWhileOthersFetch(t *testing.T) {
	v := newVirtual(t, "h0.example/1")
	v.peers = busyPeers{}
	v.answer = down(rings(1, 5), web.ReasonConnect, between(0, time.Second))
	if how := v.run(time.Hour); how != event.FrontierEmpty {
		t.Errorf("ended %s", how)
	}
	v.whole(1, 5)
}

func TestSumOfStandings(t *testing.T) {
	got := Sum(
		Standing{Pages: 3, InFlight: 1, Held: 2, Better: 1, Waiting: []web.Rung{{Priority: 0.9, Links: 1}, {Priority: 0.5, Links: 2}}},
		Standing{},
		Standing{Pages: 4, InFlight: 2, Held: 1, Better: 5, Waiting: []web.Rung{{Priority: 0.7, Links: 4}, {Priority: 0.5, Links: 1}}},
	)
	mustEqual(t, "sum", got, Standing{Pages: 7, InFlight: 3, Held: 3, Better: 6, Waiting: []web.Rung{{Priority: 0.9, Links: 1}, {Priority: 0.7, Links: 4}, {Priority: 0.5, Links: 3}}})
}
