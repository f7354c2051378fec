package crawl

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// SeedPriority is the priority of the addresses a crawl starts from: before
// anything found.
const SeedPriority = 1e30

// Policy holds what the user allows a crawl to do.
type Policy struct {
	Pages        int           // pages to fetch; 0 = no limit
	Time         time.Duration // to spend, over all runs; 0 = no limit
	MaxDepth     int           // links from a seed; 0 = 50
	MaxHostPages int           // pages to fetch from one host; 0 = no limit
	MaxRedirects int           // in a row; 0 = 10
	MaxTries     int           // for an address that fails for a time; 0 = 3
	MaxFailures  int           // failures in a row after which a host is given up; 0 = 6
	Delay        time.Duration // between two requests to a host; 0 = none
	Backoff      time.Duration // after a first failure, then doubled; 0 = 10 s
	MaxBackoff   time.Duration // 0 = 10 min
	Scope        Scope
	// HonourNoFollow leaves alone links that say rel=nofollow. Pages that say
	// so of all their links are always obeyed.
	HonourNoFollow bool
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
	set(&p.MaxRedirects, 10)
	set(&p.MaxTries, 3)
	set(&p.MaxFailures, 6)
	if p.Backoff == 0 {
		p.Backoff = 10 * time.Second
	}
	if p.MaxBackoff == 0 {
		p.MaxBackoff = 10 * time.Minute
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
}

// Preview asks the frontier what it would do with found links.
type Preview func([]web.Candidate) ([]web.Admission, error)

// Step decides what a crawl does next. It starts no goroutine, reads no clock
// and draws no chance: the same arrivals at the same moments give the same
// turns. Not for concurrent use.
type Step struct {
	policy Policy
	scorer Scorer
	judge  Adapting // nil when the judge is frozen from the start
	count  progress
	closed map[web.Host]web.Reason
	moved  []web.URL         // where seeds redirected to: within the scope as well
	fresh  map[string][]byte // of closed and moved, what was not stored yet
	bodies map[uint64]copies
	parts  []uint64 // hashes of the parts of the scorer's state, as stored
	// passing tells that no later run will go on with this crawl, so that
	// nothing is stored for one.
	passing bool
}

// copies is how often a body came, and where from first.
type copies struct {
	origin uint32 // a hash of scheme and host
	n      uint32
}

// maxCopies bounds how many pages with one body have their links followed.
const maxCopies = 4

// progress is what the budget is measured by; it is stored with every turn.
type progress struct {
	Pages    int           `json:"pages"`
	Relevant int           `json:"relevant"`
	Seeds    int           `json:"seeds"`    // not yet fetched, or wherever they moved
	Closed   int           `json:"closed"`   // hosts
	Moved    int           `json:"moved"`    // seeds
	Spent    time.Duration `json:"spent_ns"` // of earlier runs and this
	// While all that waits is being scored anew: the place in the frontier that
	// this has come to, nil for its beginning.
	Sweeping bool   `json:"sweeping,omitempty"`
	Sweep    []byte `json:"sweep,omitempty"`
}

// NewStep returns the decisions of a new crawl.
func NewStep(p Policy, s Scorer, j Judge) *Step {
	adapting, _ := j.(Adapting)
	return &Step{
		policy: p.withDefaults(),
		scorer: s,
		judge:  adapting,
		closed: make(map[web.Host]web.Reason),
		fresh:  make(map[string][]byte),
		bodies: make(map[uint64]copies),
	}
}

// Names under which a turn carries states.
const (
	stateCrawl   = "crawl"
	stateClosed  = "closed." // and a number: a closed host, a space, the reason
	stateMoved   = "moved."  // and a number: an address
	stateScorer  = "scorer"
	StateArchive = "archive" // the mark of the archive
	StateEvents  = "events"  // the mark of the event log
)

// Restore takes up a crawl where its last turn left it. state returns what was
// stored under a name.
func (s *Step) Restore(state func(name string) ([]byte, error)) error {
	take := func(name string, into func([]byte) error) error {
		b, err := state(name)
		if err != nil || b == nil {
			return err
		}
		if err := into(b); err != nil {
			return fmt.Errorf("stored state %q cannot be read: %w", name, err)
		}
		return nil
	}
	err := errors.Join(
		take(stateCrawl, func(b []byte) error { return json.Unmarshal(b, &s.count) }),
	)
	if whole, errState := ScorerState(state); errState != nil {
		err = errors.Join(err, errState)
	} else if whole != nil {
		for part := range slices.Chunk(whole, statePart) {
			s.parts = append(s.parts, xxh3.Hash(part))
		}
		if errState := s.scorer.Restore(whole); errState != nil {
			err = errors.Join(err, fmt.Errorf("stored state %q cannot be read: %w", stateScorer, errState))
		}
	}
	err = errors.Join(err, s.restoreJudge(state))
	for i := range s.count.Closed {
		err = errors.Join(err, take(stateClosed+strconv.Itoa(i), func(b []byte) error {
			host, why, ok := strings.Cut(string(b), " ")
			if !ok {
				return errors.New("it names no reason")
			}
			s.closed[web.Host(host)] = web.Reason(why)
			return nil
		}))
	}
	for i := range s.count.Moved {
		err = errors.Join(err, take(stateMoved+strconv.Itoa(i), func(b []byte) error {
			u, err := web.Parse(string(b))
			s.moved = append(s.moved, u)
			return err
		}))
	}
	return err
}

// Remember tells of a page fetched in an earlier run, so that its body is
// known for a duplicate when it comes again.
func (s *Step) Remember(e event.Fetched) {
	if b, err := hex.DecodeString(e.Digest); err == nil && len(b) == 16 {
		s.copy(e.URL, [16]byte(b))
	}
}

// copy counts a body, and returns how often it came before and whether from
// the same origin.
func (s *Step) copy(u web.URL, digest [16]byte) (before uint32, home bool) {
	key := binary.BigEndian.Uint64(digest[:])
	origin := uint32(xxh3.HashString(u.Origin()))
	c, seen := s.bodies[key]
	if !seen {
		c.origin = origin
	}
	before = c.n
	c.n++
	s.bodies[key] = c
	return before, c.origin == origin
}

// Room is the number of pages the budget still allows, MaxInt without a limit.
func (s *Step) Room() int {
	if s.policy.Pages == 0 {
		return math.MaxInt
	}
	return s.policy.Pages - s.count.Pages
}

// TimeLeft is what remains of the time budget; ok is false without a limit.
func (s *Step) TimeLeft() (left time.Duration, ok bool) {
	return s.policy.Time - s.count.Spent, s.policy.Time > 0
}

// Spend counts time against the budget.
func (s *Step) Spend(d time.Duration) { s.count.Spent += d }

// Charge counts pages against the budget that were asked for and never came.
func (s *Step) Charge(pages int) { s.count.Pages += pages }

// Ended tells whether the crawl is over, and how.
func (s *Step) Ended(f web.FrontierStats) (event.Ending, bool) {
	if left, limited := s.TimeLeft(); s.Room() <= 0 || limited && left <= 0 {
		return event.BudgetSpent, true
	}
	if f.Queued == 0 && f.Leased == 0 {
		return event.FrontierEmpty, true
	}
	return "", false
}

// Rescore is the priority of a waiting candidate under the present model.
func (s *Step) Rescore(c *web.Candidate) float64 {
	if c.Priority >= SeedPriority {
		return c.Priority
	}
	return s.score(c)
}

// Sweep tells whether waiting candidates are to be scored anew now, and from
// which place in the frontier on. Where the scorer asks for it while that goes
// on, it begins again.
func (s *Step) Sweep() (from []byte, due bool) {
	if s.scorer.Stale() {
		s.count.Sweeping, s.count.Sweep = true, nil
	}
	return s.count.Sweep, s.count.Sweeping
}

// Swept tells how far that has come, nil for through.
func (s *Step) Swept(next []byte) { s.count.Sweeping, s.count.Sweep = next != nil, next }

// Outcome is what a step decided.
type Outcome struct {
	Turn  web.Turn
	Event event.Event
	Also  []event.Event // that belong to the same turn
}

// Start makes the first turn of a crawl from its seeds.
func (s *Step) Start(now time.Time, seeds []web.URL, preview Preview) (Outcome, error) {
	s.policy.Scope = s.policy.Scope.withSeeds(seeds)
	return s.seed(now, seeds, preview)
}

// seed makes the turn in which seeds enter.
func (s *Step) seed(now time.Time, seeds []web.URL, preview Preview) (Outcome, error) {
	var found []link
	for _, u := range seeds {
		found = append(found, link{Candidate: web.Candidate{URL: u, Kind: web.LinkSeed, Priority: SeedPriority}})
	}
	queued, skipped, turn, err := s.admit(found, nil, preview)
	if err != nil {
		return Outcome{}, err
	}
	s.count.Seeds += len(queued)
	s.store(&turn)
	return Outcome{
		Turn:  turn,
		Event: event.Seeded{At: event.At{At: now}, Queued: queued, Skipped: skipped},
	}, nil
}

// Resume prepares a restored crawl; seeds must be those it was started with.
func (s *Step) Resume(seeds []web.URL) {
	s.policy.Scope = s.policy.Scope.withSeeds(append(slices.Clone(seeds), s.moved...))
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
		out, err = s.page(now, a, preview)
	case a.Response != nil && a.Reason == web.ReasonRedirect:
		out, err = s.redirect(now, a, preview)
	case a.Reason == web.ReasonBusy:
		out = s.putBack(now, a)
	default:
		out, err = s.failure(now, a)
	}
	if err != nil {
		return Outcome{}, err
	}
	s.store(&out.Turn)
	return out, nil
}

