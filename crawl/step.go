package crawl

import (
	"cmp"
	"encoding/hex"
	"math"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/crawl/bigmap"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/nearcopy"
	"github.com/waggle-crawler/waggle/web"
)

// SeedPriority is the priority of the addresses a crawl starts from: before
// anything found.
const SeedPriority = 1e30

// Policy holds what the user allows a crawl to do.
type Policy struct {
	Pages        int           // pages to fetch; 0 = no limit
	Time         time.Duration // to spend, over all runs; 0 = no limit
	UntilGain    float64       // relevant pages expected among the next 100 below which a crawl ends; 0 = never
	MaxDepth     int           // links from a seed; 0 = 50, less = the seeds alone
	MaxHostPages int           // pages to fetch from one host; 0 = no limit
	MaxRedirects int           // in a row; 0 = 10
	MaxTries     int           // for an address that fails for a time; 0 = 3
	MaxFailures  int           // failures in a row after which a host is down; 0 = 6
	Delay        time.Duration // between two requests to a host; 0 = none
	// WaitForBetter is for how long links that could be fetched wait at most until a
	// better one, of a host that is not due, brings a page; 0 = not at all. See
	// Step.among.
	WaitForBetter time.Duration
	Backoff       time.Duration // after a first failure, then doubled; 0 = 10 s
	MaxBackoff    time.Duration // of a host that is not down; 0 = 10 min
	MaxDown       time.Duration // of one that is; 0 = 6 h
	GiveUp        time.Duration // after which a host that is down is given up; 0 = 72 h
	Timeout       time.Duration // of a request, as the fetcher has it; 0 = 10 s
	Proxied       bool          // every request goes through one proxy
	Scope         Scope
	Render        Render // which pages a Renderer is given
	// Files are the extensions of files that are fetched although they are no HTML:
	// lower case, without a dot.
	Files []string
	// Sitemaps follows the sitemaps that a host's robots.txt names: they are links of each
	// of its pages.
	Sitemaps bool
	// LinksOnly are the media types of pages that are fetched for their links alone: they
	// are no harvest, and a scorer learns of them by what they lead to; see leads.
	LinksOnly []string
	// HonourNoFollow leaves alone links that say rel=nofollow. Pages that say
	// so of all their links are always obeyed.
	HonourNoFollow bool
	// Hollow recognises pages that hold nothing, see package hollow: their verdict is
	// zero, they are no harvest, and a scorer has no reward of them.
	Hollow bool
	// NearCopies recognises pages whose text is nearly that of a page fetched before, see
	// package nearcopy: they are no harvest, and a scorer has no reward of them.
	NearCopies bool
	// IgnoreDirectives keeps and follows pages that ask for neither.
	IgnoreDirectives bool
}

func (p Policy) withDefaults() Policy {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&p.MaxDepth, 50)
	p.MaxDepth = max(p.MaxDepth, 0)
	set(&p.MaxRedirects, 10)
	set(&p.MaxTries, 3)
	set(&p.MaxFailures, 6)
	if p.Backoff == 0 {
		p.Backoff = 10 * time.Second
	}
	if p.MaxBackoff == 0 {
		p.MaxBackoff = 10 * time.Minute
	}
	if p.MaxDown == 0 {
		p.MaxDown = 6 * time.Hour
	}
	if p.GiveUp == 0 {
		p.GiveUp = 72 * time.Hour
	}
	if p.Timeout == 0 {
		p.Timeout = 10 * time.Second
	}
	return p
}

// Arrival is what came of a lease: a page, a response that is none, or a
// failure.
type Arrival struct {
	Lease    web.Lease
	Response *web.Response // nil after a Failure; its bodies are no longer needed
	Bytes    int           // of the body as received
	Failure  *web.Failure
	Page     *web.Page // nil unless the response is a page
	Verdict  web.Verdict
	Features [][]byte // one for each of Page.Links
	// Reason says why the response is no page, or why the page is no harvest
	// by its own word (noindex); "" for a page.
	Reason web.Reason
	Detail string
	// Record is what the archive will keep, nil for nothing: a page may ask not
	// to be kept.
	Record []byte

	sketch    *nearcopy.Sketch // of a page that may be a near-copy
	wording   int64            // driver.wording before it was judged; 0 = it was judged just now
	rendered  renderOutcome
	certainty certainty // of a failure
}

// Preview asks the frontier what it would do with found links.
type Preview func([]web.Candidate) ([]web.Admission, error)

