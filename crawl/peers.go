package crawl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// How several workers do one crawl. Each is a crawl of its own, with hosts that it alone
// fetches from:
//
//	page ─► links ─┬─ to own hosts ────────────────────► frontier
//	  │            └─ to those of others ─► Send ┄┄► Receive ─► admitted there as if found there
//	  └─► lessons ────────────────────────► Send ┄┄► Receive ─► scorer and judge
//	what waits ─► Standing ───────────────► Tell ┄┄► Others ─► which links are among the best
//
// A crawl without Peers does nothing of this.

// Peers are the other workers of a crawl that several do. The driver alone calls them,
// from one goroutine.
type Peers interface {
	// Owns tells whether this worker fetches from a host.
	Owns(h web.Host) bool
	// Send is given what a turn brings for others, and the turn, behind archive and event
	// log, whose marks it carries, and before it is committed. It returns when all is
	// safe, and may add to the turn's State. After an error the turn is not committed, and
	// the crawl does not go on.
	Send(ctx context.Context, m Mail, t *web.Turn) error
	// Receive returns what came since it was last called; the zero Mail is nothing.
	// What it returns is taken in, in one turn, which stores Mail.Marks.
	Receive(ctx context.Context) (Mail, error)
	// Arrived gets a value after something came, or Others changed. nil = the caller of
	// a Course looks for itself.
	Arrived() <-chan struct{}
	// Tell is called after every turn, when links may have been given out, and with last when
	// the crawl has ended. Others need not be told each time, but of the last: own is called
	// when they are, at once or before the next Tell.
	Tell(now time.Time, last bool, own func() Standing)
	// Others is the sum of what the others told last, and how often it has changed.
	Others() (sum Standing, version int)
	// Idle tells that nobody else has anything to do, and that nothing is on its way.
	Idle() bool
}

// Member is which of several workers of a crawl a folder is of: what StateCluster holds, as
// JSON. A crawl alone has none.
type Member struct {
	Crawl   string `json:"crawl"`   // the same for all workers, and no others
	Worker  string `json:"worker"`  // the identity of the folder, the same for all its runs
	Name    string `json:"name"`    // what people call it
	Session string `json:"session"` // the last one
	// Others are the names of other workers that have done something, by identity, as far
	// as this one has heard of them.
	Others map[string]string `json:"others,omitempty"`
}

// Meet notes another worker, and tells whether it was unknown.
func (m *Member) Meet(worker, name string) bool {
	if _, known := m.Others[worker]; known || worker == "" {
		return false
	}
	if m.Others == nil {
		m.Others = make(map[string]string)
	}
	m.Others[worker] = name
	return true
}

// Mail is what goes from one worker to others.
type Mail struct {
	// Links are links to hosts of the receiver; of what is sent, to those of anybody
	// else. They carry what the scorer needs; the receiver gives them priorities of its own.
	Links   []web.Candidate
	Lessons []Lesson // for everybody
	// Moved is where seeds redirected to: in the scope for everybody.
	Moved []web.URL
	// Done are addresses of the sender's hosts that will not be fetched again. Received are
	// those of hosts that the receiver has from others. Forget are addresses of such hosts that
	// are to be fetched again, where a link leads to them: what was fetched is lost. They are
	// received alone.
	Done, Forget []web.URL
	// Hosts are the states in which others leave such hosts, and Left tells which hosts are
	// no longer the receiver's: what waits for them leaves. Both are received alone.
	Hosts []web.HostState
	Left  func(web.Host) bool
	// Marks are states that are stored with the turn that takes this in, by name: the
	// place up to which it was received.
	Marks map[string][]byte
}

// Empty tells that there is nothing in it.
func (m *Mail) Empty() bool {
	return len(m.Links)+len(m.Lessons)+len(m.Moved)+len(m.Done)+len(m.Forget)+len(m.Hosts)+len(m.Marks) == 0 && m.Left == nil
}

// Lesson is something that a scorer or a judge learnt from a page of its worker.
type Lesson struct {
	Judge bool // it is the judge's
	Data  []byte
}

// Teacher is a scorer or judge that others of the same settings can learn from: of its
// crawl, a SharingScorer and a SharingJudge.
type Teacher interface {
	// Share keeps lessons from now on.
	Share()
	// Lessons returns what was learnt since it was last asked, but for what Learn taught.
	Lessons() [][]byte
}

// SharingScorer is implemented by scorers that learn from the pages of other workers.
type SharingScorer interface {
	Teacher
	// Learn takes in a lesson of another worker, which is not trusted: an error says that
	// it is none, and leaves the scorer as it was.
	Learn(lesson []byte) error
}