// putBack puts a link back as it was, because politeness asks to wait with its
// host and nothing was asked.
func (s *Step) putBack(now time.Time, a Arrival) Outcome {
	c, host := &a.Lease.Candidate, a.Lease.Host
	if c.Priority >= SeedPriority {
		s.count.Seeds++
	}
	host.Due = now.Add(a.Failure.RetryAfter)
	return Outcome{
		Turn: web.Turn{Retry: []web.Candidate{*c}, Hosts: []web.HostState{host}},
		Event: event.Failed{
			At: event.At{At: now}, Visit: visit(c), Reason: a.Reason, Detail: clip(a.Detail, 300), Retry: true,
		},
	}
}

// page takes in a judged page.
func (s *Step) page(now time.Time, a Arrival, preview Preview) (Outcome, error) {
	p, v, c := a.Page, a.Verdict, &a.Lease.Candidate
	reason := a.Reason
	copies, home := s.copy(p.URL, p.Digest)
	if copies > 0 {
		reason = web.ReasonDuplicate
	}
	v.Relevant = v.Relevant && reason == ""

	host := a.Lease.Host
	host.Fetched++
	host.Failures = 0
	host.Barren++
	if v.Relevant {
		host.Barren = 0
		s.count.Relevant++
	}
	s.count.Pages++
	host.Due = s.due(now, a.Response)

	// A duplicate teaches nothing. Its links may lead elsewhere all the same,
	// where they are relative to another folder of the site; but a mirror
	// only repeats what is known, and a trap goes on for ever.
	follow := copies == 0 || home && copies < maxCopies
	var memory []byte
	var also []event.Event
	if reason == web.ReasonDuplicate {
		memory = s.scorer.Visit(c, nil, web.Verdict{})
	} else {
		memory = s.scorer.Visit(c, p, v)
		if reason == "" {
			also = s.observe(now, p, a.Verdict)
		}
	}
	var found []link
	var refused []event.Skipped
	if follow {
		found, refused = s.links(a, memory)
	}
	full := s.policy.MaxHostPages > 0 && host.Fetched >= s.policy.MaxHostPages
	if full {
		s.close(host.Host, web.ReasonHostPages)
	}
	queued, skipped, turn, err := s.admit(found, refused, preview)
	if err != nil {
		return Outcome{}, err
	}
	turn.Done = append(turn.Done, c.URL)
	turn.Hosts = []web.HostState{host}
	if full {
		turn.Drop = []web.Host{host.Host}
	}

	e := event.Fetched{
		At:         event.At{At: now},
		Visit:      visit(c),
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
		Reason:     reason,
		Directives: p.Directives,
		Truncated:  p.Truncated,
		Links:      len(p.Links),
		Queued:     queued,
		Skipped:    skipped,
	}
	return Outcome{Turn: turn, Event: e, Also: also}, nil
}