// Step decides what a crawl does next. It starts no goroutine, reads no clock
// and draws no chance: the same arrivals at the same moments give the same
// turns. Not for concurrent use.
type Step struct {
	policy      Policy
	scorer      Scorer
	judge       AdaptiveJudge // nil when the judge is frozen from the start
	count       progress
	seeds       map[web.URL]bool
	bare        map[web.URL]bool   // seeds that were given without a scheme
	known       map[web.URL]*known // pages of Again that were not visited yet
	dates       datesState
	closed      map[web.Host]web.Reason
	moved       []web.URL                   // where seeds redirected to: within the scope as well
	fresh       map[string][]byte           // states that the next turn stores, of closed, moved and near
	scratch     func() (bigmap.File, error) // see Crawl.Scratch
	bodies      *bigmap.Map                 // by digest, see countBody
	near        *nearcopy.Index             // nil = near-copies count as others
	scorerParts int                         // parts in which the scorer's state is stored
	scorerLast  []byte                      // the last part
	why         map[web.Host]string         // of hosts given up in this run
	net         network
	traps       traps
	ranks       ranks
	firstVisits firstVisits
	files       map[string]bool // of Policy.Files
	leads       leads
	lists       lists
	// What people told the crawl, what is noted of pages by the hashes of their addresses,
	// and the last links that were fetched, by which a label teaches the scorer; nil
	// where nobody can tell the crawl anything.
	steering      actState
	earlier       int // acts that earlier runs took in
	notes         *bigmap.Map
	recent        *recentLinks
	wanted        map[web.URL]*web.Page             // of examples, as the archive has them
	examples      []web.URL                         // that a person gave the judge
	state         func(name string) ([]byte, error) // of the frontier; nil = nothing was stored
	knownMuted    map[uint64]float64                // priorities of muted links, by the hash of the address; some of them
	lastMutedPart []byte                            // of the muted links, see keepMuted; nil = the next link begins another
	words         []string                          // the keywords of the topic
	sharing       *peerState                        // with other workers; nil without
	linkBuffers
	// noResume tells that no later run will go on with this crawl, so that
	// nothing is stored for one.
	noResume bool
}

// NewStep returns the decisions of a new crawl.
func NewStep(p Policy, s Scorer, j Judge) *Step {
	adapting, _ := j.(AdaptiveJudge)
	p = p.withDefaults()
	return &Step{
		policy: p,
		scorer: s,
		judge:  adapting,
		bare:   make(map[web.URL]bool),
		closed: make(map[web.Host]web.Reason),
		fresh:  make(map[string][]byte),
		bodies: bigmap.New(knownAtHand, nil),
		why:    make(map[web.Host]string),
		net:    network{delay: p.Delay, proxied: p.Proxied},
		files:  newSet(p.Files),
		leads:  newLeads(p.LinksOnly, s),
	}
}

// Remember tells of a page fetched in an earlier run, so that its body is
// known for a duplicate when it comes again.
func (s *Step) Remember(e event.Fetched) {
	out := cmp.Or(e.Reason, e.Overruled)
	if e.Wanted && !out.Copy() {
		out = ""
	}
	s.noteVerdict(e.URL, e.Relevant, out)
	if !e.Reason.Copy() { // its features can be had from the archive alone
		s.recent.add(&web.Candidate{URL: e.URL, From: e.From, Kind: e.Link, Depth: e.Depth, Priority: e.Priority})
	}
	if b, err := hex.DecodeString(e.Digest); err == nil && len(b) == 16 {
		before, home := s.countBody(e.URL, [16]byte(b))
		s.traps.note(e.At, e.URL, bodyKey([16]byte(b)), before > 0 && home)
	}
}

// Room is the number of pages the budget still allows, MaxInt without a limit.
func (s *Step) Room() int {
	if s.policy.Pages == 0 {
		return math.MaxInt
	}
	if s.sharing != nil {
		return s.policy.Pages - s.count.Pages - s.sharing.pages
	}
	return s.policy.Pages - s.count.Pages
}

// among is of how many best links the next one should be, 0 for any: of half as many
// as the budget has pages left, with inFlight of them on their way. A worker that is
// free would otherwise take what is due, however poor, and the budget of a polite crawl
// is spent on that. Half, as the pages to come will bring better links than the worst of
// those: docs/results/flagship.md has what other shares gave.
//
// Where the time ends before the pages do, as fast as pages came so far, nothing waits:
// a link that waits costs time.
func (s *Step) among(inFlight int) int {
	n := &s.count
	if s.policy.WaitForBetter == 0 || s.policy.Pages == 0 {
		return 0
	}
	room := s.Room() - inFlight
	if left, limited := s.TimeLeft(); limited && float64(left)*float64(n.Pages) < float64(room)*float64(n.Spent) {
		return 0
	}
	return max(1, room/2)
}