// SharingJudge is implemented by judges that learn from the pages of other workers.
type SharingJudge interface {
	Teacher
	// Learn is as that of a SharingScorer. It returns the new verdicts of pages that were
	// observed before and are judged otherwise now.
	Learn(lesson []byte) ([]web.Renewal, error)
}

// Standing is what a worker tells the others of itself, or the sum of that over several.
type Standing struct {
	Pages    int // that count against the budget
	Relevant int // of these
	InFlight int
	Held     int // links that wait for hosts that are down
	// Better is how many pages came by links that were among the best. See Step.among.
	Better int
	// Waiting counts the best links that wait, by priority, best first: no more of them
	// than the budget has room for.
	Waiting []web.Rung
	// Labels are the numbers of the last labels whose page this worker has. Sum leaves them out.
	Labels []int `json:",omitempty"`
}

// Sum adds standings up.
func Sum(of ...Standing) (sum Standing) {
	n := 0
	for _, s := range of {
		n += len(s.Waiting)
	}
	all := make([]web.Rung, 0, n)
	for _, s := range of {
		sum.Pages += s.Pages
		sum.Relevant += s.Relevant
		sum.InFlight += s.InFlight
		sum.Held += s.Held
		sum.Better += s.Better
		all = append(all, s.Waiting...)
	}
	slices.SortStableFunc(all, func(a, b web.Rung) int { return cmp.Compare(b.Priority, a.Priority) })
	for _, r := range all {
		if last := len(sum.Waiting) - 1; last >= 0 && sum.Waiting[last].Priority == r.Priority {
			sum.Waiting[last].Links += r.Links
		} else {
			sum.Waiting = append(sum.Waiting, r)
		}
	}
	return sum
}

// Ranking is a Frontier that knows what waits elsewhere.
type Ranking interface {
	// Waiting counts the best n links that wait, by priority, best first.
	Waiting(n int) []web.Rung
	// Elsewhere tells what waits in other frontiers, instead of what it told before:
	// those among the best, and how many links are held. Lease counts them with its own
	// where it takes only what is among the best.
	Elsewhere(waiting []web.Rung, held int)
}

// peerState is what a step does for other workers, nil for a crawl without.
type peerState struct {
	owns      func(web.Host) bool
	pages     int                // of others, that count against the budget
	links     []web.Candidate    // of the next mail
	moved     []web.URL          // of the next mail
	sent      map[uint64]float32 // priorities of links that were sent, by the hash of their address
	clearedAt int                // SweepBegan when sent was cleared last
	scorer    SharingScorer
	judge     SharingJudge
}

// mostSent bounds the links of which it is known that they were sent. Those that are
// forgotten are sent again when they are found again.
const mostSent = 1 << 20

// join makes the step that of one of several workers.
func (s *Step) join(p Peers) {
	s.sharing = &peerState{owns: p.Owns, sent: make(map[uint64]float32)}
	if s.sharing.scorer, _ = s.scorer.(SharingScorer); s.sharing.scorer != nil {
		s.sharing.scorer.Share()
	}
	if s.sharing.judge, _ = s.judge.(SharingJudge); s.sharing.judge != nil {
		s.sharing.judge.Share()
	}
}

// foreign tells whether another worker fetches from a host.
func (s *Step) foreign(h web.Host) bool { return s.sharing != nil && !s.sharing.owns(h) }

// send keeps a link to a host of another worker for the mail of this turn. One that was sent
// is sent again where it was found at a better place, and after all that waits was scored
// anew: the priority it was sent with says nothing then.
func (s *Step) send(c *web.Candidate) {
	h := s.sharing
	if h.clearedAt != s.count.SweepBegan || len(h.sent) >= mostSent {
		clear(h.sent)
		h.clearedAt = s.count.SweepBegan
	}
	key, p := xxh3.HashString(c.URL.String()), float32(max(-math.MaxFloat32, min(c.Priority, math.MaxFloat32)))
	if before, sent := h.sent[key]; sent && p <= before {
		return
	}
	h.sent[key] = p
	h.links = append(h.links, *c)
}

// sending is how many links the mail of this turn has so far.
func (s *Step) sending() int {
	if s.sharing == nil {
		return 0
	}
	return len(s.sharing.links)
}