// link is a found candidate with what only its report needs.
type link struct {
	web.Candidate
	anchor string // at most 80 bytes
}

// links scores the links of a page. A link that occurs more than once goes by
// its best occurrence, in the place of its first.
func (s *Step) links(a Arrival, memory []byte) (found []link, refused []event.Skipped) {
	p, parent := a.Page, &a.Lease.Candidate
	if p.Directives.NoFollow && !s.policy.IgnoreDirectives {
		return nil, nil
	}
	place := make(map[web.URL]int, len(p.Links))
	for i := range p.Links {
		l := &p.Links[i]
		if l.NoFollow && s.policy.HonourNoFollow {
			refused = append(refused, event.Skipped{URL: l.URL, Reason: web.ReasonNoFollow})
			continue
		}
		c := web.Candidate{
			URL:      l.URL,
			From:     parent.URL,
			Kind:     l.Kind,
			Depth:    parent.Depth + 1,
			Features: a.Features[i],
			Memory:   memory,
		}
		c.Priority = s.score(&c)
		if j, twice := place[l.URL]; !twice {
			place[l.URL] = len(found)
			found = append(found, link{c, clip(l.Anchor, 80)})
		} else if c.Priority > found[j].Priority {
			found[j] = link{c, clip(l.Anchor, 80)}
		}
	}
	return found, refused
}