// TimeLeft is what remains of the time budget; ok is false without a limit.
func (s *Step) TimeLeft() (left time.Duration, ok bool) {
	return s.policy.Time - s.count.Spent, s.policy.Time > 0
}

// Spend counts time against the budget.
func (s *Step) Spend(d time.Duration) { s.count.Spent += d }

// Charge counts pages requested without a response against the budget.
func (s *Step) Charge(pages int) { s.count.Pages += pages }

// Ended tells whether the crawl is over at now, and how.
func (s *Step) Ended(now time.Time, f web.FrontierStats) (event.Ending, bool) {
	if left, limited := s.TimeLeft(); s.Room() <= 0 || limited && left <= 0 {
		return event.BudgetSpent, true
	}
	switch {
	case f.Queued == 0 && f.Leased == 0:
		return event.FrontierEmpty, true
	case s.count.Forecast.Enough(s.policy.UntilGain):
		return event.GainLow, true
	case f.Queued == f.Held && f.Leased == 0,
		s.net.state == networkDown && now.Sub(s.net.since) >= s.policy.GiveUp:
		return event.HostsDown, true
	}
	return "", false
}

// Outcome is what a step decided.
type Outcome struct {
	Turn  web.Turn
	Event event.Event   // nil for one that nobody need hear of
	With  []event.Event // that belong to the same turn
	Also  []event.Event // that follow from it
}

// Start makes the first turn of a crawl from its seeds.
func (s *Step) Start(now time.Time, seeds []web.URL, preview Preview) (Outcome, error) {
	s.seeds, s.policy.Scope = newSet(seeds), s.policy.Scope.withSeeds(seeds)
	return s.seed(now, seeds, preview)
}

// seed makes the turn in which seeds enter.
func (s *Step) seed(now time.Time, seeds []web.URL, preview Preview) (Outcome, error) {
	var found []link
	for _, u := range seeds {
		if s.foreign(u.Host()) {
			continue // all workers are given all seeds
		}
		if k := s.known[u]; k != nil && k.left {
			continue
		}
		found = append(found, link{Candidate: web.Candidate{URL: u, Kind: web.LinkSeed, Priority: SeedPriority}})
	}
	queued, skipped, turn, err := s.admit(found, nil, preview)
	if err != nil {
		return Outcome{}, err
	}
	s.count.Seeds += len(queued)
	s.count.Last = now.UnixNano()
	s.store(&turn)
	return Outcome{
		Turn:  turn,
		Event: event.Seeded{At: event.At{At: now}, Queued: queued, Skipped: skipped},
	}, nil
}

// Resume prepares a restored crawl; seeds must be those it was started with.
func (s *Step) Resume(seeds []web.URL) {
	s.seeds, s.policy.Scope = newSet(seeds), s.policy.Scope.withSeeds(append(slices.Clone(seeds), s.moved...))
}

// Resolve takes in an arrival and returns those, this one or earlier ones, of which it is
// known by now what they mean, in order: each is for Arrive. A failure without any response is
// set aside until then; see network.
func (s *Step) Resolve(now time.Time, a Arrival) (ready []Arrival, said []event.Event) {
	return s.net.resolve(now, a, s.rest(a.Response))
}

// Outage tells whether the network is down, and since when.
func (s *Step) Outage() (since time.Time, is bool) {
	return s.net.since, s.net.state == networkDown
}

// Arrive decides what an arrival means: what to keep, which links to follow,
// when its host may be asked again.
func (s *Step) Arrive(now time.Time, a Arrival, preview Preview) (Outcome, error) {
	var out Outcome
	var err error
	if a.Lease.Priority >= SeedPriority {
		s.count.Seeds-- // unless it is tried again, or moved
	}
	switch {
	case a.Page != nil:
		out, err = s.page(now, &a, preview)
	case a.Response != nil && a.Reason == web.ReasonRedirect:
		out, err = s.redirect(now, a, preview)
	default:
		if out = s.failure(now, a); s.bare[a.Lease.URL] {
			err = s.retryByHTTP(&a, &out, preview)
		}
	}
	if err != nil {
		return Outcome{}, err
	}
	if a.Response != nil {
		out.With = append(saidBySite(now, a.Response.SiteFile), out.With...)
	}
	if f, ok := out.Event.(event.Failed); !ok || !f.Retry {
		s.visited(a.Lease.URL)
		delete(s.leads.tried, a.Lease.URL)
	}
	if h := out.Turn.Hosts; len(h) > 0 {
		out.Also = append(out.Also, hostUp(now, &a.Lease.Host, &h[0])...)
	}
	s.noteInLists(out.Event)
	s.count.Last = now.UnixNano()
	s.store(&out.Turn)
	return out, nil
}