// mail is what a turn brings for other workers.
func (s *Step) mail(t *web.Turn) (m Mail) {
	h := s.sharing
	m.Links, m.Moved, h.links, h.moved = h.links, h.moved, nil, nil
	if h.scorer != nil {
		for _, b := range h.scorer.Lessons() {
			m.Lessons = append(m.Lessons, Lesson{Data: b})
		}
	}
	if h.judge != nil {
		for _, b := range h.judge.Lessons() {
			m.Lessons = append(m.Lessons, Lesson{Judge: true, Data: b})
		}
	}
	for _, u := range t.Done {
		if h.owns(u.Host()) {
			m.Done = append(m.Done, u)
		}
	}
	return m
}

// Receive decides what becomes of mail. Its links pass what those of a page pass; one to a
// host that is not this worker's is left out. A lesson that is none is left out too.
func (s *Step) Receive(now time.Time, m Mail, preview Preview) (Outcome, error) {
	var out Outcome
	h := s.sharing
	for _, l := range m.Lessons {
		switch { // one that is none is of a stranger, or of another version
		case l.Judge && h.judge != nil:
			if renewed, err := h.judge.Learn(l.Data); err == nil && len(renewed) > 0 {
				out.add(s.renew(now, renewed, nil))
			}
		case !l.Judge && h.scorer != nil:
			_ = h.scorer.Learn(l.Data)
		}
	}
	for _, u := range m.Moved {
		s.extend(u)
	}
	var reported reportedLinks
	for from, list := range byOrigin(m.Links) {
		var found []link
		for _, c := range list {
			if s.foreign(c.URL.Host()) || math.IsNaN(c.Priority) || c.Depth < 0 || c.Redirects < 0 {
				continue
			}
			c.Tries = 0
			c.Priority = s.Rescore(&c)
			found = append(found, link{Candidate: c})
		}
		queued, skipped, turn, err := s.admit(found, nil, preview)
		if err != nil {
			return Outcome{}, err
		}
		queued, skipped = reported.keepNew(queued, skipped, &turn)
		for _, c := range turn.Add {
			if c.Priority >= SeedPriority {
				s.count.Seeds++
			}
		}
		out.Turn.Add = append(out.Turn.Add, turn.Add...)
		out.Turn.Done = append(out.Turn.Done, turn.Done...)
		if len(queued)+len(skipped) > 0 {
			out.add(event.Received{At: event.At{At: now}, From: from, Depth: found[0].Depth, Queued: queued, Skipped: skipped})
		}
	}
	out.Turn.Done = append(out.Turn.Done, m.Done...)
	out.Turn.Hosts, out.Turn.Forget = m.Hosts, m.Forget
	s.store(&out.Turn)
	for name, mark := range m.Marks {
		out.Turn.State[name] = mark
	}
	return out, nil
}

// leaveSeeds counts no longer the seeds, or what they moved to, that wait for hosts which are another worker's from
// here on.
func (s *Step) leaveSeeds(seeds []web.URL, left func(web.Host) bool, preview Preview) error {
	var found []web.Candidate
	asked := make(map[web.URL]bool)
	for _, u := range slices.Concat(seeds, s.moved) {
		if !asked[u] && left(u.Host()) {
			asked[u] = true
			found = append(found, web.Candidate{URL: u, Kind: web.LinkSeed, Priority: 3 * SeedPriority}) // so that the preview tells whether it waits
		}
	}
	if len(found) == 0 {
		return nil
	}
	admissions, err := preview(found)
	for _, a := range admissions {
		if a == web.Raised {
			s.count.Seeds--
		}
	}
	return err
}

// reportedLinks are the links that the events of a turn report so far: one to which several
// pages link is reported once.
type reportedLinks struct {
	queued  map[web.URL]float64 // priorities
	skipped map[web.URL]bool
}

// keepNew leaves out what is reported already. queued are the links of turn.Add. One with a
// higher priority than before is kept, and marked as raised.
func (n *reportedLinks) keepNew(queued []event.Found, skipped []event.Skipped, turn *web.Turn) ([]event.Found, []event.Skipped) {
	if n.queued == nil {
		n.queued, n.skipped = make(map[web.URL]float64), make(map[web.URL]bool)
	}
	kept := 0
	for i, q := range queued {
		before, known := n.queued[q.URL]
		if known && q.Priority <= before {
			continue
		}
		n.queued[q.URL] = q.Priority
		q.Raised = q.Raised || known
		queued[kept], turn.Add[kept] = q, turn.Add[i]
		kept++
	}
	turn.Add = turn.Add[:kept]
	skipped = slices.DeleteFunc(skipped, func(r event.Skipped) bool {
		_, known := n.queued[r.URL]
		known = known || n.skipped[r.URL]
		n.skipped[r.URL] = true
		return known
	})
	return queued[:kept], skipped
}