// score guards the frontier against a scorer that errs.
func (s *Step) score(c *web.Candidate) float64 {
	if v := s.scorer.Score(c); !math.IsNaN(v) {
		return v
	}
	return -math.MaxFloat32
}

// admit sorts found links into those the frontier takes and those it never
// will. A link that is refused by its address is marked done, so that it is
// reported once; one refused for the path that led to it may come again.
func (s *Step) admit(found []link, refused []event.Skipped, preview Preview) (
	queued []event.Found, skipped []event.Skipped, turn web.Turn, err error,
) {
	if len(found)+len(refused) == 0 {
		return nil, nil, web.Turn{}, nil
	}
	// Refused links are previewed as well: one known is not news.
	asked := make([]web.Candidate, 0, len(found)+len(refused))
	for _, l := range found {
		asked = append(asked, l.Candidate)
	}
	for _, r := range refused {
		asked = append(asked, web.Candidate{URL: r.URL, Priority: -math.MaxFloat32})
	}
	fate, err := preview(asked)
	if err != nil {
		return nil, nil, web.Turn{}, err
	}
	for i, c := range found {
		if fate[i] == web.Known {
			continue
		}
		reason, forGood := s.refuse(&c.Candidate)
		switch {
		case reason != "":
			if fate[i] != web.Raised { // one that waits was found on a better path
				skipped = append(skipped, event.Skipped{URL: c.URL, Reason: reason})
			}
			if forGood {
				turn.Done = append(turn.Done, c.URL)
			}
		case fate[i] == web.Refused:
			skipped = append(skipped, event.Skipped{URL: c.URL, Reason: web.ReasonHostQueue})
		default:
			turn.Add = append(turn.Add, c.Candidate)
			queued = append(queued, event.Found{
				URL: c.URL, Priority: c.Priority, Anchor: c.anchor, Raised: fate[i] == web.Raised,
			})
		}
	}
	for i, r := range refused {
		if fate[len(found)+i] != web.Known {
			skipped = append(skipped, r)
		}
	}
	return queued, skipped, turn, nil
}

// refuse says why a link may not enter the frontier, "" if it may, and whether
// that is so whatever path leads to it.
func (s *Step) refuse(c *web.Candidate) (reason web.Reason, forGood bool) {
	if r := s.policy.Scope.check(c.URL); r != "" {
		// Where a seed has yet to move to is not known before it was fetched.
		return r, s.count.Seeds <= 0
	}
	if c.Kind != web.LinkSeed {
		if isOtherFile(c.URL) {
			return web.ReasonExtension, true
		}
		if isTrap(c.URL) {
			return web.ReasonTrap, true
		}
	}
	if r, ok := s.closed[c.URL.Host()]; ok {
		return r, true
	}
	if c.Depth > s.policy.MaxDepth {
		return web.ReasonDepth, false
	}
	return "", false
}