// A finding is what a page is besides its verdict: why it does not count as one that is wanted,
// and which pages have the same body or nearly its text.
type finding struct {
	reason    web.Reason // "" for a page that counts
	linksOnly bool       // it is of a kind that is read for its links alone
	copies    uint32     // earlier pages with the same body
	home      bool       // those were of the same site
	like      nearcopy.Match
}

// inspect tells what a page is, and counts its body.
func (s *Step) inspect(a *Arrival) (f finding, err error) {
	p := a.Page
	f.reason, f.linksOnly = a.Reason, s.leads.types[p.MIME]
	if f.linksOnly && f.reason == "" {
		f.reason = web.ReasonLinksOnly
	}
	if f.copies, f.home = s.countBody(p.URL, p.Digest); f.copies > 0 {
		f.reason = web.ReasonDuplicate
	}
	if f.like, err = s.nearCopyOf(a, f.reason); err != nil {
		return finding{}, err
	}
	if !f.like.URL.IsZero() {
		f.reason = web.ReasonNearCopy
	}
	return f, nil
}

// page takes in a judged page.
func (s *Step) page(now time.Time, a *Arrival, preview Preview) (Outcome, error) {
	p, c := a.Page, &a.Lease.Candidate
	f, err := s.inspect(a)
	if err != nil {
		return Outcome{}, err
	}
	v := a.Verdict
	v.Relevant = v.Relevant && f.reason == ""
	host := s.countPage(now, a, v.Relevant, f.reason)
	also := s.traps.note(event.At{At: now}, p.URL, bodyKey(p.Digest), f.copies > 0 && f.home)
	memory, with := s.teach(now, a, v, f)

	// The links of a duplicate may lead elsewhere where they are relative to another folder
	// of the site; but a mirror only repeats what is known, and a trap goes on for ever. Where
	// two pages say nearly the same their links may differ.
	follow := f.copies == 0 || f.home && f.copies < maxCopies
	var found []link
	var refused []event.Skipped
	if follow {
		found, refused = s.links(a, memory)
	} else {
		refused = ofCopy(p)
	}
	full := s.policy.MaxHostPages > 0 && host.Fetched >= s.policy.MaxHostPages
	if full {
		s.close(host.Host, web.ReasonHostPages)
	}
	queued, skipped, turn, err := s.admit(found, refused, preview)
	if err != nil {
		return Outcome{}, err
	}
	entries, dated, sooner, err := s.applyDates(now, p, follow, preview)
	if err != nil {
		return Outcome{}, err
	}
	for i := range sooner {
		k := &sooner[i]
		turn.Add = append(turn.Add, k.page)
		queued = append(queued, k.found)
		if !k.found.Raised {
			turn.Forget = append(turn.Forget, k.page.URL)
		}
	}
	a.rendered.count(&host.Renders, &s.count.Renders, queued)
	turn.Done = append(turn.Done, c.URL)
	turn.Hosts = []web.HostState{host}
	if full {
		turn.Drop = []web.Host{host.Host}
	}
	e := fetched(now, a, v, f)
	e.Entries, e.Dated, e.Queued, e.Skipped, e.Sent = entries, dated, queued, skipped, s.sending()
	return Outcome{Turn: turn, Event: e, With: with, Also: also}, nil
}

// countPage counts a page, and returns the state of its host after it.
func (s *Step) countPage(now time.Time, a *Arrival, relevant bool, reason web.Reason) web.HostState {
	host := a.Lease.Host
	host.Fetched++
	markAnswered(&host)
	s.pace(now, &host, a)
	host.Barren++
	s.noteVerdict(a.Page.URL, relevant, reason)
	if relevant {
		host.Barren = 0
		s.count.Relevant++
	}
	s.count.Pages++
	s.count.Forecast.Add(relevant)
	host.Due = s.due(now, a.Response)
	return host
}