// add adds an event that belongs to the turn.
func (o *Outcome) add(e event.Event) {
	if o.Event == nil {
		o.Event = e
	} else {
		o.With = append(o.With, e)
	}
}

// byOrigin yields runs of links that were found on one page.
func byOrigin(links []web.Candidate) func(yield func(web.URL, []web.Candidate) bool) {
	return func(yield func(web.URL, []web.Candidate) bool) {
		for len(links) > 0 {
			n := 1
			for n < len(links) && links[n].From == links[0].From {
				n++
			}
			if !yield(links[0].From, links[:n]) {
				return
			}
			links = links[n:]
		}
	}
}

// join makes the crawl that of one of several workers.
func (d *driver) join() error {
	if d.Peers == nil {
		return nil
	}
	if d.ranking, _ = d.Frontier.(Ranking); d.ranking == nil {
		return fmt.Errorf("the frontier (%T) cannot tell what waits in it, as it has to where several workers do one crawl", d.Frontier)
	}
	d.step.join(d.Peers)
	return nil
}

// receive takes in what came from other workers.
func (d *driver) receive(ctx context.Context, now time.Time) error {
	if d.Peers == nil {
		return nil
	}
	if sum, version := d.Peers.Others(); version != d.othersVersion {
		if d.othersVersion == 0 || sum.Pages < d.others.Pages { // those of a worker that is lost are left out
			d.heard = pace{d.step.count.Spent, d.step.count.Pages + sum.Pages}
		}
		better := sum.Better - d.others.Better
		d.othersVersion, d.others, d.step.sharing.pages = version, sum, sum.Pages
		if better > 0 {
			d.noteBetter(now, better)
		}
		d.ranking.Elsewhere(sum.Waiting, sum.Held)
	}
	m, err := d.Peers.Receive(ctx)
	if err != nil {
		return fmt.Errorf("mail of other workers: %w", err)
	}
	if m.Empty() {
		return nil
	}
	if m.Left != nil {
		if err := d.step.leaveSeeds(d.Seeds, m.Left, d.preview(ctx)); err != nil {
			return err
		}
	}
	out, err := d.step.Receive(now, m, d.preview(ctx))
	if err != nil {
		return err
	}
	if m.Left != nil {
		if err := d.Frontier.Revise(ctx, func(h *web.HostState) {
			if m.Left(h.Host) {
				out.Turn.Drop = append(out.Turn.Drop, h.Host)
			}
		}); err != nil {
			return ofFrontier(err)
		}
	}
	if err := d.settle(ctx, now, nil, out); err != nil {
		return err
	}
	return d.sweep(ctx, now, false)
}

// tellPeers offers others the standing of this worker, after links were given out, and its last.
func (d *driver) tellPeers(now time.Time, last bool) {
	if d.Peers == nil {
		return
	}
	d.Peers.Tell(now, last, func() Standing {
		s := Standing{Pages: d.step.count.Pages, Relevant: d.step.count.Relevant, InFlight: d.inFlight, Better: d.betterPages, Labels: slices.Clone(d.labels)}
		s.Held = d.Frontier.Stats(now).Held
		if room := d.step.Room(); room > 0 && !d.gainLow() {
			s.Waiting = d.ranking.Waiting(room)
		}
		return s
	})
}

// gainLow tells whether one of several workers gives out no link, as its next pages promise too
// little: it ends once the others have nothing to do either.
func (d *driver) gainLow() bool {
	return d.Peers != nil && d.step.count.Forecast.Enough(d.step.policy.UntilGain)
}

// Recount is what a crawl stores of its progress, brought up to events of its log that its
// last turn does not know of. state returns what was stored under a name. The result is for
// a turn.
func Recount(state func(name string) ([]byte, error), events iter.Seq2[event.Event, error]) (map[string][]byte, error) {
	b, err := state(stateCrawl)
	if err != nil || b == nil {
		return nil, err
	}
	var p progress
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("stored state %q cannot be read: %w", stateCrawl, err)
	}
	states := make(map[string][]byte)
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case event.Failed:
			if seedMoved(&e) {
				states[stateMoved+strconv.Itoa(p.Moved)] = []byte(e.To.String())
				p.Moved++
			}
		case event.Fetched:
			p.Pages++
			p.Forecast.Add(e.Relevant)
			if e.Relevant {
				p.Relevant++
			}
		case event.Rejudged:
			for _, v := range e.Pages {
				p.Relevant += v.Change()
			}
		}
	}
	if states[stateCrawl], err = json.Marshal(p); err != nil {
		return nil, err
	}
	return states, nil
}