// redirect follows a 3xx response: its target becomes a candidate with the
// priority of its source.
func (s *Step) redirect(now time.Time, a Arrival, preview Preview) (Outcome, error) {
	c, to := &a.Lease.Candidate, a.Response.Location
	s.scorer.Visit(c, nil, web.Verdict{})
	host := a.Lease.Host
	host.Failures = 0
	host.Due = s.due(now, a.Response)
	e := event.Failed{
		At: event.At{At: now}, Visit: visit(c),
		Reason: web.ReasonRedirect, Status: a.Response.Status,
		Bytes: a.Bytes, Took: seconds(a.Response.Took), To: to,
	}
	var turn web.Turn
	switch {
	case to.IsZero():
		e.Reason, e.Detail = web.ReasonRedirectBad, a.Detail
	case to == c.URL || to == c.From && c.Redirects > 0:
		e.Reason = web.ReasonRedirectLoop
	case c.Redirects >= s.policy.MaxRedirects:
		e.Reason = web.ReasonRedirects
	default:
		if c.Priority >= SeedPriority && s.policy.Scope.extend(to) {
			s.moved = append(s.moved, to)
			s.fresh[stateMoved+strconv.Itoa(s.count.Moved)] = []byte(to.String())
			s.count.Moved++
		}
		next := *c
		next.URL, next.From, next.Kind = to, c.URL, web.LinkRedirect
		next.Redirects, next.Tries = c.Redirects+1, 0
		queued, skipped, t, err := s.admit([]link{{Candidate: next}}, nil, preview)
		if err != nil {
			return Outcome{}, err
		}
		turn = t
		switch {
		case len(queued) > 0:
			e.Queued = true
			if next.Priority >= SeedPriority {
				s.count.Seeds++
			}
		case len(skipped) > 0:
			e.Reason, e.Detail = skipped[0].Reason, "redirect to an address that is not fetched"
		default:
			e.Reason = web.ReasonRedirectKnown
		}
	}
	turn.Done = append(turn.Done, c.URL)
	turn.Hosts = []web.HostState{host}
	return Outcome{Turn: turn, Event: e}, nil
}

// failure takes in what brought no page.
func (s *Step) failure(now time.Time, a Arrival) (Outcome, error) {
	c, host := &a.Lease.Candidate, a.Lease.Host
	e := event.Failed{At: event.At{At: now}, Visit: visit(c), Reason: a.Reason, Detail: clip(a.Detail, 300)}
	var temporary, hurts bool // worth another try; speaks against the host
	var wait time.Duration
	if f := a.Failure; f != nil {
		temporary, wait = f.Temporary, f.RetryAfter
		switch f.Reason {
		case web.ReasonDNS, web.ReasonConnect, web.ReasonTLS, web.ReasonTimeout, web.ReasonReset, web.ReasonRobotsMissing:
			hurts = true
		}
	} else {
		r := a.Response
		e.Status, e.Bytes, e.Took = r.Status, a.Bytes, seconds(r.Took)
		wait = r.RetryAfter
		switch r.Status {
		case 429, 500, 502, 503, 504:
			temporary, hurts = true, true
		case 401, 403, 451:
			// A host that never gave anything but refusals does not want us.
			hurts = host.Fetched == 0
		}
	}
	switch {
	case hurts:
		host.Failures++
		host.Due = later(s.due(now, a.Response), now.Add(max(s.backoff(host.Failures), wait)))
	case unasked(a.Reason) && a.Failure.Robots == nil:
		host.Due = time.Time{} // nothing was asked of the host
	default:
		host.Failures = 0
		host.Due = s.due(now, a.Response)
		if a.Failure != nil && wait > 0 {
			host.Due = later(host.Due, now.Add(wait))
		}
	}
	var turn web.Turn
	gone := host.Failures >= s.policy.MaxFailures ||
		a.Failure != nil && a.Reason == web.ReasonDNS && !temporary
	if temporary && !gone && c.Tries+1 < s.policy.MaxTries {
		e.Retry = true
		if c.Priority >= SeedPriority {
			s.count.Seeds++
		}
		again := *c
		again.Tries++
		turn.Retry = []web.Candidate{again}
	} else {
		s.scorer.Visit(c, nil, web.Verdict{})
		turn.Done = []web.URL{c.URL}
	}
	turn.Hosts = []web.HostState{host}
	if gone {
		s.close(host.Host, web.ReasonHostDead)
		turn.Drop = []web.Host{host.Host}
	}
	return Outcome{Turn: turn, Event: e}, nil
}