// teach shows a page to the scorer. memory is what the scorer keeps of it for its links. A copy
// teaches nothing.
func (s *Step) teach(now time.Time, a *Arrival, v web.Verdict, f finding) (memory []byte, with []event.Event) {
	c := &a.Lease.Candidate
	if f.reason.Copy() {
		return s.copied(c, a.Page, v, f.reason), nil
	}
	memory = s.scorer.Visit(c, a.Page, s.leads.worth(v, f.linksOnly))
	s.recent.add(c)
	s.leads.arrive(c, f.linksOnly, v.Relevant)
	if f.reason == "" {
		with = s.observe(now, a.Page, a.Verdict)
	}
	return memory, with
}

// copied tells the scorer of a copy, and returns what its links carry. Those of a near-copy are links of its own, and carry
// the path by which they were found; those of an exact copy are mostly the ones of the page that was first.
func (s *Step) copied(c *web.Candidate, p *web.Page, v web.Verdict, why web.Reason) (memory []byte) {
	memory = s.scorer.Visit(c, nil, web.Verdict{})
	if x, ok := s.scorer.(RecallingScorer); ok && why == web.ReasonNearCopy {
		memory = x.Recall(c, p, v)
	}
	return memory
}

// fetched is the event of a page, but for its links and the dates that it gives.
func fetched(now time.Time, a *Arrival, v web.Verdict, f finding) event.Fetched {
	p := a.Page
	return event.Fetched{
		At:         event.At{At: now},
		Visit:      visit(&a.Lease.Candidate),
		Status:     p.Status,
		MIME:       p.MIME,
		Bytes:      a.Bytes,
		Took:       seconds(a.Response.Took),
		Title:      clip(p.Title, 200),
		Language:   p.Language,
		Digest:     hex.EncodeToString(p.Digest[:]),
		Relevance:  v.Relevance,
		Similarity: v.Similarity,
		Relevant:   v.Relevant,
		Reason:     f.reason,
		Like:       f.like.URL,
		Likeness:   math.Round(f.like.Likeness*1e3) / 1e3,
		Directives: p.Directives,
		BySite:     p.Directives.TDMReserved && a.Response.Site.Reserved,
		Truncated:  p.Truncated,
		Cut:        a.Response.Truncated,
		Rendered:   a.rendered.event,
		NoBrowser:  a.rendered.absent,
		Links:      len(p.Links),
		Telling:    p.Telling,
		Concealed:  a.Response.Rendered().Concealed,
	}
}

// saidBySite tells of the file of a site that was asked for, unless there is none.
func saidBySite(now time.Time, f *web.SiteFile) []event.Event {
	if f == nil || f.Rules == 0 && f.Wrong == "" {
		return nil
	}
	e := event.SiteFile{At: event.At{At: now}, URL: f.URL, Rules: f.Rules, Wrong: f.Wrong}
	if f.Response != nil {
		e.Status = f.Response.Status
	}
	return []event.Event{e}
}

// due is the earliest moment of the next request to a host that answered r.
func (s *Step) due(now time.Time, r *web.Response) time.Time {
	wait := s.rest(r)
	if wait == 0 {
		return time.Time{}
	}
	return now.Add(wait)
}

// rest is how long a host that answered r is left alone; r is nil where there is no response.
func (s *Step) rest(r *web.Response) time.Duration {
	if r == nil {
		return s.policy.Delay
	}
	return max(s.policy.Delay, r.CrawlDelay, min(r.RetryAfter, mostRetryAfter))
}

// Dropped turns a receipt into events.
func (s *Step) Dropped(now time.Time, t web.Turn, r web.Receipt) (events []event.Event) {
	for i, n := range r.Forgotten {
		if h := t.Drop[i]; n > 0 || s.closed[h] == web.ReasonHostDead {
			why := cmp.Or(s.closed[h], web.ReasonElsewhere)
			events = append(events, event.Dropped{At: event.At{At: now}, Reason: why, Host: h, Count: n, Detail: s.why[h]})
		}
	}
	left := func(list []web.Candidate, why web.Reason) {
		if len(list) == 0 {
			return
		}
		e := event.Dropped{At: event.At{At: now}, Reason: why, Count: len(list)}
		for _, c := range list {
			e.URLs = append(e.URLs, c.URL)
			delete(s.leads.tried, c.URL)
		}
		events = append(events, e)
	}
	left(r.Dropped, web.ReasonHostQueue)
	left(r.Displaced, web.ReasonSiteQueue)
	left(r.Crowded, web.ReasonQueue)
	return events
}

func visit(c *web.Candidate) event.Visit {
	return event.Visit{URL: c.URL, From: c.From, Link: c.Kind, Depth: c.Depth, Priority: c.Priority}
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e4) / 1e4 }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// clip cuts s to at most n bytes, between runes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