// unasked tells the reasons for which a host is asked for nothing, but for its
// robots.txt.
func unasked(r web.Reason) bool {
	switch r {
	case web.ReasonRobots, web.ReasonAddress, web.ReasonPort, web.ReasonContact:
		return true
	}
	return false
}

// due is the earliest moment of the next request to a host that answered r,
// which may ask for more time whatever its status.
func (s *Step) due(now time.Time, r *web.Response) time.Time {
	wait := s.policy.Delay
	if r != nil {
		wait = max(wait, r.CrawlDelay, r.RetryAfter)
	}
	if wait == 0 {
		return time.Time{}
	}
	return now.Add(wait)
}

// backoff is what a host is left alone for after n failures in a row:
// Backoff · 2^(n−1), at most MaxBackoff.
func (s *Step) backoff(n int) time.Duration {
	d := s.policy.Backoff
	for ; n > 1 && d < s.policy.MaxBackoff; n-- {
		d *= 2
	}
	return min(d, s.policy.MaxBackoff)
}

// close lets no more links of a host into the frontier.
func (s *Step) close(h web.Host, why web.Reason) {
	s.closed[h] = why
	s.fresh[stateClosed+strconv.Itoa(s.count.Closed)] = []byte(string(h) + " " + string(why))
	s.count.Closed++
}

// Dropped turns a receipt into events.
func (s *Step) Dropped(now time.Time, t web.Turn, r web.Receipt) (events []event.Event) {
	for i, n := range r.Forgotten {
		if h := t.Drop[i]; n > 0 {
			events = append(events, event.Dropped{At: event.At{At: now}, Reason: s.closed[h], Host: h, Count: n})
		}
	}
	left := func(list []web.Candidate, why web.Reason) {
		if len(list) == 0 {
			return
		}
		e := event.Dropped{At: event.At{At: now}, Reason: why, Count: len(list)}
		for _, c := range list {
			e.URLs = append(e.URLs, c.URL)
		}
		events = append(events, e)
	}
	left(r.Dropped, web.ReasonHostQueue)
	left(r.Crowded, web.ReasonQueue)
	return events
}

// store puts into a turn what a later run needs to go on.
func (s *Step) store(t *web.Turn) {
	t.State = s.fresh
	s.fresh = make(map[string][]byte)
	if s.passing {
		return
	}
	b, err := json.Marshal(s.count)
	if err != nil {
		panic(err) // a plain struct of numbers
	}
	t.State[stateCrawl] = b
	if b := s.scorer.State(); b != nil {
		s.storeScorer(t, b)
	}
	s.storeJudge(t)
}

// statePart is the size of the parts in which a scorer's state is stored.
const statePart = 64 << 10

// ScorerState is the state that a crawl's scorer had at its last turn, nil if it
// had none. state returns what was stored under a name.
func ScorerState(state func(name string) ([]byte, error)) (whole []byte, err error) {
	b, err := state(stateScorer)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	parts, err := strconv.Atoi(string(b))
	for i := range parts {
		part, errPart := state(stateScorer + "/" + strconv.Itoa(i))
		err = errors.Join(err, errPart)
		whole = append(whole, part...)
	}
	return whole, err
}

// storeScorer stores the parts of a scorer's state that changed: a model that
// grows at its end costs what was added, and not itself with every page.
func (s *Step) storeScorer(t *web.Turn, state []byte) {
	n := 0
	for part := range slices.Chunk(state, statePart) {
		if h := xxh3.Hash(part); n == len(s.parts) {
			s.parts = append(s.parts, h)
		} else if s.parts[n] == h {
			n++
			continue
		} else {
			s.parts[n] = h
		}
		t.State[stateScorer+"/"+strconv.Itoa(n)] = part
		n++
	}
	t.State[stateScorer] = []byte(strconv.Itoa(n))
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
